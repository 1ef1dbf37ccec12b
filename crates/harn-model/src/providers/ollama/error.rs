//! What Ollama's errors mean. They are words and a status; in the midst of a stream, words alone.

use serde_json::{Value, json};

use crate::ModelError;
use crate::providers::{error_text, is_context_overflow};

pub(super) fn refusal(status: u16, body: &[u8]) -> ModelError {
    explain(status, error_text(status, body))
}

/// An error that came with status 200, as a line of its own.
pub(super) fn in_stream(error: &Value) -> ModelError {
    explain(500, error_text(500, json!({ "error": error }).to_string().as_bytes()))
}

fn explain(status: u16, message: String) -> ModelError {
    let lower = message.to_ascii_lowercase();
    let says = |words: &str| lower.contains(words);
    if says("model") && says("not found") {
        let name = quoted(&message).unwrap_or("MODEL");
        return ModelError::NotFound { message: format!("{message}; pull it with `ollama pull {name}`") };
    }
    if is_context_overflow(&message) {
        return ModelError::ContextTooLong { message };
    }
    if says("does not support") {
        return ModelError::InvalidRequest { message: format!("{message}; choose a model that does") };
    }
    // It comes with status 500, but time does not mend it.
    if says("requires more system memory") {
        let message = format!("{message}; choose a smaller model, or a smaller `num_ctx`");
        return ModelError::InvalidRequest { message };
    }
    ModelError::from_status(status, message)
}

/// The first thing in quotes.
fn quoted(message: &str) -> Option<&str> {
    let start = message.find(['\'', '"'])?;
    let mark = char::from(*message.as_bytes().get(start)?);
    message[start + 1..].split_once(mark).map(|(name, _)| name).filter(|name| !name.is_empty())
}
