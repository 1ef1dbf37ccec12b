//! The view's own tests: events in, lines out.

use serde_json::json;

use super::*;
use crate::terminal::line::Paint;

/// Events of one task, one second apart.
struct Story {
    view: View,
    at: i64,
    news: News,
}

impl Story {
    fn new(detail: Detail) -> Self {
        Self { view: View::new(detail), at: 0, news: News::Nothing }
    }

    fn tell(&mut self, name: &str, payload: &Value) -> Vec<String> {
        self.at += 1000;
        let created_at = Timestamp::from_millis(self.at);
        let event =
            json!({ "event": name, "created_at": created_at, "task_id": "task_1", "payload": payload });
        let shown = self.view.show(&Event::parse(&event.to_string()).unwrap());
        self.news = shown.news;
        shown.lines.iter().flat_map(|line| line.rows(None, Paint::Plain)).collect()
    }

    fn call(&mut self, id: &str, name: &str, input: Value) {
        let lines = self.tell("tool.requested", &json!({ "tool_call_id": id, "name": name, "input": input }));
        assert_eq!(lines, [""; 0]);
    }

    fn result(&mut self, id: &str, status: &str, output: Value) -> Vec<String> {
        let kind = if status == "ok" { "tool.completed" } else { "tool.failed" };
        assert_eq!(self.tell(kind, &json!({ "tool_call_id": id, "status": status })), [""; 0]);
        self.tell("agent.tool_result", &json!({ "tool_call_id": id, "status": status, "output": output }))
    }
}

fn decision(action: &str) -> Value {
    json!({ "action": action, "reason": "Secrets are not read.", "context": { "effect": "tool" },
            "matched_rule": { "source": "rules", "action": action, "id": "no-secrets", "index": 0 } })
}

#[test]
fn a_denial_says_in_words_what_decided() {
    let denied = |more: Value| {
        let mut body = json!({ "tool_call_id": "c", "name": "read_file", "input": { "path": ".env" },
                               "reason": "Secrets are not read.", "policy_decision": decision("deny") });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut story = Story::new(Detail::Full);
        story.call("c", "read_file", json!({ "path": ".env" }));
        let lines = story.tell("tool.denied", &body);
        assert_eq!(story.tell("agent.tool_result", &json!({ "tool_call_id": "c", "output": {} })), [""; 0]);
        lines
    };
    let by_policy = ["✗ read .env", "    denied: Secrets are not read. Rule: no-secrets (rules)"];
    assert_eq!(denied(json!({})), by_policy);
    let ask = decision("ask");
    let by_ann = json!({ "answered_by": ["ann"], "reason": "not now", "policy_decision": ask });
    assert_eq!(denied(by_ann), ["✗ read .env", "    denied by ann: not now"]);
    // Somebody said yes to other arguments, and policy says no to those.
    assert_eq!(denied(json!({ "answered_by": ["ann"] })), by_policy);
    let budget = json!({ "context": { "effect": "model" }, "matched_rule": { "id": "budget.usd", "source": "budget" } });
    assert_eq!(
        denied(json!({ "policy_decision": budget, "reason": "Too dear." })),
        ["✗ ask the model", "    denied: Too dear. Rule: budget.usd (budget)"]
    );
}

#[test]
fn calls_side_by_side_are_told_when_they_end() {
    let mut story = Story::new(Detail::Full);
    story.call("a", "run_command", json!({ "command": "sleep 9" }));
    story.call("b", "read_file", json!({ "path": "x" }));
    assert_eq!(story.view.waiting_for().as_deref(), Some("run sleep 9 and 1 more"));
    assert_eq!(
        story.result("b", "error", json!({ "error": "`x` was not found.\nLook elsewhere." })),
        ["✗ read x  1.0s", "    `x` was not found.", "    Look elsewhere."]
    );
    assert_eq!(story.view.waiting_for().as_deref(), Some("run sleep 9"));
    let output = json!({ "exit_code": 0, "stdout": "done\n", "stderr": "" });
    assert_eq!(story.result("a", "ok", output), ["✓ run sleep 9  exit code 0, 4.0s", "    done"]);
    assert_eq!(story.view.waiting_for(), None);
}

