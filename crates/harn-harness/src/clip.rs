//! Arguments and output as events show them. The journal has all of it; an event has to fit into one frame.

use serde_json::{Map, Value, json};

/// What a text may have before it is cut, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// What all of it may have then.
const LARGEST: usize = 1 << 20;

/// The arguments of a call, without what is too long to be read anyway.
pub fn args(args: &Map<String, Value>) -> Value {
    let whole = Value::Object(args.clone());
    let size = whole.to_string().len();
    if size <= LONGEST_TEXT {
        return whole;
    }
    let cut = value(whole);
    match cut.to_string().len() <= LARGEST {
        true => cut,
        false => json!({ "left_out": format!("{size} bytes; the journal has them") }),
    }
}

fn value(whole: Value) -> Value {
    match whole {
        Value::String(text) if text.len() > LONGEST_TEXT => {
            let (start, rest) = text.split_at(text.floor_char_boundary(LONGEST_TEXT));
            format!("{start}… [{} more bytes]", rest.len()).into()
        }
        Value::Array(items) => items.into_iter().map(value).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, value(field))).collect(),
        other => other,
    }
}

/// A text in pieces of which each fits into an event.
pub fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > LARGEST {
        let (piece, rest) = text.split_at(text.floor_char_boundary(LARGEST));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_arguments_stay_and_long_ones_are_cut() {
        let of = |text: String| args(&Map::from_iter([("content".to_owned(), text.into())]));
        assert_eq!(of("ü".repeat(10)), json!({ "content": "ü".repeat(10) }));
        let cut = of("ü".repeat(LONGEST_TEXT));
        let shown = cut["content"].as_str().unwrap_or_default();
        assert!(
            shown.ends_with("… [65536 more bytes]") && shown.len() < LONGEST_TEXT + 40,
            "{}",
            shown.len()
        );
        let many: Value = vec!["x".repeat(1000); 2000].into();
        let left_out = args(&Map::from_iter([("lines".to_owned(), many)]));
        assert!(left_out["left_out"].as_str().is_some_and(|text| text.contains("bytes")), "{left_out}");
    }

    #[test]
    fn pieces_are_the_whole_text() {
        let text = "äb".repeat(LARGEST);
        let pieces = pieces(&text);
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= LARGEST));
        assert_eq!(pieces.concat(), text);
        assert_eq!(super::pieces(""), [""]);
    }
}
