//! What a run may spend, what it has spent, and what a model costs.

use serde::{Deserialize, Serialize};

/// What a run may spend, with all that it starts. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl Budget {
    /// Both have to be kept.
    pub fn and(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self {
            tokens: least(self.tokens, other.tokens),
            micro_usd: least(self.micro_usd, other.micro_usd),
            seconds: least(self.seconds, other.seconds),
        }
    }
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub micro_usd: u64,
}

impl Spend {
    pub fn tokens(self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

impl std::ops::AddAssign for Spend {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.micro_usd += other.micro_usd;
    }
}

impl std::ops::SubAssign for Spend {
    fn sub_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_sub(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_sub(other.output_tokens);
        self.micro_usd = self.micro_usd.saturating_sub(other.micro_usd);
    }
}

/// What a model costs, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: u64,
    pub output: u64,
}

impl Price {
    /// Rounded up: a budget is never overspent by rounding.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> u64 {
        let exact = u128::from(input_tokens) * u128::from(self.input)
            + u128::from(output_tokens) * u128::from(self.output);
        u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
