//! Keeps the beginning and the end of an output of any length, in bounded memory.

use tokio::io::{AsyncRead, AsyncReadExt};

/// Half of what is kept of a stream: so many bytes of its head, and so many of its tail.
const HALF: usize = 128 * 1024;

#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped: u64,
}

impl Capture {
    /// Reads to the end. A failing pipe ends like a closed one: what was read is still worth showing.
    pub(super) async fn fill(&mut self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 32 * 1024];
        while let Ok(read @ 1..) = source.read(&mut chunk).await {
            self.push(&chunk[..read]);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (head, tail) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        // Trimmed only when it is twice too long, so that each byte is moved a bounded number of times.
        if self.tail.len() > 2 * HALF {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let excess = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }

    /// The text of what was kept; bytes that are not UTF-8 become replacement characters.
    pub(super) fn into_text(mut self) -> String {
        self.trim();
        if self.dropped == 0 {
            self.head.append(&mut self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let head = whole_start(&self.head);
        let tail = whole_end(&self.tail);
        let dropped = self.dropped as usize + (self.head.len() - head.len()) + (self.tail.len() - tail.len());
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n[{dropped} bytes dropped]\n{tail}")
    }
}

/// Without a character that the cut has halved at the end.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let near = bytes.len().saturating_sub(3);
    let last = (near..bytes.len()).rev().find(|at| bytes[*at] >= 0xc0);
    match last {
        Some(at) if str::from_utf8(&bytes[at..]).is_err_and(|fault| fault.error_len().is_none()) => {
            &bytes[..at]
        }
        _ => bytes,
    }
}

/// Without the rest of a character that the cut has halved at the beginning.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text_of(source: &[u8]) -> String {
        let mut capture = Capture::default();
        capture.fill(source).await;
        capture.into_text()
    }

    #[tokio::test]
    async fn what_fits_is_kept_whole() {
        let source = "é".repeat(HALF);
        assert_eq!(text_of(source.as_bytes()).await, source);
    }

    #[tokio::test]
    async fn the_middle_of_a_long_output_is_dropped_and_counted() {
        let source = ["a".repeat(HALF), "b".repeat(5 * HALF), "c".repeat(HALF)].concat();
        let kept = format!("{}\n[{} bytes dropped]\n{}", "a".repeat(HALF), 5 * HALF, "c".repeat(HALF));
        assert_eq!(text_of(source.as_bytes()).await, kept);
    }

    #[tokio::test]
    async fn a_cut_never_halves_a_character() {
        let source = format!("a{}b", "é".repeat(2 * HALF));
        let text = text_of(source.as_bytes()).await;
        assert!(!text.contains('\u{fffd}'));
        // One byte of a character at each edge goes with the middle.
        assert!(
            text.contains(&format!("[{} bytes dropped]", source.len() - 2 * HALF + 2)),
            "{}",
            source.len()
        );
    }
}
