//! Response envelopes that are not resources: lists, discovery, runtime facts, files.

use harn_core::ports::FileEntry;
use harn_core::resource::Metadata;
use harn_core::{Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

macro_rules! tags {
    ($($name:ident = $text:literal),* $(,)?) => {$(
        /// The `object` discriminator of one response type.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub enum $name {
            #[default]
            #[serde(rename = $text)]
            Tag,
        }
    )*};
}

tags! {
    ListTag = "list",
    DiscoveryTag = "protocol_discovery",
    FamilyTag = "harn_agents_protocol",
    VersionTag = "version",
    RuntimeTag = "runtime",
    CapabilitySummaryTag = "capability_summary",
    ToolTag = "tool",
    FileTag = "file",
    ListingTag = "file_listing",
    AgentCardTag = "harn_agent_card",
    Utf8Tag = "utf-8",
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PageInfo {
    pub has_more: bool,
    pub next_cursor: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub object: ListTag,
    pub data: Vec<T>,
    pub page: PageInfo,
}

impl<T> Page<T> {
    pub fn new(data: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { object: ListTag::Tag, data, page: PageInfo { has_more: next_cursor.is_some(), next_cursor } }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Capabilities {
    pub rest: bool,
    pub sse: bool,
    pub websocket: bool,
    pub receipts: bool,
    pub replay: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Discovery {
    pub object: DiscoveryTag,
    pub protocol_family: FamilyTag,
    pub current_version: String,
    pub supported_versions: Vec<String>,
    pub capabilities: Capabilities,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub ok: bool,
    pub status: String,
    pub version: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RuntimeVersion {
    pub object: VersionTag,
    pub version: String,
    pub protocol_version: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Capability {
    pub id: String,
    pub description: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CapabilitySummary {
    pub object: CapabilitySummaryTag,
    pub capabilities: Vec<Capability>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RuntimeMetadata {
    pub object: RuntimeTag,
    pub version: String,
    pub protocol_version: String,
    pub adapter: String,
    pub workspace_root: String,
    pub session_count: u64,
    pub task_count: u64,
    pub capabilities: Vec<Capability>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Tool {
    pub id: String,
    pub object: ToolTag,
    pub name: String,
    pub description: String,
    #[schema(value_type = Object)]
    pub input_schema: Value,
    #[schema(value_type = Object)]
    pub output_schema: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceFile {
    pub object: FileTag,
    pub workspace_id: WorkspaceId,
    pub path: String,
    pub encoding: Utf8Tag,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub content: Option<String>,
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceFileListing {
    pub object: ListingTag,
    pub workspace_id: WorkspaceId,
    pub path: String,
    pub entries: Vec<FileEntry>,
}

/// What is at a path: a file or a folder.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum FileOrListing {
    File(WorkspaceFile),
    Listing(WorkspaceFileListing),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Rest,
    Sse,
    Websocket,
    A2a,
    Mcp,
    Acp,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = HarnAgentInterface)]
pub struct AgentInterface {
    pub transport: Transport,
    pub url: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = HarnAgentCard)]
pub struct AgentCard {
    pub id: String,
    pub object: AgentCardTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub name: String,
    pub description: String,
    pub protocol_version: String,
    /// The A2A card; its transport is served once A2A is.
    #[schema(value_type = Object)]
    pub a2a_card: Value,
    #[schema(value_type = Vec<Object>)]
    pub skills: Vec<Value>,
    pub harn_interfaces: Vec<AgentInterface>,
    /// The same list under the name that the conformance client reads.
    pub interfaces: Vec<AgentInterface>,
    pub capabilities: Vec<String>,
    pub auth_schemes: Vec<String>,
    pub public_url: Option<String>,
}
