//! Reading, listing and writing, and what happens when the file changes meanwhile.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use harn_core::hash::Sha256Hash;
use harn_core::run::WritePlan;
use harn_engine::tools::Reconciled;
use serde_json::{Value, json};

use crate::kit::{Workspace, get};

fn hash(text: &str) -> String {
    Sha256Hash::of(text.as_bytes()).prefixed()
}

#[tokio::test]
async fn reading_shows_lines_and_says_what_was_cut() {
    let workspace = Workspace::new();
    workspace.put("a.txt", "one\ntwo\nthree\n");
    let cases = [
        (json!({ "path": "./a.txt" }), json!({ "path": "a.txt", "content": "one\ntwo\nthree\n" })),
        (
            json!({ "path": "a.txt", "offset": 2, "limit": 1 }),
            json!({
                "path": "a.txt",
                "content": "two\n",
                "truncated": "Shown are lines 2 to 2 of a file of 14 bytes. Continue with offset 3.",
            }),
        ),
        (
            json!({ "path": "a.txt", "offset": 2, "line_numbers": true }),
            json!({ "path": "a.txt", "content": "     2\ttwo\n     3\tthree\n" }),
        ),
    ];
    for (args, output) in cases {
        assert_eq!(workspace.call("read_file", args).await, Ok(output));
    }
}

