//! The real binary, killed: at random instants under load, with its unsynced writes taken back, and as a zombie that
//! wakes up after another process took over. What was answered is there; what was done was done once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harn_testkit::Api;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::server::{KEY, Server, command};
use support::user;

const DEADLINE: Duration = Duration::from_secs(60);

/// Everything that the server has answered for: a path, and a field that must still have its value.
#[derive(Default)]
struct Ledger {
    accepted: Mutex<Vec<(String, &'static str, Value)>>,
    /// Requests without an answer when the server died, to be sent again: key, path, body.
    unanswered: Mutex<Vec<(String, String, Value)>>,
}

/// Sends a keyed POST without judging the answer; `None` when the connection broke.
async fn post(url: &str, path: &str, key: &str, body: &Value) -> Option<Value> {
    let answer = harn_testkit::http()
        .no_proxy()
        .build()
        .unwrap()
        .post(format!("{url}{path}"))
        .bearer_auth(KEY)
        .header("Harn-Agents-Protocol-Version", harn_core::PROTOCOL_VERSION)
        .header("Idempotency-Key", key)
        .json(body)
        .send()
        .await
        .ok()?;
    let success = answer.status().is_success();
    let body: Value = answer.json().await.ok()?;
    assert!(success, "{path}: {body}");
    Some(body)
}

async fn send(ledger: &Ledger, url: &str, path: String, key: String, body: Value) -> Option<Value> {
    match post(url, &path, &key, &body).await {
        Some(answer) => Some(answer),
        None => {
            ledger.unanswered.lock().push((key, path, body));
            None
        }
    }
}

/// What a server has to accept before it is killed.
const ENOUGH: usize = 12;

/// One client: sessions, messages and tasks whose command leaves a line of its own, until the server is gone.
async fn client(ledger: Arc<Ledger>, url: String, workspace: String, persona: String, name: String) {
    for n in 0.. {
        let mark = format!("{name}-{n}");
        let body = json!({ "workspace_id": workspace, "persona_id": persona, "metadata": { "mark": mark } });
        let sent = send(&ledger, &url, "/v1/sessions".into(), format!("s-{mark}"), body).await;
        let Some(session) = sent else { return };
        let id = session["id"].as_str().unwrap().to_owned();
        ledger.accepted.lock().push((format!("/v1/sessions/{id}"), "metadata", session["metadata"].clone()));
        let body = json!({ "message": user(&mark) });
        let sent =
            send(&ledger, &url, format!("/v1/sessions/{id}/messages"), format!("m-{mark}"), body).await;
        let Some(message) = sent else { return };
        let path = format!("/v1/messages/{}", message["id"].as_str().unwrap());
        ledger.accepted.lock().push((path, "parts", message["parts"].clone()));
        let body = json!({ "input": user(&format!("run echo {mark} >> effects.log")) });
        let sent = send(&ledger, &url, format!("/v1/sessions/{id}/tasks"), format!("t-{mark}"), body).await;
        let Some(task) = sent else { return };
        let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
        ledger.accepted.lock().push((path, "input", task["input"].clone()));
    }
}

async fn act_auto(api: &Api) -> String {
    let persona = json!({ "name": "auto", "version": "1", "entry_workflow": "agent_loop", "description": "does",
                          "autonomy_tier": "act_auto", "receipt_policy": "optional" });
    let made = api
        .request(reqwest::Method::POST, "/v1/personas")
        .idempotency_key("persona")
        .json(&persona)
        .send()
        .await;
    made.expect(201)["id"].as_str().unwrap().to_owned()
}

/// Lets clients work on a server, kills it some time after it has accepted a few things, however slow it is.
async fn storm(server: &mut Server, ledger: &Arc<Ledger>, round: u32, lifetime: Duration) {
    let workspace = server.workspace().await;
    let persona = act_auto(&server.api()).await;
    let clients: Vec<_> = (0..6)
        .map(|n| {
            let name = format!("r{round}c{n}");
            tokio::spawn(client(
                Arc::clone(ledger),
                server.url.clone(),
                workspace.clone(),
                persona.clone(),
                name,
            ))
        })
        .collect();
    let enough = ledger.accepted.lock().len() + ENOUGH;
    let filled = async {
        while ledger.accepted.lock().len() < enough {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(DEADLINE, filled).await.expect("the server accepts what it is sent");
    tokio::time::sleep(lifetime).await;
    server.kill();
    for client in clients {
        client.await.unwrap();
    }
}

/// Retries what had no answer, and checks that everything answered is there and nothing was done twice.
async fn check(server: &Server, ledger: &Ledger) {
    let api = server.api();
    let retries = std::mem::take(&mut *ledger.unanswered.lock());
    for (key, path, body) in retries {
        let answer = post(&server.url, &path, &key, &body).await.expect("a retry is answered");
        let again = post(&server.url, &path, &key, &body).await.expect("a second retry is answered");
        assert_eq!(answer["id"], again["id"], "a retry made a duplicate");
    }
    let accepted = ledger.accepted.lock().clone();
    for (path, field, value) in &accepted {
        assert_eq!(api.get(path).await.expect(200)[field], *value, "{path}");
    }
    for (path, _, _) in accepted.iter().filter(|(path, _, _)| path.starts_with("/v1/tasks/")) {
        let task = terminal(&api, path).await;
        assert_eq!(task["status"], "COMPLETED", "{task}");
    }
    let effects = std::fs::read_to_string(server.folder.join("work/effects.log")).unwrap_or_default();
    let mut counts: HashMap<&str, u32> = HashMap::new();
    effects.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "side effects happened twice: {twice:?}");
}

async fn terminal(api: &Api, path: &str) -> Value {
    let mut stream = api.events(&format!("{path}/stream"), None).await;
    while stream.next(DEADLINE).await.is_some() {}
    api.get(path).await.expect(200)
}

fn verify(folder: &Path) {
    let report = harn_log::sqlite::verify(&folder.join("data"), &harn_harness::HarnessProjection).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn killed_at_random_instants_under_load_it_loses_nothing_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let rounds = if std::env::var_os("HARN_SOAK").is_some() { 60 } else { 5 };
    let ledger = Arc::new(Ledger::default());
    runtime().block_on(async {
        for round in 0..rounds {
            let mut server = Server::start(folder.path());
            // Instants that no one chose: the process id and the clock are random enough.
            let jitter =
                u64::from(std::process::id().wrapping_mul(2_654_435_761).wrapping_mul(round + 1) >> 23);
            storm(&mut server, &ledger, round, Duration::from_millis(100 + jitter)).await;
            verify(folder.path());
            let survivor = Server::start(folder.path());
            check(&survivor, &ledger).await;
        }
    });
    verify(folder.path());
}

/// A record of the shim: what a write replaced, or that a file was synced.
struct Undo {
    path: PathBuf,
    write: Option<(u64, u64, Vec<u8>)>,
}

fn read_undo_log(path: &Path) -> Vec<Undo> {
    let bytes = std::fs::read(path).unwrap();
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    let take = |rest: &mut &[u8], count: usize| -> Option<Vec<u8>> {
        let mut piece = vec![0; count];
        rest.read_exact(&mut piece).ok().map(|()| piece)
    };
    let number = |bytes: Vec<u8>| bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    while !rest.is_empty() {
        let parsed = (|| {
            let op = take(&mut rest, 1)?[0];
            let length = number(take(&mut rest, 4)?) as usize;
            let path = PathBuf::from(String::from_utf8(take(&mut rest, length)?).unwrap());
            let (offset, size) = (number(take(&mut rest, 8)?), number(take(&mut rest, 8)?));
            let length = number(take(&mut rest, 4)?) as usize;
            let old = take(&mut rest, length)?;
            Some(Undo { path, write: (op == b'W').then_some((offset, size, old)) })
        })();
        match parsed {
            Some(record) => records.push(record),
            // The process died in the middle of this record, so before the write that it announces.
            None => break,
        }
    }
    records
}

/// Takes back every write that was not synced, newest first; gives how many there were.
fn lose_unsynced_writes(log: &Path) -> usize {
    use std::os::unix::fs::FileExt;
    let records = read_undo_log(log);
    let mut lost = 0;
    let mut synced: Vec<&Path> = Vec::new();
    for record in records.iter().rev() {
        match &record.write {
            None => synced.push(&record.path),
            Some(_) if synced.contains(&record.path.as_path()) => {}
            Some((offset, size, old)) => {
                let Ok(file) = std::fs::OpenOptions::new().write(true).open(&record.path) else { continue };
                file.write_all_at(old, *offset).unwrap();
                file.set_len(*size).unwrap();
                lost += 1;
            }
        }
    }
    lost
}

fn compile_shim(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shim/unsynced.c");
    let library = folder.join("unsynced.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .args(["-ldl", "-pthread"])
        .status()
        .unwrap();
    assert!(status.success());
    library
}

#[test]
fn what_was_answered_survives_the_loss_of_all_unsynced_writes() {
    let folder = tempfile::tempdir().unwrap();
    let shim = compile_shim(folder.path());
    let undo = folder.path().join("undo.log");
    let ledger = Arc::new(Ledger::default());
    runtime().block_on(async {
        let mut server = {
            let mut command = command(folder.path());
            command
                .env("LD_PRELOAD", &shim)
                .env("UNSYNCED_DIR", folder.path().canonicalize().unwrap().join("data"))
                .env("UNSYNCED_LOG", &undo);
            Server::spawn(folder.path(), command)
        };
        storm(&mut server, &ledger, 0, Duration::from_millis(1500)).await;
        assert!(read_undo_log(&undo).iter().any(|record| record.write.is_none()), "the shim saw no sync");
        lose_unsynced_writes(&undo);
        let _ = std::fs::remove_file(folder.path().join("data/harn.db-shm"));
        verify(folder.path());
        let survivor = Server::start(folder.path());
        check(&survivor, &ledger).await;
    });
}

#[test]
fn a_running_command_does_not_outlive_the_server() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut server = Server::start(folder.path());
        let (workspace, persona) = (server.workspace().await, act_auto(&server.api()).await);
        let api = server.api();
        let session =
            api.post("/v1/sessions", json!({ "workspace_id": workspace, "persona_id": persona })).await;
        let session = session.expect(201)["id"].as_str().unwrap().to_owned();
        // A sandboxed command does not know its true process ids, so its processes are known by what they are.
        let [daemon, child] = ["1", "2"].map(|n| format!("1000.{}{n}", std::process::id()));
        let script = format!("run (setsid sleep {daemon} &); sleep {child}");
        let submitted =
            api.post(&format!("/v1/sessions/{session}/tasks"), json!({ "input": user(&script) })).await;
        submitted.expect(202);
        wait_until("both run", || sleeps(&daemon) && sleeps(&child));
        server.kill();
        wait_until("the command is gone", || !sleeps(&daemon) && !sleeps(&child));
    });
}

