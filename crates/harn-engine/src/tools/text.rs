//! Text without files: the lines of a reader that fit into an answer, and the replacement of one passage.

use std::io::{self, BufRead, BufReader, Read};

/// The most bytes of a file that one answer shows.
pub(super) const MAX_SHOWN: usize = 1024 * 1024;

/// Which lines to show; `first` counts from 1.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) first: u64,
    pub(super) lines: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) cut: Option<Cut>,
}

/// Where an answer ends before the file does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// `next` is the first line that is not shown.
    BeforeLine { next: u64 },
    /// A single line is longer than an answer may be.
    WithinLine { line: u64 },
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ShowError {
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it has {lines} lines")]
    PastEnd { lines: u64 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The lines of a window, in memory bounded by `max` whatever the size of the source or of its lines.
pub(super) fn show(source: impl Read, window: Window, max: usize) -> Result<Shown, ShowError> {
    let mut reader = BufReader::with_capacity(64 * 1024, source);
    skip_lines(&mut reader, window.first - 1)?;
    let end = window.first.saturating_add(window.lines);
    let mut line = window.first;
    let mut bytes = Vec::new();
    let cut = loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break None;
        }
        if line == end {
            break Some(Cut::BeforeLine { next: end });
        }
        let piece = up_to_newline(chunk);
        let fits = piece.len().min(max - bytes.len());
        bytes.extend_from_slice(&piece[..fits]);
        if fits < piece.len() {
            break Some(cut_at_line(&mut bytes, line));
        }
        line += u64::from(piece.ends_with(b"\n"));
        let used = piece.len();
        reader.consume(used);
    };
    Ok(Shown { text: decode(bytes, cut.is_some())?, cut })
}

fn skip_lines(reader: &mut impl BufRead, count: u64) -> Result<(), ShowError> {
    let mut skipped = 0;
    let mut within_line = false;
    while skipped < count {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Err(ShowError::PastEnd { lines: skipped + u64::from(within_line) });
        }
        let piece = up_to_newline(chunk);
        within_line = !piece.ends_with(b"\n");
        skipped += u64::from(!within_line);
        let used = piece.len();
        reader.consume(used);
    }
    Ok(())
}

fn up_to_newline(chunk: &[u8]) -> &[u8] {
    match chunk.iter().position(|byte| *byte == b'\n') {
        Some(at) => &chunk[..=at],
        None => chunk,
    }
}

/// Drops an unfinished line, unless it is all there is.
fn cut_at_line(bytes: &mut Vec<u8>, line: u64) -> Cut {
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => {
            bytes.truncate(at + 1);
            Cut::BeforeLine { next: line }
        }
        None => Cut::WithinLine { line },
    }
}

fn decode(bytes: Vec<u8>, was_cut: bool) -> Result<String, ShowError> {
    String::from_utf8(bytes).or_else(|error| {
        let fault = error.utf8_error();
        let mut bytes = error.into_bytes();
        if !was_cut || fault.error_len().is_some() {
            return Err(ShowError::NotText);
        }
        bytes.truncate(fault.valid_up_to());
        String::from_utf8(bytes).map_err(|_| ShowError::NotText)
    })
}

/// Replaces the only place where `old` occurs. The error says what stands in the way and what to do.
pub(super) fn replace_once(text: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Err(
            "`old_text` is empty. Give the passage to replace, or use write_file for the whole file.".into(),
        );
    }
    if old == new {
        return Err("`old_text` and `new_text` are the same, so nothing would change.".into());
    }
    let Some(at) = text.find(old) else { return Err(no_match(text, old)) };
    match count(text, old, at) {
        1 => Ok([&text[..at], new, &text[at + old.len()..]].concat()),
        many => Err(format!(
            "`old_text` matches {many} places, and it must match exactly one. Add lines around it until it is unique."
        )),
    }
}

/// Occurrences may overlap (`aa` in `aaa`): those count as two, because either could be meant.
fn count(text: &str, old: &str, first: usize) -> usize {
    let apart = text.matches(old).count();
    let next = first + text[first..].chars().next().map_or(1, char::len_utf8);
    if apart == 1 && text[next..].contains(old) { 2 } else { apart }
}

fn no_match(text: &str, old: &str) -> String {
    let hint = if text.contains("\r\n") && !old.contains("\r\n") && old.contains('\n') {
        "The file's lines end with CR LF; `old_text` must have the same line ends."
    } else {
        "It must match exactly, with every space and line end. Read the file and copy the passage from it."
    };
    format!("`old_text` matches 0 places, and it must match exactly one. {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &[u8], first: u64, lines: u64, max: usize) -> Result<(String, Option<Cut>), String> {
        show(source, Window { first, lines }, max)
            .map(|shown| (shown.text, shown.cut))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_window_shows_whole_lines_and_says_where_it_ends() {
        let next = |next| Some(Cut::BeforeLine { next });
        let cases = [
            ("", 1, 9, 99, "", None),
            ("a\nb\nc\n", 1, 9, 99, "a\nb\nc\n", None),
            ("a\nb\nc\n", 2, 1, 99, "b\n", next(3)),
            ("a\nb\nc", 3, 1, 99, "c", None),
            ("a\nb\n", 3, 1, 99, "", None),
            ("aaa\nbbb\nccc\n", 1, 9, 8, "aaa\nbbb\n", next(3)),
            ("aaa\nbbb\nccc\n", 1, 9, 6, "aaa\n", next(2)),
            ("aaaaaaaa", 1, 9, 4, "aaaa", Some(Cut::WithinLine { line: 1 })),
            ("x\naé", 2, 9, 2, "a", Some(Cut::WithinLine { line: 2 })),
        ];
        for (source, first, lines, max, text, cut) in cases {
            assert_eq!(shown(source.as_bytes(), first, lines, max), Ok((text.to_owned(), cut)), "{source:?}");
        }
    }

    #[test]
    fn what_is_not_text_or_past_the_end_is_an_error() {
        assert_eq!(shown(b"a\xff\n", 1, 9, 99), Err("it is not UTF-8 text".into()));
        assert_eq!(shown(b"a\xc3", 1, 9, 99), Err("it is not UTF-8 text".into()));
        assert_eq!(shown(b"a\nb", 5, 9, 99), Err("it has 2 lines".into()));
    }

    #[test]
    fn overlapping_matches_are_ambiguous() {
        assert_eq!(replace_once("baab", "aa", "x"), Ok("bxb".into()));
        assert!(replace_once("aaa", "aa", "x").unwrap_err().contains("matches 2 places"));
        assert!(replace_once("ééé", "éé", "x").unwrap_err().contains("matches 2 places"));
    }
}
