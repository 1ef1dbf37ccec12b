//! What a delta or a message holds besides calls: words, reasoning, refusals.

use serde_json::{Map, Value};

use super::messages::REASONING;
use crate::Chunk;

/// Reasoning that may have to go back, in the fields in which it came.
#[derive(Default)]
pub(super) struct Reasoning {
    words: String,
    field: Option<&'static str>,
    details: Vec<Value>,
}

impl Reasoning {
    /// Reads the reasoning of a delta, and shows its words. Returns whether there were any.
    pub fn read(&mut self, delta: &Value, chunks: &mut Vec<Chunk>) -> bool {
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            self.add_detail(detail);
        }
        // Servers in between two spellings send both with the same words.
        let said = REASONING[..2].iter().find_map(|field| {
            let words = delta.get(*field)?.as_str()?;
            (!words.is_empty()).then_some((*field, words.to_owned()))
        });
        let (field, words) = match said {
            Some((field, words)) => (Some(field), words),
            None if details.is_some() => {
                (None, details.into_iter().flatten().filter_map(detail_words).collect())
            }
            None => (None, thinking_parts(delta.get("content"))),
        };
        self.add(words, field, chunks)
    }

    /// Reasoning that stood in the text.
    pub fn read_tagged(&mut self, words: String, chunks: &mut Vec<Chunk>) {
        self.add(words, Some(REASONING[0]), chunks);
    }

    fn add(&mut self, words: String, field: Option<&'static str>, chunks: &mut Vec<Chunk>) -> bool {
        if words.is_empty() {
            return false;
        }
        if field.is_some() {
            self.field = self.field.or(field);
            self.words.push_str(&words);
        }
        chunks.push(Chunk::Thinking(words));
        true
    }

    /// A detail comes in pieces of the same index, whose words belong together and whose signature comes last.
    fn add_detail(&mut self, detail: &Value) {
        let same = |last: &&mut Value| {
            let key = |value: &Value, name: &str| value.get(name).cloned();
            let index = key(detail, "index");
            index.is_some() && index == key(last, "index") && key(detail, "type") == key(last, "type")
        };
        let Some(last) = self.details.last_mut().filter(same) else {
            self.details.push(detail.clone());
            return;
        };
        for (name, value) in detail.as_object().into_iter().flatten() {
            match (last.get_mut(name), value) {
                (Some(Value::String(have)), Value::String(more))
                    if ["text", "summary", "data"].contains(&name.as_str()) =>
                {
                    have.push_str(more);
                }
                (_, Value::Null) => {}
                _ => last[name.as_str()] = value.clone(),
            }
        }
    }

    /// The words, and what goes back: the details where there are any, as they hold the words too.
    pub fn take(&mut self) -> Option<(String, Value)> {
        let words = std::mem::take(&mut self.words);
        let mut opaque = Map::new();
        if !self.details.is_empty() {
            opaque.insert("reasoning_details".into(), std::mem::take(&mut self.details).into());
        } else if let Some(field) = self.field.take() {
            opaque.insert(field.into(), words.as_str().into());
        }
        (!opaque.is_empty()).then(|| (words, opaque.into()))
    }
}

fn detail_words(detail: &Value) -> Option<&str> {
    ["text", "summary"].iter().find_map(|field| detail.get(field)?.as_str())
}

/// The reasoning within a list of parts, as Mistral tells it.
fn thinking_parts(content: Option<&Value>) -> String {
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get("thinking")).map(|thinking| words(Some(thinking))).collect()
}

/// The words of a content: a string, or a list of parts.
pub(super) fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}
