//! How the harness feels to others while a command of one task runs wild.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{alice, open, request, scripted, user};

/// Answers to other people's requests while a command runs: how many, and how late the middle and the last came.
struct Felt {
    stopped_after: Duration,
    times: Vec<Duration>,
    stopped: String,
}

pub fn report(out: &mut impl Write) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    writeln!(out, "a submitted task of another session while a command runs wild").unwrap();
    let wild = [
        ("nothing", "sleep 2"),
        // Policy denies the well-known one in plain sight.
        ("a fork bomb", "sh bomb.sh"),
        ("a flood of output", "yes"),
        ("a memory hog", "head -c 20000000000 /dev/zero | tail"),
        ("a busy loop in each core", "for i in 1 2 3 4; do (while :; do :; done) & done; sleep 2"),
    ];
    for (what, command) in wild {
        let folder = tempfile::tempdir().unwrap();
        let mut felt = runtime.block_on(run(folder.path(), command));
        felt.times.sort();
        let at = |part: usize| felt.times[(felt.times.len() - 1) * part / 100];
        writeln!(
            out,
            "  {what:<26} p50 {:>7.1?}  p99 {:>7.1?}  of {} tasks; ended after {:.1?} ({})",
            at(50),
            at(99),
            felt.times.len(),
            felt.stopped_after,
            felt.stopped
        )
        .unwrap();
    }
}

async fn run(folder: &Path, command: &str) -> Felt {
    let script = json!({ "conversations": [
        { "when": "go wild", "responses": [
            { "tool_calls": [{ "id": "w", "name": "run_command",
                               "args": { "command": command, "timeout_ms": 10_000 } }] },
            { "text": "Over." } ] },
        { "when": "hello", "responses": [{ "text": "Hello." }] },
    ] });
    let running = open(folder, scripted(&script), Default::default()).await.unwrap();
    let harness = running.harness.clone();
    std::fs::write(folder.join("work/bomb.sh"), "f() { f | f & }\nf\nsleep 5\n").unwrap();
    let persona = json!({ "name": "p", "version": "1", "entry_workflow": "agent_loop", "description": "d",
                          "autonomy_tier": "act_auto", "receipt_policy": "optional" });
    let persona = harness.create_persona(&alice(), request(persona)).await.unwrap().id;
    let create = json!({ "workspace_id": running.workspace.id, "persona_id": persona });
    let session = harness.create_session(&alice(), request(create.clone())).await.unwrap().id;
    let wild =
        harness.submit_task(&alice(), session, request(json!({ "input": user("go wild") }))).await.unwrap();
    let start = Instant::now();
    let mut times = Vec::new();
    loop {
        // A fresh session each time, so that no transcript grows.
        let began = Instant::now();
        let other = harness.create_session(&alice(), request(create.clone())).await.unwrap().id;
        let task =
            harness.submit_task(&alice(), other, request(json!({ "input": user("hello") }))).await.unwrap();
        while !harness.task(&alice().actor, &task.id).await.unwrap().status.is_terminal() {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        times.push(began.elapsed());
        let now = harness.task(&alice().actor, &wild.id).await.unwrap();
        let pending = now.status == harn_core::TaskStatus::AuthRequired;
        if pending {
            let actor = alice().actor;
            let asked = harness.task_permission_requests(&actor, wild.id.clone(), Default::default()).await;
            let asked = asked.unwrap().data.remove(0);
            let _ = harness.respond(&alice(), asked.id, request(json!({ "approved": true }))).await;
        }
        if now.status.is_terminal() {
            break;
        }
    }
    let stopped_after = start.elapsed();
    let messages = crate::support::transcript(&harness, &wild.session_id).await;
    let told = messages.iter().find(|line| line.starts_with("tool:")).cloned().unwrap_or_default();
    let stopped = told
        .split_once("\"stopped\":\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("by itself".to_owned(), |(why, _)| format!("stopped: {why}"));
    Felt { stopped_after, times, stopped }
}
