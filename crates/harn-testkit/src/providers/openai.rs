//! What both formats of OpenAI have in common: the key and the form of a refusal.

use axum::http::HeaderMap;
use serde_json::json;

use super::{Refusal, header};

pub const KEY: &str = "sk-test";

/// The key as a bearer token, or in the header that Azure has for it.
pub fn admit(headers: &HeaderMap) -> Result<(), Refusal> {
    let bearer = header(headers, "authorization").and_then(|value| value.strip_prefix("Bearer "));
    if bearer.or_else(|| header(headers, "api-key")) == Some(KEY) {
        return Ok(());
    }
    Err(coded(401, "invalid_api_key", "Incorrect API key provided."))
}

pub fn refusal(status: u16, message: &str) -> Refusal {
    coded(status, "invalid_value", message)
}

fn coded(status: u16, code: &str, message: &str) -> Refusal {
    let error = json!({"message": message, "type": "invalid_request_error", "code": code, "param": null});
    (status, json!({ "error": error }))
}
