//! The offline model through its stream.

use futures::{StreamExt, TryStreamExt};
use harn_core::tool::{Class, SideEffect, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::*;
use crate::collect;

fn request(messages: Vec<ChatMessage>, tools: &[&str]) -> ModelRequest {
    let spec = |name: &&str| ToolSpec {
        annotations: Default::default(),
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: Value::Null,
        output_schema: Value::Null,
        class: Class::Read,
        side_effect: SideEffect::ReadOnly,
    };
    ModelRequest {
        model: OfflineModel.reference(),
        system: "Be good.".into(),
        messages: messages.into(),
        tools: tools.iter().map(spec).collect(),
        max_output_tokens: 1000,
        thinking: Default::default(),
        output_schema: None,
        sampling: Default::default(),
    }
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

fn call(id: &str, path: &str) -> ToolCall {
    let args = json!({"path": path}).as_object().cloned().unwrap();
    ToolCall { id: id.into(), name: "read_file".into(), args }
}

fn called(calls: Vec<ToolCall>) -> ChatMessage {
    ChatMessage::assistant("", calls)
}

fn result(id: &str) -> ChatMessage {
    let (call_id, name, output) = (id.into(), "read_file".into(), r#"{"content":"hello"}"#.into());
    ChatMessage::Tool { call_id, name, outcome: ToolOutcome::Ok, output, media: vec![] }
}

async fn answered(messages: Vec<ChatMessage>) -> ModelAnswer {
    collect(OfflineModel.stream(request(messages, &["read_file", "list_dir"]))).await.unwrap()
}

#[tokio::test]
async fn commands_become_numbered_calls_of_one_answer() {
    let answer = answered(vec![user("read a\nread b")]).await;
    let expected = ModelAnswer {
        tool_calls: vec![call("call_1", "a"), call("call_2", "b")],
        usage: Usage::new(5, 10),
        ..ModelAnswer::stopped(StopReason::ToolUse)
    };
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn call_ids_count_on_through_the_conversation() {
    let answer = answered(vec![
        user("read a\nread b"),
        called(vec![call("call_1", "a"), call("call_2", "b")]),
        result("call_1"),
        result("call_2"),
        user("read c"),
    ])
    .await;
    assert_eq!(answer.tool_calls, vec![call("call_3", "c")]);
}

#[tokio::test]
async fn the_newest_message_decides_what_is_answered() {
    let turn = || vec![user("read a"), called(vec![call("call_1", "a")]), result("call_1")];
    let with = |message: ChatMessage| turn().into_iter().chain([message]).collect::<Vec<_>>();
    let system = ChatMessage::System { text: "A note.".into() };
    let cases = [
        (vec![], INTRODUCTION),
        (vec![system.clone()], INTRODUCTION),
        (vec![user("How are you?")], INTRODUCTION),
        (turn(), "read_file gave:\nhello"),
        (with(system), "read_file gave:\nhello"),
        (with(user("never mind")), INTRODUCTION),
        (with(called(vec![])), NOTHING_NEW),
    ];
    for (messages, text) in cases {
        let answer = answered(messages.clone()).await;
        let got = (answer.text.as_str(), answer.tool_calls.len(), answer.stop);
        assert_eq!(got, (text, 0, StopReason::EndTurn), "{messages:?}");
    }
}

#[tokio::test]
async fn steering_after_a_result_is_the_new_request() {
    let answer = answered(vec![
        user("read a"),
        called(vec![call("call_1", "a")]),
        result("call_1"),
        user("no, stop"),
        user("read b"),
    ])
    .await;
    assert_eq!(answer.tool_calls, vec![call("call_2", "b")]);
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_refused_in_words() {
    let refused = "I may not use run_command: it is not among the tools of this session.";
    let cases = [("run ls", StopReason::EndTurn, 0), ("run ls\nread a", StopReason::ToolUse, 1)];
    for (text, stop, calls) in cases {
        let answer = answered(vec![user(text)]).await;
        assert_eq!((answer.text.as_str(), answer.stop, answer.tool_calls.len()), (refused, stop, calls));
    }
}

#[tokio::test]
async fn text_arrives_in_pieces_and_the_stop_is_last() {
    let stream = OfflineModel.stream(request(vec![user("hello")], &[]));
    let chunks: Vec<Chunk> = stream.try_collect().await.unwrap();
    let texts = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Text(_))).count();
    assert_eq!((texts, chunks.last()), (TEXT_PIECES, Some(&Chunk::Stop(StopReason::EndTurn))));
}

#[tokio::test]
async fn the_same_request_gives_the_same_stream() {
    let stream = || OfflineModel.stream(request(vec![user("read a\nhello")], &["read_file"]));
    assert_eq!(stream().collect::<Vec<_>>().await, stream().collect::<Vec<_>>().await);
}
