//! Two providers that behave as they are told, and the real binary configured to use them.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::http::{ended, id};
use crate::support::server::{Server, command};

/// Exactly 171.8 millionths of a dollar at the prices below: 4 × 3, 16 × 0.3, 5 × 15 and 4 × 20.
pub const COST: u64 = 172;
const USAGE: &str = r#"{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,
    "prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":4}}"#;

/// What a provider does with the calls that it gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Has no time, and says that another attempt is in vain.
    Overloaded,
    Answers,
    /// Takes the call, and never says anything.
    Silent,
}

/// A provider that speaks Chat Completions.
#[derive(Clone)]
pub struct Fake(Arc<Shared>);

struct Shared {
    url: String,
    manner: Mutex<Manner>,
    asked: Mutex<Vec<Value>>,
    called: Notify,
}

impl Fake {
    pub async fn start(manner: Manner) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared =
            Shared { url, manner: Mutex::new(manner), asked: Mutex::default(), called: Notify::new() };
        let fake = Self(Arc::new(shared));
        let app = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    pub fn becomes(&self, manner: Manner) {
        *self.0.manner.lock() = manner;
    }

    /// The bodies of all calls so far.
    pub fn asked(&self) -> Vec<Value> {
        self.0.asked.lock().clone()
    }

    /// Waits for a call that has not been waited for.
    pub async fn called(&self) {
        self.0.called.notified().await;
    }
}

async fn answer(State(fake): State<Fake>, body: String) -> Response {
    fake.0.asked.lock().push(serde_json::from_str(&body).unwrap());
    fake.0.called.notify_one();
    let manner = *fake.0.manner.lock();
    match manner {
        Manner::Overloaded => {
            let body = json!({ "error": { "message": "busy", "type": "overloaded_error" } });
            let status = StatusCode::from_u16(529).unwrap();
            (status, [("x-should-retry", "false")], axum::Json(body)).into_response()
        }
        Manner::Answers => {
            let chunk = |delta: Value, finish: Value| {
                json!({ "id": "c", "object": "chat.completion.chunk",
                        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
            };
            let usage = serde_json::from_str::<Value>(USAGE).unwrap();
            let frames = [
                chunk(json!({ "role": "assistant", "content": "It is done." }), Value::Null).to_string(),
                chunk(json!({}), json!("stop")).to_string(),
                json!({ "id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage })
                    .to_string(),
                "[DONE]".to_owned(),
            ];
            let body: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
            ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
        }
        Manner::Silent => std::future::pending().await,
    }
}

/// A folder with the configuration of both providers.
pub struct Stage {
    pub folder: tempfile::TempDir,
    pub first: Fake,
    pub second: Fake,
}

impl Stage {
    /// The first is called `first:m1`, the second `second:m2`; `third:m3` is the second under another name, in the
    /// cloud and without prices.
    pub async fn new(first: Manner, second: Manner) -> Self {
        let (first, second) = (Fake::start(first).await, Fake::start(second).await);
        let stage = Self { folder: tempfile::tempdir().unwrap(), first, second };
        stage.configure("");
        stage
    }

    /// Writes the configuration anew, with this under `[llm]`.
    pub fn configure(&self, llm: &str) {
        let (first, second) = (&self.first.0.url, &self.second.0.url);
        let prices = "prices = { input = 3_000_000, output = 15_000_000, cached_input = 300_000, thinking = 20_000_000 }";
        let provider = |id: &str, url: &str, location: &str| {
            format!(
                "[[providers]]\nid = '{id}'\nwire = 'openai_chat'\nlocation = '{location}'\nbase_url = '{url}'\n\
                 auth = {{ kind = 'none' }}\n"
            )
        };
        let text = format!(
            "[llm]\n{llm}\n{}{}{}[[models]]\nprovider = 'first'\nid = 'm1'\n{prices}\n[[models]]\nprovider = 'second'\n\
             id = 'm2'\nmax_output = 77\n{prices}\n",
            provider("first", first, "local"),
            provider("second", second, "local"),
            provider("third", second, "cloud"),
        );
        self.write("llm.toml", &text);
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.work()).unwrap();
        std::fs::write(self.work().join(name), text).unwrap();
    }

    pub fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    /// The real binary, with this model as its default.
    pub fn serve(&self, model: &str) -> Server {
        let folder: &Path = self.folder.path();
        let mut command = command(folder);
        command.env("HARN_LLM_MODEL", model);
        Server::spawn(folder, command)
    }
}

/// Runs a task to its end; gives it with its outcome and with its model calls, as `told` says them.
pub async fn run(server: &Server, session: &str, fields: Value) -> (Value, Value, Vec<String>) {
    let api = server.api();
    let mut body = json!({ "input": crate::support::user("do it") });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let task = id(&api.post(&format!("/v1/sessions/{session}/tasks"), body).await.expect(202));
    finished(server, &task).await
}

pub async fn finished(server: &Server, task: &str) -> (Value, Value, Vec<String>) {
    let api = server.api();
    let task = ended(&api, task).await;
    let outcome = task["outcome_id"].as_str().unwrap();
    let outcome = api.get(&format!("/v1/outcomes/{outcome}")).await.expect(200);
    let events = crate::support::http::all_events(&api, &format!("/v1/tasks/{}/events", id(&task))).await;
    let calls = events.iter().filter_map(told).collect();
    (task, outcome, calls)
}

/// A model call as its events tell it.
fn told(event: &Value) -> Option<String> {
    let body = &event["payload"];
    let key = body["key"].as_str().unwrap_or_default();
    match event["event"].as_str()? {
        "span.started" => {
            let model = &body["model"];
            let thinking = body["thinking"].as_str().map(|level| format!(" {level}")).unwrap_or_default();
            let (provider, name) = (model["provider"].as_str()?, model["model"].as_str()?);
            Some(format!("{key} asks {provider}:{name}{thinking}"))
        }
        "span.failed" => Some(format!("{key} failed: {}", body["failure"]["code"].as_str()?)),
        "span.completed" => Some(format!("{key} cost {}", body["cost_micro_usd"])),
        _ => None,
    }
}
