//! What a script has its keeper do within one commit: waitpoints, and entries of the event log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Timestamp;
use crate::tool::ToolCall;

/// Names that people and scripts choose have a limit.
const LONGEST_NAME: usize = 512;
/// More than anybody waits for at once.
const MOST_WAITPOINTS: usize = 1000;

#[derive(Clone, Debug, PartialEq)]
pub enum Errand {
    CreateWaitpoint {
        /// None for a fresh one.
        id: Option<String>,
        metadata: Map<String, Value>,
    },
    CompleteWaitpoint {
        id: String,
        value: Value,
        said: Said,
    },
    CancelWaitpoint {
        id: String,
        said: Said,
    },
    Wait(Wait),
    Record(Recorded),
}

/// What a script says about how it settles a waitpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// In whose name; the run's own without it.
    pub by: Option<String>,
    pub reason: Option<String>,
}

/// An entry of the event log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub topic: String,
    pub kind: String,
    pub payload: Value,
    #[serde(default)]
    pub headers: Value,
}

impl Recorded {
    /// As scripts read it.
    pub fn told(&self, id: u64, at: Timestamp) -> Value {
        json!({ "id": id, "topic": self.topic, "kind": self.kind, "payload": self.payload, "headers": self.headers,
                "occurred_at": at, "occurred_at_ms": at.millis() })
    }
}

impl Errand {
    /// Understands `waitpoint(operation, args)` and `events("emit", args)`. The error says what is wrong.
    pub fn parse(call: &ToolCall) -> Result<Self, String> {
        let operation = call.args.get("operation").and_then(Value::as_str).unwrap_or_default();
        let given = Given::of(call.args.get("args").unwrap_or(&Value::Null));
        match (call.name.as_str(), operation) {
            ("waitpoint", "create") => Ok(Self::CreateWaitpoint {
                id: given.id()?,
                metadata: given.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
            }),
            ("waitpoint", "complete") => Ok(Self::CompleteWaitpoint {
                id: given.needed_id()?,
                value: given.get("value").cloned().unwrap_or_default(),
                said: given.said(),
            }),
            ("waitpoint", "cancel") => {
                Ok(Self::CancelWaitpoint { id: given.needed_id()?, said: given.said() })
            }
            ("waitpoint", "wait") => given.wait().map(Self::Wait),
            ("events", "emit") => {
                let text = |name| given.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let (topic, kind) = (name(text("topic"), "topic")?, name(text("kind"), "kind")?);
                let field = |name| given.get(name).cloned().unwrap_or_default();
                Ok(Self::Record(Recorded {
                    topic,
                    kind,
                    payload: field("payload"),
                    headers: field("headers"),
                }))
            }
            (what, other) => Err(format!("`{other}` is no operation of `{what}`.")),
        }
    }
}

/// Arguments as the prelude passes them: a name alone, or fields, some of them below `options`.
struct Given {
    alone: Option<Value>,
    fields: Map<String, Value>,
}

