//! The rows of the catalog: a provider and a model. `None` is unknown, never "no".

use harn_core::price::Prices;
use serde::{Deserialize, Serialize};

/// A service that answers calls of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    pub id: String,
    pub name: String,
    /// Other names that a selector may use.
    pub aliases: Vec<String>,
    pub wire: Wire,
    pub dialect: Dialect,
    pub location: Location,
    /// What the provider's own SDK calls its base URL. None where every user has an address of their own.
    pub base_url: Option<String>,
    /// Variables that hold another base URL; the first one that is set counts.
    pub base_url_env: Vec<String>,
    pub auth: Auth,
    pub rate_limits: RateLimits,
    /// The place among the providers that may give the default model, lowest first.
    pub preference: Option<u32>,
    /// The model that a user gets who has nothing but a key of this provider.
    pub default_model: Option<String>,
    pub docs: Option<String>,
}

impl Provider {
    pub fn answers_to(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

/// The format of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    AnthropicMessages,
    OpenaiResponses,
    OpenaiChat,
    Gemini,
    Ollama,
}

/// How a provider differs from others with the same wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    #[default]
    Standard,
    Azure,
    Vllm,
    LlamaCpp,
    LmStudio,
    Openrouter,
    Deepseek,
    Groq,
    Mistral,
    Together,
    Xai,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    Local,
    Cloud,
}

/// How a call proves who makes it. Only names of variables; a key is never part of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auth {
    pub kind: AuthKind,
    /// The first one that is set counts.
    pub env: Vec<String>,
    pub header: AuthHeader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    ApiKey,
    /// A server that works without a key, and that may have been started with one.
    OptionalApiKey,
    None,
}

/// Where the key goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthHeader {
    #[default]
    Bearer,
    XApiKey,
    ApiKey,
    XGoogApiKey,
}

impl AuthHeader {
    /// The name of the header, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bearer => "authorization",
            Self::XApiKey => "x-api-key",
            Self::ApiKey => "api-key",
            Self::XGoogApiKey => "x-goog-api-key",
        }
    }

    /// What stands before the key.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer ",
            Self::XApiKey | Self::ApiKey | Self::XGoogApiKey => "",
        }
    }
}

/// What a client should keep to. A hint: the provider's limits belong to the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub concurrency: Option<u32>,
}

/// A model as one provider offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEntry {
    pub provider: String,
    /// What goes over the wire.
    pub id: String,
    pub name: String,
    /// Short names, each unique in the whole catalog.
    pub aliases: Vec<String>,
    pub tier: Option<Tier>,
    pub status: Status,
    /// Tokens of prompt and answer together.
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    pub input: Option<Vec<Modality>>,
    pub output: Option<Vec<Modality>>,
    pub tools: Option<bool>,
    /// Several tool calls in one answer.
    pub parallel_tools: Option<bool>,
    /// Answers that keep to a JSON Schema.
    pub structured_output: Option<bool>,
    pub thinking: Option<Thinking>,
    pub prompt_caching: Option<Caching>,
    pub prices: Option<Prices>,
    /// The page that was read for this row.
    pub source: Option<String>,
    /// The day on which it was read, `YYYY-MM-DD`.
    pub verified: Option<String>,
    pub note: Option<String>,
}

impl ModelEntry {
    /// The selector that means this row whatever else is in the catalog.
    pub fn selector(&self) -> String {
        format!("{}:{}", self.provider, self.id)
    }

    pub(super) fn answers_to(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name) || self.has_alias(name)
    }

    pub(super) fn has_alias(&self, name: &str) -> bool {
        self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

/// How capable a model is beside the others of its time. An opinion, for pickers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Small,
    Mid,
    Large,
    Frontier,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Active,
    Preview,
    /// Works; its provider recommends a newer one.
    Legacy,
    /// Works until a day that its provider has named.
    Deprecated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    Text,
    Image,
    Audio,
    Video,
    Document,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    pub kind: ThinkingKind,
    /// The words that the provider takes, from the least to the most.
    pub levels: Vec<String>,
    pub can_disable: Option<bool>,
    pub budget_min: Option<u64>,
    pub budget_max: Option<u64>,
}

/// How a caller says how much a model shall think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingKind {
    None,
    /// One of a few words.
    Effort,
    /// A number of tokens.
    Budget,
    /// The model decides, under an effort.
    Adaptive,
    /// On or off.
    Toggle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    None,
    /// The provider caches by itself.
    Automatic,
    /// The request marks what to cache.
    Explicit,
}
