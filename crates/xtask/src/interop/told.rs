//! What an answer says, in words that are the same for every provider and every program.

use harn_core::chat::{ModelAnswer, StopReason};
use harn_model::ModelError;
use serde_json::{Map, Value, json};

/// An answer of one of our adapters.
pub fn told(answer: &ModelAnswer) -> Value {
    let calls: Vec<Value> = answer
        .tool_calls
        .iter()
        .map(|call| json!({"id": call.id, "name": call.name, "args": call.args}))
        .collect();
    let stop = match &answer.stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
        StopReason::Other(word) => word,
    };
    let usage = answer.usage;
    let usage = json!({"input": usage.input_tokens, "output": usage.output_tokens,
                       "cached": usage.cached_tokens, "thinking": usage.thinking_tokens});
    json!({"thinking": answer.thinking, "text": answer.text, "calls": calls, "stop": stop, "usage": usage})
}

/// What one of our adapters made of a call.
pub fn outcome(answer: &Result<ModelAnswer, ModelError>) -> Value {
    match answer {
        Ok(answer) => told(answer),
        Err(error) => json!({"error": error.code(), "message": error.message()}),
    }
}

/// The same without the ids of calls, for formats that have none.
pub fn without_ids(mut told: Value) -> Value {
    for call in told.get_mut("calls").and_then(Value::as_array_mut).into_iter().flatten() {
        call["id"] = json!("");
    }
    told
}

/// Nothing, or which fields differ.
pub fn same(expected: &Value, found: &Value) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    if expected.get("error").is_none() && found.get("error").is_some() {
        return Err(format!("it failed: {found}"));
    }
    let none = Map::new();
    let fields = |value: &Value| value.as_object().unwrap_or(&none).clone();
    let (wanted, got) = (fields(expected), fields(found));
    let differing = wanted
        .iter()
        .filter(|(name, value)| got.get(*name) != Some(value))
        .map(|(name, value)| {
            format!("{name} should be {value} and is {}", got.get(name).unwrap_or(&Value::Null))
        })
        .chain(
            got.iter().filter(|(name, _)| !wanted.contains_key(*name)).map(|(n, v)| format!("{n} is {v}")),
        );
    Err(differing.collect::<Vec<_>>().join("; "))
}
