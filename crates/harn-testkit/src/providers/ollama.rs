//! Ollama's `/api/chat`.

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::{Asked, Provider, Refusal, json_reply, stream_reply};

/// The one model that is there. It thinks and takes tools.
pub const MODEL: &str = "qwen3:8b";

/// A server that speaks Ollama's own format.
pub type Fake = super::Fake<Ollama>;
pub type Turn = super::Turn<Vec<Value>>;

#[derive(Default)]
pub struct Ollama;

impl Provider for Ollama {
    /// The lines of a stream; as a whole answer they come joined.
    type Said = Vec<Value>;

    fn serves(path: &str) -> bool {
        path == "/api/chat"
    }

    /// A local server asks nobody for a key.
    fn admit(_: &HeaderMap) -> Result<(), Refusal> {
        Ok(())
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        let model = asked.body["model"].as_str().unwrap_or_default();
        if model != MODEL {
            return Err(Self::refusal(404, &format!("model '{model}' not found")));
        }
        check(&asked.body).map_err(|complaint| Self::refusal(400, complaint))
    }

    fn answer(&mut self, said: Vec<Value>, asked: &Asked) -> Response {
        if asked.body["stream"] == false {
            return json_reply(200, &joined(&said));
        }
        stream_reply("application/x-ndjson", said.iter().map(|line| format!("{line}\n")).collect())
    }

    fn refusal(status: u16, message: &str) -> Refusal {
        (status, json!({ "error": message }))
    }
}

/// Roles are known, arguments are objects, and results name their tools.
fn check(body: &Value) -> Result<(), &'static str> {
    for message in body["messages"].as_array().ok_or("messages are required")? {
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        match message["role"].as_str().unwrap_or_default() {
            "system" | "user" | "assistant" => {}
            "tool" if message["tool_name"].is_string() => {}
            _ => return Err("invalid role"),
        }
        if !message["content"].is_string()
            || calls.iter().any(|call| !call["function"]["arguments"].is_object())
        {
            return Err("json: cannot unmarshal into api.ChatRequest");
        }
    }
    Ok(())
}

fn joined(lines: &[Value]) -> Value {
    let mut whole = lines.last().cloned().unwrap_or_default();
    let word =
        |name: &str| -> String { lines.iter().filter_map(|line| line["message"][name].as_str()).collect() };
    let calls: Vec<Value> =
        lines.iter().filter_map(|line| line["message"]["tool_calls"].as_array()).flatten().cloned().collect();
    whole["message"] = json!({"role": "assistant", "content": word("content"), "thinking": word("thinking")});
    if !calls.is_empty() {
        whole["message"]["tool_calls"] = json!(calls);
    }
    whole
}
