//! What a run may spend, and what it has spent.

use serde::{Deserialize, Serialize};

use crate::chat::ModelRef;
use crate::decision::{
    Decision, DecisionContext, DecisionTag, EffectKind, MatchedRule, RiskLabel, RuleSource, Verdict,
};
use crate::price::Prices;
use crate::resource::{AutonomyTier, Failure};
use crate::tool::{SideEffect, ToolKind};

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

    /// The end of a run that has taken longer than it may.
    pub fn out_of_time(seconds: u64) -> Failure {
        Failure::new(
            "budget_exhausted",
            format!("The run took longer than the {seconds} seconds of its budget."),
        )
    }

    /// Why a model call may not set so much aside, beside what is spent or set aside already. `whose` begins the
    /// sentence.
    pub fn refuses(
        &self,
        whose: &str,
        committed: Spend,
        wanted: Spend,
        (model, prices): (&ModelRef, Option<Prices>),
    ) -> Option<OverBudget> {
        let mut total = committed;
        total += wanted;
        if let Some(limit) = self.tokens.filter(|limit| total.tokens() > *limit) {
            let reason = format!(
                "{whose} may use {limit} tokens; {} are used or set aside, and this call could need {} more.",
                committed.tokens(),
                wanted.tokens()
            );
            return Some(OverBudget { rule: "budget.tokens", reason });
        }
        let reason = too_dear(whose, self.micro_usd?, committed, wanted, (model, prices))?;
        Some(OverBudget { rule: "budget.usd", reason })
    }
}

/// Why a budget in money does not allow a call. What cannot be counted is not allowed.
fn too_dear(
    whose: &str,
    limit: u64,
    committed: Spend,
    wanted: Spend,
    (model, prices): (&ModelRef, Option<Prices>),
) -> Option<String> {
    let Some(more) = wanted.micro_usd else {
        let length = match prices {
            Some(_) => format!(" for a prompt of up to {} tokens", wanted.input_tokens),
            None => String::new(),
        };
        return Some(format!(
            "The price of {}:{} is not known{length}, so a budget in money cannot be kept; add `prices` for it in \
             llm.toml, or give the run a budget in tokens.",
            model.provider, model.model
        ));
    };
    let Some(before) = committed.micro_usd else {
        return Some(format!(
            "{whose} has made calls whose cost is not known, so a budget in money cannot be kept; give it a budget in \
             tokens."
        ));
    };
    (before.saturating_add(more) > limit).then(|| {
        format!(
            "{whose} may cost {}; {} is spent or set aside, and this call could cost {} more.",
            dollars(limit),
            dollars(before),
            dollars(more)
        )
    })
}

/// A model call that a budget does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverBudget {
    pub rule: &'static str,
    pub reason: String,
}

impl OverBudget {
    /// The refusal in the same form as every other decision.
    pub fn decision(self, tier: AutonomyTier, model: &ModelRef) -> Decision {
        Decision {
            record: DecisionTag::Tag,
            action: Verdict::Deny,
            reason: self.reason,
            matched_rule: MatchedRule {
                source: RuleSource::Budget,
                action: Verdict::Deny,
                id: self.rule.to_owned(),
                index: 0,
            },
            risk_labels: vec![RiskLabel::Spending],
            context: DecisionContext {
                effect: EffectKind::Model,
                tool_name: format!("{}/{}", model.provider, model.model),
                tool_kind: ToolKind::Other,
                side_effect: SideEffect::None,
                tier,
                paths: Vec::new(),
                commands: Vec::new(),
                hosts: Vec::new(),
                capabilities: Vec::new(),
            },
        }
    }
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of a US dollar. None is unknown, and so is every sum with it.
    pub micro_usd: Option<u64>,
}

impl Default for Spend {
    fn default() -> Self {
        Self { input_tokens: 0, output_tokens: 0, micro_usd: Some(0) }
    }
}

impl Spend {
    /// What a call may use at most.
    pub fn at_most(input_tokens: u64, output_tokens: u64, prices: Option<Prices>) -> Self {
        let micro_usd = prices.and_then(|prices| prices.reserve(input_tokens, output_tokens));
        Self { input_tokens, output_tokens, micro_usd }
    }

    pub fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for Spend {
    /// Counts come from outside, so a sum that is too large stays at the largest count.
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.micro_usd = self.micro_usd.zip(other.micro_usd).map(|(sum, more)| sum.saturating_add(more));
    }
}

/// Millionths of a US dollar for people: cents always, smaller amounts as far as there are any.
pub fn dollars(micro: u64) -> String {
    if micro == 0 {
        return "$0".into();
    }
    let text = format!("${}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let cents = text.len() - 4;
    let end = text.trim_end_matches('0').len().max(cents);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_as_exactly_as_it_is_known() {
        let cases = [
            (0, "$0"),
            (1, "$0.000001"),
            (120, "$0.00012"),
            (10_000, "$0.01"),
            (1_500_000, "$1.50"),
            (2_000_000, "$2.00"),
        ];
        for (micro, text) in cases {
            assert_eq!(dollars(micro), text);
        }
    }

    #[test]
    fn a_sum_with_something_unknown_is_unknown_and_none_overflows() {
        let known = |micro| Spend { input_tokens: 1, output_tokens: 2, micro_usd: Some(micro) };
        let sum = |parts: &[Spend]| {
            let mut sum = Spend::default();
            parts.iter().for_each(|part| sum += *part);
            sum
        };
        assert_eq!(
            sum(&[known(3), known(4)]),
            Spend { input_tokens: 2, output_tokens: 4, micro_usd: Some(7) }
        );
        let unknown = Spend { micro_usd: None, ..known(0) };
        assert_eq!(sum(&[known(3), unknown, known(4)]).micro_usd, None);
        assert_eq!(sum(&[known(u64::MAX), known(1)]).micro_usd, Some(u64::MAX));
    }
}
