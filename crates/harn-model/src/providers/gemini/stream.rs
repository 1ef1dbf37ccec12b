//! Reads answers: a whole `GenerateContentResponse`, or a stream of them.

use std::collections::HashSet;

use harn_core::chat::{ModelRequest, PartialCall, ProviderToolUse, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error;
use super::layout::Layout;
use super::output::Output;
use super::server_tools::ServerTools;
use crate::providers::finish_call;
use crate::wire::Frame;
use crate::{Chunk, Decoder, ModelError, Target};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Value>,
    usage_metadata: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    index: Option<u64>,
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    grounding_metadata: Option<Value>,
    url_context_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<Map<String, Value>>>,
}

pub(super) struct GeminiDecoder {
    provider: String,
    /// Calls of this tool are the answer.
    output_tool: Option<String>,
    layout: Layout,
    ids: HashSet<String>,
    tools: ServerTools,
    grounding: Option<Value>,
    pages: Option<Value>,
    usage: Map<String, Value>,
    finish: Option<Finish>,
    called: bool,
    failed: bool,
}

struct Finish {
    reason: String,
    message: Option<String>,
}

impl GeminiDecoder {
    pub fn new(request: &ModelRequest, target: &Target) -> Self {
        let output_tool = match Output::of(request, target) {
            Output::Tool(_, name) => Some(name),
            Output::Free | Output::Native(_) | Output::Json(_) | Output::Prompt(_) => None,
        };
        Self {
            provider: target.provider.clone(),
            output_tool,
            layout: Layout::default(),
            ids: HashSet::new(),
            tools: ServerTools::default(),
            grounding: None,
            pages: None,
            usage: Map::new(),
            finish: None,
            called: false,
            failed: false,
        }
    }

    fn read(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        match frame {
            // Some gateways end every stream in the way of another provider.
            Frame::Event { data, .. } | Frame::Line(data) if matches!(data.trim(), "" | "[DONE]") => Ok(()),
            Frame::Event { data, .. } | Frame::Line(data) => {
                self.response(serde_json::from_str(data).map_err(unreadable)?, chunks)
            }
            Frame::Whole(body) => {
                // A stream that was not asked for as events is a list.
                match serde_json::from_slice(body).map_err(unreadable)? {
                    Value::Array(all) => all.into_iter().try_for_each(|one| self.response(one, chunks))?,
                    one => self.response(one, chunks)?,
                }
                self.close(chunks)
            }
        }
    }

