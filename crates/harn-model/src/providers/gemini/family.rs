//! What a model's name tells: its generation, and how it is told to think.

use harn_core::chat::Thinking;
use serde_json::{Value, json};

use crate::{Target, ThinkingKind, nearest};

use Thinking::{Auto, High, Low, Medium, Minimal, Off, Xhigh};

/// The generation of a Gemini model, such as 2 for `gemini-2.5-pro`; none of other models. A name that means whichever
/// is the newest counts as the third, the first that is strict about signatures.
pub(super) fn generation(model: &str) -> Option<u32> {
    let version = bare(model).strip_prefix("gemini-")?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    match digits.parse() {
        Ok(number) => Some(number),
        Err(_) => version.ends_with("-latest").then_some(3),
    }
}

fn bare(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

/// How a model is told how much to think.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Not at all.
    Silent,
    /// It thinks as it likes, and shows it if asked.
    Shown,
    Level(Vec<Thinking>),
    /// The same, of a model that hardly thinks unless it is told to.
    LevelIfTold(Vec<Thinking>),
    Budget(Budget),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    least: u32,
    most: u32,
    /// What switches it off; none where that cannot be done.
    off: Option<u32>,
    /// It thinks without being told to.
    by_itself: bool,
}

const FLASH: Budget = Budget { least: 1, most: 24_576, off: Some(0), by_itself: true };

/// `generationConfig.thinkingConfig` for this wish; none to say nothing. Thoughts count as output, so a budget takes no
/// more than half of it.
pub(super) fn thinking_config(wanted: Thinking, max_output_tokens: u32, target: &Target) -> Option<Value> {
    let shown = target.options.get("include_thoughts").and_then(Value::as_bool).unwrap_or(true);
    let with_thoughts = |mut config: Value| {
        if shown {
            config["includeThoughts"] = json!(true);
        }
        config.as_object().is_some_and(|config| !config.is_empty()).then_some(config)
    };
    match way(target) {
        Way::Silent => None,
        Way::Shown => with_thoughts(json!({})),
        // A model that does not think refuses to be asked for its thoughts.
        Way::LevelIfTold(_) if wanted == Auto => None,
        Way::Level(levels) | Way::LevelIfTold(levels) => match nearest(wanted, &levels) {
            None => with_thoughts(json!({})),
            Some(level) => match level_word(level) {
                Some(word) => with_thoughts(json!({ "thinkingLevel": word })),
                None => Some(json!({ "thinkingBudget": 0 })),
            },
        },
        Way::Budget(budget) => match (wanted, budget.off) {
            // As by itself; but without any budget, its thoughts may not be asked for.
            (Auto, _) if budget.by_itself && shown => with_thoughts(json!({ "thinkingBudget": -1 })),
            (Auto, _) => None,
            (Off, Some(tokens)) => Some(json!({ "thinkingBudget": tokens })),
            _ => {
                let half = (max_output_tokens / 2).max(budget.least);
                with_thoughts(json!({ "thinkingBudget": tokens(wanted, budget).min(half) }))
            }
        },
    }
}

fn level_word(level: Thinking) -> Option<&'static str> {
    match level {
        Auto | Off => None,
        Minimal => Some("MINIMAL"),
        Low => Some("LOW"),
        Medium => Some("MEDIUM"),
        High | Xhigh => Some("HIGH"),
    }
}

fn tokens(wanted: Thinking, budget: Budget) -> u32 {
    let tokens = match wanted {
        Auto | Off | Minimal => budget.least,
        Low => 2048,
        Medium => 8192,
        High => 16_384,
        Xhigh => budget.most,
    };
    tokens.clamp(budget.least, budget.most.max(budget.least))
}

fn way(target: &Target) -> Way {
    let family = family(&target.model);
    match &target.capabilities.thinking {
        ThinkingKind::Unknown | ThinkingKind::Switch => family,
        ThinkingKind::Never | ThinkingKind::PromptTag | ThinkingKind::TemplateSwitch => Way::Silent,
        ThinkingKind::Always => Way::Shown,
        ThinkingKind::Effort { levels } | ThinkingKind::Adaptive { levels } => Way::Level(levels.clone()),
        ThinkingKind::Budget { least } => {
            let known = if let Way::Budget(budget) = family { budget } else { FLASH };
            Way::Budget(Budget { least: (*least).max(known.least), ..known })
        }
    }
}

fn family(model: &str) -> Way {
    let name = bare(model);
    let is = |word: &str| name.contains(word);
    if is("-image") || is("-tts") || is("-live") {
        return Way::Silent;
    }
    match generation(name) {
        Some(2) if is("gemini-2.5-pro") => {
            Way::Budget(Budget { least: 128, most: 32_768, off: None, by_itself: true })
        }
        Some(2) if is("gemini-2.5-flash-lite") => {
            Way::Budget(Budget { least: 512, by_itself: false, ..FLASH })
        }
        Some(2) if is("gemini-2.5-flash") => Way::Budget(FLASH),
        Some(3..) if is("gemini-3-pro") => Way::Level(vec![Low, High]),
        Some(3..) if is("-pro") => Way::Level(vec![Low, Medium, High]),
        Some(3..) if is("-flash-lite") => Way::LevelIfTold(vec![Minimal, Low, Medium, High]),
        Some(3..) => Way::Level(vec![Minimal, Low, Medium, High]),
        _ => Way::Silent,
    }
}
