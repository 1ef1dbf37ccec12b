//! From bytes to frames: bounded incremental parsers, for which any split of the bytes gives the same frames.

mod lines;
mod sse;

pub use lines::LineParser;
pub use sse::SseParser;

use crate::{Framing, ModelError};

/// No provider sends frames of this size; what does is broken or hostile.
pub const FRAME_LIMIT: usize = 8 * 1024 * 1024;

/// One unit of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A server-sent event. `event` is empty where the server did not name it.
    Event { event: &'a str, data: &'a str },
    /// A line that is not blank.
    Line(&'a str),
    /// A whole body.
    Whole(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a single frame is longer than {limit} bytes")]
pub struct FrameTooLong {
    pub limit: usize,
}

impl From<FrameTooLong> for ModelError {
    fn from(error: FrameTooLong) -> Self {
        Self::Malformed { message: error.to_string() }
    }
}

/// The parser for a kind of framing.
///
/// Use: `feed` some bytes, then `next_frame` until it has nothing more; after the last bytes `finish` once.
pub enum Parser {
    Events(SseParser),
    Lines(LineParser),
    Whole(Vec<u8>),
}

impl Parser {
    pub fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => Self::Events(SseParser::new(FRAME_LIMIT)),
            Framing::Lines => Self::Lines(LineParser::new(FRAME_LIMIT)),
            Framing::Whole => Self::Whole(Vec::new()),
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::Events(parser) => parser.feed(bytes),
            Self::Lines(parser) => parser.feed(bytes),
            Self::Whole(body) => body.extend_from_slice(bytes),
        }
    }

    /// The next whole frame of what was fed.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameTooLong> {
        match self {
            Self::Events(parser) => parser.next_frame(),
            Self::Lines(parser) => parser.next_frame(),
            Self::Whole(_) => Ok(None),
        }
    }

    /// What the end of the bytes makes whole.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        match self {
            Self::Events(_) => None,
            Self::Lines(parser) => parser.finish(),
            Self::Whole(body) => Some(Frame::Whole(body)),
        }
    }
}

/// The bytes that were fed and not yet used.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to here there is no line end after `start`.
    scanned: usize,
}

impl Pending {
    fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The bounds of the next line without its end, if that has come. `ends` says which bytes end a line.
    fn line(&mut self, ends: impl Fn(u8) -> bool) -> Option<(usize, usize)> {
        let found = self.bytes[self.scanned..].iter().position(|byte| ends(*byte));
        let Some(offset) = found else {
            self.scanned = self.bytes.len();
            return None;
        };
        let (start, end) = (self.start, self.scanned + offset);
        self.start = end + 1;
        self.scanned = self.start;
        Some((start, end))
    }

    /// How much of an unfinished line there is.
    fn open(&self) -> usize {
        self.bytes.len() - self.start
    }
}

#[cfg(test)]
mod tests;
