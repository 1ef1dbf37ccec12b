//! The contract on hand-made answers: valid ones pass, broken ones are named.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use harn_testkit::{PublicApi, shared_data};
use serde_json::{Value, json};

const JSON: Option<&str> = Some("application/json");

/// The locations of the violations, or nothing when the answer is accepted.
fn judge(method: &str, path: &str, status: u16, body: &Value) -> Option<Vec<String>> {
    let verdict = PublicApi::shared()?.check(method, path, status, JSON, body.to_string().as_bytes());
    Some(locations(verdict))
}

fn locations(verdict: Result<(), Vec<harn_testkit::Violation>>) -> Vec<String> {
    verdict.err().into_iter().flatten().map(|violation| violation.location).collect()
}

#[track_caller]
fn check(method: &str, path: &str, status: u16, body: &Value, expected: &[&str]) {
    let Some(found) = judge(method, path, status, body) else { return };
    assert_eq!(found, expected, "{method} {path} {status} {body:#}");
}

fn resource(object: &str, fields: Value) -> Value {
    let mut resource = json!({
        "id": format!("{object}_01"), "object": object, "metadata": {},
        "created_at": "2026-04-25T10:00:00Z", "updated_at": "2026-04-25T10:00:00.123Z",
    });
    resource.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    resource
}

fn message() -> Value {
    let part = json!({ "type": "text", "text": "hello", "visibility": "public" });
    resource("message", json!({ "role": "user", "parts": [part] }))
}

fn task(input: Value) -> Value {
    let fields = json!({
        "session_id": "session_01", "workspace_id": "workspace_01", "status": "WORKING",
        "input": input, "created_by": "user_01", "completed_at": null,
    });
    resource("task", fields)
}

fn event() -> Value {
    let fields = json!({
        "event": "task.started", "resource": { "object": "task", "id": "task_01" },
        "sequence": 3, "payload": {}, "replay": null,
    });
    resource("event", fields)
}

fn error(code: &str) -> Value {
    json!({ "error": { "code": code, "message": "No.", "type": "request_error", "request_id": "req_01" } })
}

