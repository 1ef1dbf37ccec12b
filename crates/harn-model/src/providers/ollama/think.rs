//! The request's `think`: a boolean, or a level for the models that know levels.

use harn_core::chat::Thinking;
use serde_json::{Value, json};

use crate::{Target, ThinkingKind, nearest};

use Thinking::{Auto, High, Low, Medium, Minimal, Off, Xhigh};

/// None to say nothing. `true` is refused by models that cannot think, so it is said only to those that are known to;
/// `false` is good for every model.
pub(super) fn think(wanted: Thinking, target: &Target) -> Option<Value> {
    let off = (wanted == Off).then_some(Value::Bool(false));
    match &target.capabilities.thinking {
        ThinkingKind::Unknown if is_levelled(&target.model) => level(wanted, &[Low, Medium, High]),
        ThinkingKind::Unknown => off,
        ThinkingKind::Never
        | ThinkingKind::Always
        | ThinkingKind::PromptTag
        | ThinkingKind::TemplateSwitch => None,
        ThinkingKind::Effort { levels } | ThinkingKind::Adaptive { levels } => level(wanted, levels),
        ThinkingKind::Switch | ThinkingKind::Budget { .. } => (wanted != Auto).then(|| json!(wanted != Off)),
    }
}

/// Whether the model takes levels and cannot be switched off.
fn is_levelled(model: &str) -> bool {
    model.rsplit('/').next().is_some_and(|name| name.starts_with("gpt-oss"))
}

fn level(wanted: Thinking, offered: &[Thinking]) -> Option<Value> {
    match nearest(wanted, offered)? {
        Auto => None,
        Off => Some(json!(false)),
        Minimal | Low => Some(json!("low")),
        Medium => Some(json!("medium")),
        High | Xhigh => Some(json!("high")),
    }
}
