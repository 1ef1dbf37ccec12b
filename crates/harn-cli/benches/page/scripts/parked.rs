//! Scripts that wait for a person: what each takes of memory and threads, and how soon it is over once it is answered.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use harn_cli::wiring::Running;
use harn_core::Task;
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::{Limits, State, Vm};
use harn_log::sqlite::{FaultHook, Options};
use serde_json::json;

use super::{ended, part, submit};
use crate::commit::folder;
use crate::serve::kilobytes;
use crate::support::{alice, offline, open, request};
use crate::tasks::bare_commits;

const PROBE: &str = "scripts-parked";
const WARM: usize = 200;
const SCRIPTS: usize = 1000;
const SCRIPT: &str = "ask_user(\"Which?\")\n";
/// A run stays in memory for a while, in case that somebody answers at once.
const LINGER: Duration = Duration::from_secs(4);
/// Threads that have had nothing to do for so long go away.
const THREADS_STAY: Duration = Duration::from_millis(200);

/// Whether this process was started to measure itself; it has then done so.
pub fn is_probe() -> bool {
    let is_probe = std::env::args().any(|argument| argument == PROBE);
    if is_probe {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).thread_keep_alive(THREADS_STAY).enable_all();
        runtime.build().unwrap().block_on(measure(&mut std::io::stdout()));
    }
    is_probe
}

/// Memory that was held and freed before would hide what is held now.
pub fn in_a_fresh_process(out: &mut impl Write) {
    let mut process = Command::new(std::env::current_exe().unwrap());
    let output = process.args([PROBE, "--bench"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out.write_all(&output.stdout).unwrap();
}

async fn measure(out: &mut impl Write) {
    let folder = folder();
    let flushes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&flushes);
    let fault: FaultHook = Arc::new(move |_, n| {
        counted.store(n, Ordering::Relaxed);
        false
    });
    let options = Options { fault: Some(fault), ..Options::default() };
    let running = open(folder.path(), offline(), options).await.unwrap();
    std::fs::write(folder.path().join("work/s.harn"), SCRIPT).unwrap();
    // Caches and pools fill up once, however many come after.
    for task in &waiting(&running, part(WARM)).await {
        answer(&running, task).await;
    }
    let count = part(SCRIPTS);
    let before = (resident(), threads().await);
    let start = Instant::now();
    let tasks = waiting(&running, count).await;
    let taken = start.elapsed() / count as u32;
    tokio::time::sleep(LINGER).await;
    let after = (resident(), threads().await);
    let began = flushes.load(Ordering::Relaxed);
    let mut times = Vec::new();
    for task in &tasks {
        times.push(answer(&running, task).await);
    }
    times.sort();
    let commits = ((flushes.load(Ordering::Relaxed) - began) as f64 / count as f64).round() as u64;
    let bare = bare_commits(commits).await;
    let each = (after.0 - before.0).max(0.0) / count as f64;
    writeln!(out, "\n{count} scripts that wait for a person, as durable tasks").unwrap();
    let held = held(count);
    writeln!(out, "  memory of each {each:.1} kB; kept as a machine it would be {held:.1} kB").unwrap();
    writeln!(out, "  threads before {}, with all of them waiting {}", before.1, after.1).unwrap();
    writeln!(out, "  submitted until parked {taken:?} each").unwrap();
    let (p50, p99) = (times[count / 2], times[count * 99 / 100]);
    writeln!(
        out,
        "  from the answer to the end of the run p50 {p50:?}, p99 {p99:?}; its {commits} commits alone {bare:?}"
    )
    .unwrap();
}

fn resident() -> f64 {
    kilobytes("self", "VmRSS:")
}

/// How many threads there are once those that only helped out are gone.
async fn threads() -> f64 {
    tokio::time::sleep(THREADS_STAY * 5).await;
    kilobytes("self", "Threads:")
}

/// So many scripts that wait: none of them has a driver any more.
async fn waiting(running: &Running, count: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for _ in 0..count {
        tasks.push(submit(running, "s.harn").await);
    }
    while running.harness.census(&alice().actor).await.unwrap().unwrap().active_runs > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tasks
}

/// Answers what a task asks; gives how long it took until the task was over.
async fn answer(running: &Running, task: &Task) -> Duration {
    let harness = &running.harness;
    let asked = harness.task_permission_requests(&alice().actor, task.id.clone(), Default::default()).await;
    let asked = asked.unwrap().data.remove(0);
    let start = Instant::now();
    harness.respond(&alice(), asked.id, request(json!({ "answer": "this" }))).await.unwrap();
    ended(harness, &task.id).await;
    start.elapsed()
}

/// By how many kB memory grows with each machine that holds the same script at the same place.
fn held(count: usize) -> f64 {
    let before = resident();
    let machine = |_| {
        let source = Source { name: "s.harn".into(), text: SCRIPT.into() };
        let program =
            compile(source, &NoModules, &Settings::default()).unwrap_or_else(|_| panic!("{SCRIPT}"));
        let mut vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
        assert!(matches!(vm.run(1_000_000).state, State::Waiting));
        vm
    };
    let machines: Vec<Vm> = (0..count).map(machine).collect();
    let grown = (resident() - before).max(0.0) / machines.len() as f64;
    drop(machines);
    grown
}
