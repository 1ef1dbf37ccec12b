//! Request bodies. Unknown fields are ignored, as spec 001 asks; fields that are ours say so.

use harn_core::{
    ArtifactKind, AutonomyTier, BranchId, BranchKind, MessageInput, Metadata, PersonaId, ReceiptPolicy,
    SessionId, TaskId, Timestamp, Visibility, WorkspaceId,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Tells an absent field (leave it) from `null` (clear it).
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateWorkspaceRequest {
    pub name: String,
    /// A folder below an allowed root, or a logical root such as `harn://x`.
    pub root: String,
    #[serde(default)]
    pub image: Option<String>,
    #[serde(default)]
    pub packages: Vec<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub network_policy: Metadata,
    #[serde(default)]
    pub sandbox_backend: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UpdateWorkspaceRequest {
    #[serde(default)]
    #[schema(nullable = false)]
    pub name: Option<String>,
    #[serde(default)]
    #[schema(nullable = false)]
    pub capabilities: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub quota_id: Option<Option<String>>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WriteWorkspaceFileRequest {
    /// Workspace-relative; wins over the `path` query parameter.
    #[serde(default)]
    #[schema(nullable = false)]
    pub path: Option<String>,
    pub content: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatePersonaRequest {
    /// `harn://owner/name@version`.
    #[serde(default)]
    #[schema(nullable = false)]
    pub module_ref: Option<String>,
    pub name: String,
    pub version: String,
    pub entry_workflow: String,
    pub description: String,
    pub autonomy_tier: AutonomyTier,
    pub receipt_policy: ReceiptPolicy,
    /// Ours: the only tools that this persona may use; empty means all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Ours: `model`, `fallbacks` (selectors) and `thought_level` of its runs.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub model_policy: Metadata,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UpdatePersonaRequest {
    #[serde(default)]
    #[schema(nullable = false)]
    pub description: Option<String>,
    #[serde(default)]
    #[schema(nullable = false)]
    pub receipt_policy: Option<ReceiptPolicy>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub quota_id: Option<Option<String>>,
    /// Ours: replaces the model policy key by key; null removes a key.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub model_policy: Option<Metadata>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateSessionRequest {
    pub workspace_id: WorkspaceId,
    #[serde(default)]
    pub persona_id: Option<PersonaId>,
    #[serde(default)]
    pub vault_ids: Vec<String>,
    #[serde(default)]
    pub memory_ids: Vec<String>,
    #[serde(default)]
    pub skill_ids: Vec<String>,
    #[serde(default)]
    pub initial_messages: Vec<MessageInput>,
    /// Ours: when the session closes by itself.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UpdateSessionRequest {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub summary: Option<Option<String>>,
    /// Ours: when the session closes by itself; null for never.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Timestamp>)]
    pub expires_at: Option<Option<Timestamp>>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ForkSessionRequest {
    #[serde(default)]
    pub at_event_id: Option<String>,
    #[serde(default)]
    pub branch_id: Option<BranchId>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TruncateSessionRequest {
    /// Leading turns to keep. A turn is a user message and all that follows up to the next one.
    #[serde(alias = "keepFirst")]
    #[schema(minimum = 0)]
    pub keep_first: u64,
    #[serde(default)]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AppendMessageRequest {
    pub message: MessageInput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskMessageKind {
    Input,
    Interrupt,
    ToolConfirmation,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AppendTaskMessageRequest {
    pub kind: TaskMessageKind,
    pub message: MessageInput,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitTaskRequest {
    /// Required on `/v1/tasks`, taken from the path elsewhere.
    #[serde(default)]
    #[schema(nullable = false)]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    #[schema(nullable = false)]
    pub workspace_id: Option<WorkspaceId>,
    #[serde(default)]
    pub persona_id: Option<PersonaId>,
    #[serde(default)]
    pub branch_id: Option<BranchId>,
    #[serde(default)]
    pub parent_task_id: Option<TaskId>,
    /// A message (role and parts) or any other object.
    #[schema(value_type = SubmittedInput)]
    pub input: Map<String, Value>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

/// The shape of a task's input, for the document.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum SubmittedInput {
    Message(MessageInput),
    #[schema(value_type = Object)]
    Payload(Metadata),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CancelTaskRequest {
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateBranchRequest {
    pub kind: BranchKind,
    pub base_ref: String,
    #[serde(default)]
    pub parent_branch_id: Option<BranchId>,
    #[serde(default)]
    pub task_id: Option<TaskId>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegisterArtifactRequest {
    pub kind: ArtifactKind,
    pub mime_type: String,
    #[serde(default)]
    pub uri: Option<String>,
    pub visibility: Visibility,
    #[serde(default)]
    #[schema(pattern = "^[a-fA-F0-9]{64}$")]
    pub sha256: Option<String>,
    #[serde(default)]
    pub workspace_id: Option<WorkspaceId>,
    #[serde(default)]
    pub session_id: Option<SessionId>,
    #[serde(default)]
    pub task_id: Option<TaskId>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

/// Six spellings of yes and no that clients of the protocol use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionOutcome {
    Approved,
    Approve,
    Selected,
    Denied,
    Deny,
    Rejected,
}

impl PermissionOutcome {
    pub fn approves(self) -> bool {
        matches!(self, Self::Approved | Self::Approve | Self::Selected)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PermissionResponseRequest {
    #[serde(default)]
    #[schema(nullable = false)]
    pub approved: Option<bool>,
    #[serde(default)]
    #[schema(nullable = false)]
    pub outcome: Option<PermissionOutcome>,
    /// The reply to a question; for an approval, `{"args": {…}}` rewrites the arguments.
    #[serde(default)]
    pub answer: Option<Value>,
    /// Ours: arguments that replace the requested ones.
    #[serde(default)]
    #[schema(value_type = Object, nullable = false)]
    pub args: Option<Map<String, Value>>,
    #[serde(default)]
    pub reviewer: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    /// Make this answer a rule.
    #[serde(default)]
    #[schema(nullable = false)]
    pub remember: Option<bool>,
    /// For what it holds: `session` (the default), `workspace`, `user` or `always`.
    #[serde(default)]
    #[schema(nullable = false)]
    pub scope: Option<String>,
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// A glob over tool names, instead of exactly this tool.
    #[serde(default)]
    pub action_pattern: Option<String>,
    /// A glob over paths, commands or hosts, instead of exactly these.
    #[serde(default)]
    pub target_pattern: Option<String>,
    /// `read`, `write`, `exec`, `net`, `llm` or `custom`.
    #[serde(default)]
    #[schema(nullable = false)]
    pub class: Option<String>,
}
