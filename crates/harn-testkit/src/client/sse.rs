//! Server-sent events: an incremental parser and a stream that judges every Event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{PublicApi, Violation};

/// One dispatched event. `id` and `event` are what this frame itself carried.
#[derive(Debug, Clone, PartialEq)]
pub struct SseFrame {
    pub id: Option<String>,
    pub event: Option<String>,
    /// The data as JSON, or as a string when it is not JSON.
    pub data: Value,
    /// How many comments came since the frame before.
    pub comments: usize,
}

/// An open stream of events.
pub struct EventStream {
    response: Response,
    path: String,
    contract: Option<Arc<PublicApi>>,
    parser: SseParser,
    ended: bool,
}

impl EventStream {
    pub(super) fn new(response: Response, path: String, contract: Option<Arc<PublicApi>>) -> Self {
        Self { response, path, contract, parser: SseParser::default(), ended: false }
    }

    /// The next frame, or `None` when the stream has ended or `timeout` has passed; see [`Self::ended`].
    ///
    /// # Panics
    /// When a frame is not an Event of the contract, or `id:` and `event:` differ from its data. A frame
    /// named `error` must instead carry the error envelope.
    pub async fn next(&mut self, timeout: Duration) -> Option<SseFrame> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(frame) = self.parser.next_frame() {
                self.judge(&frame);
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            match timeout_at(deadline, self.response.chunk()).await.ok()? {
                Ok(Some(chunk)) => self.parser.push(&chunk),
                // A server that goes away mid-stream is an end like any other to a client.
                Ok(None) | Err(_) => self.ended = true,
            }
        }
    }

    /// Whether the server has closed the stream.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// How many comments, such as keep-alives, have come so far.
    pub fn comments(&self) -> usize {
        self.parser.comments()
    }

    fn judge(&self, frame: &SseFrame) {
        if frame.event.as_deref() == Some("error") {
            return self.verdict(frame, |contract| contract.check_error_envelope(200, &frame.data));
        }
        self.verdict(frame, |contract| contract.check_sse_event(&frame.data));
        let fields = (frame.id.as_deref(), frame.event.as_deref());
        let data = (frame.data["id"].as_str(), frame.data["event"].as_str());
        assert!(
            fields == data,
            "{}: id and event of the frame are not those of its data: {frame:?}",
            self.path
        );
    }

    fn verdict(&self, frame: &SseFrame, check: impl FnOnce(&PublicApi) -> Result<(), Vec<Violation>>) {
        if let Some(Err(violations)) = self.contract.as_deref().map(check) {
            let list: Vec<_> = violations.iter().map(|violation| format!("  - {violation}")).collect();
            panic!("{}: a frame breaks the public contract:\n{}\n{frame:#?}", self.path, list.join("\n"));
        }
    }
}

/// Parses `text/event-stream` from chunks cut anywhere, with any of the three line endings.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    after_carriage_return: bool,
    started: bool,
    id: Option<String>,
    event: Option<String>,
    data: Option<String>,
    comments: usize,
    comments_reported: usize,
    frames: VecDeque<SseFrame>,
}

impl SseParser {
    pub fn push(&mut self, chunk: &[u8]) {
        for &byte in chunk {
            let second_half = byte == b'\n' && self.after_carriage_return;
            self.after_carriage_return = byte == b'\r';
            match byte {
                _ if second_half => {}
                b'\r' | b'\n' => self.end_line(),
                _ => self.line.push(byte),
            }
        }
    }

    pub fn next_frame(&mut self) -> Option<SseFrame> {
        self.frames.pop_front()
    }

    pub fn comments(&self) -> usize {
        self.comments
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let mut line = String::from_utf8(bytes).expect("a stream of events is UTF-8");
        if !std::mem::replace(&mut self.started, true) {
            line = line.trim_start_matches('\u{feff}').to_owned();
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "" => self.comments += 1,
            "id" => self.id = Some(value),
            "event" => self.event = Some(value),
            "data" => match &mut self.data {
                Some(data) => *data = format!("{data}\n{value}"),
                None => self.data = Some(value),
            },
            _ => {}
        }
    }

    /// A frame without data is none, by the standard: its fields are forgotten.
    fn dispatch(&mut self) {
        let (id, event) = (self.id.take(), self.event.take());
        let Some(data) = self.data.take() else { return };
        let comments = self.comments - std::mem::replace(&mut self.comments_reported, self.comments);
        let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
        self.frames.push_back(SseFrame { id, event, data, comments });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STREAM: &str = "\u{feff}: hello\nid: 1\nevent: a\ndata: {\"text\":\ndata:\"ü\"}\n\n: ping\n: pong\nid: x\n\nretry: 5\ndata: plain\n\ndata: unfinished\n";

    fn frames(bytes: &[u8], chunk: usize) -> (Vec<SseFrame>, usize) {
        let mut parser = SseParser::default();
        bytes.chunks(chunk).for_each(|piece| parser.push(piece));
        let frames = std::iter::from_fn(|| parser.next_frame()).collect();
        (frames, parser.comments())
    }

    #[test]
    fn every_line_ending_and_every_cut_gives_the_same_frames() {
        let first = SseFrame {
            id: Some("1".into()),
            event: Some("a".into()),
            data: json!({ "text": "ü" }),
            comments: 1,
        };
        let second = SseFrame { id: None, event: None, data: json!("plain"), comments: 2 };
        for ending in ["\n", "\r\n", "\r"] {
            let bytes = STREAM.replace('\n', ending).into_bytes();
            for chunk in 1..=bytes.len() {
                let expected = (vec![first.clone(), second.clone()], 3);
                assert_eq!(frames(&bytes, chunk), expected, "{ending:?} in chunks of {chunk}");
            }
        }
    }
}
