//! Sessions: create, update, close, fork, truncate, expire, and the messages of their transcripts.

use harn_core::run::Delivery;
use harn_core::{
    Actor, Branch, BranchId, BranchKind, BranchTag, Code, Error, EventKind, Message, MessageId, MessageInput,
    Result, Role, Session, SessionId, SessionState, SessionTag, Task, TaskStatus, Truncation, TruncationTag,
    Visibility, WorkspaceId,
};
use harn_log::{DocQuery, RowFilter, View};
use harn_wire::agents::{
    AppendMessageRequest, CreateBranchRequest, CreateSessionRequest, ForkSessionRequest, Page,
    TruncateSessionRequest, UpdateSessionRequest,
};
use serde_json::{Map, Value, json};

use crate::events::parse_cursor;
use crate::lifecycle::{append_message, cancel, enqueue, new_message};
use crate::page::{PageQuery, page};
use crate::pins;
use crate::tx::{Place, Tx, get, kind, merge, payload, tag};
use crate::workspaces::{existing_persona, visible_workspace};
use crate::{Call, Harness, fault};

impl Harness {
    pub async fn create_session(&self, call: &Call, request: CreateSessionRequest) -> Result<Session> {
        call.actor.require("sessions:write")?;
        check_links(&request)?;
        pins::check(&request.metadata, &*self.runner)?;
        self.command(call, move |tx: &mut Tx<'_>| {
            let workspace = visible_workspace(&*tx.txn, &tx.call.actor, &request.workspace_id)?;
            tx.once(Some(&workspace.id), |tx| {
                if let Some(persona) = &request.persona_id {
                    existing_persona(&*tx.txn, persona)?;
                }
                if request.expires_at.is_some_and(|at| at <= tx.now) {
                    return Err(Error::invalid("expires_at", "`expires_at` is in the past."));
                }
                let mut metadata = request.metadata;
                let said = metadata.remove("harn");
                pins::take_up(&mut metadata, said);
                let mut session = new_session(tx, workspace.id.clone(), metadata);
                session.persona_id = request.persona_id;
                session.expires_at = request.expires_at;
                emit_session(tx, EventKind::SessionCreated, &session, None)?;
                for input in request.initial_messages {
                    append_message(tx, &session, None, input)?;
                }
                with_last_event(&*tx.txn, session)
            })
        })
        .await
    }

    pub async fn session(&self, actor: &Actor, id: &SessionId) -> Result<Session> {
        actor.require("sessions:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| with_last_event(view, visible_session(view, &actor, &id)?))
    }

    pub async fn sessions(
        &self,
        actor: &Actor,
        workspace: Option<WorkspaceId>,
        wanted: PageQuery,
    ) -> Result<Page<Session>> {
        actor.require("sessions:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            let workspace = workspace.as_ref().map(WorkspaceId::as_str);
            let query = DocQuery { workspace, ..DocQuery::of(kind::SESSION) };
            let mut found = page(view, &actor, query, &wanted, |_: &Session| true)?;
            found.data = found
                .data
                .into_iter()
                .map(|session| with_last_event(view, session))
                .collect::<Result<_>>()?;
            Ok(found)
        })
        .await
    }

    pub async fn update_session(
        &self,
        call: &Call,
        id: SessionId,
        mut request: UpdateSessionRequest,
    ) -> Result<Session> {
        call.actor.require("sessions:write")?;
        let mut said = None;
        if let Some(metadata) = &mut request.metadata {
            pins::check(metadata, &*self.runner)?;
            said = metadata.remove("harn");
        }
        self.command(call, move |tx: &mut Tx<'_>| {
            let mut session = visible_session(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&session.workspace_id.clone()), |tx| {
                refuse_closed(&session)?;
                if request.expires_at.flatten().is_some_and(|at| at <= tx.now) {
                    return Err(Error::invalid("expires_at", "`expires_at` is in the past."));
                }
                session.summary = request.summary.unwrap_or(session.summary);
                session.expires_at = request.expires_at.unwrap_or(session.expires_at);
                merge(&mut session.metadata, request.metadata.unwrap_or_default());
                pins::take_up(&mut session.metadata, said);
                session.updated_at = tx.now;
                emit_session(tx, EventKind::SessionUpdated, &session, None)?;
                with_last_event(&*tx.txn, session)
            })
        })
        .await
    }

    /// Closes a session; its open tasks are cancelled. Closing a closed session changes nothing.
    pub async fn close_session(&self, call: &Call, id: SessionId) -> Result<Session> {
        call.actor.require("sessions:write")?;
        let plan = self.plan.clone();
        self.command(call, move |tx: &mut Tx<'_>| {
            let session = visible_session(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&session.workspace_id.clone()), |tx| close(tx, &plan, session, "closed"))
        })
        .await
    }

    pub(crate) async fn close_expired(&self) -> Result<()> {
        let plan = self.plan.clone();
        let now = self.options.clock.now();
        let due: Vec<Session> = self
            .look(move |view| {
                let query = DocQuery { tag: Some(tag::EXPIRING), ..DocQuery::of(kind::SESSION) };
                let docs = view.docs(&query).map_err(fault)?;
                let sessions = docs.iter().map(|doc| doc.parse::<Session>().map_err(fault));
                Ok(sessions.collect::<Result<Vec<_>>>()?.into_iter().filter(|s| expired(s, now)).collect())
            })
            .await?;
        for session in due {
            let (plan, id) = (plan.clone(), session.id);
            self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
                match tx.get::<Session>(kind::SESSION, id.as_str())? {
                    Some(session) if expired(&session, tx.now) => {
                        close(tx, &plan, session, "expired").map(|_| ())
                    }
                    _ => Ok(()),
                }
            })
            .await?;
        }
        Ok(())
    }

    /// A new session whose transcript is a copy of this one's, up to an event.
    pub async fn fork_session(
        &self,
        call: &Call,
        id: SessionId,
        request: ForkSessionRequest,
    ) -> Result<Session> {
        call.actor.require("sessions:write")?;
        pins::check(&request.metadata, &*self.runner)?;
        self.command(call, move |tx: &mut Tx<'_>| {
            let parent = visible_session(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&parent.workspace_id.clone()), |tx| fork(tx, &parent, request))
        })
        .await
    }

    /// Drops all turns after the first `keep_first`, and cancels the active task.
    pub async fn truncate_session(
        &self,
        call: &Call,
        id: SessionId,
        request: TruncateSessionRequest,
    ) -> Result<Truncation> {
        call.actor.require("sessions:write")?;
        let plan = self.plan.clone();
        self.command(call, move |tx: &mut Tx<'_>| {
            let session = visible_session(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&session.workspace_id.clone()), |tx| {
                refuse_closed(&session)?;
                let active = active_task(tx, &session)?;
                let mut result = truncate(tx, session, &request)?;
                if let Some(mut task) = active {
                    cancel(tx, &plan, &mut task, Some("the session was truncated"))?;
                }
                result.session = visible_session(&*tx.txn, &tx.call.actor, &id)?;
                result.session = with_last_event(&*tx.txn, result.session)?;
                Ok(result)
            })
        })
        .await
    }

    pub async fn append_session_message(
        &self,
        call: &Call,
        id: SessionId,
        request: AppendMessageRequest,
    ) -> Result<Message> {
        call.actor.require("sessions:write")?;
        let level = level(&call.actor);
        let message = self
            .command(call, move |tx: &mut Tx<'_>| {
                let session = visible_session(&*tx.txn, &tx.call.actor, &id)?;
                tx.once(Some(&session.workspace_id.clone()), |tx| {
                    refuse_closed(&session)?;
                    check_parts("message.parts", &request.message)?;
                    match active_task(tx, &session)? {
                        Some(task) => {
                            let message = new_message(tx, &session, None, request.message);
                            enqueue(tx, &session, &task, &message, Delivery::Queue)?;
                            Ok(message)
                        }
                        None => append_message(tx, &session, None, request.message),
                    }
                })
            })
            .await?;
        Ok(message.visible_to(level))
    }

    pub async fn session_messages(
        &self,
        actor: &Actor,
        id: &SessionId,
        wanted: PageQuery,
    ) -> Result<Page<Message>> {
        actor.require("sessions:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.look(move |view| {
            visible_session(view, &actor, &id)?;
            let query = DocQuery { session: Some(id.as_str()), ..DocQuery::of(kind::MESSAGE) };
            let mut found: Page<Message> = page(view, &actor, query, &wanted, |_| true)?;
            let level = level(&actor);
            found.data = found.data.into_iter().map(|message| message.visible_to(level)).collect();
            Ok(found)
        })
        .await
    }

    pub async fn message(&self, actor: &Actor, id: &MessageId) -> Result<Message> {
        actor.require("sessions:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| {
            let absent = || Error::not_found("message", &id);
            let message: Option<Message> = match get(view, kind::MESSAGE, id.as_str())? {
                Some(message) => Some(message),
                None => get(view, kind::ANSWER, id.as_str())?,
            };
            let message = message.ok_or_else(absent)?;
            let session = message.session_id.clone().ok_or_else(absent)?;
            visible_session(view, &actor, &session).map_err(|_| absent())?;
            Ok(message.visible_to(level(&actor)))
        })
    }

    pub async fn create_branch(
        &self,
        call: &Call,
        id: SessionId,
        request: CreateBranchRequest,
    ) -> Result<Branch> {
        call.actor.require("sessions:write")?;
        crate::tx::check_name("base_ref", &request.base_ref)?;
        self.command(call, move |tx: &mut Tx<'_>| {
            let session = visible_session(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&session.workspace_id.clone()), |tx| {
                if let Some(parent) = &request.parent_branch_id {
                    visible_branch(&*tx.txn, &tx.call.actor, parent)?;
                }
                if let Some(task) = &request.task_id {
                    crate::tasks::visible_task(&*tx.txn, &tx.call.actor, task)?;
                }
                let mut branch = new_branch(tx, &session, request.kind, request.base_ref);
                branch.parent_branch_id = request.parent_branch_id;
                branch.task_id = request.task_id;
                branch.metadata = request.metadata;
                emit_branch(tx, &session, &branch)?;
                Ok(branch)
            })
        })
        .await
    }

    pub async fn branch(&self, actor: &Actor, id: &BranchId) -> Result<Branch> {
        actor.require("sessions:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| visible_branch(view, &actor, &id))
    }

    pub async fn session_branches(
        &self,
        actor: &Actor,
        id: &SessionId,
        wanted: PageQuery,
    ) -> Result<Page<Branch>> {
        actor.require("sessions:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.look(move |view| {
            visible_session(view, &actor, &id)?;
            let query = DocQuery { session: Some(id.as_str()), ..DocQuery::of(kind::BRANCH) };
            page(view, &actor, query, &wanted, |_| true)
        })
        .await
    }
}

