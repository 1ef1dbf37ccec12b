//! Discovery, the agent card, and facts about the running harness.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use harn_core::tool::ToolSpec;
use harn_core::{Error, PROTOCOL_VERSION, Result};
use harn_wire::agents::{
    AgentCard, AgentCardTag, AgentInterface, Capabilities, Capability, CapabilitySummary,
    CapabilitySummaryTag, Discovery, DiscoveryTag, FamilyTag, Health, Page, RuntimeMetadata, RuntimeTag,
    RuntimeVersion, Tool, ToolTag, Transport, VersionTag,
};
use serde_json::{Map, Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Routes, Shared};
use crate::edge::{Edge, VERSION};
use crate::intake::{Asked, Caller, Id, PageParams};

pub fn public() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(health))
        .routes(routes!(version))
        .routes(routes!(document))
        .routes(routes!(discovery))
        .routes(routes!(agent_card))
}

pub fn guarded() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(runtime))
        .routes(routes!(capabilities))
        .routes(routes!(list_tools))
        .routes(routes!(get_tool))
}

/// Check server health.
#[utoipa::path(get, path = "/health", operation_id = "getHealth", tag = "Runtime",
    responses((status = 200, body = Health)))]
async fn health(State(edge): Shared) -> Json<Health> {
    let draining = edge.harness.is_draining();
    let status = if draining { "draining" } else { "ok" };
    Json(Health { ok: !draining, status: status.into(), version: VERSION.into() })
}

/// Read the versions of this binary and of the protocol.
#[utoipa::path(get, path = "/version", operation_id = "getVersion", tag = "Runtime",
    responses((status = 200, body = RuntimeVersion)))]
async fn version() -> Json<RuntimeVersion> {
    let (version, protocol_version) = (VERSION.into(), PROTOCOL_VERSION.into());
    Json(RuntimeVersion { object: VersionTag::Tag, version, protocol_version })
}

/// Retrieve this OpenAPI document as JSON.
#[utoipa::path(get, path = "/openapi.json", operation_id = "getOpenApiDocument", tag = "Discovery",
    responses((status = 200, body = Object, content_type = "application/json")))]
async fn document(State(edge): Shared) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], edge.openapi.clone())
}

/// Discover supported protocol versions and capabilities.
#[utoipa::path(get, path = "/v1", operation_id = "getProtocolDiscovery", tag = "Discovery",
    responses((status = 200, body = Discovery)))]
async fn discovery() -> Json<Discovery> {
    Json(Discovery {
        object: DiscoveryTag::Tag,
        protocol_family: FamilyTag::Tag,
        current_version: PROTOCOL_VERSION.into(),
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

/// Inspect the harness that serves this API.
#[utoipa::path(get, path = "/v1/runtime", operation_id = "getRuntime", tag = "Runtime",
    responses((status = 200, body = RuntimeMetadata)))]
async fn runtime(State(edge): Shared, Caller(actor): Caller) -> Answer<RuntimeMetadata> {
    actor.require("workspaces:read")?;
    let census = edge.harness.census().await?;
    Ok(Json(RuntimeMetadata {
        object: RuntimeTag::Tag,
        version: VERSION.into(),
        protocol_version: PROTOCOL_VERSION.into(),
        adapter: "rest".into(),
        workspace_root: edge.harness.root().to_string_lossy().into_owned(),
        session_count: census.sessions,
        task_count: census.tasks,
        capabilities: capability_list(),
    }))
}

/// List what this API can do.
#[utoipa::path(get, path = "/v1/capabilities", operation_id = "listCapabilities", tag = "Runtime",
    responses((status = 200, body = CapabilitySummary)))]
async fn capabilities(Caller(_): Caller) -> Json<CapabilitySummary> {
    Json(CapabilitySummary { object: CapabilitySummaryTag::Tag, capabilities: capability_list() })
}

fn capability_list() -> Vec<Capability> {
    let known = [
        ("sessions", "Create, update, close, fork and truncate sessions."),
        ("tasks", "Submit, watch, steer and cancel tasks."),
        ("events", "Read and stream durable events, resuming by cursor."),
        ("artifacts", "Register, upload and download artifacts."),
        ("permission_requests", "Answer approvals and questions of running tasks."),
        ("workspace_files", "Read, list and write UTF-8 files of a workspace."),
        ("personas", "Create and update personas, whose tier limits what a task may do."),
    ];
    known.iter().map(|(id, words)| Capability { id: (*id).into(), description: (*words).into() }).collect()
}

/// List the tools that tasks may use.
#[utoipa::path(get, path = "/v1/tools", operation_id = "listTools", tag = "Tools", params(PageParams),
    responses((status = 200, body = Page<Tool>)))]
