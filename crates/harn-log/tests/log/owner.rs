//! One owner per data directory, by lock and by epoch.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use harn_log::owner::{OwnerLock, OwnerNote, current_owner};
use harn_log::sqlite::Options;
use harn_log::{Log, LogError, Result, write};

use crate::support::{all_rows, append, event, open, open_with};

#[tokio::test]
async fn an_owner_that_was_taken_over_may_not_write_any_more() {
    let data = tempfile::tempdir().unwrap();
    let fatal = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&fatal);
    let hook: harn_log::sqlite::FatalHook = Arc::new(move |_| {
        told.fetch_add(1, Ordering::SeqCst);
    });
    let old = open_with(data.path(), Options { fatal: Some(hook), ..Options::default() });
    append(&old, vec![event("old", 1)]).await.unwrap();

    let new = open(data.path());

    assert_eq!(append(&old, vec![event("old", 2)]).await, Err(LogError::Stale { ours: 1, found: 2 }));
    let later = append(&old, vec![event("old", 3)]).await;
    assert!(matches!(later, Err(LogError::Stopped(_))), "{later:?}");
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
    assert_eq!(append(&new, vec![event("new", 1)]).await.unwrap()[0].id, 2);
    assert_eq!(all_rows(&old).await, all_rows(&new).await);
}

#[tokio::test]
async fn every_opening_has_a_higher_epoch() {
    let data = tempfile::tempdir().unwrap();
    for expected in 1..4 {
        let log = open(data.path());
        let epoch: Result<u64> = write(&*log, |txn| Ok(txn.epoch())).await;
        assert_eq!(epoch, Ok(expected));
    }
}

#[test]
fn a_second_owner_is_refused_and_told_who_the_first_is() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("below/here");
    let first = OwnerLock::acquire(&path).unwrap();
    let pid = std::process::id();
    assert_eq!(current_owner(&path), Some(OwnerNote { pid, url: None, socket: None }));

    let before = refusal(&path);
    let (url, socket) = (Some("http://127.0.0.1:4242".to_owned()), Some(PathBuf::from("/run/harn.sock")));
    first.announce(url.clone(), socket.clone()).unwrap();
    let after = refusal(&path);

    assert_eq!(
        before,
        format!("{} is in use by process {pid}. Wait for it to end, or stop it first.", path.display())
    );
    assert_eq!(
        after,
        format!(
            "{} is in use by process {pid}, which serves http://127.0.0.1:4242. Use that one, or stop it first.",
            path.display()
        )
    );
    assert_eq!(current_owner(&path), Some(OwnerNote { pid, url, socket }));
    drop(first);
    assert_eq!(current_owner(&path), None);
    OwnerLock::acquire(&path).expect("the lock is free after its owner is gone");
}

fn refusal(data: &Path) -> String {
    match OwnerLock::acquire(data) {
        Err(LogError::Owned(message)) => message,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn only_the_owner_may_look_into_the_directory() {
    use std::os::unix::fs::PermissionsExt;
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("new");
    let _owner = OwnerLock::acquire(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
}

const CHILD_DATA: &str = "HARN_LOG_TEST_OWNER";

/// Not a test of its own: the other process of the test below.
#[test]
#[ignore = "run by a_lock_is_held_across_processes_until_its_owner_dies"]
fn own_until_killed() {
    let Ok(data) = std::env::var(CHILD_DATA) else { return };
    let owner = OwnerLock::acquire(Path::new(&data)).unwrap();
    owner.announce(Some("http://child".into()), None).unwrap();
    writeln!(std::io::stdout(), "\nowned").unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn spawn_owner(data: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "owner::own_until_killed", "--ignored", "--nocapture"])
        .env(CHILD_DATA, data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "owned"), "the child takes the lock");
    child
}

#[test]
fn a_lock_is_held_across_processes_until_its_owner_dies() {
    let data = tempfile::tempdir().unwrap();
    let mut child = spawn_owner(data.path());

    let message = refusal(data.path());
    child.kill().unwrap();
    child.wait().unwrap();

    assert!(message.contains(&format!("process {}, which serves http://child", child.id())), "{message}");
    let _owner = OwnerLock::acquire(data.path()).expect("the lock of a killed process is free");
    assert_eq!(current_owner(data.path()).map(|note| note.pid), Some(std::process::id()));
}

#[tokio::test]
async fn uploads_that_were_under_way_are_cleared_at_the_next_start() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let scratch = log.scratch();
    std::fs::create_dir(scratch.join("folder")).unwrap();
    std::fs::write(scratch.join("folder/part"), "half an upload").unwrap();
    drop(log);
    let log = open(data.path());
    assert_eq!(log.scratch(), scratch);
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
}
