//! The conversation with a model: what is sent, and what came back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ArtifactId;
pub use crate::sampling::{Sampling, SearchVariant, ToolChoice, ToolSearch};
pub use crate::thinking::{Thinking, UnknownThinking};
use crate::tool::{ToolCall, ToolOutcome, ToolSpec};

/// One message of the conversation that a model sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    System {
        text: String,
    },
    User {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
    },
    Assistant {
        text: String,
        tool_calls: Vec<ToolCall>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thoughts: Vec<Thought>,
    },
    Tool {
        call_id: String,
        name: String,
        outcome: ToolOutcome,
        output: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
    },
}

impl ChatMessage {
    /// What a person said, in words alone.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), media: Vec::new() }
    }

    /// What the model said, without the thoughts behind it.
    pub fn assistant(text: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Self::Assistant { text: text.into(), tool_calls, thoughts: Vec::new() }
    }

    /// What goes with the message besides words.
    pub fn media(&self) -> &[Media] {
        match self {
            Self::User { media, .. } | Self::Tool { media, .. } => media,
            Self::System { .. } | Self::Assistant { .. } => &[],
        }
    }
}

/// An image or a document that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    pub mime_type: String,
    #[serde(flatten)]
    pub source: MediaSource,
}

/// Where the content of a medium is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// The content itself, in standard base64.
    Data(String),
    /// An address that the provider can fetch by itself.
    Url(String),
    /// Content that this harness keeps; filled in before a call. Programs and journals hold nothing else, so that
    /// neither grows with what people show.
    Artifact(ArtifactId),
}

/// A block of a provider's reasoning. It goes back to the same provider as it came, because providers check their own
/// signatures; it is never shown, and means nothing to another provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    pub provider: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The block in the provider's own form, with its signature or encrypted content.
    pub opaque: Value,
}

/// Which model answers. Journaled with the run, so that a change of configuration affects new runs only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    pub provider: String,
    pub model: String,
}

/// One call of a model. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    pub model: ModelRef,
    pub system: Arc<str>,
    pub messages: Arc<Vec<ChatMessage>>,
    pub tools: Arc<[ToolSpec]>,
    pub max_output_tokens: u32,
    pub thinking: Thinking,
    /// When set, the answer's text is one JSON value of this shape.
    pub output_schema: Option<OutputSchema>,
    pub sampling: Sampling,
}

/// The shape that an answer has to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// Letters, digits, `_` and `-`: providers show it to the model.
    pub name: String,
    /// A JSON Schema of an object.
    pub schema: Value,
}

/// Tokens of a call. The classes are part of the totals, never added to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input, cached or not.
    pub input_tokens: u64,
    /// All output, thinking included.
    pub output_tokens: u64,
    /// Of the input, what was read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Of the input, what was written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the output, what the model thought; 0 where a provider does not tell it apart.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thinking_tokens: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Where nothing more than the totals is known.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }
}

impl std::ops::AddAssign for Usage {
    /// Counts come from outside, so a sum that is too large stays at the largest count.
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cached_tokens, other.cached_tokens);
        add(&mut self.cache_write_tokens, other.cache_write_tokens);
        add(&mut self.thinking_tokens, other.thinking_tokens);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
    /// A word of the provider that we do not know. Never success.
    Other(String),
}

impl StopReason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::Other(word) => word,
        }
    }
}

/// A whole answer, assembled from its stream. Thinking is kept for the provider and never shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// What has to go back to the provider when the conversation goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<Thought>,
    pub tool_calls: Vec<ToolCall>,
    /// Tools that the provider ran by itself, while it answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider_tools: Vec<ProviderToolUse>,
    /// Calls whose arguments never became whole, kept for diagnosis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial_calls: Vec<PartialCall>,
    pub stop: StopReason,
    pub usage: Usage,
    /// Kept for programs that name models themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnsweredBy>,
}

/// Which model gave an answer, and what it has cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredBy {
    pub model: ModelRef,
    /// Millionths of a US dollar. None is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
}

impl ModelAnswer {
    /// An answer of which nothing is known but how it ended.
    pub fn stopped(stop: StopReason) -> Self {
        Self {
            text: String::new(),
            thinking: String::new(),
            thoughts: Vec::new(),
            tool_calls: Vec::new(),
            provider_tools: Vec::new(),
            partial_calls: Vec::new(),
            stop,
            usage: Usage::default(),
            answered_by: None,
        }
    }
}

/// A tool that a provider ran on its side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderToolUse {
    pub name: String,
    pub input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// A tool call that broke off within its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialCall {
    pub id: String,
    pub name: String,
    /// The arguments as far as they came; not JSON.
    pub raw: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_and_answers_of_older_journals_are_read_and_written_as_they_were() {
        let messages = [
            json!({"role": "user", "text": "hello"}),
            json!({"role": "assistant", "text": "", "tool_calls": [{"id": "c", "name": "n", "args": {}}]}),
            json!({"role": "tool", "call_id": "c", "name": "n", "outcome": "ok", "output": "done"}),
        ];
        for old in messages {
            let message: ChatMessage = serde_json::from_value(old.clone()).unwrap();
            assert_eq!(serde_json::to_value(&message).unwrap(), old);
        }
        let old = json!({"text": "t", "tool_calls": [], "stop": "end_turn",
                         "usage": {"input_tokens": 1, "output_tokens": 2}});
        let answer: ModelAnswer = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(answer.usage, Usage::new(1, 2));
        assert_eq!(serde_json::to_value(&answer).unwrap(), old);
    }

    #[test]
    fn media_and_thoughts_survive_the_journal() {
        let image = |source| Media { mime_type: "image/png".into(), source };
        let message = ChatMessage::User {
            text: "look".into(),
            media: vec![
                image(MediaSource::Data("AAAA".into())),
                image(MediaSource::Url("https://a/b".into())),
                image(MediaSource::Artifact("artifact_1".into())),
            ],
        };
        let written = serde_json::to_value(&message).unwrap();
        assert_eq!(written["media"][0], json!({"mime_type": "image/png", "data": "AAAA"}));
        assert_eq!(written["media"][1], json!({"mime_type": "image/png", "url": "https://a/b"}));
        assert_eq!(written["media"][2], json!({"mime_type": "image/png", "artifact": "artifact_1"}));
        assert_eq!(serde_json::from_value::<ChatMessage>(written).unwrap(), message);

        let opaque = json!({"type": "thinking", "signature": "sig"});
        let thoughts = vec![Thought { provider: "anthropic".into(), text: "hm".into(), opaque }];
        let message = ChatMessage::Assistant { text: "t".into(), tool_calls: vec![], thoughts };
        let written = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<ChatMessage>(&written).unwrap(), message);
    }

    #[test]
    fn usage_adds_up_and_never_overflows() {
        let mut sum = Usage { cached_tokens: 1, thinking_tokens: 4, ..Usage::new(u64::MAX - 1, 2) };
        sum += Usage { cached_tokens: 2, cache_write_tokens: 3, ..Usage::new(5, 1) };
        let expected = Usage {
            input_tokens: u64::MAX,
            output_tokens: 3,
            cached_tokens: 3,
            cache_write_tokens: 3,
            thinking_tokens: 4,
        };
        assert_eq!(sum, expected);
    }
}
