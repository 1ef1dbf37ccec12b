//! Reads answers: lines with pieces of one, or all of it in one.

use harn_core::chat::{ModelRequest, StopReason, Thought, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error;
use super::output::Output;
use crate::providers::finish_call;
use crate::providers::think_tags::{ThinkTags, Told};
use crate::wire::Frame;
use crate::{Chunk, Decoder, ModelError, Target};

#[derive(Deserialize)]
struct Piece {
    message: Option<Message>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<Value>,
    eval_count: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Value>>,
}

pub(super) struct OllamaDecoder {
    provider: String,
    /// Calls of this tool are the answer.
    output_tool: Option<String>,
    thinking: String,
    tags: ThinkTags,
    called: bool,
}

impl OllamaDecoder {
    pub fn new(request: &ModelRequest, target: &Target) -> Self {
        let output_tool = match Output::of(request, target) {
            Output::Tool(_, name) => Some(name),
            Output::Free | Output::Native(_) | Output::Json(_) | Output::Prompt(_) => None,
        };
        Self {
            provider: target.provider.clone(),
            output_tool,
            thinking: String::new(),
            tags: ThinkTags::default(),
            called: false,
        }
    }

    fn piece(&mut self, piece: Piece, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if let Some(error) = piece.error.as_ref().filter(|error| !error.is_null()) {
            return Err(error::in_stream(error));
        }
        if let Some(message) = &piece.message {
            self.message(message, chunks)?;
        }
        if piece.done == Some(true) {
            self.close(&piece, chunks);
        }
        Ok(())
    }

    fn message(&mut self, message: &Message, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if let Some(thinking) = message.thinking.as_ref().filter(|text| !text.is_empty()) {
            self.tags.stop_looking();
            self.tell(Told { thinking: thinking.clone(), answer: String::new() }, chunks);
        }
        let told = self.tags.read(message.content.as_deref().unwrap_or_default());
        self.tell(told, chunks);
        message.tool_calls.iter().flatten().try_for_each(|call| self.call(call, chunks))
    }

    fn tell(&mut self, Told { thinking, answer }: Told, chunks: &mut Vec<Chunk>) {
        if !thinking.is_empty() {
            self.thinking.push_str(&thinking);
            chunks.push(Chunk::Thinking(thinking));
        }
        if !answer.is_empty() {
            chunks.push(Chunk::Text(answer));
        }
    }

    fn call(&mut self, call: &Value, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let name = call["function"]["name"].as_str().unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(ModelError::Malformed { message: "a tool call has no name".into() });
        }
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let raw = match &call["function"]["arguments"] {
            Value::Null => String::new(),
            Value::String(raw) => raw.clone(),
            arguments => arguments.to_string(),
        };
        let is_output = self.output_tool.as_deref() == Some(&name);
        finish_call(id, name, raw, chunks)?;
        if !is_output {
            self.called = true;
        } else if let Some(Chunk::ToolCall { args, .. }) = chunks.pop() {
            chunks.push(Chunk::Text(Value::Object(args).to_string()));
        }
        Ok(())
    }

    fn close(&mut self, piece: &Piece, chunks: &mut Vec<Chunk>) {
        let rest = self.tags.finish();
        self.tell(rest, chunks);
        let count = |value: &Option<Value>| value.as_ref().and_then(Value::as_u64).unwrap_or(0);
        let usage = Usage::new(count(&piece.prompt_eval_count), count(&piece.eval_count));
        if usage != Usage::default() {
            chunks.push(Chunk::Usage(usage));
        }
        let text = std::mem::take(&mut self.thinking);
        if !text.is_empty() {
            let opaque = json!({ "thinking": text });
            chunks.push(Chunk::Thought(Thought { provider: self.provider.clone(), text, opaque }));
        }
        chunks.push(Chunk::Stop(stop(piece.done_reason.as_deref(), self.called)));
    }
}

impl Decoder for OllamaDecoder {
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let piece = match frame {
            Frame::Event { data, .. } | Frame::Line(data) => serde_json::from_str(data),
            Frame::Whole(body) => serde_json::from_slice(body),
        };
        let piece = piece.map_err(|error| ModelError::Malformed {
            message: format!("a part of the answer is no message of Ollama: {error}"),
        })?;
        self.piece(piece, chunks)
    }

    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let rest = self.tags.finish();
        self.tell(rest, chunks);
        Err(ModelError::CutStream { message: "the answer ended before Ollama said that it is done".into() })
    }
}

/// Old versions give no reason when all is well. `load` and `unload` answer an empty request, so they are no answer.
fn stop(reason: Option<&str>, called: bool) -> StopReason {
    match reason.unwrap_or_default() {
        "stop" | "" if called => StopReason::ToolUse,
        "stop" | "" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        other => StopReason::Other(other.to_owned()),
    }
}
