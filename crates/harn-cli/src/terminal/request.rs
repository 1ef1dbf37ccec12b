//! Something that a run asks people: the exact action, why it asks, and what may be answered.

use harn_core::ask::{Ask, AskKind, shown_choice};
use harn_core::tool::ToolCall;
use harn_core::{Decision, PermissionRequest, RequestSource, RequestStatus};
use serde_json::{Value, json};

use super::call::{Args, json_lines, short_form, whole_action};
use super::line::{Line, Tone};
use super::text::lines;

/// A request as the terminal shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Empty for what is asked here and now, and nowhere else.
    pub id: String,
    pub task: String,
    /// The tool call that waits.
    pub call: String,
    pub what: What,
    /// How many have to say yes.
    quorum: u64,
    deadline: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Question { prompt: String },
    Approval { tool: String, args: Args, decision: Value, reason: String },
}

impl Request {
    pub fn parse(value: &Value) -> Option<Self> {
        serde_json::from_value::<PermissionRequest>(value.clone()).ok().map(Self::from)
    }

    /// A call of a run that leaves nothing behind, and why policy asks about it.
    pub fn of_call(call: &ToolCall, decision: &Decision) -> Self {
        Self::here(What::Approval {
            tool: call.name.clone(),
            args: call.args.clone(),
            decision: json!(decision),
            reason: decision.reason.clone(),
        })
    }

    /// What such a run asks by itself.
    pub fn of_ask(ask: &Ask) -> Self {
        let action = json!({ "prompt": ask.prompt, "choices": ask.choices, "role": ask.role, "evidence": ask.evidence });
        Self::here(match ask.kind {
            AskKind::Question => What::Question { prompt: question(&action) },
            _ => What::Approval {
                tool: ask.call.name.clone(),
                args: asked_args(&action),
                decision: Value::Null,
                reason: String::new(),
            },
        })
    }

    fn here(what: What) -> Self {
        let (id, task, call) = (String::new(), String::new(), String::new());
        Self { id, task, call, what, quorum: 1, deadline: None }
    }

    /// Whether it can be answered from elsewhere, and the answer be kept.
    pub fn is_kept(&self) -> bool {
        !self.id.is_empty()
    }

    pub fn is_question(&self) -> bool {
        matches!(self.what, What::Question { .. })
    }

    /// In one line.
    pub fn short_form(&self) -> String {
        match &self.what {
            What::Question { prompt } => format!("ask {}", lines(prompt).next().unwrap_or_default()),
            What::Approval { tool, args, .. } => short_form(tool, args),
        }
    }

    /// All that somebody needs to decide; `args` replace those that were asked for.
    pub fn lines(&self, args: Option<&Args>) -> Vec<Line> {
        match &self.what {
            What::Question { prompt } => {
                let mut shown = vec![Line::empty(), Line::new(Tone::Attention, "? The agent asks:")];
                shown.extend(lines(prompt).map(|line| Line::plain(line).indented(4)));
                shown
            }
            What::Approval { tool, args: asked, decision, reason } => {
                let args = args.unwrap_or(asked);
                let head = Line::new(Tone::Attention, "? May this happen? ")
                    .and(Tone::Strong, &short_form(tool, args));
                let mut shown = vec![Line::empty(), head.clipped()];
                shown.extend(whole_action(tool, args));
                shown.extend(self.why(decision, reason));
                shown
            }
        }
    }

    fn why(&self, decision: &Value, reason: &str) -> Vec<Line> {
        let mut shown = Vec::new();
        let mut fact = |name: &str, text: &str| {
            if !text.is_empty() {
                shown.push(Line::new(Tone::Faint, &format!("{name:<9}")).and(Tone::Plain, text).indented(2));
            }
        };
        fact("why", reason);
        fact("rule", &rule(decision));
        fact("risks", &listed(&decision["risk_labels"]));
        for path in decision["context"]["paths"].as_array().into_iter().flatten() {
            fact("leads to", &place(path));
        }
        fact("hosts", &listed(&decision["context"]["hosts"]));
        if self.quorum > 1 {
            fact("needs", &format!("the yes of {} people", self.quorum));
        }
        fact("until", self.deadline.as_deref().unwrap_or_default());
        shown
    }

