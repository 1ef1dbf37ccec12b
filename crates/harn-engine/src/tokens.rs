//! How many tokens a conversation has, without the model's own tokenizer: a fair guess, and a careful one.

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest};
use harn_core::tool::ToolSpec;

use crate::media::MediaKind;

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

/// Providers count pixels and pages, not bytes, so media are counted as the text that costs the same: a large image is
/// about 1,600 tokens, a page of a document 1,500.
const IMAGE: u64 = 4 * 1600;
const PAGE: u64 = 4 * 1500;
/// A document whose size is not known either counts as one of so many pages.
const USUAL_PAGES: u64 = 10;
/// A large one has images in it, which do not count by the byte.
const MOST_PAGES: u64 = 30;

fn media_size(media: &[Media]) -> u64 {
    media.iter().map(medium_size).sum()
}

fn medium_size(medium: &Media) -> u64 {
    match (MediaKind::of(&medium.mime_type), &medium.source) {
        (Some(MediaKind::Document), MediaSource::Data(data)) => {
            (data.len() as u64 / 4 * 3).clamp(PAGE, MOST_PAGES * PAGE)
        }
        (Some(MediaKind::Document), MediaSource::Url(_) | MediaSource::Artifact(_)) => USUAL_PAGES * PAGE,
        (Some(MediaKind::Image) | None, _) => IMAGE,
    }
}

fn json_size(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::String(text) => text.len() as u64 + 2,
        other => other.to_string().len() as u64,
    }
}
