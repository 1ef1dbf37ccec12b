//! What tokens cost: prices by class of token, the cost of a call, and what to set aside before it.

use serde::{Deserialize, Serialize};

use crate::chat::Usage;

/// Prices in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    #[serde(flatten)]
    pub rates: Rates,
    /// Prompts of more tokens have another price, which is not known.
    #[serde(default)]
    pub up_to: Option<u64>,
    #[serde(default)]
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
    #[serde(default)]
    pub cached_input: Option<u64>,
    /// None is unknown, since a write may cost more than input.
    #[serde(default)]
    pub cache_write: Option<u64>,
    /// A write that is kept for longer than the default.
    #[serde(default)]
    pub cache_write_long: Option<u64>,
    /// None is billed as output.
    #[serde(default)]
    pub thinking: Option<u64>,
}

impl Prices {
    /// Of a model that costs nothing, whatever it is used for.
    pub const fn free() -> Self {
        let nothing = Some(0);
        let rates = Rates {
            input: 0,
            output: 0,
            cached_input: nothing,
            cache_write: nothing,
            cache_write_long: nothing,
            thinking: nothing,
        };
        Self { rates, up_to: None, long_prompt: None }
    }

    /// The cost of a call in millionths of a US dollar, rounded up. None when a price that it needs is not known.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let read = usage.cached_tokens;
        let written = usage.cache_write_tokens;
        let in_cache = read.saturating_add(written);
        let rates = self.at(usage.input_tokens.max(in_cache))?;
        sum([
            (usage.input_tokens.saturating_sub(in_cache), Some(rates.input)),
            (read, rates.cached_input.or(Some(rates.input))),
            (written, rates.cache_write),
            (usage.output_tokens.saturating_sub(usage.thinking_tokens), Some(rates.output)),
            (usage.thinking_tokens, rates.thinking.or(Some(rates.output))),
        ])
    }

    /// What a call with at most so many tokens can cost. Never too low: every token counts as one of the dearest
    /// class, and a prompt as if it had whichever length is dearer. None where the price is not known.
    pub fn reserve(&self, input_tokens: u64, output_tokens: u64) -> Option<u64> {
        let (short, long) = (self.at(0)?, self.at(input_tokens)?);
        let input = short.dearest_input().max(long.dearest_input());
        let output = short.dearest_output().max(long.dearest_output());
        sum([(input_tokens, Some(input)), (output_tokens, Some(output))])
    }

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
    fn dearest_input(&self) -> u64 {
        self.input.max(self.cached_input.unwrap_or(0)).max(self.cache_write.unwrap_or(0))
    }

    fn dearest_output(&self) -> u64 {
        self.output.max(self.thinking.unwrap_or(0))
    }
}

/// Tokens times prices, rounded up once at the end: a budget is never overspent by rounding.
fn sum<const N: usize>(classes: [(u64, Option<u64>); N]) -> Option<u64> {
    let mut exact = 0u128;
    for (count, price) in classes.into_iter().filter(|(count, _)| *count > 0) {
        exact = exact.saturating_add(u128::from(count) * u128::from(price?));
    }
    Some(u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RATES: Rates = Rates {
        input: 3_000_000,
        output: 15_000_000,
        cached_input: Some(300_000),
        cache_write: Some(3_750_000),
        cache_write_long: None,
        thinking: Some(20_000_000),
    };
    const PLAIN: Rates = Rates { cached_input: None, cache_write: None, thinking: None, ..RATES };

    fn prices(rates: Rates) -> Prices {
        Prices { rates, up_to: None, long_prompt: None }
    }

    fn usage(input: u64, cached: u64, written: u64, output: u64, thinking: u64) -> Usage {
        Usage {
            input_tokens: input,
            cached_tokens: cached,
            cache_write_tokens: written,
            output_tokens: output,
            thinking_tokens: thinking,
        }
    }

    #[test]
    fn a_call_costs_the_sum_of_its_classes_which_are_parts_of_its_totals() {
        let long = LongPrompt { above: 100, rates: Rates { input: 6_000_000, ..RATES } };
        let long = Prices { long_prompt: Some(long), up_to: Some(200), ..prices(RATES) };
        let cases = [
            (prices(RATES), usage(0, 0, 0, 0, 0), Some(0)),
            (prices(RATES), usage(100, 0, 0, 10, 0), Some(450)),
            // 70 plain, 20 read, 10 written: 210 + 6 + 37.5; 6 plain, 4 thought: 90 + 80.
            (prices(RATES), usage(100, 20, 10, 10, 4), Some(424)),
            // No discount, no price of its own for thought; a write without a price is unknown.
            (prices(PLAIN), usage(100, 20, 0, 10, 4), Some(450)),
            (prices(PLAIN), usage(100, 20, 1, 10, 4), None),
            // Rounded up once: 0.3 of a millionth.
            (prices(RATES), usage(1, 1, 0, 0, 0), Some(1)),
            // Exactly at the border the prompt is short; beyond the last one its price is unknown.
            (long, usage(100, 0, 0, 0, 0), Some(300)),
            (long, usage(101, 0, 0, 0, 0), Some(606)),
            (long, usage(200, 0, 0, 0, 0), Some(1200)),
            (long, usage(201, 0, 0, 0, 0), None),
            // Counts that contradict each other never cost less than what they name.
            (prices(RATES), usage(0, 10, 10, 0, 5), Some(141)),
            (prices(RATES), usage(u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX), Some(u64::MAX)),
            (Prices::free(), usage(u64::MAX, 5, 5, u64::MAX, 5), Some(0)),
        ];
        for (prices, usage, expected) in cases {
            assert_eq!(prices.cost(&usage), expected, "{usage:?} at {prices:?}");
        }
    }

    #[test]
    fn what_is_set_aside_is_never_less_than_what_the_call_can_cost() {
        let cheap_when_long = LongPrompt { above: 50, rates: Rates { input: 1, output: 1, ..PLAIN } };
        let all = [
            prices(RATES),
            prices(PLAIN),
            Prices { long_prompt: Some(cheap_when_long), ..prices(RATES) },
            Prices::free(),
        ];
        for prices in all {
            for (input, output) in [(0, 0), (1, 1), (50, 9), (51, 9), (1_000, 1_000)] {
                let reserved = prices.reserve(input, output).unwrap();
                for prompt in [input, input / 2] {
                    for (cached, written) in [(0, 0), (prompt, 0), (0, prompt), (prompt / 3, prompt / 3)] {
                        for thought in [0, output / 2, output] {
                            let used = usage(prompt, cached, written, output, thought);
                            let cost = prices.cost(&used).unwrap_or(0);
                            assert!(cost <= reserved, "{used:?} at {prices:?}: {cost} > {reserved}");
                        }
                    }
                }
            }
        }
        let bounded = Prices { up_to: Some(100), ..prices(RATES) };
        assert_eq!((bounded.reserve(100, 0), bounded.reserve(101, 0)), (Some(375), None));
    }

    #[test]
    fn prices_of_older_manifests_are_read_and_all_others_survive_the_journal() {
        let old: Prices =
            serde_json::from_value(json!({ "input": 3_000_000, "output": 15_000_000 })).unwrap();
        assert_eq!(old, prices(PLAIN));
        let long = Some(LongPrompt { above: 7, rates: PLAIN });
        for prices in [old, Prices { up_to: Some(9), long_prompt: long, ..prices(RATES) }, Prices::free()] {
            let written = serde_json::to_string(&prices).unwrap();
            assert_eq!(serde_json::from_str::<Prices>(&written).unwrap(), prices);
        }
    }
}
