//! The parts of an answer in their order, with the signatures on them: what a message alone cannot tell, and what has to
//! go back.
//!
//! Text and calls are in the message already, so the layout holds their place and no copy.

use harn_core::chat::Thought;
use harn_core::tool::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Stands for the signature of a call that another model made, where the API insists on one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    /// The next bytes of the message's text.
    Text {
        bytes: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The message's next call, and the id that it had on the wire.
    Call {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A thought, code, or a part that we do not know: it goes back as it came.
    Part(Value),
}

#[derive(Default)]
pub(super) struct Layout {
    pieces: Vec<Piece>,
    thinking: String,
}

impl Layout {
    /// A part with a signature is never joined with another one.
    pub fn text(&mut self, text: &str, signature: Option<String>) {
        match (self.pieces.last_mut(), &signature) {
            (Some(Piece::Text { bytes, signature: None }), None) => *bytes += text.len(),
            (_, None) if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text { bytes: text.len(), signature }),
        }
    }

    pub fn thought(&mut self, text: &str, signature: Option<String>) {
        self.thinking.push_str(text);
        let open = self.pieces.last_mut().and_then(|piece| match piece {
            Piece::Part(part) if part["thought"] == true && part.get("thoughtSignature").is_none() => {
                Some(part)
            }
            _ => None,
        });
        match (open.and_then(|part| part.get_mut("text")), signature) {
            (Some(Value::String(so_far)), None) => so_far.push_str(text),
            (_, signature) => {
                let part = json!({ "text": text, "thought": true });
                self.pieces.push(Piece::Part(signed(part, signature.as_deref())));
            }
        }
    }

    pub fn call(&mut self, id: Option<String>, signature: Option<String>) {
        self.pieces.push(Piece::Call { id, signature });
    }

    pub fn part(&mut self, part: Value) {
        self.pieces.push(Piece::Part(part));
    }

    /// None if the message tells as much.
    pub fn into_thought(self, provider: &str) -> Option<Thought> {
        let mut called = false;
        let tells = self.pieces.iter().any(|piece| match piece {
            Piece::Part(_) => true,
            Piece::Text { signature, .. } => signature.is_some() || called,
            Piece::Call { id, signature } => {
                called = true;
                id.is_some() || signature.is_some()
            }
        });
        let opaque = json!({ "parts": self.pieces });
        tells.then(|| Thought { provider: provider.to_owned(), text: self.thinking, opaque })
    }
}

/// A message of the model as parts, and the ids of its calls on the wire.
pub(super) struct Laid {
    pub parts: Vec<Value>,
    pub ids: Vec<Option<String>>,
}

/// Lays a message out as it came. A layout that does not fit the message, or none of this provider, gives the text and
/// then the calls.
pub(super) fn lay(
    text: &str,
    calls: &[ToolCall],
    thoughts: &[Thought],
    provider: &str,
    signatures: Signatures,
) -> Laid {
    let own = thoughts.iter().filter(|thought| thought.provider == provider);
    let read = |thought: &Thought| serde_json::from_value(thought.opaque.get("parts")?.clone()).ok();
    let pieces: Vec<Piece> = own
        .filter_map(read)
        .find(|pieces: &Vec<Piece>| fits(pieces, text, calls))
        .unwrap_or_else(|| plain(text, calls));
    let mut laid = Laid { parts: Vec::new(), ids: Vec::new() };
    let mut rest = text;
    let mut calls = calls.iter();
    for piece in pieces {
        match piece {
            Piece::Part(part) => laid.parts.push(part),
            Piece::Text { bytes, signature } => {
                let (here, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
                rest = after;
                laid.parts.push(signed(json!({ "text": here }), signature.as_deref()));
            }
            Piece::Call { id, signature } => {
                let Some(call) = calls.next() else { continue };
                let is_first = laid.ids.is_empty();
                let stand_in = (is_first && signatures == Signatures::Required).then_some(NO_SIGNATURE);
                laid.parts
                    .push(signed(function_call(call, id.as_deref()), signature.as_deref().or(stand_in)));
                laid.ids.push(id);
            }
        }
    }
    laid
}

/// Whether the API refuses a message whose first call has no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signatures {
    Required,
    Optional,
}

fn fits(pieces: &[Piece], text: &str, calls: &[ToolCall]) -> bool {
    let mut end = 0_usize;
    let mut count = 0;
    for piece in pieces {
        match piece {
            Piece::Text { bytes, .. } => {
                end = end.saturating_add(*bytes);
                if !text.is_char_boundary(end) {
                    return false;
                }
            }
            Piece::Call { .. } => count += 1,
            Piece::Part(part) if part.is_object() => {}
            Piece::Part(_) => return false,
        }
    }
    end == text.len() && count == calls.len()
}

fn plain(text: &str, calls: &[ToolCall]) -> Vec<Piece> {
    let text = (!text.is_empty()).then_some(Piece::Text { bytes: text.len(), signature: None });
    let calls = calls.iter().map(|_| Piece::Call { id: None, signature: None });
    text.into_iter().chain(calls).collect()
}

fn function_call(call: &ToolCall, id: Option<&str>) -> Value {
    let mut function = json!({ "name": call.name, "args": call.args });
    if let Some(id) = id {
        function["id"] = json!(id);
    }
    json!({ "functionCall": function })
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}
