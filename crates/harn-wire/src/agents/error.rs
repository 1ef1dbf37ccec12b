//! The error envelope, and the one table from codes to HTTP statuses and error types.

use harn_core::{Code, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    RequestError,
    AuthError,
    PermissionError,
    NotFoundError,
    ConflictError,
    RateLimitError,
    RuntimeError,
    UpstreamError,
    ServerError,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorResponse {
    pub error: ErrorBody,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody {
    pub code: Code,
    pub message: String,
    #[serde(rename = "type")]
    pub kind: ErrorType,
    pub param: Option<String>,
    pub request_id: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Map<String, Value>,
}

impl ErrorResponse {
    pub fn new(error: Error, request_id: Option<String>) -> Self {
        let kind = http_status(error.code).1;
        let Error { code, message, param, details } = error;
        Self { error: ErrorBody { code, message, kind, param, request_id, details } }
    }
}

/// Spec 001's table of codes.
pub fn http_status(code: Code) -> (u16, ErrorType) {
    use ErrorType::*;
    match code {
        Code::InvalidRequest | Code::InvalidStateTransition => (400, RequestError),
        Code::Unauthenticated => (401, AuthError),
        Code::PermissionDenied => (403, PermissionError),
        Code::ResourceNotFound => (404, NotFoundError),
        Code::Conflict | Code::IdempotencyKeyReused => (409, ConflictError),
        Code::CursorExpired => (410, RequestError),
        Code::PayloadTooLarge => (413, RequestError),
        Code::PolicyViolation => (422, PermissionError),
        Code::ResourceLocked => (423, ConflictError),
        Code::UnsupportedProtocolVersion => (426, RequestError),
        Code::RateLimited => (429, RateLimitError),
        Code::ClientClosedRequest => (499, RequestError),
        Code::InternalError => (500, ServerError),
        Code::NotImplemented => (501, ServerError),
        Code::UpstreamUnavailable => (502, UpstreamError),
        Code::ServiceUnavailable => (503, ServerError),
        Code::DeadlineExceeded => (504, RuntimeError),
    }
}
