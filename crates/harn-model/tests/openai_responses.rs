//! The Responses API over real HTTP: whole conversations with a server that speaks the format and keeps nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelAnswer, ProviderToolUse, StopReason, Thinking, Thought, Usage};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Credential, Delivery, HttpModel, Model, ModelError, Target, ThinkingKind, collect};
use harn_testkit::providers::openai_responses::{Fake, KEY, Turn, call, message, reasoning};
use serde_json::{Value, json};
use support::{Reply, Server, options, request, run, transport};

fn target(url: &str, delivery: Delivery) -> Target {
    let mut target = Target::new("p", "m", url, Auth::Bearer);
    target.capabilities.thinking = ThinkingKind::Effort { levels: vec![Thinking::Low, Thinking::High] };
    Target { delivery, ..target }
}

fn model(target: Target, key: &str) -> HttpModel {
    HttpModel::new(Arc::new(OpenAiResponsesCodec), target, Credential::new(key, "THE_KEY"), transport())
        .with_options(options(2))
}

fn thought(text: &str, opaque: Value) -> Thought {
    Thought { provider: "p".into(), text: text.into(), opaque }
}

fn tool_call(id: &str, args: Value) -> ToolCall {
    ToolCall { id: id.into(), name: "read_file".into(), args: args.as_object().unwrap().clone() }
}

fn result(id: &str, output: &str) -> ChatMessage {
    let (call_id, name) = (id.to_owned(), "read_file".to_owned());
    ChatMessage::Tool { call_id, name, outcome: ToolOutcome::Ok, output: output.into(), media: vec![] }
}

fn usage() -> Usage {
    Usage { cached_tokens: 16, thinking_tokens: 4, ..Usage::new(20, 9) }
}

#[tokio::test]
async fn tools_are_used_over_two_turns_and_reasoning_goes_back_as_it_came() {
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}});
        let (a, b) = (json!({"path": "ä.txt"}), json!({"path": "b \"quoted\".txt"}));
        let fake = Fake::start(vec![
            Turn::Answer(vec![
                reasoning("two files", "gAAA"),
                search.clone(),
                message("I read"),
                call("a", "read_file", &a),
                call("b", "read_file", &b),
            ]),
            Turn::Answer(vec![message("done")]),
        ])
        .await;
        let model = model(target(&fake.url, delivery), KEY);
        let first = collect(model.stream(request(vec![ChatMessage::user("read")]))).await.unwrap();
        let expected = ModelAnswer {
            text: "I read".into(),
            thinking: "two files".into(),
            thoughts: vec![thought("two files", reasoning("two files", "gAAA")), thought("", search.clone())],
            tool_calls: vec![tool_call("a", a), tool_call("b", b)],
            provider_tools: vec![ProviderToolUse {
                name: "web_search".into(),
                input: json!({"action": {"type": "search", "query": "q"}}),
                output: None,
            }],
            usage: usage(),
            ..ModelAnswer::stopped(StopReason::ToolUse)
        };
        assert_eq!(first, expected, "{delivery:?}");

        let turn = ChatMessage::Assistant {
            text: first.text,
            tool_calls: first.tool_calls,
            thoughts: first.thoughts,
        };
        let history = vec![ChatMessage::user("read"), turn, result("a", "A"), result("b", "B")];
        let second = collect(model.stream(request(history))).await.unwrap();
        let expected =
            ModelAnswer { text: "done".into(), usage: usage(), ..ModelAnswer::stopped(StopReason::EndTurn) };
        assert_eq!(second, expected, "{delivery:?}");
        let asked = fake.asked().remove(1);
        assert_eq!((asked.path.as_str(), &asked.body["store"]), ("/v1/responses", &json!(false)));
        let function = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": arguments});
        assert_eq!(
            asked.body["input"],
            json!([
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "read"}]},
                reasoning("two files", "gAAA"),
                search,
                {"type": "message", "role": "assistant", "content": "I read"},
                function("a", "{\"path\":\"ä.txt\"}"),
                function("b", "{\"path\":\"b \\\"quoted\\\".txt\"}"),
                {"type": "function_call_output", "call_id": "a", "output": "A"},
                {"type": "function_call_output", "call_id": "b", "output": "B"},
            ])
        );
    }
}

