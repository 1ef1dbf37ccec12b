//! Frames of Chat Completions.

use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::{Auth, Framing, Target};
use serde_json::{Value, json};

use super::chunks::Outcome;
use super::{decoded, request};

pub const DONE: &str = "data: [DONE]\n\n";

pub fn target(dialect: &str) -> Target {
    let mut target = Target::new("p", "m", "https://a.example", Auth::Bearer);
    target.options.insert("dialect".into(), dialect.into());
    target
}

pub fn events(frames: &[Value]) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

/// What the frames and the end mean in a dialect.
pub fn streamed_as(dialect: &str, frames: &[Value], end: &str) -> Outcome {
    let bytes = events(frames) + end;
    decoded(&OpenAiChatCodec, &request(vec![]), &target(dialect), Framing::Events, bytes.as_bytes())
}

pub fn streamed(frames: &[Value], end: &str) -> Outcome {
    streamed_as("vllm", frames, end)
}

pub fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub fn pieces(calls: Value) -> Value {
    delta(json!({ "tool_calls": calls }))
}
