//! What scripts and models ask of people, as durable requests, and what they are told in the end.

use harn_core::ask::{Ask, AskKind, Asker, Ballot, Record, Settled, fit, text_of};
use harn_core::run::EffectKey;
use harn_core::{
    Decision, Error, EventKind, PermissionRequest, RequestId, RequestSource, RequestStatus, Result, Task,
    Timestamp,
};
use harn_log::{DocQuery, View};
use harn_policy::Vote;
use serde_json::{Map, Value, json};

use crate::approval::{ApprovalRequest, Evidence};
use crate::fault;
use crate::requests::{Cause, cause, new_request};
use crate::tx::{Place, Tx, kind};

/// Puts something before people: one request, for as long as the effect waits.
pub fn ask_people(
    tx: &mut Tx<'_>,
    task: &Task,
    key: &EffectKey,
    ask: &Ask,
    decision: Option<&Decision>,
) -> Result<RequestId> {
    let reason = match ask.asker {
        Asker::Model => "The agent asks a person.",
        Asker::Script => "The script asks people.",
    };
    let mut cause = cause(tx, task, key, reason.into())?;
    adjust(&mut cause, ask, tx.now);
    let mut request = new_request(tx, task, RequestSource::Hitl, action(ask), &cause);
    request.metadata.clone_from(&ask.metadata);
    if matches!(ask.kind, AskKind::Approval | AskKind::DualControl) {
        request.request["approval_request"] = json!(approval_request(tx.now, task, ask, &cause, &request.id));
    }
    let mut body = json!({ "prompt": ask.prompt, "request": request });
    // A model's question is told as a tool call, with the decision.
    if let (Asker::Script, Some(decision)) = (ask.asker, decision) {
        body["policy_decision"] = json!(decision);
    }
    let place = Place::task(task).span(key.span_id(&task.id));
    tx.emit(EventKind::QuestionAsked, ("permission_request", request.id.as_str()), place, body)?;
    Ok(request.id)
}

/// Whoever asks may say who has to agree, and until when.
fn adjust(cause: &mut Cause, ask: &Ask, now: Timestamp) {
    if let Some(quorum) = ask.quorum {
        cause.electorate.quorum = quorum;
    }
    if !ask.reviewers.is_empty() {
        cause.electorate.reviewers.clone_from(&ask.reviewers);
    }
    if let Some(due) = ask.due(now) {
        cause.deadline = Some(due);
    }
}

fn action(ask: &Ask) -> Value {
    let mut action = json!({ "kind": ask.kind, "tool_call_id": ask.call.id, "prompt": ask.prompt });
    let mut note = |name: &str, value: Value| {
        if !value.is_null() && value != json!([]) {
            action[name] = value;
        }
    };
    note("choices", json!(ask.choices));
    note("default", json!(ask.default));
    note("schema", json!(ask.schema));
    note("role", json!(ask.role));
    note("evidence", json!(ask.evidence));
    if ask.asker == Asker::Script {
        note("tool", json!(ask.call.name));
        note("args", ask.call.args.get("args").cloned().unwrap_or_default());
    }
    action
}

/// Spec 000's canonical payload, the same as for tool calls.
fn approval_request(
    now: Timestamp,
    task: &Task,
    ask: &Ask,
    cause: &Cause,
    id: &RequestId,
) -> ApprovalRequest {
    let given = |name: &str| ask.call.args.get(name).cloned().filter(|value| !value.is_null());
    let args = match given("args").or_else(|| given("detail")) {
        Some(Value::Object(args)) => args,
        Some(detail) => Map::from_iter([("detail".to_owned(), detail)]),
        None => Map::new(),
    };
    let capabilities = given("capabilities_requested");
    let capabilities = capabilities.as_ref().and_then(Value::as_array).into_iter().flatten();
    ApprovalRequest {
        id: id.to_string(),
        action: ask.prompt.clone(),
        args,
        principal: given("principal").as_ref().map_or_else(|| task.session_id.to_string(), text_of),
        requested_at: now,
        deadline: cause.deadline,
        approvers_required: cause.electorate.quorum.max(1),
        evidence_refs: ask.evidence.iter().map(evidence).collect(),
        undo_metadata: given("undo_metadata").unwrap_or_else(|| json!({})),
        capabilities_requested: capabilities.map(text_of).collect(),
    }
}

