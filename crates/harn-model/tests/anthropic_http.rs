//! The Anthropic model over real HTTP: against a fake of the provider, and against servers that go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use harn_core::chat::{ChatMessage, ModelAnswer, ModelRequest, OutputSchema, StopReason, Thinking, Usage};
use harn_core::tool::ToolOutcome;
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{
    Auth, Capabilities, Chunk, Credential, Delivery, HttpModel, HttpOptions, Model, ModelError, Target,
    ThinkingKind, collect,
};
use harn_testkit::providers::anthropic::{self as fake, Fake, KEY, Turn};
use serde_json::{Value, json};
use support::{Reply, Server, Step, gzip, options, request, run, transport};

fn model_at(url: &str, delivery: Delivery, options: HttpOptions) -> HttpModel {
    let capabilities = Capabilities {
        thinking: ThinkingKind::Adaptive { levels: vec![Thinking::Off, Thinking::Low, Thinking::High] },
        prompt_caching: true,
        ..Capabilities::default()
    };
    let target = Target {
        capabilities,
        delivery,
        ..Target::new("anthropic", "claude-x", url, Auth::Header("x-api-key".into()))
    };
    let key = Credential::new(KEY, "ANTHROPIC_API_KEY");
    HttpModel::new(Arc::new(AnthropicCodec), target, key, transport()).with_options(options)
}

