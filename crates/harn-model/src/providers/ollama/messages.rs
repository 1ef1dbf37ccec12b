//! The conversation as Ollama's `messages`.

use harn_core::chat::{ChatMessage, Media, MediaSource, Thought};
use harn_core::tool::{ToolCall, ToolOutcome};
use serde_json::{Value, json};

use crate::Target;

pub(super) fn messages(system: &[String], chat: &[ChatMessage], target: &Target) -> Vec<Value> {
    let mut made = Vec::new();
    let system: Vec<&str> = system.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    if !system.is_empty() {
        made.push(json!({ "role": "system", "content": system.join("\n\n") }));
    }
    let mut asked: &[ToolCall] = &[];
    let mut rest = chat;
    while let Some((message, after)) = rest.split_first() {
        let mut taken = 1;
        match message {
            ChatMessage::System { text } => made.push(json!({ "role": "system", "content": text })),
            ChatMessage::User { text, media } => {
                made.push(with_media(json!({ "role": "user", "content": text }), media, target));
            }
            ChatMessage::Assistant { text, tool_calls, thoughts } => {
                made.push(assistant(text, tool_calls, thoughts, target));
                asked = tool_calls;
            }
            ChatMessage::Tool { .. } => {
                let is_result = |message: &&ChatMessage| matches!(message, ChatMessage::Tool { .. });
                taken += after.iter().take_while(is_result).count();
                made.extend(results(&rest[..taken], asked, target));
            }
        }
        rest = &rest[taken..];
    }
    made
}

fn assistant(text: &str, calls: &[ToolCall], thoughts: &[Thought], target: &Target) -> Value {
    let mut message = json!({ "role": "assistant", "content": text });
    let own = thoughts.iter().filter(|thought| thought.provider == target.provider);
    let thinking: String = own.filter_map(|thought| thought.opaque["thinking"].as_str()).collect();
    if !thinking.is_empty() {
        message["thinking"] = json!(thinking);
    }
    if !calls.is_empty() {
        let call = |call: &ToolCall| json!({ "function": { "name": call.name, "arguments": call.args } });
        message["tool_calls"] = calls.iter().map(call).collect();
    }
    message
}

/// The results in the order of their calls: the model knows them apart by nothing else.
fn results(messages: &[ChatMessage], asked: &[ToolCall], target: &Target) -> Vec<Value> {
    let mut found = Vec::new();
    for message in messages {
        let ChatMessage::Tool { call_id, name, outcome, output, media } = message else { continue };
        let place = asked.iter().position(|call| call.id == *call_id).unwrap_or(usize::MAX);
        let content = match outcome {
            ToolOutcome::Ok => output.clone(),
            ToolOutcome::Error | ToolOutcome::Denied | ToolOutcome::Interrupted => format!("Error: {output}"),
        };
        let message = json!({ "role": "tool", "content": content, "tool_name": name });
        found.push((place, with_media(message, media, target)));
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, message)| message).collect()
}

/// Images go beside the text, as base64 alone. Of everything else, the model is told that it is missing.
fn with_media(mut message: Value, media: &[Media], target: &Target) -> Value {
    let mut images = Vec::new();
    let mut content = message["content"].as_str().unwrap_or_default().to_owned();
    for medium in media {
        let mime_type = &medium.mime_type;
        let is_image = mime_type.starts_with("image/") && target.capabilities.images;
        match &medium.source {
            MediaSource::Data(data) if is_image => images.push(data.as_str()),
            MediaSource::Url(url) if is_image => {
                content
                    .push_str(&format!("\n[{mime_type} at {url}: left out, because Ollama fetches nothing]"));
            }
            MediaSource::Data(_) | MediaSource::Url(_) | MediaSource::Artifact(_) => {
                content.push_str(&format!("\n[{mime_type}: left out, because the model does not take it]"));
            }
        }
    }
    message["content"] = json!(content.trim_start_matches('\n'));
    if !images.is_empty() {
        message["images"] = json!(images);
    }
    message
}
