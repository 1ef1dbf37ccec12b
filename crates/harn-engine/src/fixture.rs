//! What the effects of a run gave, kept in a file so that a later run needs neither network nor models.
//!
//! Models, requests to other machines, commands and the host are kept. The clock and files are not: a test has its own.

use std::collections::HashMap;
use std::path::Path;

use harn_core::Failure;
use harn_core::chat::ModelRequest;
use harn_core::run::{Completion, EffectKey, Request};
use harn_core::tool::{SideEffect, ToolSpec};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::perform::failed;

/// Calls that go on with what an earlier one opened, and those whose answer depends on the machine.
const ALSO: [&str; 10] = [
    "llm_next",
    "http_read_piece",
    "http_close",
    "sse_next",
    "socket_send",
    "socket_next",
    "close",
    "secret",
    "host_capabilities",
    "host_tools",
];

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: EffectKey,
    request: Value,
    completion: Completion,
}

/// The fixture of one run.
pub struct Fixture {
    /// The folder of the project: its name differs between machines, so the file has a word for it.
    project: String,
    mode: Mode,
}

enum Mode {
    Record(Mutex<Recording>),
    Replay { kept: HashMap<EffectKey, Kept>, problem: Mutex<Option<String>> },
}

#[derive(Default)]
struct Recording {
    asked: HashMap<EffectKey, Value>,
    lines: String,
}

impl Fixture {
    pub fn recording(project: &Path) -> Self {
        Self { project: project.display().to_string(), mode: Mode::Record(Mutex::default()) }
    }

    /// Answers from what was recorded. The error names the line that is none.
    pub fn replaying(text: &str, project: &Path) -> Result<Self, String> {
        let mut kept = HashMap::new();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let one: Kept = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", n + 1))?;
            kept.insert(one.key.clone(), one);
        }
        let mode = Mode::Replay { kept, problem: Mutex::default() };
        Ok(Self { project: project.display().to_string(), mode })
    }

    /// The lines that were recorded.
    pub fn recorded(&self) -> String {
        match &self.mode {
            Mode::Record(recording) => recording.lock().lines.clone(),
            Mode::Replay { .. } => String::new(),
        }
    }

    /// The first effect that was not answered, whatever the program made of it.
    pub fn problem(&self) -> Option<String> {
        match &self.mode {
            Mode::Record(_) => None,
            Mode::Replay { problem, .. } => problem.lock().clone(),
        }
    }

    /// The answer to an effect; none if it is to be performed.
    pub(crate) fn answer(
        &self,
        key: &EffectKey,
        request: &Request,
        spec: Option<&ToolSpec>,
    ) -> Option<Completion> {
        let mut asked = described(request, spec)?;
        self.make_portable(&mut asked);
        match &self.mode {
            Mode::Record(recording) => {
                recording.lock().asked.insert(key.clone(), asked);
                None
            }
            Mode::Replay { kept, problem } => {
                let why = match kept.get(key) {
                    Some(one) if one.request == asked => return Some(one.completion.clone()),
                    Some(one) => {
                        let difference = difference(&one.request, &asked, "");
                        format!("is not what was recorded: {difference}; record it again with --record")
                    }
                    None => "was not recorded; record it with --record".to_owned(),
                };
                let message = format!("`{key}` ({}) {why}", name_of(request));
                problem.lock().get_or_insert_with(|| message.clone());
                Some(unanswered(request, &message))
            }
        }
    }

    /// An effect has given this.
    pub(crate) fn completed(&self, key: &EffectKey, completion: &Completion) {
        let Mode::Record(recording) = &self.mode else { return };
        let mut recording = recording.lock();
        let Some(request) = recording.asked.remove(key) else { return };
        let mut line = json!({ "key": key, "request": request, "completion": completion });
        harn_policy::redact_value(&mut line["completion"]);
        recording.lines.push_str(&format!("{line}\n"));
    }

    /// Without secrets, and without the folder that this machine has the project in.
    fn make_portable(&self, value: &mut Value) {
        harn_policy::redact_value(value);
        if self.project.len() > 1 {
            replace(value, &self.project);
        }
    }
}

fn replace(value: &mut Value, project: &str) {
    match value {
        Value::String(text) if text.contains(project) => *text = text.replace(project, "{project}"),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, project)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, project)),
        _ => {}
    }
}

/// What a request says, if it is one that is kept.
fn described(request: &Request, spec: Option<&ToolSpec>) -> Option<Value> {
    match request {
        Request::Model(call) => Some(described_model(call)),
        Request::Call(call) | Request::Tool(call) => {
            let reaches = spec.is_some_and(|spec| spec.side_effect >= SideEffect::ProcessExec);
            let is_kept = reaches || ALSO.contains(&call.name.as_str());
            is_kept.then(|| json!({ "call": call.name, "args": call.args }))
        }
        _ => None,
    }
}

fn described_model(call: &ModelRequest) -> Value {
    let mut described = json!({ "model": call.model, "messages": *call.messages });
    let mut add = |name: &str, value: Value| described[name] = value;
    if !call.system.is_empty() {
        add("system", (*call.system).into());
    }
    if !call.tools.is_empty() {
        add("tools", call.tools.iter().map(|tool| tool.name.as_str()).collect());
    }
    if let Some(schema) = &call.output_schema {
        add("output_schema", json!(schema));
    }
    described
}

fn name_of(request: &Request) -> &str {
    match request {
        Request::Call(call) | Request::Tool(call) => &call.name,
        _ => "a call of a model",
    }
}

fn unanswered(request: &Request, message: &str) -> Completion {
    match request {
        Request::Call(call) | Request::Tool(call) => failed(call, message),
        _ => Completion::model_failed(Failure::new("not_found", message)),
    }
}

/// The first place where two values are different.
fn difference(was: &Value, is: &Value, at: &str) -> String {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match (was, is) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys());
            let differs = |name: &&String| a.get(*name) != b.get(*name);
            if let Some(name) = names.into_iter().find(differs) {
                let of =
                    |fields: &serde_json::Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                return difference(&of(a), &of(b), &below(name));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            if let Some(n) = (0..a.len()).find(|n| a[*n] != b[*n]) {
                return difference(&a[n], &b[n], &below(&n.to_string()));
            }
        }
        _ => {}
    }
    format!("`{at}` was {} and is {}", short(was), short(is))
}

fn short(value: &Value) -> String {
    const MOST: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
