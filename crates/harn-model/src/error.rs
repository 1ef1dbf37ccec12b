//! Why a call of a model gave no answer, in the few kinds that a caller treats differently.

use serde::Deserialize;

/// Readable from a script as `{"kind": "rate_limited", "message": "..", "retry_after_ms": 5}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ModelError {
    #[error("the provider did not accept the credentials: {message}")]
    Auth { message: String },
    #[error("the provider does not permit this: {message}")]
    PermissionDenied { message: String },
    #[error("the provider does not know the model: {message}")]
    NotFound { message: String },
    #[error("the model call is not valid: {message}")]
    InvalidRequest { message: String },
    #[error("the conversation is too long for the model: {message}")]
    ContextTooLong { message: String },
    #[error("the provider limits the rate of calls: {message}")]
    RateLimited { message: String, retry_after_ms: Option<u64> },
    #[error("the provider is overloaded: {message}")]
    Overloaded { message: String },
    #[error("the model did not answer in time: {message}")]
    Timeout { message: String },
    #[error("the provider's content filter stopped the call: {message}")]
    ContentFilter { message: String },
    #[error("the provider could not be reached: {message}")]
    Network { message: String },
    #[error("the provider's answer could not be understood: {message}")]
    Malformed { message: String },
    /// The stream ended without a `Stop`: whatever came before is half an answer.
    #[error("the model's answer broke off: {message}")]
    CutStream { message: String },
}

impl ModelError {
    /// The cause, without the words that every error of this kind begins with.
    pub fn message(&self) -> &str {
        match self {
            Self::Auth { message }
            | Self::PermissionDenied { message }
            | Self::NotFound { message }
            | Self::InvalidRequest { message }
            | Self::ContextTooLong { message }
            | Self::RateLimited { message, .. }
            | Self::Overloaded { message }
            | Self::Timeout { message }
            | Self::ContentFilter { message }
            | Self::Network { message }
            | Self::Malformed { message }
            | Self::CutStream { message } => message,
        }
    }

    /// The same error with another cause.
    #[must_use]
    pub fn with_message(mut self, new: String) -> Self {
        match &mut self {
            Self::Auth { message }
            | Self::PermissionDenied { message }
            | Self::NotFound { message }
            | Self::InvalidRequest { message }
            | Self::ContextTooLong { message }
            | Self::RateLimited { message, .. }
            | Self::Overloaded { message }
            | Self::Timeout { message }
            | Self::ContentFilter { message }
            | Self::Network { message }
            | Self::Malformed { message }
            | Self::CutStream { message } => *message = new,
        }
        self
    }

    /// What a status of HTTP means when the provider says nothing more precise.
    pub fn from_status(status: u16, message: String) -> Self {
        match status {
            401 => Self::Auth { message },
            402 | 403 => Self::PermissionDenied { message },
            404 | 410 => Self::NotFound { message },
            408 | 504 => Self::Timeout { message },
            413 => Self::ContextTooLong { message },
            429 => Self::RateLimited { message, retry_after_ms: None },
            451 => Self::ContentFilter { message },
            400..=499 => Self::InvalidRequest { message },
            500..=599 => Self::Overloaded { message },
            _ => Self::Malformed { message },
        }
    }

    /// The stable name of this kind, for journals and clients.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "auth",
            Self::PermissionDenied { .. } => "permission_denied",
            Self::NotFound { .. } => "not_found",
            Self::InvalidRequest { .. } => "invalid_request",
            Self::ContextTooLong { .. } => "context_too_long",
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Timeout { .. } => "timeout",
            Self::ContentFilter { .. } => "content_filter",
            Self::Network { .. } => "network",
            Self::Malformed { .. } => "malformed",
            Self::CutStream { .. } => "cut_stream",
        }
    }

    /// Whether the same call may succeed later. `Malformed` may not: it means that we and the provider
    /// disagree about the format, which time does not mend.
    pub fn retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Timeout { .. }
            | Self::Network { .. }
            | Self::CutStream { .. } => true,
            Self::Auth { .. }
            | Self::PermissionDenied { .. }
            | Self::NotFound { .. }
            | Self::InvalidRequest { .. }
            | Self::ContextTooLong { .. }
            | Self::ContentFilter { .. }
            | Self::Malformed { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ModelError;

    #[test]
    fn every_kind_is_read_by_its_code_and_says_whether_to_retry() {
        let cases = [
            ("auth", false),
            ("permission_denied", false),
            ("not_found", false),
            ("invalid_request", false),
            ("context_too_long", false),
            ("rate_limited", true),
            ("overloaded", true),
            ("timeout", true),
            ("content_filter", false),
            ("network", true),
            ("malformed", false),
            ("cut_stream", true),
        ];
        for (code, retryable) in cases {
            let json = format!(r#"{{"kind":"{code}","message":"the cause"}}"#);
            let error: ModelError = serde_json::from_str(&json).expect(code);
            assert_eq!((error.code(), error.retryable()), (code, retryable));
            assert!(error.to_string().ends_with(": the cause"), "{error}");
        }
    }
}
