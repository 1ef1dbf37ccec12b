//! The stash before a command: what is listed, what is left out, and what is handed over to be kept.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use harn_core::hash::Sha256Hash;
use harn_core::run::{Change, Node};
use harn_engine::tools::{Keep, ToolFailure, stash};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::kit::{Blobs, Workspace};

const MIB: usize = 1024 * 1024;

/// Keeps content, and notes how much came at once.
#[derive(Default)]
struct Watched {
    blobs: Blobs,
    batches: parking_lot::Mutex<Vec<Vec<usize>>>,
    is_broken: AtomicBool,
}

#[async_trait::async_trait]
impl Keep for Watched {
    async fn keep(&self, blobs: Vec<Bytes>) -> Result<(), ToolFailure> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(ToolFailure::new("The disk is full."));
        }
        self.batches.lock().push(blobs.iter().map(Bytes::len).collect());
        self.blobs.keep(blobs).await
    }
}

fn watched() -> (Workspace, Arc<Watched>) {
    let mut workspace = Workspace::new();
    let watched = Arc::new(Watched::default());
    workspace.ctx.keep = watched.clone();
    (workspace, watched)
}

async fn listing(workspace: &Workspace) -> (stash::Taken, BTreeMap<String, Node>) {
    let stash = stash::take(&workspace.ctx).await.unwrap();
    let blob = workspace.blobs.get(&stash.listing).unwrap();
    (stash, serde_json::from_slice(&blob).unwrap())
}

fn file(content: &str, mode: u32) -> Node {
    Node::File { hash: Sha256Hash::of(content.as_bytes()).prefixed(), mode, size: content.len() as u64 }
}

