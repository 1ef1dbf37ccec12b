//! The one error that every command of the harness gives: a code of spec 001 and words for a person.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error codes of spec 001, and `not_implemented` for its paths that we do not serve yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorCode)]
pub enum Code {
    InvalidRequest,
    InvalidStateTransition,
    Unauthenticated,
    PermissionDenied,
    ResourceNotFound,
    Conflict,
    IdempotencyKeyReused,
    CursorExpired,
    PayloadTooLarge,
    PolicyViolation,
    ResourceLocked,
    UnsupportedProtocolVersion,
    RateLimited,
    ClientClosedRequest,
    InternalError,
    UpstreamUnavailable,
    ServiceUnavailable,
    DeadlineExceeded,
    NotImplemented,
}

/// What went wrong, to what, and what to do next. Internal causes are logged, never put in here.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub code: Code,
    pub message: String,
    /// The request field or parameter at fault.
    pub param: Option<String>,
    pub details: Map<String, Value>,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), param: None, details: Map::new() }
    }

    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message).param(param)
    }

    /// Absent and hidden resources give the same words, so that nothing can be probed.
    pub fn not_found(object: &str, id: impl fmt::Display) -> Self {
        Self::new(Code::ResourceNotFound, format!("No {object} `{id}` is visible to you."))
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Code::Conflict, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::InternalError, message)
    }

    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
