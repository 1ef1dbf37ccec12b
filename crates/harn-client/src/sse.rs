//! Server-sent events: bytes in, frames out, as the WHATWG HTML standard parses them.

use std::collections::VecDeque;

/// What one frame may hold before the stream is given up.
pub(crate) const FRAME_LIMIT: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The `id` field of this very frame; `None` when it has none.
    pub id: Option<String>,
    /// The `event` field; `message` when the frame has none, empty for a comment.
    pub event: String,
    /// The `data` lines, joined by line feeds; for a comment its text.
    pub data: String,
    pub comment: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrameTooLarge;

pub(crate) struct Parser {
    limit: usize,
    line: Vec<u8>,
    after_carriage_return: bool,
    at_start: bool,
    id: Option<String>,
    event: String,
    data: Option<String>,
}

impl Parser {
    pub(crate) fn new(limit: usize) -> Parser {
        Parser {
            limit,
            line: Vec::new(),
            after_carriage_return: false,
            at_start: true,
            id: None,
            event: String::new(),
            data: None,
        }
    }

    /// Takes any piece of the stream and appends the frames that it completes.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        frames: &mut VecDeque<Frame>,
    ) -> Result<(), FrameTooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.held() + piece.len() > self.limit {
                return Err(FrameTooLarge);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_carriage_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(frames);
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.line.len()
            + self.data.as_ref().map_or(0, String::len)
            + self.id.as_ref().map_or(0, String::len)
            + self.event.len()
    }

    fn end_line(&mut self, frames: &mut VecDeque<Frame>) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.end_frame(frames);
            return;
        }
        let text = String::from_utf8_lossy(line);
        let (name, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => frames.push_back(Frame {
                id: None,
                event: String::new(),
                data: value.to_owned(),
                comment: true,
            }),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "event" => self.event = value.to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
    }

    /// A frame without data is not delivered, whatever else it has.
    fn end_frame(&mut self, frames: &mut VecDeque<Frame>) {
        let (id, event) = (self.id.take(), std::mem::take(&mut self.event));
        let Some(data) = self.data.take() else { return };
        let event = if event.is_empty() { "message".to_owned() } else { event };
        frames.push_back(Frame { id, event, data, comment: false });
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
