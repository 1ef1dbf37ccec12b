//! From rows to documents: the one place where events, journal entries and facts become state.

use std::collections::{BTreeMap, HashMap};

use harn_core::chat::ModelRef;
use harn_core::errand::{Recorded, Wait, Waitpoint};
use harn_core::run::Compacted;
use harn_core::run::{Delivery, EffectKey, JournalEntry, Spend, Verdict};
use harn_core::{
    Artifact, Branch, EventKind, Message, Outcome, PermissionRequest, Persona, RequestId, RequestSource,
    RequestStatus, Role, Session, SessionState, Task, TaskStatus, Timestamp, Truncation, Workspace,
};
use harn_log::{Doc, DocQuery, Docs, Projection, Result, Row, RowKind};
use harn_policy::RememberRule;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::StoredResponse;
use crate::keys::StoredKey;
use crate::tx::{kind, tag};

/// How far an effect of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Policy or a person has said no.
    Refused,
    /// Policy or a person has said yes; nothing has happened yet.
    #[serde(alias = "requested")]
    Allowed,
    /// A person has to approve.
    Approval,
    /// A person has to reply.
    Question,
    /// The person has replied.
    Answered,
    /// It may have happened.
    Begun,
}

/// What a run has in flight; the task's status derives from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub open: BTreeMap<EffectKey, Phase>,
    /// When the run's time is up, and how many seconds it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<(Timestamp, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// By the run itself and by all that it has started.
    #[serde(default)]
    pub spent: Spend,
    /// Set aside for calls that are under way; those of children under `task/key`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reserved: BTreeMap<String, Spend>,
    /// Which model each call asks that is under way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calling: BTreeMap<EffectKey, ModelRef>,
    /// What it waits for until when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timers: BTreeMap<EffectKey, Timestamp>,
}

impl RunState {
    /// What is spent or may still be spent by what is under way, except for this call.
    pub fn committed_beside(&self, call: &str) -> Spend {
        let mut total = self.spent;
        let others = self.reserved.iter().filter(|(held, _)| *held != call);
        others.for_each(|(_, reserved)| total += *reserved);
        total
    }
}

