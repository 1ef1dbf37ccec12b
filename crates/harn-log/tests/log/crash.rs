//! Answered means durable: the log is stopped at every flush in turn, killed, or copied as a crash would leave it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use harn_log::sqlite::{FlushPoint, Options, SqliteLog};
use harn_log::{LogError, NewRow, Row};
use tokio::task::JoinSet;

use crate::support::{Random, all_rows, append, event, head, open, open_with, problems, try_open};

const ROWS_PER_COMMAND: usize = 3;

fn command(number: u64) -> Vec<NewRow> {
    (0..ROWS_PER_COMMAND).map(|_| event(&format!("c{number}"), number)).collect()
}

/// How many rows of each command are there.
fn rows_per_command(rows: &[Row]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for row in rows {
        *found.entry(row.session.clone().unwrap()).or_default() += 1;
    }
    found
}

/// Rounds of a few concurrent commands each. Gives the numbers of those that were answered well, and of those
/// that were not.
async fn workload(log: &Arc<SqliteLog>, seed: u64) -> (Vec<u64>, Vec<u64>) {
    let mut random = Random(seed);
    let (mut answered, mut failed, mut number) = (Vec::new(), Vec::new(), 0);
    for _ in 0..6 {
        let mut round = JoinSet::new();
        for _ in 0..=random.below(4) {
            number += 1;
            let (log, number) = (Arc::clone(log), number);
            round.spawn(async move { (number, append(&log, command(number)).await.is_ok()) });
        }
        for (number, ok) in round.join_all().await {
            if ok { answered.push(number) } else { failed.push(number) }
        }
    }
    (answered, failed)
}

async fn check_stop_at(point: FlushPoint, flush: u64) {
    let data = tempfile::tempdir().unwrap();
    let fatal = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&fatal);
    let log = open_with(
        data.path(),
        Options {
            fault: Some(Arc::new(move |at, number| (at, number) == (point, flush))),
            fatal: Some(Arc::new(move |_| {
                told.fetch_add(1, Ordering::SeqCst);
            })),
            ..Options::default()
        },
    );
    let (answered, failed) = workload(&log, flush).await;
    drop(log);
    assert_eq!(
        fatal.load(Ordering::SeqCst),
        u64::from(!failed.is_empty()),
        "a stopped log calls the fatal hook"
    );

    let log = open(data.path());
    let found = rows_per_command(&all_rows(&log).await.unwrap());

    let context = format!("stopped {point:?} flush {flush}: {answered:?} answered, {failed:?} failed");
    assert!(found.values().all(|rows| *rows == ROWS_PER_COMMAND), "{context}: half a command: {found:?}");
    assert!(answered.iter().all(|n| found.contains_key(&format!("c{n}"))), "{context}: {found:?}");
    if point == FlushPoint::Before {
        assert_eq!(found.len(), answered.len(), "{context}: {found:?}");
    }
    assert_eq!(append(&log, command(1000)).await.unwrap()[0].id as usize, found.len() * ROWS_PER_COMMAND + 1);
    drop(log);
    assert_eq!(problems(data.path()), [""; 0], "{context}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_and_nothing_is_half_there_wherever_a_flush_stops() {
    for flush in 1..=10 {
        check_stop_at(FlushPoint::Before, flush).await;
        check_stop_at(FlushPoint::After, flush).await;
    }
}

#[tokio::test]
async fn a_stopped_log_refuses_writes_and_still_reads() {
    let data = tempfile::tempdir().unwrap();
    let fault: harn_log::sqlite::FaultHook =
        Arc::new(|point, flush| point == FlushPoint::Before && flush == 2);
    let log = open_with(data.path(), Options { fault: Some(fault), ..Options::default() });
    append(&log, command(1)).await.unwrap();
    for number in 2..5 {
        let refused = append(&log, command(number)).await;
        assert!(matches!(refused, Err(LogError::Stopped(_))), "{refused:?}");
    }
    assert_eq!(head(&log).await, 3);
}

const CHILD_DATA: &str = "HARN_LOG_TEST_WRITER";

