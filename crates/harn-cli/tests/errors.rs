//! Every error code of spec 001, and ours: provoked over HTTP, or listed with the work that will cause it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::time::Duration;

use harn_core::Code;
use harn_core::hash::Sha256Hash;
use harn_testkit::{Answer, Api, PROTOCOL_VERSION};
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{Local, bare, ended, id, keyed, raw, say, session, started, submit, workspace};
use support::server::{KEY, Server};
use support::{offline, user};

/// Spec 001's table of codes with the type that each has here, and the one that is ours.
const TABLE: [(u16, &str, &str); 19] = [
    (400, "invalid_request", "request_error"),
    (400, "invalid_state_transition", "request_error"),
    (401, "unauthenticated", "auth_error"),
    (403, "permission_denied", "permission_error"),
    (404, "resource_not_found", "not_found_error"),
    (409, "conflict", "conflict_error"),
    (409, "idempotency_key_reused", "conflict_error"),
    (410, "cursor_expired", "request_error"),
    (413, "payload_too_large", "request_error"),
    (422, "policy_violation", "permission_error"),
    (423, "resource_locked", "conflict_error"),
    (426, "unsupported_protocol_version", "request_error"),
    (429, "rate_limited", "rate_limit_error"),
    (499, "client_closed_request", "request_error"),
    (500, "internal_error", "server_error"),
    (502, "upstream_unavailable", "upstream_error"),
    (503, "service_unavailable", "server_error"),
    (504, "deadline_exceeded", "runtime_error"),
    (501, "not_implemented", "server_error"),
];

/// What came of asking for an error.
enum Proof {
    Given {
        status: u16,
        body: Value,
    },
    /// Nothing can cause it yet; this will.
    Later(&'static str),
}

impl From<Answer> for Proof {
    fn from(answer: Answer) -> Self {
        Self::Given { status: answer.status, body: answer.body }
    }
}

/// Causes an error, each on a server of its own. A new code does not compile before it is decided here.
async fn provoke(code: Code) -> Proof {
    match code {
        Code::ResourceLocked => Proof::Later("leases: several controllers of one live session"),
        Code::ClientClosedRequest => Proof::Later("access logs: nobody is left to read it as an answer"),
        Code::UpstreamUnavailable => Proof::Later("model providers, connectors and MCP servers"),
        Code::InternalError => lost_content().await.into(),
        Code::ServiceUnavailable => full_log().await.into(),
        Code::RateLimited => impatience().await.into(),
        Code::DeadlineExceeded => half_a_body().await,
        Code::PermissionDenied => without_scope().await.into(),
        Code::InvalidRequest
        | Code::InvalidStateTransition
        | Code::Unauthenticated
        | Code::ResourceNotFound
        | Code::Conflict
        | Code::IdempotencyKeyReused
        | Code::CursorExpired
        | Code::PayloadTooLarge
        | Code::PolicyViolation
        | Code::UnsupportedProtocolVersion
        | Code::NotImplemented => {
            let s = started();
            ask(&s.api, code).await.into()
        }
    }
}

/// Errors that one request is enough for.
async fn ask(api: &Api, code: Code) -> Answer {
    let call = api.request(Method::GET, "/v1/tasks");
    match code {
        Code::Unauthenticated => call.without_key().send().await,
        Code::UnsupportedProtocolVersion => call.without_version().send().await,
        Code::NotImplemented => api.get("/v1/vaults").await,
        Code::ResourceNotFound => api.get("/v1/tasks/task_none").await,
        Code::CursorExpired => api.get("/v1/events?after_event_id=999999").await,
        Code::PolicyViolation => api.post("/v1/workspaces", json!({ "name": "all", "root": "/" })).await,
        Code::PayloadTooLarge => large(api).await,
        Code::IdempotencyKeyReused => {
            let path = format!("/v1/sessions/{}/messages", session(api).await);
            keyed(api, &path, "k", &json!({ "message": user("one") })).await.expect(201);
            keyed(api, &path, "k", &json!({ "message": user("two") })).await
        }
        Code::Conflict | Code::InvalidStateTransition => {
            let task = id(&submit(api, &session(api).await, "hello").await);
            ended(api, &task).await;
            match code {
                Code::Conflict => api.post(&format!("/v1/tasks/{task}/cancel"), json!({})).await,
                _ => {
                    let body = json!({ "kind": "input", "message": user("more") });
                    api.post(&format!("/v1/tasks/{task}/messages"), body).await
                }
            }
        }
        _ => api.get("/v1/tasks?limit=0").await,
    }
}

/// A file of more than the files API reads.
async fn large(api: &Api) -> Answer {
    let root = api.get(&format!("/v1/workspaces/{}", workspace(api).await)).await.expect(200);
    let root = root["root"].as_str().unwrap().to_owned();
    std::fs::write(Path::new(&root).join("large.txt"), "x".repeat(9 << 20)).unwrap();
    api.get(&format!("/v1/workspaces/{}/files?path=large.txt", workspace(api).await)).await
}

async fn without_scope() -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    local.key("reader", &["tasks:read"]).await.get("/v1/sessions").await
}