/// What this reader may see of parts.
pub fn level(actor: &Actor) -> Visibility {
    if actor.sees_internal() { Visibility::Internal } else { Visibility::Public }
}

pub fn visible_session(view: &dyn View, actor: &Actor, id: &SessionId) -> Result<Session> {
    let found: Option<Session> = get(view, kind::SESSION, id.as_str())?;
    found.filter(|session| actor.sees(&session.workspace_id)).ok_or_else(|| Error::not_found("session", id))
}

pub fn visible_branch(view: &dyn View, actor: &Actor, id: &BranchId) -> Result<Branch> {
    let found: Option<Branch> = get(view, kind::BRANCH, id.as_str())?;
    found.filter(|branch| actor.sees(&branch.workspace_id)).ok_or_else(|| Error::not_found("branch", id))
}

pub fn refuse_closed(session: &Session) -> Result<()> {
    match session.state {
        SessionState::Closed => Err(Error::conflict(format!("Session `{}` is closed.", session.id))),
        _ => Ok(()),
    }
}

/// The one task of a session that is not merely waiting for its turn.
pub fn active_task(tx: &Tx<'_>, session: &Session) -> Result<Option<Task>> {
    Ok(open_tasks(tx, session)?.into_iter().find(|task| task.status != TaskStatus::Submitted))
}