fn paths(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

#[tokio::test]
async fn everything_that_is_not_ignored_is_listed_and_kept() {
    let workspace = Workspace::new();
    let put = [
        (".gitignore", "*.log\nbuild/\n/top\n!keep.log\n"),
        (".ignore", "private\n"),
        (".env", "hidden"),
        ("a.log", "ignored"),
        ("keep.log", "wanted all the same"),
        ("private", "ignored"),
        ("build/x", "ignored"),
        ("top", "ignored"),
        ("sub/top", "not at the top"),
        ("sub/.gitignore", "!b.log\n*.tmp\n.gitignore\n"),
        ("sub/b.log", "wanted"),
        ("sub/c.tmp", "ignored"),
        ("sub/.git/config", "never"),
        ("sub/.harn/state", "never"),
        (".git/HEAD", "never"),
        (".harn/state", "never"),
    ];
    for (path, content) in put {
        workspace.put(path, content);
        fs::set_permissions(workspace.path(path), Permissions::from_mode(0o640)).unwrap();
    }
    symlink("/etc/passwd", workspace.path("link")).unwrap();
    symlink("sub", workspace.path("link-to-folder")).unwrap();
    fs::set_permissions(workspace.path("sub"), Permissions::from_mode(0o2750)).unwrap();

    let (stash, listed) = listing(&workspace).await;
    let content = BTreeMap::from(put);
    let kept = [".env", ".gitignore", ".ignore", "keep.log", "sub/.gitignore", "sub/b.log", "sub/top"];
    let mut expected: BTreeMap<_, _> =
        kept.iter().map(|path| (path.to_string(), file(content[path], 0o640))).collect();
    expected.insert("link".into(), Node::Symlink { target: "/etc/passwd".into() });
    expected.insert("link-to-folder".into(), Node::Symlink { target: "sub".into() });
    expected.insert("sub".into(), Node::Folder { mode: 0o2750 });
    assert_eq!(listed, expected);
    assert_eq!((stash.entries, stash.stash.left_out), (expected.len() as u64, vec![]));
    for path in kept {
        let hash = Sha256Hash::of(content[path].as_bytes()).prefixed();
        assert_eq!(workspace.blobs.get(&hash).as_deref(), Some(content[path].as_bytes()), "{path}");
    }
    assert!(workspace.blobs.get(&Sha256Hash::of(b"ignored").prefixed()).is_none());
}

#[tokio::test]
async fn what_cannot_be_kept_is_told() {
    let workspace = Workspace::new();
    for name in ["large-1", "large-2"] {
        File::create(workspace.path(name)).unwrap().set_len(8 * MIB as u64 + 1).unwrap();
    }
    mkfifo(&workspace.path("pipe"), Mode::S_IRWXU).unwrap();
    fs::write(workspace.root().join(OsStr::from_bytes(b"bad-\xff")), "x").unwrap();
    symlink(OsStr::from_bytes(b"to-\xff"), workspace.path("strange")).unwrap();
    let (stash, listed) = listing(&workspace).await;
    let left_out = [
        "2 files larger than 8 MiB, the first is `large-1`.",
        "1 pipe, socket or device: `pipe`.",
        "1 entry whose name is not UTF-8, in `.`.",
        "1 link whose target is not UTF-8: `strange`.",
    ];
    assert_eq!(stash.left_out, left_out);
    let whys = listed.iter().map(|(path, node)| match node {
        Node::NotKept { why, .. } => (path.as_str(), why.as_str()),
        other => panic!("{path} is kept: {other:?}"),
    });
    let expected = [
        ("large-1", "it is larger than 8 MiB"),
        ("large-2", "it is larger than 8 MiB"),
        ("pipe", "it is a pipe, socket or device"),
        ("strange", "its target is not UTF-8"),
    ];
    assert_eq!(whys.collect::<Vec<_>>(), expected);

    // They are seen to change all the same.
    File::options().append(true).open(workspace.path("large-2")).unwrap().set_len(9 * MIB as u64).unwrap();
    fs::remove_file(workspace.path("pipe")).unwrap();
    assert_eq!(paths(&stash::changes(&workspace.ctx, &stash).await), ["large-2", "pipe"]);
}

#[tokio::test]
async fn content_goes_to_be_kept_in_portions() {
    let (workspace, watched) = watched();
    for number in 0..3 {
        workspace.put(&format!("a{number}"), number.to_string().repeat(3 * MIB));
    }
    workspace.put("whole", "x".repeat(8 * MIB));
    let stash = stash::take(&workspace.ctx).await.unwrap();
    let listing = watched.blobs.get(&stash.listing).unwrap().len();
    let (three, eight) = (3 * MIB, 8 * MIB);
    let batches = [vec![three, three], vec![three], vec![eight], vec![listing]];
    assert_eq!(*watched.batches.lock(), batches);
}

#[tokio::test]
#[ignore = "takes long: reads 256 MiB"]
async fn beyond_the_total_nothing_is_kept() {
    let workspace = Workspace::new();
    for number in 0..34 {
        File::create(workspace.path(&format!("b{number:02}"))).unwrap().set_len(8 * MIB as u64).unwrap();
    }
    workspace.put("small", "");
    let (stash, listed) = listing(&workspace).await;
    assert_eq!(stash.left_out, ["2 files beyond 256 MiB in all, the first is `b32`."]);
    let kept = listed.values().filter(|node| matches!(node, Node::File { .. })).count();
    assert_eq!((stash.entries, kept), (35, 33));
}

#[tokio::test]
async fn content_that_could_not_be_kept_is_handed_over_again() {
    let (workspace, watched) = watched();
    workspace.put("file", "content");
    watched.is_broken.store(true, Ordering::Relaxed);
    let failure = stash::take(&workspace.ctx).await.unwrap_err();
    assert_eq!(failure, ToolFailure::new("The disk is full."));
    watched.is_broken.store(false, Ordering::Relaxed);
    stash::take(&workspace.ctx).await.unwrap();
    assert!(watched.blobs.get(&Sha256Hash::of(b"content").prefixed()).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stashes_of_one_root_at_once_agree() {
    let workspace = Workspace::new();
    for number in 0..200 {
        workspace.put(&format!("{}/{number}", number % 7), number.to_string());
    }
    let taking = (0..8).map(|_| {
        let ctx = workspace.ctx.clone();
        tokio::spawn(async move { stash::take(&ctx).await.unwrap() })
    });
    let stashes = futures::future::try_join_all(taking.collect::<Vec<_>>()).await.unwrap();
    assert!(stashes.iter().all(|stash| *stash == stashes[0]));
    workspace.put("3/3", "changed");
    let change =
        Change { path: "3/3".into(), before: Some(file("3", 0o644)), after: Some(file("changed", 0o644)) };
    for stash in &stashes {
        assert_eq!(stash::changes(&workspace.ctx, stash).await, std::slice::from_ref(&change));
    }
}

#[tokio::test]
async fn a_stash_fails_only_when_there_is_no_root_or_nobody_waits() {
    let gone = Workspace::new();
    let stash = stash::take(&gone.ctx).await.unwrap();
    fs::remove_dir(gone.root()).unwrap();
    let message = stash::take(&gone.ctx).await.unwrap_err().message;
    assert!(message.ends_with("Check that it exists and is a folder."), "{message}");
    assert_eq!(stash::changes(&gone.ctx, &stash).await, []);

    let mut without = Workspace::new();
    without.ctx.root = None;
    let failure = stash::take(&without.ctx).await.unwrap_err();
    let message = "This workspace has no files, so commands cannot be run in it. Go on without them.";
    assert_eq!(failure, ToolFailure::new(message));
    assert_eq!(stash::changes(&without.ctx, &stash).await, []);

    let cancelled = Workspace::new();
    cancelled.ctx.cancel.cancel();
    let failure = stash::take(&cancelled.ctx).await.unwrap_err();
    let message = "The call was stopped before the workspace was kept for undo; nothing was done.";
    assert_eq!(failure, ToolFailure::new(message));
}

#[tokio::test]
async fn of_too_many_changes_those_to_what_was_there_are_told() {
    let workspace = Workspace::new();
    workspace.put("z", "there before");
    let stash = stash::take(&workspace.ctx).await.unwrap();
    fs::remove_file(workspace.path("z")).unwrap();
    for number in 0..10_001 {
        File::create(workspace.path(&format!("new{number:05}"))).unwrap();
    }
    let changes = stash::changes(&workspace.ctx, &stash).await;
    assert_eq!(changes.len(), 10_000);
    let last = Change { path: "z".into(), before: Some(file("there before", 0o644)), after: None };
    assert_eq!(changes.last(), Some(&last));
}

#[tokio::test]
async fn a_file_that_is_ignored_now_does_not_pass_for_deleted() {
    let workspace = Workspace::new();
    workspace.put("a", "a");
    workspace.put("b", "b");
    let stash = stash::take(&workspace.ctx).await.unwrap();
    workspace.put(".gitignore", "*\n");
    workspace.put("b", "B");
    workspace.put("new", "ignored from the start");
    assert_eq!(paths(&stash::changes(&workspace.ctx, &stash).await), [".gitignore", "b"]);
}

#[tokio::test]
async fn folders_that_cannot_be_looked_into_are_told() {
    let workspace = Workspace::new();
    let deep = vec!["d"; 130].join("/");
    workspace.put(&format!("{deep}/file"), "");
    let (stash, listed) = listing(&workspace).await;
    let deepest = vec!["d"; 129].join("/");
    assert_eq!(stash.left_out, [format!("1 entry that could not be read: `{deepest}`.")]);
    let last = listed.last_key_value().unwrap();
    assert_eq!(last.0, &deepest);
    assert!(matches!(last.1, Node::NotKept { why, .. } if why == "it is nested too deeply"), "{last:?}");
}

#[tokio::test]
async fn what_was_in_a_closed_folder_is_not_taken_for_new() {
    if nix::unistd::geteuid().is_root() {
        return; // No folder is closed to root.
    }
    let workspace = Workspace::new();
    workspace.put("closed/file", "");
    let chmod = |mode| fs::set_permissions(workspace.path("closed"), Permissions::from_mode(mode)).unwrap();
    chmod(0o000);
    let (stash, _) = listing(&workspace).await;
    assert_eq!(stash.left_out, ["1 entry that could not be read: `closed`."]);
    chmod(0o755);
    let changes = stash::changes(&workspace.ctx, &stash).await;
    assert_eq!(paths(&changes), ["closed", "closed/file"]);
    let why = "`closed` could not be looked into, so it may have been there before";
    let before = Node::NotKept { why: why.into(), mode: 0, size: 0, modified_ns: 0 };
    assert_eq!(changes[1].before, Some(before));
}

#[tokio::test]
#[ignore = "takes long: makes 100,001 files"]
async fn beyond_the_most_entries_nothing_new_is_certain() {
    let workspace = Workspace::new();
    for number in 0..100_001 {
        File::create(workspace.path(&format!("f{number:06}"))).unwrap();
    }
    let stash = stash::take(&workspace.ctx).await.unwrap();
    assert_eq!(stash.entries, 100_000);
    assert_eq!(stash.left_out, ["Everything after 100,000 entries, from `f100000` on."]);
    let changes = stash::changes(&workspace.ctx, &stash).await;
    assert_eq!(paths(&changes), ["f100000"]);
    assert!(matches!(&changes[0].before, Some(Node::NotKept { .. })), "{changes:?}");
}

/// `cargo test -p harn-engine --test tools ten_thousand -- --ignored --nocapture`
#[tokio::test]
#[ignore = "a measurement"]
async fn ten_thousand_files_are_stashed_in() {
    let workspace = Workspace::new();
    for number in 0..10_000 {
        workspace
            .put(&format!("{}/{}/{number}", number % 10, number % 100), format!("{number} ").repeat(100));
    }
    // Files that were written just before are read again, so let them settle.
    tokio::time::sleep(Duration::from_millis(2100)).await;
    for which in ["first", "second"] {
        let start = Instant::now();
        let stash = stash::take(&workspace.ctx).await.unwrap();
        println!("the {which} stash of {} entries took {:?}", stash.entries, start.elapsed());
        let start = Instant::now();
        assert_eq!(stash::changes(&workspace.ctx, &stash).await, []);
        println!("comparing took {:?}", start.elapsed());
    }
}
