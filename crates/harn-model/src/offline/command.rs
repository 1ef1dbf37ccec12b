//! The requests that the offline model understands, and the tool call that each becomes.

use serde_json::{Map, Value};

/// A tool call before it has an id.
#[derive(Debug, PartialEq)]
pub(super) struct Command {
    pub tool: &'static str,
    pub args: Map<String, Value>,
}

/// One command for each line that begins with one; other lines are ignored. Keywords are matched in any
/// case. The content of a `write` runs to the end of the text when it is the only command, and otherwise
/// to the end of its line.
pub(super) fn parse(text: &str) -> Vec<Command> {
    let found = command_lines(text);
    match found.as_slice() {
        [(command, from)] if command.tool == "write_file" => write(from).into_iter().collect(),
        _ => found.into_iter().map(|(command, _)| command).collect(),
    }
}

/// The commands, each with the text from the beginning of its line.
fn command_lines(text: &str) -> Vec<(Command, &str)> {
    let mut found = Vec::new();
    let mut from = text.trim_start();
    while !from.is_empty() {
        let (line, next) = from.split_once('\n').unwrap_or((from, ""));
        found.extend(line_command(line.trim_end_matches('\r')).map(|command| (command, from)));
        from = next;
    }
    found
}

fn line_command(line: &str) -> Option<Command> {
    list(line)
        .or_else(|| argument(line, "read").map(|path| command("read_file", [("path", path)])))
        .or_else(|| write(line))
        .or_else(|| replace(line))
        .or_else(|| argument(line, "run").map(|shell| command("run_command", [("command", shell)])))
        .or_else(|| argument(line, "ask").map(|question| command("ask_user", [("question", question)])))
}

fn list(line: &str) -> Option<Command> {
    let folder = after(line, "list files in")
        .or_else(|| after(line, "ls"))
        .or_else(|| after(line, "list files").filter(|rest| rest.trim().is_empty()))?
        .trim_end();
    Some(command("list_dir", [("path", if folder.is_empty() { "." } else { folder })]))
}

fn write(source: &str) -> Option<Command> {
    let (path, content) = after(source, "write")?.split_once(':')?;
    let path = path.trim();
    let content = content.strip_prefix(' ').unwrap_or(content);
    // `write FILE:` alone on its line: the content begins on the next one.
    let content = content.strip_prefix("\r\n").or_else(|| content.strip_prefix('\n')).unwrap_or(content);
    (!path.is_empty()).then(|| command("write_file", [("path", path), ("content", content)]))
}

/// Splits at the first `with` and the last `in`, so that the new text may contain both words.
fn replace(line: &str) -> Option<Command> {
    const WITH: &str = " with ";
    const IN: &str = " in ";
    let rest = after(line, "replace")?;
    // Lowering ASCII letters only keeps every byte offset valid for `rest`.
    let lower = rest.to_ascii_lowercase();
    let with = lower.find(WITH)?;
    let new_from = with + WITH.len();
    // The blank after `with` may be the one before `in`: then the new text is empty.
    let in_at = lower.rfind(IN).filter(|at| at + 1 >= new_from)?;
    let old_text = rest.get(..with)?;
    let new_text = rest.get(new_from..in_at.max(new_from))?;
    let path = rest.get(in_at + IN.len()..)?.trim();
    let complete = !old_text.is_empty() && !path.is_empty();
    complete.then(|| command("edit_file", [("path", path), ("old_text", old_text), ("new_text", new_text)]))
}

/// What follows the keyword, if anything does.
fn argument<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    after(line, keyword).map(str::trim_end).filter(|rest| !rest.is_empty())
}

/// The rest of a text that begins with this whole word.
fn after<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(keyword.len())?;
    let whole_word = rest.is_empty() || rest.starts_with([' ', '\t']);
    (whole_word && head.eq_ignore_ascii_case(keyword)).then(|| rest.trim_start())
}

fn command<const N: usize>(tool: &'static str, args: [(&str, &str); N]) -> Command {
    let args = args.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    Command { tool, args }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parse;

    fn check(text: &str, expected: &[(&str, Value)]) {
        let got: Vec<_> =
            parse(text).into_iter().map(|command| (command.tool, Value::Object(command.args))).collect();
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn one_line_is_one_command() {
        let cases = [
            ("list files", "list_dir", json!({"path": "."})),
            ("List Files in src/bin ", "list_dir", json!({"path": "src/bin"})),
            ("ls", "list_dir", json!({"path": "."})),
            ("LS docs", "list_dir", json!({"path": "docs"})),
            ("read a b.txt", "read_file", json!({"path": "a b.txt"})),
            ("READ a.txt\r\n", "read_file", json!({"path": "a.txt"})),
            ("run cargo test: all", "run_command", json!({"command": "cargo test: all"})),
            ("ask Which colour?", "ask_user", json!({"question": "Which colour?"})),
            ("write a.txt: hello: you", "write_file", json!({"path": "a.txt", "content": "hello: you"})),
            ("write a.txt:", "write_file", json!({"path": "a.txt", "content": ""})),
            (
                "replace one with two in a.txt",
                "edit_file",
                json!({"path": "a.txt", "old_text": "one", "new_text": "two"}),
            ),
            (
                "Replace a b With x with y in z IN c.txt",
                "edit_file",
                json!({"path": "c.txt", "old_text": "a b", "new_text": "x with y in z"}),
            ),
            ("replace one with in a", "edit_file", json!({"path": "a", "old_text": "one", "new_text": ""})),
            ("replace ü with ß in ä", "edit_file", json!({"path": "ä", "old_text": "ü", "new_text": "ß"})),
            ("\n\n  read a.txt", "read_file", json!({"path": "a.txt"})),
            ("Please do this:\nread a.txt\nThank you", "read_file", json!({"path": "a.txt"})),
        ];
        for (text, tool, args) in cases {
            check(text, &[(tool, args)]);
        }
    }

    #[test]
    fn other_text_is_no_command() {
        let cases = [
            "",
            "hello",
            "readme",
            "read",
            "run ",
            "ask",
            "list files please",
            "please read a.txt",
            "write a.txt",
            "write : x",
            "replace a with b",
            "replace a in b",
            "replace a in b with c",
            "lsé",
            "réad a",
        ];
        for text in cases {
            check(text, &[]);
        }
    }

    #[test]
    fn a_write_alone_takes_the_following_lines() {
        let cases = [
            ("write a: one\ntwo\n", "one\ntwo\n"),
            ("write a:\none\n  read two\n", "one\n  read two\n"),
            ("write a: \r\none", "one"),
            ("Hello\nwrite a: one\n\ntwo", "one\n\ntwo"),
        ];
        for (text, content) in cases {
            check(text, &[("write_file", json!({"path": "a", "content": content}))]);
        }
    }

    #[test]
    fn several_command_lines_are_several_commands() {
        check(
            "write a: one\nignored\nread a\n\nRUN ls",
            &[
                ("write_file", json!({"path": "a", "content": "one"})),
                ("read_file", json!({"path": "a"})),
                ("run_command", json!({"command": "ls"})),
            ],
        );
    }
}
