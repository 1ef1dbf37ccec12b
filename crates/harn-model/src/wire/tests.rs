//! The parsers with tables, with every split of the bytes, and with any bytes at all.

use proptest::prelude::*;

use super::*;

/// Frames in a form that can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    Event(String, String),
    Line(String),
    Whole(Vec<u8>),
    TooLong,
}

fn kept(frame: Frame<'_>) -> Kept {
    match frame {
        Frame::Event { event, data } => Kept::Event(event.into(), data.into()),
        Frame::Line(line) => Kept::Line(line.into()),
        Frame::Whole(body) => Kept::Whole(body.into()),
    }
}

fn parsed<'a>(mut parser: Parser, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Kept> {
    let mut frames = Vec::new();
    for piece in pieces {
        parser.feed(piece);
        loop {
            match parser.next_frame() {
                Ok(Some(frame)) => frames.push(kept(frame)),
                Ok(None) => break,
                Err(FrameTooLong { .. }) => {
                    frames.push(Kept::TooLong);
                    return frames;
                }
            }
        }
    }
    frames.extend(parser.finish().map(kept));
    frames
}

fn events(limit: usize) -> Parser {
    Parser::Events(SseParser::new(limit))
}

fn lines(limit: usize) -> Parser {
    Parser::Lines(LineParser::new(limit))
}

/// Whole, in two pieces at every byte, and byte by byte.
fn check_all_splits(parser: impl Fn() -> Parser, bytes: &[u8], expected: &[Kept]) {
    assert_eq!(parsed(parser(), [bytes]), expected, "whole: {bytes:?}");
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(parsed(parser(), [head, tail]), expected, "split at {at}: {bytes:?}");
    }
    assert_eq!(parsed(parser(), bytes.chunks(1)), expected, "byte by byte: {bytes:?}");
}

fn event(event: &str, data: &str) -> Kept {
    Kept::Event(event.into(), data.into())
}

#[test]
fn events_are_read_whatever_their_line_ends_and_splits() {
    let cases: [(&[u8], Vec<Kept>); 18] = [
        (b"", vec![]),
        (b"data: a\n\n", vec![event("", "a")]),
        (b"event: x\ndata: a\n\nevent: y\ndata: b\n\n", vec![event("x", "a"), event("y", "b")]),
        (b"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", vec![event("x", "a"), event("", "b")]),
        (b"event: x\rdata: a\r\rdata: b\r\r", vec![event("x", "a"), event("", "b")]),
        (b"data: a\ndata: b\n\n", vec![event("", "a\nb")]),
        (b"data:a\n\ndata:  b\n\n", vec![event("", "a"), event("", " b")]),
        (b"data\n\n", vec![event("", "")]),
        (b"data:\ndata:\n\n", vec![event("", "\n")]),
        (b": comment\n\n\n\ndata: a\n\n", vec![event("", "a")]),
        (b"event: lost\n\ndata: a\n\n", vec![event("", "a")]),
        (b"id: 1\nretry: 5\nunknown\nother: x\ndata: a\n\n", vec![event("", "a")]),
        (b"event: x\nevent: y\ndata: a\n\n", vec![event("y", "a")]),
        (b"\xEF\xBB\xBFdata: a\n\n", vec![event("", "a")]),
        ("data: grüße €\n\n".as_bytes(), vec![event("", "grüße €")]),
        (b"data: \xFF\n\n", vec![event("", "\u{FFFD}")]),
        (b"data: whole\n\ndata: no blank line\n", vec![event("", "whole")]),
        (b"data: a: b\n\n", vec![event("", "a: b")]),
    ];
    for (bytes, expected) in cases {
        check_all_splits(|| events(1000), bytes, &expected);
    }
}

#[test]
fn lines_are_read_whatever_their_splits_and_a_cut_line_is_none() {
    let line = |text: &str| Kept::Line(text.into());
    let cases: [(&[u8], Vec<Kept>); 7] = [
        (b"", vec![]),
        (b"{\"a\":1}\n{\"b\":2}\n", vec![line("{\"a\":1}"), line("{\"b\":2}")]),
        (b"{}\r\n\r\n  \n{}\r\n", vec![line("{}"), line("{}")]),
        (b"{\"a\":1}\n{\"done\":true}", vec![line("{\"a\":1}"), line("{\"done\":true}")]),
        (b"{\"a\":1}\n{\"done\":tr", vec![line("{\"a\":1}")]),
        ("{\"a\":\"ü€\"}\n".as_bytes(), vec![line("{\"a\":\"ü€\"}")]),
        (b"no json\n", vec![line("no json")]),
    ];
    for (bytes, expected) in cases {
        check_all_splits(|| lines(1000), bytes, &expected);
    }
}

#[test]
fn a_whole_body_is_one_frame() {
    check_all_splits(|| Parser::new(Framing::Whole), b"{\"a\":\n1}", &[Kept::Whole(b"{\"a\":\n1}".to_vec())]);
}

#[test]
fn a_frame_over_the_limit_is_refused_however_it_is_made() {
    let long = "x".repeat(64);
    let many: String = (0..30).map(|_| "data: 12345\n").collect();
    let cases = [
        (events(32), format!("data: {long}\n\n")),
        (events(32), format!("data: {long}")),
        (events(32), format!(": {long}")),
        (events(32), format!("event: {long}\n")),
        (events(32), many),
        (lines(32), format!("{long}\n")),
        (lines(32), long.clone()),
    ];
    for (parser, text) in cases {
        assert_eq!(parsed(parser, text.as_bytes().chunks(7)), [Kept::TooLong], "{text}");
    }
    let passing = format!("data: {}\n\n", "x".repeat(20)).repeat(3);
    assert_eq!(parsed(events(32), [passing.as_bytes()]).len(), 3);
}

proptest! {
    /// Bytes that look like the formats, cut anywhere.
    #[test]
    fn any_split_of_any_bytes_gives_the_same_frames(
        bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>(),
            ], 0..80),
        words in proptest::collection::vec(prop_oneof![
            Just("data: "), Just("event: "), Just("\n\n"), Just("\r\n"), Just("{\"a\":"), Just("ü"),
            ], 0..12),
        size in 1_usize..9,
    ) {
        let mut input = words.concat().into_bytes();
        input.extend(bytes);
        input.extend(words.concat().into_bytes());
        for parser in [|| events(10_000), || lines(10_000)] {
            let whole = parsed(parser(), [input.as_slice()]);
            prop_assert_eq!(parsed(parser(), input.chunks(size)), whole);
        }
    }
}
