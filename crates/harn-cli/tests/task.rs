//! `harn task` in pipes: plain lines, JSON lines, exit codes, sessions, and a connection that breaks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod terminal_support;

use std::process::Output;

use serde_json::{Value, json};
use terminal_support::{Stage, call, says, scrubbed};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The exit code and both streams, as one text.
fn told(output: &Output) -> String {
    let code = output.status.code().unwrap();
    let (out, err) = (scrubbed(&text(&output.stdout)), scrubbed(&text(&output.stderr)));
    format!("exit code: {code}\n--- stdout\n{out}\n--- stderr\n{err}")
}

fn reads() -> Stage {
    let read = call("read_file", &json!({ "path": "notes.txt" }));
    let words =
        "A long sentence that is not wrapped because nobody said how wide the reader's page is. ".repeat(3);
    Stage::playing(&[read, says(words.trim())]).with_file("notes.txt", "hello\n\u{1b}[31mred\n")
}

fn writes() -> Stage {
    let write = call("write_file", &json!({ "path": "hello.txt", "content": "hello\n" }));
    Stage::playing(&[write, says("Written.")])
}

#[test]
fn piped_output_is_plain_lines_without_control_characters() {
    let output = reads().piped(&["task", "read the notes"], "");
    insta::assert_snapshot!(told(&output));
    assert!(!text(&output.stdout).chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn colour_can_be_forced() {
    let output = reads().piped(&["task", "read the notes", "--color", "always"], "");
    assert!(text(&output.stdout).contains("\u{1b}[32m✓ \u{1b}[0m"), "{}", told(&output));
}

#[test]
fn quiet_gives_the_answer_and_nothing_else() {
    let stage = Stage::playing(&[call("list_dir", &json!({})), says("Two files.\nNo more.")]);
    let output = stage.piped(&["task", "count the files", "--quiet"], "");
    assert_eq!(told(&output), "exit code: 0\n--- stdout\nTwo files.\nNo more.\n--- stderr\n");
}

#[test]
fn the_prompt_can_come_from_standard_input() {
    let output = reads().piped(&["task", "-"], "read the notes\nand say what they say\n");
    let out = text(&output.stdout);
    assert!(out.contains("> read the notes\n> and say what they say\n"), "{out}");
    let empty = reads().piped(&["task", "-"], "  \n");
    assert_eq!(
        told(&empty),
        "exit code: 1\n--- stdout\n\n--- stderr\nerror: the prompt is empty; say what is to be done, as in: harn task \
         \"list files\""
    );
}

#[test]
fn what_nobody_can_answer_ends_with_code_3_and_the_command_to_run() {
    insta::assert_snapshot!("no_input_approval", told(&writes().piped(&["task", "write", "--no-input"], "")));
    let ask = call("ask_user", &json!({ "question": "Which one?" }));
    let stage = Stage::playing(&[ask, says("Fine.")]);
    insta::assert_snapshot!(
        "yes_is_no_answer_to_a_question",
        told(&stage.piped(&["task", "choose", "--yes"], ""))
    );
}

#[test]
fn yes_approves_what_asks_and_says_so() {
    let stage = writes();
    insta::assert_snapshot!(told(&stage.piped(&["task", "write", "--yes"], "")));
    assert_eq!(stage.read("hello.txt").as_deref(), Some("hello\n"));
    let both = stage.piped(&["task", "write", "--yes", "--no-input"], "");
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_failed_task_ends_with_code_1_and_how_to_go_on() {
    let stage =
        Stage::playing(&[json!({ "error": { "kind": "invalid_request", "message": "no such\u{7} model" } })]);
    insta::assert_snapshot!(told(&stage.piped(&["task", "fail"], "")));
}

#[test]
fn json_is_one_event_to_a_line_and_last_the_outcome() {
    let output = writes().piped(&["task", "write", "--yes", "--json"], "");
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (outcome, events) = lines.split_last().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    insta::assert_snapshot!(kinds.join("\n"));
    assert_eq!((&outcome["object"], &outcome["status"]), (&json!("outcome"), &json!("SUCCEEDED")));
    let ids: Vec<u64> = events.iter().map(|event| event["id"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");

    let waiting = writes().piped(&["task", "write", "--json"], "");
    let last: Value = serde_json::from_str(text(&waiting.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((waiting.status.code(), &last["object"]), (Some(3), &json!("unanswered")));
}

#[test]
fn a_session_is_gone_on_with_by_name_or_as_the_last() {
    let stage = Stage::playing(&[says("First."), says("Second."), says("Third.")]);
    let first = text(&stage.piped(&["task", "one"], "").stdout);
    let session = first.split_whitespace().find(|word| word.starts_with("session_")).unwrap();
    let second = text(&stage.piped(&["task", "two", "--session", session], "").stdout);
    let third = text(&stage.piped(&["task", "three", "--continue"], "").stdout);
    for (out, said) in [(&first, "First."), (&second, "Second."), (&third, "Third.")] {
        assert!(out.contains(said) && out.contains(session), "{said} is missing:\n{out}");
    }
    let none = Stage::playing(&[]).piped(&["task", "one", "--continue"], "");
    assert!(text(&none.stderr).contains("there is no session to go on with"), "{}", told(&none));
}

#[test]
fn a_task_behind_one_that_waits_says_so() {
    let stage = writes();
    assert_eq!(stage.piped(&["task", "write", "--no-input"], "").status.code(), Some(3));
    let behind = stage.piped(&["task", "more", "--continue", "--no-input"], "");
    insta::assert_snapshot!(told(&behind));
}

#[test]
fn what_the_server_refuses_is_told() {
    let stage = writes();
    for (args, said) in [
        (["task", "x", "--session", "session_nope"], "No session `session_nope` is visible to you."),
        (["task", "x", "--workspace", "../etc"], "No workspace `../etc` is visible to you."),
        (["task", "x", "--persona", "persona_nope"], "No persona `persona_nope` is visible to you."),
        (["tasks", "watch", "task_nope", "--json"], "No task `task_nope` is visible to you."),
    ] {
        let output = stage.piped(&args, "");
        assert_eq!(output.status.code(), Some(1), "{args:?}\n{}", told(&output));
        assert!(text(&output.stderr).contains(said), "{args:?}\n{}", told(&output));
    }
}
