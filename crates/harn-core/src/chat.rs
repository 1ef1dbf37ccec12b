//! The conversation with a model: what is sent, and what came back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::tool::{ToolCall, ToolOutcome, ToolSpec};

/// One message of the conversation that a model sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    System { text: String },
    User { text: String },
    Assistant { text: String, tool_calls: Vec<ToolCall> },
    Tool { call_id: String, name: String, outcome: ToolOutcome, output: String },
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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
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

/// A whole answer, assembled from its stream. Thinking is kept for the provider and never shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    pub tool_calls: Vec<ToolCall>,
    pub stop: StopReason,
    pub usage: Usage,
}
