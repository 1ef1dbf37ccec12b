//! What the errors of OpenAI and its kin mean: from bodies of refusals, and from objects within a stream.

use serde_json::Value;

use super::wait;
use crate::ModelError;
use crate::providers::{error_text, is_context_overflow};

/// Of a message, this much is kept.
const MESSAGE: usize = 2000;
/// Of what a server behind a gateway said, this much.
const BEHIND: usize = 500;

/// What an answer other than 2xx means.
pub(in crate::providers) fn refusal(status: u16, body: &[u8]) -> ModelError {
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let json = json.get(0).unwrap_or(&json);
    let error = json.get("error").filter(|error| error.is_object()).unwrap_or(json);
    let message = error_text(status, body) + &behind(error);
    kind(Some(status), error, message)
}

/// What an error object means that comes although the status was a success.
pub(in crate::providers) fn within(error: &Value) -> ModelError {
    let text = error.as_str().or_else(|| error.get("message")?.as_str()).filter(|text| !text.is_empty());
    let message = match text {
        Some(text) => text.chars().take(MESSAGE).collect(),
        None => format!("an error without a message: {}", start_of(&error.to_string(), BEHIND)),
    };
    let status = ["code", "status", "status_code"].iter().find_map(|name| error.get(name)?.as_u64());
    let status = status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400);
    kind(status, error, message + &behind(error))
}

fn start_of(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// Gateways say little themselves, but quote the server behind them.
fn behind(error: &Value) -> String {
    match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) if !raw.is_empty() => format!(": {}", start_of(raw, BEHIND)),
        _ => String::new(),
    }
}

fn kind(status: Option<u16>, error: &Value, message: String) -> ModelError {
    let too_long = matches!(status, None | Some(400 | 413 | 422)) && is_context_overflow(&message);
    if too_long || status == Some(413) {
        return ModelError::ContextTooLong { message };
    }
    let places = ["/code", "/innererror/code", "/type"];
    let named = places.iter().filter_map(|place| error.pointer(place)?.as_str());
    let moderated = error.pointer("/metadata/reasons").is_some_and(Value::is_array);
    if moderated {
        return ModelError::ContentFilter { message };
    }
    for name in named {
        if let Some(kind) = by_name(name) {
            return kind(message);
        }
    }
    match status {
        Some(429) => rate_limited(message),
        Some(498) => ModelError::Overloaded { message },
        Some(status) => ModelError::from_status(status, message),
        None if error.get("type").is_some_and(|kind| kind == "invalid_request_error") => {
            ModelError::InvalidRequest { message }
        }
        // An error that came in place of an answer, and says nothing about us.
        None => ModelError::Overloaded { message },
    }
}

/// Within a stream there are no headers, but the message says when to come back.
fn rate_limited(message: String) -> ModelError {
    let retry_after_ms = wait::in_words(&message).and_then(|wait| u64::try_from(wait.as_millis()).ok());
    ModelError::RateLimited { message, retry_after_ms }
}

type Kind = fn(String) -> ModelError;

/// The kind of a code or type that says more than a status does.
fn by_name(name: &str) -> Option<Kind> {
    let kind: Kind = match name {
        "context_length_exceeded" | "exceed_context_size_error" | "string_above_max_length" => {
            |message| ModelError::ContextTooLong { message }
        }
        // Waiting does not fill an account, so these are no rate limits, although they come as 429.
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" | "access_terminated" => {
            |message| ModelError::PermissionDenied { message }
        }
        "rate_limit_exceeded" | "rate_limit_error" | "rate_limit_reached_error" => rate_limited,
        "content_filter" | "content_policy_violation" | "ResponsibleAIPolicyViolation" => {
            |message| ModelError::ContentFilter { message }
        }
        "invalid_api_key" | "authentication_error" => |message| ModelError::Auth { message },
        "model_not_found" | "DeploymentNotFound" => |message| ModelError::NotFound { message },
        "server_error" | "internal_error" | "overloaded" | "overloaded_error" | "engine_overloaded"
        | "slow_down" => |message| ModelError::Overloaded { message },
        "invalid_prompt" | "invalid_image" | "invalid_encrypted_content" => {
            |message| ModelError::InvalidRequest { message }
        }
        _ => return None,
    };
    Some(kind)
}
