//! The event stream parser, case by case and cut at every byte.

use super::*;

fn event(id: Option<&str>, event: &str, data: &str) -> Frame {
    Frame { id: id.map(Into::into), event: event.into(), data: data.into(), comment: false }
}

fn comment(text: &str) -> Frame {
    Frame { id: None, event: String::new(), data: text.into(), comment: true }
}

fn parse(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut parser = Parser::new(FRAME_LIMIT);
    let mut frames = VecDeque::new();
    for piece in pieces {
        parser.feed(piece, &mut frames).unwrap();
    }
    frames.into()
}

fn cases() -> Vec<(&'static str, Vec<Frame>)> {
    vec![
        ("", vec![]),
        ("id: 7\nevent: task.started\ndata: {}\n\n", vec![event(Some("7"), "task.started", "{}")]),
        ("id: 7\r\nevent: a\r\ndata: x\r\n\r\n", vec![event(Some("7"), "a", "x")]),
        ("id: 7\revent: a\rdata: x\r\r", vec![event(Some("7"), "a", "x")]),
        (
            "data: one\r\rdata: two\n\ndata: three\r\n\r\n",
            vec![
                event(None, "message", "one"),
                event(None, "message", "two"),
                event(None, "message", "three"),
            ],
        ),
        ("data: first\ndata:second\ndata:  third\n\n", vec![event(None, "message", "first\nsecond\n third")]),
        (
            "\u{feff}data: x\n\ndata: \u{feff}\n\n",
            vec![event(None, "message", "x"), event(None, "message", "\u{feff}")],
        ),
        (
            ": alive\n\n:\ndata: x\n: between\ndata: y\n\n",
            vec![comment("alive"), comment(""), comment("between"), event(None, "message", "x\ny")],
        ),
        ("data\n\ndata:\n\n", vec![event(None, "message", ""), event(None, "message", "")]),
        ("id: 1\nevent: a\n\ndata: x\n\n", vec![event(None, "message", "x")]),
        ("id: 1\nid: 2\nid\ndata: x\n\n", vec![event(Some(""), "message", "x")]),
        ("id: a\0b\ndata: x\n\n", vec![event(None, "message", "x")]),
        ("retry: 10\nunknown: y\nDATA: z\ndata: a:b: c\n\n", vec![event(None, "message", "a:b: c")]),
        ("data: ünï ☃ 🦀\n\n", vec![event(None, "message", "ünï ☃ 🦀")]),
        ("\n\n\r\n\ndata: after nothing\n\n", vec![event(None, "message", "after nothing")]),
        ("data: never ended\n", vec![]),
    ]
}

#[test]
fn each_stream_gives_its_frames_wherever_it_is_cut() {
    for (stream, expected) in cases() {
        let bytes = stream.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(parse(&[&bytes[..cut], &bytes[cut..]]), expected, "{stream:?} cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(parse(&single), expected, "{stream:?} byte by byte");
    }
}

#[test]
fn bytes_that_are_no_utf8_are_replaced() {
    assert_eq!(parse(&[b"data: \xff\n\n"]), vec![event(None, "message", "\u{fffd}")]);
}

#[test]
fn a_frame_over_the_limit_is_refused_however_it_grows() {
    let many_lines = "data: 0123456789\n".repeat(3);
    let one_line = format!("data: {}", "0".repeat(40));
    let long_id = format!("id: {}\ndata: 012345678901\n", "7".repeat(20));
    for stream in [many_lines, one_line, long_id] {
        let mut parser = Parser::new(32);
        assert_eq!(parser.feed(stream.as_bytes(), &mut VecDeque::new()), Err(FrameTooLarge), "{stream:?}");
    }
    let mut parser = Parser::new(32);
    let fits = "id: 1\ndata: 0123456789\n\n".repeat(9);
    assert_eq!(parser.feed(fits.as_bytes(), &mut VecDeque::new()), Ok(()));
}
