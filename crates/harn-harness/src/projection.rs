//! From rows to documents: the one place where events, journal entries and facts become state.

use std::collections::HashMap;

use harn_core::errand::{Recorded, Waitpoint};
use harn_core::run::{Compacted, Delivery};
use harn_core::{
    Artifact, Branch, EventKind, Message, Outcome, PermissionRequest, Persona, RequestStatus, Role, Session,
    SessionState, Task, TaskStatus, Timestamp, Truncation, Workspace,
};
use harn_log::{Doc, DocQuery, Docs, Projection, Result, Row, RowKind};
use harn_policy::RememberRule;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::StoredResponse;
use crate::in_flight;
use crate::keys::StoredKey;
use crate::tx::{kind, tag};

/// An undelivered message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxItem {
    pub message: Message,
    pub delivery: Delivery,
}

/// The projections of the harness.
#[derive(Debug, Default)]
pub struct HarnessProjection;

impl Projection for HarnessProjection {
    fn version(&self) -> u32 {
        5
    }

    fn apply(&self, docs: &mut dyn Docs, row: &Row) -> Result<()> {
        match row.kind {
            RowKind::Event => match EventKind::parse(&row.name) {
                Some(event) => apply_event(docs, row, event),
                None => Ok(()),
            },
            RowKind::Journal => in_flight::apply(docs, row),
            RowKind::Fact => apply_fact(docs, row),
        }
    }
}

fn apply_event(docs: &mut dyn Docs, row: &Row, event: EventKind) -> Result<()> {
    use EventKind::*;
    match event {
        WorkspaceCreated | WorkspaceUpdated => {
            let workspace: Workspace = field(row, "workspace")?;
            let id = workspace.id.to_string();
            put(docs, row, kind::WORKSPACE, &id, &workspace, |doc| doc.workspace = Some(id.clone()))
        }
        PersonaCreated | PersonaUpdated => {
            let persona: Persona = field(row, "persona")?;
            put(docs, row, kind::PERSONA, persona.id.as_str(), &persona, |_| {})
        }
        SessionCreated | SessionUpdated | SessionClosed => put_session(docs, row, &field(row, "session")?),
        SessionTruncated => truncate(docs, row),
        UserMessage | AgentMessage => put_message(docs, row, &field(row, "message")?),
        SessionMessageAppended => apply_appended(docs, row),
        TaskSubmitted | TaskStarted => put_task(docs, row, &field(row, "task")?),
        TaskStatusChanged => change_status(docs, row),
        TaskCompleted | TaskFailed | TaskCanceled => finish(docs, row),
        ToolApprovalRequired | QuestionAsked | UserToolConfirmation | UserInputSubmitted => {
            if let Answered { message: Some(message) } = row.parse()? {
                put(docs, row, kind::ANSWER, message.id.as_str(), &message, |_| {})?;
            }
            put_request(docs, row, &field(row, "request")?)
        }
        BranchCreated => {
            let branch: Branch = field(row, "branch")?;
            put(docs, row, kind::BRANCH, branch.id.as_str(), &branch, |_| {})
        }
        SessionCompacted => {
            let session = row.session.clone().unwrap_or_default();
            let compacted: Compacted = field(row, "compacted")?;
            put(docs, row, kind::COMPACTION, &session, &compacted, |_| {})
        }
        PermissionPolicyChanged => {
            let policy: Value = field(row, "policy")?;
            put(docs, row, kind::POLICY, crate::law::POLICY_ID, &policy, |_| {})
        }
        PermissionRuleAdded => {
            let rule: RememberRule = field(row, "rule")?;
            put(docs, row, kind::RULE, &rule.id, &rule, |_| {})
        }
        PermissionRuleRemoved => {
            let rule: RememberRule = field(row, "rule")?;
            docs.remove(kind::RULE, &rule.id)
        }
        ArtifactCreated | ArtifactUpdated => {
            let artifact: Artifact = field(row, "artifact")?;
            put(docs, row, kind::ARTIFACT, artifact.id.as_str(), &artifact, |_| {})
        }
        _ => Ok(()),
    }
}

