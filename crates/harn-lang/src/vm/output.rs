//! The parts of output and input that have a memory: log levels, colours, a pretended terminal or input, and the error
//! stream while it is kept.
//!
//! The VM reads no clock. A builtin that needs the time is written in the prelude, asks the host with `now_ms()` like
//! any program could, and hands the answer to a builtin of this file: so the time is part of the recorded answers.

use super::fibre::Fibre;
use super::special::Done;
use super::tracing::Tracing;
use super::{Channel, Vm};
use crate::builtins::Cx;
use crate::builtins::dates::iso_of;
use crate::builtins::json::write::compact;
use crate::fault::Fault;
use crate::value::{Dict, Value};

/// What builtins remember for the whole program: of output and input, of spans, and of tools.
#[derive(Debug, Default)]
pub struct Console {
    level: Level,
    colours: Colours,
    /// The rest of the input that the program pretends to have.
    stdin: Option<String>,
    /// Whether stdin, stdout and stderr are pretended to be terminals.
    terminals: [Option<bool>; 3],
    /// What was written to the error stream since it is kept.
    kept: Option<String>,
    pub tracing: Tracing,
    /// The registry that `tool_ref` and `tool_def` look into.
    pub bound_tools: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Colours {
    #[default]
    Auto,
    Always,
    Never,
}

const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];

const COLOURS: &[(&str, u8)] = &[
    ("black", 30),
    ("red", 31),
    ("green", 32),
    ("yellow", 33),
    ("blue", 34),
    ("magenta", 35),
    ("cyan", 36),
    ("white", 37),
    ("gray", 90),
    ("grey", 90),
    ("bright_red", 91),
    ("bright_green", 92),
    ("bright_yellow", 93),
    ("bright_blue", 94),
    ("bright_magenta", 95),
    ("bright_cyan", 96),
    ("bright_white", 97),
    ("bold", 1),
    ("dim", 2),
];

impl Level {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "debug" => Self::Debug,
            "info" => Self::Info,
            "warn" | "warning" => Self::Warn,
            "error" => Self::Error,
            _ => return None,
        })
    }
}

impl Console {
    /// Whether a builtin of the VM is the host's to answer after all.
    pub fn is_for_host(&self, builtin: &str) -> bool {
        match builtin {
            "read_line" | "read_stdin" | "prompt_user" => self.stdin.is_none(),
            "is_stdin_tty" => self.terminals[0].is_none(),
            "is_stdout_tty" => self.terminals[1].is_none(),
            "is_stderr_tty" => self.terminals[2].is_none(),
            _ => false,
        }
    }

    /// Takes what is written to the error stream, if it is kept.
    pub fn keep(&mut self, to: Channel, text: &str) -> bool {
        match &mut self.kept {
            Some(kept) if to == Channel::Error => {
                kept.push_str(text);
                true
            }
            _ => false,
        }
    }

    /// The next line of the pretended input.
    fn line(&mut self) -> Value {
        let Some(rest) = self.stdin.as_mut().filter(|rest| !rest.is_empty()) else { return Value::Nil };
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line: String = rest.drain(..end).collect();
        line.trim_end_matches('\n').trim_end_matches('\r').into()
    }
}

