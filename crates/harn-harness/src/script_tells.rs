//! What a script tells whoever watches it. It rides on the commit of whatever comes next, as a call that only looks.

use harn_core::message::ToolStatus;
use harn_core::run::{Completion, EffectKey};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_core::{EventKind, MessageInput, Part, Result, Role, Visibility};
use serde_json::{Map, Value, json};

use crate::lifecycle::append_message;
use crate::run_commit::RunCommit;
use crate::tx::Place;

const EMIT: &str = "emit";
const TOOL_END: &str = "tool_end";

/// Whether a call is only there to be told.
pub fn is_word(name: &str) -> bool {
    matches!(name, EMIT | TOOL_END)
}

impl RunCommit<'_, '_> {
    /// The events of a call that has something to tell; most have nothing.
    pub(crate) fn script_tells(
        &mut self,
        key: &EffectKey,
        call: &ToolCall,
        completion: &Completion,
    ) -> Result<()> {
        let done = matches!(completion, Completion::Tool { result } if result.outcome == ToolOutcome::Ok);
        match call.name.as_str() {
            EMIT if done => self.emitted(key, call),
            TOOL_END if done => self.tool_ended(key, &call.args),
            _ => Ok(()),
        }
    }

    fn emitted(&mut self, key: &EffectKey, call: &ToolCall) -> Result<()> {
        let kind = call.args.get("kind").and_then(Value::as_str).unwrap_or("update");
        let mut payload = call.args.get("payload").cloned().unwrap_or_default();
        harn_policy::redact_value(&mut payload);
        if let Some(message) = message_of(&payload).filter(|_| kind == "message") {
            return append_message(self.tx, &self.session, Some(&self.task), message).map(|_| ());
        }
        let place = Place::task(&self.task).span(key.span_id(&self.task.id));
        let body = json!({ "kind": kind, "update": payload });
        self.tx.emit(EventKind::ScriptUpdate, ("task", self.task.id.as_str()), place, body).map(|_| ())
    }

    /// A tool that the script handled itself is over.
    fn tool_ended(&mut self, key: &EffectKey, args: &Map<String, Value>) -> Result<()> {
        let call = args.get("call").cloned().unwrap_or_default();
        let text = |name: &str| call[name].as_str().unwrap_or_default();
        let (id, name, word) = (text("id"), text("name"), text("status"));
        let mut output = call["output"].clone();
        harn_policy::redact_value(&mut output);
        let kind = match word {
            "ok" => Some(EventKind::ToolCompleted),
            // Said when it was denied.
            "denied" => None,
            _ => Some(EventKind::ToolFailed),
        };
        if let Some(kind) = kind {
            let body = json!({ "tool_call_id": id, "name": name, "status": word });
            self.tool_event(kind, key, id, body)?;
        }
        let status = if word == "ok" { ToolStatus::Ok } else { ToolStatus::Error };
        let body = json!({ "tool_call_id": id, "name": name, "status": status, "output": output });
        self.tool_event(EventKind::AgentToolResult, key, id, body)
    }
}

/// What a script says as an agent: text, for everyone unless it says otherwise.
fn message_of(payload: &Value) -> Option<MessageInput> {
    let text = [payload, &payload["text"], &payload["content"]].into_iter().find_map(Value::as_str)?;
    let visibility = serde_json::from_value(payload["visibility"].clone()).unwrap_or(Visibility::Public);
    let parts = vec![Part::Text { text: text.to_owned(), visibility }];
    Some(MessageInput { role: Role::Assistant, parts, metadata: Map::new() })
}
