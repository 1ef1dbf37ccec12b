//! One command at work: typed access to documents, events and journal entries within a single commit.

use harn_core::run::JournalEntry;
use harn_core::{Error, EventKind, Result, SessionId, Task, TaskId, Timestamp, WorkspaceId};
use harn_log::{DocQuery, NewRow, Row, RowKind, Subject, Txn, View};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::fault;

/// Kinds of documents, one per projection.
pub mod kind {
    pub const WORKSPACE: &str = "workspace";
    pub const PERSONA: &str = "persona";
    pub const SESSION: &str = "session";
    pub const TASK: &str = "task";
    pub const MESSAGE: &str = "message";
    /// Messages that a truncation dropped; kept for the runs that saw them.
    pub const DROPPED_MESSAGE: &str = "dropped_message";
    /// Messages that answered a request. They are no part of the transcript: the answer is in the tool's result.
    pub const ANSWER: &str = "answer";
    /// Messages that wait for a run to take them.
    pub const INBOX: &str = "inbox";
    pub const ARTIFACT: &str = "artifact";
    pub const BRANCH: &str = "branch";
    pub const OUTCOME: &str = "outcome";
    pub const REQUEST: &str = "permission_request";
    /// A run that is under way: its time, its money, and how much it has in flight.
    pub const RUN: &str = "run";
    /// An effect that is in flight, by `task/key`.
    pub const EFFECT: &str = "effect";
    /// The summary that stands for the older part of a session, by session.
    pub const COMPACTION: &str = "compaction";
    /// The permission policy that was put through the API.
    pub const POLICY: &str = "permission_policy";
    /// Remembered answers, and rules that were added through the API.
    pub const RULE: &str = "permission_rule";
    /// Named points that runs wait at, by `workspace/id`.
    pub const WAITPOINT: &str = "waitpoint";
    /// Runs that wait for waitpoints, by `task/key`.
    pub const WAIT: &str = "wait";
    /// Entries of the event log of scripts; tagged with their topic.
    pub const RECORDED: &str = "recorded";
    /// The newest entry of a topic, by `workspace/topic`.
    pub const TOPIC: &str = "topic";
    pub const KEY: &str = "api_key";
    pub const IDEMPOTENCY: &str = "idempotency";
}

/// Tags that lists filter by.
pub mod tag {
    /// A task that is not terminal.
    pub const OPEN: &str = "open";
    /// A run with a deadline, an effect that is a timer, a pending request with one, or a wait with one.
    pub const TIMED: &str = "timed";
    /// A session with an expiry.
    pub const EXPIRING: &str = "expiring";
}

/// What has to happen outside the log once the commit is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    Start {
        task: TaskId,
        session: SessionId,
    },
    Answered(TaskId),
    Over(TaskId),
    /// The rules have changed.
    Rules,
}

/// Where a row belongs.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub workspace: Option<String>,
    pub session: Option<String>,
    pub task: Option<String>,
    pub trace: Option<String>,
    pub span: Option<String>,
}

impl Place {
    pub fn workspace(id: &WorkspaceId) -> Self {
        Self { workspace: Some(id.to_string()), ..Self::default() }
    }

    pub fn session(workspace: &WorkspaceId, session: &SessionId) -> Self {
        Self { session: Some(session.to_string()), ..Self::workspace(workspace) }
    }

    pub fn task(task: &Task) -> Self {
        Self {
            task: Some(task.id.to_string()),
            trace: Some(task.id.trace_id()),
            ..Self::session(&task.workspace_id, &task.session_id)
        }
    }

    pub fn span(mut self, span: String) -> Self {
        self.span = Some(span);
        self
    }
}

/// A command's view of the log and its only way to write.
pub struct Tx<'a> {
    pub txn: &'a mut dyn Txn,
    pub call: &'a Call,
    pub now: Timestamp,
    pub wakes: Vec<Wake>,
}

impl Tx<'_> {
    pub fn get<T: DeserializeOwned>(&self, kind: &str, id: &str) -> Result<Option<T>> {
        get(&*self.txn, kind, id)
    }

    pub fn find<T: DeserializeOwned>(&self, query: &DocQuery<'_>) -> Result<Vec<T>> {
        let docs = self.txn.docs(query).map_err(fault)?;
        docs.iter().map(|doc| doc.parse().map_err(fault)).collect()
    }

    /// Appends a public event about a resource.
    pub fn emit(
        &mut self,
        kind: EventKind,
        subject: (&str, &str),
        place: Place,
        payload: Value,
    ) -> Result<Row> {
        let mut row = NewRow::new(RowKind::Event, kind.as_str(), self.now, payload.to_string());
        row.subject = Some(Subject { object: subject.0.to_owned(), id: subject.1.to_owned() });
        row.actor = Some(self.call.actor.id.clone());
        row.workspace = place.workspace;
        row.session = place.session;
        row.task = place.task;
        row.trace = place.trace;
        row.span = place.span;
        self.txn.append(row).map_err(fault)
    }

    /// Appends an entry to a run's journal. A second completion for the same key is refused.
    pub fn journal(&mut self, task: &Task, entry: &JournalEntry) -> Result<Row> {
        let mut row = NewRow::new(RowKind::Journal, entry.name(), self.now, encode(entry)?);
        row.task = Some(task.id.to_string());
        if let JournalEntry::Completed { key, .. } = entry {
            row.key = Some(key.to_string());
        }
        self.txn.append(row).map_err(fault)
    }

    /// Appends something that only the projections see.
    pub fn fact(&mut self, name: &str, body: &impl Serialize) -> Result<Row> {
        let row = NewRow::new(RowKind::Fact, name, self.now, encode(body)?);
        self.txn.append(row).map_err(fault)
    }
}

impl Tx<'_> {
    /// The same, about something of one workspace.
    pub fn fact_in(&mut self, workspace: &WorkspaceId, name: &str, body: &impl Serialize) -> Result<Row> {
        let mut row = NewRow::new(RowKind::Fact, name, self.now, encode(body)?);
        row.workspace = Some(workspace.to_string());
        row.actor = Some(self.call.actor.id.clone());
        self.txn.append(row).map_err(fault)
    }
}

/// A document of a given kind, decoded.
pub fn get<T: DeserializeOwned>(view: &dyn View, kind: &str, id: &str) -> Result<Option<T>> {
    view.doc(kind, id).map_err(fault)?.map(|doc| doc.parse().map_err(fault)).transpose()
}

pub fn encode(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| fault(error.into()))
}

/// A payload with one resource in it.
pub fn payload(name: &str, resource: &impl Serialize) -> Result<Value> {
    let value = serde_json::to_value(resource).map_err(|error| fault(error.into()))?;
    Ok(json!({ name: value }))
}

/// Metadata given in an update replaces what was there, key by key; `null` removes a key.
pub fn merge(metadata: &mut Map<String, Value>, update: Map<String, Value>) {
    for (key, value) in update {
        if value.is_null() {
            metadata.remove(&key);
        } else {
            metadata.insert(key, value);
        }
    }
}

/// Text that people type has a limit, so that no list of resources becomes a burden.
pub fn check_name(param: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(param, format!("`{param}` must not be empty.")));
    }
    if text.len() > 4096 {
        return Err(Error::invalid(param, format!("`{param}` is longer than 4096 bytes.")));
    }
    Ok(())
}