fn streaming(url: &str, options: HttpOptions) -> HttpModel {
    model_at(url, Delivery::Streamed, options)
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn sse(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn words() -> Value {
    json!({"content": [{"type": "text", "text": "Hello there."}], "stop_reason": "end_turn",
           "usage": {"input_tokens": 9, "output_tokens": 4}})
}

fn said() -> ModelAnswer {
    ModelAnswer {
        text: "Hello there.".into(),
        usage: Usage::new(9, 4),
        ..ModelAnswer::stopped(StopReason::EndTurn)
    }
}

#[tokio::test]
async fn a_task_of_several_turns_with_tools_and_thinking_passes_the_providers_checks() {
    let mut thinking = json!({"type": "thinking", "thinking": "I need the file."});
    thinking["signature"] = fake::signature(&thinking);
    let first = json!({
        "content": [
            thinking,
            {"type": "redacted_thinking", "data": "hidden"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
            {"type": "tool_use", "id": "toolu_2", "name": "read_file", "input": {"path": "b"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 20, "output_tokens": 30},
    });
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let fake = Fake::start(vec![Turn::Answer(first.clone()), Turn::Answer(words())]).await;
        let model = model_at(&fake.url, delivery, options(1));
        let mut messages = vec![ChatMessage::user("compare a and b")];
        let answer = collect(model.stream(request(messages.clone()))).await.unwrap();
        assert_eq!((answer.tool_calls.len(), answer.thoughts.len()), (2, 2));
        messages.push(ChatMessage::Assistant {
            text: answer.text,
            tool_calls: answer.tool_calls.clone(),
            thoughts: answer.thoughts,
        });
        messages.extend(answer.tool_calls.into_iter().map(|call| ChatMessage::Tool {
            call_id: call.id,
            name: call.name,
            outcome: ToolOutcome::Ok,
            output: "content".into(),
            media: vec![],
        }));
        assert_eq!(collect(model.stream(request(messages))).await, Ok(said()));
        assert_eq!(fake.asked()[1].body["messages"][1]["content"], first["content"], "{delivery:?}");
    }
}

#[tokio::test]
async fn the_fake_refuses_what_the_provider_refuses() {
    let fake = Fake::start(vec![Turn::Answer(words())]).await;
    let key = Credential::new("sk-wrong", "ANTHROPIC_API_KEY");
    let target = Target::new("anthropic", "claude-x", &fake.url, Auth::Header("x-api-key".into()));
    let model = HttpModel::new(Arc::new(AnthropicCodec), target, key, transport());
    let message = "invalid x-api-key; check the key in ANTHROPIC_API_KEY".to_owned();
    assert_eq!(collect(model.stream(hello())).await, Err(ModelError::Auth { message }));

    let forged = ChatMessage::Assistant {
        text: "b".into(),
        tool_calls: vec![],
        thoughts: vec![harn_core::chat::Thought {
            provider: "anthropic".into(),
            text: String::new(),
            opaque: json!({"block": {"type": "thinking", "thinking": "x", "signature": "forged"}}),
        }],
    };
    let messages = vec![ChatMessage::user("a"), forged, ChatMessage::user("c")];
    let error = collect(streaming(&fake.url, options(1)).stream(request(messages))).await.unwrap_err();
    assert_eq!(error.code(), "invalid_request");
    assert!(error.message().contains("Invalid `signature`"), "{error}");
}

#[tokio::test]
async fn a_given_shape_is_asked_for_in_a_way_that_the_provider_takes() {
    let shaped = json!({"content": [{"type": "tool_use", "id": "t", "name": "number", "input": {"n": 5}}],
                        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let fake = Fake::start(vec![Turn::Answer(shaped)]).await;
    let mut request = hello();
    request.thinking = Thinking::High;
    request.output_schema = Some(OutputSchema { name: "number".into(), schema: json!({"type": "object"}) });
    let answer = collect(streaming(&fake.url, options(1)).stream(request)).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("{\"n\":5}", StopReason::EndTurn));
}

#[tokio::test]
async fn every_refusal_has_its_kind() {
    let cases = [
        (400, "invalid_request_error", "max_tokens: Field required", "invalid_request"),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 208656 tokens > 200000 maximum",
            "context_too_long",
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000",
            "context_too_long",
        ),
        (400, "invalid_request_error", "Output blocked by content filtering policy", "content_filter"),
        (400, "invalid_request_error", "Your credit balance is too low", "permission_denied"),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (402, "billing_error", "no credit", "permission_denied"),
        (403, "permission_error", "not yours", "permission_denied"),
        (404, "not_found_error", "model: claude-x", "not_found"),
        (408, "", "", "timeout"),
        (409, "", "", "invalid_request"),
        (413, "request_too_large", "Request exceeds the maximum size", "context_too_long"),
        (422, "", "", "invalid_request"),
        (429, "rate_limit_error", "Number of requests has exceeded your limit", "rate_limited"),
        (500, "api_error", "Internal server error", "overloaded"),
        (502, "", "", "overloaded"),
        (503, "", "", "overloaded"),
        (504, "timeout_error", "took too long", "timeout"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
    ];
    for (status, kind, message, code) in cases {
        let body = match kind {
            "" => "not JSON".to_owned(),
            _ => json!({"type": "error", "error": {"type": kind, "message": message}}).to_string(),
        };
        let reply = Reply::new(status, &[("content-type", "application/json")], body);
        let server = Server::start(vec![reply]).await;
        let (chunks, error) = run(&streaming(&server.url, options(1)), hello()).await;
        let error = error.unwrap();
        assert_eq!((chunks, error.code()), (vec![], code), "{status} {message}");
        assert!(error.message().contains(if kind.is_empty() { "not JSON" } else { message }), "{error}");
    }
}

#[tokio::test]
async fn limits_are_waited_for_as_the_headers_say() {
    let headers = [
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:42Z"),
    ];
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}).to_string();
    let server = Server::start(vec![Reply::new(429, &headers, body)]).await;
    let (_, error) = run(&streaming(&server.url, options(1)), hello()).await;
    assert_eq!(error, Some(ModelError::RateLimited { message: "slow".into(), retry_after_ms: Some(5000) }));
}

#[tokio::test]
async fn an_overload_before_any_content_is_tried_again_and_one_after_it_is_not() {
    let events = fake::events(&json!({"content": words()["content"], "stop_reason": "end_turn",
                                      "usage": words()["usage"]}));
    let overload = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let early = sse(&[events[0].clone(), overload.clone()]);
    let late = sse(&[&events[..3], &[overload]].concat());
    let whole = sse(&events);
    let refused =
        Reply::json(529, &json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}));
    let cases = [
        (vec![refused, Reply::events(&early), Reply::events(&whole)], Ok(said()), 3),
        (
            vec![Reply::events(late), Reply::events(whole)],
            Err(ModelError::Overloaded { message: "Overloaded".into() }),
            1,
        ),
    ];
    for (replies, expected, requests) in cases {
        let server = Server::start(replies).await;
        let answer = collect(streaming(&server.url, options(4)).stream(hello())).await;
        assert_eq!((answer, server.seen().len()), (expected, requests));
    }
}

#[tokio::test]
async fn answers_are_read_packed_slowly_or_in_another_form_than_asked_for() {
    let events = sse(&fake::events(&words()));
    let packed = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let mut whole = words();
    whole["type"] = json!("message");
    let slowly = events.bytes().fold(Reply::events(""), |reply, byte| reply.then(Step::Send(vec![byte])));
    let replies = [
        Reply::events(&events),
        Reply::events(events.replace('\n', "\r\n")),
        Reply::new(200, &packed, gzip(events.as_bytes())),
        // A server that does not stream.
        Reply::json(200, &whole),
        slowly,
    ];
    for (index, reply) in replies.into_iter().enumerate() {
        let server = Server::start(vec![reply]).await;
        let answer = collect(streaming(&server.url, options(1)).stream(hello())).await;
        assert_eq!(answer, Ok(said()), "case {index}");
    }
}

#[tokio::test]
async fn answers_that_go_wrong_on_the_way_are_errors() {
    let events = fake::events(&words());
    let half = || Reply::events(sse(&events[..3]));
    let short = HttpOptions { stall: Duration::from_millis(60), ..options(1) };
    let small = HttpOptions { answer_limit: 50, ..options(1) };
    let cases = [
        (half(), options(1), "cut_stream"),
        (half().then(Step::Hold), short, "timeout"),
        (half(), small, "malformed"),
        (Reply::events("data: not json\n\n"), options(1), "malformed"),
        (Reply::events("event: message_start\ndata:\n\n"), options(1), "malformed"),
        (Reply::new(200, &[("content-type", "text/html")], "<html>"), options(1), "malformed"),
        (Reply::json(200, &json!({"object": "chat.completion"})), options(1), "malformed"),
    ];
    for (index, (reply, options, code)) in cases.into_iter().enumerate() {
        let server = Server::start(vec![reply]).await;
        let error = collect(streaming(&server.url, options).stream(hello())).await.unwrap_err();
        assert_eq!(error.code(), code, "case {index}: {error}");
        assert!(!error.to_string().contains(KEY));
    }
}

#[tokio::test]
async fn a_cancelled_answer_closes_its_connection() {
    let events = sse(&fake::events(&words())[..3]);
    let mut server = Server::start(vec![Reply::events(events).then(Step::Hold)]).await;
    let model = streaming(&server.url, options(1));
    let mut stream = model.stream(hello());
    while !matches!(stream.next().await, Some(Ok(Chunk::Text(_)))) {}
    drop(stream);
    server.closed().await;
}