#[tokio::test]
async fn a_large_file_is_shown_up_to_the_limit() {
    let workspace = Workspace::new();
    workspace.put("lines", "0123456789abcde\n".repeat(100_000));
    let shown = workspace.call("read_file", json!({ "path": "lines" })).await.unwrap();
    assert_eq!(shown["content"].as_str().unwrap().len(), 1024 * 1024);
    assert_eq!(
        shown["truncated"],
        "Shown are lines 1 to 65536 of a file of 1600000 bytes. Continue with offset 65537."
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_explained() {
    let workspace = Workspace::new();
    workspace.put("binary", [0xff, 0xfe]);
    workspace.put("short", "one\n");
    fs::create_dir(workspace.path("folder")).unwrap();
    let cases = [
        (json!({ "path": "absent" }), "`absent` does not exist. List its folder to see what is there."),
        (json!({ "path": "folder" }), "`folder` is a folder, not a file. Choose another path."),
        (json!({ "path": "short/x" }), "`short` is a file, not a folder. Choose another path."),
        (
            json!({ "path": "binary" }),
            "`binary` is not UTF-8 text, and other content cannot be shown or edited.",
        ),
        (
            json!({ "path": "short", "offset": 9 }),
            "`short` has only 1 lines, so nothing starts at line 9. Use a smaller offset.",
        ),
    ];
    for (args, message) in cases {
        assert_eq!(workspace.call("read_file", args).await, Err(message.to_owned()));
    }
}

#[tokio::test]
async fn a_listing_is_sorted_and_hides_the_harness() {
    let workspace = Workspace::new();
    workspace.put("b.txt", "12345");
    workspace.put("a/.harn/x", "");
    workspace.put(".harn/log", "");
    symlink("b.txt", workspace.path("c")).unwrap();
    let root = json!({ "path": ".", "entries": [
        { "name": "a", "kind": "directory", "size": 0 },
        { "name": "b.txt", "kind": "file", "size": 5 },
        { "name": "c", "kind": "symlink", "size": 0 },
    ] });
    let below = json!({ "path": "a", "entries": [] });
    assert_eq!(workspace.call("list_dir", json!({})).await, Ok(root));
    assert_eq!(workspace.call("list_dir", json!({ "path": "a/" })).await, Ok(below));
}

#[tokio::test]
async fn a_long_listing_is_cut_and_says_so() {
    let workspace = Workspace::new();
    for n in 0..1005 {
        workspace.put(&format!("f{n:04}"), "");
    }
    let listing = workspace.call("list_dir", json!({ "path": "." })).await.unwrap();
    assert_eq!(listing["entries"].as_array().unwrap().len(), 1000);
    assert_eq!(listing["entries"][999]["name"], "f0999");
    assert_eq!(listing["truncated"], "Shown are the first 1000 of 1005 entries.");
}

#[tokio::test]
async fn writing_plans_first_and_then_does_what_was_planned() {
    let workspace = Workspace::new();
    let args = json!({ "path": "new/./deep/a.txt", "content": "first" });
    let write = workspace.planned("write_file", args).await;
    let plan = WritePlan {
        path: "new/deep/a.txt".into(),
        before: None,
        after: hash("first"),
        mode: None,
        new_folders: vec!["new".into(), "new/deep".into()],
    };
    assert_eq!((&write.plan, &write.pre_image), (&plan, &None));
    assert!(workspace.names(".").is_empty(), "planning changes nothing");

    let output = workspace.perform("write_file", write).await;
    let wanted = json!({
        "path": "new/deep/a.txt", "bytes": 5, "before_sha256": null, "after_sha256": hash("first"),
        "diff": "--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1 @@\n+first\n\\ No newline at end of file\n",
    });
    assert_eq!(output, Ok(wanted));
    assert_eq!(workspace.text("new/deep/a.txt"), "first");

    let again = workspace.planned("write_file", json!({ "path": "new/deep/a.txt", "content": "2nd" })).await;
    assert_eq!(again.plan.before, Some(hash("first")));
    assert_eq!(again.pre_image.as_deref(), Some("first".as_bytes()));
    workspace.perform("write_file", again).await.unwrap();
    assert_eq!(workspace.text("new/deep/a.txt"), "2nd");
    assert_eq!(workspace.names("new/deep"), ["a.txt"], "no temporary file is left");
}

#[tokio::test]
async fn the_mode_of_a_file_stays() {
    let workspace = Workspace::new();
    for mode in [0o600, 0o755, 0o444] {
        workspace.put("script", "old");
        fs::set_permissions(workspace.path("script"), fs::Permissions::from_mode(mode)).unwrap();
        workspace.call("write_file", json!({ "path": "script", "content": "new" })).await.unwrap();
        let kept = fs::metadata(workspace.path("script")).unwrap().permissions().mode() & 0o777;
        assert_eq!((kept, workspace.text("script")), (mode, "new".to_owned()));
        fs::remove_file(workspace.path("script")).unwrap();
    }
}

#[tokio::test]
async fn content_and_pre_image_have_a_limit() {
    let workspace = Workspace::new();
    let huge = "x".repeat(8 * 1024 * 1024 + 1);
    let message = workspace.call("write_file", json!({ "path": "a", "content": huge })).await.unwrap_err();
    assert_eq!(message, "`a` has more than 8388608 bytes, which is the limit.");
    workspace.put("b", &huge);
    let message = workspace.call("write_file", json!({ "path": "b", "content": "" })).await.unwrap_err();
    assert_eq!(message, "`b` has more than 8388608 bytes, which is the limit.");
    assert_eq!(workspace.names("."), ["b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_a_file_as_before_or_as_after() {
    let workspace = Workspace::new();
    let versions = ["a".repeat(300_000), "b".repeat(300_000)];
    workspace.put("file", &versions[0]);
    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (path, stop, versions) = (workspace.path("file"), stop.clone(), versions.clone());
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let seen = fs::read_to_string(&path).unwrap();
                assert!(versions.contains(&seen), "half a file of {} bytes", seen.len());
            }
        })
    };
    for content in versions.iter().cycle().take(40) {
        workspace.call("write_file", json!({ "path": "file", "content": content })).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

#[tokio::test]
async fn a_file_that_changed_after_planning_is_left_alone() {
    type Change = fn(&Workspace);
    let cases: [(&str, Change, Option<&str>); 5] = [
        ("old", |workspace| workspace.put("dir/file", "theirs"), Some("theirs")),
        ("old", |workspace| fs::remove_file(workspace.path("dir/file")).unwrap(), None),
        ("old", |workspace| fs::remove_dir_all(workspace.path("dir")).unwrap(), None),
        ("", |workspace| workspace.put("dir/file", "theirs"), Some("theirs")),
        (
            "old",
            |workspace| {
                fs::rename(workspace.path("dir"), workspace.path("other")).unwrap();
                symlink("other", workspace.path("dir")).unwrap();
            },
            Some("old"),
        ),
    ];
    for (n, (before, change, after)) in cases.into_iter().enumerate() {
        let workspace = Workspace::new();
        if !before.is_empty() {
            workspace.put("dir/file", before);
        }
        let write = workspace.planned("write_file", json!({ "path": "dir/file", "content": "ours" })).await;
        change(&workspace);
        let message = workspace.perform("write_file", write).await.unwrap_err();
        let words = "`dir/file` has changed since the write was planned; nothing was written. Read it again and retry.";
        assert_eq!(message, words, "case {n}");
        assert_eq!(fs::read_to_string(workspace.path("dir/file")).ok().as_deref(), after, "case {n}");
        let left = after.map_or(vec![], |_| vec!["file".to_owned()]);
        if workspace.path("dir").exists() {
            assert_eq!(workspace.names("dir"), left, "case {n}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_writes_planned_on_the_same_content_one_wins() {
    let workspace = Workspace::new();
    for round in 0..20 {
        workspace.put("file", format!("{round}"));
        let edit = |new: &str| json!({ "path": "file", "content": new });
        let (first, second) = (
            workspace.planned("write_file", edit("a")).await,
            workspace.planned("write_file", edit("b")).await,
        );
        let (first, second) =
            tokio::join!(workspace.perform("write_file", first), workspace.perform("write_file", second));
        assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
        assert_eq!(workspace.text("file"), if first.is_ok() { "a" } else { "b" });
    }
}

#[tokio::test]
async fn after_a_crash_the_file_itself_says_what_happened() {
    let workspace = Workspace::new();
    for (tool, args) in [
        ("write_file", json!({ "path": "new/file", "content": "after" })),
        ("write_file", json!({ "path": "file", "content": "after" })),
        ("edit_file", json!({ "path": "file", "old_text": "before", "new_text": "after" })),
    ] {
        workspace.put("file", "before");
        let write = workspace.planned(tool, args).await;
        let plan = write.plan.clone();
        assert_eq!(get(tool).reconcile(&workspace.ctx, &plan).await, Reconciled::NotDone);

        let mut output = workspace.perform(tool, write).await.unwrap();
        if plan.before.is_some() {
            output["diff"] = Value::Null;
            output["diff_note"] = "The write was found done after a restart, so there is no diff.".into();
        }
        assert_eq!(get(tool).reconcile(&workspace.ctx, &plan).await, Reconciled::Done(output));

        workspace.put(&plan.path, "something else");
        assert_eq!(get(tool).reconcile(&workspace.ctx, &plan).await, Reconciled::Unknown);
        fs::remove_file(workspace.path(&plan.path)).unwrap();
        fs::create_dir(workspace.path(&plan.path)).unwrap();
        assert_eq!(get(tool).reconcile(&workspace.ctx, &plan).await, Reconciled::Unknown);
        fs::remove_dir(workspace.path(&plan.path)).unwrap();
    }
    let plan =
        WritePlan { path: "file".into(), before: None, after: hash(""), mode: None, new_folders: vec![] };
    assert_eq!(get("run_command").reconcile(&workspace.ctx, &plan).await, Reconciled::Unknown);
}
