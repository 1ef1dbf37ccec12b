//! Permissions on the wire: the policy document, rules, checks and the record of decisions. Ours, after the public
//! server's description.

use harn_core::ports::Restored;
use harn_core::{AutonomyTier, Decision, TaskId, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

harn_core::object_tags! {
    PermissionRuleTag = "permission_rule",
    UndoTag = "task.undo_result",
    KeyTag = "api_key",
}

/// Globs per class: what they match is allowed. Everything else goes its usual way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionPolicyBody {
    pub read: Vec<String>,
    pub write: Vec<String>,
    pub exec: Vec<String>,
    pub net: Vec<String>,
    pub llm: LlmPermissions,
    pub redact: RedactPermissions,
    pub escalate_to: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LlmPermissions {
    /// When given, only these providers may be called.
    pub providers: Vec<String>,
    /// What one task may cost.
    pub cost_ceiling_usd_cents: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedactPermissions {
    pub transcript: Vec<String>,
    pub logs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PermissionPolicyDocument {
    pub policy: PermissionPolicyBody,
    /// Hash of its content.
    pub version: String,
}

/// A rule to be added. What it leaves open matches everything.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRuleRequest {
    pub action: Verdict,
    /// `session`, `workspace`, `user` or `always`.
    pub scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `read`, `write`, `exec`, `net`, `llm` or `custom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// A glob over tool names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_pattern: Option<String>,
    /// A glob over what the class acts on: paths, commands, hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A rule that is in force.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PermissionRule {
    pub id: String,
    #[serde(default)]
    pub object: PermissionRuleTag,
    #[serde(flatten)]
    pub rule: PermissionRuleFields,
}

/// The same fields as in the request, without the refusal of others.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PermissionRuleFields {
    pub action: Verdict,
    pub scope: String,
    #[serde(default)]
    pub session_id: Option<String>,
    #[serde(default)]
    pub workspace_id: Option<String>,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub class: Option<String>,
    #[serde(default)]
    pub action_pattern: Option<String>,
    #[serde(default)]
    pub target_pattern: Option<String>,
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// A call that nobody makes: what would policy say?
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionCheck {
    pub tool: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub args: Map<String, Value>,
    #[serde(default)]
    pub tier: Option<AutonomyTier>,
    #[serde(default)]
    pub workspace_id: Option<String>,
    #[serde(default)]
    pub session_id: Option<String>,
    #[serde(default)]
    pub persona_id: Option<String>,
}

/// What policy would say, in its own record and in the three words of the public server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PermissionCheckResult {
    #[serde(flatten)]
    pub decision: Decision,
    pub outcome: CheckOutcome,
    /// Of the policy document.
    pub policy_version: String,
    /// Who would be asked; empty for anyone who may answer.
    pub escalate_to: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Granted,
    Denied,
    /// It would wait for a person.
    Suspend,
}

impl From<Verdict> for CheckOutcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Granted,
            Verdict::Ask => Self::Suspend,
            Verdict::Deny => Self::Denied,
        }
    }
}

/// A decision, and the event that tells of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DecisionEntry {
    pub event_id: String,
    pub event: String,
    pub created_at: Timestamp,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    /// The people who answered, where policy had asked.
    pub answered_by: Vec<String>,
    pub decision: Decision,
}

/// What undoing a task came to, path by path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndoResult {
    pub object: UndoTag,
    pub task_id: TaskId,
    pub paths: Vec<UndonePath>,
    /// What could not be kept in the first place, in words.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndonePath {
    pub path: String,
    pub result: Restored,
}

/// A key to be made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKeyRequest {
    /// Whom the key stands for.
    pub actor: String,
    /// Everything, when none is given.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// All workspaces, when none is given.
    #[serde(default)]
    pub workspace_ids: Vec<String>,
}

/// A key as people may see it; the secret only when it has just been made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    pub id: String,
    pub object: KeyTag,
    pub actor: String,
    pub scopes: Vec<String>,
    /// Null for all workspaces.
    pub workspace_ids: Option<Vec<String>>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}
