//! Reads an answer of Chat Completions: chunks of a stream, or the whole at once.

use harn_core::chat::{ModelRequest, StopReason, Thought, Usage};
use serde_json::Value;

use super::calls::Calls;
use super::choice::{Reasoning, words};
use super::dialect::{Dialect, ReasoningBack};
use super::executed::Executed;
use super::shape::{AnswerText, Strictness};
use super::{error, request, usage};
use crate::providers::think_tags::{ThinkTags, Told};
use crate::wire::Frame;
use crate::{Chunk, Decoder, ModelError, Target};

/// Of a frame that cannot be read, this much is quoted.
const QUOTED: usize = 120;

pub(super) struct ChatDecoder {
    provider: String,
    /// Reasoning is kept only where it goes back.
    keeps_reasoning: bool,
    text: AnswerText,
    tags: ThinkTags,
    reasoning: Reasoning,
    calls: Calls,
    executed: Executed,
    refused: bool,
    usage: Option<Usage>,
    /// The reason to stop comes before the usage, and waits for it.
    stop: Option<String>,
    failed: bool,
}

impl ChatDecoder {
    pub fn new(request: &ModelRequest, target: &Target) -> Self {
        // Options that are wrong have been refused with the request.
        let dialect = Dialect::of(target).unwrap_or(Dialect::Generic);
        let strictness = request::strictness(dialect, target).unwrap_or(Strictness::AsIs);
        let back = dialect.reasoning_back(target).unwrap_or(ReasoningBack::Never);
        Self {
            provider: target.provider.clone(),
            keeps_reasoning: back != ReasoningBack::Never,
            text: AnswerText::of(&request::shape(request, dialect, target, strictness)),
            tags: if dialect.think_tags(target).unwrap_or(false) {
                ThinkTags::default()
            } else {
                ThinkTags::none()
            },
            reasoning: Reasoning::default(),
            calls: Calls::default(),
            executed: Executed::default(),
            refused: false,
            usage: None,
            stop: None,
            failed: false,
        }
    }

    fn data(&mut self, data: &str, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        match data.trim() {
            "" => Ok(()),
            "[DONE]" => self.finish(chunks),
            data => {
                let value = parsed(data.as_bytes())?;
                self.value(&value, "delta", chunks)
            }
        }
    }

    fn whole(&mut self, body: &[u8], chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let value = parsed(body)?;
        self.value(&value, "message", chunks)?;
        if value.pointer("/choices/0").is_none() {
            let message = format!("it holds no choice: {}", quoted(body));
            return Err(ModelError::Malformed { message });
        }
        self.finish(chunks)
    }

    /// A chunk or a completion. `field` is where the content of its choice is.
    fn value(&mut self, value: &Value, field: &str, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let mut used = [value.get("usage"), value.pointer("/x_groq/usage")].into_iter().flatten();
        if let Some(used) = used.rfind(|used| used.is_object()) {
            self.usage = Some(usage::read(used));
        }
        let is_error = value.get("object").is_some_and(|kind| kind == "error");
        let failures = [value.get("error"), value.pointer("/x_groq/error"), is_error.then_some(value)];
        if let Some(failure) = failures.into_iter().flatten().find(|failure| !failure.is_null()) {
            return Err(error::within(failure));
        }
        for choice in value.get("choices").and_then(Value::as_array).into_iter().flatten() {
            // One answer was asked for; others, should there be any, are not ours.
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice, field, chunks)?;
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, field: &str, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if let Some(failure) = choice.get("error").filter(|failure| !failure.is_null()) {
            return Err(error::within(failure));
        }
        // Some servers send the last frame of a stream as a message.
        let delta = choice.get(field).or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        if self.reasoning.read(delta, chunks) {
            self.tags.stop_looking();
        }
        let told = self.tags.read(&words(delta.get("content")));
        self.tell(told, chunks);
        self.executed.read(delta);
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.refused = true;
            self.text.piece(refusal, chunks);
        }
        if let Some(calls) = delta.get("tool_calls") {
            self.calls.add_all(calls)?;
        }
        if let Some(function) = delta.get("function_call") {
            self.calls.add_function(function)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.stop = Some(reason.to_owned());
        }
        Ok(())
    }

    fn tell(&mut self, Told { thinking, answer }: Told, chunks: &mut Vec<Chunk>) {
        self.reasoning.read_tagged(thinking, chunks);
        self.text.piece(&answer, chunks);
    }

    /// What was held back because it could have been a part of a tag.
    fn flush(&mut self, chunks: &mut Vec<Chunk>) {
        let rest = self.tags.finish();
        self.tell(rest, chunks);
        self.executed.finish(chunks);
    }

    fn finish(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        self.flush(chunks);
        let Some(reason) = self.stop.take() else {
            let message = "the answer ended without a reason to stop".into();
            return Err(ModelError::CutStream { message });
        };
        self.tell_usage(chunks);
        if reason == "insufficient_system_resource" {
            let message = format!("the provider stopped the answer: {reason}");
            return Err(ModelError::Overloaded { message });
        }
        if let Some((text, opaque)) = self.reasoning.take().filter(|_| self.keeps_reasoning) {
            chunks.push(Chunk::Thought(Thought { provider: self.provider.clone(), text, opaque }));
        }
        let before = chunks.len();
        let stop = self.stop_reason(reason);
        let had_calls = !self.calls.is_empty();
        let result = match stop {
            StopReason::EndTurn | StopReason::ToolUse => self.calls.finish(&mut self.text, chunks),
            StopReason::MaxTokens | StopReason::Refusal | StopReason::Other(_) => {
                self.calls.stop(&mut self.text, chunks);
                Ok(())
            }
        };
        let calls = chunks.split_off(before);
        self.text.finish(chunks);
        chunks.extend(calls);
        result?;
        let is_called = chunks[before..].iter().any(|chunk| matches!(chunk, Chunk::ToolCall { .. }));
        chunks.push(Chunk::Stop(match stop {
            // Many servers say `stop` for an answer with calls, and a call that is the answer is no call.
            StopReason::EndTurn | StopReason::ToolUse if is_called => StopReason::ToolUse,
            StopReason::EndTurn | StopReason::ToolUse if had_calls => StopReason::EndTurn,
            stop => stop,
        }));
        Ok(())
    }

    fn stop_reason(&self, reason: String) -> StopReason {
        match reason.as_str() {
            "stop" if self.refused => StopReason::Refusal,
            "stop" => StopReason::EndTurn,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            _ => StopReason::Other(reason),
        }
    }

    fn tell_usage(&mut self, chunks: &mut Vec<Chunk>) {
        chunks.extend(self.usage.take().map(Chunk::Usage));
    }
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let result = match frame {
            Frame::Event { data, .. } | Frame::Line(data) => self.data(data, chunks),
            Frame::Whole(body) => self.whole(body, chunks),
        };
        self.failed |= result.is_err();
        result
    }

    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        // Not every server says `[DONE]`; but an answer that failed is not whole, whatever came before.
        if self.stop.is_some() && !self.failed {
            return self.finish(chunks);
        }
        self.flush(chunks);
        self.calls.abandon(chunks);
        self.tell_usage(chunks);
        let message = "the stream ended before the answer did".into();
        Err(ModelError::CutStream { message })
    }
}

fn parsed(data: &[u8]) -> Result<Value, ModelError> {
    serde_json::from_slice(data).map_err(|error| ModelError::Malformed {
        message: format!("a frame is not JSON ({error}): {}", quoted(data)),
    })
}

fn quoted(data: &[u8]) -> String {
    String::from_utf8_lossy(data).trim().chars().take(QUOTED).collect()
}