/// A run that waits for waitpoints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    pub key: EffectKey,
    pub request_id: RequestId,
    pub wait: Wait,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

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
        4
    }

    fn apply(&self, docs: &mut dyn Docs, row: &Row) -> Result<()> {
        match row.kind {
            RowKind::Event => match EventKind::parse(&row.name) {
                Some(event) => apply_event(docs, row, event),
                None => Ok(()),
            },
            RowKind::Journal => apply_journal(docs, row),
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
    for wait in docs.find(&DocQuery { task: Some(task.id.as_str()), ..DocQuery::of(kind::WAIT) })? {
        docs.remove(kind::WAIT, &wait.id)?;
    }
    docs.remove(kind::RUN, task.id.as_str())
}

/// A person's yes is wanted, rather than an answer or a helping hand.
fn asks_for_approval(request: &PermissionRequest) -> bool {
    request.source == RequestSource::Acp
        || matches!(request.action["kind"].as_str(), Some("approval" | "dual_control"))
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

fn apply_journal(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    let Some(task) = &row.task else { return Ok(()) };
    let entry: JournalEntry = row.parse()?;
    if let JournalEntry::Manifest { manifest } = entry {
        let seconds = manifest.limits.budget.seconds;
        let deadline = seconds.map(|seconds| (row.at.plus_seconds(seconds), seconds));
        let owner: Option<Task> = docs.get(kind::TASK, task)?.map(|doc| doc.parse()).transpose()?;
        let workspace = owner.map(|task| task.workspace_id.to_string());
        let run = RunState { deadline, workspace, ..RunState::default() };
        return put(docs, row, kind::RUN, task, &run, |doc| {
            doc.task = None;
            doc.tag = deadline.map(|_| tag::TIMED.to_owned());
        });
    }
    let Some(doc) = docs.get(kind::RUN, task)? else { return Ok(()) };
    let mut run: RunState = doc.parse()?;
    match entry {
        JournalEntry::Requested { key, decision, .. } => {
            let phase = match decision.action {
                Verdict::Allow => Phase::Allowed,
                Verdict::Ask => Phase::Approval,
                Verdict::Deny => Phase::Refused,
            };
            run.open.insert(key, phase);
        }
        JournalEntry::Asked { key, request_id } => {
            let approval = match docs.get(kind::REQUEST, request_id.as_str())? {
                Some(request) => asks_for_approval(&request.parse()?),
                None => false,
            };
            run.open.insert(key, if approval { Phase::Approval } else { Phase::Question });
        }
        JournalEntry::Answered { key, answer, .. } => {
            docs.remove(kind::WAIT, &format!("{task}/{key}"))?;
            let phase = match run.open.get(&key) {
                Some(Phase::Question) => Phase::Answered,
                _ if answer.approved => Phase::Allowed,
                _ => Phase::Refused,
            };
            run.open.insert(key, phase);
        }
        JournalEntry::Begun { key, reserved, args, .. } => {
            if let Some(reserved) = reserved {
                // Only model calls set something aside; their arguments name the model.
                if let Ok(model) = serde_json::from_value(args) {
                    run.calling.insert(key.clone(), model);
                }
                run.reserved.insert(key.to_string(), reserved);
                each_ancestor(docs, task, |run| {
                    run.reserved.insert(format!("{task}/{key}"), reserved);
                })?;
            }
            run.open.insert(key, Phase::Begun);
        }
        JournalEntry::Completed { key, spent, .. } => {
            let held = run.reserved.remove(key.as_str()).is_some();
            run.spent += spent.unwrap_or_default();
            if held || spent.is_some() {
                each_ancestor(docs, task, |run| {
                    run.reserved.remove(&format!("{task}/{key}"));
                    run.spent += spent.unwrap_or_default();
                })?;
            }
            run.calling.remove(&key);
            run.timers.remove(&key);
            run.open.remove(&key);
            if key.kind() == "waitpoint" {
                docs.remove(kind::WAIT, &format!("{task}/{key}"))?;
            }
        }
        JournalEntry::Timer { key, due, .. } => {
            run.timers.insert(key.clone(), due);
            run.open.insert(key, Phase::Allowed);
        }
        JournalEntry::Waiting { key, request_id, wait, due, .. } => {
            let id = format!("{task}/{key}");
            let waiting = Waiting { key: key.clone(), request_id, wait, due };
            put(docs, row, kind::WAIT, &id, &waiting, |doc| {
                doc.workspace = run.workspace.clone();
                doc.tag = due.map(|_| tag::TIMED.to_owned());
            })?;
            run.open.insert(key, Phase::Allowed);
        }
        JournalEntry::Dropped { key } => {
            docs.remove(kind::WAIT, &format!("{task}/{key}"))?;
            run.timers.remove(&key);
            run.open.remove(&key);
        }
        JournalEntry::Manifest { .. } | JournalEntry::Output { .. } => {}
    }
    // Whoever keeps the time looks at runs with this tag.
    let timed = run.deadline.is_some() || !run.timers.is_empty();
    let tag = timed.then(|| tag::TIMED.to_owned());
    docs.replace(Doc { body: serde_json::to_string(&run)?, tag, ..doc })
}

/// Whoever started a run pays for it too.
fn each_ancestor(docs: &mut dyn Docs, task: &str, change: impl Fn(&mut RunState)) -> Result<()> {
    let parent_of = |docs: &dyn Docs, task: &str| -> Result<Option<String>> {
        let Some(doc) = docs.get(kind::TASK, task)? else { return Ok(None) };
        Ok(doc.parse::<Task>()?.parent_task_id.map(|id| id.to_string()))
    };
    let mut next = parent_of(docs, task)?;
    while let Some(parent) = next {
        if let Some(doc) = docs.get(kind::RUN, &parent)? {
            let mut run: RunState = doc.parse()?;
            change(&mut run);
            docs.replace(Doc { body: serde_json::to_string(&run)?, ..doc })?;
        }
        next = parent_of(docs, &parent)?;
    }
    Ok(())
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
fn put(
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
