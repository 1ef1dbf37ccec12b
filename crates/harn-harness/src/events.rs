//! Events as readers get them: ranges, single events and streams, filtered by scope and visibility.

use std::sync::Arc;

use bytes::Bytes;
use harn_core::event::ResourcePointer;
use harn_core::{
    Actor, Code, Error, EventKind, Result, SessionId, Task, TaskId, Visibility, WorkspaceAccess, WorkspaceId,
};
use harn_log::{Row, RowFilter, RowKind, Subscription, TailRow, View};
use harn_wire::agents::EventWire;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::page::PageQuery;
use crate::sessions::visible_session;
use crate::tasks::visible_task;
use crate::tx::{get, kind};
use crate::{Harness, fault};

/// Which events: of a task, a session, a workspace, or all that the actor may see.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    pub workspace: Option<WorkspaceId>,
    pub session: Option<SessionId>,
    pub task: Option<TaskId>,
}

/// One page of events, each already rendered as JSON.
#[derive(Clone, Debug)]
pub struct EventPage {
    pub data: Vec<Box<RawValue>>,
    /// The id to read on from, when there is more.
    pub next: Option<u64>,
}

impl Harness {
    pub async fn events(
        &self,
        actor: &Actor,
        filter: EventFilter,
        after: Option<String>,
        limit: Option<u64>,
    ) -> Result<EventPage> {
        actor.require("events:read")?;
        let limit = PageQuery { limit, cursor: None }.limit()?;
        let actor = actor.clone();
        self.look(move |view| {
            let rows = checked_filter(view, &actor, &filter)?;
            let after = after.map_or(Ok(0), |id| parse_cursor(view, &rows, "after_event_id", &id))?;
            let mut found = view.rows(&rows, after, limit + 1).map_err(fault)?;
            let more = found.len() > limit;
            found.truncate(limit);
            let next = found.last().filter(|_| more).map(|row| row.id);
            let internal = actor.sees_internal();
            let data = found.iter().filter_map(|row| render(row, internal)).collect();
            Ok(EventPage { data, next })
        })
        .await
    }

    pub async fn event(&self, actor: &Actor, id: &str) -> Result<Box<RawValue>> {
        actor.require("events:read")?;
        let (actor, id) = (actor.clone(), id.to_owned());
        self.glance(move |view| {
            let absent = || Error::not_found("event", &id);
            let row = view.row(id.parse().map_err(|_| absent())?).map_err(fault)?.ok_or_else(absent)?;
            if !scoped(&actor, RowFilter::events()).matches(&row) {
                return Err(absent());
            }
            render(&row, actor.sees_internal()).ok_or_else(absent)
        })
    }

    /// All events after a cursor, in order, for ever. Without a cursor, from the beginning.
    pub async fn subscribe(
        &self,
        actor: &Actor,
        filter: EventFilter,
        after: Option<String>,
    ) -> Result<EventFeed> {
        actor.require("events:read")?;
        let (seer, wanted) = (actor.clone(), filter.clone());
        let (rows, after) = self.glance(move |view| {
            let rows = checked_filter(view, &seer, &wanted)?;
            let after = after.map_or(Ok(0), |id| parse_cursor(view, &rows, "Last-Event-ID", &id))?;
            Ok((rows, after))
        })?;
        let ends_with = match filter.task {
            Some(task) => TaskEnd::of(self, task, after).await?,
            None => TaskEnd::Never,
        };
        let subscription = Subscription::new(Arc::clone(&self.log), rows, after);
        Ok(EventFeed { subscription, internal: actor.sees_internal(), end: ends_with })
    }
}

/// A task's stream is over when its last event has been given.
enum TaskEnd {
    Never,
    AfterTerminal,
    /// The task is over; what was linked to it since ends here.
    After(u64),
    Already,
}

impl TaskEnd {
    async fn of(harness: &Harness, task: TaskId, after: u64) -> Result<Self> {
        let wanted = task.clone();
        let found: Option<Task> = harness.glance(move |view| get(view, kind::TASK, wanted.as_str()))?;
        if !found.is_some_and(|task| task.status.is_terminal()) {
            return Ok(Self::AfterTerminal);
        }
        harness
            .look(move |view| {
                let filter = RowFilter { task: Some(task.to_string()), ..RowFilter::events() };
                let ahead = view.rows(&filter, after, usize::MAX).map_err(fault)?;
                Ok(match ahead.last() {
                    _ if ahead.iter().any(is_terminal) => Self::AfterTerminal,
                    Some(last) => Self::After(last.id),
                    None => Self::Already,
                })
            })
            .await
    }
}

fn is_terminal(row: &Row) -> bool {
    let terminal = [EventKind::TaskCompleted, EventKind::TaskFailed, EventKind::TaskCanceled];
    terminal.iter().any(|kind| kind.as_str() == row.name)
}

/// A rendered event on its way to a reader.
#[derive(Clone, Debug)]
pub struct FeedItem {
    pub id: u64,
    pub name: String,
    pub json: Bytes,
}

/// A subscription that renders, and that ends when the task it is about has.
pub struct EventFeed {
    subscription: Subscription,
    internal: bool,
    end: TaskEnd,
}

