//! What tokens cost: prices by class of token, the cost of a call, and the price to reserve before it.

use harn_core::budget::Price;
use serde::{Deserialize, Serialize};

use super::entry::ModelEntry;

/// Prices in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    #[serde(flatten)]
    pub rates: Rates,
    /// Prompts of more tokens have another price, which is not known.
    pub up_to: Option<u64>,
    pub long_prompt: Option<LongPrompt>,
}

/// The prices of a call whose prompt has more than so many tokens. They hold for the whole call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongPrompt {
    pub above: u64,
    #[serde(flatten)]
    pub rates: Rates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    pub input: u64,
    pub output: u64,
    /// None is billed as input: a provider that publishes no discount gives none.
    pub cached_input: Option<u64>,
    /// None is unknown, since a write may cost more than input.
    pub cache_write: Option<u64>,
    /// A write that is kept for longer than the default.
    pub cache_write_long: Option<u64>,
    /// None is billed as output.
    pub thinking: Option<u64>,
}

/// The tokens of a call by class. A token is counted in one class only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    pub input: u64,
    pub cached_input: u64,
    pub cache_write: u64,
    pub cache_write_long: u64,
    pub output: u64,
    pub thinking: u64,
}

impl TokenCounts {
    /// All that was sent, however it was billed.
    pub fn prompt(&self) -> u64 {
        [self.cached_input, self.cache_write, self.cache_write_long]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }
}

impl ModelEntry {
    /// The cost of a call in millionths of a US dollar, rounded up. None when a price that it needs is unknown.
    pub fn cost(&self, tokens: &TokenCounts) -> Option<u64> {
        self.prices?.at(tokens.prompt())?.cost(tokens)
    }

    /// The price to reserve for a call with a prompt of at most so many tokens.
    ///
    /// It is never too low: input counts as if it were all written to the cache for the default time.
    pub fn reservation(&self, prompt_tokens: u64) -> Option<Price> {
        let prices = self.prices?;
        let short = prices.at(0)?.dearest();
        let long = prices.at(prompt_tokens)?.dearest();
        Some(Price { input: short.input.max(long.input), output: short.output.max(long.output) })
    }
}

impl Prices {
    /// What holds for a prompt of so many tokens.
    pub fn at(&self, prompt_tokens: u64) -> Option<Rates> {
        if self.up_to.is_some_and(|limit| prompt_tokens > limit) {
            return None;
        }
        let long = self.long_prompt.filter(|long| prompt_tokens > long.above);
        Some(long.map_or(self.rates, |long| long.rates))
    }
}

impl Rates {
    fn cost(&self, tokens: &TokenCounts) -> Option<u64> {
        let classes = [
            (tokens.input, Some(self.input)),
            (tokens.cached_input, self.cached_input.or(Some(self.input))),
            (tokens.cache_write, self.cache_write),
            (tokens.cache_write_long, self.cache_write_long),
            (tokens.output, Some(self.output)),
            (tokens.thinking, self.thinking.or(Some(self.output))),
        ];
        let mut exact = 0u128;
        for (count, price) in classes.into_iter().filter(|(count, _)| *count > 0) {
            exact = exact.saturating_add(u128::from(count) * u128::from(price?));
        }
        Some(u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    fn dearest(&self) -> Price {
        Price {
            input: self.input.max(self.cache_write.unwrap_or(0)),
            output: self.output.max(self.thinking.unwrap_or(0)),
        }
    }
}
