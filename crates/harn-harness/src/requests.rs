//! Requests to people: approvals and questions, the votes on them, and their resolution.

use harn_core::message::{Part, ToolStatus};
use harn_core::run::{Answer, Decision, EffectKey, JournalEntry, Manifest, Verdict};
use harn_core::tool::{SideEffect, ToolCall, ToolSpec};
use harn_core::{
    Actor, Code, Error, EventKind, Message, PermissionRequest, PermissionRequestTag, Persona, RequestId,
    RequestSource, RequestStatus, Result, SessionId, Task, TaskId,
};
use harn_log::{DocQuery, RowFilter, View};
use harn_policy::{Resolution, Vote, decide, resolve};
use harn_wire::agents::{Page, PermissionResponseRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::lifecycle::{derive_status, tool_call_subject};
use crate::page::{PageQuery, page};
use crate::tasks::visible_task;
use crate::tx::{Place, Tx, Wake, get, kind};
use crate::{Call, Harness, fault};

/// Who has to agree. A persona sets it as `metadata.approval`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Electorate {
    #[serde(default = "one")]
    pub quorum: usize,
    /// When given, only these may answer.
    #[serde(default)]
    pub reviewers: Vec<String>,
}

fn one() -> usize {
    1
}

/// Why the request exists, stored with it so that each edge can name it in its own words.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cause {
    key: EffectKey,
    reason: String,
    rule: Option<String>,
    #[serde(flatten)]
    electorate: Electorate,
    submitter: String,
}

impl Harness {
    pub async fn permission_requests(
        &self,
        actor: &Actor,
        session: Option<SessionId>,
        task: Option<TaskId>,
        wanted: PageQuery,
    ) -> Result<Page<PermissionRequest>> {
        actor.require("approvals:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            let query = DocQuery {
                session: session.as_ref().map(SessionId::as_str),
                task: task.as_ref().map(TaskId::as_str),
                ..DocQuery::of(kind::REQUEST)
            };
            page(view, &actor, query, &wanted, |_| true)
        })
        .await
    }

    pub async fn task_permission_requests(
        &self,
        actor: &Actor,
        task: TaskId,
        wanted: PageQuery,
    ) -> Result<Page<PermissionRequest>> {
        actor.require("approvals:read")?;
        let (seer, id) = (actor.clone(), task.clone());
        self.glance(move |view| visible_task(view, &seer, &id).map(|_| ()))?;
        self.permission_requests(actor, None, Some(task), wanted).await
    }

    pub async fn respond(
        &self,
        call: &Call,
        id: RequestId,
        response: PermissionResponseRequest,
    ) -> Result<PermissionRequest> {
        call.actor.require("approvals:write")?;
        let tools = self.runner.tools();
        self.command(call, move |tx: &mut Tx<'_>| {
            let (request, task) = visible_request(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&task.workspace_id.clone()), |tx| answer(tx, &tools, request, response, None))
        })
        .await
    }
}

fn visible_request(view: &dyn View, actor: &Actor, id: &RequestId) -> Result<(PermissionRequest, Task)> {
    let absent = || Error::not_found("permission request", id);
    let request: PermissionRequest = get(view, kind::REQUEST, id.as_str())?.ok_or_else(absent)?;
    let task = request.task_id.clone().ok_or_else(absent)?;
    let task = visible_task(view, actor, &task).map_err(|_| absent())?;
    Ok((request, task))
}

/// Asks people to approve a tool call.
pub fn ask_approval(
    tx: &mut Tx<'_>,
    task: &Task,
    key: &EffectKey,
    call: &ToolCall,
    decision: &Decision,
) -> Result<RequestId> {
    let action =
        json!({ "kind": "tool_call", "tool": call.name, "tool_call_id": call.id, "args": call.args });
    let cause = cause(tx, task, key, decision.reason.clone(), Some(decision.rule.clone()))?;
    let request = new_request(tx, task, RequestSource::Acp, action, &cause);
    let body = json!({ "tool_call_id": call.id, "name": call.name, "input": call.args, "request": request });
    let place = Place::task(task).span(key.span_id(&task.id));
    tx.emit(EventKind::ToolApprovalRequired, ("tool_call", &tool_call_subject(task, &call.id)), place, body)?;
    Ok(request.id)
}