    /// What can be typed.
    pub fn choices(&self) -> Line {
        let Self { what: What::Approval { decision, .. }, quorum, .. } = self else {
            return Line::new(Tone::Faint, "Type the answer in one line.").indented(2);
        };
        let of_script = decision.is_null() || !self.is_kept();
        // What several people have to agree to is never remembered, nor what a script asks by itself.
        let remembered: &[(&str, &str)] = if *quorum > 1 || of_script {
            &[]
        } else {
            &[("s", "yes, for this session"), ("w", "yes, in this workspace")]
        };
        let first: &[(&str, &str)] = &[("y", "yes"), ("n", "no")];
        let last: &[(&str, &str)] =
            if of_script { &[("?", "more")] } else { &[("e", "edit the arguments"), ("?", "more")] };
        let mut line = Line::empty().indented(2);
        for (index, (key, meaning)) in first.iter().chain(remembered).chain(last).enumerate() {
            let gap = if index == 0 { "" } else { "  " };
            line = line.and(Tone::Strong, &format!("{gap}[{key}]")).and(Tone::Plain, &format!(" {meaning}"));
        }
        line
    }

    /// The whole decision, the whole arguments, and how to answer from elsewhere.
    pub fn more(&self) -> Vec<Line> {
        let mut shown = Vec::new();
        if let What::Approval { tool, args, decision, .. } = &self.what {
            shown.push(Line::new(Tone::Strong, "What policy said:").indented(2));
            shown.extend(json_lines(decision));
            shown.push(Line::new(Tone::Strong, &format!("The arguments of {tool}:")).indented(2));
            shown.extend(json_lines(&json!(args)));
            shown.push(Line::plain("After n you can say why: `n not in this folder`.").indented(2));
        }
        if self.is_kept() {
            let elsewhere = format!("Request {}; elsewhere: {}", self.id, self.answer_command());
            shown.push(Line::plain(&elsewhere).indented(2));
        }
        shown
    }

    /// How to answer from another terminal.
    pub fn answer_command(&self) -> String {
        match &self.what {
            What::Question { .. } => format!("harn tasks answer {} --reply 'YOUR ANSWER'", self.id),
            What::Approval { .. } => format!("harn tasks answer {} --approve", self.id),
        }
    }
}

impl From<PermissionRequest> for Request {
    fn from(request: PermissionRequest) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let action = &request.action;
        let what = match request.source {
            RequestSource::Hitl if request.wants_reply() => What::Question { prompt: question(action) },
            // What a script wants people to agree to is shown like a call of the function that asks.
            RequestSource::Hitl => What::Approval {
                tool: text(&action["tool"]),
                args: asked_args(action),
                decision: Value::Null,
                reason: text(&request.request["reason"]),
            },
            RequestSource::Acp => What::Approval {
                tool: text(&request.action["tool"]),
                args: request.action["args"].as_object().cloned().unwrap_or_default(),
                decision: request.request["policy_decision"].clone(),
                reason: text(&request.request["reason"]),
            },
        };
        Self {
            id: request.id.to_string(),
            task: request.task_id.map(|id| id.to_string()).unwrap_or_default(),
            call: text(&request.action["tool_call_id"]),
            what,
            quorum: request.request["quorum"].as_u64().unwrap_or(1),
            deadline: request.request["deadline"].as_str().map(str::to_owned),
        }
    }
}

/// A question, with the replies that it takes.
fn question(action: &Value) -> String {
    let prompt = action["prompt"].as_str().unwrap_or_default();
    match action["choices"].as_array().filter(|choices| !choices.is_empty()) {
        Some(choices) => {
            let choices: Vec<String> = choices.iter().map(shown_choice).collect();
            format!("{prompt}\nOne of: {}", choices.join(", "))
        }
        None => prompt.to_owned(),
    }
}

