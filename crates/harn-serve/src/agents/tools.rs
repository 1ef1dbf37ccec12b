//! The tools that tasks may use.

use axum::Json;
use axum::extract::State;
use harn_core::tool::ToolSpec;
use harn_core::{Error, Result};
use harn_wire::agents::{Page, Tool, ToolTag};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Routes, Shared};
use crate::intake::{Asked, Caller, Id, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(list_tools)).routes(routes!(get_tool))
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
    let tools = edge.harness.directory().tools();
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
    let tools = edge.harness.directory().tools();
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
