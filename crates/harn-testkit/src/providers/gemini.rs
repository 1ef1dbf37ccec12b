//! Gemini's `generateContent`, as strict as Google about keys, pairs of calls and responses, and signatures.

use std::collections::HashSet;

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::{Asked, Provider, Refusal, header, json_reply, stream_reply};

pub const KEY: &str = "AIza-secret";

/// A server that speaks Gemini's format.
pub type Fake = super::Fake<Gemini>;
pub type Turn = super::Turn<Vec<Value>>;

#[derive(Default)]
pub struct Gemini {
    /// All that were given out.
    signatures: HashSet<String>,
}

impl Provider for Gemini {
    /// The responses of a stream; as a whole answer they come joined.
    type Said = Vec<Value>;
    const BASE: &'static str = "/v1beta";

    fn serves(path: &str) -> bool {
        let call = path.strip_prefix("/v1beta/models/").and_then(|call| call.split_once(':'));
        call.is_some_and(|(_, method)| ["generateContent", "streamGenerateContent"].contains(&method))
    }

    fn admit(headers: &HeaderMap) -> Result<(), Refusal> {
        if header(headers, "x-goog-api-key") == Some(KEY) {
            return Ok(());
        }
        let details =
            json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
        Err(detailed(400, "API key not valid. Please pass a valid API key.", details))
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        check(&asked.body, &self.signatures).map_err(|complaint| Self::refusal(400, &complaint))
    }

    fn answer(&mut self, said: Vec<Value>, asked: &Asked) -> Response {
        for part in said.iter().flat_map(parts) {
            self.signatures.extend(part["thoughtSignature"].as_str().map(str::to_owned));
        }
        if !asked.path.contains(":streamGenerateContent") {
            return json_reply(200, &joined(&said));
        }
        // Without `alt=sse` the original sends one list.
        if !asked.path.contains("alt=sse") {
            return json_reply(200, &json!(said));
        }
        let frames = said.iter().map(|response| format!("data: {response}\r\n\r\n")).collect();
        stream_reply("text/event-stream", frames)
    }

    fn refusal(status: u16, message: &str) -> Refusal {
        detailed(status, message, json!([]))
    }
}

fn detailed(status: u16, message: &str, details: Value) -> Refusal {
    let name = if status == 404 { "NOT_FOUND" } else { "INVALID_ARGUMENT" };
    (status, json!({"error": {"code": status, "message": message, "status": name, "details": details}}))
}

fn parts(response: &Value) -> Vec<Value> {
    response["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default()
}

/// Every call is answered at once, in order, under the same id; the first of a message is signed by us.
fn check(body: &Value, issued: &HashSet<String>) -> Result<(), String> {
    let contents =
        body["contents"].as_array().filter(|all| !all.is_empty()).ok_or("contents is not specified")?;
    let named = |content: &Value, kind: &str| -> Vec<(Value, Value)> {
        let parts = content["parts"].as_array().cloned().unwrap_or_default();
        parts
            .iter()
            .filter_map(|part| part.get(kind))
            .map(|it| (it["name"].clone(), it["id"].clone()))
            .collect()
    };
    let mut open = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let all =
            content["parts"].as_array().filter(|all| !all.is_empty()).ok_or("a content has no parts")?;
        if named(content, "functionResponse") != open {
            return Err("function response parts do not equal the function call parts".into());
        }
        open = named(content, "functionCall");
        let first = all.iter().find(|part| part.get("functionCall").is_some());
        let signature = first.map(|part| part["thoughtSignature"].as_str().unwrap_or_default());
        let known =
            |signature: &str| issued.contains(signature) || signature == "skip_thought_signature_validator";
        if signature.is_some_and(|signature| !known(signature)) {
            return Err(format!(
                "function call in the {index}. content block is missing a thought_signature"
            ));
        }
    }
    Ok(())
}

fn joined(responses: &[Value]) -> Value {
    let mut whole = responses.last().cloned().unwrap_or_default();
    let all: Vec<Value> = responses.iter().flat_map(parts).collect();
    whole["candidates"][0]["content"] = json!({"role": "model", "parts": all});
    whole
}
