//! Projections are a function of the rows: they can be lost, broken or outdated, and come back the same.

use std::path::Path;
use std::sync::Arc;

use harn_log::sqlite::{Options, SqliteLog, rebuild, verify};
use harn_log::{Doc, LogError, NewRow, RowKind};
use proptest::prelude::*;
use rusqlite::Connection;

use crate::support::{Body, TALLY, Tally, all_docs, append, event, head, open, problems, row_of};

/// One step of a random workload; rows that come together are one command.
#[derive(Clone, Debug)]
enum Step {
    Command(Vec<(u8, u8, u64)>),
    Refused(u8, u8),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = (0..5_u8, 0..6_u8, 0..1000_u64);
    let step = prop_oneof![
        6 => prop::collection::vec(row, 1..5).prop_map(Step::Command),
        2 => (0..5_u8, 0..6_u8).prop_map(|(session, note)| Step::Refused(session, note)),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..25)
}

fn row((session, note, value): (u8, u8, u64)) -> NewRow {
    let name = Some(format!("n{note}"));
    let body = match value % 4 {
        0 => Body { value, forget: name, ..Body::default() },
        _ => Body { value, note: name, ..Body::default() },
    };
    let kind = [RowKind::Event, RowKind::Journal, RowKind::Fact][value as usize % 3];
    row_of(kind, &format!("s{session}"), &body)
}

async fn run(data: &Path, steps: Vec<Step>) -> (Vec<Doc>, u64) {
    let mut log = open(data);
    for step in steps {
        match step {
            Step::Command(rows) => {
                append(&log, rows.into_iter().map(row).collect()).await.unwrap();
            }
            Step::Refused(session, note) => {
                let refused: Result<(), LogError> = harn_log::write(&*log, move |txn| {
                    txn.append(row((session, note, 1)))?;
                    Err(LogError::DuplicateKey("refused".into()))
                })
                .await;
                assert!(refused.is_err());
            }
            Step::Restart => {
                log.close();
                log = open(data);
                assert_eq!(log.rebuilt, None);
            }
        }
    }
    let live = (all_docs(&log).await, head(&log).await);
    log.close();
    live
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rebuilt_documents_equal_the_live_ones(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let data = tempfile::tempdir().unwrap();
        let (live, head) = runtime.block_on(run(data.path(), steps));
        let report = verify(data.path(), &TALLY).unwrap();
        prop_assert_eq!(&report.problems, &Vec::<String>::new());
        prop_assert_eq!((report.rows, report.documents), (head, live.len() as u64));

        prop_assert_eq!(rebuild(data.path(), &TALLY), Ok(head));

        prop_assert_eq!(problems(data.path()), Vec::<String>::new());
        let log = open(data.path());
        prop_assert_eq!(&log.rebuilt, &None);
        prop_assert_eq!(runtime.block_on(all_docs(&log)), live);
    }
}

/// A closed log with three documents, and these documents.
async fn three_documents() -> (tempfile::TempDir, Vec<Doc>) {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let noted = Body { value: 5, note: Some("n".into()), ..Body::default() };
    append(&log, vec![event("s1", 1), event("s2", 2), row_of(RowKind::Fact, "s1", &noted)]).await.unwrap();
    let docs = all_docs(&log).await;
    assert_eq!(docs.len(), 3);
    log.close();
    (data, docs)
}

fn execute(data: &Path, sql: &str) {
    Connection::open(data.join("harn.db")).unwrap().execute_batch(sql).unwrap();
}

/// Breaks the documents, expects verify to say so, rebuilds, and expects everything as before.
async fn check_rebuild_mends(sql: &str, named: &[&str]) {
    let (data, docs) = three_documents().await;
    execute(data.path(), sql);
    assert_eq!(problems(data.path()), named, "{sql}");

    assert_eq!(rebuild(data.path(), &TALLY), Ok(3), "{sql}");

    assert_eq!(problems(data.path()), [""; 0], "{sql}");
    let log = open(data.path());
    assert_eq!((all_docs(&log).await, &log.rebuilt), (docs, &None), "{sql}");
}

