//! Tool calls put together from their pieces, whichever of index and id a server leaves out.

use harn_core::chat::PartialCall;
use serde_json::Value;

use super::shape::AnswerText;
use crate::providers::finish_call;
use crate::{Chunk, ModelError};

/// No model makes this many calls at once; what does is broken or hostile.
const MOST: usize = 512;

#[derive(Default)]
pub(super) struct Calls(Vec<OpenCall>);

#[derive(Default)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    raw: String,
    braces: Braces,
}

/// A piece of a call, as it came.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: String,
}

impl<'a> Piece<'a> {
    /// `function` is where name and arguments are.
    fn read(call: &'a Value, function: &'a Value) -> Self {
        let text = |value: &'a Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        Self {
            index: call.get("index").and_then(Value::as_u64),
            id: text(call, "id"),
            name: text(function, "name"),
            arguments,
        }
    }

    /// Whether this piece cannot be of that call.
    fn begins_after(&self, call: &OpenCall) -> bool {
        if !self.id.is_empty() && !call.id.is_empty() {
            return self.id != call.id;
        }
        // Without ids a name tells: one that comes after whole arguments begins another call.
        let is_another = self.name != call.name || !self.arguments.is_empty() || self.index.is_none();
        !self.name.is_empty() && call.braces.are_closed() && is_another
    }
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list `tool_calls` of a delta or a message.
    pub fn add_all(&mut self, list: &Value) -> Result<(), ModelError> {
        let null = Value::Null;
        for call in list.as_array().into_iter().flatten() {
            self.add(Piece::read(call, call.get("function").unwrap_or(&null)))?;
        }
        Ok(())
    }

    /// The `function_call` of older servers, of which there is one at most.
    pub fn add_function(&mut self, function: &Value) -> Result<(), ModelError> {
        if function.is_object() { self.add(Piece::read(&Value::Null, function)) } else { Ok(()) }
    }

    fn add(&mut self, piece: Piece<'_>) -> Result<(), ModelError> {
        let found = match piece.index {
            Some(_) => self.0.iter().rposition(|call| call.index == piece.index),
            None if piece.id.is_empty() => self.0.len().checked_sub(1),
            None => self.0.iter().rposition(|call| call.id == piece.id),
        };
        let found = found.filter(|at| !self.0.get(*at).is_some_and(|call| piece.begins_after(call)));
        let at = match found {
            Some(at) => at,
            None if self.0.len() == MOST => {
                let message = format!("it makes more than {MOST} calls at once");
                return Err(ModelError::Malformed { message });
            }
            None => {
                self.0.push(OpenCall { index: piece.index, ..OpenCall::default() });
                self.0.len() - 1
            }
        };
        if let Some(call) = self.0.get_mut(at) {
            call.extend(&piece);
        }
        Ok(())
    }

    /// Hands out every call of an answer that ended well; the first that is broken is the error.
    pub fn finish(&mut self, answer: &mut AnswerText, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let mut result = Ok(());
        for OpenCall { id, name, raw, .. } in self.0.drain(..) {
            let finished = match serde_json::from_str::<Value>(&raw) {
                _ if name.is_empty() => {
                    chunks.push(Chunk::PartialCall(PartialCall { id, name, raw }));
                    Err(ModelError::Malformed { message: "one of its calls names no tool".into() })
                }
                Ok(args) if answer.is_answer(&name) && args.is_object() => {
                    answer.answer(&args);
                    Ok(())
                }
                _ => finish_call(id, name, raw, chunks),
            };
            result = result.and(finished);
        }
        result
    }

    /// Hands out the calls of an answer that was stopped: the whole ones, and what there is of the others.
    pub fn stop(&mut self, answer: &mut AnswerText, chunks: &mut Vec<Chunk>) {
        for OpenCall { id, name, raw, .. } in self.0.drain(..) {
            match serde_json::from_str::<Value>(&raw) {
                Ok(args @ Value::Object(_)) if answer.is_answer(&name) => answer.answer(&args),
                Ok(Value::Object(args)) if !name.is_empty() => {
                    chunks.push(Chunk::ToolCall { id, name, args });
                }
                _ => chunks.push(Chunk::PartialCall(PartialCall { id, name, raw })),
            }
        }
    }

    /// Hands out every call as one that broke off.
    pub fn abandon(&mut self, chunks: &mut Vec<Chunk>) {
        let calls = self.0.drain(..);
        chunks.extend(
            calls.map(|OpenCall { id, name, raw, .. }| Chunk::PartialCall(PartialCall { id, name, raw })),
        );
    }
}

impl OpenCall {
    fn extend(&mut self, piece: &Piece<'_>) {
        // Some servers repeat id and name with every piece.
        if self.id.is_empty() {
            self.id.push_str(piece.id);
        }
        if self.name.is_empty() {
            self.name.push_str(piece.name);
        }
        self.braces.read(&piece.arguments);
        self.raw.push_str(&piece.arguments);
    }
}

/// Knows whether a JSON object is whole without parsing it again with each piece.
#[derive(Default)]
struct Braces {
    depth: u64,
    opened: bool,
    in_string: bool,
    escaped: bool,
}

impl Braces {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' if !self.in_string => {
                    self.opened = true;
                    self.depth += 1;
                }
                b'}' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn are_closed(&self) -> bool {
        self.opened && self.depth == 0
    }
}
