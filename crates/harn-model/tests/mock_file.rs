//! Files of answers: which line answers which call, what a wrong file says, and that a recording can be played.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelAnswer, ModelRef, StopReason, Usage};
use harn_core::tool::ToolCall;
use harn_model::{MadeAgain, MockFile, MockRecording, Model, ModelError, Models, collect};
use serde_json::json;
use support::request;

async fn ask(model: &dyn Model, words: &str) -> Result<ModelAnswer, ModelError> {
    collect(model.stream(request(vec![ChatMessage::user(words)]))).await
}

async fn texts(file: &str, words: &[&str]) -> Vec<String> {
    let mock = MockFile::parse("a.jsonl", file).unwrap();
    let mut heard = Vec::new();
    for words in words {
        heard.push(match ask(&mock, words).await {
            Ok(answer) => answer.text,
            Err(error) => format!("{}: {}", error.code(), error.message()),
        });
    }
    heard
}

#[tokio::test]
async fn lines_answer_in_order_and_those_with_a_match_whenever_it_fits() {
    let file = r#"
        {"text": "one"}
        {"match": "*rain*", "text": "an umbrella"}
        {"match": "once", "consume_match": true, "text": "only now"}
        {"text": "two"}
        {"error": {"category": "rate_limit", "message": "later"}}
    "#;
    let words = ["rain?", "a", "will it rain", "once", "once", "b", "c"];
    let left = "invalid_request: no answer is left in a.jsonl that fits this call; add a line for it";
    assert_eq!(
        texts(file, &words).await,
        ["an umbrella", "one", "an umbrella", "only now", "two", "rate_limited: later", left]
    );
}

#[tokio::test]
async fn what_was_answered_before_is_not_answered_again() {
    let file = r#"
        {"text": "one"}
        {"match": "once", "consume_match": true, "text": "only now"}
        {"match": "rain", "text": "an umbrella"}
        {"text": "two"}
        {"text": "three"}
    "#;
    let mock = MockFile::parse("a.jsonl", file).unwrap();
    let made = ["a", "once", "rain", "b"].map(|words| request(vec![ChatMessage::user(words)]));
    // The first call was begun before the others, and nobody knows its answer.
    let again = |at: usize| if at == 0 { MadeAgain::Yes } else { MadeAgain::No };
    mock.go_on_after(made.iter().enumerate().map(|(at, request)| (request, again(at))));
    let mut heard = Vec::new();
    for words in ["a", "once", "rain"] {
        heard.push(ask(&mock, words).await.unwrap().text);
    }
    assert_eq!(heard, ["one", "three", "an umbrella"]);
}

#[tokio::test]
async fn a_line_has_everything_that_an_answer_has() {
    let file = r#"{"text": "t", "thinking": "hm", "tool_calls": [{"name": "look", "arguments": {"a": 1}}],
                   "input_tokens": 5, "output_tokens": 6, "cache_read_tokens": 2, "cache_write_tokens": 1,
                   "model": "m", "anything": "else"}"#
        .replace('\n', " ");
    let args = json!({"a": 1}).as_object().cloned().unwrap();
    let expected = ModelAnswer {
        text: "t".into(),
        thinking: "hm".into(),
        tool_calls: vec![ToolCall { id: "call".into(), name: "look".into(), args }],
        usage: Usage { cached_tokens: 2, cache_write_tokens: 1, ..Usage::new(5, 6) },
        ..ModelAnswer::stopped(StopReason::ToolUse)
    };
    let mock = MockFile::parse("a.jsonl", &file).unwrap();
    assert_eq!(ask(&mock, "hi").await, Ok(expected));
}

#[test]
fn a_wrong_line_is_named() {
    let cases = [
        ("{\"text\": 1}", "`text` must be a text; a line is one JSON object such as {\"text\": \"Hello.\"}"),
        ("{\"error\": \"rate_limit\"}", "`error` must be an object such as {\"category\": \"rate_limit\", "),
        ("{\"tool_calls\": [{}]}", "`tool_calls` must be a list such as [{\"name\": \"look\", "),
        ("[1]", "this is no object; "),
        ("{\"text\"", "this is no JSON: "),
    ];
    for (line, expected) in cases {
        let error = MockFile::parse("a.jsonl", &format!("{{}}\n\n{line}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a.jsonl:3: {expected}")), "{error}");
    }
    let error = MockFile::open("/no/such/file.jsonl").unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file.jsonl cannot be read: "), "{error}");
}

#[tokio::test]
async fn a_recording_holds_what_was_answered_without_secrets_and_plays_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.jsonl");
    let file = "{\"text\": \"the SECRET\"}\n{\"error\": {\"category\": \"timeout\", \"message\": \"slow\"}}";
    let source = MockFile::parse("a.jsonl", file).unwrap();
    let redact = Arc::new(|text: &str| text.replace("SECRET", "[gone]"));
    let recording = MockRecording::create(&path, redact).unwrap();
    let models = Models::new(vec![]).with_mock(Arc::new(source)).with_mock_recording(recording);
    let model = models.get(&ModelRef { provider: "any".into(), model: "any".into() }).unwrap();
    assert_eq!(ask(&*model, "a").await.unwrap().text, "the SECRET");
    assert_eq!(ask(&*model, "b").await.unwrap_err().code(), "timeout");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "{\"model\":\"m\",\"provider\":\"p\",\"stop_reason\":\"end_turn\",\"text\":\"the [gone]\"}\n\
         {\"error\":{\"category\":\"timeout\",\"message\":\"slow\"},\"model\":\"m\",\"provider\":\"p\"}\n"
    );
    let played = MockFile::open(&path).unwrap();
    assert_eq!(ask(&played, "a").await.unwrap().text, "the [gone]");
    assert_eq!(ask(&played, "b").await.unwrap_err().code(), "timeout");
}
