//! What this server is and can do: health, versions, capabilities, the document and the card.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use harn_core::PROTOCOL_VERSION;
use harn_wire::agents::{
    AgentCard, Capabilities, Capability, CapabilitySummary, CapabilitySummaryTag, Discovery, DiscoveryTag,
    FamilyTag, Health, ProtocolVersionTag, RuntimeMetadata, RuntimeTag, RuntimeVersion, VersionTag,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Shared, card};
use crate::edge::{Edge, VERSION};
use crate::intake::Caller;

/// What anyone may read.
pub fn public_routes() -> OpenApiRouter<Arc<Edge>> {
    OpenApiRouter::new()
        .routes(routes!(get_health))
        .routes(routes!(get_version))
        .routes(routes!(get_open_api_document))
        .routes(routes!(get_protocol_discovery))
        .routes(routes!(get_agent_card))
}

pub fn routes() -> OpenApiRouter<Arc<Edge>> {
    OpenApiRouter::new()
        .routes(routes!(get_runtime))
        .routes(routes!(list_capabilities))
        .routes(routes!(get_provider_catalog))
}

/// What is served, in the order in which people ask for it.
pub const CAPABILITIES: &[(&str, &str)] = &[
    ("sessions", "Create, read, update, close, fork and truncate sessions, and append messages."),
    ("tasks", "Submit, read, list and cancel tasks, and send messages to running ones."),
    ("events", "Read ranges of durable events with cursors."),
    ("sse", "Stream events and resume with Last-Event-ID."),
    ("artifacts", "Register, upload and download artifacts."),
    ("workspaces", "Create workspaces, and read and write their files."),
    ("personas", "Create and update personas."),
    ("permission_requests", "List approvals and questions, and answer them."),
    ("skills", "List what scripts offer, and call it with a task's metadata.skill_id."),
    ("waitpoints", "List, complete and cancel what scripts wait for."),
    ("idempotency", "Retry writes safely with Idempotency-Key."),
    ("tools", "List the tools that runs can use."),
];

fn capabilities() -> Vec<Capability> {
    let told = |(id, description): &(&str, &str)| Capability {
        id: (*id).to_owned(),
        description: (*description).to_owned(),
    };
    CAPABILITIES.iter().map(told).collect()
}

/// Whether the server is up, or on its way down.
#[utoipa::path(get, path = "/health", tag = "Runtime", responses((status = 200, body = Health)))]
async fn get_health(State(edge): Shared) -> Json<Health> {
    let draining = edge.harness.is_draining();
    let status = if draining { "draining" } else { "ok" };
    Json(Health { ok: !draining, status: status.into(), version: VERSION.into() })
}

/// The versions of the server and of the protocol.
#[utoipa::path(get, path = "/version", tag = "Runtime", responses((status = 200, body = RuntimeVersion)))]
async fn get_version() -> Json<RuntimeVersion> {
    Json(RuntimeVersion {
        object: VersionTag::Tag,
        version: VERSION.into(),
        protocol_version: PROTOCOL_VERSION.into(),
    })
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "Discovery",
    responses((status = 200, body = Object, content_type = "application/json")))]
async fn get_open_api_document(State(edge): Shared) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], edge.openapi.clone())
}

/// Which versions and transports this server speaks.
#[utoipa::path(get, path = "/v1", tag = "Discovery", responses((status = 200, body = Discovery)))]
async fn get_protocol_discovery() -> Json<Discovery> {
    Json(Discovery {
        object: DiscoveryTag::Tag,
        protocol_family: FamilyTag::Tag,
        current_version: ProtocolVersionTag::Tag,
        supported_versions: vec![PROTOCOL_VERSION.into()],
        capabilities: Capabilities {
            rest: true,
            sse: true,
            websocket: false,
            receipts: false,
            replay: false,
        },
    })
}

/// The card by which other agents and clients get to know this one.
#[utoipa::path(get, path = "/v1/agent-card", tag = "Discovery", responses((status = 200, body = AgentCard)))]
async fn get_agent_card(State(edge): Shared) -> Json<AgentCard> {
    Json(card::card(&edge))
}

/// The runtime behind this server.
#[utoipa::path(get, path = "/v1/runtime", tag = "Runtime", responses((status = 200, body = RuntimeMetadata)))]
async fn get_runtime(State(edge): Shared, Caller(actor): Caller) -> Answer<RuntimeMetadata> {
    let census = edge.harness.census(&actor).await?;
    Ok(Json(RuntimeMetadata {
        object: RuntimeTag::Tag,
        version: VERSION.into(),
        protocol_version: PROTOCOL_VERSION.into(),
        adapter: "agents-protocol".into(),
        workspace_root: census.map(|_| edge.harness.root().display().to_string()),
        session_count: census.map(|census| census.sessions),
        task_count: census.map(|census| census.tasks),
        capabilities: capabilities(),
    }))
}

/// The providers and models that this runtime knows (provider catalog v2).
#[utoipa::path(get, path = "/v1/provider-catalog", tag = "Runtime",
    responses((status = 200, body = Object, content_type = "application/json")))]
async fn get_provider_catalog(State(edge): Shared, Caller(_): Caller) -> Json<serde_json::Value> {
    Json(edge.harness.directory().catalog())
}

/// What is served.
#[utoipa::path(get, path = "/v1/capabilities", tag = "Runtime",
    responses((status = 200, body = CapabilitySummary)))]
async fn list_capabilities(Caller(_): Caller) -> Json<CapabilitySummary> {
    Json(CapabilitySummary { object: CapabilitySummaryTag::Tag, capabilities: capabilities() })
}
