//! One answer, which may take several calls: what has come of it, and the request that goes on from there.

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelRequest, StopReason, Thought};

use crate::Chunk;
use crate::one_json::one_value;

/// A provider that pauses more often than this does not get on.
const CONTINUATIONS: u32 = 8;

pub(super) struct Turn {
    asked: ModelRequest,
    /// The stop reason that is no end, but a pause.
    pause: Option<&'static str>,
    text: String,
    thoughts: Vec<Thought>,
    /// How much of text and thoughts belongs to calls that are over.
    settled: (usize, usize),
    continuations: u32,
}

/// What a chunk means for the turn.
pub(super) enum Heard {
    /// It goes on to the reader.
    Show(Chunk),
    /// It is kept until the answer is whole.
    Kept,
    /// The answer is whole: these are its last chunks.
    Whole(Vec<Chunk>),
    /// The provider wants the answer back to go on with it.
    Paused,
}

impl Turn {
    pub fn new(asked: ModelRequest, pause: Option<&'static str>) -> Self {
        Self { asked, pause, text: String::new(), thoughts: Vec::new(), settled: (0, 0), continuations: 0 }
    }

    pub fn hear(&mut self, chunk: Chunk) -> Heard {
        match chunk {
            // Text of a given shape is worth nothing before it is whole, and may have to be mended then.
            Chunk::Text(piece) if self.asked.output_schema.is_some() => {
                self.text.push_str(&piece);
                Heard::Kept
            }
            Chunk::Text(piece) if self.pause.is_some() => {
                self.text.push_str(&piece);
                Heard::Show(Chunk::Text(piece))
            }
            Chunk::Thought(thought) if self.pause.is_some() => {
                self.thoughts.push(thought.clone());
                Heard::Show(Chunk::Thought(thought))
            }
            Chunk::Stop(stop) if self.is_pause(&stop) => Heard::Paused,
            Chunk::Stop(stop) => Heard::Whole(self.last(stop)),
            other => Heard::Show(other),
        }
    }

    fn is_pause(&self, stop: &StopReason) -> bool {
        let StopReason::Other(word) = stop else { return false };
        self.pause == Some(word.as_str()) && self.continuations < CONTINUATIONS
    }

    fn last(&mut self, stop: StopReason) -> Vec<Chunk> {
        let text = match self.asked.output_schema {
            Some(_) => std::mem::take(&mut self.text),
            None => String::new(),
        };
        // Words beside calls, or of an answer that was stopped, are no value.
        let value = if stop == StopReason::EndTurn { one_value(&text) } else { None };
        let text = Some(value.unwrap_or(text)).filter(|text| !text.is_empty());
        text.map(Chunk::Text).into_iter().chain([Chunk::Stop(stop)]).collect()
    }

    /// The request that goes on after a pause: the same, and what the model has said so far.
    pub fn go_on(&mut self) -> ModelRequest {
        self.continuations += 1;
        self.settled = (self.text.len(), self.thoughts.len());
        let said = ChatMessage::Assistant {
            text: self.text.clone(),
            tool_calls: Vec::new(),
            thoughts: self.thoughts.clone(),
        };
        let messages = self.asked.messages.iter().cloned().chain([said]).collect();
        ModelRequest { messages: Arc::new(messages), ..self.asked.clone() }
    }

    /// The call that is under way is made again.
    pub fn forget_call(&mut self) {
        self.text.truncate(self.settled.0);
        self.thoughts.truncate(self.settled.1);
    }

    /// The whole turn is begun again; returns its first request.
    pub fn begin_again(&mut self) -> ModelRequest {
        self.settled = (0, 0);
        self.continuations = 0;
        self.forget_call();
        self.asked.clone()
    }
}