fn asked_args(action: &Value) -> Args {
    let named = [("action", "prompt"), ("role", "role"), ("args", "args"), ("evidence", "evidence")];
    let given = named.iter().filter_map(|(shown, name)| Some((*shown, action.get(name)?)));
    given
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

/// Whether somebody may still answer.
pub fn is_open(request: &PermissionRequest) -> bool {
    request.status == RequestStatus::Pending
}

/// `tier.act_with_approval (tier)`: the rule that decided, and where it came from.
pub fn rule(decision: &Value) -> String {
    let rule = &decision["matched_rule"];
    match (rule["id"].as_str(), rule["source"].as_str()) {
        (Some(id), Some(source)) => format!("{id} ({source})"),
        (Some(id), None) => id.to_owned(),
        _ => String::new(),
    }
}

fn listed(values: &Value) -> String {
    let texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join(", ")
}

/// Said only of a path that is not simply the one that was asked for.
fn place(path: &Value) -> String {
    let asked = path["asked"].as_str().unwrap_or_default();
    match (path["workspace_path"].as_str(), path["host_path"].as_str()) {
        (Some(inside), _) if inside == asked || inside == "." => String::new(),
        (Some(inside), _) if path["through_link"] == true => format!("{asked} → {inside}, through a link"),
        (Some(_), _) => String::new(),
        (None, Some(outside)) => format!("{asked} → {outside}, outside of the workspace"),
        (None, None) => format!("{asked}, outside of the workspace"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::line::Paint;

    fn request(quorum: u64) -> Request {
        let decision = json!({
            "action": "ask", "reason": "Programs are run only after a yes.",
            "matched_rule": { "source": "rules", "action": "ask", "id": "ask-before-push", "index": 2 },
            "risk_labels": ["process_exec", "network"],
            "context": { "hosts": ["example.org"], "paths": [
                { "asked": "a.txt", "workspace_path": "a.txt" },
                { "asked": "etc", "workspace_path": null, "host_path": "/etc", "through_link": true },
            ] },
        });
        let action = json!({ "kind": "tool_call", "tool": "run_command", "tool_call_id": "c",
                             "args": { "command": "git push\u{1b}[2J" } });
        Request::parse(&json!({
            "id": "request_1", "object": "permission_request", "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "metadata": {}, "session_id": "session_1", "task_id": "task_1",
            "status": "pending", "source": "acp", "action": action, "response": null,
            "request": { "reason": "Programs are run only after a yes.", "quorum": quorum, "policy_decision": decision,
                         "deadline": "2026-01-01T01:00:00Z" },
        }))
        .unwrap_or_else(|| panic!("the request is not understood"))
    }

    fn shown(lines: &[Line]) -> Vec<String> {
        lines.iter().flat_map(|line| line.rows(Some(100), Paint::Plain)).collect()
    }

    #[test]
    fn an_approval_says_what_and_why() {
        assert_eq!(
            shown(&request(2).lines(None)),
            [
                "",
                "? May this happen? run git push␛[2J",
                "    git push␛[2J",
                "  why      Programs are run only after a yes.",
                "  rule     ask-before-push (rules)",
                "  risks    process_exec, network",
                "  leads to etc → /etc, outside of the workspace",
                "  hosts    example.org",
                "  needs    the yes of 2 people",
                "  until    2026-01-01T01:00:00Z",
            ]
        );
    }

    #[test]
    fn only_an_answer_of_one_person_can_be_remembered() {
        let all = "  [y] yes  [n] no  [s] yes, for this session  [w] yes, in this workspace  [e] edit the arguments  [?] more";
        assert_eq!(request(1).choices().rows(None, Paint::Plain), [all]);
        let fewer = "  [y] yes  [n] no  [e] edit the arguments  [?] more";
        assert_eq!(request(2).choices().rows(None, Paint::Plain), [fewer]);
    }

    #[test]
    fn more_shows_the_whole_decision_harmlessly() {
        let more = shown(&request(1).more());
        assert!(more.contains(&r#"      "risk_labels": ["#.to_owned()), "{more:#?}");
        assert!(more.iter().any(|line| line.contains("git push")), "{more:#?}");
        assert!(more.iter().all(|line| !line.chars().any(char::is_control)), "{more:#?}");
    }
}
