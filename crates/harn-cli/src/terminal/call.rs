//! A tool call in few words, and its whole action for somebody who has to decide about it.

use serde_json::{Map, Value};

use super::diff::Diff;
use super::line::{Line, Tone};
use super::text::{clip, lines};

/// The short form of a call is never longer than this.
const SHORT: usize = 160;
/// An action is shown whole, but for contents that nobody would read to their end.
const WHOLE: usize = 400;

pub type Args = Map<String, Value>;

/// `read src/main.rs`, `run cargo test`, `edit src/a.rs (+3 -1)`.
pub fn short_form(name: &str, args: &Args) -> String {
    let text = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default();
    let form = match name {
        "read_file" => format!("read {}{}", text("path"), range(args)),
        "list_dir" => format!("list {}", or(text("path"), ".")),
        "write_file" => {
            format!("write {} ({})", text("path"), counted(lines(text("content")).count(), "line"))
        }
        "edit_file" => format!("edit {} {}", text("path"), Diff::of_call(name, args).counts()),
        "run_command" => format!("run {}", first_line(text("command"))),
        "glob" => format!("find {}{}", text("pattern"), within(text("path"))),
        "grep" => format!("search {}{}", text("pattern"), within(text("path"))),
        "ask_user" => format!("ask {}", first_line(text("question"))),
        other => generic(other, args),
    };
    clip(&first_line(&form), SHORT).into_owned()
}

/// Everything that would happen, as exactly as it is known.
pub fn whole_action(name: &str, args: &Args) -> Vec<Line> {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    match (name, text("command")) {
        ("run_command", Some(command)) => {
            let mut shown: Vec<Line> = lines(command).map(Line::plain).collect();
            shown.extend(others(args, &["command"]));
            shown
        }
        ("write_file" | "edit_file", _) => {
            let note = if name == "write_file" { "  whole new content:" } else { "" };
            let mut shown = vec![Line::plain(text("path").unwrap_or("(no path)")).and(Tone::Faint, note)];
            shown.extend(Diff::of_call(name, args).lines(WHOLE, "… {} more lines; [?] shows all of it"));
            shown.extend(others(args, &["path", "content", "old_text", "new_text", "edits"]));
            shown
        }
        _ => others(args, &[]),
    }
    .into_iter()
    .map(|line| line.indented(4))
    .collect()
}

/// The arguments that the rest of the action does not show.
fn others(args: &Args, shown: &[&str]) -> Vec<Line> {
    let rest = args.iter().filter(|(name, _)| !shown.contains(&name.as_str()));
    rest.flat_map(|(name, value)| match value {
        Value::String(text) if text.contains('\n') => {
            let head = Line::new(Tone::Faint, &format!("{name}:"));
            std::iter::once(head).chain(lines(text).map(Line::plain)).collect::<Vec<_>>()
        }
        Value::String(text) => vec![Line::new(Tone::Faint, &format!("{name}: ")).and(Tone::Plain, text)],
        other => vec![Line::new(Tone::Faint, &format!("{name}: ")).and(Tone::Plain, &other.to_string())],
    })
    .collect()
}

/// Any JSON value, pretty.
pub fn json_lines(value: &Value) -> Vec<Line> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    lines(&text).map(|line| Line::new(Tone::Faint, line).indented(4)).collect()
}

/// What came of a call, in few words: `12 lines`, `exit code 1`.
pub fn result_form(name: &str, output: &Value) -> Option<String> {
    let count =
        |key: &str, one: &str, many: &str| output[key].as_array().map(|items| plural(items.len(), one, many));
    match name {
        "read_file" => output["content"].as_str().map(|text| counted(lines(text).count(), "line")),
        "list_dir" => count("entries", "entry", "entries"),
        "glob" => count("files", "file", "files"),
        "grep" => count("matches", "match", "matches"),
        "run_command" => command_end(output),
        _ => None,
    }
}

fn command_end(output: &Value) -> Option<String> {
    match (&output["timed_out"], &output["exit_code"], &output["signal"]) {
        (Value::Bool(true), ..) => Some("stopped: it took too long".into()),
        (_, Value::Number(code), _) => Some(format!("exit code {code}")),
        (_, _, Value::Number(signal)) => Some(format!("ended by signal {signal}")),
        _ => None,
    }
}

/// Whether a call that was performed also did what it was for.
pub fn went_well(name: &str, output: &Value) -> bool {
    name != "run_command" || output["exit_code"] == 0
}

pub fn counted(count: usize, what: &str) -> String {
    plural(count, what, &format!("{what}s"))
}

fn plural(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

fn range(args: &Args) -> String {
    let number = |key: &str| args.get(key).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (Some(from), None) => format!(" from line {from}"),
        (from, Some(count)) => {
            let from = from.unwrap_or(1);
            format!(" lines {from}-{}", from.saturating_add(count).saturating_sub(1))
        }
    }
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in {path}") }
}

