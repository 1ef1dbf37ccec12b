//! Durable commits per second of the log, against bare SQLite that writes the same rows in batches of the same
//! size with the same settings.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harn_core::Timestamp;
use harn_log::sqlite::{FlushPoint, Options, SqliteLog};
use harn_log::{Docs, LogError, NewRow, Projection, Result, Row, RowKind, Subject};
use rusqlite::{Connection, params};
use tokio::task::JoinSet;

const CALLERS: [usize; 3] = [1, 16, 256];
const TIME: Duration = Duration::from_secs(2);
const ROUNDS: usize = 2;

struct Nothing;

impl Projection for Nothing {
    fn version(&self) -> u32 {
        1
    }

    fn apply(&self, _: &mut dyn Docs, _: &Row) -> Result<()> {
        Ok(())
    }
}

pub fn report(out: &mut dyn Write) {
    writeln!(out, "Durable commits, one row each, against bare rusqlite (same tables, settings and batches)")
        .unwrap();
    writeln!(out, "  {:>7} {:>14} {:>9} {:>14} {:>6}", "callers", "harn/s", "per flush", "bare/s", "ratio")
        .unwrap();
    for callers in CALLERS {
        let (mut harn, mut bare, mut batch) = (0.0_f64, 0.0_f64, 1.0);
        for _ in 0..ROUNDS {
            let (rate, average) = run_harn(callers);
            if rate > harn {
                (harn, batch) = (rate, average);
            }
            bare = bare.max(run_bare(callers, average.round() as usize));
        }
        writeln!(out, "  {callers:>7} {harn:>14.0} {batch:>9.1} {bare:>14.0} {:>6.2}", harn / bare).unwrap();
    }
}

/// A folder on the disk that holds the build, since `/tmp` may be in memory.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn body() -> String {
    serde_json::json!({ "text": "x".repeat(288) }).to_string()
}

fn subject(caller: usize) -> String {
    format!("task_01hzzzzzzzzzzzzzzzzzzz{caller:04}")
}

/// Commits per second, and commits per flush.
fn run_harn(callers: usize) -> (f64, f64) {
    let data = folder();
    let flushes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&flushes);
    let fault: harn_log::sqlite::FaultHook = Arc::new(move |point, number| {
        if point == FlushPoint::After {
            counted.store(number, Ordering::Relaxed);
        }
        false
    });
    let options = Options { fault: Some(fault), ..Options::default() };
    let log = Arc::new(SqliteLog::open(data.path(), Arc::new(Nothing), options).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let start = Instant::now();
    let commits = runtime.block_on(async {
        let mut running = JoinSet::new();
        for caller in 0..callers {
            running.spawn(call(Arc::clone(&log), caller, start + TIME));
        }
        running.join_all().await.into_iter().sum::<u64>()
    });
    let elapsed = start.elapsed().as_secs_f64();
    (commits as f64 / elapsed, commits as f64 / flushes.load(Ordering::Relaxed) as f64)
}

async fn call(log: Arc<SqliteLog>, caller: usize, end: Instant) -> u64 {
    let (body, subject) = (body(), subject(caller));
    let mut commits = 0;
    while Instant::now() < end {
        let row = NewRow {
            subject: Some(Subject { object: "task".into(), id: subject.clone() }),
            ..NewRow::new(
                RowKind::Event,
                "task.progressed",
                Timestamp::from_millis(1_700_000_000_000),
                body.clone(),
            )
        };
        harn_log::write::<_, LogError, _>(&*log, move |txn| txn.append(row)).await.unwrap();
        commits += 1;
    }
    commits
}

fn run_bare(callers: usize, batch: usize) -> f64 {
    let data = folder();
    // The log itself makes the tables, so that they are the same.
    drop(SqliteLog::open(data.path(), Arc::new(Nothing), Options::default()).unwrap());
    let conn = open_bare(&data.path().join("harn.db"));
    let subjects: Vec<String> = (0..callers).map(subject).collect();
    let mut last: Vec<(i64, Option<i64>)> = vec![(0, None); callers];
    let body = body();
    let crc = crc32fast::hash(body.as_bytes());
    let (mut id, start) = (0_i64, Instant::now());
    while start.elapsed() < TIME {
        conn.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        let mut insert = conn
            .prepare_cached(
                "INSERT INTO log (id, kind, name, at, object, subject, sequence, previous, body, crc)
                 VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .unwrap();
        for _ in 0..batch {
            let caller = id as usize % callers;
            id += 1;
            let (sequence, previous) = last[caller];
            last[caller] = (sequence + 1, Some(id));
            let name = "task.progressed";
            let at = 1_700_000_000_000_i64;
            insert
                .execute(params![id, name, at, "task", subjects[caller], sequence + 1, previous, body, crc])
                .unwrap();
        }
        conn.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }
    id as f64 / start.elapsed().as_secs_f64()
}

/// The settings of the log's writer.
fn open_bare(path: &Path) -> Connection {
    let conn = Connection::open(path).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.pragma_update(None, "synchronous", "FULL").unwrap();
    conn.pragma_update(None, "journal_size_limit", 64 << 20).unwrap();
    conn.pragma_update(None, "wal_autocheckpoint", 4000).unwrap();
    conn.pragma_update(None, "cache_size", -2048).unwrap();
    conn.set_prepared_statement_cache_capacity(64);
    conn
}
