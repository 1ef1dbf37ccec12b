//! Waitpoints, an addition of ours: named points that scripts wait at, seen and settled from outside.

use harn_core::errand::{self, WaitpointStatus};
use harn_core::resource::Metadata;
use harn_core::{TaskId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

harn_core::object_tags! {
    WaitpointTag = "waitpoint",
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Waitpoint {
    /// The name that a script gave it; good within its workspace.
    pub id: String,
    pub object: WaitpointTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub workspace_id: WorkspaceId,
    pub status: WaitpointStatus,
    /// What it was completed with.
    pub value: Value,
    pub settled_at: Option<Timestamp>,
    pub settled_by: Option<String>,
    pub reason: Option<String>,
    /// The tasks that wait at it; in the answer to a change, those that did.
    pub task_ids: Vec<TaskId>,
}

impl Waitpoint {
    pub fn of(workspace: WorkspaceId, found: errand::Waitpoint, task_ids: Vec<TaskId>) -> Self {
        Self {
            id: found.id,
            object: WaitpointTag::Tag,
            created_at: found.created_at,
            updated_at: found.settled_at.unwrap_or(found.created_at),
            metadata: found.metadata,
            workspace_id: workspace,
            status: found.status,
            value: found.value,
            settled_at: found.settled_at,
            settled_by: found.settled_by,
            reason: found.reason,
            task_ids,
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CompleteWaitpointRequest {
    /// What whoever waits goes on with; null when absent.
    pub value: Value,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CancelWaitpointRequest {
    pub reason: Option<String>,
}
