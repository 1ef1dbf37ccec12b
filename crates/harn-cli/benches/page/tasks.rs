//! Tasks with the offline model, from the submission to the terminal commit, beside the bare cost of their commits.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harn_core::{SessionId, Timestamp};
use harn_harness::{EventFilter, Harness, HarnessProjection};
use harn_log::sqlite::{Options, SqliteLog};
use harn_log::{LogError, NewRow, RowKind};
use serde_json::json;

use crate::commit::folder;
use crate::support::{alice, offline, open, request, user};

const TASKS: usize = 300;
const TIME: Duration = Duration::from_secs(4);

pub fn report(out: &mut dyn Write) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut latency, commits) = latency().await;
        let bare = bare_commits(commits).await;
        latency.sort();
        let (p50, p99) = (latency[TASKS / 2], latency[TASKS * 99 / 100]);
        writeln!(out, "\nA task with the offline model, submitted until terminal ({commits} commits)")
            .unwrap();
        let ratio = p50.as_secs_f64() / bare.as_secs_f64();
        writeln!(out, "  p50 {p50:?}, p99 {p99:?}; its commits alone {bare:?}; ratio {ratio:.2}").unwrap();
        for callers in [1, 128] {
            let rate = throughput(callers).await;
            writeln!(out, "  {callers:>3} callers: {rate:.0} tasks/s").unwrap();
        }
    });
}

async fn session(harness: &Harness, workspace: &harn_core::WorkspaceId) -> SessionId {
    let create = request(json!({ "workspace_id": workspace }));
    harness.create_session(&alice(), create).await.unwrap().id
}

/// Submits a task and waits for the end of its stream.
async fn run(harness: &Harness, session: &SessionId) {
    let submit = request(json!({ "input": user("hello") }));
    let task = harness.submit_task(&alice(), session.clone(), submit).await.unwrap();
    let filter = EventFilter { task: Some(task.id), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
}

/// Latencies one after another, and how many flushes a task took.
async fn latency() -> (Vec<Duration>, u64) {
    let folder = folder();
    let flushes = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = Arc::clone(&flushes);
    let fault: harn_log::sqlite::FaultHook = Arc::new(move |_, n| {
        counted.store(n, std::sync::atomic::Ordering::Relaxed);
        false
    });
    let options = Options { fault: Some(fault), ..Options::default() };
    let running = open(folder.path(), offline(), options).await.unwrap();
    let session = session(&running.harness, &running.workspace.id).await;
    run(&running.harness, &session).await;
    let before = flushes.load(std::sync::atomic::Ordering::Relaxed);
    let mut times = Vec::new();
    for _ in 0..TASKS {
        let start = Instant::now();
        run(&running.harness, &session).await;
        times.push(start.elapsed());
    }
    let taken = flushes.load(std::sync::atomic::Ordering::Relaxed) - before;
    (times, (taken as f64 / TASKS as f64).round() as u64)
}

/// The median time of so many commits of one row, one after another.
pub async fn bare_commits(commits: u64) -> Duration {
    let folder = folder();
    let log = SqliteLog::open(folder.path(), Arc::new(HarnessProjection), Options::default()).unwrap();
    let mut times = Vec::new();
    for _ in 0..TASKS {
        let start = Instant::now();
        for _ in 0..commits {
            let row = NewRow::new(RowKind::Fact, "bench", Timestamp::from_millis(0), "{}".into());
            harn_log::write::<_, LogError, _>(&log, move |txn| txn.append(row)).await.unwrap();
        }
        times.push(start.elapsed());
    }
    times.sort();
    times[TASKS / 2]
}

async fn throughput(callers: usize) -> f64 {
    let folder = folder();
    let running = open(folder.path(), offline(), Options::default()).await.unwrap();
    let start = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let (harness, workspace) = (running.harness.clone(), running.workspace.id.clone());
        clients.spawn(async move {
            let mut done = 0_u32;
            // Each caller in a session of its own, a new one now and then, as conversations go.
            while start.elapsed() < TIME {
                let session = session(&harness, &workspace).await;
                for _ in 0..10 {
                    run(&harness, &session).await;
                    done += 1;
                }
            }
            done
        });
    }
    let done: u32 = clients.join_all().await.into_iter().sum();
    f64::from(done) / start.elapsed().as_secs_f64()
}
