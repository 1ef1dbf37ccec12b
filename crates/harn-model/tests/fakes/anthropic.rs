//! A server that speaks Anthropic's Messages API: it checks requests as strictly as the original does, and answers
//! from a list, streamed or whole as it is asked to.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::stream;
use serde_json::{Value, json};

pub const KEY: &str = "sk-ant-fake";

const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// The fake, as long as it runs.
pub struct FakeAnthropic {
    pub url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// Whole messages: `content`, `stop_reason` and `usage`.
    answers: Mutex<VecDeque<Value>>,
    seen: Mutex<Vec<Value>>,
}

impl FakeAnthropic {
    pub async fn start(answers: Vec<Value>) -> Self {
        let shared = Arc::new(Shared { answers: Mutex::new(answers.into()), seen: Mutex::default() });
        let app = Router::new().route("/v1/messages", post(messages)).with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, shared }
    }

    /// The bodies of all requests so far.
    pub fn seen(&self) -> Vec<Value> {
        self.shared.seen.lock().unwrap().clone()
    }
}

async fn messages(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    // The documentation says `x-api-key`; newer SDKs send the key as a bearer token.
    let key = headers.get("x-api-key").or(headers.get("authorization")).and_then(|value| value.to_str().ok());
    if key.is_none_or(|key| key.trim_start_matches("Bearer ") != KEY) {
        return refuse(StatusCode::UNAUTHORIZED, "authentication_error", "invalid x-api-key");
    }
    if headers.get("anthropic-version").is_none_or(|version| !VERSIONS.iter().any(|known| version == known)) {
        return refuse(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            "anthropic-version: header is required",
        );
    }
    let Ok(body) = serde_json::from_str::<Value>(&body) else {
        return refuse(StatusCode::BAD_REQUEST, "invalid_request_error", "the body is not valid JSON");
    };
    shared.seen.lock().unwrap().push(body.clone());
    if let Err(message) = check(&body) {
        return refuse(StatusCode::BAD_REQUEST, "invalid_request_error", &message);
    }
    let Some(answer) = shared.answers.lock().unwrap().pop_front() else {
        return refuse(StatusCode::from_u16(529).unwrap(), "overloaded_error", "Overloaded");
    };
    let message = whole(&body, &answer);
    if body["stream"] == json!(true) {
        let event = |data: Value| {
            let name = data["type"].as_str().unwrap_or_default().to_owned();
            Ok::<_, Infallible>(Event::default().event(name).data(data.to_string()))
        };
        Sse::new(stream::iter(events(&message).into_iter().map(event))).into_response()
    } else {
        axum::Json(message).into_response()
    }
}

fn refuse(status: StatusCode, kind: &str, message: &str) -> Response {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    (status, axum::Json(body)).into_response()
}

fn whole(request: &Value, answer: &Value) -> Value {
    json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": answer["content"],
        "stop_reason": answer["stop_reason"],
        "stop_sequence": null,
        "usage": answer["usage"],
    })
}

/// The events in which a message is streamed, with the pings and the novelties that a client has to bear.
pub fn events(message: &Value) -> Vec<Value> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        events.extend(block_events(index, block));
        events.push(json!({"type": "ping"}));
        events.push(json!({"type": "novelty", "index": "none", "delta": ["of", "another", "form"]}));
    }
    let delta = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    let usage = json!({"output_tokens": message["usage"]["output_tokens"]});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let mut start = block.clone();
    let mut deltas = Vec::new();
    let mut stream = |field: &str, kind: &str, name: &str, text: &str, empty: Value| {
        start[field] = empty;
        deltas.extend(pieces(text).into_iter().map(|piece| json!({"type": kind, name: piece})));
    };
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    match text("type") {
        "text" => stream("text", "text_delta", "text", text("text"), json!("")),
        "thinking" => {
            stream("thinking", "thinking_delta", "thinking", text("thinking"), json!(""));
            start["signature"] = json!("");
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
        }
        "tool_use" | "server_tool_use" => {
            // A string is sent as it is, so that a test can send what is no JSON.
            let raw = block["input"].as_str().map_or_else(|| block["input"].to_string(), str::to_owned);
            stream("input", "input_json_delta", "partial_json", &raw, json!({}));
        }
        _ => {}
    }
    let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    events.extend(
        deltas
            .into_iter()
            .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
    );
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}

/// The rules that the original enforces and a client can break.
fn check(body: &Value) -> Result<(), String> {
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err("max_tokens: Field required".into());
    }
    // The rules of the newer version, which are good for both.
    if let Some(removed) = ["temperature", "top_p", "top_k"].iter().find(|name| body.get(**name).is_some()) {
        return Err(format!("{removed}: Extra inputs are not permitted"));
    }
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > 4 {
        return Err(format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."));
    }
    let budget = body["thinking"]["budget_tokens"].as_u64();
    if budget.is_some_and(|budget| budget < 1024 || Some(budget) >= body["max_tokens"].as_u64()) {
        return Err("`max_tokens` must be greater than `thinking.budget_tokens`".into());
    }
    let thinks = ["enabled", "adaptive"].iter().any(|kind| body["thinking"]["type"] == **kind);
    if thinks && ["any", "tool"].iter().any(|kind| body["tool_choice"]["type"] == **kind) {
        return Err("Thinking may not be enabled when tool_choice forces tool use.".into());
    }
    check_turns(body["messages"].as_array().ok_or("messages: Field required")?)
}

fn check_turns(turns: &[Value]) -> Result<(), String> {
    let mut asked: Vec<Value> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        let wanted = if index % 2 == 0 { "user" } else { "assistant" };
        if turn["role"] != wanted {
            return Err(format!("messages.{index}: roles must alternate, beginning with \"user\""));
        }
        let blocks = turn["content"].as_array().ok_or("content: Input should be a valid list")?;
        let mut results = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            match block["type"].as_str() {
                Some("text") if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                    return Err("messages: text content blocks must contain non-whitespace text".into());
                }
                Some("document") if turn["role"] == "assistant" => {
                    return Err("document blocks are not allowed in assistant messages".into());
                }
                Some("tool_result") if results.len() != at => {
                    return Err("tool_result blocks must come first".into());
                }
                Some("tool_result") => results.push(block["tool_use_id"].clone()),
                Some("thinking") if block["signature"] != signature(block) => {
                    return Err(format!(
                        "messages.{index}.content.{at}: Invalid `signature` in `thinking` block"
                    ));
                }
                _ => {}
            }
        }
        if results != asked {
            return Err("`tool_use` ids were found without `tool_result` blocks immediately after".into());
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        asked = calls.map(|call| call["id"].clone()).collect();
    }
    Ok(())
}

/// The signature that this server gives a thought, and that it wants to see again.
pub fn signature(thinking: &Value) -> Value {
    let text = thinking["thinking"].as_str().unwrap_or_default();
    json!(format!("signed:{}:{}", text.len(), text.chars().rev().collect::<String>()))
}
