//! The resources of spec 001 that this harness keeps, in their wire form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::message::{Message, Visibility};
use crate::{
    ArtifactId, BranchId, MessageId, OutcomeId, PersonaId, RequestId, SessionId, TaskId, Timestamp,
    WorkspaceId,
};

/// Open objects of the protocol: any keys, ours are below `harn`.
pub type Metadata = Map<String, Value>;

/// Types for the `object` discriminators of the protocol: one value each, on the wire and in documents.
#[macro_export]
macro_rules! object_tags {
    ($($name:ident = $text:literal),* $(,)?) => {$(
        /// The `object` discriminator of one type.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            #[default]
            #[serde(rename = $text)]
            Tag,
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some([$text]))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

object_tags! {
    WorkspaceTag = "workspace",
    PersonaTag = "persona",
    SessionTag = "session",
    TaskTag = "task",
    MessageTag = "message",
    ArtifactTag = "artifact",
    BranchTag = "branch",
    OutcomeTag = "outcome",
    PermissionRequestTag = "permission_request",
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub object: WorkspaceTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub name: String,
    /// A folder, or a logical root such as `harn://x`: a workspace without files.
    pub root: String,
    #[schema(required)]
    pub default_branch_id: Option<BranchId>,
    pub host: Option<String>,
    pub repository: Option<String>,
    pub tenant_id: Option<String>,
    pub capabilities: Vec<String>,
    pub connectors: Vec<String>,
    pub quota_id: Option<String>,
}

/// How much an agent may do by itself. A ceiling that no rule lifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutonomyTier {
    Shadow,
    Suggest,
    ActWithApproval,
    ActAuto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptPolicy {
    Required,
    Optional,
    Disabled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Persona {
    pub id: PersonaId,
    pub object: PersonaTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub name: String,
    pub version: String,
    pub entry_workflow: String,
    pub description: String,
    pub autonomy_tier: AutonomyTier,
    pub receipt_policy: ReceiptPolicy,
    /// The only tools that this persona may use; empty means all.
    pub tools: Vec<String>,
    pub capabilities: Vec<String>,
    // The rest of the protocol's persona. Nothing sets it yet.
    #[schema(value_type = Vec<Object>)]
    pub triggers: Vec<Metadata>,
    #[schema(value_type = Vec<Object>)]
    pub schedules: Vec<Metadata>,
    pub handoffs: Vec<String>,
    pub context_packs: Vec<String>,
    pub evals: Vec<String>,
    pub owner: Option<String>,
    #[schema(value_type = Object)]
    pub model_policy: Metadata,
    #[schema(value_type = Object)]
    pub rollout_policy: Metadata,
    pub quota_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionState {
    Active,
    Idle,
    Paused,
    Closed,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: SessionId,
    pub object: SessionTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub workspace_id: WorkspaceId,
    pub state: SessionState,
    /// Where the transcript is read: a link to the session's messages.
    #[schema(format = "uri-reference")]
    pub transcript: String,
    pub persona_id: Option<PersonaId>,
    pub root_session_id: Option<SessionId>,
    pub parent_session_id: Option<SessionId>,
    pub branch_id: Option<BranchId>,
    pub last_event_id: Option<String>,
    pub summary: Option<String>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskStatus {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Canceled,
}

impl TaskStatus {
    pub const ALL: [Self; 7] = [
        Self::Submitted,
        Self::Working,
        Self::InputRequired,
        Self::AuthRequired,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
    ];

    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }

    /// The transition table of spec 001.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Submitted => matches!(next, Self::Working | Self::Canceled | Self::Failed),
            Self::Working => !matches!(next, Self::Submitted | Self::Working),
            Self::InputRequired | Self::AuthRequired => {
                matches!(next, Self::Working | Self::Failed | Self::Canceled)
            }
            Self::Completed | Self::Failed | Self::Canceled => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "SUBMITTED",
            Self::Working => "WORKING",
            Self::InputRequired => "INPUT_REQUIRED",
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Canceled => "CANCELED",
        }
    }
}

/// Why a task or outcome failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    pub code: String,
    pub message: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub details: Metadata,
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: Metadata::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    pub id: TaskId,
    pub object: TaskTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub session_id: SessionId,
    pub workspace_id: WorkspaceId,
    pub status: TaskStatus,
    /// What was submitted: a message (role and parts) or a structured payload.
    #[schema(value_type = TaskInput)]
    pub input: Value,
    pub created_by: String,
    pub persona_id: Option<PersonaId>,
    pub branch_id: Option<BranchId>,
    pub parent_task_id: Option<TaskId>,
    pub assigned_agent_id: Option<String>,
    pub receipt_id: Option<String>,
    pub outcome_id: Option<OutcomeId>,
    pub quota_id: Option<String>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub canceled_at: Option<Timestamp>,
    pub failure: Option<Failure>,
}

/// The shape of a task's input, for documents: the protocol has a message or any other object.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum TaskInput {
    Message(Message),
    #[schema(value_type = Object)]
    Payload(Metadata),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BranchKind {
    Workspace,
    Session,
    Task,
    Sandbox,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Branch {
    pub id: BranchId,
    pub object: BranchTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub workspace_id: WorkspaceId,
    pub kind: BranchKind,
    pub base_ref: String,
    pub parent_branch_id: Option<BranchId>,
    pub session_id: Option<SessionId>,
    pub task_id: Option<TaskId>,
    pub worktree_uri: Option<String>,
    pub created_by: Option<String>,
    pub merged_into: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    File,
    Patch,
    Image,
    Log,
    Diff,
    Receipt,
    Snapshot,
    Dataset,
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    pub id: ArtifactId,
    pub object: ArtifactTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub kind: ArtifactKind,
    pub mime_type: String,
    /// Null when the content is read through the API.
    #[schema(required, format = "uri-reference")]
    pub uri: Option<String>,
    pub visibility: Visibility,
    /// Bare hex, as the protocol has it for artifacts only.
    #[schema(required, pattern = "^[a-fA-F0-9]{64}$")]
    pub sha256: Option<String>,
    pub size_bytes: Option<u64>,
    pub workspace_id: Option<WorkspaceId>,
    pub session_id: Option<SessionId>,
    pub task_id: Option<TaskId>,
    pub receipt_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OutcomeStatus {
    Succeeded,
    Failed,
    Canceled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Outcome {
    pub id: OutcomeId,
    pub object: OutcomeTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub task_id: TaskId,
    pub status: OutcomeStatus,
    pub summary: String,
    pub messages: Vec<Message>,
    pub artifacts: Vec<Artifact>,
    #[schema(value_type = Vec<Object>)]
    pub handoffs: Vec<Metadata>,
    pub receipt_id: Option<String>,
    pub failure: Option<Failure>,
    #[schema(value_type = Object)]
    pub cost: Metadata,
    #[schema(value_type = Object)]
    pub metrics: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    Pending,
    Approved,
    Denied,
}

/// How the protocol names where a request came from: a permission prompt, or a question to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestSource {
    Acp,
    Hitl,
}

/// A durable request to someone, answered by a command over whichever edge is attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PermissionRequest {
    pub id: RequestId,
    pub object: PermissionRequestTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub session_id: Option<SessionId>,
    pub task_id: Option<TaskId>,
    pub status: RequestStatus,
    pub source: RequestSource,
    /// What is asked for: `{kind, tool, tool_call_id, args}` or `{kind, prompt}`.
    pub action: Value,
    /// Why it is asked, and of whom: reason, rule, quorum, reviewers, who submitted.
    pub request: Value,
    /// The votes so far and, once resolved, the resolution. Null while nobody has answered.
    pub response: Value,
}

impl PermissionRequest {
    /// A reply is wanted, rather than a yes or a no.
    pub fn wants_reply(&self) -> bool {
        let kind = self.action["kind"].as_str();
        self.source == RequestSource::Hitl
            && !matches!(kind, Some("approval" | "dual_control" | "escalation"))
    }
}

/// What `truncate` did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TruncateSessionResponse)]
pub struct Truncation {
    pub object: TruncationTag,
    pub session_id: SessionId,
    pub kept_turn_count: u64,
    pub removed_turn_count: u64,
    /// The user message that opens the last kept turn.
    #[schema(required)]
    pub new_tip_turn_id: Option<MessageId>,
    pub session: Session,
}

object_tags! { TruncationTag = "session.truncate_result" }

#[cfg(test)]
mod tests {
    use super::TaskStatus::{self, *};

    #[test]
    fn only_the_transitions_of_the_specification_are_allowed() {
        let allowed = [
            (Submitted, vec![Working, Canceled, Failed]),
            (Working, vec![InputRequired, AuthRequired, Completed, Failed, Canceled]),
            (InputRequired, vec![Working, Failed, Canceled]),
            (AuthRequired, vec![Working, Failed, Canceled]),
            (Completed, vec![]),
            (Failed, vec![]),
            (Canceled, vec![]),
        ];
        for (from, targets) in allowed {
            for to in TaskStatus::ALL {
                assert_eq!(from.may_become(to), targets.contains(&to), "{from:?} -> {to:?}");
            }
        }
    }
}
