//! Requests to people: approvals and questions, the votes on them, and their resolution.

use harn_core::ask::Settled;
use harn_core::decision::PathFact;
use harn_core::message::{Part, ToolStatus};
use harn_core::run::{Answer, Decision, EffectKey, JournalEntry, Manifest, MutationSession, Verdict};
use harn_core::tool::{OwnTool, ToolCall};
use harn_core::{
    Actor, Code, EffectKind, Error, EventKind, Message, MessageInput, PermissionRequest,
    PermissionRequestTag, Persona, RequestId, RequestSource, RequestStatus, Result, SessionId, Task, TaskId,
    Timestamp,
};
use harn_log::{DocQuery, RowFilter, View};
use harn_policy::{PermissionPolicy, Resolution, Vote, resolve};
use harn_wire::agents::{Page, PermissionResponseRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{ApprovalRequest, approval_request};
use crate::asks::{self, fitting};
use crate::law::{Case, Law};
use crate::lifecycle::{derive_status, tool_call_subject};
use crate::page::{PageQuery, page};
use crate::tasks::visible_task;
use crate::tx::{Place, Tx, Wake, get, kind};
use crate::{Call, Harness, fault, remember};

/// Who has to agree. A persona sets it as `metadata.approval`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Electorate {
    #[serde(default = "one")]
    pub quorum: usize,
    /// When given, only these may answer.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// How long they have; then the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u64>,
}

fn one() -> usize {
    1
}

impl Default for Electorate {
    fn default() -> Self {
        Self { quorum: one(), reviewers: Vec::new(), deadline_seconds: None }
    }
}

/// Why the request exists, stored with it so that each edge can name it in its own words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cause {
    key: EffectKey,
    reason: String,
    #[serde(flatten)]
    pub electorate: Electorate,
    submitter: String,
    /// When the request is denied by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What spec 000 sends to a host that shows an approval: the request, the decision, the run's mutation record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval_request: Option<ApprovalRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_decision: Option<Decision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mutation: Option<MutationSession>,
    /// The tool, where a script describes it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<OwnTool>,
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

    pub async fn permission_request(&self, actor: &Actor, id: &RequestId) -> Result<PermissionRequest> {
        actor.require("approvals:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| Ok(visible_request(view, &actor, &id)?.0))
    }

    pub async fn respond(
        &self,
        call: &Call,
        id: RequestId,
        response: PermissionResponseRequest,
    ) -> Result<PermissionRequest> {
        call.actor.require("approvals:write")?;
        let (seer, wanted) = (call.actor.clone(), id.clone());
        let (request, _) = self.glance(move |view| visible_request(view, &seer, &wanted))?;
        let answered = self.weigh(request, response, None).await?;
        self.command(call, move |tx: &mut Tx<'_>| {
            let (request, task) = visible_request(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&task.workspace_id.clone()), |tx| answer(tx, request, answered))
        })
        .await
    }

    /// Looks up what an answer's rewritten arguments lead to, before the commit that judges them.
    pub(crate) async fn weigh(
        &self,
        request: PermissionRequest,
        response: PermissionResponseRequest,
        message: Option<Message>,
    ) -> Result<Answered> {
        let rewritten = rewritten_args(&request, &response);
        let name = request.action["tool"].as_str().unwrap_or_default().to_owned();
        let id = request.action["tool_call_id"].as_str().unwrap_or_default().to_owned();
        let args = rewritten.or_else(|| request.action["args"].as_object().cloned()).unwrap_or_default();
        let call = ToolCall { id, name, args };
        let own: Option<OwnTool> = serde_json::from_value(request.request["own"].clone()).ok();
        let own = own.map(|own| OwnTool { call: call.clone(), ..own });
        let paths = match &request.task_id {
            Some(task) if request.source == RequestSource::Acp => {
                let task = task.clone();
                let root = self.glance(move |view| Ok(manifest(view, &task)?.root))?;
                match own.clone() {
                    Some(own) => self.locate_own(root, own).await?,
                    None => self.locate(root, effect_of(&request), call.clone()).await?,
                }
            }
            _ => Vec::new(),
        };
        Ok(Answered { response, message, call, own, paths, law: std::sync::Arc::clone(&self.law) })
    }
}

