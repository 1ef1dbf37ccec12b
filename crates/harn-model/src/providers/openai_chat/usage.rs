//! Tokens of a call, in the several places where servers tell them.

use harn_core::chat::Usage;
use serde_json::Value;

/// The whole usage so far; later frames replace it.
pub(super) fn read(usage: &Value) -> Usage {
    let first = |places: &[&str]| places.iter().map(|place| count(usage, place)).find(|count| *count > 0);
    bounded(Usage {
        input_tokens: count(usage, "/prompt_tokens"),
        output_tokens: count(usage, "/completion_tokens"),
        cached_tokens: first(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"])
            .unwrap_or_default(),
        cache_write_tokens: count(usage, "/prompt_tokens_details/cache_write_tokens"),
        thinking_tokens: count(usage, "/completion_tokens_details/reasoning_tokens"),
    })
}

pub(in crate::providers) fn count(value: &Value, place: &str) -> u64 {
    value.pointer(place).and_then(Value::as_u64).unwrap_or_default()
}

/// Classes are parts of the totals, whatever a server says.
pub(in crate::providers) fn bounded(usage: Usage) -> Usage {
    Usage {
        cached_tokens: usage.cached_tokens.min(usage.input_tokens),
        cache_write_tokens: usage.cache_write_tokens.min(usage.input_tokens),
        thinking_tokens: usage.thinking_tokens.min(usage.output_tokens),
        ..usage
    }
}