    fn response(&mut self, json: Value, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let response: Response = serde_json::from_value(json).map_err(unreadable)?;
        if let Some(Value::Object(counts)) = response.usage_metadata {
            self.usage.extend(counts);
        }
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(error::in_stream(&error));
        }
        let blocked = response.prompt_feedback.as_ref().and_then(|feedback| feedback["blockReason"].as_str());
        if let Some(reason) = blocked {
            let message = format!("the prompt was blocked ({reason}); say it in another way");
            return Err(ModelError::ContentFilter { message });
        }
        let first = |candidate: &Candidate| candidate.index.unwrap_or(0) == 0;
        match response.candidates.into_iter().flatten().find(first) {
            Some(candidate) => self.candidate(candidate, chunks),
            None => Ok(()),
        }
    }

    fn candidate(&mut self, candidate: Candidate, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.part(part, chunks)?;
        }
        let told = |value: Option<Value>| value.filter(|value| !value.is_null() && *value != json!({}));
        self.grounding = told(candidate.grounding_metadata).or(self.grounding.take());
        self.pages = told(candidate.url_context_metadata).or(self.pages.take());
        if let Some(reason) = candidate.finish_reason {
            self.finish = Some(Finish { reason, message: candidate.finish_message });
        }
        Ok(())
    }

    fn part(&mut self, part: Map<String, Value>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let word = |name: &str| part.get(name).and_then(Value::as_str);
        let signature = word("thoughtSignature").map(str::to_owned);
        if let Some(call) = part.get("functionCall") {
            return self.call(call, signature, chunks);
        }
        let is_bare = part.keys().all(|key| matches!(key.as_str(), "thought" | "thoughtSignature"));
        match word("text") {
            Some(text) if part.get("thought") == Some(&json!(true)) => {
                show(text, Chunk::Thinking, chunks);
                self.layout.thought(text, signature);
            }
            Some(text) => {
                show(text, Chunk::Text, chunks);
                self.layout.text(text, signature);
            }
            None if is_bare => self.layout.text("", signature),
            None => {
                self.tools.read(&part, chunks);
                self.layout.part(Value::Object(part));
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Value,
        signature: Option<String>,
        chunks: &mut Vec<Chunk>,
    ) -> Result<(), ModelError> {
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(ModelError::Malformed { message: "a function call has no name".into() });
        }
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let raw = match &call["args"] {
            Value::Null => String::new(),
            Value::String(raw) => raw.clone(),
            args => args.to_string(),
        };
        finish_call(id.clone(), name.clone(), raw, chunks)?;
        if self.output_tool.as_deref() == Some(&name) {
            let Some(Chunk::ToolCall { args, .. }) = chunks.pop() else { return Ok(()) };
            let text = Value::Object(args).to_string();
            self.layout.text(&text, signature);
            chunks.push(Chunk::Text(text));
            return Ok(());
        }
        self.called = true;
        // An id that comes twice tells nothing apart.
        let wire_id = (!id.is_empty() && self.ids.insert(id.clone())).then_some(id);
        self.layout.call(wire_id, signature);
        Ok(())
    }

    /// All that is told at the end. The last counts are those of the whole answer.
    fn close(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        self.tools.finish(chunks);
        if let Some(found) = self.grounding.take().filter(|_| !self.tools.are_told) {
            provider_tool(
                "google_search",
                json!({ "queries": found["webSearchQueries"] }),
                Some(found),
                chunks,
            );
        }
        if let Some(found) = self.pages.take().filter(|_| !self.tools.are_told) {
            provider_tool("url_context", Value::Null, Some(found), chunks);
        }
        let counts = std::mem::take(&mut self.usage);
        if !counts.is_empty() {
            chunks.push(Chunk::Usage(usage(&counts)));
        }
        let Some(Finish { reason, message }) = self.finish.take().filter(|_| !self.failed) else {
            let message = "the answer ended without a finish reason".into();
            return Err(ModelError::CutStream { message });
        };
        if let Some(thought) = std::mem::take(&mut self.layout).into_thought(&self.provider) {
            chunks.push(Chunk::Thought(thought));
        }
        if let ("MALFORMED_FUNCTION_CALL", Some(raw)) = (reason.as_str(), message) {
            chunks.push(Chunk::PartialCall(PartialCall { id: String::new(), name: String::new(), raw }));
        }
        chunks.push(Chunk::Stop(stop(reason, self.called)));
        Ok(())
    }
}

impl Decoder for GeminiDecoder {
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let result = self.read(frame, chunks);
        self.failed |= result.is_err();
        result
    }

    /// The finish reason is no mark of the end, because counts may follow it.
    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        self.close(chunks)
    }
}

fn unreadable(error: serde_json::Error) -> ModelError {
    ModelError::Malformed { message: format!("a part of the answer is no GenerateContentResponse: {error}") }
}

fn show(text: &str, as_chunk: impl Fn(String) -> Chunk, chunks: &mut Vec<Chunk>) {
    if !text.is_empty() {
        chunks.push(as_chunk(text.to_owned()));
    }
}

fn provider_tool(name: &str, input: Value, output: Option<Value>, chunks: &mut Vec<Chunk>) {
    chunks.push(Chunk::ProviderTool(ProviderToolUse { name: name.to_owned(), input, output }));
}

fn usage(counts: &Map<String, Value>) -> Usage {
    let count = |name: &str| counts.get(name).and_then(Value::as_u64).unwrap_or(0);
    let thinking_tokens = count("thoughtsTokenCount");
    Usage {
        input_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output_tokens: count("candidatesTokenCount").saturating_add(thinking_tokens),
        cached_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: 0,
        thinking_tokens,
    }
}

/// Gemini says `STOP` for calls too.
fn stop(reason: String, called: bool) -> StopReason {
    match reason.as_str() {
        "STOP" if called => StopReason::ToolUse,
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::Refusal,
        _ => StopReason::Other(reason),
    }
}
