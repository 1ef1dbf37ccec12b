//! What each path of the test server answers.

use serde_json::{Value, json};

use super::extras;
use super::flaw::Flaw;
use super::world::{WORKSPACE, World, merge};

pub type Reply = (u16, Value);

pub fn fault(status: u16, code: &str, kind: &str, message: &str) -> Reply {
    let error = json!({
        "code": code, "message": message, "type": kind, "param": null, "request_id": "req_1", "details": {},
    });
    (status, json!({ "error": error }))
}

pub fn not_found() -> Reply {
    fault(404, "resource_not_found", "not_found_error", "There is no such thing.")
}

fn invalid(message: &str) -> Reply {
    fault(400, "invalid_request", "request_error", message)
}

pub struct Call<'r> {
    pub method: &'r str,
    pub path: &'r [&'r str],
    pub query: &'r [(&'r str, &'r str)],
    pub body: &'r Value,
}

impl Call<'_> {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|pair| pair.0 == name).map(|pair| pair.1)
    }

    fn wants(&self, name: &str, value: &Value) -> bool {
        self.parameter(name).is_none_or(|wanted| value == wanted)
    }
}

pub fn answer(world: &mut World, call: &Call<'_>) -> Reply {
    if !world.has(Flaw::OnlyCore)
        && let Some(reply) = extras::answer(world, call)
    {
        return reply;
    }
    match (call.method, call.path) {
        ("GET", ["workspaces"]) => list(world, call, world.workspaces.clone()),
        ("GET", ["workspaces", id]) => one(&world.workspaces, id),
        (_, ["sessions", ..]) => sessions(world, call),
        (_, ["tasks", ..]) => tasks(world, call),
        ("GET", ["messages", id]) => one(&world.messages, id),
        ("GET", ["artifacts"]) => list(world, call, world.artifacts.clone()),
        ("POST", ["artifacts"]) => {
            let mut fields = json!({ "sha256": null, "uri": null });
            merge(&mut fields, call.body.clone());
            if world.has(Flaw::ArtifactOfAnotherKind) {
                fields["kind"] = json!("file");
            }
            let artifact = world.resource("artifact", fields);
            world.artifacts.push(artifact.clone());
            (201, artifact)
        }
        ("GET", ["artifacts", id]) => one(&world.artifacts, id),
        ("GET", ["outcomes"]) => {
            list(world, call, filtered(&world.outcomes, |outcome| call.wants("task_id", &outcome["task_id"])))
        }
        ("GET", ["outcomes", id]) if !world.has(Flaw::OutcomesNotFoundById) => one(&world.outcomes, id),
        ("GET", ["events"]) => range(
            world,
            call,
            filtered(&world.events, |event| call.wants("session_id", &event["session_id"])),
        ),
        ("GET", ["events", id]) => {
            let (status, mut event) = one(&world.events, id);
            if world.has(Flaw::EventDiffersById) && status == 200 {
                event["payload"]["extra"] = json!(true);
            }
            (status, event)
        }
        (_, ["personas" | "connectors" | "skills" | "quotas" | "memories" | "vaults"])
            if !world.has(Flaw::ListsNotFound) =>
        {
            fault(501, "not_implemented", "server_error", "This server does not have them.")
        }
        _ => not_found(),
    }
}