#[tokio::test]
async fn reasoning_that_is_not_encrypted_stays_here() {
    let fake = Fake::start(vec![
        Turn::Answer(vec![reasoning("hm", "gAAA"), message("one")]),
        Turn::Answer(vec![message("two")]),
    ])
    .await;
    let mut target = target(&fake.url, Delivery::Streamed);
    target.options.insert("encrypted_reasoning".into(), false.into());
    let model = model(target, KEY);
    let first = collect(model.stream(request(vec![ChatMessage::user("1")]))).await.unwrap();
    assert_eq!((first.thinking.as_str(), first.thoughts.clone()), ("hm", vec![]));
    let turn = ChatMessage::Assistant { text: first.text, tool_calls: vec![], thoughts: first.thoughts };
    let second =
        collect(model.stream(request(vec![ChatMessage::user("1"), turn, ChatMessage::user("2")]))).await;
    assert_eq!(second.unwrap().text, "two");
}

#[tokio::test]
async fn a_wrong_key_names_its_variable_and_a_lost_result_is_refused() {
    let fake = Fake::start(vec![]).await;
    let (_, error) = run(&model(target(&fake.url, Delivery::Streamed), "sk-wrong"), request(vec![])).await;
    let message =
        "the provider did not accept the credentials: Incorrect API key provided.; check the key in THE_KEY";
    assert_eq!(error.unwrap().to_string(), message);
    let turn = ChatMessage::assistant("", vec![tool_call("a", json!({}))]);
    let (_, error) = run(&model(target(&fake.url, Delivery::Streamed), KEY), request(vec![turn])).await;
    let message = "No tool output found for function call \"a\".".into();
    assert_eq!(error, Some(ModelError::InvalidRequest { message }));
}

#[tokio::test]
async fn refusals_mean_what_their_status_and_code_say() {
    let error =
        |code: &str| json!({"error": {"message": "m", "type": "invalid_request_error", "code": code}});
    let cases = [
        (400, "context_length_exceeded", "context_too_long"),
        (400, "invalid_encrypted_content", "invalid_request"),
        (400, "invalid_prompt", "invalid_request"),
        (401, "invalid_api_key", "auth"),
        (403, "", "permission_denied"),
        (404, "model_not_found", "not_found"),
        (429, "insufficient_quota", "permission_denied"),
        (429, "rate_limit_exceeded", "rate_limited"),
        (500, "server_error", "overloaded"),
        (503, "slow_down", "overloaded"),
    ];
    for (status, code, expected) in cases {
        let server = Server::start(vec![Reply::json(status, &error(code))]).await;
        let (chunks, error) =
            run(&model(target(&server.url, Delivery::Streamed), KEY), request(vec![])).await;
        assert_eq!((chunks, error.unwrap().code()), (vec![], expected), "{status} {code}");
    }
}

#[tokio::test]
async fn a_limit_that_is_used_up_tells_how_long_to_wait() {
    let headers = [
        ("content-type", "application/json"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "1h"),
    ];
    let server = Server::start(vec![Reply::new(429, &headers, "{\"message\":\"slow down\"}")]).await;
    let (_, error) = run(&model(target(&server.url, Delivery::Streamed), KEY), request(vec![])).await;
    let expected = ModelError::RateLimited { message: "slow down".into(), retry_after_ms: Some(3_600_000) };
    assert_eq!((error, server.seen().len()), (Some(expected), 1));
}

#[tokio::test]
async fn a_failure_before_any_content_is_tried_again() {
    let failed = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}}\n\n";
    let good = json!({"status": "completed", "output": [message("hi")]});
    let server = Server::start(vec![Reply::events(failed), Reply::json(200, &good)]).await;
    let answer = collect(model(target(&server.url, Delivery::Streamed), KEY).stream(request(vec![]))).await;
    let expected = ModelAnswer { text: "hi".into(), ..ModelAnswer::stopped(StopReason::EndTurn) };
    assert_eq!((answer, server.seen().len()), (Ok(expected), 2));
}
