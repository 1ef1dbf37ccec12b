//! The file format of a script, read strictly: an unknown field is more often a typing error than a wish.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use harn_core::chat::{PartialCall, ProviderToolUse, StopReason, Usage};
use harn_core::price::Prices;
use harn_core::tool::ToolCall;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ModelError;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("the script {file} cannot be read: {source}")]
    Unreadable { file: String, source: std::io::Error },
    #[error("the script {file} is not valid, line {line}: {message}")]
    Invalid { file: String, line: usize, message: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default)]
    pub responses: Vec<Response>,
    #[serde(default)]
    pub conversations: Vec<Conversation>,
    #[serde(default)]
    pub recorded: Vec<Recorded>,
    #[serde(default)]
    pub after: After,
    #[serde(default)]
    pub context_window: Option<u64>,
    #[serde(default)]
    pub price: Option<Prices>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conversation {
    pub when: String,
    pub responses: Vec<Response>,
}

/// What a model answered in one place of one conversation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded {
    /// How the first message of the user begins.
    pub first: String,
    /// How many assistant messages the conversation holds.
    pub turn: usize,
    pub response: Response,
}

/// What is played once the responses are used up.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum After {
    RepeatLast,
    #[default]
    Error,
}

/// One answer: what is streamed after the delay, and how the stream ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ResponseFile")]
pub(super) struct Response {
    pub delay: Duration,
    pub thinking: String,
    pub text: String,
    pub text_pieces: usize,
    pub provider_tools: Vec<ProviderToolUse>,
    pub tool_calls: Vec<ToolCall>,
    pub partial_calls: Vec<PartialCall>,
    pub usage: Option<Usage>,
    pub end: End,
}

#[derive(Clone, Debug)]
pub(super) enum End {
    Stop(StopReason),
    Error(ModelError),
    /// The stream ends without a stop.
    Cut,
    /// The stream never ends.
    Hang,
}

impl Script {
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(json) => Self::parse(&json, &file),
            Err(source) => Err(ScriptError::Unreadable { file, source }),
        }
    }

    pub fn parse(json: &str, file: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(json).map_err(|error| invalid(&error, file))
    }
}

fn invalid(error: &serde_json::Error, file: &str) -> ScriptError {
    let full = error.to_string();
    // serde_json ends its message with the position, which the variant carries already.
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message).to_owned();
    ScriptError::Invalid { file: file.to_owned(), line: error.line(), message }
}

/// A response as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseFile {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    provider_tools: Vec<ProviderToolFile>,
    #[serde(default)]
    tool_calls: Vec<CallFile>,
    #[serde(default)]
    partial_calls: Vec<PartialCallFile>,
    #[serde(default)]
    delay_ms: u64,
    chunks: Option<NonZeroUsize>,
    usage: Option<UsageFile>,
    stop: Option<String>,
    error: Option<ModelError>,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    hang: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFile {
    id: String,
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderToolFile {
    name: String,
    #[serde(default)]
    input: Value,
    output: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartialCallFile {
    id: String,
    name: String,
    raw: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageFile {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cached_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    #[serde(default)]
    thinking_tokens: u64,
}

impl TryFrom<ResponseFile> for Response {
    type Error = &'static str;

    fn try_from(mut file: ResponseFile) -> Result<Self, Self::Error> {
        let end = end(&mut file)?;
        Ok(Self {
            delay: Duration::from_millis(file.delay_ms),
            thinking: file.thinking,
            text: file.text,
            text_pieces: file.chunks.map_or(1, NonZeroUsize::get),
            provider_tools: file.provider_tools.into_iter().map(ProviderToolFile::into_use).collect(),
            tool_calls: file.tool_calls.into_iter().map(CallFile::into_call).collect(),
            partial_calls: file.partial_calls.into_iter().map(PartialCallFile::into_call).collect(),
            usage: file.usage.map(UsageFile::into_usage),
            end,
        })
    }
}

fn end(file: &mut ResponseFile) -> Result<End, &'static str> {
    match (file.stop.take(), file.error.take(), file.cut, file.hang) {
        (Some(word), None, false, false) => Ok(End::Stop(stop_reason(word))),
        (None, Some(error), false, false) => Ok(End::Error(error)),
        (None, None, true, false) => Ok(End::Cut),
        (None, None, false, true) => Ok(End::Hang),
        (None, None, false, false) if file.tool_calls.is_empty() => Ok(End::Stop(StopReason::EndTurn)),
        (None, None, false, false) => Ok(End::Stop(StopReason::ToolUse)),
        _ => Err("a response has at most one of `stop`, `error`, `cut` and `hang`"),
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

impl CallFile {
    fn into_call(self) -> ToolCall {
        ToolCall { id: self.id, name: self.name, args: self.args }
    }
}

impl ProviderToolFile {
    fn into_use(self) -> ProviderToolUse {
        ProviderToolUse { name: self.name, input: self.input, output: self.output }
    }
}

impl PartialCallFile {
    fn into_call(self) -> PartialCall {
        PartialCall { id: self.id, name: self.name, raw: self.raw }
    }
}

impl UsageFile {
    fn into_usage(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            thinking_tokens: self.thinking_tokens,
        }
    }
}
