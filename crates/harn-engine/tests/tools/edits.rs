//! Edits of one or several passages, the help for edits that do not fit, and the diffs of what was written.

use harn_core::hash::Sha256Hash;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::Workspace;

fn hash(text: &str) -> String {
    Sha256Hash::of(text.as_bytes()).prefixed()
}

/// Calls edit_file with these edits on a file with this text.
async fn edited(before: &str, edits: Value) -> Result<String, String> {
    let workspace = Workspace::new();
    workspace.put("f", before);
    let output = workspace.call("edit_file", json!({ "path": "f", "edits": edits })).await;
    if output.is_err() {
        assert_eq!(workspace.text("f"), before, "all or nothing");
    }
    output.map(|_| workspace.text("f"))
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "old_text": old, "new_text": new })
}

fn all(old: &str, new: &str) -> Value {
    json!({ "old_text": old, "new_text": new, "replace_all": true })
}

#[tokio::test]
async fn an_edit_replaces_the_only_match() {
    let workspace = Workspace::new();
    workspace.put("a.txt", "one two three");
    let args = json!({ "path": "a.txt", "old_text": "two", "new_text": "2" });
    let output = workspace.call("edit_file", args).await;
    let wanted = json!({
        "path": "a.txt", "bytes": 11,
        "before_sha256": hash("one two three"), "after_sha256": hash("one 2 three"),
        "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one two three\n\\ No newline at end of file\n\
                 +one 2 three\n\\ No newline at end of file\n",
    });
    assert_eq!(output, Ok(wanted));
    assert_eq!(workspace.text("a.txt"), "one 2 three");
}

#[tokio::test]
async fn edits_are_made_in_order_on_what_the_earlier_ones_left() {
    let cases = [
        ("one two", json!([edit("one", "1"), edit("two", "2")]), "1 2"),
        ("one", json!([edit("one", "two"), edit("two", "three")]), "three"),
        ("x y x", json!([edit("y", "x"), all("x", "z")]), "z z z"),
        ("aaa", json!([all("aa", "b")]), "ba"),
        ("a b", json!([edit("a", "b"), edit("b b", "")]), ""),
        ("käse 🧀", json!([edit("ä", "ae"), edit("🧀", "é")]), "kaese é"),
        // The lines keep their ends, also new ones, however the edit has them.
        ("one\r\ntwo\r\n", json!([edit("one\ntwo", "1\n2\n3")]), "1\r\n2\r\n3\r\n"),
        ("one\r\ntwo\r\n", json!([edit("one\r\ntwo", "1\r\n2")]), "1\r\n2\r\n"),
        ("one\r\ntwo", json!([edit("two", "2\n3")]), "one\r\n2\r\n3"),
        ("one\r\ntwo\nthree", json!([edit("two\nthree", "2\n3")]), "one\r\n2\n3"),
        ("one\ntwo\n", json!([edit("two", "2\r\n3")]), "one\n2\r\n3\n"),
    ];
    for (before, edits, after) in cases {
        assert_eq!(edited(before, edits.clone()).await, Ok(after.to_owned()), "{edits}");
    }
}

#[tokio::test]
async fn edits_that_do_not_fit_change_nothing_and_say_which_and_why() {
    let nowhere = "`old_text` matches nowhere; it must match exactly, with every space and line end.";
    let again = "and it must match once. Include more surrounding text, or use `edits` with `replace_all`.";
    let many = "m\n".repeat(12);
    let cases = [
        ("x y", json!([edit("z", "")]), format!("{nowhere} Read the file and copy the passage from it.")),
        (
            "one two",
            json!([edit("one", "1"), edit("one", "2")]),
            format!("edit 2 of 2: {nowhere} Read the file and copy the passage from it."),
        ),
        (
            "x\n\n\nx\ny x",
            json!([edit("y", "z"), edit("x", "")]),
            format!("edit 2 of 2: `old_text` matches 3 times at lines 1, 4, 5, {again}"),
        ),
        ("\naaa", json!([edit("aa", "b")]), format!("`old_text` matches 2 times at line 2, {again}")),
        ("éééx", json!([edit("éé", "b")]), format!("`old_text` matches 2 times at line 1, {again}")),
        (
            many.as_str(),
            json!([edit("m", "b")]),
            format!("`old_text` matches 12 times at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more, {again}"),
        ),
        (
            "fn a() {\n\tlet x = 1;\n\n\tb(x)\n}\n",
            json!([edit("    let x = 1;\n    b(x)", "")]),
            format!(
                "{nowhere} Only spaces, tabs or line breaks differ here:\n2: \"\\tlet x = 1;\"\n3: \"\"\n4: \"\\tb(x)\""
            ),
        ),
        (
            "a\nif x {\n  y\n}\n",
            json!([edit("if x {\n  z\n}", "")]),
            format!(
                "{nowhere} Its first line is there, but what follows differs:\n2: \"if x {{\"\n3: \"  y\"\n4: \"}}\""
            ),
        ),
        (
            "a\r\nb\nc",
            json!([edit("a\nb", "")]),
            format!(
                "{nowhere} Only line ends differ: some lines of the file end with CR LF and some with LF. Edit single \
                 lines, or use write_file."
            ),
        ),
        (
            "x",
            json!([edit("", "a")]),
            "`old_text` is empty. Give the passage to replace, or use write_file for the whole file.".into(),
        ),
        (
            "x",
            json!([all("x", "x")]),
            "`old_text` and `new_text` are the same, so nothing would change.".into(),
        ),
    ];
    for (before, edits, why) in cases {
        let message = format!("`f` was not changed: {why}");
        assert_eq!(edited(before, edits.clone()).await, Err(message), "{edits}");
    }
}

