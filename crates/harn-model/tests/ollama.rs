//! Ollama over real HTTP: whole runs with tools and thoughts, streamed and not, and what goes wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelAnswer, ModelRequest, StopReason, Thought, Usage};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_model::providers::ollama::OllamaCodec;
use harn_model::{Auth, Credential, Delivery, HttpModel, Model, ModelError, Target, collect};
use harn_testkit::providers::ollama::{Fake, MODEL, Turn};
use serde_json::{Value, json};
use support::{options, request, transport};

fn model(url: &str, name: &str, delivery: Delivery) -> HttpModel {
    let mut target = Target::new("ollama", name, url, Auth::None);
    target.delivery = delivery;
    HttpModel::new(Arc::new(OllamaCodec), target, Credential::missing(""), transport())
        .with_options(options(1))
}

async fn ask(model: &HttpModel, request: ModelRequest) -> Result<ModelAnswer, ModelError> {
    collect(model.stream(request)).await
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hi")])
}

fn line(message: Value) -> Value {
    json!({"model": MODEL, "created_at": "2025-01-01T00:00:00Z", "message": message, "done": false})
}

fn done(input: u64, output: u64) -> Value {
    json!({"model": MODEL, "created_at": "2025-01-01T00:00:00Z", "message": {"role": "assistant", "content": ""},
           "done": true, "done_reason": "stop", "total_duration": 1, "prompt_eval_count": input, "eval_count": output})
}

fn call(city: &str) -> Value {
    json!({"function": {"name": "weather", "arguments": {"city": city}}})
}

fn script() -> Vec<Turn> {
    vec![
        Turn::Answer(vec![
            line(json!({"role": "assistant", "content": "", "thinking": "Two "})),
            line(json!({"role": "assistant", "content": "", "thinking": "cities."})),
            line(json!({"role": "assistant", "content": "I look "})),
            line(json!({"role": "assistant", "content": "it up.", "tool_calls": [call("Oslo")]})),
            line(json!({"role": "assistant", "content": "", "tool_calls": [call("Rome")]})),
            done(20, 7),
        ]),
        Turn::Answer(vec![line(json!({"role": "assistant", "content": "Cold."})), done(30, 2)]),
    ]
}

fn called(id: &str, city: &str) -> ToolCall {
    let args = json!({"city": city}).as_object().unwrap().clone();
    ToolCall { id: id.into(), name: "weather".into(), args }
}

fn result(call_id: &str, outcome: ToolOutcome, output: &str) -> ChatMessage {
    ChatMessage::Tool {
        call_id: call_id.into(),
        name: "weather".into(),
        outcome,
        output: output.into(),
        media: vec![],
    }
}

#[tokio::test]
async fn a_run_with_tools_keeps_thoughts_and_the_order_of_results() {
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let fake = Fake::start(script()).await;
        let model = model(&fake.url, MODEL, delivery);
        let mut chat = vec![ChatMessage::user("Is Oslo colder than Rome?")];
        let first = ask(&model, request(chat.clone())).await.unwrap();
        let opaque = json!({"thinking": "Two cities."});
        let expected = ModelAnswer {
            text: "I look it up.".into(),
            thinking: "Two cities.".into(),
            thoughts: vec![Thought { provider: "ollama".into(), text: "Two cities.".into(), opaque }],
            tool_calls: vec![called("call", "Oslo"), called("call_2", "Rome")],
            usage: Usage::new(20, 7),
            ..ModelAnswer::stopped(StopReason::ToolUse)
        };
        assert_eq!(first, expected, "{delivery:?}");

        chat.push(ChatMessage::Assistant {
            text: first.text,
            tool_calls: first.tool_calls,
            thoughts: first.thoughts,
        });
        chat.push(result("call_2", ToolOutcome::Error, "no signal"));
        chat.push(result("call", ToolOutcome::Ok, "-5"));
        let second = ask(&model, request(chat)).await.unwrap();
        let expected = ModelAnswer {
            text: "Cold.".into(),
            usage: Usage::new(30, 2),
            ..ModelAnswer::stopped(StopReason::EndTurn)
        };
        assert_eq!(second, expected, "{delivery:?}");
        let expected = json!({
            "model": MODEL,
            "messages": [
                {"role": "system", "content": "Be good."},
                {"role": "user", "content": "Is Oslo colder than Rome?"},
                {"role": "assistant", "content": "I look it up.", "thinking": "Two cities.",
                 "tool_calls": [call("Oslo"), call("Rome")]},
                {"role": "tool", "content": "-5", "tool_name": "weather"},
                {"role": "tool", "content": "Error: no signal", "tool_name": "weather"},
            ],
            "stream": delivery == Delivery::Streamed,
            "options": {"num_predict": 1000},
        });
        assert_eq!(fake.asked()[1].body, expected);
    }
}

#[tokio::test]
async fn a_model_that_is_not_there_is_to_be_pulled() {
    let fake = Fake::start(vec![]).await;
    let error = ask(&model(&fake.url, "mistral:7b", Delivery::Streamed), hello()).await.unwrap_err();
    let message = format!(
        "model 'mistral:7b' not found; pull it with `ollama pull mistral:7b`; check the model `mistral:7b` and the \
         base URL {}",
        fake.url
    );
    assert_eq!(error, ModelError::NotFound { message });
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let said = |words: &str| json!({ "error": words });
    let memory = "model requires more system memory (9.0 GiB) than is available (4.0 GiB)";
    let full = "input length exceeds maximum context length";
    let cases = [
        (400, said("bad options"), ModelError::InvalidRequest { message: "bad options".into() }),
        (
            400,
            said("\"qwen3:8b\" does not support thinking"),
            ModelError::InvalidRequest {
                message: "\"qwen3:8b\" does not support thinking; choose a model that does".into(),
            },
        ),
        (400, said(full), ModelError::ContextTooLong { message: full.into() }),
        (401, said("unauthorized"), ModelError::Auth { message: "unauthorized".into() }),
        (429, said("slow"), ModelError::RateLimited { message: "slow".into(), retry_after_ms: None }),
        (
            500,
            said(memory),
            ModelError::InvalidRequest {
                message: format!("{memory}; choose a smaller model, or a smaller `num_ctx`"),
            },
        ),
        (500, said("crashed"), ModelError::Overloaded { message: "crashed".into() }),
        (503, said("server busy"), ModelError::Overloaded { message: "server busy".into() }),
        (502, json!(5), ModelError::Overloaded { message: "status 502: 5".into() }),
    ];
    for (status, body, expected) in cases {
        let fake = Fake::start(vec![Turn::Refuse(status, body)]).await;
        assert_eq!(ask(&model(&fake.url, MODEL, Delivery::Streamed), hello()).await, Err(expected));
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again() {
    let busy = Turn::Refuse(503, json!({"error": "server busy"}));
    let broken = Turn::Answer(vec![json!({"error": "an error was encountered while running the model"})]);
    let good = Turn::Answer(vec![line(json!({"content": "Ok."})), done(1, 1)]);
    let fake = Fake::start(vec![busy, broken, good]).await;
    let patient = model(&fake.url, MODEL, Delivery::Streamed).with_options(options(3));
    assert_eq!(ask(&patient, hello()).await.unwrap().text, "Ok.");
    assert_eq!(fake.asked().len(), 3);
}
