//! A folder with scripts, a harness over it, and a task that runs one of them.

use std::path::Path;

use harn_cli::wiring::Running;
use harn_core::{Outcome, Task, TaskId};
use harn_harness::{EventFilter, Harness};
use serde_json::{Value, json};

use crate::support::{alice, offline, open, request, user};

/// A folder whose workspace has these files.
pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

pub fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join("work").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub async fn harness(folder: &Path) -> Running {
    open(folder, offline(), Default::default()).await.unwrap()
}

/// Submits a task that runs a script of the owner.
pub async fn submit(running: &Running, script: Value, text: &str) -> harn_core::Result<Task> {
    let create = json!({ "workspace_id": running.workspace.id });
    let session = running.harness.create_session(&alice(), request(create)).await?.id;
    let body = json!({ "input": user(text), "metadata": { "script": script } });
    running.harness.submit_task(&alice(), session, request(body)).await
}

/// A task of a persona whose entry this is.
pub async fn submit_to_persona(running: &Running, entry: &str, input: Value) -> harn_core::Result<Task> {
    submit_to_tier(running, "act_auto", entry, input).await
}

pub async fn submit_to_tier(
    running: &Running,
    tier: &str,
    entry: &str,
    input: Value,
) -> harn_core::Result<Task> {
    let persona = json!({ "name": "p", "version": "1", "entry_workflow": entry, "description": "d",
                          "autonomy_tier": tier, "receipt_policy": "optional" });
    let persona = running.harness.create_persona(&alice(), request(persona)).await?;
    let create = json!({ "workspace_id": running.workspace.id, "persona_id": persona.id });
    let session = running.harness.create_session(&alice(), request(create)).await?.id;
    running.harness.submit_task(&alice(), session, request(json!({ "input": input }))).await
}

/// Waits until a task is over; gives it and its outcome.
pub async fn ended(harness: &Harness, id: &TaskId) -> (Task, Outcome) {
    let filter = EventFilter { task: Some(id.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
    let task = harness.task(&alice().actor, id).await.unwrap();
    let outcome = harness.outcome(&alice().actor, task.outcome_id.as_ref().unwrap()).await.unwrap();
    (task, outcome)
}

/// The events of a task, in order.
pub async fn events(harness: &Harness, id: &TaskId) -> Vec<Value> {
    let filter = EventFilter { task: Some(id.clone()), ..EventFilter::default() };
    let (mut events, mut after) = (Vec::new(), None);
    loop {
        let page = harness.events(&alice().actor, filter.clone(), after, Some(200)).await.unwrap();
        events.extend(page.data.iter().map(|event| serde_json::from_str::<Value>(event.get()).unwrap()));
        match page.next {
            Some(next) => after = Some(next.to_string()),
            None => return events,
        }
    }
}

/// All that a script printed.
pub fn printed(events: &[Value]) -> String {
    let output = events.iter().filter(|event| event["event"] == "vendor.harn.script_output");
    output.filter_map(|event| event["payload"]["text"].as_str()).collect()
}

/// Waits until no run has a driver.
pub async fn idle(running: &Running) {
    while running.harness.census(&alice().actor).await.unwrap().unwrap().active_runs > 0 {
        tokio::task::yield_now().await;
    }
}
