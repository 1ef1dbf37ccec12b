//! One call as it was overheard, and the entry of a script that it becomes.

use std::sync::Arc;

use futures::{FutureExt, stream};
use harn_core::chat::{ChatMessage, ModelAnswer};
use serde_json::{Map, Value, json};

use crate::scripted::{first_text, turn};
use crate::{Chunk, ModelCard, ModelError, collect};

/// A conversation is known by this many characters of what the user said first.
const FIRST: usize = 400;

/// What came so far. It holds no more than the caller, who assembles the same answer.
pub(super) struct Heard {
    messages: Arc<Vec<ChatMessage>>,
    pub card: ModelCard,
    chunks: Vec<Chunk>,
    /// Why there is no answer.
    failed: Option<ModelError>,
}

impl Heard {
    pub fn new(messages: Arc<Vec<ChatMessage>>, card: ModelCard) -> Self {
        Self { messages, card, chunks: Vec::new(), failed: None }
    }

    /// Whether more is to come after this item.
    pub fn hear(&mut self, item: Option<&Result<Chunk, ModelError>>) -> bool {
        match item {
            // What is sealed for the provider means nothing in a script.
            Some(Ok(Chunk::Thought(_))) => true,
            Some(Ok(Chunk::Restart)) => {
                self.chunks.clear();
                true
            }
            Some(Ok(chunk)) => {
                self.chunks.push(chunk.clone());
                !matches!(chunk, Chunk::Stop(_))
            }
            Some(Err(error)) => {
                self.failed = Some(error.clone());
                false
            }
            None => false,
        }
    }

    /// The entry without secrets.
    pub fn entry(self, redact: &dyn Fn(&str) -> String) -> Value {
        let first = known_by(first_text(&self.messages), redact);
        let turn = turn(&self.messages);
        let mut response = self.response();
        redact_texts(&mut response, redact);
        json!({ "first": first, "turn": turn, "response": response })
    }

    fn response(self) -> Value {
        if let Some(error) = &self.failed {
            return json!({ "error": error_fields(error) });
        }
        let pieces = self.chunks.iter().filter(|chunk| matches!(chunk, Chunk::Text(_))).count();
        let items = self.chunks.into_iter().map(Ok);
        // Nothing here has to be waited for. The only failure is a stream that ended without a stop.
        match collect(stream::iter(items)).now_or_never() {
            Some(Ok(answer)) => answer_fields(answer, pieces),
            Some(Err(_)) | None => json!({ "cut": true }),
        }
    }
}

fn error_fields(error: &ModelError) -> Value {
    let mut fields = json!({ "kind": error.code(), "message": error.message() });
    if let ModelError::RateLimited { retry_after_ms: Some(wait), .. } = error {
        fields["retry_after_ms"] = json!(wait);
    }
    fields
}

fn answer_fields(answer: ModelAnswer, pieces: usize) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value, wanted: bool| {
        if wanted {
            fields.insert(name.to_owned(), value);
        }
    };
    add("thinking", json!(answer.thinking), !answer.thinking.is_empty());
    add("text", json!(answer.text), !answer.text.is_empty());
    add("chunks", json!(pieces), pieces > 1);
    add("provider_tools", json!(answer.provider_tools), !answer.provider_tools.is_empty());
    add("tool_calls", json!(answer.tool_calls), !answer.tool_calls.is_empty());
    add("partial_calls", json!(answer.partial_calls), !answer.partial_calls.is_empty());
    add("usage", json!(answer.usage), true);
    add("stop", json!(answer.stop.as_str()), true);
    Value::Object(fields)
}

/// How the text begins, up to the first secret in it: played back, a conversation has to begin with these very words.
fn known_by(text: &str, redact: &dyn Fn(&str) -> String) -> String {
    let clean = redact(text);
    let same = text.chars().zip(clean.chars()).take_while(|(said, kept)| said == kept);
    same.map(|(letter, _)| letter).take(FIRST).collect()
}

/// Every text in the value, keys included.
fn redact_texts(value: &mut Value, redact: &dyn Fn(&str) -> String) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => *text = redact(text),
            Value::Array(items) => open.extend(items.iter_mut()),
            Value::Object(fields) => {
                let clean = std::mem::take(fields).into_iter().map(|(key, held)| (redact(&key), held));
                fields.extend(clean);
                open.extend(fields.values_mut());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