/// Somebody's answer, with everything that is needed to judge it within a commit.
pub(crate) struct Answered {
    pub response: PermissionResponseRequest,
    /// The message that it came in.
    pub message: Option<Message>,
    /// The call as it would be performed, and where its paths lead.
    pub call: ToolCall,
    pub own: Option<OwnTool>,
    pub paths: Vec<PathFact>,
    pub law: std::sync::Arc<Law>,
}

/// What is asked about: a tool, unless a script calls its host.
fn effect_of(request: &PermissionRequest) -> EffectKind {
    match request.action["kind"].as_str() {
        Some("call") => EffectKind::Call,
        _ => EffectKind::Tool,
    }
}

/// Arguments that replace the requested ones.
fn rewritten_args(
    request: &PermissionRequest,
    response: &PermissionResponseRequest,
) -> Option<Map<String, Value>> {
    let in_answer = response.answer.as_ref().and_then(|answer| answer["args"].as_object().cloned());
    let args = response.args.clone().or(in_answer);
    args.filter(|_| request.source == RequestSource::Acp)
}

fn visible_request(view: &dyn View, actor: &Actor, id: &RequestId) -> Result<(PermissionRequest, Task)> {
    let absent = || Error::not_found("permission request", id);
    let request: PermissionRequest = get(view, kind::REQUEST, id.as_str())?.ok_or_else(absent)?;
    let task = request.task_id.clone().ok_or_else(absent)?;
    let task = visible_task(view, actor, &task).map_err(|_| absent())?;
    Ok((request, task))
}

/// Asks people to approve an effect.
pub fn ask_approval(
    tx: &mut Tx<'_>,
    task: &Task,
    manifest: &Manifest,
    key: &EffectKey,
    call: &ToolCall,
    decision: &Decision,
    own: Option<&OwnTool>,
) -> Result<RequestId> {
    let kind = match decision.context.effect {
        EffectKind::Tool => "tool_call",
        other => other.as_str(),
    };
    let action = json!({ "kind": kind, "tool": call.name, "tool_call_id": call.id, "args": call.args });
    let mut cause = cause(tx, task, key, decision.reason.clone())?;
    cause.approval_request = Some(approval_request(
        tx.now,
        task,
        manifest,
        call,
        decision,
        cause.electorate.quorum,
        cause.deadline,
    ));
    cause.policy_decision = Some(decision.clone());
    cause.mutation.clone_from(&manifest.mutation);
    cause.own = own.cloned();
    let request = new_request(tx, task, RequestSource::Acp, action, &cause);
    let body = json!({ "tool_call_id": call.id, "name": call.name, "input": call.args, "request": request });
    let place = Place::task(task).span(key.span_id(&task.id));
    tx.emit(EventKind::ToolApprovalRequired, ("tool_call", &tool_call_subject(task, &call.id)), place, body)?;
    Ok(request.id)
}

pub(crate) fn cause(tx: &Tx<'_>, task: &Task, key: &EffectKey, reason: String) -> Result<Cause> {
    let persona: Option<Persona> = match &task.persona_id {
        Some(id) => tx.get(kind::PERSONA, id.as_str())?,
        None => None,
    };
    let wanted = persona.and_then(|persona| persona.metadata.get("approval").cloned());
    let electorate = wanted.and_then(|value| serde_json::from_value(value).ok());
    let electorate: Electorate = match electorate {
        Some(electorate) => electorate,
        None => {
            let policy: Option<PermissionPolicy> = tx.get(kind::POLICY, crate::law::POLICY_ID)?;
            let reviewers = policy.map(|policy| policy.escalate_to).unwrap_or_default();
            Electorate { reviewers, ..Electorate::default() }
        }
    };
    let deadline = electorate.deadline_seconds.map(|seconds| tx.now.plus_seconds(seconds));
    Ok(Cause {
        key: key.clone(),
        reason,
        electorate,
        submitter: task.created_by.clone(),
        deadline,
        approval_request: None,
        policy_decision: None,
        mutation: None,
        own: None,
    })
}

pub(crate) fn new_request(
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

/// When a request is denied by itself.
pub(crate) fn deadline(request: &PermissionRequest) -> Option<Timestamp> {
    serde_json::from_value(request.request["deadline"].clone()).ok()
}

/// The deadline has answered, in nobody's name.
pub(crate) fn expire(
    tx: &mut Tx<'_>,
    request: PermissionRequest,
    answered: Answered,
) -> Result<PermissionRequest> {
    record(tx, request, answered, Voter::Deadline)
}

/// Whose answer it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voter {
    Caller,
    Deadline,
}

