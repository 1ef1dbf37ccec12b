//! The life of a task within one commit: started, waiting, finished, cancelled, and the next one begun.

use harn_core::run::{Budget, Completion, Decision, Delivery, EffectKey, JournalEntry, RunEnd, Seam};
use harn_core::tool::{ToolOutcome, ToolResult};
use harn_core::{
    Error, EventKind, Failure, Message, MessageId, MessageInput, MessageTag, Metadata, Outcome, OutcomeId,
    OutcomeStatus, OutcomeTag, Part, PermissionRequest, RequestStatus, Result, Role, Session, Task,
    TaskStatus, Visibility,
};
use harn_log::DocQuery;
use serde_json::{Map, Value, json};

use crate::in_flight::{OpenEffect, Phase, RunState};
use crate::plan::RunPlan;
use crate::projection::{InboxItem, set_status};
use crate::runs::requested_call;
use crate::tx::{Place, Tx, Wake, kind, payload, tag};

/// Moves a task to another status: the transition itself, then the kind that names it.
pub fn transition(tx: &mut Tx<'_>, task: &mut Task, to: TaskStatus, reason: Option<&str>) -> Result<()> {
    let from = task.status;
    if from == to {
        return Ok(());
    }
    if !from.may_become(to) {
        return Err(Error::new(
            harn_core::Code::InvalidStateTransition,
            format!("Task `{}` is {} and cannot become {}.", task.id, from.as_str(), to.as_str()),
        ));
    }
    let first_start = task.started_at.is_none();
    set_status(task, to, tx.now);
    let change = json!({ "from": from, "to": to, "reason": reason });
    tx.emit(EventKind::TaskStatusChanged, ("task", task.id.as_str()), Place::task(task), change)?;
    let named = match to {
        TaskStatus::Working if first_start => EventKind::TaskStarted,
        TaskStatus::AuthRequired => EventKind::TaskAuthRequired,
        TaskStatus::InputRequired => EventKind::TaskInputRequired,
        // Terminal kinds carry the outcome, so `finish` emits them.
        _ => return Ok(()),
    };
    let mut body = payload("task", task)?;
    if named != EventKind::TaskStarted {
        let pending = crate::requests::pending(&*tx.txn, task)?;
        body["request_ids"] = pending.iter().map(|request| json!(request.id)).collect();
    }
    tx.emit(named, ("task", task.id.as_str()), Place::task(task), body)?;
    Ok(())
}

/// The status follows from what is in flight: people only, or anything else.
pub fn derive_status(tx: &mut Tx<'_>, task: &mut Task) -> Result<()> {
    let Some(run) = tx.get::<RunState>(kind::RUN, task.id.as_str())? else { return Ok(()) };
    let status = if run.open == 0 || run.open > run.approvals + run.questions {
        TaskStatus::Working
    } else if run.approvals > 0 {
        TaskStatus::AuthRequired
    } else {
        TaskStatus::InputRequired
    };
    if status != TaskStatus::Working && task.status != TaskStatus::Working && task.status != status {
        transition(tx, task, TaskStatus::Working, None)?;
    }
    transition(tx, task, status, None)
}

/// Starts the oldest waiting task of a session when nothing else runs in it. One that cannot be started has failed, and
/// the next one is tried.
pub fn start_next(tx: &mut Tx<'_>, plan: &RunPlan, session: &Session) -> Result<()> {
    let query = DocQuery {
        session: Some(session.id.as_str()),
        tag: Some(tag::OPEN),
        limit: 1,
        ..DocQuery::of(kind::TASK)
    };
    loop {
        let open: Vec<Task> = tx.find(&query)?;
        match open.into_iter().next() {
            Some(mut task) if task.status == TaskStatus::Submitted => {
                if start(tx, plan, session, &mut task)? {
                    return Ok(());
                }
            }
            _ => return Ok(()),
        }
    }
}

/// Whether it runs now. Otherwise it has failed.
fn start(tx: &mut Tx<'_>, plan: &RunPlan, session: &Session, task: &mut Task) -> Result<bool> {
    deliver(tx, session, task, None, None)?;
    append_message(tx, session, Some(task), input_message(&task.input)?)?;
    let manifest = match crate::manifest::manifest(tx, plan, session, task)? {
        Ok(manifest) => manifest,
        Err(failure) => {
            let (status, outcome_status) = (TaskStatus::Failed, OutcomeStatus::Failed);
            let (summary, metrics) = (failure.message.clone(), json!({}));
            let failure = Some(failure);
            end(tx, task, Conclusion { status, outcome_status, summary, failure, metrics, value: None })?;
            return Ok(false);
        }
    };
    let mutation = manifest.mutation.clone();
    tx.journal(task, &JournalEntry::Manifest { manifest })?;
    if let Some(mutation) = mutation {
        task.metadata.insert("mutation_session".into(), json!(mutation));
    }
    transition(tx, task, TaskStatus::Working, None)?;
    tx.wakes.push(Wake::Start { task: task.id.clone(), session: session.id.clone() });
    Ok(true)
}