fn open_tasks(tx: &Tx<'_>, session: &Session) -> Result<Vec<Task>> {
    tx.find(&DocQuery {
        session: Some(session.id.as_str()),
        tag: Some(tag::OPEN),
        ..DocQuery::of(kind::TASK)
    })
}

fn expired(session: &Session, now: harn_core::Timestamp) -> bool {
    session.state != SessionState::Closed && session.expires_at.is_some_and(|at| at <= now)
}

/// Vaults and memories come with later work; until then no id can name one.
fn check_links(request: &CreateSessionRequest) -> Result<()> {
    for (param, object, ids) in
        [("vault_ids", "vault", &request.vault_ids), ("memory_ids", "memory", &request.memory_ids)]
    {
        if let Some(id) = ids.first() {
            return Err(Error::not_found(object, id).param(param));
        }
    }
    if !request.skill_ids.is_empty() {
        let message = "Sessions take no skills yet. A task calls one with `metadata.skill_id`.";
        return Err(Error::new(Code::NotImplemented, message).param("skill_ids"));
    }
    for (n, message) in request.initial_messages.iter().enumerate() {
        check_parts(&format!("initial_messages[{n}].parts"), message)?;
    }
    Ok(())
}

/// A message must have something in it.
pub fn check_parts(param: &str, message: &MessageInput) -> Result<()> {
    if message.parts.is_empty() {
        return Err(Error::invalid(param, "A message needs at least one part."));
    }
    Ok(())
}