/// Asks people a question.
pub fn ask_question(
    tx: &mut Tx<'_>,
    task: &Task,
    key: &EffectKey,
    call: &ToolCall,
    prompt: &str,
) -> Result<RequestId> {
    let action = json!({ "kind": "question", "tool_call_id": call.id, "prompt": prompt });
    let cause = cause(tx, task, key, "The agent asks a person.".into(), None)?;
    let request = new_request(tx, task, RequestSource::Hitl, action, &cause);
    let body = json!({ "prompt": prompt, "request": request });
    let place = Place::task(task).span(key.span_id(&task.id));
    tx.emit(EventKind::QuestionAsked, ("permission_request", request.id.as_str()), place, body)?;
    Ok(request.id)
}

fn cause(tx: &Tx<'_>, task: &Task, key: &EffectKey, reason: String, rule: Option<String>) -> Result<Cause> {
    let persona: Option<Persona> = match &task.persona_id {
        Some(id) => tx.get(kind::PERSONA, id.as_str())?,
        None => None,
    };
    let wanted = persona.and_then(|persona| persona.metadata.get("approval").cloned());
    let electorate = wanted.and_then(|value| serde_json::from_value(value).ok());
    let electorate = electorate.unwrap_or(Electorate { quorum: 1, reviewers: Vec::new() });
    Ok(Cause { key: key.clone(), reason, rule, electorate, submitter: task.created_by.clone() })
}

fn new_request(
    tx: &Tx<'_>,
    task: &Task,
    source: RequestSource,
    action: Value,
    cause: &Cause,
) -> PermissionRequest {
    PermissionRequest {
        id: RequestId::generate(),
        object: PermissionRequestTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata: Map::new(),
        session_id: Some(task.session_id.clone()),
        task_id: Some(task.id.clone()),
        status: RequestStatus::Pending,
        source,
        action,
        request: json!(cause),
        response: Value::Null,
    }
}

/// Records one person's answer; if that resolves the request, the run goes on.
pub fn answer(
    tx: &mut Tx<'_>,
    tools: &[ToolSpec],
    mut request: PermissionRequest,
    response: PermissionResponseRequest,
    message: Option<&Message>,
) -> Result<PermissionRequest> {
    let id = request.task_id.clone().ok_or_else(|| Error::internal("The request has no task."))?;
    let mut task: Task = tx.get(kind::TASK, id.as_str())?.ok_or_else(|| Error::not_found("task", &id))?;
    let cause: Cause =
        serde_json::from_value(request.request.clone()).map_err(|error| fault(error.into()))?;
    if request.status != RequestStatus::Pending {
        return Err(Error::conflict(format!("Request `{}` is already resolved.", request.id)));
    }
    let mut votes: Vec<Vote> = serde_json::from_value(request.response["votes"].clone()).unwrap_or_default();
    check_voter(&tx.call.actor, &cause, &votes)?;
    let (vote, reply) = vote(tx, &request, response)?;
    let rewritten = vote.args.is_some();
    votes.push(vote);
    let resolution = resolve(&votes, cause.electorate.quorum, &cause.submitter);
    let settled = settle(tx, tools, &task, &request, resolution, reply)?;
    request.updated_at = tx.now;
    request.response = json!({ "votes": votes });
    if let Some((answer, _)) = &settled {
        request.status = if answer.approved { RequestStatus::Approved } else { RequestStatus::Denied };
        request.response["resolution"] = json!(answer);
    }
    tell(tx, &task, &cause, &request, settled.as_ref().map(|(answer, _)| answer), message, rewritten)?;
    if let Some((answer, decision)) = settled {
        let (key, request_id) = (cause.key, request.id.clone());
        tx.journal(&task, &JournalEntry::Answered { key, request_id, answer, decision })?;
        derive_status(tx, &mut task)?;
        tx.wakes.push(Wake::Answered(task.id.clone()));
    }
    Ok(request)
}

