//! Commands in the background: their output, their end, and that nothing of them stays.

use harn_engine::tools::ToolOutput;
use serde_json::{Value, json};

use crate::command::{Family, run, without_sandbox};
use crate::kit::{Workspace, get, object};

async fn start(workspace: &Workspace, command: &str) -> Result<Value, String> {
    run(workspace, json!({ "command": command, "background": true })).await.map(|output| output.value)
}

async fn call(workspace: &Workspace, tool: &str, args: Value) -> Result<ToolOutput, String> {
    let (tool, args) = (get(tool), object(args));
    let prepared = tool.prepare(&workspace.ctx, &args).await.map_err(|failure| failure.message)?;
    tool.perform(&workspace.ctx, &args, prepared).await.map_err(|failure| failure.message)
}

/// What is new, waiting for it.
async fn look(workspace: &Workspace, handle: &str) -> Result<Value, String> {
    call(workspace, "command_output", json!({ "handle": handle, "wait_ms": 30_000 }))
        .await
        .map(|output| output.value)
}

async fn stop(workspace: &Workspace, handle: &str) -> Result<Value, String> {
    let stopped = call(workspace, "stop_command", json!({ "handle": handle })).await;
    stopped.map(|output| without_sandbox(output.value))
}

fn running(handle: &str, stdout: &str) -> Value {
    json!({ "handle": handle, "running": true, "stdout": stdout, "stderr": "" })
}

#[tokio::test]
async fn output_is_shown_as_it_comes_and_the_end_once() {
    let workspace = Workspace::new();
    let command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two; until [ -e end ]; do sleep 0.01; done; \
                   exit 4";
    assert_eq!(start(&workspace, command).await, Ok(json!({ "handle": "cmd_1", "running": true })));
    assert_eq!(look(&workspace, "cmd_1").await, Ok(running("cmd_1", "one\n")));
    let nothing = call(&workspace, "command_output", json!({ "handle": "cmd_1" })).await.unwrap();
    assert_eq!(nothing.value, running("cmd_1", ""));
    workspace.put("go", "");
    assert_eq!(look(&workspace, "cmd_1").await, Ok(running("cmd_1", "two\n")));
    workspace.put("end", "");
    let end = json!({
        "handle": "cmd_1", "running": false, "exit_code": 4, "signal": null, "timed_out": false,
        "stdout": "", "stderr": "",
    });
    assert_eq!(look(&workspace, "cmd_1").await.map(without_sandbox), Ok(end));
    assert_eq!(
        look(&workspace, "cmd_1").await,
        Err("The command `cmd_1` is over, and its end and output have been given already.".to_owned())
    );
}

#[tokio::test]
async fn stopping_takes_everything_and_gives_the_rest() {
    let (workspace, family) = (Workspace::new(), Family::new());
    start(&workspace, &format!("echo begun; {}", family.command())).await.unwrap();
    family.wait_for(3);
    let stopped = json!({
        "handle": "cmd_1", "running": false, "exit_code": null, "signal": null, "timed_out": false,
        "message": "It was stopped because you asked for it.", "stdout": "begun\n", "stderr": "",
    });
    assert_eq!(stop(&workspace, "cmd_1").await, Ok(stopped));
    assert!(family.is_gone());
}

#[tokio::test]
async fn a_limit_of_time_holds_in_the_background_too() {
    let (workspace, family) = (Workspace::new(), Family::new());
    let args = json!({ "command": family.sleep(), "background": true, "timeout_ms": 200 });
    run(&workspace, args).await.unwrap();
    let end = look(&workspace, "cmd_1").await.unwrap();
    assert_eq!((&end["stopped"], &end["timed_out"]), (&json!("time"), &json!(true)));
    assert!(family.is_gone());
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_run_is_over_so_are_its_commands() {
    let (mut workspace, families) = (Workspace::new(), [Family::new(), Family::new()]);
    for family in &families {
        start(&workspace, &family.command()).await.unwrap();
        family.wait_for(3);
    }
    workspace.ctx.background = std::sync::Arc::default();
    families.iter().for_each(Family::all_die);
}

#[tokio::test]
async fn a_handle_that_is_not_known_was_stopped_with_harn() {
    let workspace = Workspace::new();
    start(&workspace, "true").await.unwrap();
    for handle in ["cmd_2", "cmd_0", "cmd_01", "cmd_", "x", "cmd_99999999999999999999"] {
        for tool in ["command_output", "stop_command"] {
            let message = format!(
                "There is no command `{handle}` in the background. If it was started earlier, it was stopped when \
                 Harn restarted; start it again if it is still needed."
            );
            let answer = call(&workspace, tool, json!({ "handle": handle })).await;
            assert_eq!(answer, Err(message), "{tool} {handle}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_at_most_eight() {
    let (workspace, family) = (Workspace::new(), Family::new());
    for _ in 0..8 {
        start(&workspace, &family.sleep()).await.unwrap();
    }
    family.wait_for(8);
    let ninth = start(&workspace, "touch ran").await.unwrap_err();
    assert!(ninth.starts_with("There are 8 commands in the background already"), "{ninth}");
    stop(&workspace, "cmd_3").await.unwrap();
    let next = start(&workspace, &family.sleep()).await;
    assert_eq!(next, Ok(json!({ "handle": "cmd_9", "running": true })));
    assert!(workspace.names(".").is_empty());
    drop(workspace);
    family.all_die();
}

#[tokio::test]
async fn the_whole_of_a_long_output_is_attached_at_the_end() {
    let workspace = Workspace::new();
    start(&workspace, "seq 1 30000; until [ -e go ]; do sleep 0.01; done; echo last").await.unwrap();
    let mut shown = String::new();
    while !shown.contains("30000\n") {
        let new = call(
            &workspace,
            "command_output",
            json!({ "handle": "cmd_1", "wait_ms": 30_000, "max_bytes": 256 }),
        );
        shown.push_str(new.await.unwrap().value["stdout"].as_str().unwrap());
    }
    workspace.put("go", "");
    let mut attachments = Vec::new();
    while attachments.is_empty() {
        let new = call(&workspace, "command_output", json!({ "handle": "cmd_1", "wait_ms": 30_000 }))
            .await
            .unwrap();
        attachments = new.attachments;
    }
    let numbers = (1..=30_000).map(|number| format!("{number}\n")).collect::<String>();
    assert_eq!(attachments.len(), 1);
    assert_eq!(attachments[0].bytes, format!("{numbers}last\n").as_bytes());
}
