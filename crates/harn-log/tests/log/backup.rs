//! Copies and exports, taken while the log is being written.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harn_log::sqlite::{Backup, Export, backup, export, verify};
use harn_log::{Log, LogError, NewRow, Result, Row, RowKind, write};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Body, TALLY, all_docs, all_rows, append, event, open, row_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_running_writers_holds_a_prefix_with_everything_answered_before() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..4_u64 {
        let (log, stop) = (Arc::clone(&log), Arc::clone(&stop));
        writers.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                append(&log, (0..3).map(|value| event(&format!("w{writer}"), value)).collect())
                    .await
                    .unwrap();
            }
        });
    }

    let mut copies = Vec::new();
    for round in 0..4_u8 {
        let staged = log.stage(vec![round; 100 << 10].into()).await.unwrap();
        let kept: Result<u64> = write(&*log, move |txn| {
            txn.keep_blob(&staged)?;
            Ok(txn.append(event("blob", 1))?.id)
        })
        .await;
        let answered = kept.unwrap();
        let (from, target) = (data.path().to_owned(), tempfile::tempdir().unwrap());
        let to = target.path().join("copy");
        let made = tokio::task::spawn_blocking(move || backup(&from, &to)).await.unwrap().unwrap();
        assert!(made.head >= answered, "the copy ends at {}, and {answered} was answered before", made.head);
        assert_eq!(made.blob_files, u64::from(round) + 1);
        copies.push((target, made));
    }
    stop.store(true, Ordering::Relaxed);
    writers.join_all().await;

    let rows = all_rows(&log).await.unwrap();
    for (target, made) in copies {
        let data = target.path().join("copy");
        let report = verify(&data, &TALLY).unwrap();
        assert_eq!((report.rows, report.blobs, report.problems), (made.head, made.blob_files, vec![]));
        let copy = open(&data);
        assert_eq!(copy.rebuilt, None);
        assert_eq!(all_rows(&copy).await.unwrap(), rows[..made.head as usize], "a prefix");
        assert_whole_commands(&rows[..made.head as usize]);
        assert_eq!(append(&copy, vec![event("s", 1)]).await.unwrap()[0].id, made.head + 1);
    }
}

fn assert_whole_commands(rows: &[Row]) {
    for writer in 0..4 {
        let session = Some(format!("w{writer}"));
        assert_eq!(rows.iter().filter(|row| row.session == session).count() % 3, 0, "half a command");
    }
}

#[tokio::test]
async fn a_backup_of_a_log_left_by_a_crash_includes_its_write_ahead_log() {
    let (data, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = open(data.path());
    append(&log, vec![event("s", 1), event("s", 2)]).await.unwrap();
    for file in ["harn.db", "harn.db-wal"] {
        fs::copy(data.path().join(file), image.path().join(file)).unwrap();
    }

    let target = tempfile::tempdir().unwrap();
    assert_eq!(backup(image.path(), target.path()), Ok(Backup { head: 2, blob_files: 0 }));

    let copy = open(target.path());
    assert_eq!(all_rows(&copy).await, all_rows(&log).await);
    assert_eq!(all_docs(&copy).await, all_docs(&log).await);
}

#[tokio::test]
async fn a_backup_never_overwrites_a_log() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (log, precious) = (open(data.path()), open(other.path()));
    append(&log, vec![event("s", 1)]).await.unwrap();
    append(&precious, vec![event("precious", 1)]).await.unwrap();
    for target in [other.path(), data.path()] {
        let refused = backup(data.path(), target);
        assert!(
            matches!(&refused, Err(LogError::Io(text)) if text.contains("already exists")),
            "{refused:?}"
        );
    }
    assert_eq!(all_rows(&precious).await.unwrap()[0].session.as_deref(), Some("precious"));
}

fn exported(data: &std::path::Path, what: Export) -> Vec<Value> {
    let mut out = Vec::new();
    let written = export(data, what, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, written);
    lines
}

fn ids(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn export_gives_one_json_line_per_row_in_order() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    assert_eq!(exported(data.path(), Export::Everything), [Value::Null; 0]);
    let kinds = [RowKind::Event, RowKind::Journal, RowKind::Fact, RowKind::Event, RowKind::Event];
    let body = Body { value: 3, filler: "two\nlines, \"quoted\"".into(), ..Body::default() };
    append(&log, kinds.into_iter().map(|kind| row_of(kind, "s", &body)).collect()).await.unwrap();

    let events = exported(data.path(), Export::Events);
    let everything = exported(data.path(), Export::Everything);

    assert_eq!((ids(&events), ids(&everything)), (vec![1, 4, 5], vec![1, 2, 3, 4, 5]));
    let expected = json!({
        "id": 2, "kind": "journal", "name": "counted", "at": "1970-01-01T00:00:00.007Z", "workspace": null,
        "session": "s", "task": null, "subject": null, "sequence": null, "previous": null, "key": null,
        "actor": null, "trace": null, "span": null,
        "body": { "value": 3, "filler": "two\nlines, \"quoted\"" },
    });
    assert_eq!(everything[1], expected);
}

#[tokio::test]
async fn export_stops_at_a_row_that_it_cannot_vouch_for() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    append(&log, vec![event("s", 1), NewRow { session: None, ..event("s", 2) }]).await.unwrap();
    log.close();
    rusqlite::Connection::open(data.path().join("harn.db"))
        .unwrap()
        .execute_batch("UPDATE log SET body = '{\"value\":9}' WHERE id = 2")
        .unwrap();
    let mut out = Vec::new();
    let refused = export(data.path(), Export::Events, &mut out);
    assert!(matches!(&refused, Err(LogError::Corrupt(text)) if text.contains("row 2")), "{refused:?}");
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
}
