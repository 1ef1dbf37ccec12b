//! The live view in a real terminal: the binary runs in a pseudo terminal, and what its screen shows is compared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod terminal_support;

use serde_json::json;
use terminal_support::{Finished, Stage, call, says};

/// The end of a request that waits to be answered.
const MORE: &str = "[?] more\n  >";

/// The end of a view that needs nobody.
fn watched(stage: &Stage, args: &[&str]) -> Finished {
    stage.terminal(args, &[]).finish()
}

/// Answers the first approval with these lines and gives the end.
fn answered(stage: &Stage, env: &[(&str, &str)], lines: &[(&str, &str)]) -> Finished {
    let mut terminal = stage.terminal(&["task", "do it"], env);
    for (shown, line) in lines {
        terminal.wait_to_type(shown);
        terminal.type_line(line);
    }
    terminal.finish()
}

fn writes_hello() -> Stage {
    let write = call("write_file", &json!({ "path": "hello.txt", "content": "hello\nworld\n" }));
    Stage::playing(&[write, says("It is done.")])
}

#[test]
fn the_start_shows_what_is_waited_for() {
    let stage = Stage::playing(&[json!({ "hang": true })]);
    let mut terminal = stage.terminal(&["task", "think for ever"], &[]);
    insta::assert_snapshot!(terminal.wait_for("waiting for the model"));
    terminal.press("\u{3}");
    assert_eq!(terminal.finish().code, 130);
}

#[test]
fn a_task_that_reads() {
    let read = call("read_file", &json!({ "path": "notes.txt" }));
    let long = "The file says hello in three lines. ".repeat(6);
    let stage = Stage::playing(&[read, says(&format!("{long}\n\n  - one\n  - 漢字"))])
        .with_file("notes.txt", "hello\nhello\nhello\n");
    let end = watched(&stage, &["task", "what does notes.txt say?"]);
    insta::assert_snapshot!(end.screen);
    assert_eq!(end.code, 0);
}

#[test]
fn an_approval_shows_the_whole_action_and_takes_a_yes() {
    let stage = writes_hello();
    let mut terminal = stage.terminal(&["task", "write hello"], &[]);
    insta::assert_snapshot!("approval_asked", terminal.wait_for(MORE));
    assert_eq!(stage.read("hello.txt"), None);
    terminal.type_line("y");
    let end = terminal.finish();
    insta::assert_snapshot!("approval_given", end.screen);
    assert_eq!((end.code, stage.read("hello.txt").as_deref()), (0, Some("hello\nworld\n")));
}

#[test]
fn only_a_clear_word_approves_and_a_no_can_say_why() {
    let stage = writes_hello();
    let end = answered(&stage, &[], &[(MORE, ""), ("then Enter.\n  >", "n not in this folder")]);
    insta::assert_snapshot!(end.screen);
    assert_eq!((end.code, stage.read("hello.txt")), (0, None));
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let mut write = call("write_file", &json!({ "path": "hello.txt", "content": "hello" }));
    write["delay_ms"] = json!(700);
    let stage = Stage::playing(&[write, says("It is over.")]);
    let mut terminal = stage.terminal(&["task", "write hello"], &[]);
    terminal.wait_for("waiting for the model");
    terminal.press("y\ny\n");
    terminal.wait_for(MORE);
    terminal.type_line("n");
    let end = terminal.finish();
    assert!(end.screen.contains("denied by"), "{}", end.screen);
    assert_eq!(stage.read("hello.txt"), None);
}

#[test]
fn arguments_are_edited_in_the_editor_and_shown_before_they_are_approved() {
    let stage = writes_hello();
    let editor = [("EDITOR", "sed -i s/world/moon/")];
    let end = answered(&stage, &editor, &[(MORE, "e"), ("+ moon", "y")]);
    insta::assert_snapshot!(end.screen);
    assert_eq!(stage.read("hello.txt").as_deref(), Some("hello\nmoon\n"));
}

#[test]
fn without_an_editor_arguments_are_typed() {
    let stage = writes_hello();
    let args = r#"{"path": "other.txt", "content": "typed"}"#;
    let end = answered(
        &stage,
        &[],
        &[
            (MORE, "e"),
            ("JSON>", "nonsense"),
            ("nothing was changed", "e"),
            ("changed: expected", args),
            ("+ typed", "y"),
        ],
    );
    assert_eq!((end.code, stage.read("other.txt").as_deref()), (0, Some("typed")), "{}", end.screen);
}

