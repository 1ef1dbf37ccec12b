//! Lowering the one thinking policy to what a model offers.

use harn_core::chat::Thinking;

use crate::ThinkingKind;

/// The level of `offered` that comes nearest to `wanted`: the same one, else the next lower one that still thinks,
/// else the lowest. None where the provider decides by itself, or where nothing is offered.
///
/// A wish to think is never lowered to `off`, and a wish not to think becomes the least thinking there is.
pub fn nearest(wanted: Thinking, offered: &[Thinking]) -> Option<Thinking> {
    if wanted == Thinking::Auto {
        return None;
    }
    if offered.contains(&wanted) {
        return Some(wanted);
    }
    let thinks = |level: &&Thinking| !matches!(level, Thinking::Auto | Thinking::Off);
    let levels = || offered.iter().filter(thinks);
    levels().filter(|level| **level < wanted).max().or_else(|| levels().min()).copied()
}

/// Whether a model that is known to be able to think does so when it is told this.
pub(crate) fn thinks(kind: &ThinkingKind, wanted: Thinking) -> bool {
    match kind {
        ThinkingKind::Effort { levels } | ThinkingKind::Adaptive { levels } => {
            nearest(wanted, levels) != Some(Thinking::Off)
        }
        ThinkingKind::Always => true,
        ThinkingKind::Budget { .. } | ThinkingKind::Switch => wanted != Thinking::Off,
        ThinkingKind::Unknown
        | ThinkingKind::Never
        | ThinkingKind::PromptTag
        | ThinkingKind::TemplateSwitch => false,
    }
}

#[cfg(test)]
mod tests {
    use Thinking::{Auto, High, Low, Medium, Minimal, Off, Xhigh};

    use super::*;

    #[test]
    fn a_level_is_lowered_to_the_nearest_one_that_the_model_offers() {
        let common = [Off, Low, Medium, High];
        let always = [Low, High];
        let cases: [(&[Thinking], Thinking, Option<Thinking>); 12] = [
            (&common, Auto, None),
            (&common, Off, Some(Off)),
            (&common, Minimal, Some(Low)),
            (&common, Medium, Some(Medium)),
            (&common, Xhigh, Some(High)),
            (&always, Off, Some(Low)),
            (&always, Medium, Some(Low)),
            (&always, Xhigh, Some(High)),
            (&[Off], High, None),
            (&[Off], Off, Some(Off)),
            (&[], High, None),
            (&[Auto, Xhigh], Low, Some(Xhigh)),
        ];
        for (offered, wanted, expected) in cases {
            assert_eq!(nearest(wanted, offered), expected, "{wanted} of {offered:?}");
        }
    }
}
