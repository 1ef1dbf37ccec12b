//! Waitpoints of a workspace: listed, read, completed and cancelled from outside.

use axum::Json;
use axum::extract::State;
use harn_core::WorkspaceId;
use harn_wire::agents::{CancelWaitpointRequest, CompleteWaitpointRequest, Page, Waitpoint};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Routes, Shared};
use crate::intake::{Asked, Caller, Command, Id, Ids, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list_waitpoints))
        .routes(routes!(get_waitpoint))
        .routes(routes!(complete_waitpoint))
        .routes(routes!(cancel_waitpoint))
}

/// List the waitpoints of a workspace.
#[utoipa::path(get, path = "/v1/workspaces/{workspace_id}/waitpoints", tag = "Waitpoints", params(PageParams),
    responses((status = 200, body = Page<Waitpoint>)))]
async fn list_waitpoints(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Waitpoint>> {
    Ok(Json(edge.harness.waitpoints(&actor, workspace, page.wanted()?).await?))
}

/// Read a waitpoint.
#[utoipa::path(get, path = "/v1/workspaces/{workspace_id}/waitpoints/{waitpoint_id}", tag = "Waitpoints",
    responses((status = 200, body = Waitpoint)))]
async fn get_waitpoint(
    State(edge): Shared,
    Caller(actor): Caller,
    Ids(workspace, id): Ids<WorkspaceId, String>,
) -> Answer<Waitpoint> {
    Ok(Json(edge.harness.waitpoint(&actor, workspace, &id).await?))
}

/// Complete a waitpoint: whoever waits for it goes on with the value.
#[utoipa::path(post, path = "/v1/workspaces/{workspace_id}/waitpoints/{waitpoint_id}/complete", tag = "Waitpoints",
    request_body = Option<CompleteWaitpointRequest>, responses((status = 200, body = Waitpoint)))]
async fn complete_waitpoint(
    State(edge): Shared,
    Ids(workspace, id): Ids<WorkspaceId, String>,
    command: Command<Option<CompleteWaitpointRequest>>,
) -> Answer<Waitpoint> {
    let request = command.body.unwrap_or_default();
    Ok(Json(edge.harness.complete_waitpoint(&command.call, workspace, id, request).await?))
}

/// Cancel a waitpoint: whoever waits for it is told so.
#[utoipa::path(post, path = "/v1/workspaces/{workspace_id}/waitpoints/{waitpoint_id}/cancel", tag = "Waitpoints",
    request_body = Option<CancelWaitpointRequest>, responses((status = 200, body = Waitpoint)))]
async fn cancel_waitpoint(
    State(edge): Shared,
    Ids(workspace, id): Ids<WorkspaceId, String>,
    command: Command<Option<CancelWaitpointRequest>>,
) -> Answer<Waitpoint> {
    let request = command.body.unwrap_or_default();
    Ok(Json(edge.harness.cancel_waitpoint(&command.call, workspace, id, request).await?))
}
