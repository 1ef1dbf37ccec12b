//! Tasks: submit, read, cancel, and the messages that people send to a running one.

use harn_core::message::joined_text;
use harn_core::run::Delivery;
use harn_core::{
    Actor, Code, Error, EventKind, Message, Outcome, OutcomeId, Part, PermissionRequest, RequestId, Result,
    Session, SessionId, Task, TaskId, TaskStatus, TaskTag, Visibility, WorkspaceId,
};
use harn_log::{DocQuery, View};
use harn_wire::agents::{
    AppendTaskMessageRequest, CancelTaskRequest, Page, PermissionResponseRequest, SubmitTaskRequest,
    TaskMessageKind,
};
use serde_json::{Map, Value};

use crate::lifecycle::{cancel, enqueue, input_message, new_message, start_next};
use crate::page::{PageQuery, page};
use crate::plan::RunPlan;
use crate::requests::{self, Answered, confirmation};
use crate::scripts::{self, Chosen};
use crate::sessions::{
    check_parts, emit_session, level, new_session, refuse_closed, visible_branch, visible_session,
};
use crate::skills;
use crate::tx::{Place, Tx, get, kind, payload};
use crate::workspaces::existing_persona;
use crate::{Call, Harness};

/// Filters of a task list.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    pub workspace: Option<WorkspaceId>,
    pub session: Option<SessionId>,
}

