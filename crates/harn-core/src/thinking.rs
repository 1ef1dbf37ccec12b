//! How much a model is to think before it answers, in the words of every provider at once.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One policy for all providers; each adapter lowers it to what its provider understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Thinking {
    /// As the provider does it by itself.
    #[default]
    Auto,
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

impl Thinking {
    /// Every value, `auto` first and then rising.
    pub const ALL: [Self; 7] =
        [Self::Auto, Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownThinking(String);

impl fmt::Display for UnknownThinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = &self.0;
        write!(f, "`{word}` is not a thought level; use one of auto, off, minimal, low, medium, high, xhigh")
    }
}

impl std::error::Error for UnknownThinking {}

impl FromStr for Thinking {
    type Err = UnknownThinking;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|level| level.as_str() == word);
        let alias = matches!(word, "none" | "disabled" | "no_think" | "nothink").then_some(Self::Off);
        known.or(alias).ok_or_else(|| UnknownThinking(word.chars().take(40).collect()))
    }
}

impl TryFrom<String> for Thinking {
    type Error = UnknownThinking;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::Thinking;

    #[test]
    fn levels_and_aliases_are_read_and_written_by_their_names() {
        for level in Thinking::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("\"{level}\""));
        }
        for alias in ["none", "disabled", "no_think", "nothink"] {
            assert_eq!(serde_json::from_str::<Thinking>(&format!("\"{alias}\"")).unwrap(), Thinking::Off);
        }
        for unknown in ["", "max", "Off", "@inherit"] {
            assert!(unknown.parse::<Thinking>().unwrap_err().to_string().contains("auto, off"));
        }
    }
}