pub(crate) fn new_session(tx: &Tx<'_>, workspace: WorkspaceId, metadata: Map<String, Value>) -> Session {
    let id = SessionId::generate();
    Session {
        object: SessionTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata,
        workspace_id: workspace,
        state: SessionState::Idle,
        transcript: format!("/v1/sessions/{id}/messages"),
        persona_id: None,
        root_session_id: None,
        parent_session_id: None,
        branch_id: None,
        last_event_id: None,
        summary: None,
        expires_at: None,
        id,
    }
}

pub(crate) fn emit_session(
    tx: &mut Tx<'_>,
    kind: EventKind,
    session: &Session,
    reason: Option<&str>,
) -> Result<()> {
    let mut body = payload("session", session)?;
    if let Some(reason) = reason {
        body["reason"] = json!(reason);
    }
    let place = Place::session(&session.workspace_id, &session.id);
    tx.emit(kind, ("session", session.id.as_str()), place, body)?;
    Ok(())
}

/// The cursor that a client resumes from is read off the log, never stored twice.
pub fn with_last_event(view: &dyn View, mut session: Session) -> Result<Session> {
    let filter = RowFilter { session: Some(session.id.to_string()), ..RowFilter::events() };
    session.last_event_id = view.last_row(&filter).map_err(fault)?.map(|row| row.id.to_string());
    Ok(session)
}

fn close(tx: &mut Tx<'_>, plan: &crate::plan::RunPlan, mut session: Session, why: &str) -> Result<Session> {
    if session.state == SessionState::Closed {
        return with_last_event(&*tx.txn, session);
    }
    let tasks = open_tasks(tx, &session)?;
    session.state = SessionState::Closed;
    session.updated_at = tx.now;
    emit_session(tx, EventKind::SessionClosed, &session, Some(why))?;
    for mut task in tasks {
        cancel(tx, plan, &mut task, Some(&format!("the session was {why}")))?;
    }
    with_last_event(&*tx.txn, session)
}

