//! How many tokens a conversation has, without the model's own tokenizer: a fair guess, and a careful one.

use harn_core::chat::{ChatMessage, Media, ModelRequest};
use harn_core::tool::ToolSpec;

/// What each message costs beside its text.
const PER_MESSAGE: u64 = 8;

/// A fair guess: four bytes of text are about one token.
pub fn estimate(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(|message| size(message).div_ceil(4) + PER_MESSAGE).sum()
}

/// A careful guess for budgets: two bytes to a token, more than any tokenizer makes of ordinary text.
pub fn at_most(request: &ModelRequest) -> u64 {
    let said: u64 = request.messages.iter().map(|message| size(message).div_ceil(2) + 2 * PER_MESSAGE).sum();
    let told = request.system.len() as u64 + request.tools.iter().map(tool_size).sum::<u64>();
    said + told.div_ceil(2)
}

/// The fixed part of every call of a run.
pub fn overhead(system: &str, tools: &[ToolSpec]) -> u64 {
    (system.len() as u64 + tools.iter().map(tool_size).sum::<u64>()).div_ceil(4)
}

fn tool_size(tool: &ToolSpec) -> u64 {
    (tool.name.len() + tool.description.len()) as u64 + json_size(&tool.input_schema)
}

fn size(message: &ChatMessage) -> u64 {
    match message {
        ChatMessage::System { text } => text.len() as u64,
        ChatMessage::User { text, media } => text.len() as u64 + media_size(media),
        ChatMessage::Assistant { text, tool_calls, thoughts } => {
            let calls = tool_calls.iter().map(|call| {
                let args = call.args.iter().map(|(name, value)| name.len() as u64 + json_size(value));
                call.name.len() as u64 + args.sum::<u64>()
            });
            let thought = thoughts.iter().map(|thought| json_size(&thought.opaque));
            text.len() as u64 + calls.sum::<u64>() + thought.sum::<u64>()
        }
        ChatMessage::Tool { output, media, .. } => output.len() as u64 + media_size(media),
    }
}

/// Providers count pixels and pages, not bytes; this is a large image or a few pages.
const PER_MEDIUM: u64 = 6400;

fn media_size(media: &[Media]) -> u64 {
    media.len() as u64 * PER_MEDIUM
}

fn json_size(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::String(text) => text.len() as u64 + 2,
        other => other.to_string().len() as u64,
    }
}
