//! What people and tools show, as the agent loop passes it on: by reference, and counted when it decides to compact.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod records;

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelAnswer, StopReason};
use harn_core::message::{Message, MessageInput, Part, Role, Visibility};
use harn_core::run::{Completion, EffectKey, Program, Request, RunRecord, Step};
use harn_core::tool::{ToolCall, ToolOutcome, ToolResult};
use harn_engine::agent::AgentLoop;
use serde_json::{Map, json};

fn record(context_window: u64, history: Vec<Message>) -> RunRecord {
    records::record(9, context_window, history)
}

fn message(parts: Vec<Part>) -> Message {
    records::message(MessageInput { role: Role::User, parts, metadata: Map::new() })
}

fn image(id: &str, mime_type: &str, visibility: Visibility) -> Part {
    Part::ImageRef { artifact_id: id.into(), mime_type: mime_type.into(), visibility }
}

fn reference(id: &str, mime_type: &str) -> Media {
    Media { mime_type: mime_type.into(), source: MediaSource::Artifact(id.into()) }
}

fn resume(program: &mut AgentLoop, key: (&str, &str, u32), completion: &Completion) -> Request {
    match program.resume(&EffectKey::new(key.0, key.1, key.2), completion) {
        Step::Waiting(mut effects) => effects.remove(0).request,
        other => panic!("{other:?}"),
    }
}

fn inbox(messages: Vec<Message>) -> Completion {
    Completion::Inbox { messages }
}

fn messages(request: Request) -> Vec<ChatMessage> {
    match request {
        Request::Model(request) => request.messages.to_vec(),
        other => panic!("not a model call: {other:?}"),
    }
}

#[test]
fn history_inbox_and_tools_are_passed_on_by_reference() {
    let history = message(vec![
        Part::text("look"),
        image("artifact_1", "image/png", Visibility::Internal),
        Part::FileRef { uri: "a.png".into(), mime_type: "image/png".into(), visibility: Visibility::Public },
        image("artifact_2", "image/png", Visibility::ReceiptOnly),
        Part::ArtifactRef { artifact_id: "artifact_3".into(), visibility: Visibility::Public },
    ]);
    let mut program = AgentLoop::new(&record(1_000_000, vec![history]));
    program.start();
    let heard = message(vec![image("artifact_4", "image/webp", Visibility::Public)]);
    resume(&mut program, ("inbox", "before_model", 1), &inbox(vec![heard]));
    let call = ToolCall { id: "c".into(), name: "read_file".into(), args: Map::new() };
    let answer = ModelAnswer { tool_calls: vec![call.clone()], ..ModelAnswer::stopped(StopReason::ToolUse) };
    resume(&mut program, ("llm", "main", 1), &Completion::Model { answer });
    let result = ToolResult {
        call_id: "c".into(),
        name: "read_file".into(),
        outcome: ToolOutcome::Ok,
        output: json!("shown"),
        media: vec![reference("artifact_5", "application/pdf")],
    };
    resume(&mut program, ("tool", "main", 1), &Completion::Tool { result });
    let request = resume(&mut program, ("inbox", "before_model", 2), &inbox(Vec::new()));
    let expected = [
        ChatMessage::User {
            text: "look\n\n[image artifact_1, image/png]\n\n[file a.png, image/png]\n\n[artifact artifact_3]"
                .into(),
            media: vec![
                reference("artifact_1", "image/png"),
                reference("artifact_3", "application/octet-stream"),
            ],
        },
        ChatMessage::User {
            text: "[image artifact_4, image/webp]".into(),
            media: vec![reference("artifact_4", "image/webp")],
        },
        ChatMessage::assistant("", vec![call]),
        ChatMessage::Tool {
            call_id: "c".into(),
            name: "read_file".into(),
            outcome: ToolOutcome::Ok,
            output: "shown".into(),
            media: vec![reference("artifact_5", "application/pdf")],
        },
    ];
    assert_eq!(messages(request), expected);
}

/// Whether a conversation that begins with this many media of a type, in a window of 20,000 tokens, is compacted
/// before the first call; and if so, what the summariser is told of them.
fn summarised(mime_type: &str, count: usize) -> Option<String> {
    let shown = (0..count).map(|_| image("artifact_1", mime_type, Visibility::Public)).collect();
    let record = record(20_000, vec![message(shown), message(vec![Part::text("go on")])]);
    let mut program = AgentLoop::new(&record);
    program.start();
    match messages(resume(&mut program, ("inbox", "before_model", 1), &inbox(Vec::new()))).as_slice() {
        [ChatMessage::User { text, media }] if text.starts_with("Summarise") => {
            assert_eq!(media, &[]);
            Some(text.clone())
        }
        _ => None,
    }
}

#[test]
fn media_count_towards_the_window_and_a_summariser_only_hears_of_them() {
    assert_eq!(summarised("image/png", 2), None);
    let told = summarised("image/png", 10).unwrap();
    assert_eq!(told.matches("[image artifact_1, image/png]").count(), 10, "{told}");
    assert!(summarised("application/pdf", 1).is_some());
}
