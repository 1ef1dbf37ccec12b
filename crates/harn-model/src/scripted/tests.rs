//! Playback of scripts through the model's stream.

use std::time::Duration;

use futures::TryStreamExt;
use harn_core::chat::{ModelAnswer, StopReason, Usage};
use serde_json::{Map, json};
use tokio::time::{Instant, timeout};

use super::*;
use crate::collect;

fn user(text: &str) -> ChatMessage {
    ChatMessage::user(text)
}

fn assistant() -> ChatMessage {
    ChatMessage::assistant("earlier", vec![])
}

fn stream(script: &str, messages: Vec<ChatMessage>) -> ModelStream {
    let model = ScriptedModel::from_json(script).unwrap();
    let request = ModelRequest {
        model: model.reference(),
        system: "".into(),
        messages: messages.into(),
        tools: [].into(),
        max_output_tokens: 100,
        thinking: Default::default(),
        output_schema: None,
        sampling: Default::default(),
    };
    model.stream(request)
}

async fn answer(script: &str, messages: Vec<ChatMessage>) -> Result<ModelAnswer, ModelError> {
    collect(stream(script, messages)).await
}

#[tokio::test]
async fn a_full_response_is_streamed_in_order() {
    let script = json!({"responses": [{
        "text": "abcd", "thinking": "hm", "chunks": 2, "stop": "tool_use", "delay_ms": 1,
        "tool_calls": [{"id": "c1", "name": "read_file", "args": {"path": "a"}}, {"id": "c2", "name": "ls"}],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }]});
    let chunks: Vec<Chunk> = stream(&script.to_string(), vec![user("go")]).try_collect().await.unwrap();
    let args = json!({"path": "a"}).as_object().cloned().unwrap();
    let expected = vec![
        Chunk::Thinking("hm".into()),
        Chunk::Text("ab".into()),
        Chunk::Text("cd".into()),
        Chunk::ToolCall { id: "c1".into(), name: "read_file".into(), args },
        Chunk::ToolCall { id: "c2".into(), name: "ls".into(), args: Map::new() },
        Chunk::Usage(Usage::new(1, 2)),
        Chunk::Stop(StopReason::ToolUse),
    ];
    assert_eq!(chunks, expected);
}

#[tokio::test]
async fn the_conversation_decides_which_response_is_played() {
    let script = r#"{
        "responses": [{"text": "r0"}, {"text": "r1"}],
        "conversations": [
            {"when": "alpha", "responses": [{"text": "a0"}, {"text": "a1"}]},
            {"when": "alp", "responses": [{"text": "never for alpha"}]}
        ]
    }"#;
    let a = assistant;
    let cases = [
        (vec![], Ok("r0")),
        (vec![user("x")], Ok("r0")),
        (vec![user("x"), a(), user("y")], Ok("r1")),
        (vec![user("x"), a(), user("alpha")], Ok("r1")),
        (vec![user("x"), a(), a()], Err("invalid_request")),
        (vec![user("go alpha!")], Ok("a0")),
        (vec![user("alpha"), a(), user("x")], Ok("a1")),
        (vec![user("alpha"), a(), user("alpha again")], Ok("a0")),
        (vec![user("alpha"), a(), user("alpha"), a(), user("x")], Ok("a1")),
        (vec![user("alpha"), a(), a()], Err("invalid_request")),
    ];
    for (messages, expected) in cases {
        let got = answer(script, messages.clone()).await;
        let got = got.as_ref().map(|answer| answer.text.as_str()).map_err(ModelError::code);
        assert_eq!(got, expected, "{messages:?}");
    }
}

