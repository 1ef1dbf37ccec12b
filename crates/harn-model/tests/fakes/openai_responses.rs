//! A server that speaks the Responses API without a store: it answers from a script, streaming or at once as it is asked, and
//! refuses what the real one refuses.

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

#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub body: Value,
}

#[derive(Default)]
struct Script {
    /// The output items of each answer.
    answers: VecDeque<Vec<Value>>,
    asked: Vec<Asked>,
}

pub struct Fake {
    pub url: String,
    script: Arc<Mutex<Script>>,
}

impl Fake {
    pub async fn start(answers: Vec<Vec<Value>>) -> Self {
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

pub fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
           "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

pub fn reasoning(summary: &str, encrypted: &str) -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": summary}],
           "encrypted_content": encrypted})
}

pub fn call(call_id: &str, name: &str, args: &Value) -> Value {
    json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id, "name": name,
           "arguments": args.to_string(), "status": "completed"})
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let bearer = format!("Bearer {KEY}");
    if headers.get("authorization").is_none_or(|value| value != &bearer) {
        return refused(401, "invalid_api_key", "Incorrect API key provided.");
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut script = script.lock().unwrap();
    script.asked.push(Asked { path: uri.to_string(), body: body.clone() });
    if let Some(complaint) = complaint(&body) {
        return refused(400, "invalid_value", &complaint);
    }
    let Some(mut output) = script.answers.pop_front() else {
        return refused(400, "invalid_value", "The script is over.");
    };
    let is_encrypted = body["include"] == json!(["reasoning.encrypted_content"]);
    for item in output.iter_mut().filter(|item| item["type"] == "reasoning" && !is_encrypted) {
        item["encrypted_content"] = Value::Null;
    }
    let response = json!({"id": "resp_1", "object": "response", "status": "completed", "error": null,
                          "incomplete_details": null, "output": output, "usage": usage()});
    if body["stream"] == true {
        reply(200, "text/event-stream", streamed(&output, &response))
    } else {
        reply(200, "application/json", Body::from(response.to_string()))
    }
}

/// What is wrong with the input: a call without its output, or reasoning that only a store could know.
fn complaint(body: &Value) -> Option<String> {
    let input = body["input"].as_array().unwrap();
    let has_output = |id: &Value| {
        input.iter().any(|item| item["type"] == "function_call_output" && item["call_id"] == *id)
    };
    input.iter().find_map(|item| match item["type"].as_str() {
        Some("function_call") if !has_output(&item["call_id"]) => {
            Some(format!("No tool output found for function call {}.", item["call_id"]))
        }
        Some("reasoning") if !item["encrypted_content"].is_string() => {
            Some(format!("Item with id {} not found.", item["id"]))
        }
        _ => None,
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
    json!({"input_tokens": 20, "output_tokens": 9, "total_tokens": 29,
           "input_tokens_details": {"cached_tokens": 16}, "output_tokens_details": {"reasoning_tokens": 4}})
}

fn streamed(output: &[Value], response: &Value) -> Body {
    let bare = json!({"id": "resp_1", "status": "in_progress", "output": []});
    let mut events = vec![
        json!({"type": "response.created", "response": bare}),
        json!({"type": "response.in_progress", "response": bare}),
    ];
    for (index, item) in output.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    events.push(json!({"type": "response.completed", "response": response}));
    let frames = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        let name = event["type"].as_str().unwrap().to_owned();
        Ok::<_, Infallible>(format!("event: {name}\ndata: {event}\n\n"))
    });
    Body::from_stream(futures::stream::iter(frames.collect::<Vec<_>>()))
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut begun = item.clone();
    begun["status"] = "in_progress".into();
    let (kind, text) = match item["type"].as_str() {
        Some("message") => {
            begun["content"] = json!([]);
            ("response.output_text", item["content"][0]["text"].as_str())
        }
        Some("reasoning") => {
            begun["summary"] = json!([]);
            ("response.reasoning_summary_text", item["summary"][0]["text"].as_str())
        }
        Some("function_call") => {
            begun["arguments"] = "".into();
            ("response.function_call_arguments", item["arguments"].as_str())
        }
        _ => ("", None),
    };
    let mut events =
        vec![json!({"type": "response.output_item.added", "output_index": index, "item": begun})];
    let letters: Vec<char> = text.unwrap_or_default().chars().collect();
    let event =
        |end: &str| json!({"type": format!("{kind}.{end}"), "output_index": index, "item_id": item["id"]});
    for piece in letters.chunks(3) {
        let mut delta = event("delta");
        delta["delta"] = piece.iter().collect::<String>().into();
        events.push(delta);
    }
    if let Some(text) = text {
        let mut done = event("done");
        done[if kind.ends_with("arguments") { "arguments" } else { "text" }] = text.into();
        events.push(done);
    }
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    events
}
