//! How much to think, in the words of each dialect.

use harn_core::chat::Thinking;
use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use crate::{ThinkingKind, nearest};

/// What a request says about thinking.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    pub fields: Map<String, Value>,
    /// A word at the end of the last message of the user.
    pub tag: Option<&'static str>,
}

pub(super) fn said(wanted: Thinking, kind: &ThinkingKind, dialect: Dialect, max_output: u32) -> Said {
    if wanted == Thinking::Auto {
        return Said::default();
    }
    let thinks = wanted != Thinking::Off;
    match kind {
        ThinkingKind::Unknown | ThinkingKind::Never | ThinkingKind::Always => Said::default(),
        ThinkingKind::Effort { levels } | ThinkingKind::Adaptive { levels } => {
            nearest(wanted, levels).map(|level| effort(level, dialect)).unwrap_or_default()
        }
        ThinkingKind::Budget { least } => budget(wanted, *least, dialect, max_output),
        ThinkingKind::PromptTag => {
            Said { tag: Some(if thinks { "/think" } else { "/no_think" }), ..Said::default() }
        }
        ThinkingKind::TemplateSwitch => fields(json!({"chat_template_kwargs": {"enable_thinking": thinks}})),
        ThinkingKind::Switch => switch(thinks, dialect),
    }
}

/// Whether the server would tell reasoning within the text unless it is asked for a field of its own. Groq does, but for
/// gpt-oss, which refuses to be asked.
pub(super) fn is_told_in_text(dialect: Dialect, kind: &ThinkingKind, model: &str) -> bool {
    dialect == Dialect::Groq && *kind != ThinkingKind::Never && model.contains("qwen")
}

/// The word for a level that is not `auto`.
pub(in crate::providers) fn effort_word(level: Thinking) -> &'static str {
    if level == Thinking::Off { "none" } else { level.as_str() }
}

fn effort(level: Thinking, dialect: Dialect) -> Said {
    let word = effort_word(level);
    match dialect {
        Dialect::OpenRouter => fields(json!({"reasoning": {"effort": word}})),
        Dialect::DeepSeek if level == Thinking::Off => switch(false, dialect),
        Dialect::DeepSeek => fields(json!({"thinking": {"type": "enabled"}, "reasoning_effort": word})),
        Dialect::OpenAi
        | Dialect::Azure
        | Dialect::Vllm
        | Dialect::LlamaCpp
        | Dialect::LmStudio
        | Dialect::Groq
        | Dialect::Mistral
        | Dialect::Generic => fields(json!({"reasoning_effort": word})),
    }
}

fn switch(thinks: bool, dialect: Dialect) -> Said {
    match dialect {
        Dialect::OpenRouter => fields(json!({"reasoning": {"enabled": thinks}})),
        Dialect::DeepSeek => {
            fields(json!({"thinking": {"type": if thinks { "enabled" } else { "disabled" }}}))
        }
        Dialect::Groq => fields(json!({"reasoning_effort": if thinks { "default" } else { "none" }})),
        Dialect::OpenAi
        | Dialect::Azure
        | Dialect::Vllm
        | Dialect::LlamaCpp
        | Dialect::LmStudio
        | Dialect::Mistral
        | Dialect::Generic => fields(json!({"enable_thinking": thinks})),
    }
}

fn budget(wanted: Thinking, least: u32, dialect: Dialect, max_output: u32) -> Said {
    let wish = match wanted {
        Thinking::Auto | Thinking::Off => return switch(false, dialect),
        Thinking::Minimal => 1024,
        Thinking::Low => 4096,
        Thinking::Medium => 8192,
        Thinking::High => 16_384,
        Thinking::Xhigh => 32_768,
    };
    // Thinking is part of the output: at least half of it is left for the answer.
    let tokens = wish.min(max_output / 2).max(least);
    if tokens >= max_output {
        return Said::default();
    }
    match dialect {
        Dialect::OpenRouter => fields(json!({"reasoning": {"max_tokens": tokens}})),
        _ => fields(json!({"enable_thinking": true, "thinking_budget": tokens})),
    }
}

