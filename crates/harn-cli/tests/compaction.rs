//! A session that outgrows its model: what later runs see, what is kept, and what truncation makes of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use futures::{StreamExt, stream};
use harn_cli::wiring::Running;
use harn_core::chat::{ChatMessage, ModelRef, ModelRequest, StopReason};
use harn_core::{SessionId, TaskId};
use harn_harness::EventFilter;
use harn_model::{Chunk, Model, ModelCard, ModelStream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{alice, open, request, user};

/// Answers everything with the same word, and remembers what it was asked.
#[derive(Default)]
struct Listener {
    heard: Mutex<Vec<Vec<ChatMessage>>>,
}

impl Model for Listener {
    fn reference(&self) -> ModelRef {
        ModelRef { provider: "test".into(), model: "listener".into() }
    }

    fn card(&self) -> ModelCard {
        ModelCard { context_window: 40_000, ..ModelCard::default() }
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let summary = request.system.contains("summarise");
        self.heard.lock().push(request.messages.to_vec());
        let text = if summary { "They talked for long." } else { "Yes." };
        stream::iter([Ok(Chunk::Text(text.into())), Ok(Chunk::Stop(StopReason::EndTurn))]).boxed()
    }
}

/// What a run's first real call saw, shortened.
fn last_call(listener: &Listener) -> Vec<String> {
    let heard = listener.heard.lock();
    heard.last().unwrap().iter().map(shortened).collect()
}

fn shortened(message: &ChatMessage) -> String {
    match message {
        ChatMessage::User { text, .. }
        | ChatMessage::System { text }
        | ChatMessage::Assistant { text, .. } => {
            text.lines().next().unwrap_or_default().chars().take(30).collect()
        }
        ChatMessage::Tool { output, .. } => output.clone(),
    }
}

async fn run(running: &Running, session: &SessionId, text: &str) -> TaskId {
    let submit = request(json!({ "input": user(text) }));
    let task = running.harness.submit_task(&alice(), session.clone(), submit).await.unwrap().id;
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = running.harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
    task
}

async fn compactions(running: &Running) -> Vec<Value> {
    let page = running.harness.events(&alice().actor, EventFilter::default(), None, Some(200)).await.unwrap();
    let events = page.data.iter().map(|event| serde_json::from_str::<Value>(event.get()).unwrap());
    events.filter(|event| event["event"] == "session.compacted").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_runs_see_the_summary_and_the_dropped_part_is_an_artifact() {
    let folder = tempfile::tempdir().unwrap();
    let listener = Arc::new(Listener::default());
    let running = open(folder.path(), listener.clone(), Default::default()).await.unwrap();
    let create = request(json!({ "workspace_id": running.workspace.id }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    run(&running, &session, &format!("first {}", "word ".repeat(20_000))).await;
    run(&running, &session, "second").await;
    assert_eq!(last_call(&listener)[0], "[Summary of the earlier conver");
    assert_eq!(last_call(&listener).last().unwrap(), "second");

    let told = compactions(&running).await;
    assert_eq!(told.len(), 1);
    let payload = &told[0]["payload"];
    assert!(payload["estimated_tokens_after"].as_u64() < payload["estimated_tokens_before"].as_u64());
    let artifact = payload["snapshot_artifact_id"].as_str().unwrap().into();
    let (_, blob) = running.harness.artifact_content(&alice().actor, &artifact).await.unwrap();
    let kept: Vec<ChatMessage> = serde_json::from_slice(&blob.bytes().unwrap()).unwrap();
    assert_eq!(shortened(&kept[0]), "first word word word word word", "what was dropped is kept");

    run(&running, &session, "third").await;
    let seen = last_call(&listener);
    assert_eq!(seen[0], "[Summary of the earlier conver", "the next run starts from the summary: {seen:?}");
    assert!(!seen.iter().any(|text| text.starts_with("first")), "{seen:?}");
    assert_eq!(compactions(&running).await.len(), 1, "and needs no second one");

    // Opened again, it is the same.
    drop(running);
    let running = loop {
        // The lock of the first life is released when its last task has ended.
        match open(folder.path(), listener.clone(), Default::default()).await {
            Ok(running) => break running,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    run(&running, &session, "fourth").await;
    assert_eq!(last_call(&listener)[0], "[Summary of the earlier conver");
    // A summary of what is no longer there would speak of the future.
    let keep = request(json!({ "keep_first": 0 }));
    running.harness.truncate_session(&alice(), session.clone(), keep).await.unwrap();
    run(&running, &session, "fifth").await;
    assert_eq!(last_call(&listener), ["fifth"]);
}