#[tokio::test]
async fn an_edit_that_multiplies_the_text_is_refused_before_it_does() {
    let before = "a".repeat(1024 * 1024);
    let message = edited(&before, json!([all("a", &before)])).await.unwrap_err();
    let words = "`f` was not changed: the text would have more than 8388608 bytes, which is the limit.";
    assert_eq!(message, words);
}

#[tokio::test]
async fn wrong_edits_are_named() {
    let workspace = Workspace::new();
    workspace.put("binary", [0xff]);
    let list = "The argument `edits` of edit_file must be an array of 1 to 200 objects.";
    let cases = [
        (json!({ "path": "f", "edits": [] }), list),
        (json!({ "path": "f", "edits": vec![edit("a", "b"); 201] }), list),
        (json!({ "path": "f", "edits": {} }), list),
        (json!({ "path": "f", "edits": ["a"] }), list),
        (
            json!({ "path": "f", "edits": [edit("a", "b"), { "old_text": "a" }] }),
            "Edit 2: edit_file needs the argument `new_text`, a string, which is missing.",
        ),
        (
            json!({ "path": "f", "edits": [{ "old_text": "a", "new_text": "b", "all": true }] }),
            "Edit 1: edit_file has no argument `all`. Its arguments are `old_text`, `new_text`, `replace_all`.",
        ),
        (
            json!({ "path": "f", "edits": [{ "old_text": "a", "new_text": "b", "replace_all": "yes" }] }),
            "Edit 1: The argument `replace_all` of edit_file must be `true` or `false`.",
        ),
        (
            json!({ "path": "f", "edits": [edit("a", "b")], "old_text": "a" }),
            "edit_file takes either `edits` or `old_text` and `new_text`, not both. Put all changes into `edits`.",
        ),
        (
            json!({ "path": "binary", "edits": [edit("a", "b")] }),
            "`binary` is not UTF-8 text, and other content cannot be shown or edited.",
        ),
        (
            json!({ "path": "absent", "edits": [edit("a", "b")] }),
            "`absent` does not exist. List its folder to see what is there.",
        ),
    ];
    for (args, message) in cases {
        assert_eq!(workspace.prepare("edit_file", args).await, Err(message.to_owned()));
    }
}

/// Writes `after` over `before`; the diff and its note.
async fn diff(path: &str, before: Option<&[u8]>, after: &str) -> (Value, Value) {
    let workspace = Workspace::new();
    if let Some(before) = before {
        workspace.put(path, before);
    }
    let args = json!({ "path": path, "content": after });
    let output = workspace.call("write_file", args).await.unwrap();
    (output["diff"].clone(), output["diff_note"].clone())
}

