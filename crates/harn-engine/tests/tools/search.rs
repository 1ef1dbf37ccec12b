//! Finding files by name and lines by text: what is found, what is never looked at, and where a search ends.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use crate::kit::Workspace;

/// A workspace with these files; each has its own path and the word `needle` in it.
fn with(files: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    for file in files {
        workspace.put(file, format!("{file}\nneedle\n"));
    }
    workspace
}

async fn files(workspace: &Workspace, args: Value) -> Value {
    workspace.call("glob", args).await.unwrap()["files"].take()
}

async fn files_with_needle(workspace: &Workspace, mut args: Value) -> Value {
    args["pattern"] = "needle".into();
    args["files_only"] = true.into();
    workspace.call("grep", args).await.unwrap()["files"].take()
}

fn line(path: &str, line: u64, text: &str) -> Value {
    json!({ "path": path, "line": line, "text": text })
}

fn context(path: &str, number: u64, text: &str) -> Value {
    let mut line = line(path, number, text);
    line["context"] = true.into();
    line
}

#[tokio::test]
async fn globs_are_about_paths_below_the_folder() {
    let workspace = with(&["a.rs", "b.txt", "src/a.rs", "src/deep/a.rs", "src/deep/ü b.rs", "src.rs"]);
    let cases = [
        (json!({ "pattern": "*.rs" }), json!(["a.rs", "src.rs"])),
        (
            json!({ "pattern": "**/*.rs" }),
            json!(["a.rs", "src/a.rs", "src/deep/a.rs", "src/deep/ü b.rs", "src.rs"]),
        ),
        (json!({ "pattern": "./src/*" }), json!(["src/a.rs"])),
        (json!({ "pattern": "*.rs", "path": "src/deep" }), json!(["src/deep/a.rs", "src/deep/ü b.rs"])),
        (json!({ "pattern": "deep/ü*", "path": "src" }), json!(["src/deep/ü b.rs"])),
        (json!({ "pattern": "{a,b}.*" }), json!(["a.rs", "b.txt"])),
        (json!({ "pattern": "[!a].txt" }), json!(["b.txt"])),
        (json!({ "pattern": "src" }), json!([])),
        (json!({ "pattern": "../**" }), json!([])),
    ];
    for (args, wanted) in cases {
        assert_eq!(files(&workspace, args.clone()).await, wanted, "{args}");
    }
}

#[tokio::test]
async fn ignore_files_and_dots_hide_and_git_and_harn_are_never_seen() {
    let workspace = with(&[
        ".dot/x",
        ".git/x",
        ".harn/x",
        "a.log",
        "keep.log",
        "sub/.git/x",
        "sub/.harn/x",
        "sub/a.log",
        "sub/b.log",
        "sub/top",
        "target/x",
        "tmp/x",
        "top",
        "z",
    ]);
    workspace.put(".gitignore", "\u{feff}target/\n*.log\n!keep.log\n/top\n# z\n[\n");
    workspace.put(".ignore", "tmp\n");
    workspace.put("sub/.gitignore", "!b.log\n");
    let cases = [
        (json!({}), json!(["keep.log", "sub/a.log", "sub/b.log", "sub/top", "z"])),
        (json!({ "path": "sub" }), json!(["sub/a.log", "sub/b.log", "sub/top"])),
        (
            json!({ "hidden": true }),
            json!([
                ".dot/x",
                ".gitignore",
                ".ignore",
                "keep.log",
                "sub/.gitignore",
                "sub/a.log",
                "sub/b.log",
                "sub/top",
                "z",
            ]),
        ),
        // What is asked for by name is searched, even if it is ignored or hidden.
        (json!({ "path": "target" }), json!(["target/x"])),
        (json!({ "path": ".dot" }), json!([".dot/x"])),
    ];
    for (mut args, wanted) in cases {
        let without_rules = Value::from_iter(
            wanted
                .as_array()
                .unwrap()
                .iter()
                .filter(|path| !path.as_str().unwrap().ends_with("ignore"))
                .cloned(),
        );
        assert_eq!(files_with_needle(&workspace, args.clone()).await, without_rules, "{args}");
        args["pattern"] = "**".into();
        assert_eq!(files(&workspace, args.clone()).await, wanted, "{args}");
    }

    // `sub` was a repository of its own; without that, the rules around it count.
    fs::remove_dir_all(workspace.path("sub/.git")).unwrap();
    let within = json!({ "pattern": "**", "path": "sub" });
    assert_eq!(files(&workspace, within).await, json!(["sub/b.log", "sub/top"]));
}