impl Harness {
    /// Accepts a task. It runs at once when its session is free: the answer then says WORKING.
    pub async fn submit_task(
        &self,
        call: &Call,
        session: SessionId,
        request: SubmitTaskRequest,
    ) -> Result<Task> {
        call.actor.require("tasks:write")?;
        let plan = self.plan.clone();
        // An error is told only to a call that has not been answered before.
        let script = self.script_for(&call.actor, &session, &request).await;
        let submitted = self.command(call, move |tx: &mut Tx<'_>| {
            let session = visible_session(&*tx.txn, &tx.call.actor, &session)?;
            tx.once(Some(&session.workspace_id.clone()), |tx| {
                refuse_closed(&session)?;
                if request.workspace_id.as_ref().is_some_and(|id| *id != session.workspace_id) {
                    let message = format!("Session `{}` belongs to another workspace.", session.id);
                    return Err(Error::invalid("workspace_id", message));
                }
                accept(tx, &plan, &session, request, script?)
            })
        });
        Ok(seen_by(submitted.await?, &call.actor))
    }

    /// A task that belongs to no conversation: an export is called in a session of its own.
    pub async fn call_skill(&self, call: &Call, request: SubmitTaskRequest) -> Result<Task> {
        call.actor.require("tasks:write")?;
        call.actor.require("sessions:write")?;
        let unsaid = || Error::invalid("session_id", "Say which session the task belongs to.");
        let id = request.metadata.get(skills::KEY).ok_or_else(unsaid)?;
        let called = self.called(&call.actor, id).await?.ok_or_else(unsaid)?;
        let workspace = called.workspace.id.clone();
        if request.workspace_id.as_ref().is_some_and(|id| *id != workspace) {
            return Err(Error::invalid("workspace_id", "The skill is of another workspace."));
        }
        let plan = self.plan.clone();
        let script = self.call(called, &request).await;
        let submitted = self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(Some(&workspace), |tx| {
                let script = script?;
                let session = Session {
                    persona_id: script.persona.clone(),
                    ..new_session(tx, workspace.clone(), Map::new())
                };
                emit_session(tx, EventKind::SessionCreated, &session, None)?;
                accept(tx, &plan, &session, request, Some(script))
            })
        });
        Ok(seen_by(submitted.await?, &call.actor))
    }

    pub async fn task(&self, actor: &Actor, id: &TaskId) -> Result<Task> {
        actor.require("tasks:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| Ok(seen_by(visible_task(view, &actor, &id)?, &actor)))
    }

    pub async fn tasks(&self, actor: &Actor, filter: TaskFilter, wanted: PageQuery) -> Result<Page<Task>> {
        actor.require("tasks:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            let query = DocQuery {
                workspace: filter.workspace.as_ref().map(WorkspaceId::as_str),
                session: filter.session.as_ref().map(SessionId::as_str),
                ..DocQuery::of(kind::TASK)
            };
            let mut found: Page<Task> = page(view, &actor, query, &wanted, |_| true)?;
            found.data = found.data.into_iter().map(|task| seen_by(task, &actor)).collect();
            Ok(found)
        })
        .await
    }

    /// Tasks of one session, which must be visible.
    pub async fn session_tasks(
        &self,
        actor: &Actor,
        id: &SessionId,
        wanted: PageQuery,
    ) -> Result<Page<Task>> {
        actor.require("tasks:read")?;
        let (seer, session) = (actor.clone(), id.clone());
        self.glance(move |view| visible_session(view, &seer, &session).map(|_| ()))?;
        self.tasks(actor, TaskFilter { session: Some(id.clone()), ..TaskFilter::default() }, wanted).await
    }

    /// Cancels a task at once. A task that was already cancelled stays as it is.
    pub async fn cancel_task(&self, call: &Call, id: TaskId, request: CancelTaskRequest) -> Result<Task> {
        call.actor.require("tasks:write")?;
        let plan = self.plan.clone();
        let canceled = self.command(call, move |tx: &mut Tx<'_>| {
            let mut task = visible_task(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&task.workspace_id.clone()), |tx| match task.status {
                TaskStatus::Canceled => Ok(task),
                status if status.is_terminal() => {
                    Err(Error::conflict(format!("Task `{id}` is already {}.", status.as_str())))
                }
                _ => {
                    cancel(tx, &plan, &mut task, request.reason.as_deref())?;
                    Ok(task)
                }
            })
        });
        Ok(seen_by(canceled.await?, &call.actor))
    }

    /// `input` answers the oldest question, else steers; `interrupt` steers; `tool_confirmation` votes.
    pub async fn append_task_message(
        &self,
        call: &Call,
        id: TaskId,
        request: AppendTaskMessageRequest,
    ) -> Result<Message> {
        call.actor.require("tasks:write")?;
        let votes = request.kind == TaskMessageKind::ToolConfirmation;
        if votes {
            call.actor.require("approvals:write")?;
        }
        let level = level(&call.actor);
        let answered = self.find_answer(&call.actor, &id, &request).await?;
        let message = self
            .command(call, move |tx: &mut Tx<'_>| {
                let task = visible_task(&*tx.txn, &tx.call.actor, &id)?;
                tx.once(Some(&task.workspace_id.clone()), |tx| {
                    check_parts("message.parts", &request.message)?;
                    refuse_terminal(&task)?;
                    let session = visible_session(&*tx.txn, &tx.call.actor, &task.session_id)?;
                    let message = new_message(tx, &session, Some(&task), request.message);
                    match answered {
                        Some((target, answered)) => {
                            let target: PermissionRequest = tx
                                .get(kind::REQUEST, target.as_str())?
                                .ok_or_else(|| Error::not_found("permission request", &target))?;
                            let answered = Answered { message: Some(message.clone()), ..answered };
                            requests::answer(tx, target, answered)?;
                        }
                        None => enqueue(tx, &session, &task, &message, Delivery::Steer)?,
                    }
                    Ok(message)
                })
            })
            .await?;
        Ok(message.visible_to(level))
    }

    /// What a message to a task answers, if it answers anything.
    async fn find_answer(
        &self,
        actor: &Actor,
        id: &TaskId,
        request: &AppendTaskMessageRequest,
    ) -> Result<Option<(RequestId, Answered)>> {
        check_parts("message.parts", &request.message)?;
        let (actor, id, request) = (actor.clone(), id.clone(), request.clone());
        let found = self.look(move |view| {
            let task = visible_task(view, &actor, &id)?;
            match request.kind {
                // A terminal task is refused in its own words later.
                _ if task.status.is_terminal() => Ok(None),
                TaskMessageKind::ToolConfirmation => confirmation(view, &task, &request.message).map(Some),
                TaskMessageKind::Interrupt => Ok(None),
                TaskMessageKind::Input => match requests::oldest_question(view, &task)? {
                    Some(question) => {
                        let answer = Some(spoken(&request.message.parts)?);
                        let approved = Some(true);
                        Ok(Some((
                            question,
                            PermissionResponseRequest { approved, answer, ..Default::default() },
                        )))
                    }
                    None => Ok(None),
                },
            }
        });
        match found.await? {
            Some((target, response)) => {
                let id = target.id.clone();
                Ok(Some((id, self.weigh(target, response, None).await?)))
            }
            None => Ok(None),
        }
    }

    pub async fn outcome(&self, actor: &Actor, id: &OutcomeId) -> Result<Outcome> {
        actor.require("tasks:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| {
            let absent = || Error::not_found("outcome", &id);
            let outcome: Outcome = get(view, kind::OUTCOME, id.as_str())?.ok_or_else(absent)?;
            visible_task(view, &actor, &outcome.task_id).map_err(|_| absent())?;
            Ok(shown(outcome, &actor))
        })
    }

    pub async fn outcomes(
        &self,
        actor: &Actor,
        task: Option<TaskId>,
        wanted: PageQuery,
    ) -> Result<Page<Outcome>> {
        actor.require("tasks:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            let query = DocQuery { task: task.as_ref().map(TaskId::as_str), ..DocQuery::of(kind::OUTCOME) };
            let mut found: Page<Outcome> = page(view, &actor, query, &wanted, |_| true)?;
            found.data = found.data.into_iter().map(|outcome| shown(outcome, &actor)).collect();
            Ok(found)
        })
        .await
    }
}

