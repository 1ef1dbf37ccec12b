//! The view of a task: takes its events one by one, and says which lines to show and what is waited for.
//!
//! It does no I/O and knows no clock but that of the events, so that a replay shows what was seen live.

use std::collections::BTreeMap;

use harn_core::{EventKind, TaskStatus, Timestamp};
use serde_json::Value;

use super::call::{Args, counted, json_lines, result_form, short_form, went_well};
use super::diff::Diff;
use super::ending::{Ending, Tally};
use super::event::Event;
use super::line::{Line, Tone};
use super::request::{Request, rule};
use super::text::lines;
use crate::output::plain;

/// How much of a diff is shown.
const DIFF_LINES: usize = 40;
/// How much of a command's output is shown, from its end.
const OUTPUT_LINES: usize = 10;
/// Calls that are remembered at once; a task that has more open shows the others without their arguments.
const MAX_CALLS: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Full,
    /// Only what the agent says at the end, and what it asks.
    Quiet,
    /// Only what a script prints, and what it asks.
    Script,
}

/// What an event means for whoever drives the view, beyond its lines.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    Nothing,
    /// People are asked something.
    Asks(Box<Request>),
    /// A script printed something.
    Printed {
        is_error: bool,
        text: String,
    },
    /// A request was answered or withdrawn.
    Resolved {
        request: String,
    },
    /// The task waits for nothing but people.
    WaitsForPeople,
    Ended(Box<Ending>),
    SessionClosed,
}

pub struct Shown {
    pub lines: Vec<Line>,
    pub news: News,
}

impl From<Vec<Line>> for Shown {
    fn from(lines: Vec<Line>) -> Self {
        Self { lines, news: News::Nothing }
    }
}

/// A tool call that has no result yet.
struct Call {
    name: String,
    args: Args,
    /// Both in few words.
    short: String,
    since: Timestamp,
    /// Its action was shown whole when somebody was asked.
    seen: bool,
    waits_for_people: bool,
    outcome: Option<(String, Timestamp)>,
    /// A script has asked for it, and no model.
    by_script: bool,
}

pub struct View {
    detail: Detail,
    calls: BTreeMap<String, Call>,
    /// The attempt of the model call that is under way.
    model: Option<u64>,
    queued: bool,
    tally: Tally,
}

impl View {
    pub fn new(detail: Detail) -> Self {
        Self { detail, calls: BTreeMap::new(), model: None, queued: false, tally: Tally::default() }
    }

    pub fn show(&mut self, event: &Event) -> Shown {
        let Some(kind) = event.kind() else { return Vec::new().into() };
        let mut shown = self.read(kind, event);
        let is_said = match self.detail {
            Detail::Full => true,
            Detail::Quiet => matches!(shown.news, News::Ended(_)),
            Detail::Script => false,
        };
        if !is_said {
            shown.lines.clear();
        }
        shown
    }

    /// What the task waits for now; none when it waits for nothing that takes time.
    pub fn waiting_for(&self) -> Option<String> {
        let mut running = self.calls.values().filter(|call| !call.waits_for_people);
        if let Some(call) = running.next() {
            let others = running.count();
            let more = if others == 0 { String::new() } else { format!(" and {others} more") };
            return Some(format!("{}{more}", call.short));
        }
        match self.model {
            Some(0 | 1) => return Some("waiting for the model".into()),
            Some(attempt) => return Some(format!("waiting for the model, attempt {attempt}")),
            None => {}
        }
        if !self.calls.is_empty() {
            return Some("waiting for an answer".into());
        }
        self.queued.then(|| "waiting for the tasks before this one in its session".into())
    }

    /// Whoever was asked saw the whole action, so its result need not show it again.
    pub fn saw_whole(&mut self, call: &str) {
        if let Some(call) = self.calls.get_mut(call) {
            call.seen = true;
        }
    }

