//! What the tests over HTTP share: the usual requests, waiting by listening, and a server in process whose keys may
//! be anything.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use harn_cli::wiring::Running;
use harn_core::{KeyId, Scope, WorkspaceAccess, WorkspaceId};
use harn_harness::Secret;
use harn_log::sqlite::Options;
use harn_model::Model;
use harn_serve::{ServeOptions, Trust, router, serve_tcp};
use harn_testkit::{Answer, Api};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::server::{KEY, Server};
use super::{HARN, open, user};

/// Longer than anything here may take.
pub const SOON: Duration = Duration::from_secs(30);

/// The real binary over an empty folder.
pub struct Started {
    pub api: Api,
    pub server: Server,
    pub folder: tempfile::TempDir,
}

pub fn started() -> Started {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    Started { api: server.api(), server, folder }
}

/// The real binary with a model that plays this script.
pub fn started_with(script: &Value) -> Started {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    std::fs::write(&file, script.to_string()).unwrap();
    let mut command = super::server::command(folder.path());
    command.arg("--scripted-model").arg(file);
    let server = Server::spawn(folder.path(), command);
    Started { api: server.api(), server, folder }
}

impl Started {
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub async fn lives(&self) {
        assert_eq!(self.api.get("/health").await.expect(200)["ok"], true);
    }
}

pub fn id(resource: &Value) -> String {
    resource["id"].as_str().unwrap_or_else(|| panic!("no id: {resource}")).to_owned()
}

/// The `name` of each event.
pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

pub fn part(text: &str, visibility: &str) -> Value {
    json!({ "type": "text", "text": text, "visibility": visibility })
}

/// A user's message of these parts.
pub fn said(parts: &[Value]) -> Value {
    json!({ "role": "user", "parts": parts })
}

/// All text of a message.
pub fn text(message: &Value) -> String {
    let parts = message["parts"].as_array().unwrap().iter();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("|")
}

#[track_caller]
pub fn refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.error_code()), (status, code), "{answer}");
}

pub async fn workspace(api: &Api) -> String {
    id(&api.get("/v1/workspaces").await.expect(200)["data"][0])
}

/// A new session in the first workspace.
pub async fn session(api: &Api) -> String {
    session_with(api, json!({})).await
}

/// A new session in the first workspace, with more fields.
pub async fn session_with(api: &Api, fields: Value) -> String {
    let mut body = json!({ "workspace_id": workspace(api).await });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    id(&api.post("/v1/sessions", body).await.expect(201))
}

pub async fn say(api: &Api, session: &str, text: &str) -> Value {
    api.post(&format!("/v1/sessions/{session}/messages"), json!({ "message": user(text) })).await.expect(201)
}

pub async fn submit(api: &Api, session: &str, text: &str) -> Value {
    api.post(&format!("/v1/sessions/{session}/tasks"), json!({ "input": user(text) })).await.expect(202)
}

pub async fn persona(api: &Api, tier: &str, metadata: Value) -> String {
    let body = json!({ "name": tier, "version": "1", "entry_workflow": "agent_loop", "description": "for a test",
                       "autonomy_tier": tier, "receipt_policy": "optional", "metadata": metadata });
    id(&api.post("/v1/personas", body).await.expect(201))
}

/// Sends a write under an idempotency key.
pub async fn keyed(api: &Api, path: &str, key: &str, body: &Value) -> Answer {
    api.request(Method::POST, path).idempotency_key(key).json(body).send().await
}

/// Follows a stream from its beginning up to the first event of this kind; gives all events so far.
pub async fn until(api: &Api, stream: &str, kind: &str) -> Vec<Value> {
    let mut stream = api.events(stream, None).await;
    let mut seen = Vec::new();
    while let Some(frame) = stream.next(SOON).await {
        seen.push(frame.data);
        if frame.event.as_deref() == Some(kind) {
            return seen;
        }
    }
    panic!("no {kind} among {:?}", kinds(&seen))
}

/// Waits until a task waits for people.
pub async fn until_task(api: &Api, task: &str, kind: &str) -> Vec<Value> {
    until(api, &format!("/v1/tasks/{task}/stream"), kind).await
}

/// Follows a task to its end, and reads it.
pub async fn ended(api: &Api, task: &str) -> Value {
    let mut stream = api.events(&format!("/v1/tasks/{task}/stream"), None).await;
    while stream.next(SOON).await.is_some() {}
    assert!(stream.ended(), "the stream of {task} did not end");
    api.get(&format!("/v1/tasks/{task}")).await.expect(200)
}

/// All events of a range, page by page.
pub async fn all_events(api: &Api, range: &str) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    let mut after = "0".to_owned();
    loop {
        let page = api.get(&format!("{range}?limit=7&after_event_id={after}")).await.expect(200);
        events.extend(page["data"].as_array().unwrap().iter().cloned());
        match page["page"]["next_cursor"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return events,
        }
    }
}

pub async fn messages(api: &Api, session: &str) -> Vec<Value> {
    let list = api.get(&format!("/v1/sessions/{session}/messages?limit=200")).await.expect(200);
    list["data"].as_array().unwrap().clone()
}

