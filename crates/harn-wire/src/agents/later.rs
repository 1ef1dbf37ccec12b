//! Shapes of the protocol's resources that this harness names in its document and does not serve yet.

use std::collections::BTreeMap;

use harn_core::event::ResourcePointer;
use harn_core::resource::Metadata;
use harn_core::{Timestamp, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

harn_core::object_tags! {
    ReceiptTag = "receipt",
    MemoryTag = "memory",
    VaultTag = "vault",
    ConnectorTag = "connector",
    QuotaTag = "quota",
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    #[default]
    Exact,
    WithOverrides,
    FromCheckpoint,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ReplayTaskRequest {
    pub mode: ReplayMode,
    #[serde(rename = "override")]
    pub overrides: BTreeMap<String, ReplayOverride>,
    pub checkpoint_id: Option<String>,
    pub checkpoint_event_id: Option<String>,
    pub reason: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayOverrideKind {
    LlmProviderResponse,
    McpToolReturn,
    SecretValue,
    Time,
    HostFact,
    ToolResult,
    EventPayload,
    CheckpointValue,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayOverride {
    pub kind: ReplayOverrideKind,
    pub event_id: Option<String>,
    pub target: Option<String>,
    #[serde(default)]
    pub value: Value,
    pub artifact_id: Option<String>,
    #[schema(pattern = "^sha256:[0-9a-f]{64}$")]
    pub sha256: Option<String>,
    #[serde(default = "receipt_only")]
    pub visibility: Visibility,
    pub reason: Option<String>,
}

fn receipt_only() -> Visibility {
    Visibility::ReceiptOnly
}

/// How an event of a replay came about.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayEventMetadata {
    pub source_task_id: String,
    pub replay_task_id: String,
    pub original_event_id: Option<String>,
    pub replay_cursor: Option<String>,
    pub mode: ReplayMode,
    pub override_key: Option<String>,
    pub receipt_delta_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Receipt {
    pub id: String,
    pub object: ReceiptTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub subject: ResourcePointer,
    pub format: String,
    pub summary: String,
    pub issued_at: Timestamp,
    pub issuer: String,
    pub wire: ReceiptWireEnvelope,
    pub verification: Option<ReceiptVerification>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReceiptWireEnvelope {
    pub schema_version: String,
    pub subject: ResourcePointer,
    pub issued_at: Timestamp,
    #[schema(value_type = Object)]
    pub payload: Metadata,
    pub signature: Option<CardSignature>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardSignature {
    pub algorithm: String,
    pub key_id: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct VerifyReceiptRequest {
    pub trust_anchor: Option<String>,
    pub at_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReceiptVerification {
    pub valid: bool,
    pub checked_at: Timestamp,
    pub reason: Option<String>,
    #[schema(value_type = Object)]
    pub details: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    Persona,
    Session,
    Workspace,
    Tenant,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Memory {
    pub id: String,
    pub object: MemoryTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub scope: MemoryScope,
    pub owner_id: String,
    pub content: MemoryContent,
    #[schema(value_type = Object)]
    pub provenance: Metadata,
    pub expires_at: Option<Timestamp>,
    pub embedding_ref: Option<String>,
    pub visibility: Visibility,
    #[schema(value_type = Object)]
    pub redaction_policy: Metadata,
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum MemoryContent {
    Text(String),
    Artifact(ArtifactRefPart),
    Object(BTreeMap<String, Value>),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub enum ArtifactRefTag {
    #[serde(rename = "artifact_ref")]
    Tag,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ArtifactRefPart {
    #[serde(rename = "type")]
    pub kind: ArtifactRefTag,
    pub artifact_id: String,
    pub visibility: Visibility,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateMemoryRequest {
    pub scope: MemoryScope,
    pub owner_id: String,
    #[schema(required)]
    pub content: Value,
    #[schema(value_type = Object)]
    pub provenance: Metadata,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Vault {
    pub id: String,
    pub object: VaultTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    #[schema(required)]
    pub workspace_id: Option<String>,
    pub provider: String,
    pub capabilities: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CreateVaultRequest {
    pub workspace_id: Option<String>,
    pub provider: String,
    pub capabilities: Vec<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConnectorStatus {
    Active,
    Paused,
    Failed,
    Disabled,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Connector {
    pub id: String,
    pub object: ConnectorTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub provider: String,
    pub workspace_id: String,
    pub status: ConnectorStatus,
    pub event_kinds: Vec<String>,
    #[schema(value_type = Object)]
    pub dedupe_policy: Metadata,
    #[schema(value_type = Object)]
    pub auth: Metadata,
    #[schema(value_type = Object)]
    pub webhook: Metadata,
    #[schema(value_type = Object)]
    pub polling: Metadata,
    pub target_persona_id: Option<String>,
    pub target_session_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuotaScope {
    Persona,
    Workspace,
    Tenant,
    Organization,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Quota {
    pub id: String,
    pub object: QuotaTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub scope: QuotaScope,
    pub limits: BTreeMap<String, f64>,
    pub usage: BTreeMap<String, f64>,
    pub reset_at: Option<Timestamp>,
    pub hard_limit: bool,
    pub soft_limit: bool,
    pub exhaustion_reason: Option<String>,
    pub last_receipt_id: Option<String>,
}
