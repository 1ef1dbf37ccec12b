//! The conversation as a list of `messages`.

use harn_core::chat::{ChatMessage, Media, MediaSource, Thinking, Thought};
use harn_core::tool::ToolCall;
use serde_json::{Map, Value, json};

use super::dialect::{Dialect, ReasoningBack};
use crate::{Capabilities, Target, ThinkingKind};

/// The fields in which servers tell reasoning, and take it back.
pub(super) const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

pub(super) struct Conversation<'a> {
    pub system: &'a str,
    pub messages: &'a [ChatMessage],
    pub target: &'a Target,
    pub dialect: Dialect,
    /// What may be cached is marked.
    pub marks: bool,
    pub back: ReasoningBack,
    pub thinking: Thinking,
    /// A word at the end of the last message of the user.
    pub tag: Option<&'static str>,
}

pub(super) fn messages(conversation: &Conversation<'_>) -> Vec<Value> {
    let Conversation { system, messages, target, tag, .. } = conversation;
    let capabilities = &target.capabilities;
    let role = if capabilities.developer_role { "developer" } else { "system" };
    let last_user = messages.iter().rposition(|message| matches!(message, ChatMessage::User { .. }));
    let tagged = |text: &str, is_place: bool| match tag {
        Some(tag) if is_place => format!("{text} {tag}").trim_start().to_owned(),
        _ => text.to_owned(),
    };
    let mut list = Vec::new();
    let system = tagged(system, last_user.is_none());
    if !system.is_empty() {
        list.push(json!({"role": role, "content": system}));
    }
    // The role `tool` takes only words, so what a tool showed follows the last result of its turn.
    let mut shown: Vec<&Media> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if !matches!(message, ChatMessage::Tool { .. }) {
            flush(&mut shown, capabilities, &mut list);
        }
        list.push(match message {
            ChatMessage::System { text } => json!({"role": role, "content": text}),
            ChatMessage::User { text, media } => {
                let text = tagged(text, last_user == Some(index));
                json!({"role": "user", "content": content(&text, media, capabilities)})
            }
            ChatMessage::Assistant { text, tool_calls, thoughts } => {
                assistant(text, tool_calls, thoughts, conversation)
            }
            ChatMessage::Tool { call_id, output, media, .. } => {
                shown.extend(media);
                json!({"role": "tool", "tool_call_id": call_id, "content": output})
            }
        });
    }
    flush(&mut shown, capabilities, &mut list);
    if conversation.marks && capabilities.prompt_caching {
        mark_for_cache(&mut list);
    }
    list
}

/// Marks the instructions and the newest words of the user: the providers behind OpenRouter that cache on request cache
/// all that stands before a mark.
fn mark_for_cache(list: &mut [Value]) {
    let is =
        |message: &Value, roles: &[&str]| message["role"].as_str().is_some_and(|role| roles.contains(&role));
    let first = list.first().filter(|message| is(message, &["system", "developer"])).map(|_| 0);
    let last = list.iter().rposition(|message| is(message, &["user"]));
    for at in first.into_iter().chain(last) {
        let content = list[at]["content"].take();
        let mut parts = match content {
            Value::Array(parts) => parts,
            words => vec![json!({"type": "text", "text": words})],
        };
        if let Some(part) = parts.iter_mut().rfind(|part| part["type"] == "text") {
            part["cache_control"] = json!({"type": "ephemeral"});
        }
        list[at]["content"] = parts.into();
    }
}

fn flush(shown: &mut Vec<&Media>, capabilities: &Capabilities, list: &mut Vec<Value>) {
    if !shown.is_empty() {
        let mut parts = vec![json!({"type": "text", "text": "What the tools returned besides words:"})];
        parts.extend(shown.drain(..).map(|medium| part(medium, capabilities)));
        list.push(json!({"role": "user", "content": parts}));
    }
}

fn content(text: &str, media: &[Media], capabilities: &Capabilities) -> Value {
    if media.is_empty() {
        return text.into();
    }
    let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    words.into_iter().chain(media.iter().map(|medium| part(medium, capabilities))).collect()
}

fn part(medium: &Media, capabilities: &Capabilities) -> Value {
    let is_image = medium.mime_type.starts_with("image/");
    match &medium.source {
        MediaSource::Data(_) | MediaSource::Url(_) if is_image && capabilities.images => {
            json!({"type": "image_url", "image_url": {"url": data_url(medium)}})
        }
        MediaSource::Data(_) if !is_image && capabilities.documents => {
            json!({"type": "file", "file": {"filename": file_name(medium), "file_data": data_url(medium)}})
        }
        _ => json!({"type": "text", "text": left_out(medium)}),
    }
}

/// An address that holds the content, or where it is.
pub(in crate::providers) fn data_url(medium: &Media) -> String {
    match &medium.source {
        MediaSource::Data(data) => format!("data:{};base64,{data}", medium.mime_type),
        MediaSource::Url(url) => url.clone(),
        MediaSource::Artifact(id) => id.to_string(),
    }
}

/// A name whose ending tells the type, which is what servers go by.
pub(in crate::providers) fn file_name(medium: &Media) -> String {
    let ending = match medium.mime_type.as_str() {
        "application/pdf" => ".pdf",
        "text/plain" => ".txt",
        "text/markdown" => ".md",
        "text/csv" => ".csv",
        "text/html" => ".html",
        "application/json" => ".json",
        _ => "",
    };
    format!("document{ending}")
}

/// In place of a medium that the model cannot take: the conversation goes on, and the model knows what it missed.
pub(in crate::providers) fn left_out(medium: &Media) -> String {
    format!("[{} left out: this model cannot take it]", medium.mime_type)
}

fn assistant(text: &str, calls: &[ToolCall], thoughts: &[Thought], conversation: &Conversation<'_>) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    // A turn that only calls tools has no content, which is not the same as an empty one to some servers.
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    message.insert("content".into(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.iter().map(call).collect());
    }
    reasoning(calls, thoughts, conversation, &mut message);
    message.into()
}

fn call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.args.clone()).to_string();
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn reasoning(
    calls: &[ToolCall],
    thoughts: &[Thought],
    conversation: &Conversation<'_>,
    message: &mut Map<String, Value>,
) {
    let goes_back = match conversation.back {
        ReasoningBack::Never => false,
        ReasoningBack::ToolTurns => !calls.is_empty(),
        ReasoningBack::Always => true,
    };
    if !goes_back {
        return;
    }
    let ours = thoughts.iter().filter(|thought| thought.provider == conversation.target.provider);
    for (field, value) in ours.filter_map(|thought| thought.opaque.as_object()).flatten() {
        if REASONING.contains(&field.as_str()) {
            message.insert(field.clone(), value.clone());
        }
    }
    // DeepSeek refuses a turn with calls that lacks the field, even where there was nothing to say.
    let thinks = conversation.thinking != Thinking::Off
        && conversation.target.capabilities.thinking != ThinkingKind::Never;
    if conversation.dialect == Dialect::DeepSeek && thinks && !calls.is_empty() {
        message.entry("reasoning_content").or_insert_with(|| "".into());
    }
}