#[tokio::test]
async fn links_are_seen_but_not_followed() {
    let workspace = with(&["real/file"]);
    fs::create_dir(workspace.outside("out")).unwrap();
    fs::write(workspace.outside("out/secret"), "needle").unwrap();
    symlink("/etc", workspace.path("etc")).unwrap();
    symlink(workspace.outside("out"), workspace.path("out")).unwrap();
    symlink(workspace.outside("out/secret"), workspace.path("secret")).unwrap();
    symlink("real", workspace.path("inside")).unwrap();
    symlink("..", workspace.path("real/round")).unwrap();

    let found = files(&workspace, json!({ "pattern": "**" })).await;
    assert_eq!(found, json!(["etc", "inside", "out", "real/file", "real/round", "secret"]));
    let found = workspace.call("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(found, Ok(json!({ "path": ".", "lines": [line("real/file", 2, "needle")] })));
    let through = files_with_needle(&workspace, json!({ "path": "inside" })).await;
    assert_eq!(through, json!(["real/file"]), "a link within the workspace is a name for its target");
}

#[tokio::test]
async fn no_search_begins_outside_or_in_closed_places() {
    let workspace = with(&[".git/x", ".harn/x", "sub/.git/x", "file"]);
    symlink("/etc", workspace.path("etc")).unwrap();
    symlink(".git", workspace.path("repository")).unwrap();
    let cases = [
        ("..", "leads out of the workspace"),
        ("sub/../../x", "leads out of the workspace"),
        ("/etc", "it is absolute"),
        ("etc", "leads out of the workspace"),
        (".harn", "is in `.harn`"),
        (".harn/x", "is in `.harn`"),
        (".git", "belongs to git"),
        ("repository", "belongs to git"),
        ("sub/.git", "belongs to git"),
        ("absent", "does not exist"),
        ("", "it is empty"),
    ];
    for (path, words) in cases {
        for tool in ["glob", "grep"] {
            let args = json!({ "pattern": "x", "path": path });
            let message = workspace.call(tool, args).await.unwrap_err();
            assert!(message.contains(words), "{tool} {path:?}: {message}");
        }
    }
    let message = workspace.call("glob", json!({ "pattern": "*", "path": "file" })).await.unwrap_err();
    assert_eq!(message, "`file` is a file, not a folder. Choose another path.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_for_a_link_during_a_search_lets_nothing_out() {
    let workspace = Workspace::new();
    workspace.put("dir/file", "needle inside");
    workspace.put(".harn/secret", "needle in secret");
    symlink(".harn", workspace.path("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (dir, link, stop) = (workspace.path("dir"), workspace.path("link"), stop.clone());
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &dir, AT_FDCWD, &link, RenameFlags::RENAME_EXCHANGE).unwrap();
            }
        })
    };
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        let found = workspace.call("grep", json!({ "pattern": "needle" })).await.unwrap();
        let lines = found["lines"].as_array().unwrap().iter();
        seen.extend(lines.map(|line| (line["path"].to_string(), line["text"].to_string())));
        let found = workspace.call("glob", json!({ "pattern": "*/secret" })).await.unwrap();
        assert_eq!(found["files"], json!([]));
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let inside = |path: &str| (format!("\"{path}\""), "\"needle inside\"".to_owned());
    let allowed = BTreeSet::from([inside("dir/file"), inside("link/file")]);
    assert!(!seen.is_empty() && seen.is_subset(&allowed), "{seen:?}");
}

#[tokio::test]
async fn ignore_files_cannot_stop_or_exhaust_a_search() {
    let workspace = with(&["a", "pipe/a", "link/a", "large/a", "deep/a", "deep/b"]);
    mkfifo(&workspace.path("pipe/.gitignore"), Mode::S_IRWXU).unwrap();
    symlink("/dev/zero", workspace.path("link/.gitignore")).unwrap();
    workspace.put("large/.gitignore", "a\n".repeat(40_000));
    workspace.put("deep/.gitignore", format!("{}a{}\nb\n", "{".repeat(30_000), "}".repeat(30_000)));
    workspace.put("deep/.ignore", format!("{}a{}\n", "{".repeat(450), "}".repeat(450)));
    mkfifo(&workspace.path("fifo"), Mode::S_IRWXU).unwrap();
    let wanted = json!({
        "path": ".",
        "files": ["a", "deep/a", "large/a", "link/a", "pipe/a"],
        "skipped": "2 ignore files too large or too complex to be obeyed.",
    });
    assert_eq!(workspace.call("glob", json!({ "pattern": "**/[ab]" })).await, Ok(wanted));
}