#[tokio::test]
async fn what_was_recorded_goes_first_where_it_fits() {
    let script = r#"{
        "responses": [{"text": "by hand"}, {"text": "by hand too"}],
        "conversations": [{"when": "alpha", "responses": [{"text": "alpha"}]}],
        "recorded": [
            {"first": "go alpha", "turn": 0, "response": {"text": "longer"}},
            {"first": "go", "turn": 0, "response": {"text": "older"}},
            {"first": "go", "turn": 0, "response": {"text": "newer"}},
            {"first": "go", "turn": 2, "response": {"text": "second"}}
        ]
    }"#;
    let a = assistant;
    let cases = [
        (vec![user("go")], "newer"),
        (vec![user("go on")], "newer"),
        (vec![user("go alpha!")], "longer"),
        (vec![user("alpha, go")], "alpha"),
        (vec![user("come")], "by hand"),
        (vec![], "by hand"),
        (vec![user("go"), a(), user("go")], "by hand too"),
        (vec![user("go"), a(), a(), user("more")], "second"),
    ];
    for (messages, expected) in cases {
        let got = answer(script, messages.clone()).await.unwrap().text;
        assert_eq!(got, expected, "{messages:?}");
    }
}

#[tokio::test]
async fn the_same_call_gives_the_same_answer_however_often_it_is_made() {
    let model = ScriptedModel::from_json(r#"{"responses":[{"text":"one"},{"text":"two"}]}"#).unwrap();
    let request = ModelRequest {
        model: model.reference(),
        system: "".into(),
        messages: vec![user("go")].into(),
        tools: [].into(),
        max_output_tokens: 100,
        thinking: Default::default(),
        output_schema: None,
        sampling: Default::default(),
    };
    for _ in 0..3 {
        assert_eq!(collect(model.stream(request.clone())).await.unwrap().text, "one");
    }
}

#[tokio::test]
async fn after_the_last_response_the_script_repeats_or_fails() {
    let cases = [
        (r#"{"responses":[{"text":"x"}],"after":"repeat_last"}"#, Ok("x")),
        (r#"{"responses":[{"text":"x"}],"after":"error"}"#, Err("invalid_request")),
        (r#"{"responses":[{"text":"x"}]}"#, Err("invalid_request")),
        (r#"{"responses":[],"after":"repeat_last"}"#, Err("invalid_request")),
    ];
    for (script, expected) in cases {
        let got = answer(script, vec![user("go"), assistant(), assistant()]).await;
        let got = got.as_ref().map(|answer| answer.text.as_str()).map_err(ModelError::code);
        assert_eq!(got, expected, "{script}");
    }
}

#[tokio::test]
async fn a_response_ends_as_it_is_written() {
    let limited = ModelError::RateLimited { message: "slow down".into(), retry_after_ms: Some(5) };
    let network = ModelError::Network { message: "gone".into() };
    let cut = ModelError::CutStream { message: "the stream ended without a stop reason".into() };
    let cases = [
        (r#"{}"#, Ok(StopReason::EndTurn)),
        (r#"{"tool_calls":[{"id":"c","name":"n"}]}"#, Ok(StopReason::ToolUse)),
        (r#"{"stop":"end_turn"}"#, Ok(StopReason::EndTurn)),
        (r#"{"stop":"tool_use"}"#, Ok(StopReason::ToolUse)),
        (r#"{"stop":"max_tokens"}"#, Ok(StopReason::MaxTokens)),
        (r#"{"stop":"refusal"}"#, Ok(StopReason::Refusal)),
        (r#"{"stop":"paused"}"#, Ok(StopReason::Other("paused".into()))),
        (r#"{"error":{"kind":"rate_limited","message":"slow down","retry_after_ms":5}}"#, Err(limited)),
        (r#"{"text":"half","error":{"kind":"network","message":"gone"}}"#, Err(network)),
        (r#"{"text":"half","cut":true}"#, Err(cut)),
    ];
    for (response, expected) in cases {
        let script = format!(r#"{{"responses":[{response}]}}"#);
        let got = answer(&script, vec![user("go")]).await.map(|answer| answer.stop);
        assert_eq!(got, expected, "{response}");
    }
}

#[test]
fn a_bad_script_is_refused_with_its_line_and_the_cause() {
    let cases = [
        ("{\n\"responses\": [\n{\"txt\": \"x\"}]}", 3, "unknown field `txt`"),
        ("{\n\"replies\": []}", 2, "unknown field `replies`"),
        ("{\"responses\": [],\n\n\"after\": \"never\"}", 3, "unknown variant `never`"),
        ("{\"responses\": [\n{\"usage\": {\"tokens\": 1}}]}", 2, "unknown field `tokens`"),
        ("{\"responses\": [\n{\"tool_calls\": [{\"id\": \"a\", \"name\": \"b\", \"arg\": 1}]}]}", 2, "`arg`"),
        (
            "{\"responses\": [\n{\"error\": {\"kind\": \"odd\", \"message\": \"\"}}]}",
            2,
            "unknown variant `odd`",
        ),
        ("{\"responses\": [\n{\"error\": {\"kind\": \"auth\", \"message\": \"\", \"x\": 1}}]}", 2, "`x`"),
        ("{\"responses\": [\n{\"cut\": true, \"hang\": true}]}", 2, "at most one of"),
        ("{\"responses\": [\n{\"chunks\": 0}]}", 2, "nonzero"),
        ("{\"conversations\": [\n{\"responses\": []}]}", 2, "missing field `when`"),
        ("{\"recorded\": [\n{\"first\": \"\", \"turn\": 0}]}", 2, "missing field `response`"),
        ("{\"recorded\": [\n{\"first\": \"\", \"turn\": -1, \"response\": {}}]}", 2, "invalid value"),
        ("{\"responses\": [\n{\"provider_tools\": [{\"name\": \"a\", \"in\": 1}]}]}", 2, "`in`"),
        ("{\"responses\": [\n{\"partial_calls\": [{\"id\": \"a\", \"name\": \"b\"}]}]}", 2, "`raw`"),
        ("{\n\n", 3, "EOF"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    for (script, expected_line, cause) in cases {
        std::fs::write(&path, script).unwrap();
        match ScriptedModel::from_file(&path) {
            Err(ScriptError::Invalid { file, line, message }) => {
                assert_eq!((file, line), (path.display().to_string(), expected_line), "{script}: {message}");
                assert!(message.contains(cause) && !message.contains(" at line "), "{script}: {message}");
            }
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let error = ScriptedModel::from_file("/nowhere/script.json").unwrap_err();
    assert!(error.to_string().starts_with("the script /nowhere/script.json cannot be read: "), "{error}");
}

#[tokio::test]
async fn a_script_is_read_from_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"responses":[{"text":"hi"}]}"#).unwrap();
    let model = ScriptedModel::from_file(file.path()).unwrap();
    assert_eq!(model.0.response(&[user("go")]).unwrap().text, "hi");
}

#[tokio::test(start_paused = true)]
async fn the_delay_comes_before_the_first_chunk() {
    let began = Instant::now();
    let mut stream = stream(r#"{"responses":[{"text":"x","delay_ms":1500}]}"#, vec![user("go")]);
    assert_eq!(stream.try_next().await, Ok(Some(Chunk::Text("x".into()))));
    assert_eq!(began.elapsed(), Duration::from_millis(1500));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_cancels_a_call_that_would_not_end() {
    let cases = [
        r#"{"responses":[{"hang":true}]}"#,
        r#"{"responses":[{"text":"half","hang":true}]}"#,
        r#"{"responses":[{"text":"late","delay_ms":3600000}]}"#,
    ];
    for script in cases {
        let call = timeout(Duration::from_millis(50), answer(script, vec![user("go")]));
        assert!(call.await.is_err(), "{script}");
    }
}

#[tokio::test]
async fn a_task_that_waits_for_a_hanging_answer_can_be_aborted() {
    let (seen, mut first) = tokio::sync::mpsc::channel(1);
    let hanging = stream(r#"{"responses":[{"text":"half","hang":true}]}"#, vec![user("go")]);
    let task = tokio::spawn(collect(hanging.inspect_ok(move |chunk| {
        let _ = seen.try_send(chunk.clone());
    })));
    assert_eq!(first.recv().await, Some(Chunk::Text("half".into())));
    task.abort();
    let ended = timeout(Duration::from_secs(5), task).await.unwrap();
    assert!(ended.unwrap_err().is_cancelled());
    // The stream owned the sender: a closed channel shows that it is gone.
    assert_eq!(first.recv().await, None);
}