async fn list_tools(
    State(edge): Shared,
    Caller(_): Caller,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Tool>> {
    let wanted = page.wanted()?;
    let limit = wanted.limit()?;
    let tools = edge.harness.tools();
    // The whole list is short and fixed: its cursor is a name.
    let start = match &wanted.cursor {
        None => 0,
        Some(name) => 1 + position(&tools, name)?,
    };
    let data: Vec<Tool> = tools.iter().skip(start).take(limit).map(shown).collect();
    let more = start + data.len() < tools.len();
    let next = data.last().filter(|_| more).map(|tool| tool.id.clone());
    Ok(Json(Page::new(data, next)))
}

fn position(tools: &[ToolSpec], name: &str) -> Result<usize> {
    let unknown =
        || Error::invalid("cursor", "The cursor was not made by this list. Start again without one.");
    tools.iter().position(|tool| tool.name == *name).ok_or_else(unknown)
}

/// Retrieve a tool's description.
#[utoipa::path(get, path = "/v1/tools/{tool_id}", operation_id = "getTool", tag = "Tools",
    responses((status = 200, body = Tool)))]
async fn get_tool(State(edge): Shared, Caller(_): Caller, Id(id): Id<String>) -> Answer<Tool> {
    let tools = edge.harness.tools();
    let tool = tools.iter().find(|tool| tool.name == id).ok_or_else(|| Error::not_found("tool", &id))?;
    Ok(Json(shown(tool)))
}

fn shown(tool: &ToolSpec) -> Tool {
    Tool {
        id: tool.name.clone(),
        object: ToolTag::Tag,
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: tool.output_schema.clone(),
    }
}

/// Retrieve the public agent card of this harness.
#[utoipa::path(get, path = "/v1/agent-card", operation_id = "getAgentCard", tag = "Discovery",
    responses((status = 200, body = AgentCard)))]
async fn agent_card(State(edge): Shared) -> Json<AgentCard> {
    let url = &edge.options.public_url;
    let interface = |transport, path: &str| AgentInterface { transport, url: format!("{url}{path}") };
    let interfaces = vec![interface(Transport::Rest, "/v1"), interface(Transport::Sse, "/v1/events/stream")];
    Json(AgentCard {
        id: "agent_card_harn".into(),
        object: AgentCardTag::Tag,
        created_at: edge.started_at,
        updated_at: edge.started_at,
        metadata: Map::new(),
        name: NAME.into(),
        description: DESCRIPTION.into(),
        protocol_version: PROTOCOL_VERSION.into(),
        a2a_card: a2a_card(&edge),
        skills: vec![skill(&edge)],
        harn_interfaces: interfaces.clone(),
        interfaces,
        capabilities: capability_list().into_iter().map(|capability| capability.id).collect(),
        auth_schemes: vec!["bearer".into()],
        public_url: Some(url.clone()),
    })
}

const NAME: &str = "Harn";
const DESCRIPTION: &str =
    "Harn's built-in agent: works on files and commands of a workspace, under approval.";

fn skill(edge: &Edge) -> Value {
    json!({
        "id": "skill_agent", "object": "skill", "created_at": edge.started_at, "updated_at": edge.started_at,
        "metadata": {}, "name": "agent", "description": DESCRIPTION, "input_schema": null, "output_schema": null,
        "source": "builtin", "version": VERSION, "requires_approval": true,
    })
}

/// A complete A2A 0.3.0 card, with the newer list of interfaces as well. Its transport is not served yet.
fn a2a_card(edge: &Edge) -> Value {
    let endpoint = format!("{}/a2a", edge.options.public_url);
    json!({
        "protocolVersion": "0.3.0",
        "name": NAME,
        "description": format!("{DESCRIPTION} The A2A transport is announced here and not served yet."),
        "url": endpoint,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{ "url": endpoint, "transport": "JSONRPC" }],
        "supportedInterfaces": [{ "url": endpoint, "protocolBinding": "JSONRPC", "protocolVersion": "0.3.0" }],
        "version": VERSION,
        "provider": { "organization": "Harn", "url": edge.options.public_url },
        "capabilities": { "streaming": false, "pushNotifications": false },
        "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        "security": [{ "bearer": [] }],
        "supportsAuthenticatedExtendedCard": false,
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [{
            "id": "agent", "name": "agent", "description": DESCRIPTION, "tags": ["harn", "agent"], "examples": ["list files"],
            "inputModes": ["text/plain", "application/json"], "outputModes": ["text/plain"],
        }],
    })
}
