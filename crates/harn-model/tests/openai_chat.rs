//! Chat Completions over real HTTP: whole conversations with a server that speaks the format, and what refusals mean.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelAnswer, StopReason, Thought, Usage};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::{Auth, Chunk, Credential, Delivery, HttpModel, Model, Target, collect};
use harn_testkit::providers::openai_chat::{Fake, KEY, Said, Turn};
use serde_json::{Value, json};
use support::{Reply, Server, options, request, run, transport};

fn target(url: &str, dialect: &str, delivery: Delivery) -> Target {
    let mut target = Target::new("p", "m", url, Auth::Bearer);
    target.options.insert("dialect".into(), dialect.into());
    Target { delivery, ..target }
}

fn model(target: Target, key: &str) -> HttpModel {
    HttpModel::new(Arc::new(OpenAiChatCodec), target, Credential::new(key, "THE_KEY"), transport())
        .with_options(options(2))
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
async fn tools_are_used_over_two_turns_streamed_and_at_once() {
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let calls = vec![
            ("a", "read_file", json!({"path": "ä.txt"})),
            ("b", "read_file", json!({"path": "b \"quoted\".txt"})),
        ];
        let fake = Fake::start(vec![
            Turn::Answer(Said { reasoning: "two files", text: "I read", calls, finish: "tool_calls" }),
            Turn::Answer(Said { text: "done", finish: "stop", ..Said::default() }),
        ])
        .await;
        let model = model(target(&fake.url, "deepseek", delivery), KEY);
        let first = collect(model.stream(request(vec![ChatMessage::user("read")]))).await.unwrap();
        let thought = Thought {
            provider: "p".into(),
            text: "two files".into(),
            opaque: json!({"reasoning_content": "two files"}),
        };
        let expected = ModelAnswer {
            text: "I read".into(),
            thinking: "two files".into(),
            thoughts: vec![thought],
            tool_calls: vec![
                tool_call("a", json!({"path": "ä.txt"})),
                tool_call("b", json!({"path": "b \"quoted\".txt"})),
            ],
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
        assert_eq!(asked.path, "/v1/chat/completions");
        let function = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}});
        assert_eq!(
            asked.body["messages"],
            json!([
                {"role": "system", "content": "Be good."},
                {"role": "user", "content": "read"},
                {"role": "assistant", "content": "I read", "reasoning_content": "two files", "tool_calls": [
                    function("a", "{\"path\":\"ä.txt\"}"), function("b", "{\"path\":\"b \\\"quoted\\\".txt\"}")]},
                {"role": "tool", "tool_call_id": "a", "content": "A"},
                {"role": "tool", "tool_call_id": "b", "content": "B"},
            ])
        );
    }
}

#[tokio::test]
async fn azure_is_called_by_deployment_version_and_its_own_header() {
    let fake = Fake::start(vec![Turn::Answer(Said { text: "hi", finish: "stop", ..Said::default() })]).await;
    let mut target = target(&fake.url, "azure", Delivery::Streamed);
    target.auth = Auth::Header("api-key".into());
    target.options.insert("api_version".into(), "2024-10-21".into());
    target.options.insert("deployment".into(), "my gpt".into());
    let (chunks, error) = run(&model(target, KEY), request(vec![ChatMessage::user("hello")])).await;
    let expected = vec![Chunk::Text("hi".into()), Chunk::Usage(usage()), Chunk::Stop(StopReason::EndTurn)];
    assert_eq!((chunks, error), (expected, None));
    let path = "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21";
    assert_eq!(fake.asked()[0].path, path);
}

#[tokio::test]
async fn a_wrong_key_names_its_variable_and_a_lost_result_is_refused() {
    let fake = Fake::start(vec![]).await;
    let hello = || request(vec![ChatMessage::user("hello")]);
    let stranger = model(target(&fake.url, "openai", Delivery::Streamed), "sk-wrong");
    let (_, error) = run(&stranger, hello()).await;
    let message =
        "the provider did not accept the credentials: Incorrect API key provided.; check the key in THE_KEY";
    assert_eq!(error.unwrap().to_string(), message);

    let turn = ChatMessage::assistant("", vec![tool_call("a", json!({}))]);
    let known = model(target(&fake.url, "openai", Delivery::Streamed), KEY);
    let (_, error) = run(&known, request(vec![ChatMessage::user("read"), turn])).await;
    assert_eq!(error.unwrap().code(), "invalid_request");
}

