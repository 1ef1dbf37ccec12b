//! The scripted model: plays the answers of a JSON file, for tests and demonstrations.
//!
//! ```json
//! {
//!   "responses": [
//!     {"text": "I look.", "tool_calls": [{"id": "c1", "name": "read_file", "args": {"path": "a"}}]},
//!     {"text": "It says hello.", "chunks": 3, "usage": {"input_tokens": 1, "output_tokens": 2}}
//!   ],
//!   "conversations": [
//!     {"when": "be slow", "responses": [{"text": "Done.", "delay_ms": 500}]},
//!     {"when": "break", "responses": [{"error": {"kind": "overloaded", "message": "busy"}}]}
//!   ],
//!   "after": "error"
//! }
//! ```
//!
//! **Which response is played depends on the conversation alone**, never on how often the model was called:
//! a run that is recovered after a crash gets the same answer to the same call. So a retry of a response
//! that is an error gives that error again.
//!
//! - The first entry of `conversations` whose `when` occurs in the *first* user message is played; without
//!   one, `responses` is.
//! - In `responses`, response *n* answers a conversation that holds *n* assistant messages.
//! - In an entry of `conversations`, only assistant messages after the last user message that contains its
//!   `when` are counted: saying the words again plays the entry from its beginning.
//! - An entry of `recorded`, which a recording writes, is `{"first": …, "turn": n, "response": {…}}`. It answers a
//!   conversation whose first user message begins with `first` and that holds *n* assistant messages. The longest
//!   `first` wins, and of equal ones the last. It goes before all others.
//! - Beyond the last response, `after` says whether it is repeated (`repeat_last`) or the call fails
//!   (`error`, the default).
//!
//! `context_window` (tokens) and `price` (`{"input": …, "output": …}`, millionths of a US dollar per million tokens)
//! make it behave as a model of that size and price; the other fields of `prices` in a catalog work too. Without a price
//! it is free.
//!
//! A response waits `delay_ms`, then streams `thinking`, `text` in `chunks` pieces, `provider_tools`, `tool_calls`,
//! `partial_calls` and `usage`, and ends in one way: with `stop` (any word; by default `tool_use` if there are tool calls, else
//! `end_turn`), with `error`, with `"cut": true` (the stream ends without a stop), or with `"hang": true`
//! (it never ends).

mod script;

use std::path::Path;

use futures::{FutureExt, StreamExt, stream};
use harn_core::chat::{ChatMessage, ModelRef, ModelRequest};
use harn_core::price::Prices;
use harn_core::tool::ToolCall;

use crate::pieces::pieces;
use crate::{Chunk, Model, ModelCard, ModelError, ModelStream};
pub use script::ScriptError;
use script::{After, End, Recorded, Response, Script};

/// Plays a script; its format is described in this module.
#[derive(Debug)]
pub struct ScriptedModel(Script);

impl ScriptedModel {
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Script::read(path.as_ref()).map(Self)
    }

    pub fn from_json(json: &str) -> Result<Self, ScriptError> {
        Script::parse(json, "(inline)").map(Self)
    }
}

impl Model for ScriptedModel {
    fn reference(&self) -> ModelRef {
        ModelRef { provider: "scripted".into(), model: "scripted-1".into() }
    }

    fn card(&self) -> ModelCard {
        let usual = ModelCard::default();
        ModelCard {
            context_window: self.0.context_window.unwrap_or(usual.context_window),
            prices: Some(self.0.price.unwrap_or(Prices::free())),
            ..usual
        }
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        match self.0.response(&request.messages) {
            Ok(response) => play(response.clone()),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

impl Script {
    fn response(&self, messages: &[ChatMessage]) -> Result<&Response, ModelError> {
        if let Some(response) = self.recorded(messages) {
            return Ok(response);
        }
        let (responses, counted) = self.part(messages);
        let index = turn(counted);
        let beyond = match self.after {
            After::RepeatLast => responses.last(),
            After::Error => None,
        };
        responses.get(index).or(beyond).ok_or_else(|| used_up(index, responses.len()))
    }

    fn recorded(&self, messages: &[ChatMessage]) -> Option<&Response> {
        let (first, turn) = (first_text(messages), turn(messages));
        let fits = |entry: &&Recorded| entry.turn == turn && first.starts_with(&entry.first);
        // Of several with the same length, `max_by_key` gives the last.
        let best = self.recorded.iter().filter(fits).max_by_key(|entry| entry.first.len());
        best.map(|entry| &entry.response)
    }

    /// The responses that apply, and the messages in which assistant messages count.
    fn part<'a>(&self, messages: &'a [ChatMessage]) -> (&[Response], &'a [ChatMessage]) {
        let first = first_text(messages);
        match self.conversations.iter().find(|entry| first.contains(&entry.when)) {
            Some(entry) => (&entry.responses, since(messages, &entry.when)),
            None => (&self.responses, messages),
        }
    }
}

/// What the user said first, by which a conversation is known.
pub(crate) fn first_text(messages: &[ChatMessage]) -> &str {
    messages.iter().find_map(user_text).unwrap_or_default()
}

/// How often the model has answered in these messages.
pub(crate) fn turn(messages: &[ChatMessage]) -> usize {
    messages.iter().filter(|message| matches!(message, ChatMessage::Assistant { .. })).count()
}

fn user_text(message: &ChatMessage) -> Option<&str> {
    match message {
        ChatMessage::User { text, .. } => Some(text),
        ChatMessage::System { .. } | ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => None,
    }
}

fn since<'a>(messages: &'a [ChatMessage], words: &str) -> &'a [ChatMessage] {
    let says = |message: &ChatMessage| user_text(message).is_some_and(|text| text.contains(words));
    let from = messages.iter().rposition(says).unwrap_or(0);
    messages.get(from..).unwrap_or_default()
}

fn used_up(index: usize, available: usize) -> ModelError {
    let message = format!(
        "the script has {available} responses for this conversation, and response {} is wanted; \
         add it, or set \"after\" to \"repeat_last\"",
        index + 1
    );
    ModelError::InvalidRequest { message }
}

fn play(response: Response) -> ModelStream {
    let delay = response.delay;
    async move {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        perform(response)
    }
    .flatten_stream()
    .boxed()
}

fn perform(response: Response) -> ModelStream {
    let mut chunks = Vec::new();
    if !response.thinking.is_empty() {
        chunks.push(Chunk::Thinking(response.thinking));
    }
    chunks.extend(pieces(&response.text, response.text_pieces).into_iter().map(Chunk::Text));
    let call = |ToolCall { id, name, args }| Chunk::ToolCall { id, name, args };
    chunks.extend(response.provider_tools.into_iter().map(Chunk::ProviderTool));
    chunks.extend(response.tool_calls.into_iter().map(call));
    chunks.extend(response.partial_calls.into_iter().map(Chunk::PartialCall));
    chunks.extend(response.usage.map(Chunk::Usage));
    let chunks = stream::iter(chunks.into_iter().map(Ok));
    match response.end {
        End::Stop(reason) => chunks.chain(stream::iter([Ok(Chunk::Stop(reason))])).boxed(),
        End::Error(error) => chunks.chain(stream::iter([Err(error)])).boxed(),
        End::Cut => chunks.boxed(),
        End::Hang => chunks.chain(stream::pending()).boxed(),
    }
}

#[cfg(test)]
mod tests;
