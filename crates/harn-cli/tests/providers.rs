//! The same task on every provider: whatever the wire format, the run is the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

mod support;

use std::sync::Arc;

use harn_core::run::JournalEntry;
use harn_harness::EventFilter;
use harn_log::{RowFilter, RowKind};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::providers::gemini::GeminiCodec;
use harn_model::providers::ollama::OllamaCodec;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Codec, Credential, HttpModel, Model, Target, Transport, TransportOptions};
use harn_testkit::providers::{anthropic, gemini, ollama, openai_chat, openai_responses};
use serde_json::{Value, json};
use support::{alice, open, request, transcript, user};

const ANSWER: &str = "It says hello.";

fn model(
    codec: impl Codec + 'static,
    provider: &str,
    name: &str,
    url: &str,
    auth: Auth,
    key: &str,
) -> Arc<dyn Model> {
    let target = Target::new(provider, name, url, auth);
    let transport = Transport::new(&TransportOptions::default()).unwrap();
    Arc::new(HttpModel::new(Arc::new(codec), target, Credential::new(key, "KEY"), transport))
}

/// What the person sees, and the journal without what a provider chose.
async fn play(model: Arc<dyn Model>) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("work")).unwrap();
    std::fs::write(folder.path().join("work/notes.txt"), "hello\n").unwrap();
    let running = open(folder.path(), model, Default::default()).await.unwrap();
    let create = request(json!({ "workspace_id": running.workspace.id }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    let submit = request(json!({ "input": user("what does it say?") }));
    let task = running.harness.submit_task(&alice(), session.clone(), submit).await.unwrap().id;
    let filter = EventFilter { task: Some(task), ..EventFilter::default() };
    let mut feed = running.harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
    let journal = harn_log::read(&*running.log, |view| {
        let filter = RowFilter { kind: Some(RowKind::Journal), ..RowFilter::default() };
        let rows = view.rows(&filter, 0, usize::MAX)?;
        Ok::<_, harn_log::LogError>(rows.iter().map(|row| told(&row.parse().unwrap())).collect())
    });
    (transcript(&running.harness, &session).await, journal.await.unwrap())
}

fn told(entry: &JournalEntry) -> String {
    match entry {
        JournalEntry::Manifest { .. } => "manifest".into(),
        JournalEntry::Requested { key, call, .. } => format!("requested {key} {}", call.name),
        JournalEntry::Begun { key, .. } => format!("begun {key}"),
        JournalEntry::Completed { key, .. } => format!("completed {key}"),
        other => other.name().into(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_with_tools_runs_the_same_on_every_provider() {
    let args = json!({ "path": "notes.txt" });
    let usage = json!({ "input_tokens": 9, "output_tokens": 3 });
    let first = anthropic::Fake::start(vec![
        anthropic::Turn::Answer(json!({ "content": [{ "type": "tool_use", "id": "toolu_1", "name": "read_file", "input": args }],
                "stop_reason": "tool_use", "usage": usage })),
        anthropic::Turn::Answer(json!({ "content": [{ "type": "text", "text": ANSWER }], "stop_reason": "end_turn", "usage": usage })),
    ])
    .await;
    let chat = openai_chat::Fake::start(vec![
        openai_chat::Turn::Answer(openai_chat::Said {
            calls: vec![("call_1", "read_file", args.clone())],
            finish: "tool_calls",
            ..Default::default()
        }),
        openai_chat::Turn::Answer(openai_chat::Said { text: ANSWER, finish: "stop", ..Default::default() }),
    ])
    .await;
    let responses = openai_responses::Fake::start(vec![
        openai_responses::Turn::Answer(vec![openai_responses::call("call_1", "read_file", &args)]),
        openai_responses::Turn::Answer(vec![openai_responses::message(ANSWER)]),
    ])
    .await;
    let part = |part: Value| {
        json!({ "candidates": [{ "index": 0, "finishReason": "STOP",
                                 "content": { "role": "model", "parts": [part] } }],
                "usageMetadata": { "promptTokenCount": 9, "candidatesTokenCount": 3 } })
    };
    let google = gemini::Fake::start(vec![
        gemini::Turn::Answer(vec![part(json!({ "functionCall": { "name": "read_file", "args": args } }))]),
        gemini::Turn::Answer(vec![part(json!({ "text": ANSWER }))]),
    ])
    .await;
    let line = |message: Value| {
        json!({ "model": ollama::MODEL, "message": message, "done": true, "done_reason": "stop",
                "prompt_eval_count": 9, "eval_count": 3 })
    };
    let local = ollama::Fake::start(vec![
        ollama::Turn::Answer(vec![line(json!({ "role": "assistant", "content": "",
            "tool_calls": [{ "function": { "name": "read_file", "arguments": args } }] }))]),
        ollama::Turn::Answer(vec![line(json!({ "role": "assistant", "content": ANSWER }))]),
    ])
    .await;
    let header = |name: &str| Auth::Header(name.into());
    let models = [
        model(AnthropicCodec, "anthropic", "claude-x", &first.url, header("x-api-key"), anthropic::KEY),
        model(OpenAiChatCodec, "openai", "gpt-x", &chat.url, Auth::Bearer, openai_chat::KEY),
        model(OpenAiResponsesCodec, "openai", "gpt-x", &responses.url, Auth::Bearer, openai_responses::KEY),
        model(
            GeminiCodec,
            "google",
            "gemini-3-flash-preview",
            &google.url,
            header("x-goog-api-key"),
            gemini::KEY,
        ),
        model(OllamaCodec, "ollama", ollama::MODEL, &local.url, Auth::None, ""),
    ];
    let mut played = Vec::new();
    for model in models {
        played.push(play(model).await);
    }
    let (talk, journal) = played[0].clone();
    assert_eq!(talk.last().unwrap(), &format!("assistant: {ANSWER}"), "{talk:#?}");
    assert!(journal.contains(&"completed tool:main:1".to_owned()), "{journal:#?}");
    for other in &played {
        assert_eq!(other, &(talk.clone(), journal.clone()));
    }
}