fn fields(value: Value) -> Said {
    match value {
        Value::Object(fields) => Said { fields, tag: None },
        _ => Said::default(),
    }
}

#[cfg(test)]
mod tests {
    use Thinking::{Auto, High, Low, Medium, Minimal, Off, Xhigh};

    use super::*;

    #[test]
    fn every_way_to_ask_for_thinking_has_its_words() {
        let levels = vec![Off, Low, Medium, High];
        let effort = ThinkingKind::Effort { levels: levels.clone() };
        let adaptive = ThinkingKind::Adaptive { levels: vec![Low, High] };
        let budget = ThinkingKind::Budget { least: 1024 };
        let nothing = json!({});
        let cases = [
            (Auto, &effort, Dialect::OpenAi, nothing.clone()),
            (Off, &effort, Dialect::OpenAi, json!({"reasoning_effort": "none"})),
            (Minimal, &effort, Dialect::Azure, json!({"reasoning_effort": "low"})),
            (Medium, &effort, Dialect::Groq, json!({"reasoning_effort": "medium"})),
            (Xhigh, &effort, Dialect::Vllm, json!({"reasoning_effort": "high"})),
            (Off, &adaptive, Dialect::Generic, json!({"reasoning_effort": "low"})),
            (High, &effort, Dialect::OpenRouter, json!({"reasoning": {"effort": "high"}})),
            (Off, &effort, Dialect::OpenRouter, json!({"reasoning": {"effort": "none"}})),
            (
                Low,
                &effort,
                Dialect::DeepSeek,
                json!({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
            ),
            (Off, &effort, Dialect::DeepSeek, json!({"thinking": {"type": "disabled"}})),
            (High, &ThinkingKind::Unknown, Dialect::OpenAi, nothing.clone()),
            (High, &ThinkingKind::Never, Dialect::OpenAi, nothing.clone()),
            (Off, &ThinkingKind::Always, Dialect::OpenAi, nothing.clone()),
            (
                Off,
                &ThinkingKind::TemplateSwitch,
                Dialect::Vllm,
                json!({"chat_template_kwargs": {"enable_thinking": false}}),
            ),
            (
                Low,
                &ThinkingKind::TemplateSwitch,
                Dialect::LlamaCpp,
                json!({"chat_template_kwargs": {"enable_thinking": true}}),
            ),
            (Off, &ThinkingKind::Switch, Dialect::Generic, json!({"enable_thinking": false})),
            (Low, &ThinkingKind::Switch, Dialect::OpenRouter, json!({"reasoning": {"enabled": true}})),
            (Low, &ThinkingKind::Switch, Dialect::DeepSeek, json!({"thinking": {"type": "enabled"}})),
            (Off, &ThinkingKind::Switch, Dialect::Groq, json!({"reasoning_effort": "none"})),
            (High, &ThinkingKind::Switch, Dialect::Groq, json!({"reasoning_effort": "default"})),
            (Low, &budget, Dialect::OpenRouter, json!({"reasoning": {"max_tokens": 4096}})),
            (Xhigh, &budget, Dialect::OpenRouter, json!({"reasoning": {"max_tokens": 5000}})),
            (Off, &budget, Dialect::OpenRouter, json!({"reasoning": {"enabled": false}})),
            (Minimal, &budget, Dialect::Generic, json!({"enable_thinking": true, "thinking_budget": 1024})),
        ];
        for (wanted, kind, dialect, expected) in cases {
            let said = said(wanted, kind, dialect, 10_000);
            let expected = Said { fields: expected.as_object().cloned().unwrap(), tag: None };
            assert_eq!(said, expected, "{wanted} {kind:?} {dialect:?}");
        }
        assert_eq!(said(High, &budget, Dialect::OpenRouter, 1024), Said::default());
    }

    #[test]
    fn a_tag_in_the_prompt_says_yes_or_no() {
        for (wanted, tag) in [(Auto, None), (Off, Some("/no_think")), (Low, Some("/think"))] {
            let said = said(wanted, &ThinkingKind::PromptTag, Dialect::Vllm, 1000);
            assert_eq!(said, Said { tag, ..Said::default() });
        }
    }
}
