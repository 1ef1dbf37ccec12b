//! The conversation as a list of `input` items.

use harn_core::chat::{ChatMessage, Media, MediaSource, Thought};
use harn_core::tool::ToolCall;
use serde_json::{Value, json};

use super::super::openai_chat::{data_url, file_name, left_out};
use crate::{Capabilities, Target};

pub(super) fn items(messages: &[ChatMessage], target: &Target) -> Vec<Value> {
    let capabilities = &target.capabilities;
    let mut items = Vec::new();
    for message in messages {
        match message {
            ChatMessage::System { text } => {
                let role = if capabilities.developer_role { "developer" } else { "system" };
                items.push(said(role, vec![words(text)]));
            }
            ChatMessage::User { text, media } => items.push(said("user", parts(text, media, capabilities))),
            ChatMessage::Assistant { text, tool_calls, thoughts } => {
                assistant(text, tool_calls, thoughts, &target.provider, &mut items);
            }
            ChatMessage::Tool { call_id, output, media, .. } => {
                let output: Value = if media.is_empty() {
                    output.as_str().into()
                } else {
                    parts(output, media, capabilities).into()
                };
                items.push(json!({"type": "function_call_output", "call_id": call_id, "output": output}));
            }
        }
    }
    items
}

fn said(role: &str, content: Vec<Value>) -> Value {
    json!({"type": "message", "role": role, "content": content})
}

fn words(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn parts(text: &str, media: &[Media], capabilities: &Capabilities) -> Vec<Value> {
    let is_said = !text.is_empty() || media.is_empty();
    let text = is_said.then(|| words(text));
    text.into_iter().chain(media.iter().map(|medium| part(medium, capabilities))).collect()
}

fn part(medium: &Media, capabilities: &Capabilities) -> Value {
    let is_image = medium.mime_type.starts_with("image/");
    match &medium.source {
        MediaSource::Data(_) | MediaSource::Url(_) if is_image && capabilities.images => {
            json!({"type": "input_image", "detail": "auto", "image_url": data_url(medium)})
        }
        MediaSource::Data(_) if !is_image && capabilities.documents => {
            json!({"type": "input_file", "filename": file_name(medium), "file_data": data_url(medium)})
        }
        MediaSource::Url(url) if !is_image && capabilities.documents => {
            json!({"type": "input_file", "file_url": url})
        }
        _ => words(&left_out(medium)),
    }
}

fn assistant(text: &str, calls: &[ToolCall], thoughts: &[Thought], provider: &str, items: &mut Vec<Value>) {
    let ours = thoughts.iter().filter(|thought| thought.provider == provider && thought.opaque.is_object());
    items.extend(ours.map(|thought| thought.opaque.clone()));
    if !text.is_empty() {
        // Parts would need the id and the status of the message that they were, which nobody kept.
        items.push(json!({"type": "message", "role": "assistant", "content": text}));
    }
    items.extend(calls.iter().map(|call| {
        let arguments = Value::Object(call.args.clone()).to_string();
        json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    }));
}
