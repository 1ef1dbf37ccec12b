//! What people and tools show reaches the provider: uploaded, referred to, filled in right before the call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::{Json, Router};
use harn_core::SessionId;
use harn_log::RowFilter;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::{Auth, Credential, HttpModel, Model, Target, Transport, TransportOptions};
use harn_testkit::Api;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{Local, ended, id, session, session_with, workspace};
use support::{alice, open, request, transcript, user};
use tokio::sync::watch;

/// The smallest PNG there is: one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82";
const PNG_BASE64: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC";
const PDF: &[u8] = b"%PDF-1.7\n";
const PDF_BASE64: &str = "JVBERi0xLjcK";

/// What the provider does with one call.
enum Turn {
    Say(&'static str),
    Call(&'static str, Value),
    /// Takes the request and never answers it.
    Hang,
}

#[derive(Default)]
struct Script {
    turns: VecDeque<Turn>,
    heard: Vec<Value>,
}

/// A provider that speaks Chat Completions and remembers what it was sent. After its script it says `Yes.`
struct Provider {
    url: String,
    script: Arc<Mutex<Script>>,
    calls: watch::Receiver<usize>,
}

impl Provider {
    async fn start(turns: Vec<Turn>) -> Self {
        let script = Arc::new(Mutex::new(Script { turns: turns.into(), heard: Vec::new() }));
        let (called, calls) = watch::channel(0);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state((Arc::clone(&script), Arc::new(called)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, script, calls }
    }

    fn model(&self) -> Arc<dyn Model> {
        let mut target = Target::new("openai", "gpt-x", &self.url, Auth::Bearer);
        target.capabilities.documents = true;
        let transport = Transport::new(&TransportOptions::default()).unwrap();
        let codec = Arc::new(OpenAiChatCodec);
        Arc::new(HttpModel::new(codec, target, Credential::new("sk-test", "KEY"), transport))
    }

    /// The conversations that it was sent, one per call, without the instructions.
    fn heard(&self) -> Vec<Vec<Value>> {
        let script = self.script.lock();
        script.heard.iter().map(|body| body["messages"].as_array().unwrap()[1..].to_vec()).collect()
    }

    async fn called(&self, times: usize) {
        let mut calls = self.calls.clone();
        calls.wait_for(|calls| *calls >= times).await.unwrap();
    }
}

type Shared = (Arc<Mutex<Script>>, Arc<watch::Sender<usize>>);

async fn answer(State((script, called)): State<Shared>, body: Bytes) -> Json<Value> {
    let turn = {
        let mut script = script.lock();
        script.heard.push(serde_json::from_slice(&body).unwrap());
        script.turns.pop_front().unwrap_or(Turn::Say("Yes."))
    };
    called.send_modify(|calls| *calls += 1);
    let (message, finish) = match turn {
        Turn::Say(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Turn::Call(name, args) => {
            let function = json!({ "name": name, "arguments": args.to_string() });
            let call = json!({ "id": "call_1", "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
        Turn::Hang => std::future::pending().await,
    };
    Json(json!({ "id": "x", "object": "chat.completion",
                 "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
                 "usage": { "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 } }))
}

struct World {
    provider: Provider,
    server: Local,
    api: Api,
    folder: tempfile::TempDir,
}

async fn world(turns: Vec<Turn>) -> World {
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start(turns).await;
    let server = Local::start(folder.path(), provider.model()).await;
    let api = server.key("alice", &["*"]).await;
    World { provider, server, api, folder }
}

/// Registers an artifact.
async fn registered(api: &Api, mime_type: &str, visibility: &str, place: Value) -> String {
    let mut body = json!({ "kind": "image", "mime_type": mime_type, "visibility": visibility });
    body.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
    id(&api.post("/v1/artifacts", body).await.expect(201))
}

async fn uploaded(api: &Api, mime_type: &str, visibility: &str, place: Value, content: &[u8]) -> String {
    let artifact = registered(api, mime_type, visibility, place).await;
    let path = format!("/v1/artifacts/{artifact}/content");
    api.request(Method::PUT, &path)
        .bytes(content.to_vec(), "application/octet-stream")
        .send()
        .await
        .expect(200);
    artifact
}

fn image(artifact: &str) -> Value {
    json!({ "type": "image_ref", "artifact_id": artifact, "mime_type": "image/png", "visibility": "public" })
}

fn reference(artifact: &str) -> Value {
    json!({ "type": "artifact_ref", "artifact_id": artifact, "visibility": "public" })
}

/// Runs a task with these parts, and gives the message that the provider got for it.
async fn shown(world: &World, session: &str, parts: Vec<Value>) -> Value {
    let input = json!({ "role": "user", "parts": parts });
    let path = format!("/v1/sessions/{session}/tasks");
    let task = id(&world.api.post(&path, json!({ "input": input })).await.expect(202));
    assert_eq!(ended(&world.api, &task).await["status"], "COMPLETED");
    world.provider.heard().last().unwrap().last().unwrap().clone()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn picture() -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PNG_BASE64}") } })
}

/// Every row of the log, as text.
async fn log_of(world: &World) -> String {
    let rows = harn_log::read(&*world.server.running.log, |view| {
        let rows = view.rows(&RowFilter::default(), 0, usize::MAX)?;
        Ok::<_, harn_log::LogError>(rows.iter().map(|row| format!("{row:?}\n")).collect::<String>())
    });
    rows.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_shows_arrives_with_its_content() {
    let world = world(Vec::new()).await;
    let place = json!({ "workspace_id": workspace(&world.api).await });
    let png = uploaded(&world.api, "image/png", "public", place.clone(), PNG).await;
    let pdf = uploaded(&world.api, "application/pdf", "public", place.clone(), PDF).await;
    let log = uploaded(&world.api, "text/plain", "public", place, b"words").await;
    let words = json!({ "type": "text", "text": "look", "visibility": "public" });
    let session = session(&world.api).await;
    let message = shown(&world, &session, vec![words, image(&png), reference(&pdf), reference(&log)]).await;
    let told = format!("look\n\n[image {png}, image/png]\n\n[artifact {pdf}]\n\n[artifact {log}]");
    let file = json!({ "filename": "document.pdf",
                       "file_data": format!("data:application/pdf;base64,{PDF_BASE64}") });
    let content = json!([text(&told), picture(), { "type": "file", "file": file }]);
    assert_eq!(message, json!({ "role": "user", "content": content }));
    let log = log_of(&world).await;
    assert!(log.contains(&png) && !log.contains(PNG_BASE64), "the log holds references, not content");
    // The next run of the session sees it again.
    shown(&world, &session, vec![json!({ "type": "text", "text": "and?", "visibility": "public" })]).await;
    assert_eq!(world.provider.heard().last().unwrap()[0], message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_shown_is_told_and_the_run_goes_on() {
    let world = world(Vec::new()).await;
    let api = &world.api;
    let here = json!({ "workspace_id": workspace(api).await });
    let foreign = api.post("/v1/workspaces", json!({ "name": "b", "root": "harn://b" })).await.expect(201);
    let foreign = json!({ "workspace_id": id(&foreign) });
    let (mine, other) = (session(api).await, session_with(api, json!({})).await);
    let in_session = |session: &str| json!({ "session_id": session });
    let mut large = PNG.to_vec();
    large.resize(5 * 1024 * 1024 + 1, 0);
    let unseen = "there is no such artifact in this run's workspace";
    let cases = [
        ("artifact_none".to_owned(), unseen),
        (uploaded(api, "image/png", "public", foreign, PNG).await, unseen),
        (uploaded(api, "image/png", "public", json!({}), PNG).await, unseen),
        (uploaded(api, "image/png", "internal", in_session(&other), PNG).await, unseen),
        (uploaded(api, "image/png", "internal", here.clone(), PNG).await, unseen),
        (registered(api, "image/png", "receipt_only", here.clone()).await, unseen),
        (registered(api, "image/png", "public", here.clone()).await, "nothing was uploaded to it"),
        (
            uploaded(api, "image/png", "public", here.clone(), &large).await,
            "it has 5242881 bytes, and an image may have at most 5242880",
        ),
        // What it is counts, not what it is called.
        (
            uploaded(api, "application/pdf", "public", here.clone(), &large).await,
            "it has 5242881 bytes, and an image may have at most 5242880",
        ),
        (
            uploaded(api, "image/png", "public", here, b"words").await,
            "its content is not PNG, JPEG, GIF, WebP or PDF",
        ),
    ];
    for (artifact, why) in cases {
        let told = format!("[image {artifact}, image/png]\n[image {artifact} is not available: {why}]");
        let session = session(api).await;
        let message = shown(&world, &session, vec![image(&artifact)]).await;
        assert_eq!(message, json!({ "role": "user", "content": told }));
    }
    // An internal one of the run's own session is as visible to it as the session's other internal parts.
    let own = uploaded(api, "image/png", "internal", in_session(&mine), PNG).await;
    let content = json!([text(&format!("[image {own}, image/png]")), picture()]);
    assert_eq!(shown(&world, &mine, vec![image(&own)]).await, json!({ "role": "user", "content": content }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_media_take_the_room_of_older_ones() {
    let world = world(Vec::new()).await;
    let place = json!({ "workspace_id": workspace(&world.api).await });
    let mut large = PNG.to_vec();
    large.resize(5 * 1024 * 1024, 0);
    let large = uploaded(&world.api, "image/png", "public", place.clone(), &large).await;
    let small = uploaded(&world.api, "image/png", "public", place, PNG).await;
    let session = session(&world.api).await;
    let images = [&large, &large, &large, &large, &large, &small];
    let message = shown(&world, &session, images.iter().map(|artifact| image(artifact)).collect()).await;
    let content = message["content"].as_array().unwrap();
    let no_room = format!(
        "[image {large} is not available: newer images and documents have taken the room of this call]"
    );
    let told = content[0]["text"].as_str().unwrap();
    assert_eq!(told.matches(&no_room).count(), 1, "{told}");
    let sizes: Vec<usize> =
        content[1..].iter().map(|part| part["image_url"]["url"].as_str().unwrap().len()).collect();
    let (prefix, encoded) = ("data:image/png;base64,".len(), 5 * 1024 * 1024_usize);
    let whole = prefix + encoded.div_ceil(3) * 4;
    assert_eq!(sizes, [whole, whole, whole, whole, prefix + PNG_BASE64.len()]);

    let many = (0..150).map(|_| image(&small)).collect();
    let message = shown(&world, &session, many).await;
    assert_eq!(message["content"].as_array().unwrap().len(), 1 + 100, "a call looks at a hundred at most");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_is_read_is_seen_in_the_next_call_and_kept() {
    let world = world(vec![Turn::Call("read_file", json!({ "path": "notes.txt" }))]).await;
    std::fs::write(world.folder.path().join("work/notes.txt"), PNG).unwrap();
    let session = session(&world.api).await;
    let beside = shown(&world, &session, user("what is it?")["parts"].as_array().unwrap().clone()).await;
    let content = json!([text("What the tools returned besides words:"), picture()]);
    assert_eq!(beside, json!({ "role": "user", "content": content }));
    let heard = world.provider.heard();
    let result = heard[1][2].clone();
    let told: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
    let artifact = told["content_artifact"].as_str().unwrap();
    let content = format!("[image shown with this result: image/png, {} bytes]", PNG.len());
    assert_eq!(told, json!({ "path": "notes.txt", "content": content, "content_artifact": artifact }));
    let stored = world.api.get(&format!("/v1/artifacts/{artifact}")).await.expect(200);
    assert_eq!((&stored["kind"], &stored["mime_type"]), (&json!("image"), &json!("image/png")));
    assert_eq!(world.api.get(&format!("/v1/artifacts/{artifact}/content")).await.bytes, PNG);
    assert!(!log_of(&world).await.contains(PNG_BASE64), "the journal holds a reference, not content");
    // A later run has the words of the result.
    shown(&world, &session, user("and?")["parts"].as_array().unwrap().clone()).await;
    let later = world.provider.heard().last().unwrap().clone();
    assert_eq!(later[2], result);
    assert_eq!(later[3], json!({ "role": "assistant", "content": "Yes." }));
}

/// One life of a harness over this folder, in a runtime that ends with it.
fn life<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(10));
    result
}

#[test]
fn a_call_that_is_made_again_after_a_crash_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("work")).unwrap();
    std::fs::write(folder.path().join("work/a.png"), PNG).unwrap();
    let outside = tokio::runtime::Runtime::new().unwrap();
    let turns = vec![Turn::Call("read_file", json!({ "path": "a.png" })), Turn::Hang, Turn::Say("A pixel.")];
    let provider = outside.block_on(Provider::start(turns));
    let session: SessionId = life(async {
        let running = open(folder.path(), provider.model(), Default::default()).await.unwrap();
        let create = request(json!({ "workspace_id": running.workspace.id }));
        let session = running.harness.create_session(&alice(), create).await.unwrap().id;
        let submit = request(json!({ "input": user("what is it?") }));
        running.harness.submit_task(&alice(), session.clone(), submit).await.unwrap();
        provider.called(2).await;
        // From here on nothing of the call counts, as after a crash: the runtime may end its connection first.
        running.harness.drain(Duration::ZERO).await;
        session
    });
    let said = life(async {
        let running = open(folder.path(), provider.model(), Default::default()).await.unwrap();
        let filter = harn_harness::EventFilter { session: Some(session.clone()), ..Default::default() };
        let mut feed = running.harness.subscribe(&alice().actor, filter, None).await.unwrap();
        while let Some(items) = feed.next().await.unwrap() {
            if items.iter().any(|item| ["task.completed", "task.failed"].contains(&item.name.as_str())) {
                break;
            }
        }
        transcript(&running.harness, &session).await
    });
    assert_eq!(said.last().unwrap(), "assistant: A pixel.");
    let heard = provider.heard();
    assert_eq!(heard.len(), 3);
    assert_eq!(heard[1], heard[2]);
    assert_eq!(heard[2].last().unwrap()["content"][1], picture());
}
