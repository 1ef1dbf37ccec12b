//! Reads an answer of the Responses API: events of a stream, or the whole at once.

use harn_core::chat::{ModelRequest, PartialCall, StopReason, Thought, Usage};
use serde_json::Value;

use super::super::openai_chat::error;
use super::super::openai_chat::shape::{AnswerText, Strictness, asked};
use super::super::openai_chat::{bounded, count};
use super::items::{self, Item};
use super::open::{OpenItems, Parts, Place};
use super::request;
use crate::providers::finish_call;
use crate::wire::Frame;
use crate::{Chunk, Decoder, ModelError, Target};

/// Of a frame that cannot be read, this much is quoted.
const QUOTED: usize = 120;

pub(super) struct ResponsesDecoder {
    provider: String,
    text: AnswerText,
    items: OpenItems,
    refused: bool,
    called: bool,
    /// A call within the answer broke off.
    broken: bool,
    /// Something that the provider expects us to run.
    awaits: Option<String>,
}

impl ResponsesDecoder {
    pub fn new(request: &ModelRequest, target: &Target) -> Self {
        // Options that are wrong have been refused with the request.
        let strictness = request::strictness(target).unwrap_or(Strictness::AsIs);
        Self {
            provider: target.provider.clone(),
            text: AnswerText::of(&asked(request, &target.capabilities, strictness)),
            items: OpenItems::default(),
            refused: false,
            called: false,
            broken: false,
            awaits: None,
        }
    }

    fn event(&mut self, name: &str, data: &str, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let event = parsed(data.as_bytes())?;
        let kind = event.get("type").and_then(Value::as_str).unwrap_or(name);
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        let place = || Place::of(&event);
        match kind {
            "response.output_text.delta" => {
                self.items.at(place())?.is_shown = true;
                self.text.piece(delta, chunks);
            }
            "response.refusal.delta" => {
                self.items.at(place())?.is_shown = true;
                self.refused = true;
                self.text.piece(delta, chunks);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.items.at(place())?.is_shown = true;
                think(delta, chunks);
            }
            // Parts of a summary are paragraphs.
            "response.reasoning_summary_part.added" if count(&event, "/summary_index") > 0 => {
                think("\n\n", chunks);
            }
            "response.output_item.added" => self.begin(&event)?,
            "response.function_call_arguments.delta" => self.items.at(place())?.parts.raw.push_str(delta),
            "response.function_call_arguments.done" => {
                if let Some(arguments) = items::arguments(event.get("arguments")) {
                    self.items.at(place())?.parts.raw = arguments;
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.get("item") {
                    self.item(place(), item, chunks)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let usual = kind.trim_start_matches("response.");
                self.close(event.get("response").unwrap_or(&Value::Null), usual, chunks)?;
            }
            "error" => return failure(kind, &event),
            _ if event.get("type").is_none() => return failure(kind, &event),
            // New kinds of events are added all the time, and say nothing that the known ones do not.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: &Value) -> Result<(), ModelError> {
        let Some(item) = event.get("item") else { return Ok(()) };
        if let Item::Call { id, name, arguments, .. } = items::read(item) {
            let raw = arguments.unwrap_or_default();
            let open = self.items.at(Place::of(event))?;
            open.is_call = true;
            open.parts = Parts { id: id.to_owned(), name: name.to_owned(), raw };
        }
        Ok(())
    }

    /// An item that is whole. One that was read before says nothing new.
    fn item(&mut self, place: Place, item: &Value, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let open = self.items.at(place)?;
        if std::mem::replace(&mut open.is_done, true) {
            return Ok(());
        }
        let is_shown = open.is_shown;
        let begun = std::mem::take(&mut open.parts);
        match items::read(item) {
            Item::Message { text, refusal } => {
                self.refused |= !refusal.is_empty();
                if !is_shown {
                    self.text.piece(&text, chunks);
                    self.text.piece(&refusal, chunks);
                }
            }
            Item::Reasoning { words, goes_back } => {
                if !is_shown {
                    think(&words, chunks);
                }
                if goes_back {
                    self.keep(words, item, chunks);
                }
            }
            Item::Call { id, name, arguments, is_whole } => {
                let or = |given: &str, begun: String| if given.is_empty() { begun } else { given.to_owned() };
                let raw = or(&arguments.unwrap_or_default(), begun.raw);
                let parts = Parts { id: or(id, begun.id), name: or(name, begun.name), raw };
                if is_whole {
                    return self.call(parts, chunks);
                }
                self.broken = true;
                chunks.push(partial(parts));
            }
            Item::ProviderTool { used, awaits } => {
                chunks.push(Chunk::ProviderTool(used));
                match awaits {
                    // A call without its output would be refused when it comes back.
                    Some(kind) => self.awaits = Some(kind.to_owned()),
                    None => self.keep(String::new(), item, chunks),
                }
            }
            Item::Opaque => self.keep(String::new(), item, chunks),
            Item::Unknown => {}
        }
        Ok(())
    }

    fn keep(&self, text: String, item: &Value, chunks: &mut Vec<Chunk>) {
        chunks.push(Chunk::Thought(Thought { provider: self.provider.clone(), text, opaque: item.clone() }));
    }

    fn call(&mut self, parts: Parts, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if parts.name.is_empty() {
            chunks.push(partial(parts));
            return Err(ModelError::Malformed { message: "one of its calls names no tool".into() });
        }
        if self.text.is_answer(&parts.name)
            && let Ok(args @ Value::Object(_)) = serde_json::from_str(&parts.raw)
        {
            self.text.answer(&args);
            return Ok(());
        }
        self.called = true;
        finish_call(parts.id, parts.name, parts.raw, chunks)
    }

    /// The end of the answer. `usual` is its status where the response does not tell it.
    fn close(&mut self, response: &Value, usual: &str, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            chunks.push(Chunk::Usage(used(usage)));
        }
        let status = response.get("status").and_then(Value::as_str).unwrap_or(usual);
        if status == "failed" {
            return Err(match response.get("error").filter(|error| !error.is_null()) {
                Some(failure) => error::within(failure),
                None => ModelError::Overloaded { message: "the answer failed, for no given reason".into() },
            });
        }
        // Some servers tell items only here.
        let output = response.get("output").and_then(Value::as_array);
        for (index, item) in output.into_iter().flatten().enumerate() {
            self.item(Place::in_output(index, item), item, chunks)?;
        }
        let left = self.items.open_calls();
        if status != "completed" {
            chunks.extend(left.into_iter().map(partial));
        } else {
            for parts in left {
                self.call(parts, chunks)?;
            }
        }
        if status == "completed" && self.broken {
            let message = "a call broke off in an answer that is said to be complete".into();
            return Err(ModelError::Malformed { message });
        }
        self.text.finish(chunks);
        chunks.push(Chunk::Stop(self.stop_reason(status, response)));
        Ok(())
    }

    fn stop_reason(&mut self, status: &str, response: &Value) -> StopReason {
        match status {
            "completed" if self.refused => StopReason::Refusal,
            "completed" => match self.awaits.take() {
                Some(kind) => StopReason::Other(kind),
                None if self.called => StopReason::ToolUse,
                None => StopReason::EndTurn,
            },
            "incomplete" => match response.pointer("/incomplete_details/reason").and_then(Value::as_str) {
                Some("max_output_tokens") => StopReason::MaxTokens,
                Some("content_filter") => StopReason::Refusal,
                Some(other) => StopReason::Other(other.to_owned()),
                None => StopReason::Other("incomplete".into()),
            },
            other => StopReason::Other(other.to_owned()),
        }
    }

    fn whole(&mut self, body: &[u8], chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let response = parsed(body)?;
        if !response.get("output").is_some_and(Value::is_array) && response.get("status").is_none() {
            failure("", &response)?;
            let message = format!("it holds no output: {}", quoted(body));
            return Err(ModelError::Malformed { message });
        }
        self.close(&response, "without a status", chunks)
    }
}

impl Decoder for ResponsesDecoder {
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        match frame {
            Frame::Event { event, data } => self.event(event, data, chunks),
            Frame::Line(data) => self.event("", data, chunks),
            Frame::Whole(body) => self.whole(body, chunks),
        }
    }

    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        chunks.extend(self.items.open_calls().into_iter().map(partial));
        let message = "the stream ended before the answer did".into();
        Err(ModelError::CutStream { message })
    }
}

