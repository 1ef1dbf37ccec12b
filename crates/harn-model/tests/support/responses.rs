//! Events of the Responses API.

use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Framing, Target};
use serde_json::{Value, json};

use super::chunks::Outcome;
use super::{decoded, request};

pub fn target() -> Target {
    Target::new("p", "m", "https://a.example", Auth::Bearer)
}

/// Each event named, as the provider does it.
pub fn events(events: &[Value]) -> String {
    let name = |event: &Value| event["type"].as_str().unwrap_or("x").to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

pub fn read(framing: Framing, bytes: &[u8]) -> Outcome {
    decoded(&OpenAiResponsesCodec, &request(vec![]), &target(), framing, bytes)
}

pub fn streamed(frames: &[Value]) -> Outcome {
    read(Framing::Events, events(frames).as_bytes())
}

pub fn event(kind: &str, index: u64, mut more: Value) -> Value {
    more["type"] = format!("response.{kind}").into();
    more["output_index"] = index.into();
    more
}

pub fn added(index: u64, item: Value) -> Value {
    event("output_item.added", index, json!({ "item": item }))
}

pub fn done(index: u64, item: Value) -> Value {
    event("output_item.done", index, json!({ "item": item }))
}

pub fn piece(index: u64, delta: &str) -> Value {
    event("function_call_arguments.delta", index, json!({ "delta": delta }))
}

pub fn says(index: u64, delta: &str) -> Value {
    event("output_text.delta", index, json!({ "delta": delta }))
}

pub fn ended(status: &str) -> Value {
    json!({"type": format!("response.{status}"), "response": {"status": status}})
}

pub fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": output}})
}
