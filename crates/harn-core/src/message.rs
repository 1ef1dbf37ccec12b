//! Messages and their parts, with the visibility that every read and stream honours.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::resource::MessageTag;
use crate::{ArtifactId, MessageId, SessionId, TaskId, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
    Agent,
}

/// Who may see a part or an artifact. Ordered: a reader sees everything up to its own level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PartVisibility)]
pub enum Visibility {
    Public,
    /// Needs the scope `internal:read`.
    Internal,
    /// Only ever part of a receipt: never read, never streamed.
    ReceiptOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Ok,
    Error,
}

/// One block of message content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text { text: String, visibility: Visibility },
    Json { value: Value, visibility: Visibility },
    ToolCall { tool_call_id: String, name: String, input: Map<String, Value>, visibility: Visibility },
    ToolResult { tool_call_id: String, output: Value, status: ToolStatus, visibility: Visibility },
    ArtifactRef { artifact_id: ArtifactId, visibility: Visibility },
    FileRef { uri: String, mime_type: String, visibility: Visibility },
    ImageRef { artifact_id: ArtifactId, mime_type: String, visibility: Visibility },
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), visibility: Visibility::Public }
    }

    pub fn visibility(&self) -> Visibility {
        match self {
            Self::Text { visibility, .. }
            | Self::Json { visibility, .. }
            | Self::ToolCall { visibility, .. }
            | Self::ToolResult { visibility, .. }
            | Self::ArtifactRef { visibility, .. }
            | Self::FileRef { visibility, .. }
            | Self::ImageRef { visibility, .. } => *visibility,
        }
    }
}

/// A message as a client sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageInput {
    pub role: Role,
    pub parts: Vec<Part>,
    #[serde(default)]
    #[schema(inline, value_type = Object)]
    pub metadata: Map<String, Value>,
}

impl MessageInput {
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::text(text)], metadata: Map::new() }
    }
}

/// A message of a session's transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    pub id: MessageId,
    pub object: MessageTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    pub session_id: Option<SessionId>,
    pub task_id: Option<TaskId>,
    pub role: Role,
    pub parts: Vec<Part>,
}

impl Message {
    /// The message as a reader with this level may see it.
    pub fn visible_to(mut self, level: Visibility) -> Self {
        self.parts.retain(|part| part.visibility() <= level);
        self
    }

    /// All text parts, joined by blank lines.
    pub fn text(&self) -> String {
        joined_text(&self.parts)
    }
}

pub fn joined_text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n")
}
