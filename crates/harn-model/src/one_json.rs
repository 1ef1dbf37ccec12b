//! An answer that has to be one JSON value, taken out of whatever a model wrote around it.

use serde_json::Value;

/// Reading may look at this many times the bytes that there are, and no more.
const EFFORT: usize = 8;

/// The JSON value of a text: the text itself, or the last whole object in it, mended where models commonly err (fences,
/// words around it, commas before a closing bracket, line breaks within strings). None if there is no such thing.
pub(crate) fn one_value(text: &str) -> Option<String> {
    let text = text.trim();
    if is_json(text) {
        return Some(text.to_owned());
    }
    let mut budget = text.len().saturating_mul(EFFORT);
    let mut found = None;
    let mut at = 0;
    while let Some(start) = text[at..].find('{').map(|offset| at + offset) {
        let read = object(&text[start..]);
        budget = budget.saturating_sub(read.seen);
        match read.mended.filter(|mended| is_json(mended)) {
            Some(mended) => {
                found = Some(mended);
                at = start + read.seen;
            }
            // An object may hide behind a bracket that began nothing.
            None => at = start + 1,
        }
        if budget == 0 {
            break;
        }
    }
    found
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

struct Read {
    /// Bytes that were looked at.
    seen: usize,
    /// The object up to its end; none if it has none.
    mended: Option<String>,
}

/// Copies an object up to the bracket that closes it.
fn object(text: &str) -> Read {
    let mut mended = String::new();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if in_string {
            match c {
                _ if std::mem::take(&mut escaped) => mended.push(c),
                '\n' => mended.push_str("\\n"),
                '\r' => mended.push_str("\\r"),
                '\t' => mended.push_str("\\t"),
                _ => {
                    escaped = c == '\\';
                    in_string = c != '"';
                    mended.push(c);
                }
            }
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                drop_comma(&mut mended);
            }
            _ => {}
        }
        mended.push(c);
        if depth == 0 {
            return Read { seen: at + c.len_utf8(), mended: Some(mended) };
        }
    }
    Read { seen: text.len(), mended: None }
}

/// Takes back a comma after which nothing came.
fn drop_comma(mended: &mut String) {
    let end = mended.trim_end().len();
    if mended[..end].ends_with(',') {
        mended.truncate(end - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_found_in_what_models_write_around_it() {
        let cases = [
            ("{\"a\":1}", Some("{\"a\":1}")),
            (" \n{\"a\": 1} ", Some("{\"a\": 1}")),
            ("[1, 2]", Some("[1, 2]")),
            ("\"words\"", Some("\"words\"")),
            ("```json\n{\"a\":1}\n```", Some("{\"a\":1}")),
            ("```\n{\"a\":1}\n```\nThat is all.", Some("{\"a\":1}")),
            ("Here it is: {\"a\":{\"b\":[1]}}. Good?", Some("{\"a\":{\"b\":[1]}}")),
            ("{\"a\":1,}", Some("{\"a\":1}")),
            ("{\"a\":[1,2, ] , \n}", Some("{\"a\":[1,2] }")),
            ("{\"a\":\",}\"}", Some("{\"a\":\",}\"}")),
            ("{\"a\":\"one\ntwo\tthree\"}", Some("{\"a\":\"one\\ntwo\\tthree\"}")),
            ("say {\"a\":\"a } and \\\" {\"} now", Some("{\"a\":\"a } and \\\" {\"}")),
            ("Fill {name} in: {\"name\":\"x\"}", Some("{\"name\":\"x\"}")),
            ("{ is a bracket, {\"a\":1} is an object", Some("{\"a\":1}")),
            ("Draft: {\"a\":1}. Better: {\"a\":2}", Some("{\"a\":2}")),
            ("{\"a\":\"grüße 🙂\",}", Some("{\"a\":\"grüße 🙂\"}")),
            ("{\"a\":1", None),
            ("{'a':1}", None),
            ("No.", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(one_value(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_hostile_text_is_given_up_on_and_a_large_one_is_read() {
        // Each of these brackets begins an object that never ends.
        assert_eq!(one_value(&"{".repeat(1 << 17)), None);
        assert_eq!(one_value(&format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000))), None);
        let large = format!("{{\"a\":\"{}\",}}", "x".repeat(1 << 20));
        assert_eq!(one_value(&large).map(|text| text.len()), Some(large.len() - 1));
    }
}
