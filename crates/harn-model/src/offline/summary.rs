//! Says what the tools of the current turn gave, in plain text.

use harn_core::chat::ChatMessage;
use harn_core::tool::ToolOutcome;
use serde_json::{Map, Value};

/// What is shown of one result. The whole of it is in the transcript.
const SHOWN_LETTERS: usize = 800;

/// One paragraph for each tool result since the newest user message.
pub(super) fn of_turn(messages: &[ChatMessage]) -> String {
    let turn = messages.iter().rposition(|message| matches!(message, ChatMessage::User { .. })).unwrap_or(0);
    let paragraphs: Vec<String> = messages.iter().skip(turn).filter_map(paragraph).collect();
    paragraphs.join("\n\n")
}

fn paragraph(message: &ChatMessage) -> Option<String> {
    let ChatMessage::Tool { name, outcome, output, .. } = message else { return None };
    let shown = clip(&plain(output));
    Some(match outcome {
        ToolOutcome::Ok if shown.is_empty() => format!("{name} is done."),
        ToolOutcome::Ok => format!("{name} gave:\n{shown}"),
        ToolOutcome::Error => with_reason(format!("{name} failed"), &shown),
        ToolOutcome::Denied => with_reason(format!("{name} was denied"), &shown),
        ToolOutcome::Interrupted => {
            with_reason(format!("{name} was interrupted, and may or may not have happened"), &shown)
        }
    })
}

fn with_reason(what: String, reason: &str) -> String {
    if reason.is_empty() { format!("{what}.") } else { format!("{what}: {reason}") }
}

/// An output is usually JSON; anything else is text already.
fn plain(output: &str) -> String {
    let text = match serde_json::from_str::<Value>(output) {
        Ok(value) => render(&value),
        Err(_) => output.to_owned(),
    };
    text.trim_end().to_owned()
}

fn render(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => items.iter().map(render_item).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => render_fields(fields),
    }
}

/// Entries of a list are known by their name; their other fields would hide it.
fn render_item(item: &Value) -> String {
    match item.get("name").or_else(|| item.get("path")) {
        Some(Value::String(name)) => name.clone(),
        _ => render(item),
    }
}

fn render_fields(fields: &Map<String, Value>) -> String {
    let shown: Vec<(&String, String)> = fields
        .iter()
        .map(|(name, value)| (name, render(value)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    match shown.as_slice() {
        [(_, only)] => only.clone(),
        several => several.iter().map(|(name, text)| field(name, text)).collect::<Vec<_>>().join("\n"),
    }
}

fn field(name: &str, text: &str) -> String {
    let separator = if text.trim_end().contains('\n') { "\n" } else { " " };
    format!("{name}:{separator}{}", text.trim_end())
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LETTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &str, outcome: ToolOutcome, output: &str) -> ChatMessage {
        let (call_id, name, output) = ("call_1".into(), name.into(), output.into());
        ChatMessage::Tool { call_id, name, outcome, output, media: vec![] }
    }

    #[test]
    fn each_outcome_is_said_plainly() {
        use ToolOutcome::{Denied, Error, Interrupted, Ok};
        let cases = [
            (Ok, r#""hello""#, "t gave:\nhello"),
            (Ok, "not { json", "t gave:\nnot { json"),
            (Ok, r#"{"content":"one\ntwo\n"}"#, "t gave:\none\ntwo"),
            (Ok, r#"{"entries":[{"name":"a","kind":"file"},{"path":"b/c"},"d"]}"#, "t gave:\na\nb/c\nd"),
            (Ok, r#"{"exit_code":0,"stdout":"hi\n","stderr":""}"#, "t gave:\nexit_code: 0\nstdout: hi"),
            (Ok, r#"{"exit_code":0,"stdout":"a\nb\n"}"#, "t gave:\nexit_code: 0\nstdout:\na\nb"),
            (Ok, "", "t is done."),
            (Ok, "{}", "t is done."),
            (Ok, "null", "t is done."),
            (
                Error,
                r#"{"error":{"code":"not_found","message":"no a.txt"}}"#,
                "t failed: code: not_found\nmessage: no a.txt",
            ),
            (Error, r#"{"error":"no a.txt"}"#, "t failed: no a.txt"),
            (Denied, "", "t was denied."),
            (Denied, r#"{"reason":"not today"}"#, "t was denied: not today"),
            (Interrupted, "", "t was interrupted, and may or may not have happened."),
        ];
        for (outcome, output, expected) in cases {
            assert_eq!(of_turn(&[result("t", outcome, output)]), expected, "{outcome:?} {output}");
        }
    }

    #[test]
    fn only_the_results_of_the_current_turn_are_told_and_all_of_them() {
        let user = |text: &str| ChatMessage::user(text);
        let messages = [
            user("read a"),
            result("old", ToolOutcome::Ok, "1"),
            user("read b"),
            ChatMessage::assistant("", vec![]),
            result("first", ToolOutcome::Ok, "2"),
            result("second", ToolOutcome::Denied, ""),
        ];
        assert_eq!(of_turn(&messages), "first gave:\n2\n\nsecond was denied.");
    }

    #[test]
    fn a_long_output_is_clipped_between_letters() {
        let told = of_turn(&[result("t", ToolOutcome::Ok, &"ä".repeat(2000))]);
        assert_eq!(told, format!("t gave:\n{}…", "ä".repeat(SHOWN_LETTERS)));
    }
}