#[test]
fn an_answer_can_hold_for_the_session() {
    let stage = writes_hello();
    let end = answered(&stage, &[], &[(MORE, "s")]);
    assert!(end.screen.contains("Remembered as rule"), "{}", end.screen);
}

#[test]
fn more_shows_the_whole_decision() {
    let stage = writes_hello();
    let mut terminal = stage.terminal(&["task", "write hello"], &[]);
    terminal.wait_for(MORE);
    terminal.type_line("?");
    let shown = terminal.wait_for("harn tasks answer");
    for part in ["What policy said:", "\"matched_rule\": {", "The arguments of write_file:"] {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    terminal.type_line("n");
    terminal.finish();
}

#[test]
fn a_change_is_shown_as_a_coloured_diff_with_how_to_undo_it() {
    let edit = call("edit_file", &json!({ "path": "a.rs", "old_text": "b\nc", "new_text": "B\nc\nd" }));
    let stage = Stage::playing(&[edit, says("Changed.")]).with_file("a.rs", "a\nb\nc\n");
    let end = watched(&stage, &["task", "change it", "--yes"]);
    insta::assert_snapshot!(end.screen);
    let bytes = String::from_utf8(end.bytes).unwrap();
    for coloured in ["\u{1b}[31m- b\u{1b}[0m", "\u{1b}[32m+ B\u{1b}[0m", "\u{1b}[32m+ d\u{1b}[0m"] {
        assert!(bytes.contains(coloured), "{coloured:?} is missing in {bytes:?}");
    }
}

#[test]
fn a_long_diff_ends_with_where_to_see_all_of_it() {
    let lines: String = (1..=152).map(|number| format!("line {number}\n")).collect();
    let write = call("write_file", &json!({ "path": "long.txt", "content": lines }));
    let end = watched(&Stage::playing(&[write, says("Written.")]), &["task", "write much", "--yes"]);
    assert!(end.screen.contains("… 112 more lines, harn tasks show task_ID"), "{}", end.screen);
    assert!(end.screen.contains("+ line 40\n") && !end.screen.contains("+ line 41"), "{}", end.screen);
}

#[test]
fn a_question_takes_a_line_of_text() {
    let ask = call("ask_user", &json!({ "question": "Which colour?\nRed or blue?" }));
    let stage = Stage::playing(&[ask, says("Blue it is.")]);
    let mut terminal = stage.terminal(&["task", "paint"], &[]);
    insta::assert_snapshot!("question_asked", terminal.wait_for("answer>"));
    terminal.type_line("blue");
    insta::assert_snapshot!("question_answered", terminal.finish().screen);
}

#[test]
fn a_failing_command_shows_its_last_lines_and_its_code() {
    let run = call("run_command", &json!({ "command": "seq 1 14; echo broken >&2; exit 7" }));
    let end = watched(&Stage::playing(&[run, says("It failed.")]), &["task", "build", "--yes"]);
    insta::assert_snapshot!(end.screen);
}

#[test]
fn an_exhausted_budget_says_so_and_how_to_go_on() {
    let script =
        json!({ "price": { "input": 1_000_000, "output": 1_000_000 }, "responses": [says("never")] });
    let end = watched(&Stage::new(&script), &["task", "think", "--budget-usd", "0.000001"]);
    let known = end.screen.lines().filter(|line| !line.contains("set aside")).collect::<Vec<_>>().join("\n");
    assert!(
        known.contains("To go on with a larger budget: harn task --session session_ID"),
        "{}",
        end.screen
    );
    assert!(end.screen.contains("budget.usd (budget)"), "{}", end.screen);
    assert_eq!(end.code, 1);
}

#[test]
fn ctrl_c_cancels_even_while_somebody_is_asked() {
    let stage = writes_hello();
    let mut terminal = stage.terminal(&["task", "write hello"], &[]);
    terminal.wait_for(MORE);
    terminal.press("\u{3}");
    let end = terminal.finish();
    insta::assert_snapshot!(end.screen);
    assert_eq!((end.code, stage.read("hello.txt")), (130, None));
}

#[test]
fn nothing_that_an_agent_shows_can_steer_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[H\u{9b}31mred\rover\u{8}\u{202e}";
    let read = call("read_file", &json!({ "path": "evil.txt" }));
    let run = json!({ "tool_calls": [{ "id": "c2", "name": "run_command", "args": { "command": "cat evil.txt" } }],
                      "text": hostile });
    let stage = Stage::playing(&[read, run, says(hostile)]).with_file("evil.txt", hostile);
    let end = stage.terminal(&["task", hostile, "--yes"], &[("NO_COLOR", "1")]).finish();
    let text = String::from_utf8(end.bytes).unwrap();
    // What is left besides line ends is ours: the row of the spinner is cleared.
    let ours = text.replace("\r\u{1b}[2K", "").replace("\r\n", "\n");
    let controls: Vec<char> = ours.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert_eq!(controls, [], "{text:?}");
    assert!(end.screen.contains("␛]0;owned␇␛[2J␛[H<U+009B>31mred␍over␈<U+202E>"), "{}", end.screen);
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let stage = Stage::playing(&[says("Hello.")]);
    let end = stage.terminal(&["task", "greet"], &[("TERM", "dumb")]).finish();
    assert!(!end.bytes.contains(&0x1b), "{:?}", String::from_utf8_lossy(&end.bytes));
}

#[test]
fn a_waiting_task_is_watched_from_its_beginning_and_answered() {
    let stage = writes_hello();
    let left = stage.piped(&["task", "write hello", "--no-input"], "");
    assert_eq!(left.status.code(), Some(3));
    let said = String::from_utf8(left.stderr).unwrap();
    let id = said.split_whitespace().find(|word| word.starts_with("task_")).unwrap();
    let mut terminal = stage.terminal(&["tasks", "watch", id], &[]);
    terminal.wait_for(MORE);
    terminal.type_line("y");
    let end = terminal.finish();
    insta::assert_snapshot!(end.screen);
    assert_eq!((end.code, stage.read("hello.txt").as_deref()), (0, Some("hello\nworld\n")));

    let again = watched(&stage, &["tasks", "watch", id]);
    insta::assert_snapshot!("watched_when_all_is_over", again.screen);
    assert_eq!(again.code, 0);
}

#[test]
fn a_broken_connection_is_told_once_and_every_event_is_shown_once() {
    let stage = writes_hello();
    let served = stage.served();
    let mut terminal = stage.terminal(&served.task("write hello"), &[]);
    terminal.wait_for(MORE);
    served.wire.cut();
    // The prompt is drawn again below the words about the connection; what is typed before would stand beside them.
    terminal.wait_for("connecting again.\n  > ");
    terminal.type_line("y");
    let end = terminal.finish();
    insta::assert_snapshot!(end.screen);
    assert_eq!((end.code, stage.read("hello.txt").as_deref()), (0, Some("hello\nworld\n")));
}

#[test]
fn a_second_ctrl_c_leaves_the_task_and_says_how_to_watch_it() {
    let stage = Stage::playing(&[json!({ "hang": true })]);
    let served = stage.served();
    let mut terminal = stage.terminal(&served.task("think"), &[]);
    terminal.wait_for("waiting for the model");
    served.wire.die();
    terminal.wait_for("connecting again");
    terminal.press("\u{3}");
    terminal.wait_for("Canceling the task.");
    terminal.press("\u{3}");
    let end = terminal.finish();
    insta::assert_snapshot!(end.screen);
    assert_eq!(end.code, 130);
}

#[test]
fn a_session_is_watched_until_one_has_seen_enough() {
    let stage = Stage::playing(&[says("First."), says("Second.")]);
    let first = String::from_utf8(stage.piped(&["task", "one"], "").stdout).unwrap();
    let session = first.split_whitespace().find(|word| word.starts_with("session_")).unwrap();
    stage.piped(&["task", "two", "--continue"], "");
    let mut terminal = stage.terminal(&["sessions", "watch", session], &[]);
    terminal.wait_for("Second.\n\nCompleted");
    terminal.press("\u{3}");
    let end = terminal.finish();
    insta::assert_snapshot!(end.screen);
    assert_eq!(end.code, 130);
}

#[test]
fn the_end_of_input_is_no_answer() {
    let stage = writes_hello();
    let mut terminal = stage.terminal(&["task", "write hello"], &[]);
    terminal.wait_for(MORE);
    terminal.press("\u{4}");
    let end = terminal.finish();
    assert!(end.screen.contains("harn tasks answer request_ID --approve"), "{}", end.screen);
    assert_eq!((end.code, stage.read("hello.txt")), (3, None));
}

#[test]
fn what_a_task_did_is_taken_back_and_what_was_changed_since_is_left() {
    let edit = call("edit_file", &json!({ "path": "a.rs", "old_text": "b", "new_text": "B" }));
    let command = call("run_command", &json!({ "command": "rm c.txt; echo new > d.txt; chmod 600 e.txt" }));
    let stage = Stage::playing(&[edit, command, says("Changed.")])
        .with_file("a.rs", "a\nb\n")
        .with_file("c.txt", "keep me\n")
        .with_file("e.txt", "mine\n");
    let end = watched(&stage, &["task", "change it", "--yes"]);
    let told = String::from_utf8(end.bytes).unwrap();
    let id = told.split_whitespace().find(|word| word.starts_with("task_")).unwrap();
    std::fs::write(stage.work().join("d.txt"), "edited by hand\n").unwrap();
    let undone = watched(&stage, &["undo", id]);
    insta::assert_snapshot!(undone.screen);
    assert_eq!(undone.code, 1, "something was left");
    assert_eq!(stage.read("a.rs").as_deref(), Some("a\nb\n"));
    assert_eq!(stage.read("c.txt").as_deref(), Some("keep me\n"));
    assert_eq!(stage.read("d.txt").as_deref(), Some("edited by hand\n"));
}

/// A script that writes a file, which a rule asks about.
fn careful(script: &str) -> Stage {
    let rules = "[[permissions.rules]]\nid = \"careful\"\nask = { tool = \"write_file\" }\n";
    Stage::playing(&[]).with_file("harn.toml", rules).with_file("a.harn", script)
}

#[test]
fn a_run_that_leaves_nothing_behind_asks_the_person_at_the_terminal() {
    let stage = careful("let name = read_line()\nwrite_file(\"out.txt\", name)\nprintln(\"written\")\n");
    let mut terminal = stage.terminal(&["run", "a.harn"], &[]);
    terminal.type_line("Ada");
    terminal.wait_to_type("[y] yes  [n] no  [?] more");
    assert_eq!(stage.read("out.txt"), None);
    // What cannot be kept cannot be remembered.
    terminal.type_line("s");
    terminal.wait_to_type("Type y, n or ?, then Enter.");
    terminal.type_line("y");
    let end = terminal.finish();
    assert!(
        end.screen.contains("? May this happen? write out.txt") && end.screen.contains("written"),
        "{}",
        end.screen
    );
    assert_eq!((end.code, stage.read("out.txt").as_deref()), (0, Some("Ada")));
    assert!(!stage.work().join(".harn").exists());
}

#[test]
fn what_the_person_does_not_want_fails_with_the_reason_and_ctrl_c_ends_the_run() {
    let stage = careful("println(try { write_file(\"out.txt\", \"x\") } catch (e) { e })\n");
    let mut terminal = stage.terminal(&["run", "a.harn"], &[]);
    terminal.wait_to_type("[?] more");
    terminal.type_line("n not in this folder");
    let end = terminal.finish();
    assert!(end.screen.contains("not in this folder") && end.code == 0, "{}", end.screen);
    let mut terminal = stage.terminal(&["run", "a.harn"], &[]);
    terminal.wait_to_type("[?] more");
    terminal.press("\u{3}");
    assert_eq!(terminal.finish().code, 130);
    assert_eq!(stage.read("out.txt"), None);
}

#[test]
fn code_of_the_command_line_can_ask_the_person_at_the_terminal() {
    let stage = Stage::playing(&[]);
    let code = "println(\"hello \" + ask_user(\"Who is there?\"))";
    let mut terminal = stage.terminal(&["run", "-e", code], &[]);
    terminal.wait_to_type("Who is there?");
    terminal.type_line("Ada");
    assert!(terminal.finish().screen.contains("hello Ada"));
}
