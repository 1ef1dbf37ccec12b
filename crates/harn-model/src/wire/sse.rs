//! Server-sent events, as the HTML standard describes them: the fields `event` and `data`, and any of three line ends.

use super::{Frame, FrameTooLong, Pending};

const BOM: &[u8] = b"\xEF\xBB\xBF";

pub struct SseParser {
    pending: Pending,
    event: String,
    data: String,
    has_data: bool,
    /// The last event was handed out and has to be forgotten.
    handed_out: bool,
    /// The last line ended with CR; an LF that follows belongs to it.
    after_cr: bool,
    first_line: bool,
    limit: usize,
}

impl SseParser {
    pub fn new(limit: usize) -> Self {
        Self {
            pending: Pending::default(),
            event: String::new(),
            data: String::new(),
            has_data: false,
            handed_out: false,
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.pending.feed(bytes);
    }

    /// The next whole event. An event without data is none, and one that is not closed by a blank line never comes.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameTooLong> {
        if std::mem::take(&mut self.handed_out) {
            self.forget();
        }
        while let Some((start, end)) = self.line() {
            if start == end {
                if self.has_data {
                    self.handed_out = true;
                    return Ok(Some(Frame::Event { event: &self.event, data: &self.data }));
                }
                self.forget();
                continue;
            }
            self.check(end - start)?;
            self.field(start, end);
        }
        self.check(self.pending.open())?;
        Ok(None)
    }

    fn check(&self, open: usize) -> Result<(), FrameTooLong> {
        let size = self.data.len() + self.event.len() + open;
        if size > self.limit { Err(FrameTooLong { limit: self.limit }) } else { Ok(()) }
    }

    fn forget(&mut self) {
        self.event.clear();
        self.data.clear();
        self.has_data = false;
    }

    fn line(&mut self) -> Option<(usize, usize)> {
        if self.after_cr {
            let next = *self.pending.bytes.get(self.pending.start)?;
            self.after_cr = false;
            if next == b'\n' {
                self.pending.start += 1;
                self.pending.scanned = self.pending.start;
            }
        }
        let (start, end) = self.pending.line(|byte| byte == b'\n' || byte == b'\r')?;
        self.after_cr = self.pending.bytes[end] == b'\r';
        let bom = std::mem::take(&mut self.first_line) && self.pending.bytes[start..end].starts_with(BOM);
        Some((if bom { start + BOM.len() } else { start }, end))
    }

    fn field(&mut self, start: usize, end: usize) {
        let line = &self.pending.bytes[start..end];
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &line[..colon] {
            b"data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(&value);
                self.has_data = true;
            }
            b"event" => {
                self.event.clear();
                self.event.push_str(&value);
            }
            // A comment, or a field that concerns reconnecting, which an answer of a model does not do.
            _ => {}
        }
    }
}
