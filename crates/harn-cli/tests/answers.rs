//! What is told of an answer besides its words: calls that broke off, and tools that the provider ran.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::Task;
use harn_harness::EventFilter;
use serde_json::{Value, json};
use support::{alice, open, request, scripted, user};

/// A task on this script, and the payloads of its events of one kind.
async fn told(script: Value, kind: &[&str]) -> (Task, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script), Default::default()).await.unwrap();
    let create = request(json!({ "workspace_id": running.workspace.id }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    let body = request(json!({ "input": user("go") }));
    let task = running.harness.submit_task(&alice(), session, body).await.unwrap();
    let filter = EventFilter { task: Some(task.id.clone()), ..EventFilter::default() };
    let mut feed = running.harness.subscribe(&alice().actor, filter, None).await.unwrap();
    let mut payloads = Vec::new();
    while let Some(events) = feed.next().await.unwrap() {
        for event in events.iter().filter(|event| kind.contains(&event.name.as_str())) {
            let event: Value = serde_json::from_slice(&event.json).unwrap();
            payloads.push(event["payload"].clone());
        }
    }
    (running.harness.task(&alice().actor, &task.id).await.unwrap(), payloads)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_arguments_of_a_call_that_broke_off_are_told_whole() {
    let raw = format!("{{\"path\": \"a.txt\", \"content\": \"{}", "x".repeat(500));
    let broken = json!({ "id": "c", "name": "write_file", "raw": raw });
    let script = json!({ "responses": [{ "partial_calls": [broken], "cut": true }] });
    let (task, failed) = told(script, &["span.failed"]).await;
    assert_eq!(
        failed.iter().map(|payload| &payload["partial_calls"]).collect::<Vec<_>>(),
        [&json!([broken])]
    );
    assert_eq!(task.failure.unwrap().code, "cut_stream");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_that_the_provider_ran_are_told_as_its_own() {
    let found = json!({ "pages": ["key AKIAIOSFODNN7EXAMPLE"] });
    let script = json!({ "responses": [{ "text": "Found.", "provider_tools": [
        { "name": "web_search", "input": { "query": "harn" }, "output": found },
        { "name": "code", "input": "1 + 1" },
    ] }] });
    let (_, mut events) = told(script, &["agent.tool_use", "agent.tool_result"]).await;
    let message = events[1].as_object_mut().unwrap().remove("message_id").unwrap();
    assert!(message.as_str().unwrap().starts_with("message_"), "{message}");
    let expected = [
        json!({ "tool_call_id": "llm:main:1:1", "name": "web_search", "input": { "query": "harn" },
                "executor": "provider_native" }),
        json!({ "tool_call_id": "llm:main:1:1", "name": "web_search", "status": "ok",
                "output": { "pages": ["key [redacted: AWS access key id]"] }, "executor": "provider_native" }),
        json!({ "tool_call_id": "llm:main:1:2", "name": "code", "input": { "value": "1 + 1" },
                "executor": "provider_native" }),
    ];
    assert_eq!(events, expected);
}
