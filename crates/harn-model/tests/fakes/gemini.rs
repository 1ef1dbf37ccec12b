//! A server that speaks Gemini's wire format, streamed and whole, and is as strict as Google about keys, pairs of calls
//! and responses, and signatures.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

pub const KEY: &str = "AIza-secret";

#[derive(Clone)]
pub enum Turn {
    /// The responses of a stream; as a whole answer they come joined.
    Answer(Vec<Value>),
    Refuse(u16, Value),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The model and the method.
    pub call: String,
    pub body: Value,
}

#[derive(Default)]
struct Memory {
    turns: VecDeque<Turn>,
    seen: Vec<Seen>,
    signatures: HashSet<String>,
}

pub struct Fake {
    pub url: String,
    memory: Arc<Mutex<Memory>>,
}

impl Fake {
    pub async fn start(turns: Vec<Turn>) -> Self {
        let memory = Arc::new(Mutex::new(Memory { turns: turns.into(), ..Memory::default() }));
        let router =
            Router::new().route("/v1beta/models/{call}", post(answer)).with_state(Arc::clone(&memory));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1beta", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, memory }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.memory.lock().unwrap().seen.clone()
    }
}

async fn answer(
    State(memory): State<Arc<Mutex<Memory>>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    if headers.get("x-goog-api-key").is_none_or(|key| key != KEY) {
        let details =
            json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
        return refuse(400, "API key not valid. Please pass a valid API key.", details);
    }
    let mut memory = memory.lock().unwrap();
    memory.seen.push(Seen { call: call.clone(), body: body.clone() });
    if let Err(complaint) = check(&body, &memory.signatures) {
        return refuse(400, &complaint, json!([]));
    }
    let responses = match memory.turns.pop_front() {
        Some(Turn::Answer(responses)) => responses,
        Some(Turn::Refuse(status, body)) => return (code(status), Json(body)).into_response(),
        None => return refuse(500, "the script is over", json!([])),
    };
    for part in responses.iter().flat_map(parts) {
        memory.signatures.extend(part["thoughtSignature"].as_str().map(str::to_owned));
    }
    if call.ends_with(":streamGenerateContent") {
        let events: String = responses.iter().map(|one| format!("data: {one}\r\n\r\n")).collect();
        ([("content-type", "text/event-stream")], events).into_response()
    } else {
        Json(joined(&responses)).into_response()
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

fn refuse(status: u16, message: &str, details: Value) -> Response {
    let error = json!({"code": status, "message": message, "status": "INVALID_ARGUMENT", "details": details});
    (code(status), Json(json!({ "error": error }))).into_response()
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
