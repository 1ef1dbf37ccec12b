//! What Google's errors mean: a `google.rpc.Status` in the body of a refusal, or in the midst of a stream.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ModelError;
use crate::providers::{error_text, is_context_overflow};

pub(super) fn refusal(status: u16, body: &[u8]) -> ModelError {
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    // A stream that was asked for without events comes as a list, its errors too.
    let json = json.get(0).unwrap_or(&json);
    explain(status, error_text(status, body), &json["error"])
}

/// An error that came with status 200.
pub(super) fn in_stream(error: &Value) -> ModelError {
    let code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let status = code.unwrap_or_else(|| status_of(error["status"].as_str().unwrap_or_default()));
    explain(status, error_text(status, json!({ "error": error }).to_string().as_bytes()), error)
}

fn explain(status: u16, message: String, error: &Value) -> ModelError {
    let word = error["status"].as_str().unwrap_or_default();
    match status {
        // A key that is wrong is an invalid argument to Google.
        400 if is_about_the_key(error, &message) => ModelError::Auth { message },
        400 if is_context_overflow(&message) => ModelError::ContextTooLong { message },
        // The country, or the account's billing.
        400 if word == "FAILED_PRECONDITION" => ModelError::PermissionDenied { message },
        429 => ModelError::RateLimited { message, retry_after_ms: retry_after(error) },
        _ => ModelError::from_status(status, message),
    }
}

fn is_about_the_key(error: &Value, message: &str) -> bool {
    let reasons = details(error).filter_map(|detail| detail["reason"].as_str());
    let message = message.to_ascii_lowercase();
    reasons.into_iter().any(|reason| reason == "API_KEY_INVALID")
        || message.contains("api key not valid")
        || message.contains("api key expired")
}

fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error["details"].as_array().into_iter().flatten()
}

/// `RetryInfo.retryDelay`, such as `37s` or `0.5s`, in milliseconds.
fn retry_after(error: &Value) -> Option<u64> {
    let delay = details(error).find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(wait.as_millis()).ok()
}

fn status_of(word: &str) -> u16 {
    match word {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => 400,
        "UNAUTHENTICATED" => 401,
        "PERMISSION_DENIED" => 403,
        "NOT_FOUND" => 404,
        "RESOURCE_EXHAUSTED" => 429,
        "DEADLINE_EXCEEDED" => 504,
        _ => 503,
    }
}