fn sessions(world: &mut World, call: &Call<'_>) -> Reply {
    match (call.method, call.path) {
        ("GET", [_]) => list(world, call, world.sessions.clone()),
        ("POST", [_]) => create_session(world, call.body),
        (_, [_]) => fault(405, "invalid_request", "request_error", "Not this method."),
        ("GET", [_, id]) => one(&world.sessions, id),
        (_, [_, id, ..]) if one(&world.sessions, id).0 == 404 => not_found(),
        ("PATCH", [_, id]) => {
            let session = world.sessions.iter_mut().find(|session| session["id"] == *id).unwrap();
            merge(session, call.body.clone());
            (200, session.clone())
        }
        ("POST", [_, id, "close"]) => {
            let session = world.sessions.iter_mut().find(|session| session["id"] == *id).unwrap();
            if world.flaw != Some(Flaw::CloseDoesNothing) {
                session["state"] = json!("CLOSED");
            }
            (200, session.clone())
        }
        ("POST", [_, id, "truncate"]) => truncate(world, id, call.body),
        ("GET", [_, id, "messages"]) => messages(world, call, id),
        ("POST", [_, id, "messages"]) => append(world, id, call.body),
        ("GET", [_, id, "tasks"]) if !world.has(Flaw::TasksNotListed) => {
            list(world, call, filtered(&world.tasks, |task| task["session_id"] == *id))
        }
        ("POST", [_, id, "tasks"]) => submit(world, id, call.body),
        ("GET", [_, id, "events"]) => {
            range(world, call, filtered(&world.events, |event| event["session_id"] == *id))
        }
        _ => not_found(),
    }
}

fn tasks(world: &mut World, call: &Call<'_>) -> Reply {
    match (call.method, call.path) {
        ("GET", [_]) => {
            let all = world.has(Flaw::FilterIgnored);
            let kept = |task: &Value| all || call.wants("session_id", &task["session_id"]);
            list(world, call, filtered(&world.tasks, kept))
        }
        ("GET", [_, id]) => read_task(world, id),
        (_, [_, id, ..]) if one(&world.tasks, id).0 == 404 => not_found(),
        ("POST", [_, id, "cancel"]) => cancel(world, id),
        ("POST", [_, id, "messages"]) => input(world, id, call.body),
        ("GET", [_, id, "events"]) => {
            range(world, call, filtered(&world.events, |event| event["task_id"] == *id))
        }
        _ => not_found(),
    }
}

fn filtered(items: &[Value], keep: impl Fn(&Value) -> bool) -> Vec<Value> {
    items.iter().filter(|item| keep(item)).cloned().collect()
}

pub fn one(items: &[Value], id: &str) -> Reply {
    items.iter().find(|item| item["id"] == id).map_or_else(not_found, |item| (200, item.clone()))
}

fn limit(call: &Call<'_>) -> Option<usize> {
    let limit = call.parameter("limit").map_or(Some(50), |text| text.parse().ok());
    limit.filter(|limit| (1..=200).contains(limit))
}

pub fn list(world: &World, call: &Call<'_>, items: Vec<Value>) -> Reply {
    let Some(limit) = limit(call) else { return invalid("limit") };
    let start = match call.parameter("cursor") {
        None => 0,
        Some(cursor) => match cursor.strip_prefix("at").and_then(|number| number.parse().ok()) {
            Some(start) => start,
            None => return invalid("cursor"),
        },
    };
    if world.has(Flaw::LimitIgnored) {
        return page(world, items, None);
    }
    let mut end = usize::min(start + limit, items.len());
    let mut more = end < items.len();
    let data = items.get(start..end).unwrap_or_default().to_vec();
    if limit < 10 && world.has(Flaw::PageNeverEnds) {
        (more, end) = (true, usize::min(end, items.len().saturating_sub(1)));
    }
    if limit == 2 && more && world.has(Flaw::PageRepeatsAnItem) {
        end -= 1;
    }
    page(world, data, more.then(|| format!("at{end}")))
}

fn page(world: &World, data: Vec<Value>, next: Option<String>) -> Reply {
    let page = json!({ "has_more": next.is_some(), "next_cursor": next });
    match world.has(Flaw::FlatPage) && next.is_none() {
        true => (200, json!({ "object": "list", "data": data, "has_more": false, "next_cursor": null })),
        false => (200, json!({ "object": "list", "data": data, "page": page })),
    }
}

