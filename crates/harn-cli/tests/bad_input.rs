//! What must not be accepted, and must not disturb anybody: each refusal says what is wrong, and the server lives on.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use harn_testkit::{Api, PROTOCOL_VERSION};
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{
    Local, SOON, all_events, ended, id, keyed, messages, persona, raw, refused, requests, session,
    session_with, submit, until_task, with_script, workspace,
};
use support::server::{KEY, Server};
use support::{offline, user};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

struct Started {
    api: Api,
    server: Server,
    folder: tempfile::TempDir,
}

fn started() -> Started {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    Started { api: server.api(), server, folder }
}

impl Started {
    async fn lives(&self) {
        assert_eq!(self.api.get("/health").await.expect(200)["ok"], true);
    }
}

async fn post_bytes(api: &Api, path: &str, body: impl Into<Vec<u8>>) -> harn_testkit::Answer {
    api.request(Method::POST, path).bytes(body, "application/json").send().await
}

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let s = started();
    let place = workspace(&s.api).await;
    for body in ["", "{", "nul", "{\"workspace_id\":}", "{} {}", "{'workspace_id': 1}", "\u{feff}{}", "\0"] {
        refused(&post_bytes(&s.api, "/v1/sessions", body).await, 400, "invalid_request");
    }
    let form = s.api.request(Method::POST, "/v1/sessions").bytes("a=b", "application/x-www-form-urlencoded");
    refused(&form.send().await, 400, "invalid_request");
    // A body is an object, whatever order its fields have here.
    for body in [json!([place]), json!(place), json!(5), json!(null)] {
        refused(&s.api.post("/v1/sessions", body).await, 400, "invalid_request");
    }
    assert_eq!(s.api.get("/v1/sessions").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_body_that_is_not_utf_8_is_refused() {
    let s = started();
    let body = b"{\"workspace_id\": \"\xff\xfe\"}".to_vec();
    refused(&post_bytes(&s.api, "/v1/sessions", body).await, 400, "invalid_request");
}

#[tokio::test]
async fn the_field_that_does_not_fit_is_named() {
    let s = started();
    let place = workspace(&s.api).await;
    let session = session(&s.api).await;
    let messages = format!("/v1/sessions/{session}/messages");
    let tasks = format!("/v1/sessions/{session}/tasks");
    let empty = json!({ "role": "user", "parts": [] });
    for (path, body, param) in [
        ("/v1/sessions", json!({}), "workspace_id"),
        ("/v1/sessions", json!({ "workspace_id": 5 }), "workspace_id"),
        ("/v1/sessions", json!({ "workspace_id": place, "metadata": [] }), "metadata"),
        ("/v1/sessions", json!({ "workspace_id": place, "expires_at": "soon" }), "expires_at"),
        (
            "/v1/sessions",
            json!({ "workspace_id": place, "expires_at": "2001-01-01T00:00:00Z" }),
            "expires_at",
        ),
        ("/v1/sessions", json!({ "workspace_id": place, "initial_messages": 1 }), "initial_messages"),
        (
            "/v1/sessions",
            json!({ "workspace_id": place, "initial_messages": [{}] }),
            "initial_messages[0].role",
        ),
        (
            "/v1/sessions",
            json!({ "workspace_id": place, "initial_messages": [user("fine"), empty] }),
            "initial_messages[1].parts",
        ),
        ("/v1/workspaces", json!({ "name": "x" }), "root"),
        ("/v1/workspaces", json!({ "name": "", "root": "harn://x" }), "name"),
        ("/v1/personas", json!({ "name": "x" }), "version"),
        ("/v1/artifacts", json!({ "kind": "song" }), "kind"),
        ("/v1/tasks", json!({ "input": user("list files") }), "session_id"),
        (&tasks, json!({}), "input"),
        (&tasks, json!({ "input": "list files" }), "input"),
        (&tasks, json!({ "input": empty }), "input.parts"),
        (&tasks, json!({ "input": { "role": "boss", "parts": [] } }), "input.role"),
        (&messages, json!({ "message": { "role": "user" } }), "message.parts"),
        (&messages, json!({ "message": empty }), "message.parts"),
        (
            &messages,
            json!({ "message": { "role": "user", "parts": [{ "type": "text" }] } }),
            "message.parts[0].text",
        ),
    ] {
        let answer = s.api.post(path, body.clone()).await;
        refused(&answer, 400, "invalid_request");
        assert_eq!(answer.body["error"]["param"], param, "{body} to {path}: {answer}");
    }
    let artifact =
        json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public", "sha256": "12" });
    let answer = s.api.post("/v1/artifacts", artifact).await;
    refused(&answer, 400, "invalid_request");
    assert_eq!(answer.body["error"]["param"], "sha256");
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let s = started();
    let session = session_with(&s.api, json!({ "surprise": { "deep": [1] } })).await;
    let body = json!({ "message": { "role": "user", "parts": [{ "type": "text", "text": "hi",
                       "visibility": "public", "colour": "red" }], "x": 1 }, "y": 2 });
    let message = s.api.post(&format!("/v1/sessions/{session}/messages"), body).await.expect(201);
    assert_eq!(message["parts"], user("hi")["parts"]);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let s = started();
    let path = format!("/v1/sessions/{}/messages", session(&s.api).await);
    let answer = s.api.post(&path, json!({ "message": user(&"x".repeat(5 << 20)) })).await;
    refused(&answer, 413, "payload_too_large");

    // Without a length the limit is found on the way.
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nHarn-Agents-Protocol-Version: \
         {PROTOCOL_VERSION}\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    let answer = raw(&s.server.url, format!("{head}{}0\r\n\r\n", chunk.repeat(5)).as_bytes(), SOON).await;
    assert!(answer.contains(" 413 ") && answer.contains("payload_too_large"), "{answer}");
    s.lives().await;
}

#[tokio::test]
async fn deep_nesting_is_refused() {
    let s = started();
    for depth in [65, 1_000_000] {
        let deep = format!("{{\"metadata\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        refused(&post_bytes(&s.api, "/v1/sessions", deep).await, 400, "invalid_request");
    }
    s.lives().await;
}

#[tokio::test]
async fn version_and_key_are_wanted_everywhere() {
    let s = started();
    for (method, path) in [
        (Method::GET, "/v1/sessions"),
        (Method::POST, "/v1/tasks"),
        (Method::PATCH, "/v1/workspaces/workspace_x"),
        (Method::PUT, "/v1/workspaces/workspace_x/files"),
        (Method::GET, "/v1/events/stream"),
        (Method::GET, "/v1/tasks/task_x/stream"),
        (Method::POST, "/v1/permission-requests/request_x/respond"),
        (Method::GET, "/v1/memories"),
    ] {
        let call = || s.api.request(method.clone(), path).json(&json!({}));
        refused(&call().without_version().send().await, 426, "unsupported_protocol_version");
        refused(&call().version("v1").send().await, 426, "unsupported_protocol_version");
        refused(&call().without_key().send().await, 401, "unauthenticated");
        refused(&call().key("not-the-right-key").send().await, 401, "unauthenticated");
        refused(&call().header("Authorization", "Bearer").send().await, 401, "unauthenticated");
    }
}

/// A session with a waiting task, a message, a branch and an artifact.
struct Things {
    workspace: String,
    session: String,
    task: String,
    message: String,
    request: String,
    branch: String,
    artifact: String,
    event: String,
    outcome: String,
}

async fn things(api: &Api, workspace: &str) -> Things {
    let body = json!({ "workspace_id": workspace, "initial_messages": [user("hello")] });
    let session = id(&api.post("/v1/sessions", body).await.expect(201));
    let path = format!("/v1/sessions/{session}");
    let message = id(&messages(api, &session).await[0]);
    let branch = json!({ "kind": "session", "base_ref": "main" });
    let branch = id(&api.post(&format!("{path}/branches"), branch).await.expect(201));
    let artifact =
        json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public", "session_id": session });
    let artifact = id(&api.post("/v1/artifacts", artifact).await.expect(201));
    let done = id(&submit(api, &session, "hello").await);
    let outcome = ended(api, &done).await["outcome_id"].as_str().unwrap().to_owned();
    let task = id(&submit(api, &session, "ask What?").await);
    until_task(api, &task, "task.input_required").await;
    let request = id(&requests(api, &task).await[0]);
    let event = id(&all_events(api, &format!("{path}/events")).await[0]);
    let workspace = workspace.to_owned();
    Things { workspace, session, task, message, request, branch, artifact, event, outcome }
}

#[tokio::test]
async fn what_belongs_to_another_workspace_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let owner = local.key("owner", &["*"]).await;
    let hidden = owner.post("/v1/workspaces", json!({ "name": "b", "root": "harn://b" })).await.expect(201);
    let t = things(&owner, &id(&hidden)).await;
    let mine = local.running.workspace.id.to_string();
    let guest = local.confined("guest", &mine).await;
    let own = things(&guest, &mine).await;

    for path in [
        format!("/v1/workspaces/{}", t.workspace),
        format!("/v1/workspaces/{}/files", t.workspace),
        format!("/v1/sessions/{}", t.session),
        format!("/v1/sessions/{}/messages", t.session),
        format!("/v1/sessions/{}/tasks", t.session),
        format!("/v1/sessions/{}/branches", t.session),
        format!("/v1/sessions/{}/events", t.session),
        format!("/v1/sessions/{}/events/stream", t.session),
        format!("/v1/tasks/{}", t.task),
        format!("/v1/tasks/{}/events", t.task),
        format!("/v1/tasks/{}/stream", t.task),
        format!("/v1/tasks/{}/permission-requests", t.task),
        format!("/v1/messages/{}", t.message),
        format!("/v1/branches/{}", t.branch),
        format!("/v1/artifacts/{}", t.artifact),
        format!("/v1/artifacts/{}/content", t.artifact),
        format!("/v1/outcomes/{}", t.outcome),
        format!("/v1/events/{}", t.event),
        format!("/v1/events?workspace_id={}", t.workspace),
        format!("/v1/events?session_id={}", t.session),
        format!("/v1/events/stream?workspace_id={}", t.workspace),
        format!("/v1/events/stream?session_id={}", t.session),
        format!("/v1/events/stream?task_id={}", t.task),
    ] {
        refused(&guest.get(&path).await, 404, "resource_not_found");
    }
    let message = json!({ "kind": "input", "message": user("yes") });
    let input = user("list files");
    let artifact = json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public" });
    let with = |mut body: Value, name: &str, id: &str| {
        body[name] = json!(id);
        body
    };
    for (path, body) in [
        ("/v1/sessions".into(), json!({ "workspace_id": t.workspace })),
        (format!("/v1/sessions/{}/close", t.session), json!({})),
        (format!("/v1/sessions/{}/fork", t.session), json!({})),
        (format!("/v1/sessions/{}/truncate", t.session), json!({ "keep_first": 0 })),
        (format!("/v1/sessions/{}/messages", t.session), json!({ "message": user("x") })),
        (format!("/v1/sessions/{}/tasks", t.session), json!({ "input": input })),
        (format!("/v1/sessions/{}/branches", t.session), json!({ "kind": "task", "base_ref": "x" })),
        ("/v1/tasks".into(), json!({ "session_id": t.session, "input": input })),
        (format!("/v1/tasks/{}/cancel", t.task), json!({})),
        (format!("/v1/tasks/{}/messages", t.task), message),
        (format!("/v1/permission-requests/{}/respond", t.request), json!({ "answer": "x" })),
        ("/v1/artifacts".into(), with(artifact.clone(), "workspace_id", &t.workspace)),
        ("/v1/artifacts".into(), with(artifact.clone(), "session_id", &t.session)),
        ("/v1/artifacts".into(), with(artifact, "task_id", &t.task)),
        // One's own session, linked to what is not one's own.
        (format!("/v1/sessions/{}/fork", own.session), json!({ "branch_id": t.branch })),
        (format!("/v1/sessions/{}/tasks", own.session), json!({ "input": input, "parent_task_id": t.task })),
        (format!("/v1/sessions/{}/tasks", own.session), json!({ "input": input, "branch_id": t.branch })),
    ] {
        let answer = guest.post(&path, body.clone()).await;
        assert_eq!(
            (answer.status, answer.body["error"]["code"].as_str()),
            (404, Some("resource_not_found")),
            "{body}: {answer}"
        );
    }
    refused(&guest.patch(&format!("/v1/sessions/{}", t.session), json!({})).await, 404, "resource_not_found");
    refused(
        &guest.patch(&format!("/v1/workspaces/{}", t.workspace), json!({})).await,
        404,
        "resource_not_found",
    );
    let upload = guest.request(Method::PUT, &format!("/v1/artifacts/{}/content", t.artifact));
    refused(&upload.bytes("x", "application/octet-stream").send().await, 404, "resource_not_found");

    // Lists and ranges show what is one's own, and nothing else.
    for path in [
        "/v1/sessions",
        "/v1/tasks",
        "/v1/artifacts",
        "/v1/outcomes",
        "/v1/permission-requests",
        "/v1/workspaces",
    ] {
        let list = guest.get(path).await.expect(200);
        assert!(!list["data"].as_array().unwrap().is_empty(), "{path}");
        assert!(!list.to_string().contains(&t.workspace) && !list.to_string().contains(&t.session), "{path}");
    }
    let events = all_events(&guest, "/v1/events").await;
    assert!(events.iter().all(|event| event["workspace_id"] == json!(mine)), "{events:?}");
}

#[tokio::test]
async fn a_finished_task_stays_finished() {
    let s = started();
    let session = session(&s.api).await;
    let task = id(&submit(&s.api, &session, "hello").await);
    let done = ended(&s.api, &task).await;
    assert_eq!(done["status"], "COMPLETED");
    for kind in ["input", "interrupt", "tool_confirmation"] {
        let body = json!({ "kind": kind, "message": user("more") });
        let answer = s.api.post(&format!("/v1/tasks/{task}/messages"), body).await;
        refused(&answer, 400, "invalid_state_transition");
    }
    refused(&s.api.post(&format!("/v1/tasks/{task}/cancel"), json!({})).await, 409, "conflict");
    assert_eq!(s.api.get(&format!("/v1/tasks/{task}")).await.expect(200), done);
}

#[tokio::test]
async fn cursors_that_are_not_of_this_stream_are_refused() {
    let s = started();
    let (one, two) = (session(&s.api).await, session(&s.api).await);
    let foreign = id(&all_events(&s.api, &format!("/v1/sessions/{two}/events")).await[0]);
    let (range, stream) = (format!("/v1/sessions/{one}/events"), format!("/v1/sessions/{one}/events/stream"));

    for cursor in [foreign.as_str(), "abc", "-1", "1.5", "%20", "99999999999999999999999999"] {
        refused(&s.api.get(&format!("{range}?after_event_id={cursor}")).await, 400, "invalid_request");
        refused(&s.api.get(&format!("{stream}?after_event_id={cursor}")).await, 400, "invalid_request");
    }
    let header = s.api.request(Method::GET, &stream).header("Last-Event-ID", &foreign);
    refused(&header.send().await, 400, "invalid_request");

    let answer = s.api.get(&format!("{range}?after_event_id=9999999")).await;
    refused(&answer, 410, "cursor_expired");
    for path in [stream.as_str(), "/v1/events/stream"] {
        let mut events = s.api.events(path, Some("9999999")).await;
        let frame = events.next(SOON).await.unwrap();
        assert_eq!(frame.event.as_deref(), Some("error"));
        assert_eq!(frame.data["error"]["code"], "cursor_expired");
        assert!(events.next(SOON).await.is_none() && events.ended());
    }
}

#[tokio::test]
async fn page_cursors_and_limits_are_checked() {
    let s = started();
    for _ in 0..2 {
        session(&s.api).await;
        s.api.post("/v1/workspaces", json!({ "name": "w", "root": "harn://w" })).await.expect(201);
    }
    let first = s.api.get("/v1/sessions?limit=1").await.expect(200);
    let cursor = first["page"]["next_cursor"].as_str().unwrap();
    assert_eq!(first["page"]["has_more"], true);
    s.api.get(&format!("/v1/sessions?limit=1&cursor={cursor}")).await.expect(200);

    let place = workspace(&s.api).await;
    for path in [
        format!("/v1/workspaces?cursor={cursor}"),
        format!("/v1/sessions?workspace_id={place}&cursor={cursor}"),
        "/v1/sessions?cursor=abc".into(),
        "/v1/sessions?cursor=%00".into(),
        "/v1/sessions?cursor=".into(),
    ] {
        refused(&s.api.get(&path).await, 400, "invalid_request");
    }
    for limit in ["0", "201", "abc", "-1", "1.5", "", "99999999999999999999"] {
        for list in ["/v1/sessions", "/v1/events", "/v1/tasks", "/v1/tools"] {
            let answer = s.api.get(&format!("{list}?limit={limit}")).await;
            refused(&answer, 400, "invalid_request");
            assert_eq!(answer.body["error"]["param"], "limit", "{answer}");
        }
    }
    s.api.get("/v1/sessions?limit=200").await.expect(200);
}

#[tokio::test]
async fn a_workspace_root_must_exist_inside_an_allowed_folder() {
    let s = started();
    let root = s.folder.path().join("work");
    fs::create_dir_all(root.join("inner")).unwrap();
    fs::create_dir_all(root.join(".harn/blobs")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    symlink(s.folder.path(), root.join("out")).unwrap();
    let make = |root: &str| s.api.post("/v1/workspaces", json!({ "name": "w", "root": root }));
    make("inner").await.expect(201);
    make(root.to_str().unwrap()).await.expect(201);
    for (root, status, code) in [
        ("missing", 400, "invalid_request"),
        ("/no/such/folder", 400, "invalid_request"),
        ("file", 400, "invalid_request"),
        ("/", 422, "policy_violation"),
        ("..", 422, "policy_violation"),
        ("inner/../..", 422, "policy_violation"),
        ("out", 422, "policy_violation"),
        ("file:///etc", 422, "policy_violation"),
        // Closed to files and tools, so also as a root of its own.
        (".harn", 422, "policy_violation"),
        (".harn/blobs", 422, "policy_violation"),
    ] {
        let answer = make(root).await;
        assert_eq!(
            (answer.status, answer.body["error"]["code"].as_str()),
            (status, Some(code)),
            "{root}: {answer}"
        );
        assert_eq!(answer.body["error"]["param"], "root", "{root}");
    }
}

/// A folder with a secret beside the workspace, and links that lead to it.
fn trap(s: &Started) {
    let (folder, work) = (s.folder.path(), s.folder.path().join("work"));
    fs::create_dir_all(work.join(".harn")).unwrap();
    fs::write(work.join(".harn/harn.db"), "secret").unwrap();
    fs::write(folder.join("secret.txt"), "secret").unwrap();
    symlink(folder.join("secret.txt"), work.join("link.txt")).unwrap();
    symlink(folder, work.join("folder")).unwrap();
    symlink(".harn", work.join("own")).unwrap();
}

const WAYS_OUT: [&str; 7] = [
    "../secret.txt",
    "x/../../secret.txt",
    "/etc/passwd",
    "link.txt",
    "folder/secret.txt",
    ".harn/harn.db",
    "own/harn.db",
];

#[tokio::test]
async fn the_files_api_stays_in_its_workspace() {
    let s = started();
    trap(&s);
    let files = format!("/v1/workspaces/{}/files", workspace(&s.api).await);
    for path in WAYS_OUT.into_iter().chain(["..", ".harn", "folder", "a\0b"]) {
        let query: String = path.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let read = s.api.get(&format!("{files}?path={query}")).await;
        let write = s.api.put(&files, json!({ "path": path, "content": "mine" })).await;
        for answer in [read, write] {
            assert!(matches!(answer.status, 400 | 403), "{path}: {answer}");
            assert!(!answer.body.to_string().contains("secret\""), "{answer}");
        }
    }
    assert_eq!(fs::read_to_string(s.folder.path().join("secret.txt")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(s.folder.path().join("work/.harn/harn.db")).unwrap(), "secret");
    s.api.put(&files, json!({ "path": "sub/fine.txt", "content": "ok" })).await.expect(200);
    assert_eq!(s.api.get(&format!("{files}?path=sub/fine.txt")).await.expect(200)["content"], "ok");
}

#[tokio::test]
async fn tools_stay_in_their_workspace() {
    let s = started();
    trap(&s);
    let auto = persona(&s.api, "act_auto", json!({})).await;
    for path in WAYS_OUT {
        for request in [
            format!("read {path}"),
            format!("write {path}: mine"),
            format!("replace secret with x in {path}"),
        ] {
            let session = session_with(&s.api, json!({ "persona_id": auto })).await;
            let task = submit(&s.api, &session, &request).await;
            assert_eq!(ended(&s.api, &id(&task)).await["status"], "COMPLETED");
            let told = messages(&s.api, &session).await;
            let result = told.iter().find(|message| message["role"] == "tool").unwrap();
            assert_eq!(result["parts"][0]["status"], "error", "{request}: {result}");
        }
    }
    assert_eq!(fs::read_to_string(s.folder.path().join("secret.txt")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(s.folder.path().join("work/.harn/harn.db")).unwrap(), "secret");
}

#[tokio::test]
async fn a_command_that_never_ends_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let args = json!({ "command": "sleep 600 & sleep 600", "timeout_ms": 300 });
    let script = json!({ "responses": [
        { "tool_calls": [{ "id": "c", "name": "run_command", "args": args }] }, { "text": "It took too long." },
    ] });
    let server = Server::spawn(folder.path(), with_script(folder.path(), &script));
    let api = server.api();
    let auto = persona(&api, "act_auto", json!({})).await;
    let session = session_with(&api, json!({ "persona_id": auto })).await;

    let begun = Instant::now();
    let task = ended(&api, &id(&submit(&api, &session, "go").await)).await;

    assert_eq!(task["status"], "COMPLETED");
    assert!(begun.elapsed() < Duration::from_secs(20));
    let result = messages(&api, &session).await[2]["parts"][0].clone();
    assert_eq!(
        (&result["output"]["timed_out"], &result["output"]["exit_code"]),
        (&json!(true), &Value::Null)
    );
}

#[tokio::test]
async fn idempotency_keys_have_one_to_255_characters() {
    let s = started();
    let path = format!("/v1/sessions/{}/messages", session(&s.api).await);
    let body = json!({ "message": user("x") });
    for key in [String::new(), "k".repeat(256)] {
        let answer = keyed(&s.api, &path, &key, &body).await;
        refused(&answer, 400, "invalid_request");
        assert_eq!(answer.body["error"]["param"], "Idempotency-Key");
    }
    keyed(&s.api, &path, &"k".repeat(255), &body).await.expect(201);
}

#[tokio::test]
async fn unknown_paths_methods_and_ids_have_their_own_refusals() {
    let s = started();
    for path in ["/", "/v2", "/v1/", "/v1/songs", "/v1/sessions/x/y/z", "/v1/tasks/%2e%2e"] {
        refused(&s.api.get(path).await, 404, "resource_not_found");
    }
    for (method, path, allow) in [
        (Method::DELETE, "/v1/sessions", "GET,HEAD,POST"),
        (Method::PUT, "/v1/tasks/task_x/cancel", "POST"),
        (Method::POST, "/v1/agent-card", "GET,HEAD"),
    ] {
        let answer = s.api.request(method, path).send().await;
        refused(&answer, 405, "invalid_request");
        assert_eq!(answer.header("allow"), Some(allow), "{path}");
    }
    for huge in ["x".repeat(50_000), "%00".repeat(300), "é".repeat(200)] {
        refused(&s.api.get(&format!("/v1/sessions/{huge}")).await, 404, "resource_not_found");
        refused(&s.api.get(&format!("/v1/events/{huge}")).await, 404, "resource_not_found");
    }
    s.lives().await;
}

#[tokio::test]
async fn broken_clients_disturb_nobody() {
    let s = started();
    let address = s.server.url.trim_start_matches("http://").to_owned();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nHarn-Agents-Protocol-Version: \
         {PROTOCOL_VERSION}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"workspace_id\""
    );
    // Some vanish in the middle of a request, some stay and say no more.
    let mut silent = Vec::new();
    for n in 0..40 {
        let mut client = TcpStream::connect(&address).await.unwrap();
        let bytes = if n % 4 < 2 { head.as_bytes() } else { b"GET /v1/sess".as_slice() };
        client.write_all(bytes).await.unwrap();
        if n % 2 == 0 {
            silent.push(client);
        }
    }
    let quick = tokio::time::timeout(Duration::from_secs(5), session(&s.api)).await;
    assert!(quick.is_ok(), "the others have to wait");

    let soon = Duration::from_millis(500);
    let huge = "x".repeat(10 << 20);
    for bytes in [
        format!("GET /health HTTP/1.1\r\nHost: x\r\nX-Huge: {huge}\r\n\r\n").into_bytes(),
        format!("GET /{huge} HTTP/1.1\r\n\r\n").into_bytes(),
        format!("GET /health HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100_000)).into_bytes(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"GET /health HTTP/9.9\r\n\r\n".to_vec(),
        b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n".to_vec(),
        vec![0; 100_000],
    ] {
        let answer = raw(&s.server.url, &bytes, soon).await;
        assert!(!answer.contains(" 200 "), "{}", answer.chars().take(200).collect::<String>());
    }
    s.lives().await;
    assert_eq!(s.api.get("/v1/sessions").await.expect(200)["data"].as_array().unwrap().len(), 1);
}
