//! Nothing outside of the workspace, and nothing in `.harn`, is ever read or written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::stat::Mode;
use serde_json::json;

use crate::kit::{Workspace, names_in};

const OUT: &str = "leads out of the workspace";
const HARN: &str = "is in `.harn`";

/// A workspace with every kind of way out, and secrets beyond them.
fn with_ways_out() -> Workspace {
    let workspace = Workspace::new();
    fs::create_dir(workspace.outside("out")).unwrap();
    fs::write(workspace.outside("out/secret"), "secret").unwrap();
    workspace.put(".harn/secret", "secret");
    workspace.put("sub/inner/file", "fine");
    let links: [(PathBuf, &str); 9] = [
        (workspace.outside("out"), "absolute"),
        ("../out".into(), "relative"),
        ("../../out".into(), "sub/nested"),
        ("sub/nested".into(), "twice"),
        ("sub/inner/../../../out".into(), "winding"),
        (workspace.outside("out/secret"), "file"),
        (".harn".into(), "state"),
        (workspace.path(".harn"), "absolute-state"),
        ("../.harn/secret".into(), "sub/state-file"),
    ];
    for (target, link) in links {
        symlink(target, workspace.path(link)).unwrap();
    }
    workspace
}

#[tokio::test]
async fn no_path_leads_out_of_the_workspace_or_into_harn() {
    let workspace = with_ways_out();
    let absolute = workspace.outside("out/secret");
    let own_absolute = workspace.path("sub/inner/file");
    let cases = [
        ("../out/secret", OUT),
        ("sub/../../out/secret", OUT),
        ("..", OUT),
        ("../workspace/sub/inner/file", OUT),
        (absolute.to_str().unwrap(), "it is absolute"),
        (own_absolute.to_str().unwrap(), "it is absolute"),
        ("absolute/secret", OUT),
        ("relative/secret", OUT),
        ("sub/nested/secret", OUT),
        ("twice/secret", OUT),
        ("winding/secret", OUT),
        (".harn/secret", HARN),
        ("./.harn/secret", HARN),
        ("sub/../.harn/secret", HARN),
        (".harn/../.harn/secret", HARN),
        (".harn/new/file", HARN),
        ("state/secret", HARN),
        ("absolute-state/secret", HARN),
        ("sub/inner/../../state/secret", HARN),
        ("", "it is empty"),
        ("a\0b", "it contains a NUL character"),
    ];
    for (path, words) in cases {
        let attempts = [
            ("read_file", json!({ "path": path })),
            ("list_dir", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old_text": "secret", "new_text": "x" })),
        ];
        for (tool, args) in attempts {
            let message = workspace.call(tool, args).await.unwrap_err();
            assert!(message.contains(words), "{tool} {path:?}: {message}");
        }
    }
    assert_eq!(fs::read_to_string(absolute).unwrap(), "secret");
    assert_eq!(workspace.text(".harn/secret"), "secret");
    assert_eq!(names_in(&workspace.outside("out")), ["secret"]);
    assert_eq!(workspace.names(".harn"), ["secret"]);
}

#[tokio::test]
async fn a_link_in_the_last_place_is_followed_by_reads_only_and_only_inside() {
    let workspace = with_ways_out();
    symlink("sub/inner/file", workspace.path("link")).unwrap();
    symlink(workspace.path("sub/inner"), workspace.path("folder")).unwrap();

    for path in ["link", "folder/file", "sub/../folder/file", "folder/../inner/file"] {
        let read = workspace.call("read_file", json!({ "path": path })).await;
        assert_eq!(read, Ok(json!({ "path": "sub/inner/file", "content": "fine" })), "{path}");
    }
    for (path, words) in [("file", OUT), ("sub/state-file", HARN)] {
        let message = workspace.call("read_file", json!({ "path": path })).await.unwrap_err();
        assert!(message.contains(words), "{path}: {message}");
    }
    for path in ["link", "file", "sub/state-file"] {
        let message =
            workspace.call("write_file", json!({ "path": path, "content": "x" })).await.unwrap_err();
        assert!(message.contains("is a symbolic link to"), "{path}: {message}");
    }
    assert_eq!(workspace.text("link"), "fine");
    let written =
        workspace.call("write_file", json!({ "path": "folder/file", "content": "new" })).await.unwrap();
    assert_eq!(written["path"], "sub/inner/file");
    assert_eq!(workspace.text("link"), "new");
}

#[tokio::test]
async fn links_in_a_circle_and_endless_paths_end() {
    let workspace = Workspace::new();
    symlink("b", workspace.path("a")).unwrap();
    symlink("a", workspace.path("b")).unwrap();
    let circle = workspace.call("read_file", json!({ "path": "a" })).await.unwrap_err();
    assert!(circle.contains("too many links"), "{circle}");
    let long = workspace.call("read_file", json!({ "path": "a/".repeat(5000) })).await.unwrap_err();
    assert!(long.contains("too long"), "{long}");
}

#[tokio::test]
async fn pipes_and_devices_are_refused_without_waiting() {
    let workspace = Workspace::new();
    nix::unistd::mkfifo(&workspace.path("fifo"), Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(workspace.path("socket")).unwrap();
    for path in ["fifo", "socket"] {
        for (tool, args) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old_text": "a", "new_text": "b" })),
        ] {
            let message = workspace.call(tool, args).await.unwrap_err();
            assert!(message.contains("is a pipe, socket or device, not a file"), "{tool} {path}: {message}");
        }
    }
}

/// Swaps `dir` and a link to the outside, over and over, until told to stop. Each swap is one step.
fn swap(workspace: &Workspace, stop: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let (dir, aside) = (workspace.path("dir"), workspace.path("aside"));
    symlink(workspace.outside("out"), &aside).unwrap();
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            renameat2(AT_FDCWD, &dir, AT_FDCWD, &aside, RenameFlags::RENAME_EXCHANGE).unwrap();
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_for_a_link_while_it_is_used_lets_nothing_out() {
    let workspace = with_ways_out();
    workspace.put("dir/secret", "inside");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = swap(&workspace, stop.clone());

    let (mut done, mut refused) = (0, 0);
    let deadline = Instant::now() + Duration::from_secs(30);
    while (done < 100 || refused < 100) && Instant::now() < deadline {
        let args = json!({ "path": "dir/new/file", "content": done.to_string() });
        match workspace.call("write_file", args).await {
            Ok(_) => done += 1,
            Err(_) => refused += 1,
        }
        if let Ok(read) = workspace.call("read_file", json!({ "path": "dir/secret" })).await {
            assert_eq!(read["content"], "inside");
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();

    assert!(done >= 100 && refused >= 100, "the race did not happen: {done} done, {refused} refused");
    assert_eq!(names_in(&workspace.outside("out")), ["secret"]);
    assert_eq!(fs::read_to_string(workspace.outside("out/secret")).unwrap(), "secret");
}