/// The run's own principal never answers; everybody answers once.
fn check_voter(actor: &Actor, cause: &Cause, votes: &[Vote]) -> Result<()> {
    if actor.id == crate::runs::AGENT {
        return Err(Error::new(Code::PermissionDenied, "An agent does not answer its own requests."));
    }
    let reviewers = &cause.electorate.reviewers;
    if !reviewers.is_empty() && !reviewers.contains(&actor.id) {
        return Err(Error::new(Code::PermissionDenied, "You are not among the reviewers of this request."));
    }
    if votes.iter().any(|vote| vote.reviewer == actor.id) {
        return Err(Error::conflict("You have already answered this request."));
    }
    Ok(())
}

fn vote(
    tx: &Tx<'_>,
    request: &PermissionRequest,
    response: PermissionResponseRequest,
) -> Result<(Vote, Option<Value>)> {
    let said = response.approved.or(response.outcome.map(|outcome| outcome.approves()));
    let question = request.source == RequestSource::Hitl;
    // An answer to a question is a yes; an approval has to be said.
    let approved = said.or((question && response.answer.is_some()).then_some(true)).ok_or_else(|| {
        Error::invalid(
            "approved",
            "Say `approved: true` or `approved: false`, or answer the question in `answer`.",
        )
    })?;
    if question && approved && response.answer.is_none() {
        return Err(Error::invalid("answer", "This request is a question: give the reply in `answer`."));
    }
    let in_answer = response.answer.as_ref().and_then(|answer| answer["args"].as_object().cloned());
    let args = response.args.or(in_answer).filter(|_| approved && !question);
    let at = tx.now;
    let vote = Vote { reviewer: tx.call.actor.id.clone(), approved, args, reason: response.reason, at };
    Ok((vote, response.answer.filter(|_| question)))
}

/// What a resolution means for the run. Rewritten arguments go before policy once more.
fn settle(
    tx: &Tx<'_>,
    tools: &[ToolSpec],
    task: &Task,
    request: &PermissionRequest,
    resolution: Resolution,
    reply: Option<Value>,
) -> Result<Option<(Answer, Option<Decision>)>> {
    Ok(match resolution {
        Resolution::Pending => None,
        Resolution::Denied { reason } => {
            Some((Answer { approved: false, args: None, reply: None, reason }, None))
        }
        Resolution::Approved { .. } if request.source == RequestSource::Hitl => {
            Some((Answer { approved: true, args: None, reply, reason: None }, None))
        }
        Resolution::Approved { args } => {
            let tool = request.action["tool"].as_str().unwrap_or_default();
            let decision = decide_tool(tx, tools, task, tool)?;
            let denied = decision.verdict == Verdict::Deny;
            let reason = denied.then(|| decision.reason.clone());
            Some((Answer { approved: !denied, args, reply: None, reason }, Some(decision)))
        }
    })
}

/// Policy's word on a tool for this run.
pub fn decide_tool(tx: &Tx<'_>, tools: &[ToolSpec], task: &Task, tool: &str) -> Result<Decision> {
    // A tool that nobody knows is taken to reach as far as any can.
    let reach =
        tools.iter().find(|spec| spec.name == tool).map_or(SideEffect::Network, |spec| spec.side_effect);
    Ok(decide(manifest(&*tx.txn, &task.id)?.tier, tool, reach))
}

pub fn manifest(view: &dyn View, task: &TaskId) -> Result<Manifest> {
    let rows = view.rows(&RowFilter::journal(task.as_str()), 0, 1).map_err(fault)?;
    match rows.first().map(|row| row.parse::<JournalEntry>()).transpose().map_err(fault)? {
        Some(JournalEntry::Manifest { manifest }) => Ok(manifest),
        _ => Err(Error::internal(format!("The run of task `{task}` has no manifest."))),
    }
}