fn fork(tx: &mut Tx<'_>, parent: &Session, request: ForkSessionRequest) -> Result<Session> {
    let at = match &request.at_event_id {
        Some(id) => {
            let filter = RowFilter { session: Some(parent.id.to_string()), ..RowFilter::events() };
            parse_cursor(&*tx.txn, &filter, "at_event_id", id)?
        }
        None => tx.txn.head().map_err(fault)?,
    };
    let mut metadata = request.metadata;
    let said = metadata.remove("harn");
    pins::take_up(&mut metadata, pins::carried(&parent.metadata));
    pins::take_up(&mut metadata, said);
    let mut session = new_session(tx, parent.workspace_id.clone(), metadata);
    session.persona_id = parent.persona_id.clone();
    session.parent_session_id = Some(parent.id.clone());
    session.root_session_id = Some(parent.root_session_id.clone().unwrap_or_else(|| parent.id.clone()));
    let branch = match request.branch_id {
        Some(id) => visible_branch(&*tx.txn, &tx.call.actor, &id)?,
        None => {
            let mut branch = new_branch(tx, &session, BranchKind::Session, format!("event:{at}"));
            branch.parent_branch_id = parent.branch_id.clone();
            emit_branch(tx, &session, &branch)?;
            branch
        }
    };
    session.branch_id = Some(branch.id.clone());
    emit_session(tx, EventKind::SessionCreated, &session, None)?;
    copy_messages(tx, parent, &session, at)?;
    let told = json!({ "session_id": session.id, "parent_session_id": parent.id, "branch_id": branch.id,
                       "at_event_id": at.to_string() });
    let place = Place::session(&parent.workspace_id, &parent.id);
    tx.emit(EventKind::SessionThreadForked, ("session", parent.id.as_str()), place, told)?;
    with_last_event(&*tx.txn, session)
}

fn copy_messages(tx: &mut Tx<'_>, parent: &Session, session: &Session, at: u64) -> Result<()> {
    let query = DocQuery { session: Some(parent.id.as_str()), ..DocQuery::of(kind::MESSAGE) };
    let docs = tx.txn.docs(&query).map_err(fault)?;
    for doc in docs.into_iter().filter(|doc| doc.position <= at) {
        let original: Message = doc.parse().map_err(fault)?;
        let mut metadata = original.metadata;
        metadata.insert("copied_from".into(), json!(original.id));
        append_message(
            tx,
            session,
            None,
            MessageInput { role: original.role, parts: original.parts, metadata },
        )?;
    }
    Ok(())
}

fn new_branch(tx: &Tx<'_>, session: &Session, kind: BranchKind, base_ref: String) -> Branch {
    Branch {
        id: BranchId::generate(),
        object: BranchTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata: Map::new(),
        workspace_id: session.workspace_id.clone(),
        kind,
        base_ref,
        parent_branch_id: None,
        session_id: Some(session.id.clone()),
        task_id: None,
        worktree_uri: None,
        created_by: Some(tx.call.actor.id.clone()),
        merged_into: None,
    }
}

fn emit_branch(tx: &mut Tx<'_>, session: &Session, branch: &Branch) -> Result<()> {
    let place = Place::session(&session.workspace_id, &session.id);
    tx.emit(EventKind::BranchCreated, ("branch", branch.id.as_str()), place, payload("branch", branch)?)?;
    Ok(())
}

fn truncate(tx: &mut Tx<'_>, mut session: Session, request: &TruncateSessionRequest) -> Result<Truncation> {
    let query = DocQuery { session: Some(session.id.as_str()), ..DocQuery::of(kind::MESSAGE) };
    let messages: Vec<Message> = tx.find(&query)?;
    let turns: Vec<&Message> = messages.iter().filter(|message| message.role == Role::User).collect();
    let kept = request.keep_first.min(turns.len() as u64);
    session.updated_at = tx.now;
    let result = Truncation {
        object: TruncationTag::Tag,
        session_id: session.id.clone(),
        kept_turn_count: kept,
        removed_turn_count: turns.len() as u64 - kept,
        new_tip_turn_id: kept.checked_sub(1).and_then(|last| turns.get(last as usize)).map(|m| m.id.clone()),
        session: session.clone(),
    };
    let mut body = serde_json::to_value(&result).map_err(|error| fault(error.into()))?;
    body["reason"] = json!(request.reason);
    let place = Place::session(&session.workspace_id, &session.id);
    tx.emit(EventKind::SessionTruncated, ("session", session.id.as_str()), place, body)?;
    Ok(result)
}
