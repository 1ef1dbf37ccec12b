//! Which model a run asks, and which ones it asks instead when that one fails.

use serde::{Deserialize, Serialize};

use crate::chat::ModelRef;
use crate::price::Prices;

/// More models in a row than help anybody.
pub const MOST_FALLBACKS: usize = 8;

/// A model that a run may turn to, with all that the run has to know of it beforehand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    pub model: ModelRef,
    /// None where they are not known.
    pub prices: Option<Prices>,
    /// Tokens that it takes in.
    pub context_window: u64,
    pub max_output_tokens: u32,
}

/// Who chose the model of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// A pin of the session.
    Session,
    /// The model policy of the persona.
    Persona,
    /// The configuration, or whichever provider has a key.
    #[default]
    Configuration,
}

/// Failures of a model for which another one may help, by the codes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackOn {
    #[serde(alias = "rate_limit")]
    RateLimited,
    Overloaded,
    Timeout,
    Network,
    /// The answer broke off.
    CutStream,
    /// The answer could not be understood.
    Malformed,
    /// The provider did not accept the key.
    Auth,
    /// The provider does not permit it; a denial of our own policy is no such failure.
    PermissionDenied,
    /// The provider does not know the model.
    NotFound,
    /// Helps only with a model that takes in more.
    ContextTooLong,
    /// The model is not configured any more.
    ModelUnavailable,
}

impl FallbackOn {
    pub const ALL: [Self; 11] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::Timeout,
        Self::Network,
        Self::CutStream,
        Self::Malformed,
        Self::Auth,
        Self::PermissionDenied,
        Self::NotFound,
        Self::ContextTooLong,
        Self::ModelUnavailable,
    ];

    /// The code of the failure.
    pub fn code(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::CutStream => "cut_stream",
            Self::Malformed => "malformed",
            Self::Auth => "auth",
            Self::PermissionDenied => "permission_denied",
            Self::NotFound => "not_found",
            Self::ContextTooLong => "context_too_long",
            Self::ModelUnavailable => "model_unavailable",
        }
    }

    /// None for a failure that another model would only repeat, or that is none of a model: an invalid call, a content
    /// filter, a denial, a budget.
    pub fn of(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::FallbackOn;

    #[test]
    fn causes_are_written_as_the_codes_of_failures() {
        for cause in FallbackOn::ALL {
            assert_eq!(serde_json::to_string(&cause).unwrap(), format!("\"{}\"", cause.code()));
            assert_eq!(FallbackOn::of(cause.code()), Some(cause));
        }
        assert_eq!(serde_json::from_str::<FallbackOn>("\"rate_limit\"").unwrap(), FallbackOn::RateLimited);
        for never in ["invalid_request", "content_filter", "denied", "budget_exhausted", "internal_error", ""]
        {
            assert_eq!(FallbackOn::of(never), None, "{never}");
        }
    }
}