    fn read(&mut self, kind: EventKind, event: &Event) -> Shown {
        match kind {
            EventKind::TaskSubmitted => {
                self.queued = true;
                vec![self.head(event)].into()
            }
            EventKind::TaskStarted => {
                self.queued = false;
                Vec::new().into()
            }
            EventKind::UserMessage => said(event, Tone::Faint, "> ").into(),
            EventKind::AgentMessage => said(event, Tone::Plain, "").into(),
            EventKind::SpanStarted => {
                self.model = Some(event.payload["attempt"].as_u64().unwrap_or(1));
                Vec::new().into()
            }
            EventKind::SpanCompleted => {
                self.model = None;
                self.tally.model_call(&event.payload);
                Vec::new().into()
            }
            EventKind::SpanFailed => {
                self.model = None;
                vec![model_failure(event)].into()
            }
            EventKind::ToolRequested => {
                self.requested(event);
                Vec::new().into()
            }
            EventKind::ScriptOutput if self.detail != Detail::Script => {
                lines(event.text("text")).map(Line::plain).collect::<Vec<_>>().into()
            }
            // The script's own terminal gets it as it is.
            EventKind::ScriptOutput => {
                let (is_error, text) = (event.text("to") == "error", event.text("text").to_owned());
                Shown { lines: Vec::new(), news: News::Printed { is_error, text } }
            }
            EventKind::WaitpointAwaited => self.waits(event),
            EventKind::ToolApprovalRequired | EventKind::QuestionAsked => self.asked(event),
            EventKind::ToolApproved => self.approved(event).into(),
            EventKind::ToolDenied => self.denied(event).into(),
            EventKind::ToolCompleted | EventKind::ToolFailed => self.performed(event).into(),
            EventKind::AgentToolResult => self.result(event).into(),
            EventKind::UserToolConfirmation | EventKind::UserInputSubmitted => answered(kind, event),
            EventKind::TaskAuthRequired | EventKind::TaskInputRequired => {
                Shown { lines: Vec::new(), news: News::WaitsForPeople }
            }
            EventKind::TaskCompleted => self.ended(event, TaskStatus::Completed),
            EventKind::TaskFailed => self.ended(event, TaskStatus::Failed),
            EventKind::TaskCanceled => self.ended(event, TaskStatus::Canceled),
            EventKind::SessionClosed => {
                let lines = vec![Line::new(Tone::Faint, "The session was closed.")];
                Shown { lines, news: News::SessionClosed }
            }
            other => note(other, event).into_iter().collect::<Vec<_>>().into(),
        }
    }

    fn head(&self, event: &Event) -> Line {
        let task = &event.payload["task"];
        let id = task["id"].as_str().or(event.task_id.as_deref()).unwrap_or_default();
        let session = task["session_id"].as_str().unwrap_or_default();
        Line::new(Tone::Faint, &format!("Task {id} in {session}"))
    }

