//! An answer that Anthropic pauses: it is sent back as it came until it is whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{
    ChatMessage, ModelAnswer, ModelRequest, OutputSchema, ProviderToolUse, StopReason, Usage,
};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{
    AfterContent, Auth, Chunk, Credential, Delivery, HttpModel, HttpOptions, Model, RetryPolicy, Target,
    collect,
};
use serde_json::{Value, json};
use support::chunks::{call, stop, text};
use support::{Reply, Server, options, request, run, transport};

fn model(url: &str, delivery: Delivery, options: HttpOptions) -> HttpModel {
    let target = Target { delivery, ..Target::new("anthropic", "claude-x", url, Auth::None) };
    HttpModel::new(Arc::new(AnthropicCodec), target, Credential::missing(""), transport())
        .with_options(options)
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn message(content: &Value, stop_reason: &str) -> Value {
    json!({"type": "message", "content": content, "stop_reason": stop_reason, "container": {"id": "box"},
           "usage": {"input_tokens": 10, "output_tokens": 5}})
}

fn events(message: &Value) -> Vec<Value> {
    let begun = json!({"usage": message["usage"], "container": null});
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in message["content"].as_array().unwrap().iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": message["stop_reason"], "container": message["container"]});
    events.push(json!({"type": "message_delta", "delta": delta}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn sse(events: &[Value]) -> Reply {
    Reply::events(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

fn reply(delivery: Delivery, message: &Value) -> Reply {
    match delivery {
        Delivery::Streamed => sse(&events(message)),
        Delivery::Whole => Reply::json(200, message),
    }
}

fn searching() -> Value {
    json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "I search. "},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "rust"}},
    ])
}

fn found() -> Value {
    json!([
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "Rust"}]},
        {"type": "text", "text": "Found."},
    ])
}

fn joined(first: &Value, second: &Value) -> Value {
    [first.as_array().unwrap().clone(), second.as_array().unwrap().clone()].concat().into()
}

#[tokio::test]
async fn a_paused_turn_goes_on_and_is_one_answer() {
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let server = Server::start(vec![
            reply(delivery, &message(&searching(), "pause_turn")),
            reply(delivery, &message(&found(), "end_turn")),
        ])
        .await;
        let model = model(&server.url, delivery, options(1));
        let answer = collect(model.stream(hello())).await.unwrap();
        let used = ProviderToolUse {
            name: "web_search".into(),
            input: json!({"query": "rust"}),
            output: Some(json!([{"title": "Rust"}])),
        };
        let expected = ModelAnswer {
            text: "I search. Found.".into(),
            thinking: "Hm.".into(),
            thoughts: answer.thoughts.clone(),
            provider_tools: vec![used],
            usage: Usage::new(20, 10),
            ..ModelAnswer::stopped(StopReason::EndTurn)
        };
        assert_eq!(answer, expected, "{delivery:?}");

        let user = json!({"role": "user", "content": [{"type": "text", "text": "hello"}]});
        let seen = server.seen();
        assert_eq!((&seen[0].body["messages"], &seen[0].body["container"]), (&json!([user]), &Value::Null));
        let back = json!([user, {"role": "assistant", "content": searching()}]);
        assert_eq!((&seen[1].body["messages"], &seen[1].body["container"]), (&back, &json!("box")));

        let said =
            ChatMessage::Assistant { text: answer.text, tool_calls: vec![], thoughts: answer.thoughts };
        let next = request(vec![ChatMessage::user("hello"), said, ChatMessage::user("more")]);
        collect(model.stream(next)).await.unwrap();
        let later = &server.seen()[2].body;
        assert_eq!(later["messages"][1]["content"], joined(&searching(), &found()), "{delivery:?}");
        assert_eq!(later["container"], Value::Null, "a container of an earlier turn may be gone");
    }
}

#[tokio::test]
async fn a_turn_that_is_paused_again_and_again_is_no_success() {
    let server = Server::start(vec![reply(Delivery::Whole, &message(&json!([]), "pause_turn"))]).await;
    let answer = collect(model(&server.url, Delivery::Whole, options(1)).stream(hello())).await.unwrap();
    assert_eq!(answer.stop, StopReason::Other("pause_turn".into()));
    assert_eq!((answer.usage, server.seen().len()), (Usage::new(90, 45), 9));
}

#[tokio::test]
async fn a_continuation_is_tried_again_without_what_came_before() {
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let paused = || reply(Delivery::Streamed, &message(&searching(), "pause_turn"));
    let whole = || reply(Delivery::Streamed, &message(&found(), "end_turn"));
    let server = Server::start(vec![paused(), Reply::json(529, &busy), whole()]).await;
    let (chunks, error) = run(&model(&server.url, Delivery::Streamed, options(2)), hello()).await;
    assert_eq!((error, chunks.contains(&Chunk::Restart)), (None, false));
    let seen = server.seen();
    assert_eq!((seen.len(), &seen[1].body), (3, &seen[2].body));

    // Once something of it was shown, only the whole turn can be begun again.
    let broken = events(&message(&found(), "end_turn"));
    let retry = RetryPolicy { after_content: AfterContent::Restart, ..options(2).retry };
    let cut = sse(&broken[..broken.len() - 2]);
    let server = Server::start(vec![paused(), cut, paused(), whole()]).await;
    let patient = model(&server.url, Delivery::Streamed, HttpOptions { retry, ..options(2) });
    let answer = collect(patient.stream(hello())).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("I search. Found.", Usage::new(20, 10)));
    let seen = server.seen();
    assert_eq!((seen.len(), &seen[0].body, &seen[1].body), (4, &seen[2].body, &seen[3].body));
}

#[tokio::test]
async fn calls_of_ours_come_before_the_pause_ends() {
    let content = json!([{"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}]);
    let server = Server::start(vec![reply(Delivery::Streamed, &message(&content, "pause_turn"))]).await;
    let (mut chunks, error) = run(&model(&server.url, Delivery::Streamed, options(1)), hello()).await;
    chunks.retain(|chunk| !matches!(chunk, Chunk::Usage(_) | Chunk::Thought(_)));
    assert_eq!((chunks, error), (vec![call("t", "look", json!({"a": 1})), stop(StopReason::ToolUse)], None));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_value_is_taken_from_the_whole_turn() {
    let value = json!([{"type": "text", "text": "So: {\"n\":5}"}]);
    let server = Server::start(vec![
        reply(Delivery::Streamed, &message(&searching(), "pause_turn")),
        reply(Delivery::Streamed, &message(&value, "end_turn")),
    ])
    .await;
    let shape = OutputSchema { name: "number".into(), schema: json!({"type": "object"}) };
    let asked = ModelRequest { output_schema: Some(shape), ..hello() };
    let (chunks, _) = run(&model(&server.url, Delivery::Streamed, options(1)), asked).await;
    let said: Vec<&Chunk> = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Text(_))).collect();
    assert_eq!(said, [&text("{\"n\":5}")]);
    assert_eq!(server.seen()[1].body["messages"][1]["content"], searching());
}
