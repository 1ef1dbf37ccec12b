//! The event streams of the test server.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::Value;
use tokio::sync::mpsc;

use super::flaw::Flaw;
use super::routes::fault;
use super::{Server, not_found, reply, text};

pub async fn open(server: Arc<Server>, id: &str, headers: &HeaderMap) -> Response {
    let events = of(&server, id).await;
    if events.is_empty() && !server.has(Flaw::StreamOfNothing) {
        return reply(not_found());
    }
    let position =
        text(headers, "last-event-id").map(|cursor| events.iter().position(|event| event["id"] == cursor));
    let start = match position {
        _ if server.has(Flaw::LastEventIdIgnored) => 0,
        None if server.has(Flaw::HistoryNotStreamed) => events.len(),
        None => 0,
        Some(Some(position)) => position + usize::from(!server.has(Flaw::ResumeRepeatsOne)),
        Some(None) if server.has(Flaw::UnknownCursorIgnored) => 0,
        Some(None) => {
            let (_, error) = fault(410, "cursor_expired", "request_error", "Gone.");
            let text = format!("event: error\ndata: {error}\n\n");
            return ([(CONTENT_TYPE, "text/event-stream")], text).into_response();
        }
    };
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(feed(server, id.to_owned(), start, sender));
    let pieces = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(pieces)).into_response()
}

async fn of(server: &Server, id: &str) -> Vec<Value> {
    let world = server.world.lock().await;
    world.events.iter().filter(|event| event["task_id"] == id || event["session_id"] == id).cloned().collect()
}

async fn feed(
    server: Arc<Server>,
    id: String,
    mut position: usize,
    sender: mpsc::Sender<Result<Bytes, Infallible>>,
) {
    let mut changed = server.changed.subscribe();
    if server.has(Flaw::CommentFirst) && sender.send(Ok(Bytes::from(": hello\n\n"))).await.is_err() {
        return;
    }
    loop {
        changed.mark_unchanged();
        for event in of(&server, &id).await.into_iter().skip(position) {
            position += 1;
            if sender.send(Ok(frame(&server, event).into())).await.is_err() {
                return;
            }
        }
        if server.has(Flaw::StreamEndsAfterHistory) || server.has(Flaw::HistoryNotStreamed) {
            return;
        }
        tokio::select! {
            () = sender.closed() => return,
            more = changed.changed() => if more.is_err() { return },
        }
    }
}

fn frame(server: &Server, mut event: Value) -> String {
    if server.has(Flaw::StreamedEventWithoutSequence) {
        event.as_object_mut().unwrap().remove("sequence");
    }
    let kind = match server.has(Flaw::FrameNamedOtherwise) {
        true => "update",
        false => event["event"].as_str().unwrap(),
    };
    let id = match server.has(Flaw::FrameWithoutId) {
        true => String::new(),
        false => format!("id: {}\n", event["id"].as_str().unwrap()),
    };
    format!("{id}event: {kind}\ndata: {event}\n\n")
}
