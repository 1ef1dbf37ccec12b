//! How many tokens a conversation has, without the model's own tokenizer: a fair guess, and a careful one.

use harn_core::chat::{ChatMessage, ModelRequest};
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
        ChatMessage::System { text } | ChatMessage::User { text } => text.len() as u64,
        ChatMessage::Assistant { text, tool_calls } => {
            let calls = tool_calls.iter().map(|call| {
                let args = call.args.iter().map(|(name, value)| name.len() as u64 + json_size(value));
                call.name.len() as u64 + args.sum::<u64>()
            });
            text.len() as u64 + calls.sum::<u64>()
        }
        ChatMessage::Tool { output, .. } => output.len() as u64,
    }
}

fn json_size(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::String(text) => text.len() as u64 + 2,
        other => other.to_string().len() as u64,
    }
}