/// The events of an answer: the vote, and what it led to.
fn tell(
    tx: &mut Tx<'_>,
    task: &Task,
    cause: &Cause,
    request: &PermissionRequest,
    answer: Option<&Answer>,
    message: Option<&Message>,
    rewritten: bool,
) -> Result<()> {
    let place = Place::task(task).span(cause.key.span_id(&task.id));
    let votes = request.response["votes"].as_array();
    let vote = votes.and_then(|votes| votes.last()).cloned().unwrap_or_default();
    let mut body = json!({
        "request": request,
        "reviewer": vote["reviewer"],
        "decision": if vote["approved"] == true { "approved" } else { "denied" },
        "reason": vote["reason"],
        "arguments_rewritten": rewritten,
    });
    if let Some(message) = message {
        body["message"] = json!(message);
    }
    let subject = ("permission_request", request.id.as_str());
    if request.source == RequestSource::Hitl {
        tx.emit(EventKind::UserInputSubmitted, subject, place, body)?;
        return Ok(());
    }
    tx.emit(EventKind::UserToolConfirmation, subject, place.clone(), body)?;
    let Some(answer) = answer else { return Ok(()) };
    let call_id = request.action["tool_call_id"].as_str().unwrap_or_default();
    let input = answer.args.clone().map_or_else(|| request.action["args"].clone(), Value::Object);
    let told = json!({ "tool_call_id": call_id, "name": request.action["tool"], "input": input,
                       "request_id": request.id, "reason": answer.reason });
    let kind = if answer.approved { EventKind::ToolApproved } else { EventKind::ToolDenied };
    tx.emit(kind, ("tool_call", &tool_call_subject(task, call_id)), place, told)?;
    Ok(())
}

pub fn oldest_question(tx: &Tx<'_>, task: &Task) -> Result<Option<PermissionRequest>> {
    Ok(pending(tx, task)?.into_iter().find(|request| request.source == RequestSource::Hitl))
}

pub fn pending(tx: &Tx<'_>, task: &Task) -> Result<Vec<PermissionRequest>> {
    let query = DocQuery { task: Some(task.id.as_str()), ..DocQuery::of(kind::REQUEST) };
    let requests: Vec<PermissionRequest> = tx.find(&query)?;
    Ok(requests.into_iter().filter(|request| request.status == RequestStatus::Pending).collect())
}

/// The vote in a `tool_confirmation` message: a `json` part in the shape of a permission response (with
/// `request_id` or `tool_call_id`), or a `tool_result` part whose status says ok or error. Without an id it is
/// about the oldest pending approval.
pub fn confirmation(
    tx: &Tx<'_>,
    task: &Task,
    message: &Message,
) -> Result<(PermissionRequest, PermissionResponseRequest)> {
    let mut target: Option<String> = None;
    let mut response = None;
    // What is confirmed is shown to everyone who sees the request, so only public parts can say it.
    for part in message.parts.iter().filter(|part| part.visibility() == harn_core::Visibility::Public) {
        match part {
            Part::Json { value, .. } => {
                let id = value.get("request_id").or_else(|| value.get("tool_call_id"));
                target = id.and_then(Value::as_str).map(str::to_owned);
                let parsed = serde_json::from_value::<PermissionResponseRequest>(value.clone());
                response = Some(parsed.map_err(|error| {
                    Error::invalid("message.parts", format!("The confirmation is not understood: {error}."))
                })?);
            }
            Part::ToolResult { tool_call_id, status, .. } => {
                target = Some(tool_call_id.clone());
                let approved = Some(*status == ToolStatus::Ok);
                response = Some(PermissionResponseRequest { approved, ..Default::default() });
            }
            _ => {}
        }
    }
    let response = response.ok_or_else(|| {
        let hint =
            "A tool confirmation needs a public `json` part such as {\"approved\": true}, or a `tool_result` part.";
        Error::invalid("message.parts", hint)
    })?;
    let found = pending(tx, task)?.into_iter().filter(|request| request.source == RequestSource::Acp).find(
        |request| {
            target
                .as_deref()
                .is_none_or(|id| request.id.as_str() == id || request.action["tool_call_id"] == id)
        },
    );
    let request =
        found.ok_or_else(|| Error::conflict("No tool call of this task waits for such a confirmation."))?;
    Ok((request, response))
}
