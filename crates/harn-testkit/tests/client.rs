//! The client against a server that says exactly what the test tells it to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use harn_testkit::Api;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(20);

/// A server for one request: sends `pieces`, one write each, and gives back what it was sent.
async fn server(pieces: Vec<String>) -> (Api, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = Api::new(format!("http://{}/", listener.local_addr().unwrap())).with_key("secret");
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !is_whole(&request) {
            let mut buffer = [0; 4096];
            let read = socket.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..read]);
        }
        for piece in pieces {
            socket.write_all(piece.as_bytes()).await.unwrap();
            socket.flush().await.unwrap();
        }
        String::from_utf8(request).unwrap()
    });
    (api, served)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    body.len() >= length.parse().unwrap()
}

fn answer(status: &str, body: &Value) -> Vec<String> {
    let body = body.to_string();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    vec![head + &body]
}

fn error(request_id: Value) -> Value {
    let error =
        json!({ "code": "conflict", "message": "No.", "type": "conflict_error", "request_id": request_id });
    json!({ "error": error })
}

fn event(id: &str) -> Value {
    json!({
        "id": id, "object": "event", "metadata": {}, "event": "task.started", "sequence": 1, "payload": {},
        "created_at": "2026-04-25T10:00:00Z", "updated_at": "2026-04-25T10:00:00Z",
        "resource": { "object": "task", "id": "task_01" },
    })
}

/// What went wrong in the future, as the panic's message.
async fn complaint<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> String {
    let panic = tokio::spawn(future).await.err().expect("the future panics").into_panic();
    *panic.downcast::<String>().expect("the panic has a message")
}

#[tokio::test]
async fn a_request_carries_version_and_key() {
    let health = json!({ "ok": true, "status": "ok", "version": "1" });
    let (api, served) = server(answer("200 OK", &health)).await;
    assert_eq!(api.get("/health").await.expect(200), health);
    let request = served.await.unwrap();
    assert!(request.starts_with("GET /health HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("harn-agents-protocol-version: agents-protocol-2026-04-25\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer secret\r\n"), "{request}");
}

#[tokio::test]
async fn a_call_can_leave_out_or_replace_what_is_usual() {
    let (api, served) = server(answer("409 Conflict", &error(json!("req_01")))).await;
    let call = api.request("POST".parse().unwrap(), "/v1/tasks").without_version().key("other");
    let answer = call.idempotency_key("k1").bytes("{broken", "text/plain").send().await;
    assert_eq!((answer.status, answer.error_code()), (409, "conflict"));
    let request = served.await.unwrap();
    assert!(!request.contains("harn-agents-protocol-version"), "{request}");
    assert!(request.contains("authorization: Bearer other\r\n"), "{request}");
    assert!(request.contains("idempotency-key: k1\r\n"), "{request}");
    assert!(request.contains("content-type: text/plain\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{broken"), "{request}");
}

#[tokio::test]
async fn an_answer_that_breaks_the_contract_fails_the_test() {
    let (api, _served) = server(answer("200 OK", &json!({ "ok": "yes" }))).await;
    if api.contract.is_none() {
        return;
    }
    let message = complaint(async move { api.get("/health").await }).await;
    assert!(message.contains("/ok: \"yes\" is not of type \"boolean\""), "{message}");
    assert!(message.contains("GET /health 200"), "{message}");
}

#[tokio::test]
async fn an_error_needs_a_request_id() {
    let (api, _served) = server(answer("409 Conflict", &error(Value::Null))).await;
    let message = complaint(async move { api.get("/v1/tasks").await }).await;
    assert!(message.contains("an error needs a request_id"), "{message}");
}

#[tokio::test]
async fn an_unexpected_status_shows_the_whole_answer() {
    let (api, _served) = server(answer("409 Conflict", &error(json!("req_01")))).await;
    let answer = api.delete("/v1/memories/m").await;
    let message = complaint(async move { answer.expect(204) }).await;
    assert!(message.starts_with("expected 204, got DELETE /v1/memories/m 409"), "{message}");
    assert!(message.contains("\"request_id\": \"req_01\""), "{message}");
}

fn stream(pieces: &[String]) -> Vec<String> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    std::iter::once(head).chain(pieces.iter().cloned()).collect()
}

#[tokio::test]
async fn a_stream_gives_frames_until_it_ends() {
    let frame = |id: &str| format!("id: {id}\r\nevent: task.started\r\ndata: {}\r\n\r\n", event(id));
    let second = frame("e2");
    let (cut, rest) = second.split_at(30);
    let expired = format!("event: error\ndata: {}\n\n", error(json!("req_01")));
    let pieces = [frame("e1"), format!(": keep-alive\r\n\r\n{cut}"), rest.to_owned(), expired];
    let (api, served) = server(stream(&pieces)).await;

    let mut events = api.events("/v1/events/stream", Some("e0")).await;
    let first = events.next(LONG).await.unwrap();
    assert_eq!((first.id.as_deref(), first.data, first.comments), (Some("e1"), event("e1"), 0));
    let second = events.next(LONG).await.unwrap();
    assert_eq!((second.id.as_deref(), second.data, second.comments), (Some("e2"), event("e2"), 1));
    assert_eq!(events.next(LONG).await.unwrap().event.as_deref(), Some("error"));
    assert_eq!(events.next(LONG).await, None);
    assert!(events.ended());
    assert_eq!(events.comments(), 1);
    let request = served.await.unwrap();
    assert!(request.contains("last-event-id: e0\r\n"), "{request}");
    assert!(request.contains("accept: text/event-stream\r\n"), "{request}");
}

#[tokio::test]
async fn a_frame_that_is_not_the_event_it_claims_fails_the_test() {
    for (frame, expected) in [
        (format!("id: other\nevent: task.started\ndata: {}\n\n", event("e1")), "are not those of its data"),
        ("id: e1\nevent: task.started\ndata: {}\n\n".to_owned(), "breaks the public contract"),
    ] {
        let (api, _served) = server(stream(&[frame])).await;
        if api.contract.is_none() {
            return;
        }
        let message = complaint(async move {
            let mut events = api.events("/v1/tasks/task_01/stream", None).await;
            events.next(LONG).await
        });
        let message = message.await;
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn an_error_in_place_of_a_stream_is_shown() {
    let (api, _served) = server(answer("409 Conflict", &error(json!("req_01")))).await;
    let message = complaint(async move {
        api.events("/v1/events/stream", None).await;
    });
    let message = message.await;
    assert!(message.starts_with("not a stream of events: GET /v1/events/stream 409"), "{message}");
}
