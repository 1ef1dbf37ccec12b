//! Response envelopes that are not resources: lists, discovery, runtime facts, files.

use harn_core::WorkspaceId;
use harn_core::ports::FileEntry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

harn_core::object_tags! {
    ListTag = "list",
    DiscoveryTag = "protocol_discovery",
    FamilyTag = "harn_agents_protocol",
    VersionTag = "version",
    RuntimeTag = "runtime",
    CapabilitySummaryTag = "capability_summary",
    ToolTag = "tool",
    FileTag = "file",
    ListingTag = "file_listing",
    Utf8Tag = "utf-8",
    EventTag = "event",
    ProtocolVersionTag = "agents-protocol-2026-04-25",
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

    /// The same page of something else.
    pub fn try_map<U, E>(self, change: impl FnMut(T) -> Result<U, E>) -> Result<Page<U>, E> {
        let data = self.data.into_iter().map(change).collect::<Result<_, E>>()?;
        Ok(Page { object: self.object, data, page: self.page })
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
    pub current_version: ProtocolVersionTag,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub workspace_root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub session_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub task_count: Option<u64>,
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