#[tokio::test]
async fn a_long_list_of_files_is_cut_and_says_so() {
    let workspace = Workspace::new();
    for n in 0..1005 {
        workspace.put(&format!("f{n:04}"), "needle");
    }
    for (args, shown) in [(json!({}), 200), (json!({ "limit": 1000 }), 1000), (json!({ "limit": 1 }), 1)] {
        let mut args = args;
        args["pattern"] = "*".into();
        let found = workspace.call("glob", args).await.unwrap();
        let wanted = (0..shown).map(|n| format!("f{n:04}")).collect::<Vec<_>>();
        let note = format!("Shown are the first {shown} of 1005 files.");
        assert_eq!(found, json!({ "path": ".", "files": wanted, "truncated": note }));
    }
    let found = workspace.call("grep", json!({ "pattern": "needle", "files_only": true, "limit": 2 })).await;
    let note = "There are more files than the limit of 2. Narrow the pattern, path or glob.";
    assert_eq!(found, Ok(json!({ "path": ".", "files": ["f0000", "f0001"], "truncated": note })));
    let found = workspace.call("grep", json!({ "pattern": "needle", "limit": 1 })).await;
    let note = "There are more matches than the limit of 1. Narrow the pattern, path or glob.";
    assert_eq!(found, Ok(json!({ "path": ".", "lines": [line("f0000", 1, "needle")], "truncated": note })));
}

#[tokio::test]
async fn lines_are_found_by_their_text() {
    let workspace = Workspace::new();
    workspace.put("a.txt", "One (1)\r\ntwo\r\nthree one\r\n");
    workspace.put("b/c.rs", "Ünïcode é\nlast");
    workspace.put("b/latin", b"caf\xe9 one\n");
    let cases = [
        (
            json!({ "pattern": "one" }),
            json!([line("a.txt", 3, "three one"), line("b/latin", 1, "caf\u{fffd} one")]),
        ),
        (json!({ "pattern": "^one", "ignore_case": true }), json!([line("a.txt", 1, "One (1)")])),
        (json!({ "pattern": "two$" }), json!([line("a.txt", 2, "two")])),
        (json!({ "pattern": "(1)", "literal": true }), json!([line("a.txt", 1, "One (1)")])),
        (json!({ "pattern": "ÜNÏ", "ignore_case": true }), json!([line("b/c.rs", 1, "Ünïcode é")])),
        (json!({ "pattern": r"\bé$" }), json!([line("b/c.rs", 1, "Ünïcode é")])),
        (json!({ "pattern": "last", "path": "b/c.rs" }), json!([line("b/c.rs", 2, "last")])),
        (json!({ "pattern": "a", "glob": "*.rs" }), json!([line("b/c.rs", 2, "last")])),
        (json!({ "pattern": "a", "glob": "c.*", "path": "b" }), json!([line("b/c.rs", 2, "last")])),
        (json!({ "pattern": "a", "glob": "b/*.rs" }), json!([line("b/c.rs", 2, "last")])),
        (json!({ "pattern": "a", "glob": "c/*.rs" }), json!([])),
        (json!({ "pattern": "nowhere" }), json!([])),
    ];
    for (args, wanted) in cases {
        let found = workspace.call("grep", args.clone()).await.unwrap();
        assert_eq!(found["lines"], wanted, "{args}");
        assert_eq!(found.as_object().unwrap().len(), 2, "no notes: {found}");
    }
}

#[tokio::test]
async fn lines_around_a_match_are_marked() {
    let workspace = Workspace::new();
    workspace.put("f", "1\n2\nx\n4\nx\n6\n7\n8\n9\nx\n");
    let after = [context("f", 4, "4"), line("f", 5, "x"), context("f", 6, "6")];
    let rest = [context("f", 9, "9"), line("f", 10, "x")];
    let first = [context("f", 2, "2"), line("f", 3, "x")];
    let found = workspace.call("grep", json!({ "pattern": "x", "context": 1 })).await.unwrap();
    let whole = [&first[..], &after[..], &rest[..]].concat();
    assert_eq!(found, json!({ "path": ".", "lines": whole }));
    let found = workspace.call("grep", json!({ "pattern": "x", "context": 1, "limit": 2 })).await.unwrap();
    assert_eq!(
        found["lines"],
        Value::from([&first[..], &after[..]].concat()),
        "nothing from around the third match"
    );
}

