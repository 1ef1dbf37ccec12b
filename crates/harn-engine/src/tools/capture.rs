//! Keeps an output of any length in bounded memory: its first part whole, and always its end.

use bytes::Bytes;

/// How much of a stream is kept whole, from its beginning.
const WHOLE: usize = 16 * 1024 * 1024;

/// How much of its end is kept besides, when it is longer.
const TAIL: usize = 32 * 1024;

/// The most that can be shown at once; half of it is the end.
pub(crate) const MOST_SHOWN: usize = 2 * TAIL;

pub(crate) struct Capture {
    /// How much is kept whole.
    room: usize,
    /// The first bytes of the stream.
    whole: Vec<u8>,
    /// The last bytes of what did not fit there.
    tail: Vec<u8>,
    total: u64,
}

/// A part of a stream as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Where the stream goes on.
    pub(crate) end: u64,
    /// Whether bytes are missing in the middle.
    pub(crate) cut: bool,
}

impl Default for Capture {
    fn default() -> Self {
        Self::with_room(WHOLE)
    }
}

impl Capture {
    /// Keeps so many bytes whole.
    pub(crate) fn with_room(room: usize) -> Self {
        Self { room, whole: Vec::new(), tail: Vec::new(), total: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (whole, rest) = bytes.split_at(bytes.len().min(self.room - self.whole.len()));
        self.whole.extend_from_slice(whole);
        self.tail.extend_from_slice(rest);
        self.total += bytes.len() as u64;
        // Trimmed only when it is twice too long, so that each byte is moved a bounded number of times.
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What came after the first `from` bytes, at most `most` of it: the beginning and the end. While more is to come,
    /// a character that is not complete yet is left for the next time.
    pub(crate) fn show(&self, from: u64, most: usize, more_to_come: bool) -> Shown {
        let most = most.min(MOST_SHOWN);
        let from = from.min(self.total);
        let last = self.piece(self.total.saturating_sub(4).max(from), self.total);
        let open = if more_to_come { last.len() - whole_start(&last).len() } else { 0 };
        let end = self.total - open as u64;
        if end - from <= most as u64 {
            let bytes = self.piece(from, end);
            let cut = (bytes.len() as u64) < end - from;
            return Shown { text: String::from_utf8_lossy(&bytes).into_owned(), end, cut };
        }
        let half = (most / 2) as u64;
        let (head, tail) = (self.piece(from, from + half), self.piece(end - half, end));
        let (head, tail) = (whole_start(&head), whole_end(&tail));
        let left_out = end - from - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        Shown { text: format!("{head}\n[{left_out} bytes left out]\n{tail}"), end, cut: true }
    }

    /// The bytes from `start` to `end`, as far as they were kept.
    fn piece(&self, start: u64, end: u64) -> Vec<u8> {
        let after = self.total - self.tail.len() as u64;
        let mut bytes = part(&self.whole, 0, start, end).to_vec();
        bytes.extend_from_slice(part(&self.tail, after, start, end));
        bytes
    }

    /// Everything that was kept, as text in UTF-8.
    pub(crate) fn all(&self) -> Bytes {
        let left_out = self.total - (self.whole.len() + self.tail.len()) as u64;
        if left_out == 0 {
            return text_of([self.whole.as_slice(), self.tail.as_slice()].concat());
        }
        let mark = format!("\n[{left_out} bytes left out]\n");
        text_of([whole_start(&self.whole), mark.as_bytes(), whole_end(&self.tail)].concat())
    }
}

/// Of bytes that begin at `offset` in the stream, those from `start` to `end`.
fn part(bytes: &[u8], offset: u64, start: u64, end: u64) -> &[u8] {
    let within = |position: u64| {
        usize::try_from(position.saturating_sub(offset)).unwrap_or(usize::MAX).min(bytes.len())
    };
    &bytes[within(start)..within(end).max(within(start))]
}

fn text_of(bytes: Vec<u8>) -> Bytes {
    match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
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

    fn capture(pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        for piece in pieces.iter().flat_map(|piece| piece.chunks(30_000)) {
            capture.push(piece);
        }
        capture
    }

    fn shown(text: &str, end: usize, cut: bool) -> Shown {
        Shown { text: text.to_owned(), end: end as u64, cut }
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let source = "é".repeat(50);
        assert_eq!(capture(&[source.as_bytes()]).show(0, 100, false), shown(&source, 100, false));
    }

    #[test]
    fn the_middle_of_what_does_not_fit_is_left_out_and_counted() {
        let source = ["a".repeat(10), "b".repeat(500), "c".repeat(10)].concat();
        let text = "aaaaaaaaaa\n[500 bytes left out]\ncccccccccc";
        assert_eq!(capture(&[source.as_bytes()]).show(0, 20, false), shown(text, 520, true));
    }

    #[test]
    fn a_cut_never_halves_a_character() {
        let source = format!("a{}b", "é".repeat(50));
        let text = "aééé\n[88 bytes left out]\néééb";
        // One byte of a character at each edge goes with the middle.
        assert_eq!(capture(&[source.as_bytes()]).show(0, 16, false), shown(text, 102, true));
    }

    #[test]
    fn what_is_new_is_shown_from_where_the_last_look_ended() {
        let mut capture = capture(&["one é".as_bytes(), b"\xc3"]);
        let first = capture.show(0, 100, true);
        assert_eq!(first, shown("one é", 6, false), "half a character waits for its rest");
        capture.push(b"\xa9 two");
        let second = capture.show(first.end, 100, true);
        assert_eq!(second, shown("é two", 12, false));
        assert_eq!(capture.show(second.end, 100, true), shown("", 12, false));
        capture.push(b"\xc3");
        assert_eq!(
            capture.show(second.end, 100, false),
            shown("\u{fffd}", 13, false),
            "nothing more will come"
        );
    }

    #[test]
    fn beyond_what_is_kept_the_end_is_still_there() {
        let (first, rest) = (vec![b'a'; WHOLE], vec![b'b'; 5 * TAIL]);
        let capture = capture(&[&first, &rest, b"end"]);
        let total = WHOLE + rest.len() + 3;
        let Shown { text, end, cut } = capture.show(0, 8, false);
        let left_out = total - 8;
        assert_eq!(
            (text, end, cut),
            (format!("aaaa\n[{left_out} bytes left out]\nbend"), total as u64, true)
        );
        let all = capture.all();
        let all = str::from_utf8(&all).unwrap();
        assert!(all.starts_with("aaa") && all.contains(" bytes left out]\nbbb") && all.ends_with("bend"));
        assert!(all.len() <= WHOLE + 2 * TAIL + 100, "{}", all.len());
    }
}