/// Records one person's answer; if that resolves the request, the run goes on.
pub(crate) fn answer(
    tx: &mut Tx<'_>,
    request: PermissionRequest,
    answered: Answered,
) -> Result<PermissionRequest> {
    record(tx, request, answered, Voter::Caller)
}

fn record(
    tx: &mut Tx<'_>,
    mut request: PermissionRequest,
    answered: Answered,
    voter: Voter,
) -> Result<PermissionRequest> {
    let id = request.task_id.clone().ok_or_else(|| Error::internal("The request has no task."))?;
    let mut task: Task = tx.get(kind::TASK, id.as_str())?.ok_or_else(|| Error::not_found("task", &id))?;
    let cause: Cause =
        serde_json::from_value(request.request.clone()).map_err(|error| fault(error.into()))?;
    if request.status != RequestStatus::Pending {
        return Err(Error::conflict(format!("Request `{}` is already resolved.", request.id)));
    }
    let mut votes: Vec<Vote> = serde_json::from_value(request.response["votes"].clone()).unwrap_or_default();
    if voter == Voter::Caller {
        check_voter(&tx.call.actor, &cause, &votes)?;
    }
    let remembered = remember::wanted(&answered.response, &cause.electorate)?;
    let (vote, reply) = vote(tx, &request, &answered.response)?;
    let rewritten = vote.args.is_some();
    votes.push(vote);
    let resolution = resolve(&votes, cause.electorate.quorum, &cause.submitter);
    let mut settled = settle(tx, &task, &request, resolution, reply, &answered)?;
    if let Some((answer, _)) = &mut settled {
        answer.record = told(&request, &votes, voter, answer);
    }
    request.updated_at = tx.now;
    request.response = json!({ "votes": votes });
    if let Some((answer, decision)) = &settled {
        request.status = if answer.approved { RequestStatus::Approved } else { RequestStatus::Denied };
        request.response["resolution"] = json!(answer);
        if let Some(wanted) = remembered {
            let decision = decision.as_ref().or(cause.policy_decision.as_ref());
            let rule = remember::add(tx, &task, &answered.response, wanted, answer.approved, decision)?;
            request.response["remembered_rule_id"] = json!(rule.id);
        }
    }
    tell(tx, &task, &cause, &request, settled.as_ref(), answered.message.as_ref(), rewritten)?;
    if let Some((answer, decision)) = settled {
        let (key, request_id) = (cause.key, request.id.clone());
        tx.journal(&task, &JournalEntry::Answered { key, request_id, answer, decision })?;
        derive_status(tx, &mut task)?;
        tx.wakes.push(Wake::Answered(task.id.clone()));
    }
    Ok(request)
}

/// What a script is told. A deadline is nobody's vote.
fn told(request: &PermissionRequest, votes: &[Vote], voter: Voter, answer: &Answer) -> Option<Value> {
    let (verdict, votes) = match voter {
        Voter::Deadline => (Settled::Timeout, &votes[..votes.len().saturating_sub(1)]),
        Voter::Caller if answer.approved => (Settled::Yes, votes),
        Voter::Caller => (Settled::No, votes),
    };
    let said = votes.iter().rev().find_map(|vote| vote.reason.clone());
    asks::record(request, votes, verdict, answer.reply.clone(), answer.reason.clone().or(said))
}

/// The run's own principal never answers.
pub(crate) fn refuse_agent(actor: &Actor) -> Result<()> {
    if actor.id == crate::runs::AGENT {
        return Err(Error::new(Code::PermissionDenied, "An agent does not answer its own requests."));
    }
    Ok(())
}

/// Everybody answers once.
fn check_voter(actor: &Actor, cause: &Cause, votes: &[Vote]) -> Result<()> {
    refuse_agent(actor)?;
    let reviewers = &cause.electorate.reviewers;
    if !reviewers.is_empty() && !reviewers.contains(&actor.id) {
        let error = Error::new(Code::PermissionDenied, "You are not among the reviewers of this request.");
        return Err(error.detail("reviewers", reviewers.clone()));
    }
    if votes.iter().any(|vote| vote.reviewer == actor.id) {
        return Err(Error::conflict("You have already answered this request."));
    }
    Ok(())
}

