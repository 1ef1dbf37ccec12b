//! The resources of the test server and what commands do to them.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::KEY;
use super::flaw::Flaw;

pub struct World {
    pub flaw: Option<Flaw>,
    next: u64,
    pub workspaces: Vec<Value>,
    pub sessions: Vec<Value>,
    pub messages: Vec<Value>,
    pub tasks: Vec<Value>,
    pub artifacts: Vec<Value>,
    pub branches: Vec<Value>,
    pub vaults: Vec<Value>,
    pub outcomes: Vec<Value>,
    pub events: Vec<Value>,
    sequences: HashMap<String, u64>,
    /// By scope: the request's bytes, its body, and the answer.
    pub remembered: HashMap<String, (Vec<u8>, Value, u16, Value)>,
}

pub const WORKSPACE: &str = "workspace_1";

impl World {
    pub fn new(flaw: Option<Flaw>) -> World {
        World {
            flaw,
            next: 1,
            workspaces: vec![workspace()],
            sessions: Vec::new(),
            messages: Vec::new(),
            tasks: Vec::new(),
            artifacts: Vec::new(),
            branches: Vec::new(),
            vaults: Vec::new(),
            outcomes: Vec::new(),
            events: Vec::new(),
            sequences: HashMap::new(),
            remembered: HashMap::new(),
        }
    }

    pub fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn spoil<'t>(&self, flaw: Flaw, wrong: &'t str, right: &'t str) -> &'t str {
        if self.has(flaw) { wrong } else { right }
    }

    pub fn now(&self) -> String {
        match self.has(Flaw::TimestampsNotUtc) {
            true => "2026-04-25T21:00:00+02:00".into(),
            false => jiff::Timestamp::now().to_string(),
        }
    }

    /// A resource: the envelope and its own fields.
    pub fn resource(&mut self, object: &str, fields: Value) -> Value {
        self.next += 1;
        let now = self.now();
        let mut value = json!({
            "id": format!("{object}_{}", self.next),
            "object": object,
            "created_at": now,
            "updated_at": now,
            "metadata": {},
        });
        if self.has(Flaw::NoMetadata) && object == "session" {
            value.as_object_mut().unwrap().remove("metadata");
        }
        merge(&mut value, fields);
        value
    }

    pub fn emit(&mut self, kind: &str, about: &Value, payload: Value) {
        let (object, id) = (about["object"].as_str().unwrap(), about["id"].as_str().unwrap());
        let sequence = self.sequences.entry(id.to_owned()).or_default();
        *sequence += 1;
        let sequence = if self.flaw == Some(Flaw::SequenceRepeats) { 1 } else { *sequence };
        let session = if object == "session" { &about["id"] } else { &about["session_id"] };
        let task = if object == "task" { &about["id"] } else { &about["task_id"] };
        let id = self.events.len() + 1;
        let now = match self.has(Flaw::TimesGoBack) {
            true => format!("2026-04-25T19:{:02}:00Z", 59 - id % 60),
            false => self.now(),
        };
        let id = if self.has(Flaw::EventIdsGoDown) { 1_000_000 - id } else { id };
        let mut event = json!({
            "id": id.to_string(), "object": "event", "created_at": now, "updated_at": now,
            "metadata": {}, "event": kind, "resource": { "object": about["object"], "id": about["id"] },
            "sequence": sequence, "payload": payload, "session_id": session, "task_id": task,
            "workspace_id": WORKSPACE,
        });
        if self.has(Flaw::KeyInEvents) && kind == "task.submitted" {
            event["payload"]["authorization"] = json!(format!("Bearer {KEY}"));
        }
        if self.has(Flaw::EventsWithoutPayload) && kind == "task.started" {
            event["payload"] = json!(null);
        }
        self.events.push(event);
    }

    pub fn create_session(&mut self, body: &Value) -> Value {
        let fields = json!({ "workspace_id": WORKSPACE, "state": self.spoil(Flaw::UnknownSessionState, "OPEN", "IDLE"), "transcript": {} });
        let session = self.resource("session", fields);
        self.sessions.push(session.clone());
        self.emit("session.created", &session, json!({}));
        let ignored = self.has(Flaw::InitialMessagesIgnored);
        for message in body["initial_messages"].as_array().into_iter().flatten().filter(|_| !ignored) {
            self.append(session["id"].as_str().unwrap(), None, message);
        }
        session
    }

