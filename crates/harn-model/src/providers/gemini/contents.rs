//! The conversation as `contents`.

use harn_core::chat::{ChatMessage, Media, MediaSource};
use harn_core::tool::{ToolCall, ToolOutcome};
use serde_json::{Value, json};

use super::family::generation;
use super::layout::{Signatures, lay};
use crate::Target;

pub(super) struct Conversation {
    /// Instructions that stand before everything else.
    pub system: Vec<String>,
    pub contents: Vec<Value>,
}

/// A call that waits for its result: our id of it, and the one on the wire.
struct Asked {
    call_id: String,
    wire_id: Option<String>,
}

pub(super) fn conversation(messages: &[ChatMessage], target: &Target) -> Conversation {
    let mut made = Conversation { system: Vec::new(), contents: Vec::new() };
    let mut asked = Vec::new();
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        let mut taken = 1;
        match message {
            ChatMessage::System { text } if made.contents.is_empty() => made.system.push(text.clone()),
            ChatMessage::System { text } => push(&mut made.contents, "user", text_part(text)),
            ChatMessage::User { text, media } => {
                let media = media.iter().map(|medium| media_part(medium, target));
                push(&mut made.contents, "user", text_part(text).into_iter().chain(media).collect());
            }
            ChatMessage::Assistant { text, tool_calls, thoughts } => {
                let laid = lay(text, tool_calls, thoughts, &target.provider, signatures(target));
                push(&mut made.contents, "model", laid.parts);
                asked = waiting(tool_calls, laid.ids);
            }
            ChatMessage::Tool { .. } => {
                let is_result = |message: &&ChatMessage| matches!(message, ChatMessage::Tool { .. });
                taken += after.iter().take_while(is_result).count();
                push(&mut made.contents, "user", results(&rest[..taken], &asked, target));
                asked.clear();
            }
        }
        rest = &rest[taken..];
    }
    made
}

/// A content without parts is refused.
fn push(contents: &mut Vec<Value>, role: &str, parts: Vec<Value>) {
    if !parts.is_empty() {
        contents.push(json!({ "role": role, "parts": parts }));
    }
}

fn text_part(text: &str) -> Vec<Value> {
    if text.is_empty() { Vec::new() } else { vec![json!({ "text": text })] }
}

fn signatures(target: &Target) -> Signatures {
    if is_third(target) { Signatures::Required } else { Signatures::Optional }
}

fn is_third(target: &Target) -> bool {
    generation(&target.model).is_some_and(|number| number >= 3)
}

fn waiting(calls: &[ToolCall], ids: Vec<Option<String>>) -> Vec<Asked> {
    let pairs = calls.iter().zip(ids);
    pairs.map(|(call, wire_id)| Asked { call_id: call.id.clone(), wire_id }).collect()
}

/// The results in the order of their calls: where there are no ids, Google goes by that.
fn results(messages: &[ChatMessage], asked: &[Asked], target: &Target) -> Vec<Value> {
    let place = |id: &str| asked.iter().position(|call| call.call_id == id);
    let mut found = Vec::new();
    let mut beside = Vec::new();
    for message in messages {
        let ChatMessage::Tool { call_id, name, outcome, output, media } = message else { continue };
        let media: Vec<Value> = media.iter().map(|medium| media_part(medium, target)).collect();
        let Some(place) = place(call_id) else {
            // Its call is no longer in the conversation, and a response to nothing is refused.
            beside.push(json!({ "text": format!("Result of an earlier call of `{name}`:\n{output}") }));
            beside.extend(media);
            continue;
        };
        let mut response = json!({ "name": name, "response": answer(*outcome, output) });
        if let Some(id) = &asked[place].wire_id {
            response["id"] = json!(id);
        }
        if is_third(target) && !media.is_empty() && media.iter().all(|part| part.get("inlineData").is_some())
        {
            response["parts"] = json!(media);
        } else {
            beside.extend(media);
        }
        found.push((place, json!({ "functionResponse": response })));
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, part)| part).chain(beside).collect()
}

fn answer(outcome: ToolOutcome, output: &str) -> Value {
    match outcome {
        ToolOutcome::Ok => json!({ "output": output }),
        ToolOutcome::Error | ToolOutcome::Denied | ToolOutcome::Interrupted => json!({ "error": output }),
    }
}

fn media_part(medium: &Media, target: &Target) -> Value {
    let mime_type = &medium.mime_type;
    let is_image = mime_type.starts_with("image/");
    let taken = if is_image { target.capabilities.images } else { target.capabilities.documents };
    match &medium.source {
        MediaSource::Data(data) if taken => json!({ "inlineData": { "mimeType": mime_type, "data": data } }),
        MediaSource::Url(url) if taken => json!({ "fileData": { "mimeType": mime_type, "fileUri": url } }),
        _ => json!({ "text": format!("[{mime_type}: left out, because the model does not take it]") }),
    }
}
