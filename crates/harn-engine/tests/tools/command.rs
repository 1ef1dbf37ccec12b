//! Commands: what comes back, and that nothing of them stays.

use std::time::Duration;

use harn_engine::tools::Prepared;
use serde_json::{Value, json};

use crate::kit::{Workspace, eventually, get, is_dead, object};

/// Starts a child, an orphan and a daemon in a session of its own, and then never ends.
pub const FAMILY: &str = "
    sh -c 'echo $$ > child.pid; exec sleep 1000' &
    ( sh -c 'echo $$ > orphan.pid; exec sleep 1000' & )
    setsid sh -c '( sh -c \"echo \\$\\$ > daemon.pid; exec sleep 1000\" & )' &
    echo $$ > shell.pid
    wait; sleep 1000";

/// The processes of [`FAMILY`], once all of them run.
pub fn family(workspace: &Workspace) -> Vec<i32> {
    ["child.pid", "orphan.pid", "daemon.pid", "shell.pid"].map(|file| workspace.pid_in(file)).to_vec()
}

pub fn all_die(family: Vec<i32>) {
    eventually("every process dies", || family.iter().all(|pid| is_dead(*pid)));
}

fn ended(exit_code: i32, stdout: &str, stderr: &str) -> Value {
    json!({ "exit_code": exit_code, "signal": null, "timed_out": false, "stdout": stdout, "stderr": stderr })
}

#[tokio::test]
async fn a_command_gives_its_exit_and_its_output() {
    let workspace = Workspace::new();
    workspace.put("here", "");
    let cases = [
        ("echo out; echo err >&2", ended(0, "out\n", "err\n")),
        ("exit 7", ended(7, "", "")),
        ("ls", ended(0, "here\n", "")),
        ("cat; echo no input", ended(0, "no input\n", "")),
        (r"printf 'a\377b'", ended(0, "a\u{fffd}b", "")),
        ("env | grep -c CARGO", ended(1, "0\n", "")),
        ("test -n \"$PATH\" && echo set", ended(0, "set\n", "")),
        ("exec >&- 2>&-; exit 3", ended(3, "", "")),
    ];
    for (command, output) in cases {
        assert_eq!(
            workspace.call("run_command", json!({ "command": command })).await,
            Ok(output),
            "{command}"
        );
    }
}

#[tokio::test]
async fn a_command_that_begins_with_a_dash_is_still_a_command() {
    let workspace = Workspace::new();
    let output = workspace.call("run_command", json!({ "command": "-x" })).await.unwrap();
    assert_eq!(output["exit_code"], 127);
}

#[tokio::test]
async fn a_signal_that_ends_the_command_is_reported() {
    let workspace = Workspace::new();
    for (name, signal) in [("TERM", 15), ("INT", 2), ("KILL", 9)] {
        let command = format!("kill -{name} $$; echo not reached");
        let output = workspace.call("run_command", json!({ "command": command })).await;
        let wanted =
            json!({ "exit_code": null, "signal": signal, "timed_out": false, "stdout": "", "stderr": "" });
        assert_eq!(output, Ok(wanted), "{name}");
    }
}

#[tokio::test]
async fn what_runs_in_the_background_does_not_hold_up_the_result_and_is_stopped() {
    let workspace = Workspace::new();
    let command = "sleep 1000 & echo $! > pid; echo done";
    let output = workspace.call("run_command", json!({ "command": command })).await;
    assert_eq!(output, Ok(ended(0, "done\n", "")));
    assert!(is_dead(workspace.pid_in("pid")), "it is dead before the result is there");
}

#[tokio::test]
async fn at_the_timeout_everything_is_stopped() {
    let workspace = Workspace::new();
    let args = json!({ "command": format!("echo begun; {FAMILY}"), "timeout_ms": 2000 });
    let output = workspace.call("run_command", args).await;
    let wanted =
        json!({ "exit_code": null, "signal": null, "timed_out": true, "stdout": "begun\n", "stderr": "" });
    assert_eq!(output, Ok(wanted));
    for pid in family(&workspace) {
        assert!(is_dead(pid), "{pid} is dead before the result is there");
    }
}

#[tokio::test]
async fn a_flood_is_cut_in_the_middle_and_stopped_at_the_timeout() {
    let workspace = Workspace::new();
    let args = json!({ "command": "echo first; yes & yes >&2", "timeout_ms": 300 });
    let output = workspace.call("run_command", args).await.unwrap();
    assert_eq!(output["timed_out"], true);
    let stdout = output["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("first\ny\n") && stdout.contains(" bytes dropped]\n"));
    for stream in ["stdout", "stderr"] {
        let length = output[stream].as_str().unwrap().len();
        assert!((256 * 1024..256 * 1024 + 100).contains(&length), "{stream}: {length}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_stops_everything_and_says_so() {
    let workspace = Workspace::new();
    let (ctx, args) = (workspace.ctx.clone(), object(json!({ "command": FAMILY })));
    let running = tokio::spawn(async move { get("run_command").perform(&ctx, &args, Prepared::Ready).await });
    let family = family(&workspace);
    workspace.ctx.cancel.cancel();
    let failure = running.await.unwrap().unwrap_err();
    assert_eq!(failure.message, "The command was cancelled and everything that it had started was stopped.");
    assert!(family.iter().all(|pid| is_dead(*pid)));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_call_stops_everything() {
    let workspace = Workspace::new();
    let (ctx, args) = (workspace.ctx.clone(), object(json!({ "command": FAMILY })));
    let running = tokio::spawn(async move { get("run_command").perform(&ctx, &args, Prepared::Ready).await });
    let family = family(&workspace);
    running.abort();
    all_die(family);
}

#[tokio::test]
async fn a_command_without_a_guardian_is_not_run() {
    let mut workspace = Workspace::new();
    workspace.ctx.guard.program = workspace.path("absent");
    let message = workspace.call("run_command", json!({ "command": "touch ran" })).await.unwrap_err();
    assert!(message.starts_with("The command was not run: its guardian"), "{message}");
    assert!(workspace.names(".").is_empty());
}

#[tokio::test]
async fn a_guardian_that_is_killed_leaves_the_end_unknown() {
    let workspace = Workspace::new();
    let call = workspace.call("run_command", json!({ "command": "kill -9 $PPID; exit 0" }));
    let message = tokio::time::timeout(Duration::from_secs(30), call).await.unwrap().unwrap_err();
    assert!(message.contains("How the command ended is unknown"), "{message}");
}