fn range(world: &World, call: &Call<'_>, events: Vec<Value>) -> Reply {
    let Some(limit) = limit(call) else { return invalid("limit") };
    let start = match call.parameter("after_event_id") {
        None => 0,
        Some(after) => match events.iter().position(|event| event["id"] == after) {
            Some(position) => position + usize::from(!world.has(Flaw::RangeInclusive)),
            None => return invalid("after_event_id"),
        },
    };
    let end = usize::min(start + limit, events.len());
    let next = (end < events.len()).then(|| end.to_string());
    let mut data = events[start..end].to_vec();
    if world.has(Flaw::EventsChange) {
        data.iter_mut().for_each(|event| event["metadata"]["read_at"] = json!(world.now()));
    }
    page(world, data, next)
}

fn create_session(world: &mut World, body: &Value) -> Reply {
    match body["workspace_id"].as_str() {
        None => invalid("workspace_id"),
        Some(WORKSPACE) => (201, world.create_session(body)),
        Some(_) => not_found(),
    }
}

fn truncate(world: &mut World, id: &str, body: &Value) -> Reply {
    let keep = match world.has(Flaw::TruncateDoesNothing) {
        true => usize::MAX,
        false => body["keep_first"].as_u64().unwrap() as usize,
    };
    let mut seen = 0;
    world.messages.retain(|message| {
        seen += usize::from(message["session_id"] == id);
        message["session_id"] != id || seen <= keep
    });
    (200, json!({ "object": "session.truncate_result" }))
}

fn messages(world: &World, call: &Call<'_>, id: &str) -> Reply {
    let mut found = filtered(&world.messages, |message| message["session_id"] == id);
    if world.has(Flaw::MessagesReversed) {
        found.reverse();
    }
    list(world, call, found)
}

fn append(world: &mut World, id: &str, body: &Value) -> Reply {
    let message = &body["message"];
    let roles = ["user", "assistant", "system", "tool", "agent"];
    let role = roles.iter().any(|role| message["role"] == *role) || world.has(Flaw::BadRoleAccepted);
    let parts = message["parts"].as_array();
    if !role || parts.is_none_or(|parts| parts.iter().any(|part| !part["visibility"].is_string())) {
        return invalid("message");
    }
    (201, world.append(id, None, message))
}

fn submit(world: &mut World, id: &str, body: &Value) -> Reply {
    match body["input"].is_object() {
        true => (if world.has(Flaw::SubmitAnswers201) { 201 } else { 202 }, world.submit(id, body)),
        false => invalid("input"),
    }
}

fn read_task(world: &mut World, id: &str) -> Reply {
    let reply = one(&world.tasks, id);
    if world.has(Flaw::CancelUndone) && reply.1["status"] == "CANCELED" {
        world.task_mut(id)["status"] = json!("COMPLETED");
    }
    reply
}

fn cancel(world: &mut World, id: &str) -> Reply {
    if world.has(Flaw::CancelAnswers500) {
        if world.task_mut(id)["status"] == "INPUT_REQUIRED" {
            world.cancel(id);
        }
        return fault(500, "internal_error", "server_error", "It broke.");
    }
    match world.task_mut(id)["status"].as_str().unwrap() {
        "COMPLETED" => return fault(409, "conflict", "conflict_error", "It is over."),
        "CANCELED" => {}
        _ => world.cancel(id),
    }
    (200, world.task_mut(id).clone())
}

fn input(world: &mut World, id: &str, body: &Value) -> Reply {
    let task = world.task_mut(id).clone();
    let session = task["session_id"].as_str().unwrap();
    match task["status"].as_str().unwrap() {
        "INPUT_REQUIRED" => {
            let message = world.append(session, Some(id), &body["message"]);
            if !world.has(Flaw::InputIgnored) {
                world.go(id, "WORKING", "task.started");
                world.complete(id);
            }
            (201, message)
        }
        _ if world.has(Flaw::TerminalTaskRevived) => {
            world.go(id, "WORKING", "task.started");
            (201, world.append(session, Some(id), &body["message"]))
        }
        _ => fault(400, "invalid_state_transition", "request_error", "It is over."),
    }
}
