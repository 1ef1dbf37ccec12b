//! Anthropic's Messages API.

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::{Asked, Provider, Refusal, header, json_reply, pieces, stream_reply};

pub const KEY: &str = "sk-ant-fake";

const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// A server that speaks the Messages API.
pub type Fake = super::Fake<Anthropic>;
pub type Turn = super::Turn<Value>;

#[derive(Default)]
pub struct Anthropic;

impl Provider for Anthropic {
    /// A whole message: `content`, `stop_reason` and `usage`.
    type Said = Value;

    fn serves(path: &str) -> bool {
        path == "/v1/messages"
    }

    fn admit(headers: &HeaderMap) -> Result<(), Refusal> {
        // The documentation says `x-api-key`; newer SDKs send the key as a bearer token.
        let key = header(headers, "x-api-key").or_else(|| header(headers, "authorization"));
        if key.is_none_or(|key| key.trim_start_matches("Bearer ") != KEY) {
            return Err(kind(401, "authentication_error", "invalid x-api-key"));
        }
        if header(headers, "anthropic-version").is_none_or(|version| !VERSIONS.contains(&version)) {
            return Err(Self::refusal(400, "anthropic-version: header is required"));
        }
        Ok(())
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        check(&asked.body).map_err(|message| Self::refusal(400, &message))
    }

    fn answer(&mut self, said: Value, asked: &Asked) -> Response {
        let message = whole(&asked.body, &said);
        if asked.body["stream"] != true {
            return json_reply(200, &message);
        }
        let frame = |event: &Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        };
        stream_reply("text/event-stream; charset=utf-8", events(&message).iter().map(frame).collect())
    }

    fn refusal(status: u16, message: &str) -> Refusal {
        let name = if status == 404 { "not_found_error" } else { "invalid_request_error" };
        kind(status, name, message)
    }
}

fn kind(status: u16, kind: &str, message: &str) -> Refusal {
    let error = json!({"type": kind, "message": message});
    (status, json!({"type": "error", "error": error, "request_id": "req_1"}))
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
    if let Some(usage) = start["usage"].as_object_mut() {
        usage.remove("output_tokens_details");
    }
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        events.extend(block_events(index, block));
        events.push(json!({"type": "ping"}));
        events.push(json!({"type": "novelty", "index": "none", "delta": ["of", "another", "form"]}));
    }
    let delta = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    let mut usage = json!({"output_tokens": message["usage"]["output_tokens"]});
    if let Some(details) = message["usage"].get("output_tokens_details") {
        usage["output_tokens_details"] = details.clone();
    }
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
        let words = turn["content"].as_str().map(|text| vec![json!({"type": "text", "text": text})]);
        let blocks = words.or_else(|| turn["content"].as_array().cloned());
        let blocks = blocks.ok_or("content: Input should be a valid list")?;
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