/// A task as this reader may see it: its input may have parts that are not for everyone.
fn seen_by(mut task: Task, actor: &Actor) -> Task {
    let level = level(actor);
    if let Some(parts) = task.input.get_mut("parts").and_then(Value::as_array_mut) {
        parts.retain(|part| {
            let visibility = part.get("visibility").cloned().map(serde_json::from_value::<Visibility>);
            visibility.is_none_or(|visibility| visibility.is_ok_and(|visibility| visibility <= level))
        });
    }
    task
}

/// What a message says for everyone to hear: an answer is shown wherever its question is.
fn spoken(parts: &[Part]) -> Result<Value> {
    let public: Vec<Part> =
        parts.iter().filter(|part| part.visibility() == Visibility::Public).cloned().collect();
    let text = joined_text(&public);
    if !text.is_empty() {
        return Ok(Value::String(text));
    }
    let json = public.iter().find_map(|part| match part {
        Part::Json { value, .. } => Some(value.clone()),
        _ => None,
    });
    json.ok_or_else(|| Error::invalid("message.parts", "An answer needs a public `text` or `json` part."))
}

fn shown(mut outcome: Outcome, actor: &Actor) -> Outcome {
    let level = level(actor);
    outcome.messages = outcome.messages.into_iter().map(|message| message.visible_to(level)).collect();
    outcome
}

pub fn visible_task(view: &dyn View, actor: &Actor, id: &TaskId) -> Result<Task> {
    let found: Option<Task> = get(view, kind::TASK, id.as_str())?;
    found.filter(|task| actor.sees(&task.workspace_id)).ok_or_else(|| Error::not_found("task", id))
}

fn refuse_terminal(task: &Task) -> Result<()> {
    if !task.status.is_terminal() {
        return Ok(());
    }
    let status = task.status.as_str();
    Err(Error::new(
        Code::InvalidStateTransition,
        format!("Task `{}` is {status} and takes no more messages. Submit a new task instead.", task.id),
    ))
}

/// Takes a task in; it starts when its session is free.
fn accept(
    tx: &mut Tx<'_>,
    plan: &RunPlan,
    session: &Session,
    request: SubmitTaskRequest,
    script: Option<Chosen>,
) -> Result<Task> {
    let task = new_task(tx, session, request, script)?;
    let place = Place::task(&task);
    tx.emit(EventKind::TaskSubmitted, ("task", task.id.as_str()), place, payload("task", &task)?)?;
    start_next(tx, plan, session)?;
    Ok(tx.get(kind::TASK, task.id.as_str())?.unwrap_or(task))
}

fn new_task(
    tx: &mut Tx<'_>,
    session: &Session,
    mut request: SubmitTaskRequest,
    script: Option<Chosen>,
) -> Result<Task> {
    request.metadata.remove(scripts::KEY);
    if let Some(Chosen { image, told, persona }) = script {
        tx.txn.keep_blob(&image).map_err(crate::fault)?;
        request.persona_id = persona.or(request.persona_id);
        request.metadata.insert(scripts::KEY.into(), told);
    }
    let input = Value::Object(request.input);
    check_parts("input.parts", &input_message(&input)?)?;
    crate::manifest::budget_in(&request.metadata)?;
    if let Some(persona) = &request.persona_id {
        existing_persona(&*tx.txn, persona)?;
    }
    if let Some(branch) = &request.branch_id {
        visible_branch(&*tx.txn, &tx.call.actor, branch).map_err(|error| error.param("branch_id"))?;
    }
    if let Some(parent) = &request.parent_task_id {
        visible_task(&*tx.txn, &tx.call.actor, parent).map_err(|error| error.param("parent_task_id"))?;
    }
    Ok(Task {
        id: TaskId::generate(),
        object: TaskTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata: request.metadata,
        session_id: session.id.clone(),
        workspace_id: session.workspace_id.clone(),
        status: TaskStatus::Submitted,
        input,
        created_by: tx.call.actor.id.clone(),
        persona_id: request.persona_id.or_else(|| session.persona_id.clone()),
        branch_id: request.branch_id.or_else(|| session.branch_id.clone()),
        parent_task_id: request.parent_task_id,
        assigned_agent_id: Some("harn".into()),
        receipt_id: None,
        outcome_id: None,
        quota_id: None,
        started_at: None,
        completed_at: None,
        canceled_at: None,
        failure: None,
    })
}
