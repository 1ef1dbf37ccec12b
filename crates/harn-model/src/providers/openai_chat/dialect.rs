//! In what the servers that speak Chat Completions differ, as far as a request depends on it.

use serde_json::Value;

use crate::{ModelError, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Azure,
    Vllm,
    LlamaCpp,
    LmStudio,
    OpenRouter,
    DeepSeek,
    Groq,
    Mistral,
    /// A server of which nothing is known but that it speaks the format.
    Generic,
}

/// Which turns of the assistant take their reasoning back to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasoningBack {
    Never,
    /// Those that called tools: a model that thinks between its calls goes on from there.
    ToolTurns,
    Always,
}

impl Dialect {
    pub fn of(target: &Target) -> Result<Self, ModelError> {
        match word(target, "dialect")?.unwrap_or("generic") {
            "openai" => Ok(Self::OpenAi),
            "azure" => Ok(Self::Azure),
            "vllm" => Ok(Self::Vllm),
            "llama.cpp" | "llamacpp" => Ok(Self::LlamaCpp),
            "lmstudio" => Ok(Self::LmStudio),
            "openrouter" => Ok(Self::OpenRouter),
            "deepseek" => Ok(Self::DeepSeek),
            "groq" => Ok(Self::Groq),
            "mistral" => Ok(Self::Mistral),
            "generic" => Ok(Self::Generic),
            other => Err(unknown("dialect", other)),
        }
    }

    pub fn max_tokens_field(self, target: &Target) -> Result<&'static str, ModelError> {
        match word(target, "max_tokens_field")? {
            Some("max_tokens") => Ok("max_tokens"),
            Some("max_completion_tokens") => Ok("max_completion_tokens"),
            Some(other) => Err(unknown("max_tokens_field", other)),
            None => Ok(match self {
                Self::OpenAi | Self::Azure | Self::Groq => "max_completion_tokens",
                Self::Vllm
                | Self::LlamaCpp
                | Self::LmStudio
                | Self::OpenRouter
                | Self::DeepSeek
                | Self::Mistral
                | Self::Generic => "max_tokens",
            }),
        }
    }

    pub fn reasoning_back(self, target: &Target) -> Result<ReasoningBack, ModelError> {
        match word(target, "reasoning_back")? {
            Some("never") => Ok(ReasoningBack::Never),
            Some("tool_turns") => Ok(ReasoningBack::ToolTurns),
            Some("always") => Ok(ReasoningBack::Always),
            Some(other) => Err(unknown("reasoning_back", other)),
            None => Ok(match self {
                Self::OpenRouter => ReasoningBack::Always,
                Self::DeepSeek | Self::Vllm | Self::LlamaCpp => ReasoningBack::ToolTurns,
                Self::OpenAi | Self::Azure | Self::LmStudio | Self::Groq | Self::Mistral | Self::Generic => {
                    ReasoningBack::Never
                }
            }),
        }
    }

    /// Whether a schema has to be brought into the strict form. Servers that compile a schema into a grammar take it
    /// as it is.
    pub fn strict_schema(self, target: &Target) -> Result<bool, ModelError> {
        let usual = matches!(self, Self::OpenAi | Self::Azure | Self::OpenRouter | Self::Groq);
        flag(target, "strict_schema", usual)
    }

    /// Whether to ask for the usage of a stream. Mistral tells it unasked, and refuses fields that it does not know.
    pub fn stream_usage(self, target: &Target) -> Result<bool, ModelError> {
        flag(target, "stream_usage", self != Self::Mistral)
    }

    /// Whether every model can be held to a schema, because the server turns it into a grammar.
    pub fn has_grammar(self) -> bool {
        matches!(self, Self::Vllm | Self::LlamaCpp | Self::LmStudio)
    }

    /// Whether a tool that has to be called may be named.
    pub fn names_choice(self) -> bool {
        self != Self::LmStudio
    }

    /// Whether reasoning may stand in the text, as it does with local servers that were not told how to find it.
    pub fn think_tags(self, target: &Target) -> Result<bool, ModelError> {
        flag(target, "think_tags", matches!(self, Self::Vllm | Self::LlamaCpp | Self::LmStudio))
    }

    pub fn path(self, target: &Target) -> Result<String, ModelError> {
        match word(target, "path")? {
            Some(path) if path.starts_with('/') => Ok(path.to_owned()),
            Some(path) => Err(unknown("path", path)),
            None if self == Self::Azure => azure_path(target, "chat/completions"),
            None => Ok("/v1/chat/completions".into()),
        }
    }
}

/// Azure's path of a call: with a dated version below the deployment, else as OpenAI's below `/openai`. A base URL may
/// hold the beginning of it already.
pub(in crate::providers) fn azure_path(target: &Target, call: &str) -> Result<String, ModelError> {
    let base = target.base_url.trim_end_matches('/');
    let Some(version) = word(target, "api_version")? else {
        let prefix = if base.ends_with("/openai/v1") {
            ""
        } else if base.ends_with("/openai") {
            "/v1"
        } else {
            "/openai/v1"
        };
        return Ok(format!("{prefix}/{call}"));
    };
    let prefix = if base.ends_with("/openai") { "" } else { "/openai" };
    let version = escaped(version);
    if call == "responses" {
        return Ok(format!("{prefix}/{call}?api-version={version}"));
    }
    let deployment = escaped(word(target, "deployment")?.unwrap_or(&target.model));
    Ok(format!("{prefix}/deployments/{deployment}/{call}?api-version={version}"))
}

fn escaped(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// An option that is a word.
pub(in crate::providers) fn word<'a>(target: &'a Target, name: &str) -> Result<Option<&'a str>, ModelError> {
    match target.options.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => Ok(Some(word)),
        Some(other) => Err(unknown(name, &other.to_string())),
    }
}

/// An option that is true or false.
pub(in crate::providers) fn flag(target: &Target, name: &str, usual: bool) -> Result<bool, ModelError> {
    match target.options.get(name) {
        None | Some(Value::Null) => Ok(usual),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(unknown(name, &other.to_string())),
    }
}

fn unknown(name: &str, value: &str) -> ModelError {
    let shown: String = value.chars().take(60).collect();
    let message =
        format!("the option `{name}` cannot be `{}`; correct it in the configuration", shown.escape_debug());
    ModelError::InvalidRequest { message }
}
