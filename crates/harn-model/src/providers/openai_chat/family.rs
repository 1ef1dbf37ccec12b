//! How a model is told to think where its row does not say it: by the server's ways and the model's name.

use harn_core::chat::Thinking;

use super::dialect::Dialect;
use crate::ThinkingKind;

use Thinking::{High, Low, Medium, Minimal, Off, Xhigh};

/// The kind of thinking that a request has to speak to.
pub(super) fn known(kind: &ThinkingKind, dialect: Dialect, model: &str) -> ThinkingKind {
    match (kind, dialect) {
        // OpenRouter translates an effort for every model, and leaves it out where a model has none.
        (ThinkingKind::Unknown, Dialect::OpenRouter) => {
            ThinkingKind::Effort { levels: vec![Off, Minimal, Low, Medium, High, Xhigh] }
        }
        (ThinkingKind::Unknown, Dialect::Vllm | Dialect::LlamaCpp | Dialect::LmStudio) => {
            by_name(&model.to_ascii_lowercase(), dialect)
        }
        (ThinkingKind::Switch, Dialect::Vllm | Dialect::LlamaCpp) => ThinkingKind::TemplateSwitch,
        // It passes nothing on to the template, but the models read it in the prompt.
        (ThinkingKind::Switch, Dialect::LmStudio) => ThinkingKind::PromptTag,
        (other, _) => other.clone(),
    }
}

/// Open models whose chat templates have a switch. Of a model that is not here, nothing is known.
fn by_name(model: &str, dialect: Dialect) -> ThinkingKind {
    let is = |word: &str| model.contains(word);
    // Variants that were made for one of the two ways only.
    let is_fixed = ["instruct", "coder", "thinking", "base"].iter().any(|word| is(word));
    if is("gpt-oss") {
        return ThinkingKind::Effort { levels: vec![Low, Medium, High] };
    }
    let has_switch = (is("qwen3") || is("glm-4.5") || is("glm-4.6") || is("glm-4.7")) && !is_fixed;
    match dialect {
        Dialect::LmStudio if is("qwen3") && !is("qwen3.") && !is_fixed => ThinkingKind::PromptTag,
        Dialect::Vllm | Dialect::LlamaCpp if has_switch => ThinkingKind::TemplateSwitch,
        _ => ThinkingKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_found_by_server_and_name() {
        use ThinkingKind::{Never, PromptTag, Switch, TemplateSwitch, Unknown};
        let efforts = || ThinkingKind::Effort { levels: vec![Low, Medium, High] };
        let all = || ThinkingKind::Effort { levels: vec![Off, Minimal, Low, Medium, High, Xhigh] };
        let cases = [
            (Unknown, Dialect::Vllm, "Qwen/Qwen3-8B", TemplateSwitch),
            (Unknown, Dialect::Vllm, "Qwen/Qwen3-30B-A3B-Instruct-2507", Unknown),
            (Unknown, Dialect::Vllm, "Qwen/Qwen3-4B-Thinking-2507", Unknown),
            (Unknown, Dialect::LlamaCpp, "GLM-4.5-Air-Q4", TemplateSwitch),
            (Unknown, Dialect::LlamaCpp, "llama-3.3-70b", Unknown),
            (Unknown, Dialect::LmStudio, "qwen/qwen3-8b", PromptTag),
            (Unknown, Dialect::LmStudio, "qwen/qwen3.5-9b", Unknown),
            (Unknown, Dialect::LmStudio, "openai/gpt-oss-20b", efforts()),
            (Unknown, Dialect::Vllm, "openai/gpt-oss-120b", efforts()),
            (Unknown, Dialect::Groq, "qwen/qwen3-32b", Unknown),
            (Unknown, Dialect::Generic, "qwen3", Unknown),
            (Unknown, Dialect::OpenRouter, "some/model", all()),
            (Switch, Dialect::Vllm, "m", TemplateSwitch),
            (Switch, Dialect::LlamaCpp, "m", TemplateSwitch),
            (Switch, Dialect::LmStudio, "m", PromptTag),
            (Switch, Dialect::Generic, "m", Switch),
            (Never, Dialect::Vllm, "qwen3", Never),
        ];
        for (kind, dialect, model, expected) in cases {
            assert_eq!(known(&kind, dialect, model), expected, "{kind:?} {dialect:?} {model}");
        }
    }
}
