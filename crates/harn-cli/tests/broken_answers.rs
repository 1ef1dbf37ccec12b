//! What is kept of an answer that broke off.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_harness::EventFilter;
use serde_json::{Value, json};
use support::{alice, open, request, scripted, user};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_arguments_of_a_call_that_broke_off_are_told_whole() {
    let folder = tempfile::tempdir().unwrap();
    let raw = format!("{{\"path\": \"a.txt\", \"content\": \"{}", "x".repeat(500));
    let broken = json!({ "id": "c", "name": "write_file", "raw": raw });
    let script = json!({ "responses": [{ "partial_calls": [broken], "cut": true }] });
    let running = open(folder.path(), scripted(&script), Default::default()).await.unwrap();
    let create = request(json!({ "workspace_id": running.workspace.id }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    let body = request(json!({ "input": user("write") }));
    let task = running.harness.submit_task(&alice(), session, body).await.unwrap();

    let filter = EventFilter { task: Some(task.id.clone()), ..EventFilter::default() };
    let mut feed = running.harness.subscribe(&alice().actor, filter, None).await.unwrap();
    let mut failed: Vec<Value> = Vec::new();
    while let Some(events) = feed.next().await.unwrap() {
        for event in events.iter().filter(|event| event.name == "span.failed") {
            let event: Value = serde_json::from_slice(&event.json).unwrap();
            failed.push(event["payload"]["partial_calls"].clone());
        }
    }
    assert_eq!(failed, [json!([broken])]);
    let task = running.harness.task(&alice().actor, &task.id).await.unwrap();
    assert_eq!(task.failure.unwrap().code, "cut_stream");
}
