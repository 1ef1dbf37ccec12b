//! A session's messages as the conversation that a model sees.

use harn_core::ArtifactId;
use harn_core::chat::{ChatMessage, Media, MediaSource};
use harn_core::message::{Message, Part, Role, ToolStatus, Visibility};
use harn_core::tool::{ToolCall, ToolOutcome};
use serde_json::Value;

use crate::media;

/// A call of the last answer, and its result once that has been seen.
struct Asked {
    call: ToolCall,
    result: Option<(ToolOutcome, String)>,
}

/// The whole history. Results stand in call order, as the run itself saw them, whatever order they came in. A call
/// without one, because its task was cancelled, gets one that says so: providers refuse loose ends.
pub fn conversation(history: &[Message]) -> Vec<ChatMessage> {
    let mut chat = Vec::with_capacity(history.len());
    let mut asked: Vec<Asked> = Vec::new();
    for message in history {
        if message.role != Role::Tool {
            join(&mut chat, &mut asked);
        }
        match message.role {
            Role::User => chat.push(user_message(&message.parts)),
            Role::System => chat.push(ChatMessage::System { text: text_of(&message.parts) }),
            Role::Assistant | Role::Agent => {
                let tool_calls = calls_of(&message.parts);
                asked.extend(tool_calls.iter().map(|call| Asked { call: call.clone(), result: None }));
                chat.push(ChatMessage::assistant(text_of(&message.parts), tool_calls));
            }
            Role::Tool => note_results(&message.parts, &mut chat, &mut asked),
        }
    }
    join(&mut chat, &mut asked);
    chat
}

fn join(chat: &mut Vec<ChatMessage>, asked: &mut Vec<Asked>) {
    chat.extend(asked.drain(..).map(|Asked { call, result }| {
        let unknown = "The task ended before this call had a result; whether it happened is unknown.";
        let (outcome, output) = result.unwrap_or_else(|| (ToolOutcome::Interrupted, unknown.into()));
        ChatMessage::Tool { call_id: call.id, name: call.name, outcome, output, media: Vec::new() }
    }));
}

fn calls_of(parts: &[Part]) -> Vec<ToolCall> {
    let call = |part: &Part| match part {
        Part::ToolCall { tool_call_id, name, input, .. } => {
            Some(ToolCall { id: tool_call_id.clone(), name: name.clone(), args: input.clone() })
        }
        _ => None,
    };
    parts.iter().filter_map(call).collect()
}

fn note_results(parts: &[Part], chat: &mut Vec<ChatMessage>, asked: &mut [Asked]) {
    for part in parts {
        if let Part::ToolResult { tool_call_id, output, status, .. } = part {
            let outcome = if *status == ToolStatus::Ok { ToolOutcome::Ok } else { ToolOutcome::Error };
            match asked.iter_mut().find(|asked| asked.call.id == *tool_call_id) {
                Some(asked) => asked.result = Some((outcome, plain(output))),
                // A result that nobody asked for was appended by a client; as text it cannot break anything.
                None => chat.push(ChatMessage::user(plain(output))),
            }
        }
    }
}

/// What a person said and showed. What they showed is named among the words as well, so that its place is known, and
/// it can still be spoken of where it cannot be shown.
pub fn user_message(parts: &[Part]) -> ChatMessage {
    let shown = parts.iter().filter(|part| part.visibility() != Visibility::ReceiptOnly);
    let media = shown.filter_map(|part| match part {
        Part::ImageRef { artifact_id, mime_type, .. } => Some(reference(artifact_id, mime_type)),
        Part::ArtifactRef { artifact_id, .. } => Some(reference(artifact_id, media::UNKNOWN)),
        Part::Text { .. }
        | Part::Json { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::FileRef { .. } => None,
    });
    ChatMessage::User { text: text_of(parts), media: media.collect() }
}

fn reference(id: &ArtifactId, mime_type: &str) -> Media {
    Media { mime_type: mime_type.to_owned(), source: MediaSource::Artifact(id.clone()) }
}

/// Everything in a message that can be said in words.
fn text_of(parts: &[Part]) -> String {
    let words =
        parts.iter().filter(|part| part.visibility() != Visibility::ReceiptOnly).filter_map(
            |part| match part {
                Part::Text { text, .. } => Some(text.clone()),
                Part::Json { value, .. } => Some(value.to_string()),
                Part::ArtifactRef { artifact_id, .. } => Some(format!("[artifact {artifact_id}]")),
                Part::FileRef { uri, mime_type, .. } => Some(format!("[file {uri}, {mime_type}]")),
                Part::ImageRef { artifact_id, mime_type, .. } => {
                    Some(format!("[image {artifact_id}, {mime_type}]"))
                }
                Part::ToolCall { .. } | Part::ToolResult { .. } => None,
            },
        );
    words.collect::<Vec<_>>().join("\n\n")
}

/// A tool's output for the model: text as it is, anything else as JSON.
pub fn plain(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
