//! Answers that are not the one that was asked for: refusals, web pages, redirects, foreign content types.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, LOCATION};

use super::model::Parts;
use super::retry;
use crate::{Framing, Headers, ModelError};

/// Of a refusal, no more is read than anyone needs to understand it.
const BODY_LIMIT: usize = 64 * 1024;

/// Why a call failed, and what the provider says about trying again.
pub(super) struct Failure {
    pub error: ModelError,
    pub asked: Option<Duration>,
    pub is_final: bool,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self { error, asked: None, is_final: false }
    }
}

pub(super) async fn refused(parts: &Parts, response: Response) -> Failure {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = head_of(response, parts.options.stall).await;
    let asked = retry::asked(&headers).or_else(|| parts.codec.wait(&headers));
    let mut error = explain(parts, status, &headers, &body);
    if let (ModelError::RateLimited { retry_after_ms, .. }, Some(wait)) = (&mut error, asked) {
        *retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    Failure { error, asked, is_final: retry::forbidden(&headers) }
}

fn explain(parts: &Parts, status: u16, headers: &Headers, body: &[u8]) -> ModelError {
    let base = parts.target.shown_url();
    if (300..400).contains(&status) {
        let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
        let message = format!("{base} redirects to {to} (status {status}), which is not followed");
        return ModelError::NotFound { message };
    }
    if is_web_page(headers, body) {
        return ModelError::from_status(status, web_page(&base, status));
    }
    parts.codec.refusal(status, headers, body)
}

/// How to read an answer of this content type.
pub(super) fn framing(parts: &Parts, response: &Response, expected: Framing) -> Result<Framing, ModelError> {
    let Some(given) = media_type(response.headers()) else { return Ok(expected) };
    let base = parts.target.shown_url();
    match given.as_str() {
        "text/event-stream" => Ok(Framing::Events),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/x-jsonlines" => {
            Ok(Framing::Lines)
        }
        // Some servers call every answer JSON, one value per line too.
        "application/json" if expected == Framing::Lines => Ok(Framing::Lines),
        "application/json" => Ok(Framing::Whole),
        "text/html" | "application/xhtml+xml" => Err(ModelError::Malformed { message: web_page(&base, 200) }),
        other => {
            let message = format!(
                "{base} answered with the content type `{}`; is the base URL that of a model provider?",
                other.escape_debug()
            );
            Err(ModelError::Malformed { message })
        }
    }
}

fn media_type(headers: &Headers) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn is_web_page(headers: &Headers, body: &[u8]) -> bool {
    let start: Vec<u8> = body.trim_ascii_start().iter().take(14).map(u8::to_ascii_lowercase).collect();
    media_type(headers).is_some_and(|given| given == "text/html")
        || start.starts_with(b"<!doctype html")
        || start.starts_with(b"<html")
}

fn web_page(base: &str, status: u16) -> String {
    format!("{base} answered with a web page (status {status}) instead of an answer; is the base URL right?")
}

/// As much of the body as comes within the time that one piece of an answer may take.
async fn head_of(mut response: Response, patience: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        // Whatever came says more than the reason why no more did.
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() >= BODY_LIMIT {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(patience, reading).await;
    body.truncate(BODY_LIMIT);
    body
}