impl EventFeed {
    /// The next events; none when the stream is over. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Vec<FeedItem>>> {
        loop {
            if matches!(self.end, TaskEnd::Already) {
                return Ok(None);
            }
            let rows = self.subscription.next().await.map_err(fault)?;
            let ends = match self.end {
                TaskEnd::AfterTerminal => rows.iter().any(|entry| is_terminal(&entry.row)),
                TaskEnd::After(last) => rows.iter().any(|entry| entry.row.id >= last),
                TaskEnd::Never | TaskEnd::Already => false,
            };
            if ends {
                self.end = TaskEnd::Already;
            }
            let items: Vec<FeedItem> =
                rows.iter().filter_map(|entry| feed_item(entry, self.internal)).collect();
            if !items.is_empty() {
                return Ok(Some(items));
            }
        }
    }
}

fn feed_item(entry: &TailRow, internal: bool) -> Option<FeedItem> {
    let json = entry.rendered(internal, |row| match render(row, internal) {
        Some(event) => Bytes::from(Box::<str>::from(event).into_string()),
        None => Bytes::new(),
    });
    (!json.is_empty()).then(|| FeedItem { id: entry.row.id, name: entry.row.name.clone(), json })
}

fn scoped(actor: &Actor, mut filter: RowFilter) -> RowFilter {
    if let WorkspaceAccess::Only(allowed) = &actor.workspaces {
        filter.within = Some(allowed.iter().map(ToString::to_string).collect());
    }
    filter
}

/// A filter may only name what the actor can see.
fn checked_filter(view: &dyn View, actor: &Actor, filter: &EventFilter) -> Result<RowFilter> {
    if let Some(id) = &filter.task {
        visible_task(view, actor, id)?;
    }
    if let Some(id) = &filter.session {
        visible_session(view, actor, id)?;
    }
    if let Some(id) = &filter.workspace {
        crate::workspaces::visible_workspace(view, actor, id)?;
    }
    Ok(scoped(
        actor,
        RowFilter {
            workspace: filter.workspace.as_ref().map(ToString::to_string),
            session: filter.session.as_ref().map(ToString::to_string),
            task: filter.task.as_ref().map(ToString::to_string),
            ..RowFilter::events()
        },
    ))
}

/// A cursor must be an event of the stream that it is used on; `0` is its beginning.
pub fn parse_cursor(view: &dyn View, filter: &RowFilter, param: &str, text: &str) -> Result<u64> {
    let id: u64 = text.parse().map_err(|_| {
        Error::invalid(param, format!("`{param}` must be the id of an event: a decimal number."))
    })?;
    if id == 0 {
        return Ok(0);
    }
    if id > view.head().map_err(fault)? {
        return Err(Error::new(
            Code::CursorExpired,
            format!(
                "There is no event {id} in this log; it may have been restored from a backup. Start again."
            ),
        )
        .param(param));
    }
    let row = view.row(id).map_err(fault)?;
    if row.is_some_and(|row| row.kind == RowKind::Event && filter.matches(&row)) {
        return Ok(id);
    }
    Err(Error::invalid(
        param,
        format!("Event {id} is not part of this stream. Use an id that this stream gave you."),
    ))
}

/// The event as spec 001 shows it, or none when this reader may not know of it.
fn render(row: &Row, internal: bool) -> Option<Box<RawValue>> {
    let level = if internal { Visibility::Internal } else { Visibility::Public };
    let payload = visible_payload(&row.body, level)?;
    let payload = RawValue::from_string(payload).ok()?;
    let subject = row.subject.as_ref()?;
    let wire = EventWire {
        id: row.id.to_string(),
        object: "event",
        created_at: row.at,
        updated_at: row.at,
        metadata: serde_json::Map::new(),
        event: &row.name,
        resource: ResourcePointer { object: subject.object.clone(), id: subject.id.clone() },
        sequence: row.sequence.unwrap_or_default(),
        payload: &payload,
        trace_id: row.trace.as_deref(),
        span_id: row.span.as_deref(),
        session_id: row.session.as_deref(),
        task_id: row.task.as_deref(),
        workspace_id: row.workspace.as_deref(),
        actor: row.actor.as_deref(),
        idempotency_key: None,
        previous_event_id: row.previous.map(|id| id.to_string()),
        receipt_id: None,
        replayed: false,
    };
    serde_json::value::to_raw_value(&wire).ok()
}

/// The payload without the parts that this level may not see; none when it is all about a hidden artifact.
fn visible_payload(body: &str, level: Visibility) -> Option<String> {
    // Almost all payloads hold only public parts and need no parsing. Hidden ones are found by their words;
    // a public text that happens to contain them is merely parsed in vain.
    if !body.contains("internal") && !body.contains("receipt_only") {
        return Some(body.to_owned());
    }
    let mut payload: Value = serde_json::from_str(body).ok()?;
    if payload.get("artifact").is_some_and(|artifact| hidden(artifact, level)) {
        return None;
    }
    strip(&mut payload, level);
    Some(payload.to_string())
}

fn hidden(value: &Value, level: Visibility) -> bool {
    let visibility = value.get("visibility").and_then(|text| serde_json::from_value(text.clone()).ok());
    visibility.is_some_and(|visibility: Visibility| visibility > level)
}

fn strip(value: &mut Value, level: Visibility) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, level)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if let (true, Some(parts)) = (name == "parts", field.as_array_mut()) {
                    parts.retain(|part| !hidden(part, level));
                }
                strip(field, level);
            }
        }
        _ => {}
    }
}