/// A task's input as the message that opens its turn.
pub fn input_message(input: &Value) -> Result<MessageInput> {
    if input.get("role").is_some() && input.get("parts").is_some() {
        return serde_path_to_error::deserialize(input).map_err(|error| {
            let param = match error.path().to_string().as_str() {
                "." => "input".to_owned(),
                path => format!("input.{path}"),
            };
            Error::invalid(param, format!("The input is not a valid message: {}.", error.inner()))
        });
    }
    let part = Part::Json { value: input.clone(), visibility: Visibility::Public };
    Ok(MessageInput { role: Role::User, parts: vec![part], metadata: Map::new() })
}

/// Appends a message to a transcript.
pub fn append_message(
    tx: &mut Tx<'_>,
    session: &Session,
    task: Option<&Task>,
    input: MessageInput,
) -> Result<Message> {
    let message = new_message(tx, session, task, input);
    place_message(tx, session, task, &message)?;
    Ok(message)
}

pub fn new_message(tx: &Tx<'_>, session: &Session, task: Option<&Task>, input: MessageInput) -> Message {
    Message {
        id: MessageId::generate(),
        object: MessageTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata: input.metadata,
        session_id: Some(session.id.clone()),
        task_id: task.map(|task| task.id.clone()),
        role: input.role,
        parts: input.parts,
    }
}

/// The events of a message that enters the transcript now. Its content is in exactly one of them.
fn place_message(tx: &mut Tx<'_>, session: &Session, task: Option<&Task>, message: &Message) -> Result<()> {
    let place = task.map_or_else(|| Place::session(&session.workspace_id, &session.id), Place::task);
    let subject = ("session", session.id.as_str());
    let spoken = match message.role {
        Role::User => Some(EventKind::UserMessage),
        Role::Assistant | Role::Agent => Some(EventKind::AgentMessage),
        Role::System | Role::Tool => None,
    };
    let mut appended = json!({ "message_id": message.id, "role": message.role });
    match spoken {
        Some(kind) => {
            tx.emit(kind, ("message", message.id.as_str()), place.clone(), payload("message", message)?)?;
        }
        None => appended["message"] = payload("message", message)?["message"].take(),
    }
    tx.emit(EventKind::SessionMessageAppended, subject, place, appended)?;
    Ok(())
}

/// Puts a message into the inbox of a running session. It is in the transcript's list at once, and moves to
/// where it is delivered.
pub fn enqueue(
    tx: &mut Tx<'_>,
    session: &Session,
    task: &Task,
    message: &Message,
    delivery: Delivery,
) -> Result<()> {
    let mut appended = payload("message", message)?;
    appended["message_id"] = json!(message.id);
    appended["role"] = json!(message.role);
    appended["delivery"] = json!(delivery);
    tx.emit(
        EventKind::SessionMessageAppended,
        ("session", session.id.as_str()),
        Place::task(task),
        appended,
    )?;
    Ok(())
}

/// Whether a seam takes an item. A task that starts takes everything.
pub fn takes(seam: Option<Seam>, delivery: Delivery) -> bool {
    match seam {
        Some(Seam::BeforeModel) => delivery == Delivery::Steer,
        Some(Seam::LoopExit) | None => true,
    }
}

/// Moves what a seam takes from the inbox into the transcript.
pub fn deliver(
    tx: &mut Tx<'_>,
    session: &Session,
    task: &Task,
    seam: Option<Seam>,
    decision: Option<&Decision>,
) -> Result<Vec<Message>> {
    let query = DocQuery { session: Some(session.id.as_str()), ..DocQuery::of(kind::INBOX) };
    let items: Vec<InboxItem> = tx.find(&query)?;
    let mut delivered = Vec::new();
    for item in items.into_iter().filter(|item| takes(seam, item.delivery)) {
        let message = Message { task_id: Some(task.id.clone()), ..item.message };
        place_message(tx, session, Some(task), &message)?;
        delivered.push(message);
    }
    if !delivered.is_empty() {
        let ids: Vec<_> = delivered.iter().map(|message| &message.id).collect();
        let mut body = json!({ "message_ids": ids, "seam": seam });
        if let Some(decision) = decision {
            body["policy_decision"] = json!(decision);
        }
        tx.emit(EventKind::InboxDelivered, ("session", session.id.as_str()), Place::task(task), body)?;
    }
    Ok(delivered)
}