fn vote(
    tx: &Tx<'_>,
    request: &PermissionRequest,
    response: &PermissionResponseRequest,
) -> Result<(Vote, Option<Value>)> {
    let said = response.approved.or(response.outcome.map(|outcome| outcome.approves()));
    let question = request.wants_reply();
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
    let args = rewritten_args(request, response).filter(|_| approved);
    let (reviewer, reason, at) = (tx.call.actor.id.clone(), response.reason.clone(), tx.now);
    let vote = Vote { reviewer, approved, args, reason, at };
    let reply = response.answer.clone().filter(|_| question && approved);
    Ok((vote, reply.map(|reply| fitting(request, reply)).transpose()?))
}

/// What a resolution means for the run. The arguments as they are now go before policy once more.
fn settle(
    tx: &Tx<'_>,
    task: &Task,
    request: &PermissionRequest,
    resolution: Resolution,
    reply: Option<Value>,
    answered: &Answered,
) -> Result<Option<(Answer, Option<Decision>)>> {
    Ok(match resolution {
        Resolution::Pending => None,
        Resolution::Denied { reason } => {
            Some((Answer { approved: false, args: None, reply: None, reason, record: None }, None))
        }
        Resolution::Approved { .. } if request.source == RequestSource::Hitl => {
            Some((Answer { approved: true, args: None, reply, reason: None, record: None }, None))
        }
        // Only calls have arguments to look at again.
        Resolution::Approved { .. } if request.action["kind"] != "tool_call" => {
            Some((Answer { approved: true, args: None, reply: None, reason: None, record: None }, None))
        }
        Resolution::Approved { args } => {
            let manifest = manifest(&*tx.txn, &task.id)?;
            let call = ToolCall {
                args: args.clone().unwrap_or_else(|| answered.call.args.clone()),
                ..answered.call.clone()
            };
            let case = Case { own: answered.own.as_ref(), ..Case::tool(&call, &answered.paths) };
            let decision = answered.law.decide(tx.now, task, &manifest, case);
            let denied = decision.action == Verdict::Deny;
            let reason = denied.then(|| decision.reason.clone());
            Some((Answer { approved: !denied, args, reply: None, reason, record: None }, Some(decision)))
        }
    })
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
    settled: Option<&(Answer, Option<Decision>)>,
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
    let Some((answer, decision)) = settled else { return Ok(()) };
    let call_id = request.action["tool_call_id"].as_str().unwrap_or_default();
    let input = answer.args.clone().map_or_else(|| request.action["args"].clone(), Value::Object);
    let reviewers: Vec<&Value> = votes.into_iter().flatten().map(|vote| &vote["reviewer"]).collect();
    let told = json!({ "tool_call_id": call_id, "name": request.action["tool"], "input": input,
                       "request_id": request.id, "reason": answer.reason, "answered_by": reviewers,
                       "policy_decision": decision.as_ref().or(cause.policy_decision.as_ref()) });
    let kind = if answer.approved { EventKind::ToolApproved } else { EventKind::ToolDenied };
    tx.emit(kind, ("tool_call", &tool_call_subject(task, call_id)), place, told)?;
    Ok(())
}

pub fn oldest_question(view: &dyn View, task: &Task) -> Result<Option<PermissionRequest>> {
    Ok(pending(view, task)?.into_iter().find(PermissionRequest::wants_reply))
}

pub fn pending(view: &dyn View, task: &Task) -> Result<Vec<PermissionRequest>> {
    let query = DocQuery { task: Some(task.id.as_str()), ..DocQuery::of(kind::REQUEST) };
    let docs = view.docs(&query).map_err(fault)?;
    let requests = docs.iter().map(|doc| doc.parse().map_err(fault));
    let requests: Vec<PermissionRequest> = requests.collect::<Result<_>>()?;
    Ok(requests.into_iter().filter(|request| request.status == RequestStatus::Pending).collect())
}

/// The vote in a `tool_confirmation` message: a `json` part in the shape of a permission response (with
/// `request_id` or `tool_call_id`), or a `tool_result` part whose status says ok or error. Without an id it is
/// about the oldest pending approval.
pub fn confirmation(
    view: &dyn View,
    task: &Task,
    message: &MessageInput,
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
    let found = pending(view, task)?.into_iter().filter(|request| !request.wants_reply()).find(|request| {
        target.as_deref().is_none_or(|id| request.id.as_str() == id || request.action["tool_call_id"] == id)
    });
    let request =
        found.ok_or_else(|| Error::conflict("No tool call of this task waits for such a confirmation."))?;
    Ok((request, response))
}