impl Vm {
    /// Builtins of this file and of `tracing`.
    pub(super) fn output_special(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        let given = |at: usize| self.shown_text(args.get(at));
        Ok(match name {
            "log_set_level" => {
                let level = given(0)?;
                self.console.level = Level::named(&level).ok_or_else(|| {
                    Fault::thrown(format!(
                        "log_set_level: unknown level '{level}', expected debug, info, warn or error"
                    ))
                })?;
                Value::Nil.into()
            }
            "__logs" => {
                Value::Bool(Level::named(&given(0)?).is_some_and(|at| at >= self.console.level)).into()
            }
            "__log" => {
                let line = self.log_line(&given(0)?, &arg(1), given(2)?.into(), &arg(3))?;
                self.print(fibre, Channel::Error, line)?;
                Value::Nil.into()
            }
            "__log_json" => {
                let ts = Value::from(iso_of(arg(0).as_int().unwrap_or(0)));
                let line =
                    self.json_line(&[("ts", &ts), ("key", &given(1)?.into()), ("value", &arg(2))], None)?;
                self.print(fibre, Channel::Error, line)?;
                Value::Nil.into()
            }
            "progress" => {
                let line = self.progress(args)?;
                self.print(fibre, Channel::Out, line)?;
                Value::Nil.into()
            }
            "set_color_mode" => {
                self.console.colours = match &*given(0)? {
                    "auto" => Colours::Auto,
                    "always" => Colours::Always,
                    "never" => Colours::Never,
                    other => {
                        return Err(Fault::thrown(format!(
                            "set_color_mode: unknown mode '{other}', expected auto, always or never"
                        )));
                    }
                };
                Value::Nil.into()
            }
            "__colours" => match (self.console.colours, self.console.terminals[1]) {
                (Colours::Always, _) => Value::Bool(true),
                (Colours::Never, _) => Value::Bool(false),
                (Colours::Auto, Some(is_terminal)) => Value::Bool(is_terminal),
                (Colours::Auto, None) => Value::Nil,
            }
            .into(),
            "__paint" => {
                let (text, colour) = (given(0)?, given(1)?);
                let code = COLOURS.iter().find(|(name, _)| *name == colour).map(|(_, code)| code);
                match code.filter(|_| arg(2).is_truthy()) {
                    Some(code) => Value::from(format!("\u{1b}[{code}m{text}\u{1b}[0m")),
                    None => text.into(),
                }
                .into()
            }
            "mock_tty" => {
                let stream = given(0)?;
                let Some(at) = STREAMS.iter().position(|known| *known == stream) else {
                    return Err(Fault::thrown(format!(
                        "mock_tty: unknown stream '{stream}', expected stdin, stdout or stderr"
                    )));
                };
                self.console.terminals[at] = Some(arg(1).is_truthy());
                Value::Nil.into()
            }
            "unmock_tty" => {
                self.console.terminals = [None; 3];
                Value::Nil.into()
            }
            "is_stdin_tty" => Value::Bool(self.console.terminals[0] == Some(true)).into(),
            "is_stdout_tty" => Value::Bool(self.console.terminals[1] == Some(true)).into(),
            "is_stderr_tty" => Value::Bool(self.console.terminals[2] == Some(true)).into(),
            "mock_stdin" => {
                let text = given(0)?;
                self.meter.charge(text.len())?;
                self.console.stdin = Some(text);
                Value::Nil.into()
            }
            "unmock_stdin" => {
                self.console.stdin = None;
                Value::Nil.into()
            }
            "read_line" => self.console.line().into(),
            "read_stdin" => {
                let rest = self.console.stdin.as_mut().map(std::mem::take).unwrap_or_default();
                if rest.is_empty() { Value::Nil.into() } else { Value::from(rest).into() }
            }
            "prompt_user" => {
                let question = given(0)?;
                self.print(fibre, Channel::Out, question)?;
                self.console.line().into()
            }
            "capture_stderr_start" => {
                self.console.kept = Some(String::new());
                Value::Nil.into()
            }
            "capture_stderr_take" => Value::from(self.console.kept.take().unwrap_or_default()).into(),
            _ => return self.tracing_special(fibre, name, args),
        })
    }

    /// The printed form of an argument; nothing when it is not there.
    pub(super) fn shown_text(&self, value: Option<&Value>) -> Result<String, Fault> {
        let Some(value) = value else { return Ok(String::new()) };
        let left = self.meter.memory_limit.saturating_sub(self.meter.memory);
        let limit = crate::fault::Limit::Memory(self.limits.memory);
        self.objects.shown(value, left).ok_or(Fault::Limit(limit))
    }

    /// `{"ts":…,"level":…,"msg":…}` and the fields, in the order of their names.
    pub(super) fn log_line(
        &mut self,
        level: &str,
        time: &Value,
        message: Value,
        fields: &Value,
    ) -> Result<String, Fault> {
        let ts = Value::from(iso_of(time.as_int().unwrap_or(0)));
        let level = Value::from(level);
        let mut parts = vec![("ts", &ts), ("level", &level), ("msg", &message)];
        let dict = crate::builtins::args::fields(fields);
        if dict.is_none() && !matches!(fields, Value::Nil) {
            parts.push(("fields", fields));
        }
        self.json_line(&parts, dict)
    }

    fn json_line(&mut self, parts: &[(&str, &Value)], fields: Option<&Dict>) -> Result<String, Fault> {
        let is_new = |name: &str| parts.iter().all(|(known, _)| *known != name);
        let fields = fields.into_iter().flat_map(|dict| dict.iter());
        let fields = fields.map(|(name, value)| (name.as_str(), value)).filter(|(name, _)| is_new(name));
        let mut cx = Cx { meter: &mut self.meter, rng: &mut self.rng };
        let mut line = String::from("{");
        for (at, (name, value)) in parts.iter().copied().chain(fields).enumerate() {
            line.push_str(if at > 0 { "," } else { "" });
            line.push_str(&compact(&mut cx, &name.into())?);
            line.push(':');
            line.push_str(&compact(&mut cx, value)?);
        }
        line.push_str("}\n");
        Ok(line)
    }

    /// `[phase] message (3/10)`.
    fn progress(&self, args: &[Value]) -> Result<String, Fault> {
        let given = |at: usize| args.get(at).filter(|value| !matches!(value, Value::Nil));
        let how_far = match (given(2), given(3)) {
            (Some(done), Some(total)) => {
                format!(" ({}/{})", self.shown_text(Some(done))?, self.shown_text(Some(total))?)
            }
            (Some(done), None) if done.as_number().is_some() => {
                format!(" ({})", self.shown_text(Some(done))?)
            }
            _ => String::new(),
        };
        Ok(format!("[{}] {}{how_far}\n", self.shown_text(args.first())?, self.shown_text(args.get(1))?))
    }
}
