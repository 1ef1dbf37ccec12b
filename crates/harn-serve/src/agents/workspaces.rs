//! Personas, workspaces and their files.

use axum::Json;
use axum::extract::State;
use harn_core::{Error, Persona, PersonaId, Workspace, WorkspaceId};
use harn_wire::agents::{
    CreatePersonaRequest, CreateWorkspaceRequest, FileOrListing, Page, UpdatePersonaRequest,
    UpdateWorkspaceRequest, WorkspaceFile, WriteWorkspaceFileRequest,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Made, Routes, Shared, created};
use crate::intake::{Asked, Caller, Command, Id, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list_personas, create_persona))
        .routes(routes!(get_persona, update_persona))
        .routes(routes!(list_workspaces, create_workspace))
        .routes(routes!(get_workspace, update_workspace))
        .routes(routes!(read_file, write_file))
}

/// List personas.
#[utoipa::path(get, path = "/v1/personas", operation_id = "listPersonas", tag = "Personas", params(PageParams),
    responses((status = 200, body = Page<Persona>)))]
async fn list_personas(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Persona>> {
    Ok(Json(edge.harness.personas(&actor, page.wanted()?).await?))
}

/// Create a persona.
#[utoipa::path(post, path = "/v1/personas", operation_id = "createPersona", tag = "Personas",
    request_body = CreatePersonaRequest, responses((status = 201, body = Persona)))]
async fn create_persona(State(edge): Shared, command: Command<CreatePersonaRequest>) -> Made<Persona> {
    Ok(created(edge.harness.create_persona(&command.call, command.body).await?))
}

/// Retrieve a persona.
#[utoipa::path(get, path = "/v1/personas/{persona_id}", operation_id = "getPersona", tag = "Personas",
    responses((status = 200, body = Persona)))]
async fn get_persona(State(edge): Shared, Caller(actor): Caller, Id(id): Id<PersonaId>) -> Answer<Persona> {
    Ok(Json(edge.harness.persona(&actor, &id).await?))
}

/// Update a persona.
#[utoipa::path(patch, path = "/v1/personas/{persona_id}", operation_id = "updatePersona", tag = "Personas",
    request_body = UpdatePersonaRequest, responses((status = 200, body = Persona)))]
async fn update_persona(
    State(edge): Shared,
    Id(id): Id<PersonaId>,
    command: Command<UpdatePersonaRequest>,
) -> Answer<Persona> {
    Ok(Json(edge.harness.update_persona(&command.call, id, command.body).await?))
}

/// List workspaces.
#[utoipa::path(get, path = "/v1/workspaces", operation_id = "listWorkspaces", tag = "Workspaces", params(PageParams),
    responses((status = 200, body = Page<Workspace>)))]
async fn list_workspaces(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Workspace>> {
    Ok(Json(edge.harness.workspaces(&actor, page.wanted()?).await?))
}

/// Create a workspace.
#[utoipa::path(post, path = "/v1/workspaces", operation_id = "createWorkspace", tag = "Workspaces",
    request_body = CreateWorkspaceRequest, responses((status = 201, body = Workspace)))]
async fn create_workspace(State(edge): Shared, command: Command<CreateWorkspaceRequest>) -> Made<Workspace> {
    Ok(created(edge.harness.create_workspace(&command.call, command.body).await?))
}

/// Retrieve a workspace.
#[utoipa::path(get, path = "/v1/workspaces/{workspace_id}", operation_id = "getWorkspace", tag = "Workspaces",
    responses((status = 200, body = Workspace)))]
async fn get_workspace(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<WorkspaceId>,
) -> Answer<Workspace> {
    Ok(Json(edge.harness.workspace(&actor, &id).await?))
}

/// Update a workspace.
#[utoipa::path(patch, path = "/v1/workspaces/{workspace_id}", operation_id = "updateWorkspace", tag = "Workspaces",
    request_body = UpdateWorkspaceRequest, responses((status = 200, body = Workspace)))]
async fn update_workspace(
    State(edge): Shared,
    Id(id): Id<WorkspaceId>,
    command: Command<UpdateWorkspaceRequest>,
) -> Answer<Workspace> {
    Ok(Json(edge.harness.update_workspace(&command.call, id, command.body).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct FileParam {
    /// Workspace-relative; absent or `.` for the root.
    #[param(value_type = String, required = false)]
    path: Option<String>,
}

/// Read a UTF-8 file or list a folder.
#[utoipa::path(get, path = "/v1/workspaces/{workspace_id}/files", operation_id = "readWorkspaceFile",
    tag = "Workspaces", params(FileParam), responses((status = 200, body = FileOrListing)))]
async fn read_file(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<WorkspaceId>,
    Asked(file): Asked<FileParam>,
) -> Answer<FileOrListing> {
    let path = file.path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".into());
    Ok(Json(edge.harness.read_file(&actor, &id, &path).await?))
}

/// Write a UTF-8 file.
#[utoipa::path(put, path = "/v1/workspaces/{workspace_id}/files", operation_id = "writeWorkspaceFile",
    tag = "Workspaces", params(FileParam), request_body = WriteWorkspaceFileRequest,
    responses((status = 200, body = WorkspaceFile)))]
async fn write_file(
    State(edge): Shared,
    Id(id): Id<WorkspaceId>,
    Asked(file): Asked<FileParam>,
    command: Command<WriteWorkspaceFileRequest>,
) -> Answer<WorkspaceFile> {
    let path = command.body.path.clone().or(file.path);
    let path = path.ok_or_else(|| Error::invalid("path", "Say which file, in the body or in the query."))?;
    Ok(Json(edge.harness.write_file(&command.call, &id, path, command.body).await?))
}