#[test]
fn the_tools_own_diff_is_preferred() {
    let mut story = Story::new(Detail::Full);
    story.call("a", "edit_file", json!({ "path": "x", "old_text": "b", "new_text": "B" }));
    let output = json!({ "path": "x", "diff": "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "diff_note": "9 lines of the diff left out." });
    assert_eq!(
        story.result("a", "ok", output),
        [
            "✓ edit x (+1 -1)  1.0s",
            "    @@ -1,2 +1,2 @@",
            "      a",
            "    - b",
            "    + B",
            "    9 lines of the diff left out."
        ]
    );
}

#[test]
fn what_goes_on_besides_is_told_in_a_line() {
    let cases = [
        (
            "span.failed",
            json!({ "failure": { "code": "overloaded", "message": "busy" } }),
            "The model call failed: busy",
        ),
        (
            "session.compacted",
            json!({ "archived_messages": 9, "estimated_tokens_before": 500, "estimated_tokens_after": 90 }),
            "  Older messages gave way to a summary: 9 of them, about 500 tokens became 90.",
        ),
        (
            "user.tool_confirmation",
            json!({ "request": { "id": "r", "status": "pending" }, "decision": "approved", "reviewer": "ann" }),
            "  ann said yes; more answers are needed",
        ),
        (
            "user.input_submitted",
            json!({ "request": { "id": "r", "status": "approved", "response": { "resolution": { "reply": { "n": 1 } } } }, "decision": "approved" }),
            "  answered by somebody: {\"n\":1}",
        ),
        (
            "tool.approved",
            json!({ "tool_call_id": "?", "answered_by": ["ann", "bob"] }),
            "  approved by ann, bob",
        ),
        (
            "vendor.harn.permission_rule_added",
            json!({ "rule": { "id": "rule_1", "scope": "session" } }),
            "  Remembered as rule rule_1 (session).",
        ),
    ];
    for (name, payload, line) in cases {
        assert_eq!(Story::new(Detail::Full).tell(name, &payload), [line], "{name}");
        assert_eq!(Story::new(Detail::Quiet).tell(name, &payload), [""; 0], "{name}");
    }
    let ignored = [
        ("task.status_changed", json!({})),
        ("vendor.future.thing", json!({})),
        ("artifact.created", json!("odd")),
    ];
    for (name, payload) in ignored {
        let _ = Story::new(Detail::Full).tell(name, &payload);
    }
}

#[test]
fn the_end_counts_what_was_seen() {
    let mut story = Story::new(Detail::Full);
    for _ in 0..2 {
        let span = json!({ "usage": { "input_tokens": 10, "output_tokens": 5 }, "cost_micro_usd": 750_000 });
        story.tell("span.completed", &span);
    }
    for (number, path) in ["a", "b", "a"].iter().enumerate() {
        let id = number.to_string();
        story.call(&id, "write_file", json!({ "path": path, "content": "" }));
        story.result(&id, "ok", json!({ "path": path }));
    }
    let task = json!({ "id": "task_1", "session_id": "session_1", "started_at": "1970-01-01T00:00:01Z" });
    let failure = json!({ "code": "budget_exhausted", "message": "Too dear." });
    let outcome = json!({ "summary": "Too dear.", "failure": failure });
    let lines = story.tell("task.failed", &json!({ "task": task, "outcome": outcome }));
    assert_eq!(
        lines,
        [
            "",
            "Failed after 11.0s: Too dear.",
            "  2 model calls, 3 tool calls, 20 tokens in, 10 out, $1.50",
            "  To go on with a larger budget: harn task --session session_1 --budget-usd N \"go on\" (or --budget-tokens N)",
            "  Changed: a, b. To undo: harn undo task_1",
        ]
    );
    assert!(matches!(&story.news, News::Ended(ending) if ending.status == TaskStatus::Failed));
}

/// Every text of every payload is hostile, in every kind of event.
#[test]
fn no_event_brings_a_control_character_to_the_screen() {
    let evil = "\u{1b}[2J\u{1b}]52;c;x\u{7}\r\u{8}\u{9b}1m\nnext\u{202e}\u{0}";
    let action =
        json!({ "kind": evil, "tool": evil, "tool_call_id": evil, "prompt": evil, "args": { evil: evil } });
    let request = json!({
        "id": evil, "object": "permission_request", "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z", "metadata": {}, "session_id": evil, "task_id": evil, "status": "pending",
        "source": "acp", "action": action, "response": { "resolution": { "reply": evil } },
        "request": { "reason": evil, "deadline": evil, "policy_decision": {
            "matched_rule": { "id": evil, "source": evil }, "risk_labels": [evil],
            "context": { "paths": [{ "asked": evil }], "hosts": [evil] } } },
    });
    let task = json!({ "id": evil, "session_id": evil });
    let parts = json!([{ "type": "text", "text": evil }, { "type": "json", "value": { evil: evil } }]);
    let output = json!({ "error": evil, "stdout": evil, "stderr": evil, "diff": format!("@@ {evil}\n+{evil}"), "path": evil });
    let mut seen = 0;
    for tool in ["read_file", "write_file", "edit_file", "run_command", "grep", evil] {
        for error in [true, false] {
            let mut output = output.clone();
            if !error {
                output.as_object_mut().unwrap().remove("error");
            }
            let payload = json!({
                "task": task, "message": { "parts": parts }, "tool_call_id": evil, "name": tool, "status": "ok",
                "input": { "path": evil, "content": evil, "old_text": evil, "new_text": evil, "command": evil, evil: [evil] },
                "output": output, "request": request, "reason": evil, "reviewer": evil, "answered_by": [evil],
                "policy_decision": request["request"]["policy_decision"], "failure": { "message": evil },
                "outcome": { "summary": evil, "failure": { "code": evil } }, "rule": { "id": evil, "scope": evil },
                "artifact": { "id": evil, "mime_type": evil },
            });
            let mut story = Story::new(Detail::Full);
            for kind in EventKind::ALL.iter().chain(EventKind::ALL) {
                let mut lines = story.tell(kind.as_str(), &payload);
                if let News::Asks(request) = &story.news {
                    let asked =
                        request.lines(None).into_iter().chain(request.more()).chain([request.choices()]);
                    lines.extend(asked.flat_map(|line| line.rows(Some(40), Paint::Plain)));
                }
                lines.extend(
                    story
                        .view
                        .waiting_for()
                        .iter()
                        .flat_map(|text| Line::plain(text).rows(None, Paint::Plain)),
                );
                seen += lines.len();
                let steering: Vec<&String> =
                    lines.iter().filter(|line| line.chars().any(char::is_control)).collect();
                assert_eq!(steering, [""; 0], "{}", kind.as_str());
            }
        }
    }
    assert!(seen > 1000, "only {seen} lines were looked at");
}

#[test]
fn whoever_watches_learns_what_a_script_waits_for() {
    let body = json!({ "waitpoints": ["tests", "de\u{1b}[2Jploy"], "mode": "all", "due": null });
    let told = "Waits for tests, de\\x1b[2Jploy; `harn waitpoints complete` lets it go on.";
    assert_eq!(Story::new(Detail::Full).tell("vendor.harn.waitpoint_awaited", &body), [told]);
    let mut story = Story::new(Detail::Script);
    assert_eq!(story.tell("vendor.harn.waitpoint_awaited", &body), [""; 0]);
    assert_eq!(story.news, News::Printed { is_error: true, text: format!("{told}\n") });
}