#[tokio::test]
async fn refusals_mean_what_their_status_and_code_say() {
    let error = |kind: &str, code: &str, message: &str| json!({"error": {"message": message, "type": kind, "code": code}});
    let invalid = "invalid_request_error";
    let cases = [
        (400, error(invalid, "context_length_exceeded", "too long"), "context_too_long"),
        (400, error(invalid, "", "This model's maximum context length is 4096 tokens."), "context_too_long"),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "m"}}),
            "context_too_long",
        ),
        (413, error("tokens", "rate_limit_exceeded", "Request too large"), "context_too_long"),
        (400, error(invalid, "content_filter", "filtered"), "content_filter"),
        (
            400,
            json!({"error": {"message": "m", "code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            "content_filter",
        ),
        (
            403,
            json!({"error": {"code": 403, "message": "m", "metadata": {"reasons": ["violence"]}}}),
            "content_filter",
        ),
        (400, error(invalid, "unknown_parameter", "no such field"), "invalid_request"),
        (401, error(invalid, "invalid_api_key", "no"), "auth"),
        (402, json!({"error": {"message": "Insufficient Balance"}}), "permission_denied"),
        (403, error("x", "unsupported_country", "no"), "permission_denied"),
        (404, error(invalid, "model_not_found", "no such model"), "not_found"),
        (404, json!({"error": {"code": "DeploymentNotFound", "message": "no"}}), "not_found"),
        (422, json!({"detail": "field required"}), "invalid_request"),
        (429, error("insufficient_quota", "insufficient_quota", "pay"), "permission_denied"),
        (429, error("tokens", "rate_limit_exceeded", "slow down, too many tokens"), "rate_limited"),
        (429, json!("not an object"), "rate_limited"),
        (498, json!({"error": {"message": "flex tier capacity exceeded"}}), "overloaded"),
        (500, error("server_error", "", "oops"), "overloaded"),
        (
            503,
            json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
            "overloaded",
        ),
        (504, json!({}), "timeout"),
    ];
    for (status, body, code) in cases {
        let server = Server::start(vec![Reply::json(status, &body)]).await;
        let (chunks, error) =
            run(&model(target(&server.url, "openai", Delivery::Streamed), KEY), request(vec![])).await;
        assert_eq!((chunks, error.unwrap().code()), (vec![], code), "{status} {body}");
    }
}

#[tokio::test]
async fn the_server_behind_a_gateway_is_quoted() {
    let body = json!({"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": "bad tool"}}});
    let server = Server::start(vec![Reply::json(400, &body)]).await;
    let (_, error) =
        run(&model(target(&server.url, "openrouter", Delivery::Streamed), KEY), request(vec![])).await;
    assert_eq!(error.unwrap().message(), "Provider returned error: bad tool");
}

#[tokio::test]
async fn a_limit_that_is_used_up_tells_how_long_to_wait() {
    let headers = [
        ("content-type", "application/json"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "6m0.5s"),
        ("x-ratelimit-remaining-requests", "99"),
        ("x-ratelimit-reset-requests", "24h"),
    ];
    let body = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}).to_string();
    let server = Server::start(vec![Reply::new(429, &headers, body)]).await;
    let (_, error) =
        run(&model(target(&server.url, "openai", Delivery::Streamed), KEY), request(vec![])).await;
    let expected =
        harn_model::ModelError::RateLimited { message: "slow down".into(), retry_after_ms: Some(360_500) };
    assert_eq!((error, server.seen().len()), (Some(expected), 1));
}

#[tokio::test]
async fn an_error_within_a_stream_is_retried_only_before_content() {
    let error = "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n";
    let text =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\n";
    let stop =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let good = || Reply::events(format!("{text}{stop}"));
    let answer = vec![Chunk::Text("hi".into()), Chunk::Stop(StopReason::EndTurn)];
    let cases = [
        (vec![Reply::events(error), good()], answer, None, 2),
        (
            vec![Reply::events(format!("{text}{error}")), good()],
            vec![Chunk::Text("hi".into())],
            Some("overloaded"),
            1,
        ),
        (
            vec![Reply::events(format!("{text}{}{error}", stop.replace("data: [DONE]\n\n", ""))), good()],
            vec![Chunk::Text("hi".into())],
            Some("overloaded"),
            1,
        ),
    ];
    for (replies, expected, code, requests) in cases {
        let server = Server::start(replies).await;
        let (chunks, error) =
            run(&model(target(&server.url, "openrouter", Delivery::Streamed), KEY), request(vec![])).await;
        assert_eq!(
            (chunks, error.map(|error| error.code()), server.seen().len()),
            (expected, code, requests)
        );
    }
}