#[tokio::test]
async fn verify_names_every_document_that_differs_and_rebuild_mends_it() {
    check_rebuild_mends("DELETE FROM doc WHERE kind = 'note'", &["note n is missing from the projections"])
        .await;
    check_rebuild_mends(
        "UPDATE doc SET body = '{}' WHERE id = 's1'",
        &["tally s1 differs from what the log says"],
    )
    .await;
    check_rebuild_mends(
        "UPDATE doc SET position = 9 WHERE id = 's2'",
        &["tally s2 differs from what the log says"],
    )
    .await;
    check_rebuild_mends(
        "INSERT INTO doc (kind, id, position, body) VALUES ('note', 'ghost', 1, '1')",
        &["note ghost is in the projections, but the log does not know it"],
    )
    .await;
    check_rebuild_mends(
        "UPDATE meta SET value = 9 WHERE name = 'projection'",
        &["the projections are of version 9, and this binary makes version 1"],
    )
    .await;
}

/// Breaks the documents so that opening alone must notice and mend.
async fn check_open_mends(sql: &str, projection: Tally, reason: &str) {
    let (data, docs) = three_documents().await;
    execute(data.path(), sql);

    let log = SqliteLog::open(data.path(), Arc::new(projection), Options::default()).unwrap();

    assert_eq!((all_docs(&log).await, log.rebuilt.as_deref()), (docs, Some(reason)), "{sql}");
    log.close();
    assert_eq!(rebuilt_again(data.path(), log), None, "{sql}: mending once is enough");
}

fn rebuilt_again(data: &Path, last: SqliteLog) -> Option<String> {
    let version = Connection::open(data.join("harn.db"))
        .unwrap()
        .query_row("SELECT value FROM meta WHERE name = 'projection'", [], |row| row.get(0))
        .unwrap();
    drop(last);
    SqliteLog::open(data, Arc::new(Tally { version }), Options::default()).unwrap().rebuilt.clone()
}

#[tokio::test]
async fn opening_rebuilds_documents_that_are_outdated_or_gone() {
    let damaged = "their table was damaged";
    check_open_mends("DROP TABLE doc", TALLY, damaged).await;
    check_open_mends("ALTER TABLE doc DROP COLUMN body", TALLY, damaged).await;
    check_open_mends("DROP TABLE doc; CREATE TABLE doc (id TEXT)", TALLY, damaged).await;
    let newer = Tally { version: 2 };
    check_open_mends("DELETE FROM doc", newer, "they were of version 1, now it is 2").await;
}

#[tokio::test]
async fn rebuild_makes_a_dropped_table_anew() {
    let (data, docs) = three_documents().await;
    execute(data.path(), "DROP TABLE doc");
    let named = problems(data.path());
    assert!(named[0].starts_with("the projections cannot be read: "), "{named:?}");
    assert_eq!(rebuild(data.path(), &TALLY), Ok(3));
    let log = open(data.path());
    assert_eq!((all_docs(&log).await, &log.rebuilt), (docs, &None));
}

#[tokio::test]
async fn a_log_of_a_newer_format_is_refused_and_left_alone() {
    let (data, _) = three_documents().await;
    execute(data.path(), "UPDATE meta SET value = 99 WHERE name = 'format'");
    let opened = SqliteLog::open(data.path(), Arc::new(TALLY), Options::default()).map(|_| ());
    let Err(LogError::Corrupt(message)) = opened else { panic!("{opened:?}") };
    assert!(message.contains("format 99"), "{message}");
    let rebuilt = rebuild(data.path(), &Tally { version: 7 });
    assert!(matches!(rebuilt, Err(LogError::Corrupt(_))), "{rebuilt:?}");
    execute(data.path(), "UPDATE meta SET value = 1 WHERE name = 'format'");
    assert_eq!(problems(data.path()), [""; 0]);
}
