//! How messages, requests and decisions look to a person, wherever they are shown.

use harn_core::ask::shown_choice;
use harn_core::decision::{DecisionContext, PathFact};
use harn_core::message::ToolStatus;
use harn_core::{Decision, Message, Part, PermissionRequest, RequestSource, Verdict};
use serde::Serialize;
use serde_json::Value;

use super::say;
use crate::output::{Table, Tone, one_line, paint, plain, relative};

/// How much of a text one line shows.
const LINE: usize = 160;
/// How many lines of an argument are shown before the rest is only counted.
const ARGUMENT_LINES: usize = 20;

/// The word that the wire has for an enum's value.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => plain(&text),
        Ok(other) => plain(&other.to_string()),
        Err(_) => String::new(),
    }
}

pub fn messages(messages: &[Message]) {
    say(paint(Tone::Dim, "Last messages"));
    let mut table = Table::facts();
    for message in messages {
        for part in &message.parts {
            table.row([(Tone::Dim, word(&message.role)), (Tone::Plain, one_line(&said(part), LINE))]);
        }
    }
    table.say();
}

fn said(part: &Part) -> String {
    match part {
        Part::Text { text, .. } => text.clone(),
        Part::Json { value, .. } => value.to_string(),
        Part::ToolCall { name, input, .. } => format!("{name} {}", Value::Object(input.clone())),
        Part::ToolResult { output, status: ToolStatus::Ok, .. } => output.to_string(),
        Part::ToolResult { output, status: ToolStatus::Error, .. } => format!("error: {output}"),
        Part::ArtifactRef { artifact_id, .. } | Part::ImageRef { artifact_id, .. } => artifact_id.to_string(),
        Part::FileRef { uri, .. } => uri.clone(),
    }
}

/// The exact action that waits for an answer, why it is asked, and how to answer.
pub fn request(request: &PermissionRequest) {
    let id = plain(request.id.as_str());
    let action = &request.action;
    let text = |value: &Value| plain(value.as_str().unwrap_or_default());
    match request.source {
        RequestSource::Hitl => {
            let asks = match action["kind"].as_str() {
                Some("approval" | "dual_control") => "asks for approval",
                Some("escalation") => "asks somebody to see to it",
                _ => "asks",
            };
            say(format_args!("{} {asks}: {}", paint(Tone::Warn, &id), text(&action["prompt"])));
            arguments(action["args"].as_object());
        }
        RequestSource::Acp => {
            let tool = text(&action["tool"]);
            say(format_args!("{} wants to call {}", paint(Tone::Warn, &id), paint(Tone::Strong, &tool)));
            arguments(action["args"].as_object());
        }
    }
    let mut facts = Table::facts();
    facts.fact("asked", relative(request.created_at));
    if let Some(choices) = action["choices"].as_array() {
        let choices: Vec<String> = choices.iter().map(|choice| plain(&shown_choice(choice))).collect();
        facts.fact("choices", choices.join(", "));
    }
    if let Some(role) = action["role"].as_str() {
        facts.fact("role", plain(role));
    }
    if let Some(deadline) = request.request["deadline"].as_str() {
        facts.fact("until", plain(deadline));
    }
    if request.source == RequestSource::Acp {
        facts.fact("why", text(&request.request["reason"]));
        let rule = &request.request["policy_decision"]["matched_rule"];
        facts.fact("rule", format!("{} ({})", text(&rule["id"]), text(&rule["source"])));
        let labels =
            request.request["policy_decision"]["risk_labels"].as_array().cloned().unwrap_or_default();
        if !labels.is_empty() {
            facts.fact("risks", labels.iter().map(text).collect::<Vec<_>>().join(", "));
        }
    }
    let reviewers: Vec<String> =
        request.request["reviewers"].as_array().into_iter().flatten().map(text).collect();
    if !reviewers.is_empty() {
        facts.fact("reviewers", reviewers.join(", "));
    }
    if let Some(quorum @ 2..) = request.request["quorum"].as_u64() {
        let votes = request.response["votes"].as_array().map_or(0, Vec::len);
        facts.fact("votes", format!("{votes} of {quorum}"));
    }
    let flags = if request.wants_reply() { "--reply TEXT" } else { "--approve (or --deny)" };
    facts.fact("answer", format!("harn tasks answer {id} {flags}"));
    facts.say();
}

/// Whole, since it is what is being agreed to; only very long values are cut, and that is said.
fn arguments(args: Option<&serde_json::Map<String, Value>>) {
    for (name, value) in args.into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let text = plain(&text);
        let lines: Vec<&str> = text.lines().collect();
        match lines.as_slice() {
            [] | [_] => say(format_args!("    {}: {text}", plain(name))),
            _ => {
                say(format_args!("    {}:", plain(name)));
                for line in lines.iter().take(ARGUMENT_LINES) {
                    say(format_args!("      {line}"));
                }
                if lines.len() > ARGUMENT_LINES {
                    say(format_args!("      … {} more lines", lines.len() - ARGUMENT_LINES));
                }
            }
        }
    }
}

pub fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Allow => Tone::Good,
        Verdict::Ask => Tone::Warn,
        Verdict::Deny => Tone::Bad,
    }
}

/// What policy said; by which rule, and what it saw, are the facts that are given back.
pub fn decision(decision: &Decision) -> Table {
    let verdict = word(&decision.action);
    say(format_args!(
        "{} {}",
        paint(verdict_tone(decision.action), &verdict),
        plain(&decision.context.tool_name)
    ));
    let mut facts = Table::facts();
    facts.fact("reason", plain(&decision.reason));
    let rule = &decision.matched_rule;
    facts.fact("rule", format!("{} ({})", plain(&rule.id), word(&rule.source)));
    if !decision.risk_labels.is_empty() {
        let labels: Vec<&str> = decision.risk_labels.iter().map(|label| label.as_str()).collect();
        facts.fact("risks", labels.join(", "));
    }
    context(&decision.context, &mut facts);
    facts
}

fn context(context: &DecisionContext, facts: &mut Table) {
    facts.fact(
        "seen as",
        format!(
            "{} of kind {}, reaching {}, at tier {}",
            word(&context.effect),
            word(&context.tool_kind),
            word(&context.side_effect),
            word(&context.tier)
        ),
    );
    for path in &context.paths {
        facts.fact("path", format!("{} {}", word(&path.access), place(path)));
    }
    for command in &context.commands {
        facts.fact("command", plain(&command.text));
    }
    for host in &context.hosts {
        facts.fact("host", plain(host));
    }
}

fn place(path: &PathFact) -> String {
    let leads = match (&path.workspace_path, &path.host_path) {
        (Some(inside), _) if *inside == path.asked => String::new(),
        (Some(inside), _) => format!(", which is {inside} in the workspace"),
        (None, Some(outside)) => format!(", which is {outside} outside of the workspace"),
        (None, None) => ", which leads out of the workspace".into(),
    };
    let link = if path.through_link { ", through a link" } else { "" };
    plain(&format!("{}{leads}{link}", path.asked))
}