#[derive(Deserialize)]
struct Answered {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Appended {
    message: Option<Message>,
    delivery: Option<Delivery>,
}

/// A message whose whole content is in this event: of a role without a kind of its own, or on its way into the inbox.
fn apply_appended(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    let Appended { message: Some(message), delivery } = row.parse()? else { return Ok(()) };
    put_message(docs, row, &message)?;
    match delivery {
        Some(delivery) => {
            let id = message.id.to_string();
            put(docs, row, kind::INBOX, &id, &InboxItem { message, delivery }, |_| {})
        }
        None => Ok(()),
    }
}

fn put_message(docs: &mut dyn Docs, row: &Row, message: &Message) -> Result<()> {
    // A delivered message leaves the inbox and stands where it was delivered.
    docs.remove(kind::INBOX, message.id.as_str())?;
    let session = message.session_id.as_ref().map(ToString::to_string);
    let doc = document(row, kind::MESSAGE, message.id.as_str(), message)?;
    docs.put(Doc { session, task: None, ..doc })
}

fn put_session(docs: &mut dyn Docs, row: &Row, session: &Session) -> Result<()> {
    put(docs, row, kind::SESSION, session.id.as_str(), session, |doc| {
        let expires = session.expires_at.is_some() && session.state != SessionState::Closed;
        doc.session = None;
        doc.tag = expires.then(|| tag::EXPIRING.to_owned());
    })
}

fn put_task(docs: &mut dyn Docs, row: &Row, task: &Task) -> Result<()> {
    put(docs, row, kind::TASK, task.id.as_str(), task, |doc| {
        doc.task = None;
        doc.tag = (!task.status.is_terminal()).then(|| tag::OPEN.to_owned());
    })?;
    let state = match task.status {
        TaskStatus::Submitted => return Ok(()),
        status if status.is_terminal() => SessionState::Idle,
        _ => SessionState::Active,
    };
    change_session_state(docs, row, task, state)
}

fn change_session_state(docs: &mut dyn Docs, row: &Row, task: &Task, state: SessionState) -> Result<()> {
    let Some(doc) = docs.get(kind::SESSION, task.session_id.as_str())? else { return Ok(()) };
    let mut session: Session = doc.parse()?;
    if session.state == SessionState::Closed || session.state == state {
        return Ok(());
    }
    session.state = state;
    session.updated_at = row.at;
    docs.replace(Doc { body: serde_json::to_string(&session)?, ..doc })
}

#[derive(Deserialize)]
struct StatusChange {
    to: TaskStatus,
}

fn change_status(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    let StatusChange { to } = row.parse()?;
    let Some(id) = &row.task else { return Ok(()) };
    let Some(doc) = docs.get(kind::TASK, id)? else { return Ok(()) };
    let mut task: Task = doc.parse()?;
    set_status(&mut task, to, row.at);
    docs.replace(Doc { body: serde_json::to_string(&task)?, ..doc })
}

/// A task's own account of a transition. Also used by the command that causes it.
pub fn set_status(task: &mut Task, to: TaskStatus, at: Timestamp) {
    task.status = to;
    task.updated_at = at;
    match to {
        TaskStatus::Working if task.started_at.is_none() => task.started_at = Some(at),
        TaskStatus::Completed | TaskStatus::Failed => task.completed_at = Some(at),
        TaskStatus::Canceled => task.canceled_at = Some(at),
        _ => {}
    }
}

#[derive(Deserialize)]
struct Finished {
    task: Task,
    outcome: Outcome,
}

fn finish(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    let Finished { task, outcome } = row.parse()?;
    put_task(docs, row, &task)?;
    put(docs, row, kind::OUTCOME, outcome.id.as_str(), &outcome, |_| {})?;
    in_flight::forget(docs, task.id.as_str())
}

fn put_request(docs: &mut dyn Docs, row: &Row, request: &PermissionRequest) -> Result<()> {
    put(docs, row, kind::REQUEST, request.id.as_str(), request, |doc| {
        doc.task = request.task_id.as_ref().map(ToString::to_string);
        let timed = request.status == RequestStatus::Pending && !request.request["deadline"].is_null();
        doc.tag = timed.then(|| tag::TIMED.to_owned());
    })
}

fn truncate(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    let truncation: Truncation = row.parse()?;
    let session = truncation.session_id.as_str();
    let mut turns = 0;
    for doc in docs.find(&DocQuery { session: Some(session), ..DocQuery::of(kind::MESSAGE) })? {
        let message: Message = doc.parse()?;
        turns += u64::from(message.role == Role::User);
        if turns > truncation.kept_turn_count {
            docs.remove(kind::MESSAGE, &doc.id)?;
            docs.remove(kind::INBOX, &doc.id)?;
            let dropped = format!("{:020}", row.id);
            docs.put(Doc { kind: kind::DROPPED_MESSAGE.into(), tag: Some(dropped), ..doc })?;
        }
    }
    // A summary that covers what is no longer there would speak of the future.
    if let Some(doc) = docs.get(kind::COMPACTION, session)? {
        let told = DocQuery { session: Some(session), ..DocQuery::of(kind::MESSAGE) };
        let from = doc.parse::<Compacted>()?.from;
        if !docs.find(&told)?.iter().any(|message| message.position >= from) {
            docs.remove(kind::COMPACTION, session)?;
        }
    }
    put_session(docs, row, &truncation.session)
}

#[derive(Deserialize)]
struct Pruned {
    before: Timestamp,
}

#[derive(Deserialize)]
struct Revoked {
    id: String,
}

fn apply_fact(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    match row.name.as_str() {
        "idempotency.recorded" => {
            let stored: StoredResponse = row.parse()?;
            docs.put(document(row, kind::IDEMPOTENCY, &stored.id, &stored)?)
        }
        "idempotency.pruned" => {
            let Pruned { before } = row.parse()?;
            for doc in docs.find(&DocQuery::of(kind::IDEMPOTENCY))? {
                // Positions rise with time, so the first that is still good ends the search.
                if doc.parse::<StoredResponse>()?.expires_at > before {
                    break;
                }
                docs.remove(kind::IDEMPOTENCY, &doc.id)?;
            }
            Ok(())
        }
        "waitpoint.changed" => {
            let waitpoint: Waitpoint = row.parse()?;
            let workspace = row.workspace.as_deref().unwrap_or_default();
            put(docs, row, kind::WAITPOINT, &format!("{workspace}/{}", waitpoint.id), &waitpoint, |_| {})
        }
        "script.event" => {
            let recorded: Recorded = row.parse()?;
            let workspace = row.workspace.as_deref().unwrap_or_default();
            let topic = format!("{workspace}/{}", recorded.topic);
            docs.put(document(row, kind::TOPIC, &topic, &row.id)?)?;
            // The row itself has the words.
            put(docs, row, kind::RECORDED, &row.id.to_string(), &row.id, |doc| doc.tag = Some(recorded.topic))
        }
        "key.created" => {
            let key: StoredKey = row.parse()?;
            put(docs, row, kind::KEY, &key.lookup(), &key, |_| {})
        }
        "key.revoked" => {
            let Revoked { id } = row.parse()?;
            for doc in docs.find(&DocQuery::of(kind::KEY))? {
                let key: StoredKey = doc.parse()?;
                if key.id.as_str() == id {
                    let key = StoredKey { revoked_at: Some(row.at), ..key };
                    docs.replace(Doc { body: serde_json::to_string(&key)?, ..doc })?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// One field of a payload, decoded.
fn field<T: DeserializeOwned>(row: &Row, name: &str) -> Result<T> {
    let fields: HashMap<&str, &RawValue> = serde_json::from_str(&row.body)?;
    Ok(serde_json::from_str(fields.get(name).map_or("null", |raw| raw.get()))?)
}

/// Writes a document; it keeps the place of its first version, and belongs where its row belongs.
pub fn put(
    docs: &mut dyn Docs,
    row: &Row,
    kind: &str,
    id: &str,
    value: &impl Serialize,
    adjust: impl FnOnce(&mut Doc),
) -> Result<()> {
    let mut doc = document(row, kind, id, value)?;
    adjust(&mut doc);
    docs.replace(doc)
}

/// A document that stands where its row stands.
fn document(row: &Row, kind: &str, id: &str, value: &impl Serialize) -> Result<Doc> {
    Ok(Doc {
        kind: kind.to_owned(),
        id: id.to_owned(),
        position: row.id,
        workspace: row.workspace.clone(),
        session: row.session.clone(),
        task: row.task.clone(),
        tag: None,
        body: serde_json::to_string(value)?,
    })
}