/// Ends a task for good, and starts the next one of its session.
pub fn finish(
    tx: &mut Tx<'_>,
    plan: &RunPlan,
    session: &Session,
    task: &mut Task,
    mut end: RunEnd,
) -> Result<()> {
    crate::scripts::conclude(tx, session, task, &mut end)?;
    let (status, outcome_status) = match &end.result {
        Ok(_) => (TaskStatus::Completed, OutcomeStatus::Succeeded),
        Err(_) => (TaskStatus::Failed, OutcomeStatus::Failed),
    };
    let (summary, failure) = match end.result {
        Ok(text) => (text, None),
        Err(failure) => (failure.message.clone(), Some(failure)),
    };
    let metrics = json!({
        "input_tokens": end.usage.input_tokens,
        "output_tokens": end.usage.output_tokens,
        "model_calls": end.model_calls,
        "tool_calls": end.tool_calls,
    });
    let value = end.value;
    conclude(tx, plan, task, Conclusion { status, outcome_status, summary, failure, metrics, value })
}

/// Ends a task that has taken longer than it may.
pub fn out_of_time(tx: &mut Tx<'_>, plan: &RunPlan, task: &mut Task, seconds: u64) -> Result<()> {
    close_open_effects(tx, task)?;
    withdraw_requests(tx, task)?;
    let failure = Budget::out_of_time(seconds);
    let (summary, failure) = (failure.message.clone(), Some(failure));
    let (status, outcome_status) = (TaskStatus::Failed, OutcomeStatus::Failed);
    conclude(
        tx,
        plan,
        task,
        Conclusion { status, outcome_status, summary, failure, metrics: json!({}), value: None },
    )
}

/// Cancels a task in one commit: open effects are closed, pending requests withdrawn.
pub fn cancel(tx: &mut Tx<'_>, plan: &RunPlan, task: &mut Task, reason: Option<&str>) -> Result<()> {
    let asked = json!({ "reason": reason });
    tx.emit(EventKind::UserCancelRequested, ("task", task.id.as_str()), Place::task(task), asked)?;
    close_open_effects(tx, task)?;
    withdraw_requests(tx, task)?;
    let summary = match reason {
        Some(reason) => format!("Canceled: {reason}"),
        None => "Canceled.".to_owned(),
    };
    let (status, outcome_status) = (TaskStatus::Canceled, OutcomeStatus::Canceled);
    let conclusion =
        Conclusion { status, outcome_status, summary, failure: None, metrics: json!({}), value: None };
    conclude(tx, plan, task, conclusion)
}

struct Conclusion {
    status: TaskStatus,
    outcome_status: OutcomeStatus,
    summary: String,
    failure: Option<Failure>,
    metrics: Value,
    /// What a script gave back.
    value: Option<Value>,
}

fn conclude(tx: &mut Tx<'_>, plan: &RunPlan, task: &mut Task, conclusion: Conclusion) -> Result<()> {
    end(tx, task, conclusion)?;
    match tx.get::<Session>(kind::SESSION, task.session_id.as_str())? {
        Some(session) if session.state != harn_core::SessionState::Closed => start_next(tx, plan, &session),
        _ => Ok(()),
    }
}

/// Ends a task, and nothing more.
fn end(tx: &mut Tx<'_>, task: &mut Task, end: Conclusion) -> Result<()> {
    let outcome = outcome(tx, task, &end)?;
    task.outcome_id = Some(outcome.id.clone());
    task.failure = end.failure;
    let waits = matches!(task.status, TaskStatus::AuthRequired | TaskStatus::InputRequired);
    if end.status != TaskStatus::Canceled && waits {
        transition(tx, task, TaskStatus::Working, None)?;
    }
    transition(tx, task, end.status, None)?;
    let named = match end.status {
        TaskStatus::Completed => EventKind::TaskCompleted,
        TaskStatus::Failed => EventKind::TaskFailed,
        _ => EventKind::TaskCanceled,
    };
    let mut body = payload("task", task)?;
    body["outcome"] = payload("outcome", &outcome)?["outcome"].take();
    tx.emit(named, ("task", task.id.as_str()), Place::task(task), body)?;
    tx.wakes.push(Wake::Over(task.id.clone()));
    Ok(())
}