fn fixture(name: &str) -> Option<Value> {
    let path = shared_data(&format!("agents-protocol/{name}"))?;
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

fn with(mut body: Value, pointer: &str, value: Value) -> Value {
    *body.pointer_mut(pointer).unwrap() = value;
    body
}

#[test]
fn valid_answers_are_accepted() {
    check("GET", "/v1/tasks/task_01", 200, &task(json!({ "any": "object" })), &[]);
    check("post", "/v1/tasks", 202, &task(json!({})), &[]);
    let list = json!({ "object": "list", "data": [task(json!({}))], "page": { "has_more": false } });
    check("GET", "/v1/tasks?limit=1", 200, &list, &[]);
    check("GET", "/v1/events/event_01", 200, &event(), &[]);
    let file =
        json!({ "object": "file", "workspace_id": "w", "path": "a", "encoding": "utf-8", "content": "" });
    check("GET", "/v1/workspaces/w/files?path=a", 200, &file, &[]);
    check("GET", "/v1/tasks/none", 404, &error("resource_not_found"), &[]);
}

#[test]
fn broken_answers_are_named() {
    let task = task(json!({}));
    let path = "/v1/tasks/task_01";
    check("GET", path, 200, &with(task.clone(), "/status", json!("RUNNING")), &["/status"]);
    check("GET", path, 200, &with(task.clone(), "/created_at", json!("yesterday")), &["/created_at"]);
    check("GET", path, 200, &with(task.clone(), "/metadata", Value::Null), &["/metadata"]);
    check("GET", path, 200, &with(task.clone(), "/input", json!("text")), &["/input"]);
    let mut incomplete = task.clone();
    incomplete.as_object_mut().unwrap().remove("created_by");
    check("GET", path, 200, &incomplete, &["/"]);
    let list = json!({ "object": "list", "data": [1], "page": { "has_more": false } });
    check("GET", "/v1/tasks", 200, &list, &["/data/0", "/data/0"]);
    check("POST", "/v1/tasks", 200, &task, &["status"]);
    check("GET", path, 404, &json!({ "message": "no" }), &["/"]);
    check("GET", path, 404, &error("no_such_code"), &["/error/code"]);
}

#[test]
fn a_complete_message_is_accepted_where_the_document_forbids_it_by_mistake() {
    check("GET", "/v1/tasks/task_01", 200, &task(message()), &[]);
    let reference = json!({ "type": "artifact_ref", "artifact_id": "artifact_01", "visibility": "public" });
    let fields = json!({ "scope": "session", "owner_id": "o", "content": reference, "provenance": {} });
    check("GET", "/v1/memories/m", 200, &resource("memory", fields), &[]);

    let Some(api) = PublicApi::shared() else { return };
    let input = json!({ "role": "user", "parts": [] });
    assert_eq!(api.check_request("POST", "/v1/tasks", &json!({ "input": input })), Ok(()));
    assert_eq!(locations(api.check_request("POST", "/v1/tasks", &json!({ "input": "text" }))), ["/input"]);
    assert_eq!(locations(api.check_request("POST", "/v1/tasks", &json!({}))), ["/"]);
    assert_eq!(locations(api.check_request("GET", "/v1/tasks", &json!({}))), ["body"]);
}

#[test]
fn the_public_replay_request_is_a_valid_request() {
    let (Some(api), Some(request)) = (PublicApi::shared(), fixture("task-replay-request.json")) else {
        return;
    };
    let path = "/v1/tasks/task_01/replay";
    assert_eq!(api.check_request("POST", path, &request), Ok(()));
    let wrong = with(request, "/override/time:started_at/kind", json!("weather"));
    assert_eq!(locations(api.check_request("POST", path, &wrong)), ["/override/time:started_at/kind"]);
}

#[test]
fn not_implemented_goes_with_501_only() {
    check("GET", "/v1/quotas", 501, &error("not_implemented"), &[]);
    check("GET", "/v1/quotas", 500, &error("not_implemented"), &["/error/code"]);
}

#[test]
fn a_receipt_may_carry_the_whole_wire_receipt() {
    let (Some(wire), Some(replayed)) = (fixture("receipt.valid.json"), fixture("task-replay-receipt.json"))
    else {
        return;
    };
    let subject = json!({ "object": "task", "id": "task_01" });
    let issued_at = "2026-04-25T10:00:00Z";
    let receipt = |wire: &Value| {
        let fields = json!({ "subject": subject, "format": "receipt-2026-04-25", "summary": "",
            "issued_at": issued_at, "issuer": "harn", "wire": wire });
        resource("receipt", fields)
    };
    let placeholder = json!({ "schema_version": "1", "subject": subject, "issued_at": issued_at });
    check("GET", "/v1/receipts/r", 200, &receipt(&placeholder), &[]);
    check("GET", "/v1/receipts/r", 200, &receipt(&wire), &[]);
    check("GET", "/v1/receipts/r", 200, &receipt(&replayed), &[]);
    check("GET", "/v1/receipts/r", 200, &receipt(&with(wire, "/chain", json!({}))), &["/wire"]);
}

#[test]
fn literals_win_over_parameters() {
    let Some(api) = PublicApi::shared() else { return };
    assert_eq!(api.check("GET", "/v1/events/stream", 200, Some("text/event-stream"), b""), Ok(()));
    let as_event = api.check("GET", "/v1/events/stream", 200, JSON, event().to_string().as_bytes());
    assert_eq!(locations(as_event), ["content-type"]);
}

#[test]
fn content_types_and_bodies_fit_each_other() {
    let Some(api) = PublicApi::shared() else { return };
    let health = json!({ "ok": true, "status": "ok", "version": "1" }).to_string();
    let judge = |method, path, status, content_type, body: &str| {
        locations(api.check(method, path, status, content_type, body.as_bytes()))
    };
    let none: [&str; 0] = [];
    assert_eq!(judge("GET", "/health", 200, Some("application/json; charset=utf-8"), &health), none);
    assert_eq!(judge("GET", "/health", 200, Some("text/plain"), &health), ["content-type"]);
    assert_eq!(judge("GET", "/health", 200, None, &health), ["content-type"]);
    assert_eq!(judge("GET", "/health", 200, JSON, "{"), ["body"]);
    assert_eq!(judge("DELETE", "/v1/memories/m", 204, None, ""), none);
    assert_eq!(judge("DELETE", "/v1/memories/m", 204, JSON, "{}"), ["body"]);
    let bytes = Some("application/octet-stream");
    assert_eq!(judge("GET", "/v1/artifacts/a/content", 200, bytes, "\u{0}"), none);
    assert_eq!(judge("GET", "/health", 500, Some("text/plain"), "oops"), ["content-type"]);
    assert_eq!(judge("GET", "/v1/receipts/r", 200, Some("application/vnd.harn.receipt+json"), "{}"), none);
}

#[test]
fn operations_of_our_own_are_only_judged_for_their_errors() {
    check("GET", "/v1/receipts", 200, &json!("whatever"), &[]);
    check("GET", "/nowhere", 404, &error("resource_not_found"), &[]);
    check("GET", "/nowhere", 404, &json!({}), &["/"]);
    check("PUT", "/v1/tasks", 405, &json!({}), &["/"]);
}

#[test]
fn events_of_a_stream_are_events() {
    let Some(api) = PublicApi::shared() else { return };
    assert_eq!(api.check_sse_event(&event()), Ok(()));
    assert_eq!(locations(api.check_sse_event(&with(event(), "/sequence", json!(-1)))), ["/sequence"]);
}
