//! One line of a file of answers.

use harn_core::chat::{ModelAnswer, StopReason, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Chunk, ModelError};

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Line {
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub consume_match: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Call {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    pub name: String,
    #[serde(default, alias = "args", alias = "input")]
    pub arguments: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Fault {
    #[serde(default)]
    pub category: String,
    #[serde(default)]
    pub message: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the fields of a line hold, in words.
const FIELDS: [(&str, &str); 13] = [
    ("match", "a text"),
    ("consume_match", "true or false"),
    ("text", "a text"),
    ("thinking", "a text"),
    ("tool_calls", "a list such as [{\"name\": \"look\", \"arguments\": {\"city\": \"Ulm\"}}]"),
    ("stop_reason", "a text"),
    ("input_tokens", "a number"),
    ("output_tokens", "a number"),
    ("cache_read_tokens", "a number"),
    ("cache_write_tokens", "a number"),
    ("model", "a text"),
    ("provider", "a text"),
    ("error", "an object such as {\"category\": \"rate_limit\", \"message\": \"later\"}"),
];

impl Line {
    /// The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Value = serde_json::from_str(text).map_err(|error| format!("this is no JSON: {error}"))?;
        let Value::Object(fields) = &read else { return Err("this is no object".into()) };
        for (name, holds) in FIELDS {
            let Some(value) = fields.get(name) else { continue };
            let alone = Map::from_iter([(name.to_owned(), value.clone())]);
            if serde_json::from_value::<Self>(alone.into()).is_err() {
                return Err(format!("`{name}` must be {holds}"));
            }
        }
        serde_json::from_value(read).map_err(|error| error.to_string())
    }

    pub fn of_answer(answer: &ModelAnswer) -> Self {
        let call = |call: &harn_core::tool::ToolCall| Call {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.args.clone(),
        };
        Self {
            text: answer.text.clone(),
            thinking: Some(answer.thinking.clone()).filter(|text| !text.is_empty()),
            tool_calls: answer.tool_calls.iter().map(call).collect(),
            stop_reason: Some(word(&answer.stop).to_owned()),
            input_tokens: answer.usage.input_tokens,
            output_tokens: answer.usage.output_tokens,
            cache_read_tokens: answer.usage.cached_tokens,
            cache_write_tokens: answer.usage.cache_write_tokens,
            ..Self::default()
        }
    }

    pub fn of_error(error: &ModelError) -> Self {
        let fault = Fault { category: category(error).to_owned(), message: error.message().to_owned() };
        Self { error: Some(fault), ..Self::default() }
    }

    /// Whether it is meant for a conversation in which this was said.
    pub fn answers(&self, said: &[&str]) -> bool {
        let Some(pattern) = &self.matches else { return false };
        match pattern.contains('*') {
            true => said.iter().any(|text| fits(pattern, text)),
            false => said.iter().any(|text| text.contains(pattern.as_str())),
        }
    }

    pub fn is_for_anything(&self) -> bool {
        self.matches.is_none()
    }

    /// Whether it answers again.
    pub fn is_kept(&self) -> bool {
        self.matches.is_some() && !self.consume_match
    }

    pub fn chunks(self) -> Vec<Result<Chunk, ModelError>> {
        if let Some(fault) = self.error {
            return vec![Err(fault.into_error())];
        }
        let stop = match (self.stop_reason, self.tool_calls.is_empty()) {
            (Some(word), _) => stop_reason(word),
            (None, true) => StopReason::EndTurn,
            (None, false) => StopReason::ToolUse,
        };
        let usage = Usage {
            cached_tokens: self.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens,
            ..Usage::new(self.input_tokens, self.output_tokens)
        };
        let thinking = self.thinking.map(Chunk::Thinking);
        let text = Some(self.text).filter(|text| !text.is_empty()).map(Chunk::Text);
        let calls = self.tool_calls.into_iter();
        let calls = calls.map(|Call { id, name, arguments }| Chunk::ToolCall { id, name, args: arguments });
        let end = [Chunk::Usage(usage), Chunk::Stop(stop)];
        thinking.into_iter().chain(text).chain(calls).chain(end).map(Ok).collect()
    }
}

/// Whether a text is what a pattern describes; `*` stands for anything. Never slower than the product of their lengths.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

fn word(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
        StopReason::Other(word) => word,
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "end_turn" | "stop" => StopReason::EndTurn,
        "tool_use" | "tool_calls" => StopReason::ToolUse,
        "max_tokens" | "length" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

/// The word of the language for an error.
fn category(error: &ModelError) -> &'static str {
    match error {
        ModelError::Auth { .. } => "auth",
        ModelError::PermissionDenied { .. } => "permission_denied",
        ModelError::NotFound { .. } => "not_found",
        ModelError::InvalidRequest { .. } | ModelError::ContentFilter { .. } => "invalid_request",
        ModelError::ContextTooLong { .. } => "context_overflow",
        ModelError::RateLimited { .. } => "rate_limit",
        ModelError::Overloaded { .. } => "overloaded",
        ModelError::Timeout { .. } => "timeout",
        ModelError::Network { .. } | ModelError::CutStream { .. } => "transient_network",
        ModelError::Malformed { .. } => "server_error",
    }
}

impl Fault {
    fn into_error(self) -> ModelError {
        let message = self.message;
        match self.category.as_str() {
            "auth" => ModelError::Auth { message },
            "permission_denied" => ModelError::PermissionDenied { message },
            "not_found" => ModelError::NotFound { message },
            "context_overflow" => ModelError::ContextTooLong { message },
            "rate_limit" => ModelError::RateLimited { message, retry_after_ms: None },
            "overloaded" => ModelError::Overloaded { message },
            "timeout" => ModelError::Timeout { message },
            "transient_network" | "network" => ModelError::Network { message },
            "server_error" => ModelError::Malformed { message },
            _ => ModelError::InvalidRequest { message },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything_and_words_alone_have_to_occur() {
        let cases = [
            ("*", "", true),
            ("*weather*", "the weather today", true),
            ("the*day", "the weather today", true),
            ("the*day", "the weather todays", false),
            ("a*a", "a", false),
            ("*b*a", "abca", true),
            ("weather", "the weather today", true),
            ("rain", "the weather today", false),
            ("", "anything", true),
        ];
        for (pattern, text, expected) in cases {
            let line = Line { matches: Some(pattern.into()), ..Line::default() };
            assert_eq!(line.answers(&["other", text]), expected, "{pattern:?} and {text:?}");
        }
    }
}