fn think(words: &str, chunks: &mut Vec<Chunk>) {
    if !words.is_empty() {
        chunks.push(Chunk::Thinking(words.to_owned()));
    }
}

fn partial(Parts { id, name, raw }: Parts) -> Chunk {
    Chunk::PartialCall(PartialCall { id, name, raw })
}

/// An event `error` holds its parts itself or in an object; some gateways send the object without any name.
fn failure(kind: &str, event: &Value) -> Result<(), ModelError> {
    match event.get("error").filter(|failure| !failure.is_null()) {
        Some(failure) => Err(error::within(failure)),
        None if kind == "error" => Err(error::within(event)),
        None => Ok(()),
    }
}

fn used(usage: &Value) -> Usage {
    bounded(Usage {
        input_tokens: count(usage, "/input_tokens"),
        output_tokens: count(usage, "/output_tokens"),
        cached_tokens: count(usage, "/input_tokens_details/cached_tokens"),
        cache_write_tokens: count(usage, "/input_tokens_details/cache_write_tokens"),
        thinking_tokens: count(usage, "/output_tokens_details/reasoning_tokens"),
    })
}

fn parsed(data: &[u8]) -> Result<Value, ModelError> {
    serde_json::from_slice(data).map_err(|error| ModelError::Malformed {
        message: format!("a frame is not JSON ({error}): {}", quoted(data)),
    })
}

fn quoted(data: &[u8]) -> String {
    String::from_utf8_lossy(data).trim().chars().take(QUOTED).collect()
}
