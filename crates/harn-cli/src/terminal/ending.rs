//! How a task ended: its outcome, what it cost, and what can be undone.

use std::collections::BTreeSet;

use harn_core::budget::{Spend, dollars};
use harn_core::{TaskStatus, Timestamp};
use serde_json::Value;

use super::call::counted;
use super::event::Event;
use super::line::{Line, Tone};
use super::text::lines;
use super::view::{Detail, duration};

/// Paths that are named at the end; of the others their number is told.
const NAMED_PATHS: usize = 8;

/// What was counted on the way. The outcome tells most of it too, but not that of a cancelled task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    model_calls: usize,
    spent: Spend,
    pub tool_calls: usize,
    changed: BTreeSet<String>,
    commands: usize,
}

impl Tally {
    pub fn model_call(&mut self, payload: &Value) {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        self.model_calls += 1;
        self.spent += Spend {
            input_tokens: number(&payload["usage"]["input_tokens"]),
            output_tokens: number(&payload["usage"]["output_tokens"]),
            micro_usd: payload["cost_micro_usd"].as_u64(),
        };
    }

    /// A call that was performed, for what it may have changed.
    pub fn performed(&mut self, name: &str, output: &Value) {
        match (name, output["path"].as_str()) {
            ("write_file" | "edit_file", Some(path)) => {
                self.changed.insert(path.to_owned());
            }
            ("run_command", _) => self.commands += 1,
            _ => {}
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub status: TaskStatus,
    pub task: String,
    pub session: String,
    /// As the event carries it.
    pub outcome: Value,
    took: Option<String>,
    tally: Tally,
}

impl Ending {
    pub fn new(event: &Event, status: TaskStatus, tally: Tally) -> Self {
        let task = &event.payload["task"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let started: Option<Timestamp> = serde_json::from_value(task["started_at"].clone()).ok();
        Self {
            status,
            task: text(&task["id"]),
            session: text(&task["session_id"]),
            outcome: event.payload["outcome"].clone(),
            took: started.map(|started| duration(started, event.created_at)),
            tally,
        }
    }

    pub fn lines(&self, detail: Detail) -> Vec<Line> {
        let mut shown = Vec::new();
        match detail {
            Detail::Quiet if self.status == TaskStatus::Completed => {
                let summary = self.outcome["summary"].as_str().unwrap_or_default();
                shown.extend(lines(summary).map(Line::plain));
                return shown;
            }
            Detail::Quiet | Detail::Script => shown.push(self.verdict()),
            Detail::Full => {
                shown.push(Line::empty());
                shown.push(self.verdict());
                shown.push(Line::new(Tone::Faint, &self.costs()).indented(2));
            }
        }
        shown.extend(self.advice().map(|text| Line::plain(&text).indented(2)));
        shown.extend(self.undo().map(|text| Line::plain(&text).indented(2)));
        shown
    }

    fn verdict(&self) -> Line {
        let summary = self.outcome["summary"].as_str().unwrap_or_default();
        let took = self.took.as_deref().map(|took| format!(" after {took}")).unwrap_or_default();
        match self.status {
            TaskStatus::Completed => Line::new(Tone::Good, &format!("Completed{took}.")),
            TaskStatus::Canceled => Line::new(Tone::Attention, &format!("Canceled{took}.")),
            _ => Line::new(Tone::Bad, &format!("Failed{took}: ")).and(Tone::Plain, summary),
        }
    }

    fn costs(&self) -> String {
        let Tally { model_calls, spent, tool_calls, .. } = &self.tally;
        let Spend { input_tokens, output_tokens, micro_usd } = spent;
        format!(
            "{}, {}, {input_tokens} tokens in, {output_tokens} out, {}",
            counted(*model_calls, "model call"),
            counted(*tool_calls, "tool call"),
            micro_usd.map_or("cost unknown".into(), dollars)
        )
    }

    fn advice(&self) -> Option<String> {
        let code = self.outcome["failure"]["code"].as_str()?;
        let again = format!("harn task --session {}", self.session);
        match code {
            "budget_exhausted" => Some(format!(
                "To go on with a larger budget: {again} --budget-usd N \"go on\" (or --budget-tokens N)"
            )),
            code => {
                Some(format!("More about it: harn explain {code}. To go on from here: {again} \"go on\""))
            }
        }
    }

    fn undo(&self) -> Option<String> {
        let Tally { changed, commands, .. } = &self.tally;
        let mut named: Vec<&str> = changed.iter().take(NAMED_PATHS).map(String::as_str).collect();
        let others = changed.len().saturating_sub(NAMED_PATHS);
        let others = format!("{others} more");
        if changed.len() > NAMED_PATHS {
            named.push(&others);
        }
        let what = match (changed.is_empty(), commands) {
            (true, 0) => return None,
            (true, _) => "Commands may have changed files.".to_owned(),
            (false, 0) => format!("Changed: {}.", named.join(", ")),
            (false, _) => format!("Changed: {}, and perhaps more by commands.", named.join(", ")),
        };
        Some(format!("{what} To undo: harn undo {}", self.task))
    }
}
