//! The conversation of a script's model call: messages with text, blocks, calls and results in the usual spellings.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harn_core::chat::{ChatMessage, Media, MediaSource, Thought};
use harn_core::tool::{ToolCall, ToolOutcome};
use serde_json::Value;

use crate::media::recognise;

/// The field of answers and messages that holds what goes back to the provider.
pub const THOUGHTS: &str = "_thoughts";

/// The messages, in their order. The error says which one cannot be read, and why.
pub fn read(messages: &[Value]) -> Result<Vec<ChatMessage>, String> {
    let mut read = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        if !message.is_object() {
            return Err(format!("`{place}` has to be a dict with `role` and `content`."));
        }
        read_one(message, &place, &mut read)?;
    }
    name_results(&mut read);
    Ok(read)
}

fn read_one(message: &Value, place: &str, read: &mut Vec<ChatMessage>) -> Result<(), String> {
    let Content { text, media, mut calls, results } =
        Content::read(&message["content"], &format!("{place}.content"))?;
    read.extend(results);
    match message["role"].as_str().unwrap_or("user") {
        "assistant" => {
            calls.extend(message["tool_calls"].as_array().into_iter().flatten().map(call));
            let thoughts = thoughts(&message[THOUGHTS]);
            read.push(ChatMessage::Assistant { text, tool_calls: calls, thoughts });
        }
        "system" | "developer" => read.push(ChatMessage::System { text }),
        "tool" | "tool_result" => read.push(result(message, text, media)),
        "user" if text.is_empty() && media.is_empty() && !message["content"].is_string() => {}
        "user" => read.push(ChatMessage::User { text, media }),
        other => {
            return Err(format!("`{place}` has the role \"{other}\"; use user, assistant, tool or system."));
        }
    }
    Ok(())
}

/// What came from a provider and goes back to it; what it is not is left out.
fn thoughts(kept: &Value) -> Vec<Thought> {
    match kept {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        other => serde_json::from_value(other.clone()).unwrap_or_default(),
    }
}

fn call(call: &Value) -> ToolCall {
    let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
    let args = [&call["arguments"], &call["input"], &call["args"]].into_iter().find_map(Value::as_object);
    ToolCall { id: text("id"), name: text("name"), args: args.cloned().unwrap_or_default() }
}

fn result(result: &Value, output: String, media: Vec<Media>) -> ChatMessage {
    let ids = [&result["tool_call_id"], &result["tool_use_id"]];
    ChatMessage::Tool {
        call_id: ids.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned(),
        name: result["name"].as_str().unwrap_or_default().to_owned(),
        outcome: if result["is_error"] == true { ToolOutcome::Error } else { ToolOutcome::Ok },
        output,
        media,
    }
}

