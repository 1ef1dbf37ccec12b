//! Spans that a program opens and closes itself. Ids come from the VM's generator of random numbers and times from the
//! host, asked in the prelude, so that a replay records the same spans.

use std::collections::BTreeMap;

use super::fibre::Fibre;
use super::special::Done;
use super::{Channel, Vm};
use crate::fault::Fault;
use crate::value::{Dict, Value};

/// How many closed spans are kept, and how many open ones: they are no values, so that nothing else bounds them.
const MAX_SPANS: usize = 10_000;
/// How many characters of a name are kept.
const MAX_NAME: usize = 200;

#[derive(Debug, Default)]
pub struct Tracing {
    is_on: bool,
    /// The spans that are open, by the fibre that opened them.
    open: BTreeMap<u32, Vec<Span>>,
    open_count: usize,
    closed: Vec<Span>,
}

#[derive(Clone, Debug)]
struct Span {
    trace: String,
    id: String,
    parent: Option<String>,
    name: String,
    start: i64,
    duration: i64,
}

impl Span {
    fn value(&self) -> Value {
        Value::record([
            ("trace_id", self.trace.as_str().into()),
            ("span_id", self.id.as_str().into()),
            ("parent_id", self.parent.as_deref().map_or(Value::Nil, Value::from)),
            ("name", self.name.as_str().into()),
            ("start_ms", self.start.into()),
        ])
    }

    fn closed_value(&self) -> Value {
        let mut value = self.value();
        if let Value::Dict(dict) = &mut value {
            let duration = crate::builtins::args::key("duration_ms");
            std::sync::Arc::make_mut(dict).insert(duration, self.duration.into());
        }
        value
    }
}

impl Vm {
    pub(super) fn tracing_special(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        let tracing = &mut self.console.tracing;
        Ok(match name {
            "enable_tracing" => {
                tracing.is_on = args.first().is_none_or(Value::is_truthy);
                Value::Nil.into()
            }
            "trace_id" => {
                let open = tracing.open.get(&fibre.id).and_then(|spans| spans.last());
                let own = || self.about.get("trace_id").cloned().unwrap_or_default();
                open.map_or_else(own, |span| span.trace.as_str().into()).into()
            }
            "trace_spans" => Value::list(tracing.closed.iter().map(Span::closed_value).collect()).into(),
            "trace_summary" => Value::from(tracing.summary()).into(),
            "__trace_start" => self.open_span(fibre, args)?.into(),
            "__trace_end" => {
                self.close_span(fibre, &arg(0), &arg(1))?;
                Value::Nil.into()
            }
            _ => return self.bound_tools_special(name, args),
        })
    }

    fn open_span(&mut self, fibre: &Fibre, args: &[Value]) -> Result<Value, Fault> {
        let name: String = self.shown_text(args.first())?.chars().take(MAX_NAME).collect();
        self.meter.charge(256 + name.len())?;
        let open = self.console.tracing.open.entry(fibre.id).or_default();
        let (trace, parent) = match open.last() {
            Some(outer) => (outer.trace.clone(), Some(outer.id.clone())),
            None => match self.about.get("trace_id") {
                Some(trace) => (trace.display(), None),
                None => (format!("{:016x}{:016x}", self.rng.number(), self.rng.number()), None),
            },
        };
        let id = format!("{:016x}", self.rng.number());
        let start = args.get(1).and_then(Value::as_int).unwrap_or(0);
        let span = Span { trace, id, parent, name, start, duration: 0 };
        let value = span.value();
        if self.console.tracing.open_count < MAX_SPANS {
            open.push(span);
            self.console.tracing.open_count += 1;
        }
        Ok(value)
    }

    /// Writes a log line about the span, and records it when tracing is on. What was opened within it and is still open
    /// ends with it, unrecorded.
    fn close_span(&mut self, fibre: &mut Fibre, span: &Value, now: &Value) -> Result<(), Fault> {
        let id = crate::builtins::args::fields(span).and_then(|dict| dict.get("span_id"));
        let Some(id) = id.and_then(Value::as_str) else {
            return Err(Fault::thrown("trace_end: argument must be a span (created with trace_start())"));
        };
        let open = self.console.tracing.open.entry(fibre.id).or_default();
        let Some(at) = open.iter().rposition(|span| span.id == id) else { return Ok(()) };
        let ended = open.len() - at;
        let mut span = open.swap_remove(at);
        open.truncate(at);
        self.console.tracing.open_count -= ended;
        if at == 0 {
            self.console.tracing.open.remove(&fibre.id);
        }
        span.duration = now.as_int().unwrap_or(span.start).saturating_sub(span.start);
        let fields: Dict = [
            ("trace_id", Value::from(span.trace.as_str())),
            ("span_id", span.id.as_str().into()),
            ("name", span.name.as_str().into()),
            ("duration_ms", span.duration.into()),
        ]
        .into_iter()
        .map(|(name, value)| (crate::builtins::args::key(name), value))
        .collect();
        let line = self.log_line("info", now, "span_end".into(), &Value::dict(fields))?;
        self.print(fibre, Channel::Error, line)?;
        let tracing = &mut self.console.tracing;
        if tracing.is_on && tracing.closed.len() < MAX_SPANS {
            tracing.closed.push(span);
        }
        Ok(())
    }
}

impl Tracing {
    /// A line for each name: how often and how long.
    fn summary(&self) -> String {
        let mut names: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
        for span in &self.closed {
            let entry = names.entry(&span.name).or_default();
            *entry = (entry.0 + 1, entry.1.saturating_add(span.duration));
        }
        let total = self.closed.len();
        let mut lines = vec![format!("{total} span{}", if total == 1 { "" } else { "s" })];
        lines.extend(names.iter().map(|(name, (count, ms))| format!("  {name}: {count} in {ms}ms")));
        lines.join("\n")
    }
}
