//! Blobs: where their content is, when it becomes visible, and that the same content is kept once.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use harn_core::hash::Sha256Hash;
use harn_log::blob::INLINE_LIMIT;
use harn_log::sqlite::{SqliteLog, verify};
use harn_log::{Blob, Log, LogError, Result, StagedBlob, read, write};

use crate::support::{TALLY, open};

async fn keep(log: &SqliteLog, blob: &StagedBlob) -> Result<()> {
    let blob = blob.clone();
    write(log, move |txn| txn.keep_blob(&blob)).await
}

async fn find(log: &SqliteLog, hash: &Sha256Hash) -> Option<Blob> {
    let hash = hash.to_string();
    let found: Result<_> = read(log, move |view| view.blob(&hash)).await;
    found.unwrap()
}

/// The files of large blobs, without those on their way in.
fn files(data: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(data.join("blobs")).unwrap().map(|entry| entry.unwrap().path());
    let kept = folders.filter(|folder| !folder.ends_with("incoming"));
    kept.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect()
}

fn content(size: usize) -> Bytes {
    (0..size).map(|n| (n % 251) as u8).collect()
}

/// Stages, keeps, restarts, and expects the content back from where content of its size belongs.
async fn check_kept(size: usize, files_expected: usize) {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let staged = log.stage(content(size)).await.unwrap();
    assert_eq!((staged.hash, staged.size), (Sha256Hash::of(&content(size)), size as u64));
    assert!(find(&log, &staged.hash).await.is_none(), "staged content is not visible before a commit");

    keep(&log, &staged).await.unwrap();
    log.close();

    let log = open(data.path());
    let blob = find(&log, &staged.hash).await.expect("kept content is there after a restart");
    assert_eq!(blob.size(), size as u64);
    assert_eq!(blob.bytes().unwrap(), content(size));
    assert_eq!(matches!(blob, Blob::File { .. }), files_expected == 1);
    assert_eq!(files(data.path()).len(), files_expected);
    assert_eq!(fs::read_dir(log.scratch()).unwrap().count(), 0);
}

#[tokio::test]
async fn small_content_is_in_the_database_and_large_content_in_a_file() {
    check_kept(0, 0).await;
    check_kept(10, 0).await;
    check_kept(INLINE_LIMIT, 0).await;
    check_kept(INLINE_LIMIT + 1, 1).await;
    check_kept(3 << 20, 1).await;
}

#[tokio::test]
async fn the_same_content_twice_is_one_blob() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for size in [10, 100 << 10] {
        for _ in 0..2 {
            let staged = log.stage(content(size)).await.unwrap();
            keep(&log, &staged).await.unwrap();
        }
        let upload = log.scratch().join("upload");
        fs::write(&upload, content(size)).unwrap();
        let staged = log.stage_file(upload).await.unwrap();
        keep(&log, &staged).await.unwrap();
        assert_eq!(find(&log, &staged.hash).await.unwrap().bytes().unwrap(), content(size));
    }
    log.close();
    assert_eq!(files(data.path()).len(), 1);
    let report = verify(data.path(), &TALLY).unwrap();
    assert_eq!((report.blobs, report.problems), (2, vec![]));
}

#[tokio::test]
async fn content_whose_commit_is_undone_is_not_visible() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for size in [10, 100 << 10] {
        let staged = log.stage(content(size)).await.unwrap();
        let blob = staged.clone();
        let undone: Result<()> = write(&*log, move |txn| {
            txn.keep_blob(&blob)?;
            assert!(txn.blob(&blob.hash.to_string())?.is_some());
            Err(LogError::DuplicateKey("undone".into()))
        })
        .await;
        assert!(undone.is_err());
        assert!(find(&log, &staged.hash).await.is_none());
        // It is still staged, so another command may keep it.
        keep(&log, &staged).await.unwrap();
        assert_eq!(find(&log, &staged.hash).await.unwrap().bytes().unwrap(), content(size));
    }
}

#[tokio::test]
async fn staging_a_file_moves_it() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for (size, files_expected) in [(10, 0), (INLINE_LIMIT, 0), (INLINE_LIMIT + 1, 1)] {
        let upload = log.scratch().join("upload");
        fs::write(&upload, content(size)).unwrap();

        let staged = log.stage_file(upload.clone()).await.unwrap();

        assert!(!upload.exists());
        assert_eq!((staged.hash, staged.size), (Sha256Hash::of(&content(size)), size as u64));
        assert_eq!(files(data.path()).len(), files_expected);
        keep(&log, &staged).await.unwrap();
        assert_eq!(find(&log, &staged.hash).await.unwrap().bytes().unwrap(), content(size));
    }
    let missing = log.stage_file(log.scratch().join("nothing")).await;
    assert!(matches!(missing, Err(LogError::Io(_))));
}

#[tokio::test]
async fn an_unknown_hash_is_no_blob_whatever_it_looks_like() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for hash in ["", "a", "é", "../../harn.db", &Sha256Hash::of(b"nothing").to_string()] {
        let hash = hash.to_owned();
        let found: Result<bool> = read(&*log, move |view| Ok(view.blob(&hash)?.is_some())).await;
        assert_eq!(found, Ok(false));
    }
}
