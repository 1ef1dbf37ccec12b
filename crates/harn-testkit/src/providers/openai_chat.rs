//! OpenAI's Chat Completions, and what servers that follow it add.

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

pub use super::openai::KEY;
use super::{Asked, Provider, Refusal, json_reply, openai, pieces, stream_reply};

/// A server that speaks Chat Completions.
pub type Fake = super::Fake<OpenAiChat>;
pub type Turn = super::Turn<Said>;

/// One answer of the script.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub reasoning: &'static str,
    pub text: &'static str,
    /// Id, name and arguments.
    pub calls: Vec<(&'static str, &'static str, Value)>,
    pub finish: &'static str,
}

#[derive(Default)]
pub struct OpenAiChat;

impl Provider for OpenAiChat {
    type Said = Said;

    fn serves(path: &str) -> bool {
        let is_azure = path.starts_with("/openai/") && path.ends_with("/chat/completions");
        path == "/v1/chat/completions" || is_azure
    }

    fn admit(headers: &HeaderMap) -> Result<(), Refusal> {
        openai::admit(headers)
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        let messages = asked.body["messages"].as_array();
        let messages =
            messages.ok_or_else(|| Self::refusal(400, "Missing required parameter: 'messages'."))?;
        match unanswered(messages) {
            Some(id) => {
                Err(Self::refusal(400, &format!("tool_call_ids did not have response messages: {id}")))
            }
            None => Ok(()),
        }
    }

    fn answer(&mut self, said: Said, asked: &Asked) -> Response {
        if asked.body["stream"] != true {
            return json_reply(200, &at_once(&said, &asked.body));
        }
        stream_reply("text/event-stream; charset=utf-8", streamed(&said, &asked.body))
    }

    fn refusal(status: u16, message: &str) -> Refusal {
        openai::refusal(status, message)
    }
}

/// The first call that the messages after its turn do not answer.
fn unanswered(messages: &[Value]) -> Option<String> {
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

fn usage() -> Value {
    json!({
        "prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 16},
        "completion_tokens_details": {"reasoning_tokens": 4}
    })
}

/// What every answer and every piece of one says of itself.
fn envelope(kind: &str, request: &Value) -> Value {
    json!({"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": request["model"]})
}

fn at_once(said: &Said, request: &Value) -> Value {
    let calls: Vec<Value> =
        said.calls.iter().map(|(id, name, args)| call(id, name, &args.to_string())).collect();
    let content = if said.text.is_empty() && !calls.is_empty() { Value::Null } else { said.text.into() };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !said.reasoning.is_empty() {
        message["reasoning_content"] = said.reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let mut body = envelope("chat.completion", request);
    body["choices"] =
        json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": said.finish}]);
    body["usage"] = usage();
    body
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn streamed(said: &Said, request: &Value) -> Vec<String> {
    let with_usage = request["stream_options"]["include_usage"] == true;
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = envelope("chat.completion.chunk", request);
        chunk["choices"] = choices;
        if with_usage {
            chunk["usage"] = usage;
        }
        chunk.to_string()
    };
    let choice =
        |delta: &Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let deltas = deltas(said);
    let mut frames: Vec<String> =
        deltas.iter().map(|delta| chunk(choice(delta, Value::Null), Value::Null)).collect();
    frames.push(chunk(choice(&json!({}), said.finish.into()), Value::Null));
    if with_usage {
        frames.push(chunk(json!([]), usage()));
    }
    frames.push("[DONE]".into());
    frames.into_iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

fn deltas(said: &Said) -> Vec<Value> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(pieces(said.reasoning).into_iter().map(|piece| json!({"reasoning_content": piece})));
    deltas.extend(pieces(said.text).into_iter().map(|piece| json!({"content": piece})));
    for (index, (id, name, args)) in said.calls.iter().enumerate() {
        let mut first = call(id, name, "");
        first["index"] = index.into();
        deltas.push(json!({"tool_calls": [first]}));
        deltas.extend(
            pieces(&args.to_string())
                .into_iter()
                .map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
        );
    }
    deltas
}
