//! Gemini over real HTTP: whole runs with tools and thoughts, streamed and not, and what goes wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelAnswer, ModelRequest, StopReason, Thought, Usage};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_model::providers::gemini::GeminiCodec;
use harn_model::{Auth, Credential, Delivery, HttpModel, Model, ModelError, Target, collect};
use harn_testkit::providers::gemini::{Fake, KEY, Turn};
use serde_json::{Value, json};
use support::{Reply, Server, options, request, transport};

fn model(url: &str, key: &str, delivery: Delivery) -> HttpModel {
    let auth = Auth::Header("x-goog-api-key".into());
    let mut target = Target::new("google", "gemini-3-flash-preview", url, auth);
    target.delivery = delivery;
    HttpModel::new(Arc::new(GeminiCodec), target, Credential::new(key, "GEMINI_API_KEY"), transport())
        .with_options(options(1))
}

async fn ask(model: &HttpModel, request: ModelRequest) -> Result<ModelAnswer, ModelError> {
    collect(model.stream(request)).await
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn last(all: Value, usage: Value) -> Value {
    let candidate = json!({"content": {"role": "model", "parts": all}, "finishReason": "STOP", "index": 0});
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})
}

fn call(city: &str, signature: Option<&str>) -> Value {
    let mut part =
        json!({"functionCall": {"name": "weather", "args": {"city": city}, "id": format!("id-{city}")}});
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

fn script() -> Vec<Turn> {
    let usage = json!({"promptTokenCount": 20, "cachedContentTokenCount": 5, "candidatesTokenCount": 7,
                       "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 2, "totalTokenCount": 32});
    vec![
        Turn::Answer(vec![
            parts(json!([{"text": "Two cities.", "thought": true}])),
            parts(json!([{"text": "I look "}])),
            parts(json!([{"text": "it up."}, call("Oslo", Some("sig-1")), call("Rome", None)])),
            last(json!([{"text": ""}]), usage),
        ]),
        Turn::Answer(vec![
            parts(json!([{"text": "Cold and"}])),
            last(json!([{"text": " warm."}, {"text": "", "thoughtSignature": "sig-2"}]), json!({})),
        ]),
        Turn::Answer(vec![last(json!([{"text": "Yes."}]), json!({"promptTokenCount": 1}))]),
    ]
}

fn called(city: &str) -> ToolCall {
    let args = json!({"city": city}).as_object().unwrap().clone();
    ToolCall { id: format!("id-{city}"), name: "weather".into(), args }
}

fn result(city: &str, output: &str) -> ChatMessage {
    ChatMessage::Tool {
        call_id: format!("id-{city}"),
        name: "weather".into(),
        outcome: ToolOutcome::Ok,
        output: output.into(),
        media: vec![],
    }
}

fn said(answer: &ModelAnswer) -> ChatMessage {
    ChatMessage::Assistant {
        text: answer.text.clone(),
        tool_calls: answer.tool_calls.clone(),
        thoughts: answer.thoughts.clone(),
    }
}

#[tokio::test]
async fn a_run_with_tools_keeps_thoughts_and_signatures_in_their_places() {
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let fake = Fake::start(script()).await;
        let model = model(&fake.url, KEY, delivery);
        let mut chat = vec![ChatMessage::user("Is Oslo colder than Rome?")];
        let first = ask(&model, request(chat.clone())).await.unwrap();
        let opaque = json!({"parts": [
            {"part": {"text": "Two cities.", "thought": true}},
            {"text": {"bytes": 13}},
            {"call": {"id": "id-Oslo", "signature": "sig-1"}},
            {"call": {"id": "id-Rome"}},
        ]});
        let expected = ModelAnswer {
            text: "I look it up.".into(),
            thinking: "Two cities.".into(),
            thoughts: vec![Thought { provider: "google".into(), text: "Two cities.".into(), opaque }],
            tool_calls: vec![called("Oslo"), called("Rome")],
            usage: Usage { cached_tokens: 5, thinking_tokens: 3, ..Usage::new(22, 10) },
            ..ModelAnswer::stopped(StopReason::ToolUse)
        };
        assert_eq!(first, expected, "{delivery:?}");

        // The results come in the order in which the tools were done.
        chat.extend([said(&first), result("Rome", "30"), result("Oslo", "-5")]);
        let second = ask(&model, request(chat.clone())).await.unwrap();
        assert_eq!((second.text.as_str(), &second.stop), ("Cold and warm.", &StopReason::EndTurn));
        chat.extend([said(&second), ChatMessage::user("Sure?")]);
        let third = ask(&model, request(chat)).await.unwrap();
        let expected = ModelAnswer {
            text: "Yes.".into(),
            usage: Usage::new(1, 0),
            ..ModelAnswer::stopped(StopReason::EndTurn)
        };
        assert_eq!(third, expected);

        let response = |city: &str, output: &str| json!({"functionResponse": {"id": format!("id-{city}"), "name": "weather", "response": {"output": output}}});
        let contents = json!([
            {"role": "user", "parts": [{"text": "Is Oslo colder than Rome?"}]},
            {"role": "model", "parts": [
                {"text": "Two cities.", "thought": true},
                {"text": "I look it up."},
                call("Oslo", Some("sig-1")),
                call("Rome", None),
            ]},
            {"role": "user", "parts": [response("Oslo", "-5"), response("Rome", "30")]},
            {"role": "model", "parts": [{"text": "Cold and warm."}, {"text": "", "thoughtSignature": "sig-2"}]},
            {"role": "user", "parts": [{"text": "Sure?"}]},
        ]);
        let seen = fake.asked();
        assert_eq!(seen[2].body["contents"], contents, "{delivery:?}");
        let method = if delivery == Delivery::Whole { "generateContent" } else { "streamGenerateContent" };
        let path = format!("/v1beta/models/gemini-3-flash-preview:{method}");
        assert!(seen.iter().all(|one| one.path.split('?').next() == Some(path.as_str())));
    }
}

#[tokio::test]
async fn calls_of_another_provider_are_taken_although_nobody_signed_them() {
    let fake = Fake::start(vec![Turn::Answer(vec![last(json!([{"text": "Ok."}]), json!({}))])]).await;
    let foreign = Thought { provider: "other".into(), text: "hm".into(), opaque: json!({"parts": []}) };
    let chat = vec![
        ChatMessage::user("Go."),
        ChatMessage::Assistant {
            text: String::new(),
            tool_calls: vec![called("Oslo")],
            thoughts: vec![foreign],
        },
        result("Oslo", "-5"),
    ];
    let answer = ask(&model(&fake.url, KEY, Delivery::Streamed), request(chat)).await.unwrap();
    assert_eq!(answer.text, "Ok.");
}

#[tokio::test]
async fn a_wrong_key_is_told_as_such_and_never_shown() {
    let fake = Fake::start(vec![]).await;
    let error = ask(&model(&fake.url, "AIza-wrong", Delivery::Streamed), request(vec![])).await.unwrap_err();
    let message = "API key not valid. Please pass a valid API key.; check the key in GEMINI_API_KEY";
    assert_eq!(error, ModelError::Auth { message: message.into() });
}

fn status(code: u16, status: &str, message: &str, details: Value) -> Turn {
    let error = json!({"code": code, "message": message, "status": status, "details": details});
    Turn::Refuse(code, json!({ "error": error }))
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let none = || json!([]);
    let wait =
        |delay: &str| json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]);
    let busy = |details| status(429, "RESOURCE_EXHAUSTED", "m", details);
    let limited = |retry_after_ms| ModelError::RateLimited { message: "m".into(), retry_after_ms };
    let m = || String::from("m");
    let full = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
    let place = "m; check the model `gemini-3-flash-preview` and the base URL BASE";
    let cases = [
        (status(400, "INVALID_ARGUMENT", "m", none()), ModelError::InvalidRequest { message: m() }),
        (status(400, "INVALID_ARGUMENT", full, none()), ModelError::ContextTooLong { message: full.into() }),
        (status(400, "FAILED_PRECONDITION", "m", none()), ModelError::PermissionDenied { message: m() }),
        (status(403, "PERMISSION_DENIED", "m", none()), ModelError::PermissionDenied { message: m() }),
        (status(404, "NOT_FOUND", "m", none()), ModelError::NotFound { message: place.into() }),
        (busy(none()), limited(None)),
        (busy(wait("37s")), limited(Some(37_000))),
        (busy(wait("0.25s")), limited(Some(250))),
        (busy(wait("-1s")), limited(None)),
        (busy(wait("soon")), limited(None)),
        (status(500, "INTERNAL", "m", none()), ModelError::Overloaded { message: m() }),
        (status(503, "UNAVAILABLE", "m", none()), ModelError::Overloaded { message: m() }),
        (status(504, "DEADLINE_EXCEEDED", "m", none()), ModelError::Timeout { message: m() }),
        (
            Turn::Refuse(400, json!([{"error": {"message": "m"}}])),
            ModelError::InvalidRequest { message: m() },
        ),
        (Turn::Refuse(503, json!("gone")), ModelError::Overloaded { message: "status 503: \"gone\"".into() }),
    ];
    for (turn, expected) in cases {
        let fake = Fake::start(vec![turn]).await;
        let hello = request(vec![ChatMessage::user("hi")]);
        let error = ask(&model(&fake.url, KEY, Delivery::Streamed), hello).await.unwrap_err();
        let message = error.message().replace(&fake.url, "BASE");
        assert_eq!(error.with_message(message), expected);
    }
}

#[tokio::test]
async fn an_overload_is_tried_again_and_an_answer_may_come_as_a_list() {
    let fake = Fake::start(vec![
        status(503, "UNAVAILABLE", "m", json!([])),
        Turn::Answer(vec![last(json!([{"text": "Ok."}]), json!({}))]),
    ])
    .await;
    let patient = model(&fake.url, KEY, Delivery::Streamed).with_options(options(2));
    let hello = || request(vec![ChatMessage::user("hi")]);
    assert_eq!(ask(&patient, hello()).await.unwrap().text, "Ok.");
    assert_eq!(fake.asked().len(), 2);

    let list = json!([parts(json!([{"text": "O"}])), last(json!([{"text": "k."}]), json!({}))]);
    let server = Server::start(vec![Reply::json(200, &list)]).await;
    assert_eq!(ask(&model(&server.url, KEY, Delivery::Streamed), hello()).await.unwrap().text, "Ok.");
    assert_eq!(
        server.seen()[0].line,
        "POST /v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse HTTP/1.1"
    );
}
