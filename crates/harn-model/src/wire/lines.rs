//! One JSON value per line.

use serde::de::IgnoredAny;

use super::{Frame, FrameTooLong, Pending};

pub struct LineParser {
    pending: Pending,
    /// The line last handed out, as text.
    line: String,
    limit: usize,
}

impl LineParser {
    pub fn new(limit: usize) -> Self {
        Self { pending: Pending::default(), line: String::new(), limit }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.pending.feed(bytes);
    }

    /// The next whole line that is not blank.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameTooLong> {
        while let Some((start, end)) = self.pending.line(|byte| byte == b'\n') {
            if end - start > self.limit {
                return Err(FrameTooLong { limit: self.limit });
            }
            let line = self.pending.bytes[start..end].trim_ascii();
            if !line.is_empty() {
                self.line = String::from_utf8_lossy(line).into_owned();
                return Ok(Some(Frame::Line(&self.line)));
            }
        }
        if self.pending.open() > self.limit {
            return Err(FrameTooLong { limit: self.limit });
        }
        Ok(None)
    }

    /// The last line, if its end is missing but nothing else: a server may stop there, and a cut leaves no whole JSON.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        let rest = self.pending.bytes[self.pending.start..].trim_ascii();
        serde_json::from_slice::<IgnoredAny>(rest).ok()?;
        self.line = String::from_utf8_lossy(rest).into_owned();
        Some(Frame::Line(&self.line))
    }
}