/// Whether a `sleep` of exactly this long is running. The dead have no command line any more.
fn sleeps(duration: &str) -> bool {
    let wanted = format!("sleep\0{duration}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|entry| entry.path().join("cmdline"))
        .any(|file| std::fs::read(file).is_ok_and(|line| line == wanted.as_bytes()))
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_zombie_with_a_stale_epoch_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut zombie = Server::start(folder.path());
        let workspace = zombie.workspace().await;
        kill(Pid::from_raw(zombie.pid()), Signal::SIGSTOP).unwrap();
        // A lock that was lost (another machine, a lost mount): the successor cannot see that the owner lives.
        std::fs::remove_file(folder.path().join("data/owner.lock")).unwrap();
        let successor = Server::start(folder.path());
        let body = json!({ "workspace_id": workspace });
        successor.api().post("/v1/sessions", body.clone()).await.expect(201);

        kill(Pid::from_raw(zombie.pid()), Signal::SIGCONT).unwrap();
        // It either says so or is already gone; it never writes.
        let url = zombie.url.clone();
        let asked = body.clone();
        let _ = tokio::spawn(async move { post(&url, "/v1/sessions", "zombie", &asked).await }).await;
        assert_eq!(zombie.wait().code(), Some(70), "a zombie stops");
        let sessions = successor.api().get("/v1/sessions").await.expect(200);
        assert_eq!(sessions["data"].as_array().unwrap().len(), 1);
        successor.api().post("/v1/sessions", body).await.expect(201);
    });
    verify(folder.path());
}

#[test]
fn a_second_server_on_the_same_data_refuses_and_names_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path());
    let second = command(folder.path()).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success());
    assert!(said.contains(&first.pid().to_string()) && said.contains(&first.url), "{said}");
}