    /// Nobody is asked, so whoever watches has to know what would let it go on.
    fn waits(&self, event: &Event) -> Shown {
        let ids = event.payload["waitpoints"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let ids: Vec<String> = ids.map(plain).collect();
        let text = format!("Waits for {}; `harn waitpoints complete` lets it go on.", ids.join(", "));
        match self.detail {
            Detail::Script => {
                let news = News::Printed { is_error: true, text: format!("{text}\n") };
                Shown { lines: Vec::new(), news }
            }
            _ => vec![Line::new(Tone::Faint, &text)].into(),
        }
    }

    fn requested(&mut self, event: &Event) {
        if self.calls.len() >= MAX_CALLS {
            return;
        }
        let args = event.payload["input"].as_object().cloned().unwrap_or_default();
        let call = Call {
            name: event.text("name").to_owned(),
            short: short_form(event.text("name"), &args),
            args,
            since: event.created_at,
            seen: false,
            waits_for_people: event.text("name") == "ask_user",
            outcome: None,
            by_script: event.payload["policy_decision"]["context"]["effect"] == "call",
        };
        self.calls.insert(event.text("tool_call_id").to_owned(), call);
    }

    fn asked(&mut self, event: &Event) -> Shown {
        if let Some(call) = self.calls.get_mut(event.text("tool_call_id")) {
            call.waits_for_people = true;
        }
        let Some(request) = Request::parse(&event.payload["request"]) else { return Vec::new().into() };
        Shown { lines: Vec::new(), news: News::Asks(Box::new(request)) }
    }

    fn approved(&mut self, event: &Event) -> Vec<Line> {
        let who = people(&event.payload["answered_by"]);
        let mut line = Line::new(Tone::Faint, &format!("approved by {who}")).indented(2);
        if let Some(call) = self.calls.get_mut(event.text("tool_call_id")) {
            call.since = event.created_at;
            call.waits_for_people = false;
            let input = event.payload["input"].as_object();
            if let Some(changed) = input.filter(|input| **input != call.args) {
                call.args = changed.clone();
                call.short = short_form(&call.name, changed);
                call.seen = false;
                line = line.and(Tone::Faint, ", with other arguments: ").and(Tone::Plain, &call.short);
            }
        }
        vec![line]
    }

    fn denied(&mut self, event: &Event) -> Vec<Line> {
        self.calls.remove(event.text("tool_call_id"));
        let decision = &event.payload["policy_decision"];
        let args = event.payload["input"].as_object().cloned().unwrap_or_default();
        let what = match decision["context"]["effect"].as_str() {
            Some("model") => "ask the model".to_owned(),
            _ => short_form(event.text("name"), &args),
        };
        let reason = event.text("reason");
        let people = event.payload["answered_by"].as_array().is_some_and(|who| !who.is_empty());
        // A person's no came after policy had asked; then policy's reason is not the one that decided.
        let by_people = people && decision["action"] != "deny";
        let why = match (by_people, reason) {
            (true, "") => format!("denied by {}", self::people(&event.payload["answered_by"])),
            (true, reason) => format!("denied by {}: {reason}", self::people(&event.payload["answered_by"])),
            (false, reason) => match rule(decision) {
                rule if rule.is_empty() => format!("denied: {reason}"),
                rule => format!("denied: {reason} Rule: {rule}"),
            },
        };
        let head = Line::new(Tone::Bad, "✗ ").and(Tone::Plain, &what).clipped();
        vec![head, Line::new(Tone::Bad, &why).indented(4)]
    }

    fn performed(&mut self, event: &Event) -> Vec<Line> {
        let id = event.text("tool_call_id");
        if event.text("reason") == "canceled" {
            return self.calls.remove(id).map(|call| stopped(&call)).into_iter().collect();
        }
        // A script gets the result by itself, and no other event tells it.
        if self.calls.get(id).is_some_and(|call| call.by_script) {
            return self.calls.remove(id).map(|call| called(&call, event)).into_iter().collect();
        }
        if let Some(call) = self.calls.get_mut(id) {
            call.outcome = Some((event.text("status").to_owned(), event.created_at));
        }
        Vec::new()
    }

    fn result(&mut self, event: &Event) -> Vec<Line> {
        // What was denied has been said already.
        let Some(call) = self.calls.remove(event.text("tool_call_id")) else { return Vec::new() };
        let output = &event.payload["output"];
        self.tally.tool_calls += 1;
        let (outcome, ended) =
            call.outcome.clone().unwrap_or((event.text("status").to_owned(), event.created_at));
        if outcome == "ok" {
            self.tally.performed(&call.name, output);
        }
        if call.name == "ask_user" && outcome == "ok" {
            return Vec::new();
        }
        let well = outcome == "ok" && went_well(&call.name, output);
        let (tone, mark) = if well { (Tone::Good, "✓ ") } else { (Tone::Bad, "✗ ") };
        let mut facts: Vec<String> = result_form(&call.name, output).into_iter().collect();
        if outcome == "interrupted" {
            facts.push("interrupted".into());
        }
        facts.push(duration(call.since, ended));
        let head = Line::new(tone, mark)
            .and(Tone::Plain, &call.short)
            .and(Tone::Faint, &format!("  {}", facts.join(", ")));
        let mut shown = vec![head.clipped()];
        shown.extend(details(&call, output, event.task_id.as_deref().unwrap_or("TASK")));
        shown
    }

    fn ended(&mut self, event: &Event, status: TaskStatus) -> Shown {
        self.calls.clear();
        self.model = None;
        let ending = Ending::new(event, status, std::mem::take(&mut self.tally));
        let lines = ending.lines(self.detail);
        Shown { lines, news: News::Ended(Box::new(ending)) }
    }
}

/// What stands below the line of a call: its error, its output, or what it changed.
fn details(call: &Call, output: &Value, task: &str) -> Vec<Line> {
    if let Some(error) = output["error"].as_str() {
        return lines(error).take(DIFF_LINES).map(|line| Line::new(Tone::Bad, line).indented(4)).collect();
    }
    match call.name.as_str() {
        "run_command" => output_tail(output),
        "write_file" | "edit_file" if !call.seen => {
            let diff = match output["diff"].as_str() {
                Some(unified) => Diff::parse(unified),
                None => Diff::of_call(&call.name, &call.args),
            };
            let more = format!("… {{}} more lines, harn tasks show {task}");
            let mut shown = diff.lines(DIFF_LINES, &more);
            shown.extend(output["diff_note"].as_str().map(|note| Line::new(Tone::Faint, note)));
            shown.into_iter().map(|line| line.indented(4)).collect()
        }
        _ => Vec::new(),
    }
}

fn output_tail(output: &Value) -> Vec<Line> {
    let texts = [output["stdout"].as_str(), output["stderr"].as_str()];
    let all: Vec<&str> = texts.into_iter().flatten().flat_map(lines).collect();
    let left_out = all.len().saturating_sub(OUTPUT_LINES);
    let mut shown = Vec::new();
    if left_out > 0 {
        let note = format!("… {} before these", counted(left_out, "line"));
        shown.push(Line::new(Tone::Faint, &note).indented(4));
    }
    shown.extend(all[left_out..].iter().map(|line| Line::new(Tone::Faint, line).indented(4)));
    shown
}

fn called(call: &Call, event: &Event) -> Line {
    let (tone, mark) = if event.text("status") == "ok" { (Tone::Good, "✓ ") } else { (Tone::Bad, "✗ ") };
    let took = duration(call.since, event.created_at);
    Line::new(tone, mark).and(Tone::Plain, &call.short).and(Tone::Faint, &format!("  {took}")).clipped()
}

fn stopped(call: &Call) -> Line {
    Line::new(Tone::Bad, "✗ ").and(Tone::Plain, &call.short).and(Tone::Faint, "  canceled").clipped()
}

/// The text of a message, after a blank line.
fn said(event: &Event, tone: Tone, prefix: &str) -> Vec<Line> {
    let mut shown = Vec::new();
    for part in event.payload["message"]["parts"].as_array().into_iter().flatten() {
        match (part["type"].as_str(), part["text"].as_str()) {
            (Some("text"), Some(text)) => {
                shown.push(Line::empty());
                shown.extend(lines(text).map(|line| Line::new(tone, &format!("{prefix}{line}"))));
            }
            (Some("json"), _) => shown.extend(json_lines(&part["value"])),
            _ => {}
        }
    }
    shown
}

fn model_failure(event: &Event) -> Line {
    let failure = &event.payload["failure"];
    let message = failure["message"].as_str().unwrap_or("no reason was given");
    Line::new(Tone::Bad, &format!("The model call failed: {message}"))
}

fn answered(kind: EventKind, event: &Event) -> Shown {
    let request = &event.payload["request"];
    let id = request["id"].as_str().unwrap_or_default().to_owned();
    let who = event.payload["reviewer"].as_str().or(event.actor.as_deref()).unwrap_or("somebody");
    let mut lines = Vec::new();
    if request["status"] == "pending" {
        let yes = if event.text("decision") == "approved" { "yes" } else { "no" };
        let text = format!("{who} said {yes}; more answers are needed");
        return vec![Line::new(Tone::Faint, &text).indented(2)].into();
    }
    if kind == EventKind::UserInputSubmitted && event.text("decision") == "approved" {
        let reply = &request["response"]["resolution"]["reply"];
        let reply = reply.as_str().map_or_else(|| reply.to_string(), str::to_owned);
        lines.push(Line::new(Tone::Faint, &format!("answered by {who}: {reply}")).indented(2));
    }
    Shown { lines, news: News::Resolved { request: id } }
}

/// Things that are worth one faint line.
fn note(kind: EventKind, event: &Event) -> Option<Line> {
    let payload = &event.payload;
    let text = match kind {
        EventKind::SessionCompacted => format!(
            "Older messages gave way to a summary: {} of them, about {} tokens became {}.",
            payload["archived_messages"],
            payload["estimated_tokens_before"],
            payload["estimated_tokens_after"]
        ),
        EventKind::ArtifactCreated => {
            let artifact = &payload["artifact"];
            let text = |key: &str| artifact[key].as_str().unwrap_or_default();
            format!("Artifact {} ({})", text("id"), text("mime_type"))
        }
        EventKind::PermissionRuleAdded => {
            let rule = &payload["rule"];
            format!(
                "Remembered as rule {} ({}).",
                rule["id"].as_str().unwrap_or_default(),
                rule["scope"].as_str().unwrap_or_default()
            )
        }
        EventKind::TaskUndone => "What the task did to files was undone.".to_owned(),
        _ => return None,
    };
    Some(Line::new(Tone::Faint, &text).indented(2))
}

fn people(names: &Value) -> String {
    let names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() { "somebody".into() } else { names.join(", ") }
}

/// `12ms`, `3.4s`, `2m 5s`.
pub fn duration(from: Timestamp, to: Timestamp) -> String {
    let millis = to.millis().saturating_sub(from.millis()).max(0);
    match millis {
        0..=999 => format!("{millis}ms"),
        1000..=59_999 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        _ => format!("{}m {}s", millis / 60_000, millis / 1000 % 60),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