fn outcome(tx: &Tx<'_>, task: &Task, end: &Conclusion) -> Result<Outcome> {
    // The task's own messages all come after its submission.
    let after = tx.txn.doc(kind::TASK, task.id.as_str()).map_err(crate::fault)?.map_or(0, |doc| doc.position);
    let session = Some(task.session_id.as_str());
    let spoken: Option<Message> = match end.status {
        TaskStatus::Completed => tx
            .find::<Message>(&DocQuery { session, after, ..DocQuery::of(kind::MESSAGE) })?
            .into_iter()
            .rfind(|message| message.task_id.as_ref() == Some(&task.id) && message.role == Role::Assistant),
        _ => None,
    };
    Ok(Outcome {
        id: OutcomeId::generate(),
        object: OutcomeTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata: end.value.iter().map(|value| ("value".to_owned(), value.clone())).collect(),
        task_id: task.id.clone(),
        status: end.outcome_status,
        summary: end.summary.clone(),
        messages: spoken.into_iter().collect(),
        artifacts: Vec::new(),
        handoffs: Vec::new(),
        receipt_id: None,
        failure: end.failure.clone(),
        cost: cost(tx, task)?,
        metrics: end.metrics.as_object().cloned().unwrap_or_default(),
    })
}

/// What the run and all that it started have cost.
fn cost(tx: &Tx<'_>, task: &Task) -> Result<Metadata> {
    let run: Option<RunState> = tx.get(kind::RUN, task.id.as_str())?;
    let spent = run.map(|run| run.spent).unwrap_or_default();
    // Six decimals are exact in a double up to a billion dollars. What is not known is null, not nothing.
    let total = spent.micro_usd.map(|micro| micro as f64 / 1e6);
    let told = json!({ "currency": "USD", "total": total, "input_tokens": spent.input_tokens,
                       "output_tokens": spent.output_tokens });
    Ok(told.as_object().cloned().unwrap_or_default())
}

/// Whatever was in flight gets its one completion now, so that a late one is refused.
fn close_open_effects(tx: &mut Tx<'_>, task: &Task) -> Result<()> {
    let open = DocQuery { task: Some(task.id.as_str()), ..DocQuery::of(kind::EFFECT) };
    let open: Vec<OpenEffect> = tx.find(&open)?;
    for OpenEffect { key, phase, due, .. } in open {
        let failure = Failure::new("canceled", "The task was canceled.");
        let completion = if key.as_str().starts_with("llm:") {
            Completion::model_failed(failure)
        } else if due.is_some() {
            Completion::Time { refused: Some(failure.message) }
        } else if matches!(key.kind(), "ask" | "waitpoint") {
            Completion::Answered { answer: json!({ "status": "canceled", "reason": failure.message }) }
        } else {
            let call = requested_call(tx, task, &key)?;
            let outcome = if phase == Phase::Begun { ToolOutcome::Interrupted } else { ToolOutcome::Denied };
            let body = json!({ "tool_call_id": call.id, "name": call.name, "status": outcome, "reason": "canceled" });
            let place = Place::task(task).span(key.span_id(&task.id));
            tx.emit(EventKind::ToolFailed, ("tool_call", &tool_call_subject(task, &call.id)), place, body)?;
            let output = json!({ "error": failure.message });
            let (call_id, name, media) = (call.id, call.name, Vec::new());
            Completion::Tool { result: ToolResult { call_id, name, outcome, output, media } }
        };
        tx.journal(task, &JournalEntry::completed(key, completion))?;
    }
    Ok(())
}

/// Providers choose tool call ids; within their task they are unique.
pub fn tool_call_subject(task: &Task, call_id: &str) -> String {
    format!("{}/{call_id}", task.id)
}

/// Takes back what people were asked, because nobody wants to know any more.
fn withdraw_requests(tx: &mut Tx<'_>, task: &Task) -> Result<()> {
    crate::requests::pending(&*tx.txn, task)?.into_iter().try_for_each(|request| withdraw(tx, task, request))
}

/// The same for one effect that the program gave up.
pub fn withdraw_for(tx: &mut Tx<'_>, task: &Task, key: &EffectKey) -> Result<()> {
    let pending = crate::requests::pending(&*tx.txn, task)?;
    let mut own = pending.into_iter().filter(|request| request.request["key"] == key.as_str());
    own.try_for_each(|request| withdraw(tx, task, request))
}

fn withdraw(tx: &mut Tx<'_>, task: &Task, mut request: PermissionRequest) -> Result<()> {
    request.status = RequestStatus::Denied;
    request.updated_at = tx.now;
    request.response = json!({ "resolution": "canceled", "votes": request.response["votes"] });
    let body = json!({ "request": request, "decision": "canceled" });
    let event = match request.source {
        harn_core::RequestSource::Acp => EventKind::UserToolConfirmation,
        harn_core::RequestSource::Hitl => EventKind::UserInputSubmitted,
    };
    tx.emit(event, ("permission_request", request.id.as_str()), Place::task(task), body).map(|_| ())
}
