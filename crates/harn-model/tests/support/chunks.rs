//! Chunks in few words, and answers with one value of the wrong kind in them.

use harn_core::chat::{PartialCall, ProviderToolUse, StopReason};
use harn_model::{Chunk, ModelError};
use serde_json::{Value, json};

/// All chunks of an answer, and the error if there is one.
pub type Outcome = (Vec<Chunk>, Option<ModelError>);

pub fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

pub fn think(words: &str) -> Chunk {
    Chunk::Thinking(words.into())
}

pub fn call(id: &str, name: &str, args: Value) -> Chunk {
    Chunk::ToolCall { id: id.into(), name: name.into(), args: args.as_object().unwrap().clone() }
}

pub fn partial(id: &str, name: &str, raw: &str) -> Chunk {
    Chunk::PartialCall(PartialCall { id: id.into(), name: name.into(), raw: raw.into() })
}

/// A tool that the provider ran.
pub fn used(name: &str, input: Value, output: Option<Value>) -> Chunk {
    Chunk::ProviderTool(ProviderToolUse { name: name.into(), input, output })
}

pub fn stop(reason: StopReason) -> Chunk {
    Chunk::Stop(reason)
}

/// All that was said in these chunks.
pub fn said(chunks: &[Chunk]) -> String {
    let text = |chunk: &Chunk| if let Chunk::Text(text) = chunk { Some(text.clone()) } else { None };
    chunks.iter().filter_map(text).collect()
}

/// The frames with one value of one frame replaced, in all ways.
pub fn distorted(frames: &[Value]) -> Vec<Vec<Value>> {
    let odd = [
        json!(null),
        json!(0),
        json!(-1.5),
        json!(""),
        json!("x"),
        json!([]),
        json!([null]),
        json!({}),
        json!(true),
    ];
    let mut all = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let mut found = Vec::new();
        places(frame, "", &mut found);
        for (place, value) in found.iter().flat_map(|place| odd.iter().map(move |value| (place, value))) {
            let mut frames = frames.to_vec();
            *frames[index].pointer_mut(place).unwrap() = value.clone();
            all.push(frames);
        }
    }
    all
}

/// Every place in a value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places(value, &format!("{at}/{name}"), found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| places(value, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}