/// Some providers want to hear again which tool a result is from; the call that it answers knows.
fn name_results(messages: &mut [ChatMessage]) {
    let mut names: HashMap<String, String> = HashMap::new();
    for message in messages {
        match message {
            ChatMessage::Assistant { tool_calls, .. } => {
                names.extend(tool_calls.iter().map(|call| (call.id.clone(), call.name.clone())));
            }
            ChatMessage::Tool { call_id, name, .. } if name.is_empty() => {
                *name = names.get(call_id).cloned().unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// What a message consists of.
#[derive(Default)]
struct Content {
    text: String,
    media: Vec<Media>,
    calls: Vec<ToolCall>,
    results: Vec<ChatMessage>,
}

impl Content {
    fn read(content: &Value, place: &str) -> Result<Self, String> {
        let mut read = Self::default();
        match content {
            Value::Null => {}
            Value::String(text) => read.text.clone_from(text),
            Value::Array(blocks) => {
                for (at, block) in blocks.iter().enumerate() {
                    read.add(block, &format!("{place}[{at}]"))?;
                }
            }
            other => read.text = other.to_string(),
        }
        Ok(read)
    }

    fn add(&mut self, block: &Value, place: &str) -> Result<(), String> {
        match (block, block["type"].as_str()) {
            (Value::String(text), _) => self.say(text),
            (_, Some("image" | "image_url" | "input_image")) => self.media.push(medium(block, false, place)?),
            (_, Some("document" | "pdf" | "file")) => self.media.push(medium(block, true, place)?),
            (_, Some("tool_use")) => self.calls.push(call(block)),
            (_, Some("tool_result")) => {
                let inner = Self::read(&block["content"], &format!("{place}.content"))?;
                self.results.push(result(block, inner.text, inner.media));
            }
            // Words about thinking cannot go back without the provider's own form of them.
            (_, Some("thinking" | "reasoning")) => {}
            (_, kind) => match block["text"].as_str() {
                Some(text) => self.say(text),
                None => {
                    let kind = kind.unwrap_or("?");
                    return Err(format!(
                        "`{place}`: there is no block of the type \"{kind}\"; use text, image, document, tool_use or \
                         tool_result."
                    ));
                }
            },
        }
        Ok(())
    }

    fn say(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

/// An image or a document: `data` or `url` beside its type, or within `source` or `image_url` as providers have it.
fn medium(block: &Value, is_document: bool, place: &str) -> Result<Media, String> {
    let inner = [&block["source"], &block["image_url"]].into_iter().find(|inner| inner.is_object());
    let from = inner.unwrap_or(block);
    let said = [&from["media_type"], &from["mime_type"], &block["media_type"], &block["mime_type"]];
    let said = said.into_iter().find_map(Value::as_str);
    let url = from["url"].as_str().or(block["image_url"].as_str());
    if let Some((declared, data)) = url.and_then(data_url) {
        return Ok(inline(data, said.or(Some(declared)), is_document));
    }
    let data = [&from["data"], &from["base64"]].into_iter().find_map(base64_of);
    match (data, url) {
        (Some(data), _) => Ok(inline(data, said, is_document)),
        (None, Some(url)) => {
            let mime_type = said.unwrap_or_else(|| by_name(url, is_document)).to_owned();
            Ok(Media { mime_type, source: MediaSource::Url(url.to_owned()) })
        }
        (None, None) => {
            let what = if is_document { "a document" } else { "an image" };
            Err(format!("`{place}`: {what} needs `data` (bytes or base64) or `url`."))
        }
    }
}

fn inline(data: String, said: Option<&str>, is_document: bool) -> Media {
    // Enough of it to recognise the type by.
    let head = STANDARD.decode(data.get(..64).unwrap_or(&data)).unwrap_or_default();
    let known = recognise(&head).map(|(mime_type, _)| mime_type);
    let mime_type = known.or(said).unwrap_or_else(|| by_name("", is_document)).to_owned();
    Media { mime_type, source: MediaSource::Data(data) }
}

fn base64_of(data: &Value) -> Option<String> {
    data.as_str().or_else(|| data["$bytes"].as_str()).map(str::to_owned)
}

fn data_url(url: &str) -> Option<(&str, String)> {
    let (declared, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((declared, data.to_owned()))
}

fn by_name(url: &str, is_document: bool) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    match path.rsplit('.').next() {
        Some("png") => "image/png",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        _ if is_document => "application/pdf",
        _ => "image/jpeg",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_are_read_in_every_usual_spelling() {
        let png = "iVBORw0KGgo=";
        let image = |source| Media { mime_type: "image/png".into(), source };
        let data = || image(MediaSource::Data(png.into()));
        let user = |text: &str, media| ChatMessage::User { text: text.into(), media };
        let cases = [
            (json!(["a", {"type": "text", "text": "b"}]), user("a\nb", vec![])),
            (json!([{"type": "image", "data": {"$bytes": png}}]), user("", vec![data()])),
            (json!([{"type": "image", "data": png, "media_type": "image/gif"}]), user("", vec![data()])),
            (
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}]),
                user("", vec![data()]),
            ),
            (
                json!([{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{png}")}}]),
                user("", vec![data()]),
            ),
            (
                json!([{"type": "image", "url": "https://a/b.png?c"}]),
                user("", vec![image(MediaSource::Url("https://a/b.png?c".into()))]),
            ),
            (
                json!([{"type": "document", "data": "JVBERi0xLjQK"}]),
                user(
                    "",
                    vec![Media {
                        mime_type: "application/pdf".into(),
                        source: MediaSource::Data("JVBERi0xLjQK".into()),
                    }],
                ),
            ),
        ];
        for (content, expected) in cases {
            let read = read(&[json!({"role": "user", "content": content})]).unwrap();
            assert_eq!(read, [expected], "{content}");
        }
    }

    #[test]
    fn calls_and_results_within_blocks_are_messages_of_their_own() {
        let messages = [
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {"a": 1}}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "seen"}]},
                {"type": "text", "text": "go on"},
            ]}),
        ];
        let args = json!({"a": 1}).as_object().cloned().unwrap();
        let call = ToolCall { id: "c".into(), name: "look".into(), args };
        let result = ChatMessage::Tool {
            call_id: "c".into(),
            name: "look".into(),
            outcome: ToolOutcome::Ok,
            output: "seen".into(),
            media: vec![],
        };
        let expected = [ChatMessage::assistant("", vec![call]), result, ChatMessage::user("go on")];
        assert_eq!(read(&messages).unwrap(), expected);
    }
}