impl Given {
    fn of(args: &Value) -> Self {
        match args {
            Value::Object(fields) => Self { alone: None, fields: fields.clone() },
            Value::Null => Self { alone: None, fields: Map::new() },
            other => Self { alone: Some(other.clone()), fields: Map::new() },
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let own = self.fields.get(name).filter(|value| !value.is_null());
        own.or_else(|| self.fields.get("options")?.get(name).filter(|value| !value.is_null()))
    }

    fn id(&self) -> Result<Option<String>, String> {
        let named = self.alone.as_ref().or_else(|| self.get("id")).or_else(|| self.get("waitpoint"));
        named.map(id_of).transpose()
    }

    fn needed_id(&self) -> Result<String, String> {
        self.id()?.ok_or_else(|| "Say which waitpoint: its id, or what `waitpoint_create` gave.".into())
    }

    fn said(&self) -> Said {
        let text = |name| self.get(name).and_then(Value::as_str).map(str::to_owned);
        Said { by: text("by").filter(|by| by.len() <= LONGEST_NAME), reason: text("reason") }
    }

    fn wait(&self) -> Result<Wait, String> {
        let named = ["waitpoints", "ids", "waitpoint", "id"].iter().find_map(|name| self.get(name));
        let ids = match self.alone.as_ref().or(named) {
            Some(Value::Array(several)) => several.iter().map(id_of).collect::<Result<Vec<_>, _>>()?,
            Some(one) => vec![id_of(one)?],
            None => Vec::new(),
        };
        if ids.is_empty() {
            return Err("Say what to wait for: at least one waitpoint.".into());
        }
        if ids.len() > MOST_WAITPOINTS {
            return Err(format!(
                "{} waitpoints are too many to wait for; {MOST_WAITPOINTS} can be.",
                ids.len()
            ));
        }
        let mode = match self.get("mode").and_then(Value::as_str) {
            Some("any") => Mode::Any,
            Some("all") | None => {
                if self.get("any") == Some(&true.into()) {
                    Mode::Any
                } else {
                    Mode::All
                }
            }
            Some(other) => return Err(format!("`{other}` is no way to wait; use `all` or `any`.")),
        };
        let timeout = self.get("timeout_ms").or_else(|| self.get("timeout"));
        let timeout = timeout.map(|value| value.get("$duration").unwrap_or(value));
        let timeout_ms = timeout.and_then(|ms| ms.as_u64().or_else(|| Some(ms.as_f64()?.max(0.0) as u64)));
        Ok(Wait { ids, mode, timeout_ms })
    }
}

fn id_of(value: &Value) -> Result<String, String> {
    let text = value.as_str().or_else(|| value["id"].as_str());
    name(text.unwrap_or_default().to_owned(), "id of a waitpoint")
}

fn name(text: String, what: &str) -> Result<String, String> {
    match text.len() {
        0 => Err(format!("The {what} must be a text that is not empty.")),
        1..=LONGEST_NAME => Ok(text),
        long => Err(format!("The {what} has {long} bytes; {LONGEST_NAME} are the most.")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    All,
    Any,
}

/// Somebody waits for waitpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    pub ids: Vec<String>,
    pub mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Wait {
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        self.timeout_ms.map(|ms| now.plus_millis(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// What a script gets once it is over; none while it is not. The waitpoints come in the order of the ids.
    pub fn outcome(&self, waitpoints: &[Waitpoint]) -> Option<Value> {
        let is = |status| move |waitpoint: &&Waitpoint| waitpoint.status == status;
        let completed = waitpoints.iter().filter(is(WaitpointStatus::Completed)).count();
        let cancelled = waitpoints.iter().filter(is(WaitpointStatus::Cancelled)).count();
        let word = match self.mode {
            Mode::All if cancelled > 0 => "cancelled",
            Mode::All if completed == waitpoints.len() => "completed",
            Mode::Any if completed > 0 => "completed",
            Mode::Any if cancelled == waitpoints.len() => "cancelled",
            _ => return None,
        };
        Some(told(word, waitpoints))
    }

    pub fn timed_out(waitpoints: &[Waitpoint]) -> Value {
        told("timed_out", waitpoints)
    }
}

fn told(status: &str, waitpoints: &[Waitpoint]) -> Value {
    let first = waitpoints.iter().find(|waitpoint| waitpoint.status == WaitpointStatus::Completed);
    json!({ "status": status, "waitpoints": waitpoints, "value": first.map(|waitpoint| &waitpoint.value) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitpointStatus {
    Open,
    Completed,
    Cancelled,
}

/// A named point that runs wait at. The first word about it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waitpoint {
    pub id: String,
    pub status: WaitpointStatus,
    pub value: Value,
    pub metadata: Map<String, Value>,
    pub created_at: Timestamp,
    /// When it was completed or cancelled, by whom and why.
    pub settled_at: Option<Timestamp>,
    pub settled_by: Option<String>,
    pub reason: Option<String>,
}

impl Waitpoint {
    pub fn new(id: String, metadata: Map<String, Value>, now: Timestamp) -> Self {
        Self {
            id,
            status: WaitpointStatus::Open,
            value: Value::Null,
            metadata,
            created_at: now,
            settled_at: None,
            settled_by: None,
            reason: None,
        }
    }

    /// Whether that changed anything.
    pub fn complete(&mut self, value: Value, said: Said, own: &str, now: Timestamp) -> bool {
        self.settle(WaitpointStatus::Completed, said, own, now) && {
            self.value = value;
            true
        }
    }

    pub fn cancel(&mut self, said: Said, own: &str, now: Timestamp) -> bool {
        self.settle(WaitpointStatus::Cancelled, said, own, now)
    }

    fn settle(&mut self, status: WaitpointStatus, said: Said, own: &str, now: Timestamp) -> bool {
        let open = self.status == WaitpointStatus::Open;
        if open {
            (self.status, self.settled_at) = (status, Some(now));
            (self.settled_by, self.reason) = (said.by.or_else(|| Some(own.to_owned())), said.reason);
        }
        open
    }
}

/// What only the keeper of the log can tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Open requests to people.
    Requests { filters: Value },
    /// Entries of a topic after this one, `limit` at most. With a time to wait, as soon as there is one.
    Events { topic: String, after: u64, limit: usize, wait_ms: Option<u64> },
    /// The number of the newest entry of a topic, or of all.
    Latest { topic: Option<String> },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: &str, args: Value) -> ToolCall {
        let args = json!({ "operation": operation, "args": args }).as_object().cloned().unwrap_or_default();
        ToolCall { id: "w".into(), name: "waitpoint".into(), args }
    }

    #[test]
    fn waitpoints_are_named_in_every_way_that_scripts_have() {
        let wait = |ids: &[&str], mode, timeout_ms| {
            Ok(Errand::Wait(Wait { ids: ids.iter().map(|id| (*id).into()).collect(), mode, timeout_ms }))
        };
        let cases = [
            (json!("a"), wait(&["a"], Mode::All, None)),
            (json!([{ "id": "a" }, "b"]), wait(&["a", "b"], Mode::All, None)),
            (
                json!({ "waitpoints": ["a"], "options": { "mode": "any", "timeout": { "$duration": 5 } } }),
                wait(&["a"], Mode::Any, Some(5)),
            ),
            (json!([]), Err("Say what to wait for: at least one waitpoint.".to_owned())),
            (json!([1]), Err("The id of a waitpoint must be a text that is not empty.".to_owned())),
        ];
        for (args, expected) in cases {
            assert_eq!(Errand::parse(&call("wait", args.clone())), expected, "{args}");
        }
        assert_eq!(
            Errand::parse(&call("dance", Value::Null)),
            Err("`dance` is no operation of `waitpoint`.".into())
        );
    }

    #[test]
    fn a_wait_is_over_when_what_it_waits_for_is() {
        let now = Timestamp::from_millis(0);
        let open = Waitpoint::new("o".into(), Map::new(), now);
        let mut done = Waitpoint::new("d".into(), Map::new(), now);
        assert!(done.complete(json!(1), Said::default(), "ann", now));
        assert!(!done.cancel(Said::default(), "bob", now), "the first word holds");
        let mut gone = Waitpoint::new("g".into(), Map::new(), now);
        let said = Said { by: Some("carol".into()), reason: Some("late".into()) };
        assert!(gone.cancel(said, "ann", now));
        assert_eq!((gone.settled_by.as_deref(), gone.reason.as_deref()), (Some("carol"), Some("late")));
        let status = |mode, waitpoints: &[&Waitpoint]| {
            let waitpoints: Vec<Waitpoint> =
                waitpoints.iter().map(|waitpoint| (*waitpoint).clone()).collect();
            let wait = Wait { ids: Vec::new(), mode, timeout_ms: None };
            wait.outcome(&waitpoints).map(|told| told["status"].as_str().unwrap_or_default().to_owned())
        };
        let said = |word: &str| Some(word.to_owned());
        assert_eq!(status(Mode::All, &[&done, &open]), None);
        assert_eq!(status(Mode::All, &[&done]), said("completed"));
        assert_eq!(status(Mode::All, &[&open, &gone]), said("cancelled"));
        assert_eq!(status(Mode::Any, &[&open, &gone]), None);
        assert_eq!(status(Mode::Any, &[&gone, &done]), said("completed"));
        assert_eq!(status(Mode::Any, &[&gone]), said("cancelled"));
    }
}