/// Not a test of its own: the process that the test below kills. Prints each command's number once answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by a_killed_process_loses_nothing_that_it_was_answered"]
async fn write_until_killed() {
    let Ok(data) = std::env::var(CHILD_DATA) else { return };
    let log = open(Path::new(&data));
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let log = Arc::clone(&log);
        writers.spawn(async move {
            for number in (0..).map(|n| n * 4 + writer) {
                append(&log, command(number)).await.unwrap();
                writeln!(std::io::stdout(), "\nanswered {number}").unwrap();
            }
        });
    }
    writers.join_all().await;
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_it_was_answered() {
    let data = tempfile::tempdir().unwrap();
    for answers_before_the_kill in [1, 40, 150] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::write_until_killed", "--ignored", "--nocapture"])
            .env(CHILD_DATA, data.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answered = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap)
            .filter_map(|line| line.strip_prefix("answered ").map(|n| format!("c{n}")));
        let mut seen: Vec<String> = answered.by_ref().take(answers_before_the_kill).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        seen.extend(answered);

        let log = open(data.path());
        let found = rows_per_command(&all_rows(&log).await.unwrap());
        assert!(found.values().all(|rows| rows % ROWS_PER_COMMAND == 0), "half a command: {found:?}");
        assert!(seen.len() >= answers_before_the_kill);
        assert!(seen.iter().all(|command| found.contains_key(command)), "lost one of {seen:?}");
        drop(log);
        assert_eq!(problems(data.path()), [""; 0]);
    }
}

/// A data directory as a crash would leave it.
fn crash_image(database: &[u8], wal: &[u8]) -> tempfile::TempDir {
    let image = tempfile::tempdir().unwrap();
    fs::write(image.path().join("harn.db"), database).unwrap();
    fs::write(image.path().join("harn.db-wal"), wal).unwrap();
    image
}

fn files(data: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(data.join("harn.db")).unwrap(), fs::read(data.join("harn.db-wal")).unwrap())
}

#[tokio::test]
async fn a_cut_write_ahead_log_gives_a_prefix_of_whole_commits() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut ends = vec![0];
    for number in 0..20 {
        append(&log, command(number)).await.unwrap();
        ends.push(files(data.path()).1.len());
    }
    let (database, wal) = files(data.path());

    let mut random = Random(5);
    let cuts = (0..60).map(|_| random.below(wal.len() as u64 + 1) as usize);
    for cut in cuts.chain(ends.clone()).chain([wal.len()]) {
        let image = crash_image(&database, &wal[..cut]);
        let log = try_open(image.path(), Options::default())
            .unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        // A command is there exactly when the cut left all that its commit had written.
        let whole = ends[1..].iter().filter(|end| **end <= cut).count();
        assert_eq!(head(&log).await as usize, whole * ROWS_PER_COMMAND, "cut at {cut}");
        append(&log, command(99)).await.unwrap();
        drop(log);
        assert_eq!(problems(image.path()), [""; 0], "cut at {cut}");
    }
}

#[tokio::test]
async fn a_torn_write_ahead_log_gives_a_prefix_of_whole_commits() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for number in 0..20 {
        append(&log, command(number)).await.unwrap();
    }
    let (database, wal) = files(data.path());

    let mut random = Random(6);
    for _ in 0..40 {
        let mut torn = wal.clone();
        let from = random.below(wal.len() as u64) as usize;
        let to = wal.len().min(from + 512);
        torn[from..to].iter_mut().for_each(|byte| *byte = !*byte);
        let image = crash_image(&database, &torn);
        let log = try_open(image.path(), Options::default())
            .unwrap_or_else(|error| panic!("torn at {from}: {error}"));
        assert_eq!(head(&log).await as usize % ROWS_PER_COMMAND, 0, "torn at {from}");
        drop(log);
        assert_eq!(problems(image.path()), [""; 0], "torn at {from}");
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_checkpoint_loses_nothing() {
    // Given the files before a checkpoint and after it,
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for number in 0..40 {
        append(&log, command(number)).await.unwrap();
    }
    let expected = all_rows(&log).await.unwrap();
    let (before, wal) = files(data.path());
    log.close();
    let after = fs::read(data.path().join("harn.db")).unwrap();
    assert!(before.len() < after.len());

    // when a crash leaves the first pages of the new file over the old one, then nothing is lost.
    for cut in (0..after.len()).step_by(4096) {
        let mut torn = after[..cut].to_vec();
        torn.extend(before.get(cut..).unwrap_or_default());
        let image = crash_image(&torn, &wal);
        let log = try_open(image.path(), Options::default())
            .unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(all_rows(&log).await.as_ref(), Ok(&expected), "cut at {cut}");
    }
}
