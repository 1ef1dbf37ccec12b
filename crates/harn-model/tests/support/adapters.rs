//! The five wire formats as one table: how each writes the same answer.

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelRequest};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::providers::gemini::GeminiCodec;
use harn_model::providers::ollama::OllamaCodec;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Codec, Credential, Framing, HttpModel, HttpOptions, Target, Transport};
use serde_json::{Value, json};

use super::chunks::Outcome;
use super::{Reply, Step, decoded, request, transport};

thread_local! {
    /// One for each test, since reading the certificates of the machine takes longer than anything else here.
    static TRANSPORT: Transport = transport();
}

pub const KEY: &str = "sk-very-secret-key";

/// An answer to be written in every format.
#[derive(Clone, Default)]
pub struct Script {
    pub text: &'static str,
    /// Ids and arguments of calls of `look`; arguments that are no object go out as they are.
    pub calls: Vec<(Option<&'static str>, &'static str)>,
    /// The name of the tool that is called.
    pub tool: Option<&'static str>,
    /// A reason to stop other than the usual one.
    pub stop: Option<&'static str>,
}

impl Script {
    pub fn says(text: &'static str) -> Self {
        Self { text, ..Self::default() }
    }

    pub fn calls(calls: &[(Option<&'static str>, &'static str)]) -> Self {
        Self { calls: calls.to_vec(), ..Self::default() }
    }

    fn name(&self) -> &'static str {
        self.tool.unwrap_or("look")
    }

    /// The stop reason: the script's, or one of these for calls and for words.
    fn stop_or(&self, calls: &'static str, words: &'static str) -> &'static str {
        self.stop.unwrap_or(if self.calls.is_empty() { words } else { calls })
    }
}

#[derive(Clone, Copy)]
pub struct Adapter {
    pub name: &'static str,
    codec: fn() -> Arc<dyn Codec>,
    model: &'static str,
    pub framing: Framing,
    frames: fn(&Script) -> Vec<Value>,
    /// A frame of a kind that nobody knows.
    pub novelty: fn() -> Value,
    /// The body of a refusal with this message.
    pub complaint: fn(&str) -> Value,
}

pub fn all() -> [Adapter; 5] {
    let says = |message: &str| json!({"error": {"message": message}});
    [
        Adapter {
            name: "anthropic",
            codec: || Arc::new(AnthropicCodec),
            model: "claude-x",
            framing: Framing::Events,
            frames: anthropic,
            novelty: || json!({"type": "novelty", "index": "x", "delta": 5}),
            complaint: |message| json!({"type": "error", "error": {"type": "novel_error", "message": message}}),
        },
        Adapter {
            name: "openai_responses",
            codec: || Arc::new(OpenAiResponsesCodec),
            model: "gpt-x",
            framing: Framing::Events,
            frames: responses,
            novelty: || json!({"type": "response.novelty", "delta": 5}),
            complaint: says,
        },
        Adapter {
            name: "openai_chat",
            codec: || Arc::new(OpenAiChatCodec),
            model: "m",
            framing: Framing::Events,
            frames: chat,
            novelty: || json!({"object": "novelty", "choices": [{"delta": {"novelty": 5}}]}),
            complaint: says,
        },
        Adapter {
            name: "gemini",
            codec: || Arc::new(GeminiCodec),
            model: "gemini-3-flash-preview",
            framing: Framing::Events,
            frames: gemini,
            novelty: || json!({"novelty": {"x": 5}}),
            complaint: says,
        },
        Adapter {
            name: "ollama",
            codec: || Arc::new(OllamaCodec),
            model: "qwen3",
            framing: Framing::Lines,
            frames: ollama,
            novelty: || json!({"novelty": {"x": 5}, "done": false}),
            complaint: |message| json!({ "error": message }),
        },
    ]
}

impl Adapter {
    pub fn codec(&self) -> Arc<dyn Codec> {
        (self.codec)()
    }

    pub fn target(&self, url: &str) -> Target {
        Target::new(self.name, self.model, url, Auth::Bearer)
    }

    pub fn model(&self, target: Target, options: HttpOptions) -> HttpModel {
        let transport = TRANSPORT.with(Transport::clone);
        HttpModel::new(self.codec(), target, Credential::new(KEY, "THE_KEY"), transport).with_options(options)
    }

    pub fn frames(&self, script: &Script) -> Vec<Value> {
        (self.frames)(script)
    }

    pub fn bytes(&self, frames: &[Value]) -> Vec<u8> {
        let event = |frame: &Value| match self.framing {
            Framing::Lines => format!("{frame}\n"),
            Framing::Events | Framing::Whole => format!("data: {frame}\n\n"),
        };
        frames.iter().map(event).collect::<String>().into_bytes()
    }

