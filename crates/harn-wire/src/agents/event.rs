//! The Event as every stream shows it.

use harn_core::event::ResourcePointer;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{EventTag, ReplayEventMetadata};

/// Serialises to spec 001's Event. The payload is already JSON and is not parsed again.
#[derive(Debug, Serialize)]
pub struct EventWire<'a> {
    pub id: String,
    pub object: &'static str,
    pub created_at: harn_core::Timestamp,
    pub updated_at: harn_core::Timestamp,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub event: &'a str,
    pub resource: ResourcePointer,
    pub sequence: u64,
    pub payload: &'a RawValue,
    pub trace_id: Option<&'a str>,
    pub span_id: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub task_id: Option<&'a str>,
    pub workspace_id: Option<&'a str>,
    pub actor: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub previous_event_id: Option<String>,
    pub receipt_id: Option<&'a str>,
    pub replayed: bool,
}

/// The Event for the OpenAPI document. What is sent is [`EventWire`], which a test holds against this.
#[derive(Debug, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Event {
    pub id: String,
    pub object: EventTag,
    pub created_at: harn_core::Timestamp,
    pub updated_at: harn_core::Timestamp,
    #[schema(value_type = Object)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub event: String,
    pub resource: ResourcePointer,
    pub sequence: u64,
    #[schema(value_type = Object)]
    pub payload: serde_json::Map<String, serde_json::Value>,
    pub trace_id: Option<String>,
    pub span_id: Option<String>,
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub workspace_id: Option<String>,
    pub actor: Option<String>,
    pub idempotency_key: Option<String>,
    pub previous_event_id: Option<String>,
    pub receipt_id: Option<String>,
    pub replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayEventMetadata>,
}
