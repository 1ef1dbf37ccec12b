//! From a row of the catalog to a model that can be called.

use std::sync::Arc;

use harn_core::chat::Thinking;
use harn_core::price::Prices;
use serde_json::json;

use crate::catalog::{
    self, AuthHeader, AuthKind, Caching, Dialect, Env, Location, Modality, ModelEntry, Provider, Resolved,
    Wire,
};
use crate::providers::anthropic::AnthropicCodec;
use crate::providers::gemini::GeminiCodec;
use crate::providers::ollama::OllamaCodec;
use crate::providers::openai_chat::OpenAiChatCodec;
use crate::providers::openai_responses::OpenAiResponsesCodec;
use crate::{
    Auth, Capabilities, Codec, Credential, HttpModel, Limiter, ModelCard, RateLimits, StructuredOutput,
    Target, ThinkingKind, Transport, TransportError,
};

/// Why a model of the catalog cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the provider {provider} has no address; set {variables}")]
    NoAddress { provider: String, variables: String },
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// A model of the catalog as one that can be called. A missing key is told when it is called, by name.
pub fn connect(
    chosen: &Resolved<'_>,
    env: Env<'_>,
    transport: &Transport,
) -> Result<HttpModel, ConnectError> {
    let provider = chosen.provider;
    let base_url = provider.base_url(env).ok_or_else(|| ConnectError::NoAddress {
        provider: provider.id.clone(),
        variables: provider.base_url_env.join(" or "),
    })?;
    let (auth, credential) = credential(provider, env);
    let mut target = Target::new(&provider.id, chosen.model.as_str(), base_url, auth);
    if let Some(entry) = chosen.entry {
        target.capabilities = capabilities(entry);
    }
    if let Some(dialect) = dialect(provider) {
        target.options.insert("dialect".into(), json!(dialect));
    }
    let mut model = HttpModel::new(codec(provider.wire), target, credential, transport.clone());
    model = model.with_card(card(provider, chosen.entry));
    Ok(model.with_limiter(limiter(provider)))
}

fn codec(wire: Wire) -> Arc<dyn Codec> {
    match wire {
        Wire::AnthropicMessages => Arc::new(AnthropicCodec),
        Wire::OpenaiResponses => Arc::new(OpenAiResponsesCodec),
        Wire::OpenaiChat => Arc::new(OpenAiChatCodec),
        Wire::Gemini => Arc::new(GeminiCodec),
        Wire::Ollama => Arc::new(OllamaCodec),
    }
}

fn credential(provider: &Provider, env: Env<'_>) -> (Auth, Credential) {
    let header = match provider.auth.header {
        AuthHeader::Bearer => Auth::Bearer,
        other => Auth::Header(other.name().to_owned()),
    };
    let found = provider.key_env(env).and_then(|name| Some((env(name)?, name.to_owned())));
    match (provider.auth.kind, found) {
        (AuthKind::None, _) | (AuthKind::OptionalApiKey, None) => (Auth::None, Credential::missing("")),
        (_, Some((secret, name))) => (header, Credential::new(&secret, name)),
        (AuthKind::ApiKey, None) => {
            (header, Credential::missing(provider.auth.env.first().cloned().unwrap_or_default()))
        }
    }
}

/// What the codec of Chat Completions calls the provider's way of speaking it.
fn dialect(provider: &Provider) -> Option<&'static str> {
    Some(match provider.dialect {
        Dialect::Azure => "azure",
        Dialect::Vllm => "vllm",
        Dialect::LlamaCpp => "llama.cpp",
        Dialect::LmStudio => "lmstudio",
        Dialect::Openrouter => "openrouter",
        Dialect::Deepseek => "deepseek",
        Dialect::Groq => "groq",
        Dialect::Mistral => "mistral",
        Dialect::Standard if provider.id == "openai" => "openai",
        Dialect::Standard | Dialect::Together | Dialect::Xai => return None,
    })
}

fn capabilities(entry: &ModelEntry) -> Capabilities {
    let usual = Capabilities::default();
    let takes = |modality| entry.input.as_ref().map(|input| input.contains(&modality));
    Capabilities {
        thinking: entry.thinking.as_ref().map_or(ThinkingKind::Unknown, thinking),
        tools: entry.tools.unwrap_or(usual.tools),
        images: takes(Modality::Image).unwrap_or(usual.images),
        documents: takes(Modality::Document).unwrap_or(usual.documents),
        structured_output: match entry.structured_output {
            Some(true) => StructuredOutput::Native,
            _ => usual.structured_output,
        },
        // Others take the role `system` alone.
        developer_role: entry.provider == "openai",
        prompt_caching: entry.prompt_caching == Some(Caching::Explicit),
        context_window: entry.context_window,
    }
}

fn thinking(row: &catalog::Thinking) -> ThinkingKind {
    let mut levels: Vec<Thinking> = row.levels.iter().filter_map(|word| word.parse().ok()).collect();
    if row.can_disable == Some(true) && !levels.contains(&Thinking::Off) {
        levels.insert(0, Thinking::Off);
    }
    match row.kind {
        catalog::ThinkingKind::None => ThinkingKind::Never,
        catalog::ThinkingKind::Effort => ThinkingKind::Effort { levels },
        catalog::ThinkingKind::Adaptive => ThinkingKind::Adaptive { levels },
        catalog::ThinkingKind::Budget => {
            let least = row.budget_min.and_then(|least| u32::try_from(least).ok()).unwrap_or(1024);
            ThinkingKind::Budget { least }
        }
        catalog::ThinkingKind::Toggle => ThinkingKind::Switch,
    }
}

/// A local model costs nothing, unless somebody has written down what it does cost.
fn card(provider: &Provider, entry: Option<&ModelEntry>) -> ModelCard {
    let usual = ModelCard::default();
    let local = (provider.location == Location::Local).then(Prices::free);
    ModelCard {
        context_window: entry.and_then(|entry| entry.context_window).unwrap_or(usual.context_window),
        max_output: entry.and_then(|entry| entry.max_output),
        prices: entry.and_then(|entry| entry.prices).or(local),
    }
}

/// What a provider grants us. All of its models share it.
pub(crate) fn limiter(provider: &Provider) -> Limiter {
    let limits = provider.rate_limits;
    let requests = limits.requests_per_minute.and_then(|count| u32::try_from(count).ok());
    Limiter::new(RateLimits {
        requests_per_minute: requests,
        tokens_per_minute: limits.tokens_per_minute,
        concurrent: limits.concurrency,
    })
}
