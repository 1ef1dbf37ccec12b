//! Scripts as agents: many that wait for a person, the price of an effect, and the start of a process.

pub mod parked;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use harn_cli::wiring::Running;
use harn_core::{Task, TaskId, TaskStatus};
use harn_harness::{EventFilter, Harness};
use serde_json::json;

use crate::commit::folder;
use crate::language::start_up;
use crate::support::{HARN, alice, offline, open, request, user};
use crate::tasks::bare_commits;

const ROUNDS: usize = 3;

/// An effect that a script asks for again and again, and the work of it without Harn.
struct Row {
    what: &'static str,
    /// For the number `i`.
    effect: &'static str,
    /// How many in the shorter run; the longer one has ten times as many.
    count: usize,
    plain: fn(&Path, usize, Kept) -> io::Result<()>,
    /// How many commits of the log a durable one should take.
    commits: u32,
    /// All of them in flight at the same time.
    at_once: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

const ROWS: [Row; 4] = [
    Row {
        what: "the clock",
        effect: "now_ms()",
        count: 1000,
        plain: |_, _, _| {
            std::hint::black_box(std::time::SystemTime::now());
            Ok(())
        },
        commits: 0,
        at_once: false,
    },
    Row {
        what: "read_file",
        effect: "read_file(\"note.txt\")",
        count: 1000,
        plain: |root, _, _| fs::read_to_string(root.join("note.txt")).map(drop),
        commits: 0,
        at_once: false,
    },
    Row {
        what: "write_file",
        effect: "write_file(\"f${i}\", \"a line\\n\")",
        count: 100,
        plain: write_plainly,
        commits: 2,
        at_once: false,
    },
    Row {
        what: "at once",
        effect: "write_file(\"f${i}\", \"a line\\n\")",
        count: 100,
        plain: write_plainly,
        commits: 0,
        at_once: true,
    },
];

pub fn report(out: &mut impl Write) {
    parked::in_a_fresh_process(out);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let commit = runtime.block_on(bare_commits(1));
    writeln!(
        out,
        "\nEffects of one script, each: durable and with `harn run`. A bare commit takes {commit:?}"
    )
    .unwrap();
    for row in &ROWS {
        let plain = [Kept::Yes, Kept::No].map(|kept| plainly(row, kept));
        let limit = commit * row.commits + plain[0];
        line(out, row, "durable", runtime.block_on(durable(row)), ("its commits and the work", limit));
        line(out, row, "harn run", ephemeral(row), ("the work in Rust", plain[1]));
    }
    start_up(out);
}

/// Fewer of everything, to see that it works: `HARN_BENCH_PART=10` does a tenth.
fn part(count: usize) -> usize {
    let of =
        std::env::var("HARN_BENCH_PART").ok().and_then(|of| of.parse::<usize>().ok()).unwrap_or(1).max(1);
    (count / of).max(1)
}

fn line(out: &mut impl Write, row: &Row, how: &str, times: [Duration; 3], (peer, limit): (&str, Duration)) {
    let [none, some, many] = times;
    let count = part(row.count);
    let each = many.saturating_sub(none) / (10 * count) as u32;
    let growth = many.saturating_sub(none).as_secs_f64() / some.saturating_sub(none).as_secs_f64();
    let (what, many) = (row.what, 10 * count);
    writeln!(
        out,
        "  {what:<10} {how:<8} {many:>6} effects, each {each:>9.1?}; {peer} {limit:>9.1?}; ten times as many take \
         {growth:.1} times as long"
    )
    .unwrap();
}

fn script(row: &Row, count: usize) -> String {
    match row.at_once {
        true => format!("parallel each (0 to {count} exclusive) {{ i -> {} }}\n", row.effect),
        false => format!("for i in 0 to {count} exclusive {{ {} }}\n", row.effect),
    }
}

/// The best times of no effects, of some, and of ten times as many.
fn counts(row: &Row) -> [usize; 3] {
    [0, part(row.count), 10 * part(row.count)]
}

async fn durable(row: &Row) -> [Duration; 3] {
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let folder = folder();
        let running = open(folder.path(), offline(), Default::default()).await.unwrap();
        fs::write(folder.path().join("work/note.txt"), "a line\n").unwrap();
        for (best, count) in best.iter_mut().zip(counts(row)) {
            fs::write(folder.path().join("work/s.harn"), script(row, count)).unwrap();
            let start = Instant::now();
            let task = submit(&running, "s.harn").await;
            ended(&running.harness, &task.id).await;
            *best = start.elapsed().min(*best);
        }
    }
    best
}

fn ephemeral(row: &Row) -> [Duration; 3] {
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let folder = folder();
        fs::write(folder.path().join("note.txt"), "a line\n").unwrap();
        for (best, count) in best.iter_mut().zip(counts(row)) {
            fs::write(folder.path().join("s.harn"), script(row, count)).unwrap();
            let mut harn = Command::new(HARN);
            harn.args(["run", "s.harn"]).current_dir(folder.path());
            let start = Instant::now();
            assert!(harn.status().unwrap().success());
            *best = start.elapsed().min(*best);
        }
    }
    best
}

/// The work of one effect in a plain loop.
fn plainly(row: &Row, kept: Kept) -> Duration {
    let count = 10 * part(row.count);
    let round = |_| {
        let folder = folder();
        fs::write(folder.path().join("note.txt"), "a line\n").unwrap();
        let start = Instant::now();
        (0..count).for_each(|i| (row.plain)(folder.path(), i, kept).unwrap());
        start.elapsed() / count as u32
    };
    (0..ROUNDS).map(round).min().unwrap()
}

/// As Harn writes: looked at, written beside, and put in its place; on the disk where a journal is kept.
fn write_plainly(root: &Path, i: usize, kept: Kept) -> io::Result<()> {
    let (path, beside) = (root.join(format!("f{i}")), root.join(format!(".f{i}")));
    let _ = (fs::symlink_metadata(&path), fs::metadata(&path));
    let mut file = fs::File::create_new(&beside)?;
    file.write_all(b"a line\n")?;
    if kept == Kept::Yes {
        file.sync_all()?;
    }
    fs::rename(beside, path)?;
    if kept == Kept::Yes { fs::File::open(root)?.sync_all() } else { Ok(()) }
}

/// A task of the owner that runs a script of the workspace, in a session of its own.
async fn submit(running: &Running, path: &str) -> Task {
    let create = request(json!({ "workspace_id": running.workspace.id }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    let body = json!({ "input": user("go"), "metadata": { "script": { "path": path } } });
    running.harness.submit_task(&alice(), session, request(body)).await.unwrap()
}

async fn ended(harness: &Harness, id: &TaskId) {
    let filter = EventFilter { task: Some(id.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
    let task = harness.task(&alice().actor, id).await.unwrap();
    assert_eq!(task.status, TaskStatus::Completed, "{:?}", task.outcome_id);
}
