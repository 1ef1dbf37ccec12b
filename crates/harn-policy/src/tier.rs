//! The first policy: the autonomy tier is a ceiling, reads are free below it, writes and commands ask.

use harn_core::AutonomyTier;
use harn_core::run::{Decision, Verdict};
use harn_core::tool::SideEffect;

/// What a tier says about a tool with this reach. `tool` is only used in the words.
pub fn decide(tier: AutonomyTier, tool: &str, reach: SideEffect) -> Decision {
    let reads = reach <= SideEffect::ReadOnly;
    let (verdict, rule, reason) = match tier {
        _ if reach == SideEffect::None => {
            (Verdict::Allow, "reach.none", format!("`{tool}` touches nothing."))
        }
        AutonomyTier::Shadow => {
            (Verdict::Deny, "tier.shadow", format!("The tier `shadow` performs nothing, so not `{tool}`."))
        }
        _ if reads => (Verdict::Allow, "reach.read_only", format!("`{tool}` only reads.")),
        AutonomyTier::Suggest => (
            Verdict::Deny,
            "tier.suggest",
            format!("The tier `suggest` may read but not change anything, so not `{tool}`."),
        ),
        AutonomyTier::ActWithApproval => (
            Verdict::Ask,
            "tier.act_with_approval",
            format!("`{tool}` changes something, and the tier `act_with_approval` asks a person first."),
        ),
        AutonomyTier::ActAuto => {
            (Verdict::Allow, "tier.act_auto", format!("The tier `act_auto` lets `{tool}` run by itself."))
        }
    };
    Decision { verdict, rule: rule.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AutonomyTier::*;
    use Verdict::*;

    #[test]
    fn the_tier_is_a_ceiling_and_writes_ask() {
        let table = [
            (Shadow, [Allow, Deny, Deny, Deny, Deny]),
            (Suggest, [Allow, Allow, Deny, Deny, Deny]),
            (ActWithApproval, [Allow, Allow, Ask, Ask, Ask]),
            (ActAuto, [Allow, Allow, Allow, Allow, Allow]),
        ];
        let reaches = [
            SideEffect::None,
            SideEffect::ReadOnly,
            SideEffect::WorkspaceWrite,
            SideEffect::ProcessExec,
            SideEffect::Network,
        ];
        for (tier, verdicts) in table {
            for (reach, verdict) in reaches.into_iter().zip(verdicts) {
                assert_eq!(decide(tier, "t", reach).verdict, verdict, "{tier:?} {reach:?}");
            }
        }
    }
}
