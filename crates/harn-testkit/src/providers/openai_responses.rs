//! OpenAI's Responses API, without a store.

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

pub use super::openai::KEY;
use super::{Asked, Provider, Refusal, json_reply, openai, pieces, stream_reply};

/// A server that speaks the Responses API.
pub type Fake = super::Fake<OpenAiResponses>;
pub type Turn = super::Turn<Vec<Value>>;

#[derive(Default)]
pub struct OpenAiResponses;

impl Provider for OpenAiResponses {
    /// The items of the output. One whose status is `incomplete` was cut at the limit of the answer.
    type Said = Vec<Value>;

    fn serves(path: &str) -> bool {
        path == "/v1/responses"
    }

    fn admit(headers: &HeaderMap) -> Result<(), Refusal> {
        openai::admit(headers)
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        match complaint(&asked.body) {
            Some(complaint) => Err(Self::refusal(400, &complaint)),
            None => Ok(()),
        }
    }

    fn answer(&mut self, mut said: Vec<Value>, asked: &Asked) -> Response {
        let is_encrypted = asked.body["include"] == json!(["reasoning.encrypted_content"]);
        for item in said.iter_mut().filter(|item| item["type"] == "reasoning" && !is_encrypted) {
            item["encrypted_content"] = Value::Null;
        }
        let response = whole(&said, &asked.body);
        if asked.body["stream"] != true {
            return json_reply(200, &response);
        }
        stream_reply("text/event-stream; charset=utf-8", streamed(&said, &response))
    }

    fn refusal(status: u16, message: &str) -> Refusal {
        openai::refusal(status, message)
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

/// What is wrong with the input: a call without its output, or reasoning that only a store could know.
fn complaint(body: &Value) -> Option<String> {
    let Some(input) = body["input"].as_array() else {
        let is_text = body["input"].is_string();
        return (!is_text).then(|| "Missing required parameter: 'input'.".into());
    };
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

fn whole(output: &[Value], request: &Value) -> Value {
    let usage = json!({"input_tokens": 20, "output_tokens": 9, "total_tokens": 29,
                       "input_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 0},
                       "output_tokens_details": {"reasoning_tokens": 4}});
    let is_cut = output.iter().any(|item| item["status"] == "incomplete");
    let details = if is_cut { json!({"reason": "max_output_tokens"}) } else { Value::Null };
    let status = if is_cut { "incomplete" } else { "completed" };
    json!({"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": request["model"],
           "status": status, "error": null, "incomplete_details": details, "instructions": null,
           "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "temperature": null, "top_p": null,
           "metadata": {}, "output": output, "usage": usage})
}

fn streamed(output: &[Value], response: &Value) -> Vec<String> {
    let mut bare = response.clone();
    bare["status"] = json!("in_progress");
    bare["output"] = json!([]);
    bare["usage"] = Value::Null;
    let mut events = vec![
        json!({"type": "response.created", "response": bare}),
        json!({"type": "response.in_progress", "response": bare}),
    ];
    for (index, item) in output.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    let end = format!("response.{}", response["status"].as_str().unwrap_or_default());
    events.push(json!({"type": end, "response": response}));
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = number.into();
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    });
    numbered.collect()
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut begun = item.clone();
    let mut between = Vec::new();
    match item["type"].as_str() {
        Some("message") => {
            begun["content"] = json!([]);
            between = part_events(item, "content", "content_index", "content_part", "output_text");
        }
        Some("reasoning") => {
            begun["summary"] = json!([]);
            let text = "reasoning_summary_text";
            between = part_events(item, "summary", "summary_index", "reasoning_summary_part", text);
        }
        Some("function_call") => {
            begun["arguments"] = json!("");
            between = text_events("function_call_arguments", "arguments", &item["arguments"]);
        }
        _ => {}
    }
    begun["status"] = json!("in_progress");
    let mut events = vec![json!({"type": "response.output_item.added", "item": begun})];
    events.extend(between.into_iter().map(|mut event| {
        event["item_id"] = item["id"].clone();
        event
    }));
    events.push(json!({"type": "response.output_item.done", "item": item}));
    for event in &mut events {
        event["output_index"] = index.into();
    }
    events
}

/// The parts of an item, each announced, streamed and closed.
fn part_events(item: &Value, list: &str, place: &str, part_name: &str, text_name: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for (index, part) in item[list].as_array().into_iter().flatten().enumerate() {
        let mut empty = part.clone();
        empty["text"] = json!("");
        let mut of_part = vec![json!({"type": format!("response.{part_name}.added"), "part": empty})];
        of_part.extend(text_events(text_name, "text", &part["text"]));
        of_part.push(json!({"type": format!("response.{part_name}.done"), "part": part}));
        for event in &mut of_part {
            event[place] = index.into();
        }
        events.extend(of_part);
    }
    events
}

fn text_events(name: &str, field: &str, text: &Value) -> Vec<Value> {
    let mut events: Vec<Value> = pieces(text.as_str().unwrap_or_default())
        .into_iter()
        .map(|piece| json!({"type": format!("response.{name}.delta"), "delta": piece}))
        .collect();
    events.push(json!({"type": format!("response.{name}.done"), field: text}));
    if name == "output_text" {
        for event in &mut events {
            event["logprobs"] = json!([]);
        }
    }
    events
}