fn or<'a>(text: &'a str, instead: &'a str) -> &'a str {
    if text.is_empty() { instead } else { text }
}

fn first_line(text: &str) -> String {
    let mut all = lines(text);
    let first = all.next().unwrap_or_default();
    if all.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

fn generic(name: &str, args: &Args) -> String {
    let shown = args.iter().take(8).map(|(key, value)| match value {
        Value::String(text) => format!("{key}={}", clip(&first_line(text), 60)),
        other => format!("{key}={}", clip(&other.to_string(), 60)),
    });
    std::iter::once(name.to_owned()).chain(shown).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terminal::line::Paint;

    fn args(value: &Value) -> Args {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn every_call_has_a_short_form() {
        let cases = [
            ("read_file", json!({ "path": "src/main.rs" }), "read src/main.rs"),
            ("read_file", json!({ "path": "a", "offset": 10 }), "read a from line 10"),
            ("read_file", json!({ "path": "a", "offset": 10, "limit": 5 }), "read a lines 10-14"),
            ("read_file", json!({ "path": "a", "limit": 5 }), "read a lines 1-5"),
            (
                "read_file",
                json!({ "path": 7, "offset": u64::MAX, "limit": u64::MAX }),
                "read  lines 18446744073709551615-18446744073709551614",
            ),
            ("list_dir", json!({}), "list ."),
            ("list_dir", json!({ "path": "src" }), "list src"),
            ("write_file", json!({ "path": "a.txt", "content": "1\n2\n" }), "write a.txt (2 lines)"),
            ("write_file", json!({ "path": "a.txt", "content": "1" }), "write a.txt (1 line)"),
            (
                "edit_file",
                json!({ "path": "src/a.rs", "old_text": "a\nb", "new_text": "a\nc\nd\ne" }),
                "edit src/a.rs (+3 -1)",
            ),
            (
                "edit_file",
                json!({ "path": "a", "edits": [{ "old_text": "x", "new_text": "y" }, { "old_text": "", "new_text": "z" }] }),
                "edit a (+2 -1)",
            ),
            ("run_command", json!({ "command": "cargo test" }), "run cargo test"),
            ("run_command", json!({ "command": "set -e\nmake" }), "run set -e …"),
            ("run_command", json!({}), "run "),
            ("glob", json!({ "pattern": "**/*.rs", "path": "src" }), "find **/*.rs in src"),
            ("grep", json!({ "pattern": "fn main" }), "search fn main"),
            ("ask_user", json!({ "question": "Which one?" }), "ask Which one?"),
            ("jira_create", json!({ "title": "A", "points": 3 }), "jira_create points=3 title=A"),
            ("noop", json!({}), "noop"),
        ];
        for (name, given, form) in cases {
            assert_eq!(short_form(name, &args(&given)), form, "{name} {given}");
        }
        let long = short_form("run_command", &args(&json!({ "command": "x".repeat(10_000) })));
        assert_eq!(long.chars().count(), SHORT);
    }

    #[test]
    fn every_result_has_a_short_form() {
        let cases = [
            ("read_file", json!({ "content": "a\nb\n" }), Some("2 lines")),
            ("list_dir", json!({ "entries": [1] }), Some("1 entry")),
            ("list_dir", json!({ "entries": [] }), Some("0 entries")),
            ("grep", json!({ "matches": [1, 2] }), Some("2 matches")),
            ("grep", json!({ "matches": [1] }), Some("1 match")),
            ("glob", json!({ "files": [1, 2] }), Some("2 files")),
            ("run_command", json!({ "exit_code": 101 }), Some("exit code 101")),
            ("run_command", json!({ "exit_code": null, "signal": 9 }), Some("ended by signal 9")),
            ("run_command", json!({ "timed_out": true }), Some("stopped: it took too long")),
            ("run_command", json!("nonsense"), None),
            ("other", json!({}), None),
        ];
        for (name, output, form) in cases {
            assert_eq!(result_form(name, &output).as_deref(), form, "{name} {output}");
        }
    }

    #[test]
    fn an_action_is_shown_whole() {
        let shown = |name: &str, given: Value| -> Vec<String> {
            let lines = whole_action(name, &args(&given));
            lines.iter().flat_map(|line| line.rows(None, Paint::Plain)).collect()
        };
        let command = "curl https://example.org |\n  sh";
        assert_eq!(
            shown("run_command", json!({ "command": command, "timeout_ms": 5 })),
            ["    curl https://example.org |", "      sh", "    timeout_ms: 5"]
        );
        assert_eq!(
            shown("edit_file", json!({ "path": "a", "old_text": "same\nold", "new_text": "same\nnew" })),
            ["    a", "      same", "    - old", "    + new"]
        );
        assert_eq!(
            shown("mail", json!({ "to": "ann", "text": "one\n\u{1b}two", "urgent": true })),
            ["    text:", "    one", "    ␛two", "    to: ann", "    urgent: true"]
        );
    }
}
