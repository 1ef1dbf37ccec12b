//! Anthropic's errors, as bodies of refusals and as events within a stream.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::providers::{error_text, is_context_overflow};
use crate::{Headers, ModelError};

pub fn from_body(status: u16, body: &[u8]) -> ModelError {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let kind = json.pointer("/error/type").and_then(Value::as_str).unwrap_or_default();
    let message = error_text(status, body);
    match by_kind(kind, &message) {
        Some(error) => error,
        None => refine(ModelError::from_status(status, message)),
    }
}

/// An error that came in the middle of an answer, or in the place of one.
pub fn from_event(error: &Value) -> ModelError {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, message) = (text("type"), text("message").chars().take(2000).collect::<String>());
    // A kind that we do not know says at least that the provider failed.
    by_kind(kind, &message).unwrap_or(ModelError::Overloaded { message: format!("{kind}: {message}") })
}

fn by_kind(kind: &str, message: &str) -> Option<ModelError> {
    let message = message.to_owned();
    let error = match kind {
        "invalid_request_error" => refine(ModelError::InvalidRequest { message }),
        "authentication_error" => ModelError::Auth { message },
        "permission_error" | "billing_error" => ModelError::PermissionDenied { message },
        "not_found_error" => ModelError::NotFound { message },
        "request_too_large" => ModelError::ContextTooLong { message },
        "rate_limit_error" => ModelError::RateLimited { message, retry_after_ms: None },
        "timeout_error" => ModelError::Timeout { message },
        "api_error" | "overloaded_error" => ModelError::Overloaded { message },
        _ => return None,
    };
    Some(error)
}

/// Some causes have no kind of their own, only their own words.
fn refine(error: ModelError) -> ModelError {
    match error {
        ModelError::InvalidRequest { message } if is_context_overflow(&message) => {
            ModelError::ContextTooLong { message }
        }
        ModelError::InvalidRequest { message } if message.contains("content filtering") => {
            ModelError::ContentFilter { message }
        }
        ModelError::InvalidRequest { message } if message.contains("credit balance") => {
            ModelError::PermissionDenied { message }
        }
        other => other,
    }
}

/// How long until the limits that are used up are there again.
pub fn wait(headers: &Headers) -> Option<Duration> {
    let text = |name: String| headers.get(name)?.to_str().ok();
    let date = text("date".into()).and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
    let now = date.unwrap_or_else(Timestamp::now);
    let until = |limit: &str| {
        let used_up = text(format!("anthropic-ratelimit-{limit}-remaining"))? == "0";
        let reset: Timestamp = text(format!("anthropic-ratelimit-{limit}-reset"))?.parse().ok()?;
        used_up.then(|| Duration::try_from(reset.duration_since(now)).unwrap_or_default())
    };
    ["requests", "tokens", "input-tokens", "output-tokens"].into_iter().filter_map(until).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reset_of_what_is_used_up_is_waited_for() {
        const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        type Given = &'static [(&'static str, &'static str)];
        let cases: [(Given, Option<u64>); 5] = [
            (&[DATE], None),
            (
                &[
                    DATE,
                    ("anthropic-ratelimit-requests-remaining", "5"),
                    ("anthropic-ratelimit-requests-reset", "1994-11-06T09:49:37Z"),
                ],
                None,
            ),
            (
                &[
                    DATE,
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:40Z"),
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:47Z"),
                ],
                Some(10),
            ),
            (
                &[
                    DATE,
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:00:00Z"),
                ],
                Some(0),
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "soon"),
                ],
                None,
            ),
        ];
        for (given, expected) in cases {
            let mut headers = Headers::new();
            for (name, value) in given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(wait(&headers), expected.map(Duration::from_secs), "{given:?}");
        }
    }
}
