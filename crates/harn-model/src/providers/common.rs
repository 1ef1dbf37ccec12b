//! What every wire format needs: arguments that become a call, and errors that become words.

use harn_core::chat::{ChatMessage, MediaSource, ModelRequest, PartialCall};
use serde_json::{Map, Value};

use crate::{Chunk, ModelError};

/// Of a body that is no JSON, this much is quoted.
const QUOTED: usize = 300;
/// Of a provider's own message, this much.
const MESSAGE: usize = 2000;

/// Arguments that came as text and are complete: a call, or a `PartialCall` and the error that they are no JSON object.
/// No arguments at all are an empty object, as some servers write it.
pub fn finish_call(id: String, name: String, raw: String, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
    let args = if raw.trim().is_empty() { Ok(Map::new()) } else { serde_json::from_str(&raw) };
    match args {
        Ok(args) => {
            chunks.push(Chunk::ToolCall { id, name, args });
            Ok(())
        }
        Err(error) => {
            let message = format!("the arguments of its call of `{name}` are not a JSON object: {error}");
            chunks.push(Chunk::PartialCall(PartialCall { id, name, raw }));
            Err(ModelError::Malformed { message })
        }
    }
}

/// Whether all media have content that a provider can use. An artifact means nothing outside the harness: whoever calls
/// fills it in before.
pub fn require_content(request: &ModelRequest) -> Result<(), ModelError> {
    for medium in request.messages.iter().flat_map(ChatMessage::media) {
        if let MediaSource::Artifact(id) = &medium.source {
            let message = format!("the content of {id} was not filled in before the call");
            return Err(ModelError::InvalidRequest { message });
        }
    }
    Ok(())
}

/// The message in an error's body: `error.message`, `message`, `error` or `detail`, else the beginning of the body.
pub fn error_text(status: u16, body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    // Some gateways wrap the object in a list.
    let json = json.get(0).unwrap_or(&json);
    let places = ["/error/message", "/message", "/error", "/detail"];
    let found = places.iter().find_map(|place| json.pointer(place)?.as_str()).filter(|text| !text.is_empty());
    match found {
        Some(text) => text.chars().take(MESSAGE).collect(),
        None => {
            let text = String::from_utf8_lossy(body);
            let quoted: String = text.trim().chars().take(QUOTED).collect();
            if quoted.is_empty() { format!("status {status}") } else { format!("status {status}: {quoted}") }
        }
    }
}

/// Whether a message says that the conversation does not fit, in the words of the providers that give no code for it.
pub fn is_context_overflow(message: &str) -> bool {
    const SIGNS: &[&str] = &[
        "prompt is too long",
        "context length",
        "context_length",
        "context window",
        "context size",
        "maximum context",
        "exceed context limit",
        "input is too long",
        "input token count",
        "too many tokens",
        "maximum number of tokens",
        "reduce the length of the messages",
    ];
    let message = message.to_ascii_lowercase();
    SIGNS.iter().any(|sign| message.contains(sign))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_become_a_call_or_are_kept_as_they_came() {
        let call = |args: Value| {
            let args = args.as_object().cloned().unwrap();
            Ok(Chunk::ToolCall { id: "c".into(), name: "n".into(), args })
        };
        let partial = |raw: &str| {
            Err(Chunk::PartialCall(PartialCall { id: "c".into(), name: "n".into(), raw: raw.into() }))
        };
        let cases = [
            ("", call(json!({}))),
            (" \n", call(json!({}))),
            ("{\"a\": 1}", call(json!({"a": 1}))),
            ("{\"a\": ", partial("{\"a\": ")),
            ("[1]", partial("[1]")),
            ("null", partial("null")),
            ("{} {}", partial("{} {}")),
        ];
        for (raw, expected) in cases {
            let mut chunks = Vec::new();
            let result = finish_call("c".into(), "n".into(), raw.into(), &mut chunks);
            let (chunk, is_ok) = match expected {
                Ok(chunk) => (chunk, true),
                Err(chunk) => (chunk, false),
            };
            assert_eq!((chunks, result.is_ok()), (vec![chunk], is_ok), "{raw:?}");
        }
    }

    #[test]
    fn a_body_is_put_into_words_wherever_its_message_is() {
        let cases = [
            (r#"{"error":{"type":"x","message":"why"}}"#, "why"),
            (r#"[{"error":{"code":400,"message":"why"}}]"#, "why"),
            (r#"{"message":"why"}"#, "why"),
            (r#"{"error":"why"}"#, "why"),
            (r#"{"detail":"why"}"#, "why"),
            (r#"{"error":{"message":""}}"#, "status 400: {\"error\":{\"message\":\"\"}}"),
            (r#"{"error":{"mess"#, "status 400: {\"error\":{\"mess"),
            ("  plain words ", "status 400: plain words"),
            ("", "status 400"),
        ];
        for (body, expected) in cases {
            assert_eq!(error_text(400, body.as_bytes()), expected);
        }
        assert!(error_text(400, "ü".repeat(10_000).as_bytes()).len() < 700);
    }
}