    pub fn script(&self, script: &Script) -> Vec<u8> {
        self.bytes(&self.frames(script))
    }

    pub fn content_type(&self) -> &'static str {
        match self.framing {
            Framing::Lines => "application/x-ndjson",
            Framing::Events | Framing::Whole => "text/event-stream",
        }
    }

    /// The bytes as a reply whose end the connection's end marks.
    pub fn reply(&self, bytes: impl AsRef<[u8]>) -> Reply {
        let head =
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {}\r\n\r\n", self.content_type());
        Reply(vec![Step::Send([head.as_bytes(), bytes.as_ref()].concat())])
    }

    pub fn decode(&self, request: &ModelRequest, bytes: &[u8]) -> Outcome {
        decoded(self.codec().as_ref(), request, &self.target("https://a.example"), self.framing, bytes)
    }
}

pub fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn object_or_text(raw: &str) -> Value {
    serde_json::from_str(raw).ok().filter(Value::is_object).unwrap_or_else(|| json!(raw))
}

fn anthropic(script: &Script) -> Vec<Value> {
    let mut frames = vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 3}}})];
    let mut block = |block: Value, delta: Value| {
        let index = frames.len();
        frames.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        frames.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        frames.push(json!({"type": "content_block_stop", "index": index}));
    };
    if !script.text.is_empty() {
        block(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": script.text}));
    }
    for (id, raw) in &script.calls {
        let call = json!({"type": "tool_use", "id": id, "name": script.name(), "input": {}});
        block(call, json!({"type": "input_json_delta", "partial_json": raw}));
    }
    let reason = script.stop_or("tool_use", "end_turn");
    let usage = json!({"output_tokens": 2});
    frames.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}));
    frames.push(json!({"type": "message_stop"}));
    frames
}

fn responses(script: &Script) -> Vec<Value> {
    let mut frames = vec![json!({"type": "response.created", "response": {}})];
    if !script.text.is_empty() {
        frames.push(json!({"type": "response.output_text.delta", "output_index": 0, "delta": script.text}));
    }
    for (index, (id, raw)) in (1..).zip(&script.calls) {
        let item = |arguments: &str| json!({"type": "function_call", "call_id": id, "name": script.name(), "arguments": arguments});
        frames.push(json!({"type": "response.output_item.added", "output_index": index, "item": item("")}));
        frames.push(
            json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": raw}),
        );
        frames.push(json!({"type": "response.output_item.done", "output_index": index, "item": item(raw)}));
    }
    let usage = json!({"input_tokens": 3, "output_tokens": 2});
    frames.push(match script.stop {
        None => json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}}),
        Some(word) => {
            let details = json!({ "reason": word });
            json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": details, "usage": usage}})
        }
    });
    frames
}

fn chat(script: &Script) -> Vec<Value> {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    if !script.text.is_empty() {
        frames.push(delta(json!({"content": script.text})));
    }
    for (index, (id, raw)) in script.calls.iter().enumerate() {
        let function = json!({"name": script.name(), "arguments": ""});
        let begun = json!({"index": index, "id": id, "type": "function", "function": function});
        frames.push(delta(json!({ "tool_calls": [begun] })));
        frames.push(delta(json!({"tool_calls": [{"index": index, "function": {"arguments": raw}}]})));
    }
    let reason = script.stop_or("tool_calls", "stop");
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2});
    frames.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}));
    frames
}

fn gemini(script: &Script) -> Vec<Value> {
    let mut parts = Vec::new();
    if !script.text.is_empty() {
        parts.push(json!({"text": script.text}));
    }
    for (id, raw) in &script.calls {
        parts.push(json!({"functionCall": {"id": id, "name": script.name(), "args": object_or_text(raw)}}));
    }
    let said = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut frames: Vec<Value> = parts.into_iter().map(said).collect();
    let usage = json!({"promptTokenCount": 3, "candidatesTokenCount": 2});
    let reason = script.stop_or("STOP", "STOP");
    frames.push(json!({"candidates": [{"finishReason": reason}], "usageMetadata": usage}));
    frames
}

fn ollama(script: &Script) -> Vec<Value> {
    let said = |message: Value| json!({"message": message, "done": false});
    let mut frames = Vec::new();
    if !script.text.is_empty() {
        frames.push(said(json!({"role": "assistant", "content": script.text})));
    }
    for (id, raw) in &script.calls {
        let call = json!({"id": id, "function": {"name": script.name(), "arguments": object_or_text(raw)}});
        frames.push(said(json!({"role": "assistant", "content": "", "tool_calls": [call]})));
    }
    let reason = script.stop_or("stop", "stop");
    frames.push(json!({"done": true, "done_reason": reason, "prompt_eval_count": 3, "eval_count": 2}));
    frames
}