#[tokio::test]
async fn what_is_not_searched_is_counted() {
    let workspace = with(&["text"]);
    workspace.put("late.bin", [b"needle\n".repeat(50_000), vec![0]].concat());
    workspace.put("early.bin", b"\0needle");
    workspace.put("long", "needle\n".to_owned() + &"x".repeat(3 * 1024 * 1024) + "needle\n");
    File::create(workspace.path("huge")).unwrap().set_len(16 * 1024 * 1024 + 1).unwrap();
    let wanted = json!({
        "path": ".",
        "lines": [line("long", 1, "needle"), line("text", 2, "needle")],
        "skipped": "2 binary files not searched. 1 file over 16 MiB not searched. \
                    1 file searched only up to a line over 1 MiB.",
    });
    assert_eq!(workspace.call("grep", json!({ "pattern": "needle" })).await, Ok(wanted));
}

#[tokio::test]
async fn long_lines_and_long_answers_are_cut() {
    let workspace = Workspace::new();
    workspace.put("long", "é".repeat(600));
    let found = workspace.call("grep", json!({ "pattern": "é" })).await.unwrap();
    let mut wanted = line("long", 1, &"é".repeat(500));
    wanted["cut"] = true.into();
    assert_eq!(found, json!({ "path": ".", "lines": [wanted] }));

    workspace.put("many", (String::from("y") + &"\u{1}".repeat(400) + "\n").repeat(1000));
    for args in
        [json!({ "pattern": "y", "limit": 1000 }), json!({ "pattern": "y", "context": 10, "limit": 1000 })]
    {
        let found = workspace.call("grep", args).await.unwrap();
        let size = found["lines"].to_string().len();
        assert!((250 * 1024..=256 * 1024 + 2).contains(&size), "{size}");
        let note =
            "There are more results than the 256 KiB that are shown. Narrow the pattern, path or glob.";
        assert_eq!(found["truncated"], note);
    }
}

#[tokio::test]
async fn wrong_patterns_are_explained() {
    let workspace = Workspace::new();
    let cases = [
        ("grep", json!({ "pattern": "a(b" }), "unclosed group"),
        ("grep", json!({ "pattern": "a(b" }), "set `literal` to true"),
        ("grep", json!({ "pattern": "a\nb", "literal": true }), "matched within single lines"),
        ("grep", json!({ "pattern": r"\w{500}{500}" }), "size limit"),
        ("grep", json!({ "pattern": "(".repeat(9000) }), "cannot be searched for"),
        ("grep", json!({ "pattern": "a".repeat(10_001) }), "more than 10000 bytes"),
        ("grep", json!({ "pattern": "" }), "is empty"),
        (
            "grep",
            json!({ "pattern": "a", "glob": "{" }),
            "`{` is not a usable glob: unclosed alternate group",
        ),
        (
            "grep",
            json!({ "pattern": "a", "context": 11 }),
            "must be an integer from 0 to 10, not the number 11",
        ),
        ("grep", json!({ "pattern": "a", "literal": 1 }), "`literal` of grep must be `true` or `false`"),
        ("glob", json!({ "pattern": "[" }), "is not a usable glob: unclosed character class"),
        ("glob", json!({ "pattern": "" }), "it is empty"),
        ("glob", json!({ "pattern": "{".repeat(450) + &"}".repeat(450) }), "is not a usable glob"),
        ("glob", json!({ "pattern": "a".repeat(1001) }), "longer than 1000 bytes"),
        (
            "glob",
            json!({ "pattern": "a", "limit": 1001 }),
            "must be an integer from 1 to 1000, not the number 1001",
        ),
        ("glob", json!({}), "glob needs the argument `pattern`"),
    ];
    for (tool, args, words) in cases {
        let message = workspace.prepare(tool, args).await.unwrap_err();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let workspace = with(&["a"]);
    workspace.ctx.cancel.cancel();
    for tool in ["glob", "grep"] {
        let message = workspace.call(tool, json!({ "pattern": "a" })).await.unwrap_err();
        assert!(message.starts_with("The search was cancelled"), "{message}");
    }
    let in_file = workspace.call("grep", json!({ "pattern": "a", "path": "a" })).await.unwrap_err();
    assert!(in_file.starts_with("The search was cancelled"), "{in_file}");
}

#[tokio::test]
async fn files_that_a_rule_closes_are_not_searched_and_counted() {
    let workspace = Workspace::new();
    workspace.put("vault/key", "needle");
    workspace.put("open/key", "needle");
    let found = workspace.call("grep", json!({ "pattern": "needle" })).await.unwrap();
    assert_eq!(found["lines"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["skipped"], "1 file not searched, because a rule closes them.");
}
