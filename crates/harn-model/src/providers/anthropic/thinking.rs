//! The thinking policy in Anthropic's words.

use harn_core::chat::Thinking;
use serde_json::{Value, json};

use crate::{ThinkingKind, nearest};

/// The least that the API takes.
const LEAST_BUDGET: u32 = 1024;

/// What goes into a request: the field `thinking`, and `effort` of `output_config`.
#[derive(Debug, Default, PartialEq)]
pub struct Lowered {
    pub thinking: Option<Value>,
    pub effort: Option<&'static str>,
}

/// `most` is the limit of the answer, of which thinking is a part: it gets half of it at best.
pub fn lower(wanted: Thinking, kind: &ThinkingKind, most: u32) -> Lowered {
    match kind {
        ThinkingKind::Budget { least } => {
            Lowered { thinking: by_budget(wanted, (*least).max(LEAST_BUDGET), most / 2), effort: None }
        }
        ThinkingKind::Adaptive { levels } => match nearest(wanted, levels) {
            Some(Thinking::Off) => Lowered { thinking: Some(disabled()), effort: None },
            level => Lowered { thinking: Some(json!({"type": "adaptive"})), effort: level.map(effort) },
        },
        ThinkingKind::Effort { levels } => {
            let level = nearest(wanted, levels).filter(|level| *level != Thinking::Off);
            Lowered { thinking: None, effort: level.map(effort) }
        }
        ThinkingKind::Unknown
        | ThinkingKind::Never
        | ThinkingKind::Always
        | ThinkingKind::PromptTag
        | ThinkingKind::TemplateSwitch => Lowered::default(),
        // Servers that only know on and off take a budget for on.
        ThinkingKind::Switch => Lowered { thinking: by_budget(wanted, LEAST_BUDGET, most / 2), effort: None },
    }
}

fn by_budget(wanted: Thinking, least: u32, most: u32) -> Option<Value> {
    let tokens = match wanted {
        Thinking::Auto => return None,
        Thinking::Off => return Some(disabled()),
        Thinking::Minimal => 1024,
        Thinking::Low => 2048,
        Thinking::Medium => 8192,
        Thinking::High => 16_384,
        Thinking::Xhigh => 32_768,
    };
    let budget = tokens.min(most).max(least);
    // Where not even the least fits, an answer without thinking is better than none.
    Some(if budget > most { disabled() } else { json!({"type": "enabled", "budget_tokens": budget}) })
}

fn disabled() -> Value {
    json!({"type": "disabled"})
}

fn effort(level: Thinking) -> &'static str {
    match level {
        Thinking::Auto | Thinking::Off | Thinking::Minimal | Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
        Thinking::Xhigh => "xhigh",
    }
}

#[cfg(test)]
mod tests {
    use Thinking::{Auto, High, Low, Medium, Minimal, Off, Xhigh};

    use super::*;

    #[test]
    fn the_policy_is_lowered_to_what_the_model_understands() {
        let budget = || ThinkingKind::Budget { least: 0 };
        let adaptive = || ThinkingKind::Adaptive { levels: vec![Off, Low, Medium, High] };
        let always = || ThinkingKind::Adaptive { levels: vec![Low, Medium, High, Xhigh] };
        let effort = || ThinkingKind::Effort { levels: vec![Low, Medium, High] };
        let enabled = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
        let on = || json!({"type": "adaptive"});
        let cases = [
            (budget(), Auto, 64_000, Value::Null, None),
            (budget(), Off, 64_000, disabled(), None),
            (budget(), Minimal, 64_000, enabled(1024), None),
            (budget(), Low, 64_000, enabled(2048), None),
            (budget(), Medium, 64_000, enabled(8192), None),
            (budget(), High, 64_000, enabled(16_384), None),
            (budget(), Xhigh, 128_000, enabled(32_768), None),
            (budget(), Xhigh, 8192, enabled(4096), None),
            (budget(), High, 2000, disabled(), None),
            (ThinkingKind::Budget { least: 4096 }, Low, 64_000, enabled(4096), None),
            (adaptive(), Auto, 8192, on(), None),
            (adaptive(), Off, 8192, disabled(), None),
            (adaptive(), Minimal, 8192, on(), Some("low")),
            (adaptive(), Medium, 8192, on(), Some("medium")),
            (adaptive(), Xhigh, 8192, on(), Some("high")),
            (always(), Off, 8192, on(), Some("low")),
            (always(), Xhigh, 8192, on(), Some("xhigh")),
            (effort(), Auto, 8192, Value::Null, None),
            (effort(), Off, 8192, Value::Null, Some("low")),
            (effort(), High, 8192, Value::Null, Some("high")),
            (ThinkingKind::Switch, Auto, 8192, Value::Null, None),
            (ThinkingKind::Switch, Off, 8192, disabled(), None),
            (ThinkingKind::Switch, High, 8192, enabled(4096), None),
            (ThinkingKind::Unknown, High, 8192, Value::Null, None),
            (ThinkingKind::Never, High, 8192, Value::Null, None),
            (ThinkingKind::Always, Off, 8192, Value::Null, None),
        ];
        for (kind, wanted, most, thinking, effort) in cases {
            let expected = Lowered { thinking: Some(thinking).filter(|value| !value.is_null()), effort };
            assert_eq!(lower(wanted, &kind, most), expected, "{wanted} for {kind:?} within {most}");
        }
    }
}