    pub fn append(&mut self, session: &str, task: Option<&str>, input: &Value) -> Value {
        let mut fields = json!({
            "session_id": session, "task_id": task, "role": input["role"], "parts": input["parts"],
        });
        if self.has(Flaw::VisibilityLost) {
            for part in fields["parts"].as_array_mut().unwrap() {
                part["visibility"] = json!("public");
            }
        }
        let mut message = self.resource("message", fields);
        if self.has(Flaw::IdsPerSession) {
            let count = self.messages.iter().filter(|message| message["session_id"] == session).count();
            message["id"] = json!(format!("message_{count}"));
        }
        if self.has(Flaw::WrongObject) {
            message["object"] = json!("msg");
        }
        self.messages.push(message.clone());
        self.emit("user.message", &message, json!({}));
        message
    }

    /// Runs at once: to the end, or to the question of a task that asks.
    pub fn submit(&mut self, session: &str, body: &Value) -> Value {
        let fields = json!({
            "session_id": session, "status": "SUBMITTED",
            "workspace_id": self.spoil(Flaw::TaskInAnotherWorkspace, "workspace_2", WORKSPACE),
            "input": body["input"], "created_by": "tester", "outcome_id": null,
            "started_at": null, "completed_at": null, "canceled_at": null,
        });
        let task = self.resource("task", fields);
        let id = task["id"].as_str().unwrap().to_owned();
        self.tasks.push(task.clone());
        if !self.has(Flaw::EventsOutOfOrder) {
            self.emit("task.submitted", &task, json!({}));
        }
        self.append(session, Some(&id), &body["input"]);
        let asks = body["input"]["parts"][0]["text"].as_str().is_some_and(|text| text.starts_with("ask "));
        if asks || !self.has(Flaw::SkipsWorking) {
            self.go(&id, "WORKING", "task.started");
        }
        if self.has(Flaw::EventsOutOfOrder) {
            self.emit("task.submitted", &task, json!({}));
        }
        if self.has(Flaw::TaskNeverMoves) {
            return task;
        }
        match asks {
            true => self.go(&id, "INPUT_REQUIRED", "task.input_required"),
            false => self.complete(&id),
        }
        match self.has(Flaw::SubmitSaysCanceled) {
            true => {
                let mut task = task;
                task["status"] = json!("CANCELED");
                task
            }
            false => task,
        }
    }

    pub fn complete(&mut self, id: &str) {
        self.outcome(id, "SUCCEEDED");
        if self.has(Flaw::TwoOutcomes) {
            self.outcome(id, "SUCCEEDED");
        }
        self.go(id, "COMPLETED", "task.completed");
    }

    pub fn cancel(&mut self, id: &str) {
        self.outcome(id, "CANCELED");
        self.go(id, "CANCELED", "task.canceled");
    }

    fn outcome(&mut self, task: &str, status: &str) {
        let summary = if self.has(Flaw::OutcomeWithoutSummary) { json!(null) } else { json!(status) };
        let outcome =
            self.resource("outcome", json!({ "task_id": task, "status": status, "summary": summary }));
        self.task_mut(task)["outcome_id"] = outcome["id"].clone();
        self.outcomes.push(outcome);
    }

    pub fn go(&mut self, id: &str, to: &str, kind: &str) {
        let (now, flaw) = (self.now(), self.flaw);
        let task = self.task_mut(id);
        let from = std::mem::replace(&mut task["status"], json!(to));
        task["updated_at"] = json!(now);
        match to {
            "WORKING" => task["started_at"] = json!(now),
            "COMPLETED" if flaw == Some(Flaw::CompletedBeforeStarted) => {
                task["completed_at"] = json!("2026-04-25T19:00:00Z");
            }
            "COMPLETED" => task["completed_at"] = json!(now),
            "CANCELED" => {
                task["canceled_at"] = json!(now);
                if flaw == Some(Flaw::CompletedAtOnCanceled) {
                    task["completed_at"] = json!(now);
                }
            }
            _ => {}
        }
        let task = task.clone();
        if to == "COMPLETED" && flaw == Some(Flaw::NoCompletedEvent) {
            return;
        }
        self.emit("task.status_changed", &task, json!({ "from": from, "to": to }));
        self.emit(kind, &task, json!({}));
    }

    pub fn task_mut(&mut self, id: &str) -> &mut Value {
        self.tasks.iter_mut().find(|task| task["id"] == id).unwrap()
    }
}

fn workspace() -> Value {
    json!({
        "id": WORKSPACE, "object": "workspace", "created_at": "2026-04-25T19:00:00Z",
        "updated_at": "2026-04-25T19:00:00Z", "metadata": {}, "name": "test", "root": "harn://test",
        "default_branch_id": null,
    })
}

pub fn merge(value: &mut Value, fields: Value) {
    if let Value::Object(fields) = fields {
        value.as_object_mut().unwrap().extend(fields);
    }
}
