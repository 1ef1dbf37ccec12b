//! What scripts ask of whoever keeps their log: open requests, the event log, and words for whoever watches.

use std::sync::Arc;

use harn_core::errand::Query;
use harn_core::tool::{Class, SideEffect};
use serde_json::Value;

use super::args::{Args, word};
use super::simple::{Simple, reads};
use crate::tools::{Tool, ToolContext, ToolFailure};

/// Entries of a topic that are read at once.
const MOST_ENTRIES: u64 = 1000;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        // These two are told when they are recorded; nothing else has to be done.
        reads("emit", "Tells whoever watches the run.", |_, _| Ok(Value::Null)),
        reads("tool_end", "A tool of the program has been called.", |_, _| Ok(Value::Null)),
        // It is done within a commit; here policy finds what it is.
        reads("waitpoint", "Something with waitpoints.", |_, _| {
            Err(ToolFailure::new("Waitpoints are kept by the harness."))
        }),
        asks("requests", "The requests to people that are open.", requests).call(),
        asks("events", "Something with the event log.", events).call(),
    ]
}

/// A call that asks the keeper of the log.
fn asks(name: &str, description: &str, query: fn(&Args) -> Result<Query, ToolFailure>) -> Simple {
    let work = move |ctx: ToolContext, args: Args| async move { ctx.sight.tell(query(&args)?).await };
    Simple::waiting(name, description, Class::Read, SideEffect::None, work)
}

fn requests(args: &Args) -> Result<Query, ToolFailure> {
    Ok(Query::Requests { filters: args.get("filters").cloned().unwrap_or_default() })
}

fn events(args: &Args) -> Result<Query, ToolFailure> {
    let operation = word(args, "operation");
    let given = args.get("args").unwrap_or(&Value::Null);
    // A topic alone may stand for itself.
    let topic = given.as_str().or_else(|| given["topic"].as_str()).map(str::to_owned);
    if operation == "latest" {
        return Ok(Query::Latest { topic });
    }
    let topic = topic.ok_or_else(|| ToolFailure::new("Say which topic: a text."))?;
    let number = |name: &str| {
        let value = given.get(name).map(|value| value.get("$duration").unwrap_or(value));
        value.and_then(|value| value.as_u64().or_else(|| Some(value.as_f64()?.max(0.0) as u64)))
    };
    let limit = number("limit").unwrap_or(100).clamp(1, MOST_ENTRIES);
    let limit = usize::try_from(limit).unwrap_or(100);
    let after = number("after").or_else(|| number("from_cursor")).unwrap_or(0);
    match operation {
        "read" => Ok(Query::Events { topic, after, limit, wait_ms: None }),
        "wait" => {
            let wait_ms = number("timeout_ms").or_else(|| number("timeout")).unwrap_or(u64::MAX);
            Ok(Query::Events { topic, after, limit, wait_ms: Some(wait_ms) })
        }
        other => Err(ToolFailure::new(format!("`{other}` is no operation of the event log."))),
    }
}
