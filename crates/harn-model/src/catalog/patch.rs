//! Rows as an overlay writes them: every field may be missing, and what is there replaces what was.

use harn_core::price::{LongPrompt, Prices, Rates};
use serde::Deserialize;
use toml::Spanned;

use super::entry::{
    Auth, AuthHeader, AuthKind, Caching, Dialect, Location, Modality, ModelEntry, Provider, RateLimits,
    Status, Thinking, ThinkingKind, Tier, Wire,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderPatch {
    pub id: Spanned<String>,
    name: Option<String>,
    aliases: Option<Vec<String>>,
    wire: Option<Wire>,
    dialect: Option<Dialect>,
    location: Option<Location>,
    base_url: Option<String>,
    base_url_env: Option<Vec<String>>,
    auth: Option<AuthPatch>,
    rate_limits: Option<RateLimits>,
    preference: Option<u32>,
    default_model: Option<String>,
    docs: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthPatch {
    kind: Option<AuthKind>,
    env: Option<Vec<String>>,
    header: Option<AuthHeader>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelPatch {
    pub provider: Spanned<String>,
    pub id: Spanned<String>,
    name: Option<String>,
    aliases: Option<Vec<String>>,
    tier: Option<Tier>,
    status: Option<Status>,
    context_window: Option<u64>,
    max_output: Option<u64>,
    input: Option<Vec<Modality>>,
    output: Option<Vec<Modality>>,
    tools: Option<bool>,
    parallel_tools: Option<bool>,
    structured_output: Option<bool>,
    thinking: Option<ThinkingPatch>,
    prompt_caching: Option<Caching>,
    prices: Option<PricesPatch>,
    source: Option<String>,
    verified: Option<String>,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThinkingPatch {
    kind: Option<ThinkingKind>,
    levels: Option<Vec<String>>,
    can_disable: Option<bool>,
    budget_min: Option<u64>,
    budget_max: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PricesPatch {
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    cache_write_long: Option<u64>,
    thinking: Option<u64>,
    up_to: Option<u64>,
    long_prompt: Option<LongPromptPatch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongPromptPatch {
    above: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    cache_write_long: Option<u64>,
    thinking: Option<u64>,
}

impl ProviderPatch {
    /// The row with this patch applied, or what is missing for a new one.
    pub fn applied_to(self, row: Option<Provider>) -> Result<Provider, String> {
        let mut row = match row {
            Some(row) => row,
            None => self.blank()?,
        };
        replace(&mut row.name, self.name);
        replace(&mut row.aliases, self.aliases);
        replace(&mut row.wire, self.wire);
        replace(&mut row.dialect, self.dialect);
        replace(&mut row.location, self.location);
        fill(&mut row.base_url, self.base_url);
        replace(&mut row.base_url_env, self.base_url_env);
        if let Some(auth) = self.auth {
            replace(&mut row.auth.kind, auth.kind);
            replace(&mut row.auth.env, auth.env);
            replace(&mut row.auth.header, auth.header);
        }
        if let Some(limits) = self.rate_limits {
            fill(&mut row.rate_limits.requests_per_minute, limits.requests_per_minute);
            fill(&mut row.rate_limits.tokens_per_minute, limits.tokens_per_minute);
            fill(&mut row.rate_limits.concurrency, limits.concurrency);
        }
        fill(&mut row.preference, self.preference);
        fill(&mut row.default_model, self.default_model);
        fill(&mut row.docs, self.docs);
        Ok(row)
    }

    fn blank(&self) -> Result<Provider, String> {
        let id = self.id.get_ref();
        let (Some(wire), Some(location)) = (self.wire, self.location) else {
            return Err(format!(
                "`{id}` is a new provider, which needs `wire` and `location`; \
                 to change one of the built-in ones, write its id"
            ));
        };
        let kind = self.auth.as_ref().and_then(|auth| auth.kind);
        let Some(kind) = kind.or((location == Location::Local).then_some(AuthKind::None)) else {
            return Err(format!(
                "`{id}` is a new provider in the cloud, which needs `auth`, \
                 such as {{ kind = \"api_key\", env = [\"MY_KEY\"] }}"
            ));
        };
        Ok(Provider {
            id: id.clone(),
            name: id.clone(),
            aliases: Vec::new(),
            wire,
            dialect: Dialect::default(),
            location,
            base_url: None,
            base_url_env: Vec::new(),
            auth: Auth { kind, env: Vec::new(), header: AuthHeader::default() },
            rate_limits: RateLimits::default(),
            preference: None,
            default_model: None,
            docs: None,
        })
    }
}

impl ModelPatch {
    /// The row with this patch applied. Of a new one, everything that is not said is unknown.
    pub fn applied_to(self, row: Option<ModelEntry>) -> Result<ModelEntry, String> {
        let mut row = row.unwrap_or_else(|| self.blank());
        if self.prices.is_some() {
            // The page that was read for the old price says nothing about the new one.
            (row.source, row.verified) = (None, None);
        }
        replace(&mut row.name, self.name);
        replace(&mut row.aliases, self.aliases);
        fill(&mut row.tier, self.tier);
        replace(&mut row.status, self.status);
        fill(&mut row.context_window, self.context_window);
        fill(&mut row.max_output, self.max_output);
        fill(&mut row.input, self.input);
        fill(&mut row.output, self.output);
        fill(&mut row.tools, self.tools);
        fill(&mut row.parallel_tools, self.parallel_tools);
        fill(&mut row.structured_output, self.structured_output);
        if let Some(thinking) = self.thinking {
            row.thinking = Some(thinking.applied_to(row.thinking)?);
        }
        fill(&mut row.prompt_caching, self.prompt_caching);
        if let Some(prices) = self.prices {
            row.prices = Some(prices.applied_to(row.prices)?);
        }
        fill(&mut row.source, self.source);
        fill(&mut row.verified, self.verified);
        fill(&mut row.note, self.note);
        Ok(row)
    }

    fn blank(&self) -> ModelEntry {
        ModelEntry {
            provider: self.provider.get_ref().clone(),
            id: self.id.get_ref().clone(),
            name: self.id.get_ref().clone(),
            aliases: Vec::new(),
            tier: None,
            status: Status::default(),
            context_window: None,
            max_output: None,
            input: None,
            output: None,
            tools: None,
            parallel_tools: None,
            structured_output: None,
            thinking: None,
            prompt_caching: None,
            prices: None,
            source: None,
            verified: None,
            note: None,
        }
    }
}

impl ThinkingPatch {
    fn applied_to(self, old: Option<Thinking>) -> Result<Thinking, String> {
        let Some(kind) = self.kind.or(old.as_ref().map(|old| old.kind)) else {
            return Err("`thinking` needs `kind`: none, effort, budget, adaptive or toggle".into());
        };
        let mut row = old.unwrap_or(Thinking {
            kind,
            levels: Vec::new(),
            can_disable: None,
            budget_min: None,
            budget_max: None,
        });
        row.kind = kind;
        replace(&mut row.levels, self.levels);
        fill(&mut row.can_disable, self.can_disable);
        fill(&mut row.budget_min, self.budget_min);
        fill(&mut row.budget_max, self.budget_max);
        Ok(row)
    }
}

impl PricesPatch {
    fn applied_to(self, old: Option<Prices>) -> Result<Prices, String> {
        let said = Said {
            input: self.input,
            output: self.output,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
            cache_write_long: self.cache_write_long,
            thinking: self.thinking,
        };
        let rates = said.applied_to(old.map(|old| old.rates), "prices")?;
        let old_long = old.and_then(|old| old.long_prompt);
        let long_prompt = match self.long_prompt {
            Some(long) => Some(long.applied_to(old_long)?),
            None => old_long,
        };
        Ok(Prices { rates, up_to: self.up_to.or(old.and_then(|old| old.up_to)), long_prompt })
    }
}

impl LongPromptPatch {
    fn applied_to(self, old: Option<LongPrompt>) -> Result<LongPrompt, String> {
        let Some(above) = self.above.or(old.map(|old| old.above)) else {
            return Err("`prices.long_prompt` needs `above`, a number of tokens".into());
        };
        let said = Said {
            input: self.input,
            output: self.output,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
            cache_write_long: self.cache_write_long,
            thinking: self.thinking,
        };
        Ok(LongPrompt { above, rates: said.applied_to(old.map(|old| old.rates), "prices.long_prompt")? })
    }
}

/// What a table of prices says, wherever it stands. The tables cannot share a type in the file, since serde does
/// not refuse unknown keys of a struct that has another one flattened into it.
struct Said {
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    cache_write_long: Option<u64>,
    thinking: Option<u64>,
}

impl Said {
    fn applied_to(self, old: Option<Rates>, place: &str) -> Result<Rates, String> {
        let input = self.input.or(old.map(|old| old.input));
        let output = self.output.or(old.map(|old| old.output));
        let Some((input, output)) = input.zip(output) else {
            return Err(format!(
                "`{place}` needs `input` and `output`, in millionths of a US dollar per million tokens"
            ));
        };
        Ok(Rates {
            input,
            output,
            cached_input: self.cached_input.or(old.and_then(|old| old.cached_input)),
            cache_write: self.cache_write.or(old.and_then(|old| old.cache_write)),
            cache_write_long: self.cache_write_long.or(old.and_then(|old| old.cache_write_long)),
            thinking: self.thinking.or(old.and_then(|old| old.thinking)),
        })
    }
}

fn replace<T>(slot: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *slot = new;
    }
}

fn fill<T>(slot: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *slot = new;
    }
}
