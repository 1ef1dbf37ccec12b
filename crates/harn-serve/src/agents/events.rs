//! Events: ranges, single ones, and streams.

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use harn_core::{Actor, Error, Result, SessionId, TaskId};
use harn_harness::EventFilter;
use harn_wire::agents::{Event, Page};
use serde_json::value::RawValue;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Routes, SessionParam, Shared, TaskParam, WorkspaceParam, later};
use crate::edge::Edge;
use crate::failure::Failure;
use crate::gate::RequestId;
use crate::intake::{Asked, Caller, Id, RangeParams};
use crate::sse;

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list_events))
        .routes(routes!(stream_events))
        .routes(routes!(get_event))
        .routes(routes!(list_session_events))
        .routes(routes!(stream_session_events))
        .routes(routes!(list_task_events))
        .routes(routes!(stream_task_events))
        // The spelling that session streams have, for those who expect it here too.
        .route("/v1/tasks/{task_id}/events/stream", axum::routing::get(stream_task_events))
}

/// Events are rendered by the harness, once for all readers.
type Events = Page<Box<RawValue>>;

async fn range(edge: &Edge, actor: &Actor, filter: EventFilter, range: RangeParams) -> Answer<Events> {
    let limit = range.limit()?;
    let found = edge.harness.events(actor, filter, range.after_event_id, limit).await?;
    Ok(Json(Page::new(found.data, found.next.map(|id| id.to_string()))))
}

/// A reader's place: the header that browsers send when they reconnect, else the query.
fn cursor(headers: &HeaderMap, range: RangeParams) -> Result<Option<String>> {
    match headers.get("last-event-id") {
        Some(value) => {
            let unreadable = |_| Error::invalid("Last-Event-ID", "`Last-Event-ID` is not text.");
            Ok(Some(value.to_str().map_err(unreadable)?.to_owned()).filter(|text| !text.is_empty()))
        }
        None => Ok(range.after_event_id),
    }
}

/// Read a range of events.
#[utoipa::path(get, path = "/v1/events", operation_id = "listEvents", tag = "Events",
    params(WorkspaceParam, SessionParam, TaskParam, RangeParams), responses((status = 200, body = Page<Event>)))]
async fn list_events(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(workspace): Asked<WorkspaceParam>,
    Asked(session): Asked<SessionParam>,
    Asked(task): Asked<TaskParam>,
    Asked(asked): Asked<RangeParams>,
) -> Answer<Events> {
    range(&edge, &actor, filter(workspace, session, task), asked).await
}

fn filter(workspace: WorkspaceParam, session: SessionParam, task: TaskParam) -> EventFilter {
    EventFilter {
        workspace: workspace.workspace_id.map(Into::into),
        session: session.session_id.map(Into::into),
        task: task.task_id.map(Into::into),
    }
}

/// Stream events.
#[utoipa::path(get, path = "/v1/events/stream", operation_id = "streamEvents", tag = "Events",
    params(WorkspaceParam, SessionParam, TaskParam, ("Last-Event-ID" = inline(Option<String>), Header)),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
#[allow(clippy::too_many_arguments)]
async fn stream_events(
    State(edge): Shared,
    Caller(actor): Caller,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    Asked(workspace): Asked<WorkspaceParam>,
    Asked(session): Asked<SessionParam>,
    Asked(task): Asked<TaskParam>,
    Asked(asked): Asked<RangeParams>,
) -> Result<Response, Failure> {
    let filter = filter(workspace, session, task);
    sse::stream(&edge, &actor, request, filter, cursor(&headers, asked)?).await
}

/// Retrieve an event.
#[utoipa::path(get, path = "/v1/events/{event_id}", operation_id = "getEvent", tag = "Events",
    responses((status = 200, body = Event)))]
async fn get_event(State(edge): Shared, Caller(actor): Caller, Id(id): Id<String>) -> Answer<Box<RawValue>> {
    Ok(Json(edge.harness.event(&actor, &id).await?))
}

/// Read a range of a session's events.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/events", operation_id = "listSessionEvents", tag = "Events",
    params(RangeParams), responses((status = 200, body = Page<Event>)))]
async fn list_session_events(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<SessionId>,
    Asked(asked): Asked<RangeParams>,
) -> Answer<Events> {
    range(&edge, &actor, EventFilter { session: Some(id), ..EventFilter::default() }, asked).await
}

/// Stream a session's events.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/events/stream", operation_id = "streamSessionEvents",
    tag = "Events", params(("Last-Event-ID" = inline(Option<String>), Header)),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn stream_session_events(
    State(edge): Shared,
    Caller(actor): Caller,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    Id(id): Id<SessionId>,
    Asked(asked): Asked<RangeParams>,
) -> Result<Response, Failure> {
    let filter = EventFilter { session: Some(id), ..EventFilter::default() };
    sse::stream(&edge, &actor, request, filter, cursor(&headers, asked)?).await
}

/// Read a range of a task's events.
#[utoipa::path(get, path = "/v1/tasks/{task_id}/events", operation_id = "listTaskEvents", tag = "Events",
    params(RangeParams), responses((status = 200, body = Page<Event>)))]
async fn list_task_events(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<TaskId>,
    Asked(asked): Asked<RangeParams>,
) -> Answer<Events> {
    range(&edge, &actor, EventFilter { task: Some(id), ..EventFilter::default() }, asked).await
}

/// Stream a task's events. The stream ends after the task's last one.
#[utoipa::path(get, path = "/v1/tasks/{task_id}/stream", operation_id = "streamTaskEvents", tag = "Events",
    params(("Last-Event-ID" = inline(Option<String>), Header)),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn stream_task_events(
    State(edge): Shared,
    Caller(actor): Caller,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    Id(id): Id<TaskId>,
    Asked(asked): Asked<RangeParams>,
) -> Result<Response, Failure> {
    if headers.get(header::UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket")) {
        return Err(later::not_yet(
            "WebSocket sessions cannot be used yet. Stream this path as server-sent events.",
        ));
    }
    let filter = EventFilter { task: Some(id), ..EventFilter::default() };
    sse::stream(&edge, &actor, request, filter, cursor(&headers, asked)?).await
}