/// The requests that a task has put to people.
pub async fn requests(api: &Api, task: &str) -> Vec<Value> {
    let list = api.get(&format!("/v1/tasks/{task}/permission-requests")).await.expect(200);
    list["data"].as_array().unwrap().clone()
}

pub async fn respond(api: &Api, request: &Value, body: Value) -> Answer {
    api.post(&format!("/v1/permission-requests/{}/respond", id(request)), body).await
}

/// A command line without the usual flags except where the data is.
pub fn bare(folder: &Path, flags: &[&str]) -> Command {
    std::fs::create_dir_all(folder.join("work")).unwrap();
    let mut command = Command::new(HARN);
    // Whatever keys the environment has, no test talks to a provider.
    command.env("HARN_LLM_MODEL", "offline");
    command.args(["serve", "--bind", "127.0.0.1:0"]).args(flags);
    command.arg("--data").arg(folder.join("data")).arg("--root").arg(folder.join("work"));
    command.env("HARN_SERVE_API_KEY", KEY).stdout(Stdio::piped());
    command
}

/// One of everything: a session with a message, a branch, an artifact, a finished task and one that asks.
pub struct Things(Vec<(&'static str, String)>);

impl Things {
    pub async fn make(api: &Api, workspace: &str) -> Self {
        let body = json!({ "workspace_id": workspace, "initial_messages": [user("hello")] });
        let session = id(&api.post("/v1/sessions", body).await.expect(201));
        let path = format!("/v1/sessions/{session}");
        let branch = json!({ "kind": "session", "base_ref": "main" });
        let branch = api.post(&format!("{path}/branches"), branch).await.expect(201);
        let artifact = json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public", "session_id": session });
        let artifact = api.post("/v1/artifacts", artifact).await.expect(201);
        let done = ended(api, &id(&submit(api, &session, "hello").await)).await;
        let task = id(&submit(api, &session, "ask What?").await);
        until_task(api, &task, "task.input_required").await;
        Self(vec![
            ("{message}", id(&messages(api, &session).await[0])),
            ("{request}", id(&requests(api, &task).await[0])),
            ("{event}", id(&all_events(api, &format!("{path}/events")).await[0])),
            ("{outcome}", done["outcome_id"].as_str().unwrap().to_owned()),
            ("{workspace}", workspace.to_owned()),
            ("{session}", session),
            ("{branch}", id(&branch)),
            ("{artifact}", id(&artifact)),
            ("{task}", task),
        ])
    }

    /// A text with the ids of these things in place of their names in braces.
    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
    }
}

/// A secret beside the workspace, one in its closed folder, and links that lead to both.
pub fn set_traps(folder: &Path) {
    let work = folder.join("work");
    std::fs::create_dir_all(work.join(".harn")).unwrap();
    std::fs::create_dir_all(work.join("sub")).unwrap();
    std::fs::write(work.join(".harn/harn.db"), "secret").unwrap();
    std::fs::write(folder.join("secret.txt"), "secret").unwrap();
    symlink(folder.join("secret.txt"), work.join("link.txt")).unwrap();
    symlink(folder, work.join("folder")).unwrap();
    symlink(".harn", work.join("own")).unwrap();
}

/// Sends bytes as they are and reads what comes until the server closes or `patience` is over.
pub async fn raw(url: &str, bytes: &[u8], patience: Duration) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    // The server may close before it has taken everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(patience, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A server in process, for keys that the binary cannot make yet.
pub struct Local {
    pub url: String,
    pub running: Running,
    shutdown: CancellationToken,
}

impl Local {
    pub async fn start(folder: &Path, model: Arc<dyn Model>) -> Self {
        Self::with(folder, model, ServeOptions::default()).await
    }

    pub async fn with(folder: &Path, model: Arc<dyn Model>, options: ServeOptions) -> Self {
        let running = open(folder, model, Options::default()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = options.shutdown.clone();
        let routes = router(running.harness.clone(), options, Trust::Bearer);
        tokio::spawn(serve_tcp(listener, routes, shutdown.clone(), Duration::from_secs(1)));
        Self { url, running, shutdown }
    }

    /// A client whose key has these scopes, everywhere.
    pub async fn key(&self, actor: &str, scopes: &[&str]) -> Api {
        self.bound(actor, scopes, WorkspaceAccess::All).await.0
    }

    /// A client that may do everything, but only here.
    pub async fn confined(&self, actor: &str, workspace: &str) -> Api {
        let access = WorkspaceAccess::Only([WorkspaceId::from(workspace)].into());
        self.bound(actor, &["*"], access).await.0
    }

    pub async fn bound(&self, actor: &str, scopes: &[&str], access: WorkspaceAccess) -> (Api, KeyId) {
        let secret = format!("secret-of-{actor}-{}", scopes.join("+"));
        let scopes = scopes.iter().map(|scope| Scope((*scope).to_owned())).collect();
        let key = Secret::given(&secret).unwrap();
        let stored = self.running.harness.create_key(&key, actor, scopes, access).await.unwrap();
        (Api::new(&self.url).with_key(secret), stored.id)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
