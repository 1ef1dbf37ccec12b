//! Server-sent events: a subscription of the harness written out as frames, for as long as somebody listens.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use harn_core::{Actor, Code, Error, Result};
use harn_harness::{EventFeed, EventFilter, FeedItem};
use tokio_util::sync::CancellationToken;

use crate::edge::Edge;
use crate::failure::{Failure, envelope};
use crate::gate::RequestId;

const HEARTBEAT: &[u8] = b": keep-alive\n\n";

/// Opens a stream. A cursor that is no longer available is told on the stream, as spec 001 wants it.
pub async fn stream(
    edge: &Edge,
    actor: &Actor,
    request: RequestId,
    filter: EventFilter,
    cursor: Option<String>,
) -> Result<Response, Failure> {
    let feed = match edge.harness.subscribe(actor, filter, cursor).await {
        Ok(feed) => feed,
        Err(error) if error.code == Code::CursorExpired => {
            return Ok(response(Body::from(error_frame(error, &request))));
        }
        Err(error) => return Err(error.into()),
    };
    let (heartbeat, shutdown) = (edge.options.heartbeat, edge.options.shutdown.clone());
    let frames = Frames { feed, heartbeat, shutdown, request, failed: false };
    // Dropped with the connection, and the subscription with it.
    Ok(response(Body::from_stream(futures::stream::unfold(frames, Frames::next))))
}

fn response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-cache"),
        ("x-accel-buffering", "no"),
    ];
    (headers, body).into_response()
}

struct Frames {
    feed: EventFeed,
    heartbeat: Duration,
    shutdown: CancellationToken,
    request: RequestId,
    failed: bool,
}

impl Frames {
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if self.failed {
            return None;
        }
        let told = tokio::select! {
            biased;
            () = self.shutdown.cancelled() => return None,
            told = tokio::time::timeout(self.heartbeat, self.feed.next()) => told,
        };
        let bytes = match told {
            Err(_) => Bytes::from_static(HEARTBEAT),
            Ok(Ok(Some(items))) => event_frames(&items),
            Ok(Ok(None)) => return None,
            Ok(Err(error)) => {
                self.failed = true;
                error_frame(error, &self.request)
            }
        };
        Some((Ok(bytes), self))
    }
}

/// One write for all events that are ready.
fn event_frames(items: &[FeedItem]) -> Bytes {
    let mut frames = BytesMut::with_capacity(items.iter().map(|item| item.json.len() + 96).sum());
    for item in items {
        frames.put_slice(format!("id: {}\nevent: {}\ndata: ", item.id, item.name).as_bytes());
        frames.put_slice(&item.json);
        frames.put_slice(b"\n\n");
    }
    frames.freeze()
}

fn error_frame(error: Error, request: &RequestId) -> Bytes {
    let mut frame = BytesMut::from(&b"event: error\ndata: "[..]);
    frame.put_slice(&envelope(error, &request.0));
    frame.put_slice(b"\n\n");
    frame.freeze()
}
