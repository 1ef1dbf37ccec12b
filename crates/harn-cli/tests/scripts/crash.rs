//! Script tasks stopped at every commit of the real log in turn, and one by `kill -9` of the real binary.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use harn_core::{TaskId, TaskStatus};
use harn_log::sqlite::{FlushPoint, Options};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::common::{ended, events, folder, idle, printed, write};
use crate::support::{HARN, alice, keyed, offline, open, request, user};

/// Each line of `ran.log` is one effect; what is printed says what the script saw of it.
const RUN: &str = "fn run(x) {\n  let r = __tool(\"run_command\", {command: \"echo ${x} >> ran.log\"})\n  \
                   return r.status\n}\n";

const SCRIPTS: [&str; 4] = [
    "let w = __tool(\"write_file\", {path: \"out.txt\", content: \"one\"})\nprintln(w.status)\nprintln(run(\"a\"))\n\
     let r = __tool(\"read_file\", {path: \"out.txt\"})\nprintln(r.status)\nprintln(\"end\")\n",
    "for s in parallel each [1, 2, 3] { n -> run(\"p${n}\") } { println(s) }\n",
    "let t = spawn { sleep(5)\n run(\"after\") }\nsleep(10)\nprintln(await(t))\n\
     println(try { deadline 5ms { sleep(60s) } } catch (e) { e })\n",
    "let c = channel(\"c\", 1)\nlet t = spawn {\n  for i in [1, 2] { send(c, run(\"c${i}\")) }\n  close_channel(c)\n}\n\
     for v in c { println(v) }\nawait(t)\n",
];

/// One life of a harness over a folder: the task is submitted and seen through. None when its log was stopped.
fn life(folder: &Path, stop_at: Option<(FlushPoint, u64)>) -> Option<(TaskId, TaskStatus, String)> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (stopped, mut stop) = watch::channel(false);
    let fault = move |point: FlushPoint, n: u64| {
        let strikes = stop_at == Some((point, n));
        if strikes {
            stopped.send_replace(true);
        }
        strikes
    };
    let options = Options { fault: Some(Arc::new(fault)), ..Options::default() };
    let end = runtime.block_on(async {
        let running = open(folder, offline(), options).await.ok()?;
        let work = async {
            let create = request(json!({ "workspace_id": running.workspace.id }));
            let session = running.harness.create_session(&keyed("session"), create).await.ok()?.id;
            let body = json!({ "input": user("go"), "metadata": { "script": { "path": "a.harn" } } });
            let task = running.harness.submit_task(&keyed("task"), session, request(body)).await.ok()?;
            let (task, _) = ended(&running.harness, &task.id).await;
            let shown = printed(&events(&running.harness, &task.id).await);
            Some((task.id, task.status, shown))
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopped| *stopped) => None,
            end = work => end,
            () = tokio::time::sleep(Duration::from_secs(60)) => panic!("nothing happened for a minute"),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(10));
    end
}

fn ran(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("work/ran.log")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn prepared(script: &str) -> tempfile::TempDir {
    folder(&[("a.harn", &format!("{RUN}{script}"))])
}

#[test]
fn a_script_stopped_at_every_commit_ends_as_one_left_alone() {
    for script in SCRIPTS {
        let first = prepared(script);
        let (_, status, alone) = life(first.path(), None).unwrap();
        assert_eq!(status, TaskStatus::Completed, "{script}");
        assert!(!alone.contains("interrupted") && !alone.contains("error"), "{alone}");
        let all = ran(first.path());
        for n in 1.. {
            let mut is_stopped = false;
            for point in [FlushPoint::Before, FlushPoint::After] {
                let folder = prepared(script);
                let when = format!("{point:?} flush {n} of {script}");
                let end = life(folder.path(), Some((point, n)));
                is_stopped |= end.is_none();
                let (_, status, shown) = end.or_else(|| life(folder.path(), None)).unwrap();
                assert_eq!(status, TaskStatus::Completed, "{when}");
                assert_eq!(shown.replace("interrupted", "ok"), alone, "{when}");
                let (lines, cut) = (ran(folder.path()), shown.matches("interrupted").count());
                let mut once = lines.clone();
                once.dedup();
                assert_eq!(lines, once, "an effect happened twice: {when}");
                assert!(all.len() - lines.len() <= cut, "{lines:?} {when}");
            }
            if !is_stopped {
                break;
            }
        }
    }
}

#[test]
fn a_run_that_sleeps_for_long_is_parked_and_woken_when_its_time_has_come() {
    let folder = folder(&[("a.harn", "println(\"before\")\nsleep(31s)\nprintln(\"after\")\n")]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let running = open(folder.path(), offline(), Options::default()).await.unwrap();
        let task = crate::common::submit(&running, json!({ "path": "a.harn" }), "").await.unwrap();
        // Nothing of it is in memory while it sleeps.
        idle(&running).await;
        let sleeping = running.harness.task(&alice().actor, &task.id).await.unwrap();
        assert_eq!(sleeping.status, TaskStatus::Working);
        let (task, _) = ended(&running.harness, &task.id).await;
        assert_eq!(task.status, TaskStatus::Completed);
        assert_eq!(printed(&events(&running.harness, &task.id).await), "before\nafter\n");
    });
}

pub fn harn(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(HARN);
    command
        .env("HARN_LLM_MODEL", "offline")
        .env_remove("HARN_URL")
        .current_dir(folder.join("work"))
        .args(args);
    command
}

#[test]
fn a_run_of_the_real_binary_that_was_killed_is_resumed() {
    let script = "println(run(\"first\"))\nsleep(2s)\nprintln(run(\"second\"))\n7\n";
    let folder = prepared("");
    write(folder.path(), "a.harn", &format!("{RUN}{script}"));
    let mut child =
        harn(folder.path(), &["run", "--durable", "a.harn"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    assert_eq!(line, "ok\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = harn(folder.path(), &["runs", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = listed["data"][0]["id"].as_str().unwrap();
    let resumed = harn(folder.path(), &["runs", "resume", id]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&resumed.stdout), "ok\nok\n", "{resumed:?}");
    assert_eq!(resumed.status.code(), Some(7));
    assert_eq!(ran(folder.path()), ["first", "second"]);
    let shown = harn(folder.path(), &["runs", "show", id, "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!((&shown["task"]["status"], &shown["output"]), (&json!("COMPLETED"), &json!("ok\nok\n")));
    assert_eq!(shown["effects"].as_array().unwrap().len(), 2, "{shown}");
}
