//! What must not be accepted, and must not disturb anybody: each refusal says what is wrong, and the server lives on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use harn_testkit::{Answer, Api, PROTOCOL_VERSION};
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{
    Local, SOON, Things, all_events, ended, id, keyed, messages, persona, raw, refused, session,
    session_with, set_traps, started, started_with, submit, workspace,
};
use support::server::KEY;
use support::{offline, user};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

async fn post_bytes(api: &Api, path: &str, body: impl Into<Vec<u8>>) -> Answer {
    api.request(Method::POST, path).bytes(body, "application/json").send().await
}

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let s = started();
    let place = workspace(&s.api).await;
    for body in ["", "{", "nul", "{\"workspace_id\":}", "{} {}", "{'workspace_id': 1}", "\u{feff}{}", "\0"] {
        refused(&post_bytes(&s.api, "/v1/sessions", body).await, 400, "invalid_request");
    }
    let not_utf_8 = b"{\"workspace_id\": \"\xff\xfe\"}".to_vec();
    refused(&post_bytes(&s.api, "/v1/sessions", not_utf_8).await, 400, "invalid_request");
    let form = s.api.request(Method::POST, "/v1/sessions").bytes("a=b", "text/plain").send().await;
    refused(&form, 400, "invalid_request");
    // A body is an object, whatever order its fields have here.
    for body in [json!([place]), json!(place), json!(5), json!(null)] {
        refused(&s.api.post("/v1/sessions", body).await, 400, "invalid_request");
    }
    assert_eq!(s.api.get("/v1/sessions").await.expect(200)["data"], json!([]));
}