/// The content of an artifact is removed behind the server's back.
async fn lost_content() -> Answer {
    let s = started();
    let body = json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public" });
    let artifact = id(&s.api.post("/v1/artifacts", body).await.expect(201));
    let path = format!("/v1/artifacts/{artifact}/content");
    let content = "x".repeat(100_000);
    let hash = Sha256Hash::of(content.as_bytes()).to_string();
    s.api.request(Method::PUT, &path).bytes(content, "text/plain").send().await.expect(200);
    let file = s.folder.path().join("data/blobs").join(&hash[..2]).join(&hash[2..]);
    std::fs::remove_file(file).unwrap();

    let answer = s.api.get(&path).await;

    let told = answer.body.to_string();
    assert!(!told.contains(&hash) && !told.contains("blobs"), "the cause stays inside: {told}");
    assert_eq!(s.api.get("/health").await.expect(200)["ok"], true);
    answer
}

/// A log that may not grow: writes are refused whole, reads go on.
async fn full_log() -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--rate-limit", "0", "--max-log-bytes", "1000000"];
    let server = Server::spawn(folder.path(), bare(folder.path(), &flags));
    let api = server.api();
    let session = session(&api).await;
    let path = format!("/v1/sessions/{session}/messages");
    let mut accepted = 0;
    let refused = loop {
        let answer = api.post(&path, json!({ "message": user(&"x".repeat(20_000)) })).await;
        if answer.status != 201 {
            break answer;
        }
        accepted += 1;
    };
    assert!(accepted > 5, "{accepted} were accepted");
    let list = api.get(&format!("{path}?limit=200")).await.expect(200);
    assert_eq!(
        list["data"].as_array().unwrap().len(),
        accepted,
        "all of the accepted, nothing of the refused"
    );
    api.get(&format!("/v1/sessions/{session}/events?limit=1")).await.expect(200);
    refused
}

async fn impatience() -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::spawn(folder.path(), bare(folder.path(), &["--rate-limit", "1"]));
    let api = server.api();
    for _ in 0..20 {
        let answer = api.get("/v1/tasks").await;
        if answer.status != 200 {
            assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
            return answer;
        }
    }
    panic!("twenty requests at one per second")
}

/// The body announced never comes.
async fn half_a_body() -> Proof {
    let s = started();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nHarn-Agents-Protocol-Version: \
         {PROTOCOL_VERSION}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{"
    );
    let answer = raw(&s.server.url, head.as_bytes(), Duration::from_secs(60)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Proof::Given { status, body: serde_json::from_str(body).unwrap() }
}

/// Every code that the server's own document names.
fn codes() -> Vec<Code> {
    let document = harn_serve::openapi();
    let names = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    names.iter().map(|name| serde_json::from_value(name.clone()).unwrap()).collect()
}

#[tokio::test]
async fn every_code_is_provoked_or_waits_for_its_work() {
    let mut named: Vec<String> =
        codes().iter().map(|code| json!(code).as_str().unwrap().to_owned()).collect();
    let mut listed: Vec<&str> = TABLE.iter().map(|(_, code, _)| *code).collect();
    named.sort();
    listed.sort_unstable();
    assert_eq!(named, listed);

    let proofs =
        futures::future::join_all(codes().into_iter().map(|code| async move { (code, provoke(code).await) }));
    let mut later = Vec::new();
    for (code, proof) in proofs.await {
        let name = json!(code);
        let row = TABLE.iter().find(|(_, code, _)| name == *code).unwrap();
        match proof {
            Proof::Given { status, body } => {
                let error = &body["error"];
                let given = (status, error["code"].as_str().unwrap(), error["type"].as_str().unwrap());
                assert_eq!(given, *row, "{body}");
                assert!(!error["message"].as_str().unwrap().is_empty());
                assert!(error["request_id"].as_str().unwrap().starts_with("req_"));
                assert!(!body.to_string().contains(KEY));
            }
            Proof::Later(work) => {
                assert!(!work.is_empty());
                later.push(row.1);
            }
        }
    }
    assert_eq!(later, ["resource_locked", "client_closed_request", "upstream_unavailable"]);
}

#[tokio::test]
async fn a_failed_task_says_why_without_an_error_answer() {
    let script = json!({ "responses": [{ "error": { "kind": "invalid_request", "message": "too long" } }] });
    let s = support::http::started_with(&script);
    let session = session(&s.api).await;
    say(&s.api, &session, "before").await;

    let task = ended(&s.api, &id(&submit(&s.api, &session, "go").await)).await;

    assert_eq!(task["status"], "FAILED");
    assert!(task["failure"]["message"].as_str().unwrap().contains("too long"), "{task}");
    let outcome =
        s.api.get(&format!("/v1/outcomes/{}", task["outcome_id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&outcome["status"], &outcome["failure"]), (&json!("FAILED"), &task["failure"]));
}