#[tokio::test]
async fn a_write_says_what_it_changed() {
    let numbers = |from: u32, to: u32| (from..=to).map(|n| format!("{n}\n")).collect::<String>();
    let two_hunks = numbers(1, 20).replace("\n2\n", "\ntwo\n").replace("\n19\n", "\n");
    let cases = [
        ("a", Some("same\n"), "same\n", ""),
        ("new", None, "", "--- /dev/null\n+++ b/new\n"),
        ("new", None, "ä\nb\n", "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+ä\n+b\n"),
        ("d/a", Some("x\n"), "", "--- a/d/a\n+++ b/d/a\n@@ -1 +0,0 @@\n-x\n"),
        (
            "a",
            Some("x\ny"),
            "x\ny\n",
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+y\n",
        ),
        ("a", Some("x\r\ny\r\n"), "x\ny\r\n", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\r\n+x\n y\r\n"),
        (
            "a",
            Some(&numbers(1, 20)),
            &two_hunks,
            "--- a/a\n+++ b/a\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n",
        ),
        (
            "a",
            Some(&numbers(1, 20)),
            &numbers(1, 20).replace("\n10\n", "\n10\nnew\n"),
            "--- a/a\n+++ b/a\n@@ -8,6 +8,7 @@\n 8\n 9\n 10\n+new\n 11\n 12\n 13\n",
        ),
        ("a\nb", None, "x\n", "--- /dev/null\n+++ b/a\\nb\n@@ -0,0 +1 @@\n+x\n"),
    ];
    for (path, before, after, wanted) in cases {
        let shown = diff(path, before.map(str::as_bytes), after).await;
        assert_eq!(shown, (wanted.into(), Value::Null), "{before:?}");
    }
}

#[tokio::test]
async fn a_diff_that_cannot_be_shown_whole_says_so() {
    let note = "There is no diff, because the file was or is not UTF-8 text.";
    assert_eq!(diff("a", Some(&[0xff]), "text").await, (Value::Null, note.into()));

    let head = "--- /dev/null\n+++ b/a\n@@ -0,0 +1,4000 @@\n";
    let (shown, left_out) = diff("a", None, &"123456\n".repeat(4000)).await;
    let fits = (16 * 1024 - head.len()) / 8;
    assert_eq!(shown, format!("{head}{}", "+123456\n".repeat(fits)));
    assert_eq!(left_out, format!("{} lines of the diff left out.", 4000 - fits));

    let (shown, left_out) = diff("a", None, &"x".repeat(17_000)).await;
    assert_eq!(
        (shown, left_out),
        ("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n".into(), "1 line of the diff left out.".into())
    );
}

#[tokio::test]
async fn a_change_across_very_many_lines_is_one_removal_and_one_addition() {
    let around = |middle: &str, count| {
        (format!("a\n{}z\n", middle.repeat(count)), format!("A\n{}Z\n", middle.repeat(count)))
    };
    let (before, after) = around("m\n", 90_000);
    let small = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+A\n m\n m\n m\n\
                 @@ -89999,4 +89999,4 @@\n m\n m\n m\n-z\n+Z\n";
    assert_eq!(diff("f", Some(before.as_bytes()), &after).await, (small.into(), Value::Null));

    let (before, after) = around("m\n", 110_000);
    let head = "--- a/f\n+++ b/f\n@@ -1,110002 +1,110002 @@\n-a\n";
    let fits = (16 * 1024 - head.len()) / 3;
    let note = format!("{} lines of the diff left out.", 2 * 110_002 - 1 - fits);
    let shown = format!("{head}{}", "-m\n".repeat(fits));
    assert_eq!(diff("f", Some(before.as_bytes()), &after).await, (shown.into(), note.into()));
}

/// What the edits should give, in the simplest words.
fn naively(before: &str, edits: &[(String, String, bool)]) -> Option<String> {
    edits.iter().try_fold(before.to_owned(), |text, (old, new, everywhere)| {
        let starts = text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count();
        let fits = !old.is_empty() && old != new && (starts == 1 || *everywhere && starts > 0);
        fits.then(|| text.replace(old, new))
    })
}

/// Applies a whole unified diff to a text.
fn patched(before: &str, diff: &str) -> String {
    let old = before.split_inclusive('\n').collect::<Vec<_>>();
    let (mut next, mut after) = (0, String::new());
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(ranges) = line.strip_prefix("@@ -") {
            let range = ranges.split(' ').next().unwrap();
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            let start = start.parse::<usize>().unwrap() - usize::from(count != "0");
            after.extend(old[next..start].iter().copied());
            next = start;
            continue;
        }
        let unfinished = lines.next_if(|line| line.starts_with('\\')).is_some();
        let text = if unfinished { &line[1..line.len() - 1] } else { &line[1..] };
        if !line.starts_with('+') {
            assert_eq!(text, old[next], "{diff}");
            next += 1;
        }
        if !line.starts_with('-') {
            after.push_str(text);
        }
    }
    after.extend(old[next..].iter().copied());
    after
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn edits_do_what_replacing_in_strings_does(
        before in "[abé\n]{0,12}",
        edits in prop::collection::vec(("[abé\n]{0,2}", "[abé\n]{0,2}", any::<bool>()), 1..4),
    ) {
        let list = edits.iter().map(|(old, new, everywhere)| {
            json!({ "old_text": old, "new_text": new, "replace_all": everywhere })
        }).collect::<Value>();
        let wanted = naively(&before, &edits);
        prop_assert_eq!(run(edited(&before, list.clone())).ok(), wanted.clone());

        // With CR LF it is the same, apart from the CR.
        if before.contains('\n') {
            let crlf = |text: String| text.replace('\n', "\r\n");
            prop_assert_eq!(run(edited(&crlf(before), list)).ok(), wanted.map(crlf));
        }
    }

    #[test]
    fn a_diff_leads_from_before_to_after(
        before in "([abc]{0,1}\r?\n){0,30}[ab]{0,1}",
        after in "([abc]{0,1}\r?\n){0,30}[ab]{0,1}",
    ) {
        let (shown, note) = run(diff("f", Some(before.as_bytes()), &after));
        prop_assert_eq!(note, Value::Null);
        prop_assert_eq!(patched(&before, shown.as_str().unwrap()), after);
    }
}
