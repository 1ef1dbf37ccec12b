//! Text without files: the lines of a reader that fit into an answer, and small words.

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

/// Puts its number before each line, and cuts again if the numbers make the text too long.
pub(super) fn with_line_numbers(shown: Shown, first: u64, max: usize) -> Shown {
    let mut text = String::new();
    for (number, line) in (first..).zip(shown.text.split_inclusive('\n')) {
        let line = format!("{number:>6}\t{line}");
        if !text.is_empty() && text.len() + line.len() > max {
            return Shown { text, cut: Some(Cut::BeforeLine { next: number }) };
        }
        text.push_str(&line);
    }
    Shown { text, cut: shown.cut }
}

/// How many there are of something, such as `1 file` or `2 files`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
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
    fn line_numbers_count_towards_the_limit() {
        let numbered = |text: &str, first, max| {
            let shown = Shown { text: text.into(), cut: None };
            let Shown { text, cut } = with_line_numbers(shown, first, max);
            (text, cut)
        };
        let cut = Some(Cut::BeforeLine { next: 10 });
        assert_eq!(numbered("", 1, 99), (String::new(), None));
        assert_eq!(numbered("a\nb", 9, 99), ("     9\ta\n    10\tb".into(), None));
        assert_eq!(numbered("a\nb", 9, 16), ("     9\ta\n".into(), cut));
        assert_eq!(numbered("aaaa", 1, 2), ("     1\taaaa".into(), None));
    }
}