/// Path, body and the parameter that is wrong in it.
const MISFITS: &[(&str, &str, &str)] = &[
    ("sessions", r#"{}"#, "workspace_id"),
    ("sessions", r#"{"workspace_id": 5}"#, "workspace_id"),
    ("sessions", r#"{"workspace_id": "W", "metadata": []}"#, "metadata"),
    ("sessions", r#"{"workspace_id": "W", "expires_at": "soon"}"#, "expires_at"),
    ("sessions", r#"{"workspace_id": "W", "expires_at": "2001-01-01T00:00:00Z"}"#, "expires_at"),
    ("sessions", r#"{"workspace_id": "W", "initial_messages": 1}"#, "initial_messages"),
    ("sessions", r#"{"workspace_id": "W", "initial_messages": [{}]}"#, "initial_messages[0].role"),
    ("sessions", r#"{"workspace_id": "W", "initial_messages": [EMPTY]}"#, "initial_messages[0].parts"),
    ("workspaces", r#"{"name": "x"}"#, "root"),
    ("workspaces", r#"{"name": "", "root": "harn://x"}"#, "name"),
    ("personas", r#"{"name": "x"}"#, "version"),
    ("artifacts", r#"{"kind": "song"}"#, "kind"),
    ("artifacts", r#"{"kind": "log", "mime_type": "x/y", "visibility": "public", "sha256": "12"}"#, "sha256"),
    ("tasks", r#"{"input": {}}"#, "session_id"),
    ("sessions/S/tasks", r#"{}"#, "input"),
    ("sessions/S/tasks", r#"{"input": "list files"}"#, "input"),
    ("sessions/S/tasks", r#"{"input": EMPTY}"#, "input.parts"),
    ("sessions/S/tasks", r#"{"input": {"role": "boss", "parts": []}}"#, "input.role"),
    ("sessions/S/messages", r#"{"message": {"role": "user"}}"#, "message.parts"),
    ("sessions/S/messages", r#"{"message": EMPTY}"#, "message.parts"),
    (
        "sessions/S/messages",
        r#"{"message": {"role": "user", "parts": [{"type": "text"}]}}"#,
        "message.parts[0].text",
    ),
    ("sessions/S/branches", r#"{"kind": "session", "base_ref": ""}"#, "base_ref"),
    ("sessions/S/truncate", r#"{"keep_first": -1}"#, "keep_first"),
];

#[tokio::test]
async fn the_field_that_does_not_fit_is_named() {
    let s = started();
    let (place, session) = (workspace(&s.api).await, session(&s.api).await);
    let mut wrong = Vec::new();
    for (path, body, param) in MISFITS {
        let body = body
            .replace("\"W\"", &json!(place).to_string())
            .replace("EMPTY", r#"{"role":"user","parts":[]}"#);
        let path = path.replace('S', &session);
        let answer = post_bytes(&s.api, &format!("/v1/{path}"), body.clone()).await;
        refused(&answer, 400, "invalid_request");
        if answer.body["error"]["param"] != *param {
            wrong.push(format!("{} instead of {param} for {body}", answer.body["error"]["param"]));
        }
    }
    assert_eq!(wrong, [""; 0]);
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
    // The answer must arrive although the body was not read to its end.
    for _ in 0..8 {
        let answer = s.api.post(&path, json!({ "message": user(&"x".repeat(5 << 20)) })).await;
        refused(&answer, 413, "payload_too_large");
    }

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

/// What a stranger may try to read.
const READS: &str = "
    workspaces/{workspace} workspaces/{workspace}/files
    workspaces/{workspace}/waitpoints workspaces/{workspace}/waitpoints/w permission-requests/{request}
    sessions/{session} sessions/{session}/messages sessions/{session}/tasks sessions/{session}/branches
    sessions/{session}/events sessions/{session}/events/stream
    tasks/{task} tasks/{task}/events tasks/{task}/stream tasks/{task}/permission-requests
    messages/{message} branches/{branch} artifacts/{artifact} artifacts/{artifact}/content
    outcomes/{outcome} events/{event}
    events?workspace_id={workspace} events?session_id={session} events?task_id={task}
    events/stream?workspace_id={workspace} events/stream?session_id={session} events/stream?task_id={task}";

/// What a stranger may try to write: path and body.
const WRITES: &[(&str, &str)] = &[
    ("sessions", r#"{"workspace_id": "{workspace}"}"#),
    ("sessions/{session}/close", "{}"),
    ("sessions/{session}/fork", "{}"),
    ("sessions/{session}/truncate", r#"{"keep_first": 0}"#),
    ("sessions/{session}/messages", r#"{"message": INPUT}"#),
    ("sessions/{session}/tasks", r#"{"input": INPUT}"#),
    ("sessions/{session}/branches", r#"{"kind": "task", "base_ref": "x"}"#),
    ("tasks", r#"{"session_id": "{session}", "input": INPUT}"#),
    ("tasks/{task}/cancel", "{}"),
    ("tasks/{task}/messages", r#"{"kind": "input", "message": INPUT}"#),
    ("permission-requests/{request}/respond", r#"{"answer": "x"}"#),
    ("workspaces/{workspace}/waitpoints/w/complete", "{}"),
    ("workspaces/{workspace}/waitpoints/w/cancel", "{}"),
    (
        "artifacts",
        r#"{"kind": "log", "mime_type": "x/y", "visibility": "public", "workspace_id": "{workspace}"}"#,
    ),
    (
        "artifacts",
        r#"{"kind": "log", "mime_type": "x/y", "visibility": "public", "session_id": "{session}"}"#,
    ),
    ("artifacts", r#"{"kind": "log", "mime_type": "x/y", "visibility": "public", "task_id": "{task}"}"#),
    // Into one's own session, but linked to what is not one's own.
    ("sessions/OWN/fork", r#"{"branch_id": "{branch}"}"#),
    ("sessions/OWN/branches", r#"{"kind": "task", "base_ref": "x", "parent_branch_id": "{branch}"}"#),
    ("sessions/OWN/branches", r#"{"kind": "task", "base_ref": "x", "task_id": "{task}"}"#),
    ("sessions/OWN/tasks", r#"{"input": INPUT, "parent_task_id": "{task}"}"#),
    ("sessions/OWN/tasks", r#"{"input": INPUT, "branch_id": "{branch}"}"#),
];

#[tokio::test]
async fn what_belongs_to_another_workspace_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let owner = local.key("owner", &["*"]).await;
    let hidden = owner.post("/v1/workspaces", json!({ "name": "b", "root": "harn://b" })).await.expect(201);
    let theirs = Things::make(&owner, &id(&hidden)).await;
    let mine = local.running.workspace.id.to_string();
    let guest = local.confined("guest", &mine).await;
    let own = Things::make(&guest, &mine).await.fill("{session}");
    let mut wrong = Vec::new();
    let mut judge = |what: String, answer: &Answer| {
        if (answer.status, answer.body["error"]["code"].as_str()) != (404, Some("resource_not_found")) {
            wrong.push(format!("{} for {what}", answer.status));
        }
    };

    for path in READS.split_whitespace() {
        judge(path.into(), &guest.get(&format!("/v1/{}", theirs.fill(path))).await);
    }
    for (path, body) in WRITES {
        let body = theirs.fill(&body.replace("INPUT", &user("list files").to_string()));
        let path = theirs.fill(&path.replace("OWN", &own));
        let answer = guest.post(&format!("/v1/{path}"), serde_json::from_str(&body).unwrap()).await;
        judge(format!("{path} {body}"), &answer);
    }
    for path in ["/v1/sessions/{session}", "/v1/workspaces/{workspace}"] {
        judge(format!("PATCH {path}"), &guest.patch(&theirs.fill(path), json!({})).await);
    }
    let upload = guest.request(Method::PUT, &theirs.fill("/v1/artifacts/{artifact}/content"));
    judge("upload".into(), &upload.bytes("x", "application/octet-stream").send().await);
    let file = theirs.fill("/v1/workspaces/{workspace}/files");
    judge("file".into(), &guest.put(&file, json!({ "path": "a", "content": "" })).await);
    assert_eq!(wrong, [""; 0]);

    // Lists and ranges show what is one's own, and nothing else.
    for list in ["sessions", "tasks", "artifacts", "outcomes", "permission-requests", "workspaces"] {
        let list = guest.get(&format!("/v1/{list}")).await.expect(200);
        assert!(!list["data"].as_array().unwrap().is_empty(), "{list}");
        for hidden in [theirs.fill("{workspace}"), theirs.fill("{session}")] {
            assert!(!list.to_string().contains(&hidden), "{hidden} is in {list}");
        }
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
        let error = &answer.body["error"];
        let told = (answer.status, error["code"].as_str(), error["param"].as_str());
        assert_eq!(told, (status, Some(code), Some("root")), "{root}: {answer}");
    }
}

/// Paths that lead out of a workspace with traps, or into what is closed.
fn ways_out(folder: &Path) -> Vec<String> {
    set_traps(folder);
    let ways = "../secret.txt sub/../../secret.txt link.txt folder/secret.txt .harn/harn.db own/harn.db";
    let absolute = folder.join("secret.txt").display().to_string();
    ways.split(' ').map(str::to_owned).chain([absolute]).collect()
}

fn untouched(folder: &Path) {
    for secret in ["secret.txt", "work/.harn/harn.db"] {
        assert_eq!(fs::read_to_string(folder.join(secret)).ok().as_deref(), Some("secret"));
    }
}

#[tokio::test]
async fn the_files_api_stays_in_its_workspace() {
    let s = started();
    let files = format!("/v1/workspaces/{}/files", workspace(&s.api).await);
    for path in ways_out(s.folder.path()).into_iter().chain(["..", ".harn", "a\0b"].map(Into::into)) {
        let query: String = path.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let read = s.api.get(&format!("{files}?path={query}")).await;
        let write = s.api.put(&files, json!({ "path": path, "content": "mine" })).await;
        for answer in [read, write] {
            assert!(matches!(answer.status, 400 | 403), "{path}: {answer}");
            assert_eq!(answer.body["content"], Value::Null);
        }
    }
    untouched(s.folder.path());
    s.api.put(&files, json!({ "path": "sub/fine.txt", "content": "ok" })).await.expect(200);
}

#[tokio::test]
async fn tools_stay_in_their_workspace() {
    let s = started();
    let auto = persona(&s.api, "act_auto", json!({})).await;
    for path in ways_out(s.folder.path()) {
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
    untouched(s.folder.path());
}

#[tokio::test]
async fn a_command_that_never_ends_is_stopped() {
    let args = json!({ "command": "sleep 600 & sleep 600", "timeout_ms": 300 });
    let script = json!({ "responses": [
        { "tool_calls": [{ "id": "c", "name": "run_command", "args": args }] }, { "text": "It took too long." },
    ] });
    let s = started_with(&script);
    let api = &s.api;
    let auto = persona(api, "act_auto", json!({})).await;
    let session = session_with(api, json!({ "persona_id": auto })).await;

    let begun = Instant::now();
    let task = ended(api, &id(&submit(api, &session, "go").await)).await;

    assert_eq!(task["status"], "COMPLETED");
    assert!(begun.elapsed() < Duration::from_secs(20));
    let result = messages(api, &session).await[2]["parts"][0].clone();
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
