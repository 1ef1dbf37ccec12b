//! A server that speaks the wire format of Ollama's `/api/chat`, streamed and whole, and refuses what Ollama refuses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

/// The one model that is there. It thinks and takes tools.
pub const MODEL: &str = "qwen3:8b";

#[derive(Clone)]
pub enum Turn {
    /// The lines of a stream; as a whole answer they come joined.
    Answer(Vec<Value>),
    Refuse(u16, Value),
}

struct Memory {
    turns: VecDeque<Turn>,
    seen: Vec<Value>,
}

pub struct Fake {
    pub url: String,
    memory: Arc<Mutex<Memory>>,
}

impl Fake {
    pub async fn start(turns: Vec<Turn>) -> Self {
        let memory = Arc::new(Mutex::new(Memory { turns: turns.into(), seen: Vec::new() }));
        let router = Router::new().route("/api/chat", post(answer)).with_state(Arc::clone(&memory));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, memory }
    }

    pub fn seen(&self) -> Vec<Value> {
        self.memory.lock().unwrap().seen.clone()
    }
}

async fn answer(State(memory): State<Arc<Mutex<Memory>>>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else { return refuse(400, "invalid body") };
    let mut memory = memory.lock().unwrap();
    memory.seen.push(body.clone());
    if body["model"] != MODEL {
        return refuse(404, &format!("model '{}' not found", body["model"].as_str().unwrap_or_default()));
    }
    if let Err(complaint) = check(&body) {
        return refuse(400, complaint);
    }
    let lines = match memory.turns.pop_front() {
        Some(Turn::Answer(lines)) => lines,
        Some(Turn::Refuse(status, body)) => return (code(status), Json(body)).into_response(),
        None => return refuse(500, "the script is over"),
    };
    if body["stream"] == false {
        return Json(joined(&lines)).into_response();
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    ([("content-type", "application/x-ndjson")], text).into_response()
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

fn refuse(status: u16, message: &str) -> Response {
    (code(status), Json(json!({ "error": message }))).into_response()
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