/// What a script shows beside its request: a word is what it refers to.
fn evidence(given: &Value) -> Evidence {
    let named = |name: &str| given.get(name).filter(|value| !value.is_null());
    Evidence {
        kind: named("kind").map_or_else(|| "reference".to_owned(), text_of),
        reference: text_of(named("ref").unwrap_or(given)),
        metadata: named("metadata").cloned().unwrap_or_else(|| json!({})),
    }
}

/// What was asked, of requests that are not about a tool call.
fn kind_of(request: &PermissionRequest) -> Option<AskKind> {
    let kind = request.action["kind"].as_str().and_then(AskKind::parse);
    kind.filter(|_| request.source == RequestSource::Hitl)
}

/// The reply to a question, if it is one that the asker can use.
pub fn fitting(request: &PermissionRequest, reply: Value) -> Result<Value> {
    let choices = request.action["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    let schema = request.action.get("schema");
    fit(choices, schema, reply).map_err(|problem| Error::invalid("answer", problem))
}

/// What the run is told.
pub fn record(
    request: &PermissionRequest,
    votes: &[Vote],
    verdict: Settled,
    value: Option<Value>,
    reason: Option<String>,
) -> Option<Value> {
    let kind = kind_of(request)?;
    let ballot =
        |vote: &Vote| Ballot { reviewer: vote.reviewer.clone(), approved: vote.approved, at: vote.at };
    let default = || request.action.get("default").cloned().filter(|_| verdict == Settled::Timeout);
    let record = Record {
        kind,
        request_id: Some(request.id.to_string()),
        role: request.action["role"].as_str().map(str::to_owned),
        verdict,
        reason,
        value: value.or_else(default),
        ballots: votes.iter().map(ballot).collect(),
    };
    Some(record.value())
}

/// Open requests of a workspace, oldest first, as scripts read them.
pub fn open_requests(view: &dyn View, task: &Task, filters: &Value) -> Result<Vec<Value>> {
    let query = DocQuery { workspace: Some(task.workspace_id.as_str()), ..DocQuery::of(kind::REQUEST) };
    let wanted = Filters::of(filters);
    let mut found = Vec::new();
    for doc in view.docs(&query).map_err(fault)? {
        let request: PermissionRequest = doc.parse().map_err(fault)?;
        if request.status == RequestStatus::Pending && wanted.admit(&request) {
            found.push(pending(&request));
        }
        if found.len() == wanted.limit {
            break;
        }
    }
    Ok(found)
}

/// A call that waits for approval is one too, by whichever way it came.
fn word_of(request: &PermissionRequest) -> &str {
    kind_of(request).unwrap_or(AskKind::Approval).as_str()
}

fn pending(request: &PermissionRequest) -> Value {
    let (action, cause) = (&request.action, &request.request);
    let text = action["prompt"].as_str().or_else(|| action["tool"].as_str());
    json!({
        "request_id": request.id,
        "kind": word_of(request),
        "status": "pending",
        "prompt": text,
        "task_id": request.task_id,
        "session_id": request.session_id,
        "requested_at": request.created_at,
        "deadline": cause["deadline"],
        "quorum": cause["quorum"],
        "reviewers": cause["reviewers"],
        "votes": request.response["votes"].as_array().map_or(0, Vec::len),
        "role": action["role"],
        "choices": action["choices"],
        "payload": action,
        "approval_request": cause["approval_request"],
    })
}

struct Filters<'a> {
    filters: &'a Value,
    kinds: Vec<&'a str>,
    limit: usize,
}

impl<'a> Filters<'a> {
    fn of(filters: &'a Value) -> Self {
        let named = |name: &str| match &filters[name] {
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect::<Vec<_>>(),
        };
        let kinds = [named("kind"), named("kinds")].concat();
        let limit = filters["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
        Self { filters, kinds, limit: limit.unwrap_or(1000).clamp(1, 1000) }
    }

    fn admit(&self, request: &PermissionRequest) -> bool {
        let same = |name: &str, found: Option<&str>| {
            self.filters[name].as_str().is_none_or(|wanted| found == Some(wanted))
        };
        let instant = |name: &str| serde_json::from_value::<Timestamp>(self.filters[name].clone()).ok();
        (self.kinds.is_empty() || self.kinds.contains(&word_of(request)))
            && same("session_id", request.session_id.as_ref().map(|id| id.as_str()))
            && same("task_id", request.task_id.as_ref().map(|id| id.as_str()))
            && same("request_id", Some(request.id.as_str()))
            && same("role", request.action["role"].as_str())
            && instant("since").is_none_or(|since| request.created_at >= since)
            && instant("until").is_none_or(|until| request.created_at <= until)
    }
}
