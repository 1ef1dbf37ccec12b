//! Commands that use up what there is: each is stopped, says so, and leaves nothing behind.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use serde_json::{Value, json};

use crate::command::{Family, run, without_sandbox};
use crate::kit::Workspace;

/// Runs a command to its bitter end, and says how long that took. `options` are for its guardian.
async fn runaway(name: &str, options: &[String], args: Value, family: &Family) -> (Value, Workspace) {
    let mut workspace = Workspace::new();
    workspace.ctx.guard.args = options.iter().map(Into::into).collect();
    let begun = Instant::now();
    let output = run(&workspace, args).await.unwrap();
    println!("{name} {options:?}: over after {:?}", begun.elapsed());
    assert!(family.is_gone(), "{name} {options:?}");
    let mut value = without_sandbox(output.value);
    for stream in ["stdout", "stderr", "stdout_artifact", "stderr_artifact"] {
        value.as_object_mut().unwrap().remove(stream);
    }
    (value, workspace)
}

fn stopped(at: &str, message: &str) -> Value {
    json!({
        "exit_code": null, "signal": null, "timed_out": at == "time", "stopped": at,
        "message": format!("It was stopped because {message}"),
    })
}

const NONE: &str = "--without=namespaces";

#[tokio::test]
async fn a_fork_bomb_is_stopped() {
    // Where only the guardian stands between it and the machine, the bomb has an end of its own: some 4,000 processes.
    let endless = "f(){ f|f& };f";
    let bounded = "f(){ if [ $1 -gt 0 ]; then f $(($1-1)) | f $(($1-1)) & fi; sleep 60; }; f 11 &";
    for (kind, bomb) in [("--sandbox=auto", endless), (NONE, bounded)] {
        let family = Family::new();
        let args = json!({ "command": format!("{bomb}\n{}", family.sleep()) });
        let options = ["--max-processes=100".to_owned(), kind.to_owned()];
        let (value, _) = runaway("fork bomb", &options, args, &family).await;
        let message = "it ran too many processes at once. Run less in parallel.";
        assert_eq!(value, stopped("processes", message), "{kind}");
    }
}

#[tokio::test]
async fn a_memory_hog_is_stopped() {
    let family = Family::new();
    // `tail` keeps a line until it is complete, and this one never is.
    let args = json!({ "command": format!("tail -c 4G /dev/zero | tail -n 1; {}", family.sleep()) });
    let options = [format!("--max-memory={}", 300 * 1024 * 1024)];
    let (value, _) = runaway("memory hog", &options, args, &family).await;
    assert_eq!(value, stopped("memory", "it used too much memory. Work on less at a time."));
}

#[tokio::test]
async fn a_flood_of_output_is_stopped() {
    let family = Family::new();
    let args = json!({ "command": format!("{} & yes & yes >&2", family.sleep()) });
    let (value, _) = runaway("flood", &[], args, &family).await;
    assert_eq!(value, stopped("output", "it wrote too much output. Write to a file, or filter it."));
}

#[tokio::test]
async fn who_fills_the_disk_is_stopped() {
    let family = Family::new();
    let here = nix::sys::statvfs::statvfs(&std::env::temp_dir()).unwrap();
    let free = here.blocks_available() * here.fragment_size();
    let options = [format!("--min-free={}", free - 32 * 1024 * 1024)];
    let args = json!({ "command": format!("dd if=/dev/zero of=big bs=1M count=4000; {}", family.sleep()) });
    let (value, workspace) = runaway("disk filler", &options, args, &family).await;
    assert_eq!(value, stopped("disk", "the disk was nearly full. Free space before you go on."));
    assert_eq!(workspace.names("."), ["big"]);
}

#[tokio::test]
async fn a_file_cannot_grow_without_end() {
    let family = Family::new();
    let options = ["--max-file-size=1048576".to_owned()];
    let args = json!({ "command": "dd if=/dev/zero of=big bs=64k count=100" });
    let (value, workspace) = runaway("large file", &options, args, &family).await;
    assert_eq!(value["exit_code"], 128 + 25, "SIGXFSZ, as the shell tells it");
    assert_eq!(std::fs::metadata(workspace.path("big")).unwrap().len(), 1024 * 1024);
}

#[tokio::test]
async fn who_tries_to_survive_dies_with_the_rest() {
    for kind in ["--sandbox=auto", NONE] {
        let family = Family::new();
        let sleep = family.sleep();
        let command =
            format!("setsid sh -c '( setsid {sleep} & ) & exit' & ( nohup {sleep} & ); sleep 0.2; exit 5");
        let (value, _) =
            runaway("survivor", &[kind.to_owned()], json!({ "command": command }), &family).await;
        assert_eq!(value, json!({ "exit_code": 5, "signal": null, "timed_out": false }), "{kind}");
    }
}

#[tokio::test]
async fn who_ignores_signals_is_stopped_when_time_is_up() {
    for kind in ["--sandbox=auto", NONE] {
        let family = Family::new();
        let command = format!("trap '' TERM INT HUP QUIT; {} & {}", family.command(), family.sleep());
        let args = json!({ "command": command, "timeout_ms": 1000 });
        let (value, _) = runaway("ignorer", &[kind.to_owned()], args, &family).await;
        let message = "its time was up. Give it a larger timeout_ms, or run it with background.";
        assert_eq!(value, stopped("time", message), "{kind}");
    }
}
