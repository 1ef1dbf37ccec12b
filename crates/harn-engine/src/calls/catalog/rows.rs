//! Rows of the catalog as dicts of the language. What is not known is nil.

use harn_core::chat::SearchVariant;
use harn_model::catalog::{
    Caching, Env, Location, Modality, ModelEntry, Prices, Provider, Rates, Thinking, ThinkingKind, Wire,
};
use serde_json::{Value, json};

pub fn provider(row: &Provider, env: Env<'_>) -> Value {
    let usable = row.usability(env);
    json!({
        "id": row.id,
        "name": row.name,
        "aliases": row.aliases,
        "wire": row.wire,
        "dialect": row.dialect,
        "is_local": row.location == Location::Local,
        "base_url": usable.base_url,
        "auth_env": row.auth.env,
        "key_env": usable.key_env,
        "status": usable.status,
        "hint": usable.hint,
        "default_model": row.default_model,
        "rate_limits": row.rate_limits,
        "docs": row.docs,
    })
}

pub fn model(entry: &ModelEntry) -> Value {
    json!({
        "id": entry.id,
        "provider": entry.provider,
        "name": entry.name,
        "selector": entry.selector(),
        "aliases": entry.aliases,
        "tier": entry.tier.map(super::pick::tier_word),
        "status": entry.status,
        "known": true,
        "context_window": entry.context_window,
        "max_output": entry.max_output,
        "input": entry.input,
        "output": entry.output,
        "tools": entry.tools,
        "structured_output": entry.structured_output,
        "thinking": entry.thinking,
        "prompt_caching": entry.prompt_caching,
        "prices": entry.prices.map(|prices| self::prices(&prices)),
        "note": entry.note,
    })
}

/// A model that can be asked for, and of which nothing is known.
pub fn unknown(provider: &str, id: &str) -> Value {
    json!({
        "id": id,
        "provider": provider,
        "name": id,
        "selector": format!("{provider}:{id}"),
        "aliases": [],
        "tier": null,
        "status": null,
        "known": false,
        "context_window": null,
        "max_output": null,
        "input": null,
        "output": null,
        "tools": null,
        "structured_output": null,
        "thinking": null,
        "prompt_caching": null,
        "prices": null,
        "note": null,
    })
}

/// US dollars per million tokens.
pub fn prices(prices: &Prices) -> Value {
    let mut row = rates(&prices.rates);
    row["up_to"] = prices.up_to.into();
    row["long_prompt"] = prices.long_prompt.map_or(Value::Null, |long| {
        let mut row = rates(&long.rates);
        row["above"] = long.above.into();
        row
    });
    row
}

fn rates(rates: &Rates) -> Value {
    let usd = |micro: u64| micro as f64 / 1e6;
    json!({
        "input": usd(rates.input),
        "output": usd(rates.output),
        "cached_input": rates.cached_input.map(usd),
        "cache_write": rates.cache_write.map(usd),
        "thinking": rates.thinking.map(usd),
    })
}

/// What a model can do; of one that the catalog does not know, what is assumed when it is called.
pub fn capabilities(provider: &Provider, model: &str, entry: Option<&ModelEntry>) -> Value {
    let takes =
        |modality| entry.and_then(|entry| entry.input.as_ref()).map(|input| input.contains(&modality));
    let thinking = entry.and_then(|entry| entry.thinking.as_ref());
    let has_tools = entry.and_then(|entry| entry.tools).unwrap_or(true);
    // Of the providers that we speak to, one searches for tools by itself.
    let searches = has_tools && provider.wire == Wire::AnthropicMessages && provider.id == "anthropic";
    let variants: Vec<&str> =
        SearchVariant::ALL.into_iter().filter(|_| searches).map(SearchVariant::as_str).collect();
    let is_native = entry.and_then(|entry| entry.structured_output) == Some(true);
    json!({
        "provider": provider.id,
        "model": model,
        "known": entry.is_some(),
        "native_tools": has_tools,
        "parallel_tools": entry.and_then(|entry| entry.parallel_tools),
        "defer_loading": searches,
        "tool_search": variants,
        "max_tools": null,
        "prompt_caching": caches(entry),
        "vision": takes(Modality::Image),
        "documents": takes(Modality::Document),
        "audio": takes(Modality::Audio),
        "thinking": thinking.map(|thinking| thinking.kind != ThinkingKind::None),
        "thinking_kind": thinking.map(|thinking| thinking.kind),
        "thinking_levels": thinking.map(levels).unwrap_or_default(),
        "structured_output": if is_native { "native" } else { "tool_use" },
        "streaming": true,
        "context_window": entry.and_then(|entry| entry.context_window),
        "max_output": entry.and_then(|entry| entry.max_output),
    })
}

fn caches(entry: Option<&ModelEntry>) -> Option<bool> {
    entry.and_then(|entry| entry.prompt_caching).map(|caching| caching != Caching::None)
}

fn levels(thinking: &Thinking) -> Vec<String> {
    thinking.levels.clone()
}
