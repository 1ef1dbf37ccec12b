//! A server that speaks Chat Completions: it answers from a script, streaming or at once as it is asked, and refuses what the real
//! ones refuse.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};

pub const KEY: &str = "sk-test";

/// One answer of the script.
#[derive(Clone, Default)]
pub struct Said {
    pub reasoning: &'static str,
    pub text: &'static str,
    /// Id, name and arguments.
    pub calls: Vec<(&'static str, &'static str, Value)>,
    pub finish: &'static str,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub body: Value,
}

#[derive(Default)]
struct Script {
    answers: VecDeque<Said>,
    asked: Vec<Asked>,
}

pub struct Fake {
    pub url: String,
    script: Arc<Mutex<Script>>,
}

impl Fake {
    pub async fn start(answers: Vec<Said>) -> Self {
        let script = Arc::new(Mutex::new(Script { answers: answers.into(), asked: Vec::new() }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(answer).with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, script }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let bearer = format!("Bearer {KEY}");
    let is_known = headers.get("authorization").is_some_and(|value| value == &bearer)
        || headers.get("api-key").is_some_and(|value| value == KEY);
    if !is_known {
        return refused(401, "invalid_api_key", "Incorrect API key provided.");
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut script = script.lock().unwrap();
    script.asked.push(Asked { path: uri.to_string(), body: body.clone() });
    if let Some(id) = unanswered(&body) {
        let message = format!("tool_call_ids did not have response messages: {id}");
        return refused(400, "invalid_request_error", &message);
    }
    let Some(said) = script.answers.pop_front() else {
        return refused(400, "invalid_request_error", "The script is over.");
    };
    if body["stream"] == true { streamed(&said, &body) } else { at_once(&said) }
}

/// The first call that the messages after its turn do not answer.
fn unanswered(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().enumerate().find_map(|(at, message)| {
        let results: Vec<&Value> = messages[at + 1..]
            .iter()
            .take_while(|message| message["role"] == "tool")
            .map(|message| &message["tool_call_id"])
            .collect();
        let calls = message["tool_calls"].as_array()?;
        calls.iter().find(|call| !results.contains(&&call["id"])).map(|call| call["id"].to_string())
    })
}

fn refused(status: u16, code: &str, message: &str) -> Response {
    let body =
        json!({"error": {"message": message, "type": "invalid_request_error", "code": code, "param": null}});
    reply(status, "application/json", Body::from(body.to_string()))
}

fn reply(status: u16, content_type: &str, body: Body) -> Response {
    Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .header("content-type", content_type)
        .body(body)
        .unwrap()
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 16},
        "completion_tokens_details": {"reasoning_tokens": 4}
    })
}

fn at_once(said: &Said) -> Response {
    let calls: Vec<Value> =
        said.calls.iter().map(|(id, name, args)| call(id, name, &args.to_string())).collect();
    let mut message = json!({"role": "assistant", "content": said.text, "refusal": null});
    if !said.reasoning.is_empty() {
        message["reasoning_content"] = said.reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": said.finish});
    let body = json!({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage()});
    reply(200, "application/json", Body::from(body.to_string()))
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn streamed(said: &Said, body: &Value) -> Response {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice], "usage": null}).to_string()
    };
    let mut frames = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    frames
        .extend(pieces(said.reasoning).map(|piece| chunk(json!({"reasoning_content": piece}), Value::Null)));
    frames.extend(pieces(said.text).map(|piece| chunk(json!({"content": piece}), Value::Null)));
    for (index, (id, name, args)) in said.calls.iter().enumerate() {
        let mut first = call(id, name, "");
        first["index"] = index.into();
        frames.push(chunk(json!({"tool_calls": [first]}), Value::Null));
        frames.extend(pieces(&args.to_string()).map(|piece| {
            let piece = json!({"index": index, "function": {"arguments": piece}});
            chunk(json!({"tool_calls": [piece]}), Value::Null)
        }));
    }
    frames.push(chunk(json!({}), said.finish.into()));
    if body["stream_options"]["include_usage"] == true {
        frames.push(json!({"id": "c", "choices": [], "usage": usage()}).to_string());
    }
    frames.push("[DONE]".into());
    let frames = frames.into_iter().map(|frame| Ok::<_, Infallible>(format!("data: {frame}\n\n")));
    reply(200, "text/event-stream", Body::from_stream(futures::stream::iter(frames.collect::<Vec<_>>())))
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(3).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
