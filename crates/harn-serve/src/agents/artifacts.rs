//! Artifacts: registration, upload and download.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use harn_core::{Artifact, ArtifactId};
use harn_harness::{ArtifactFilter, Call};
use harn_wire::agents::{Page, RegisterArtifactRequest};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Made, Routes, SessionParam, Shared, TaskParam, WorkspaceParam, created};
use crate::failure::Failure;
use crate::intake::{Asked, Caller, Command, Id, PageParams, discard};
use crate::{download, upload};

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list_artifacts, register_artifact))
        .routes(routes!(get_artifact))
        .routes(routes!(download_content, upload_content))
}

/// Content as the document shows it.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "only its schema is used")]
struct Bytes(Vec<u8>);

/// List artifacts.
#[utoipa::path(get, path = "/v1/artifacts", operation_id = "listArtifacts", tag = "Artifacts",
    params(WorkspaceParam, SessionParam, TaskParam, PageParams), responses((status = 200, body = Page<Artifact>)))]
async fn list_artifacts(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(workspace): Asked<WorkspaceParam>,
    Asked(session): Asked<SessionParam>,
    Asked(task): Asked<TaskParam>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Artifact>> {
    let filter = ArtifactFilter {
        workspace: workspace.workspace_id.map(Into::into),
        session: session.session_id.map(Into::into),
        task: task.task_id.map(Into::into),
    };
    Ok(Json(edge.harness.artifacts(&actor, filter, page.wanted()?).await?))
}

/// Register an artifact.
#[utoipa::path(post, path = "/v1/artifacts", operation_id = "registerArtifact", tag = "Artifacts",
    request_body = RegisterArtifactRequest, responses((status = 201, body = Artifact)))]
async fn register_artifact(State(edge): Shared, command: Command<RegisterArtifactRequest>) -> Made<Artifact> {
    Ok(created(edge.harness.register_artifact(&command.call, command.body).await?))
}

/// Retrieve an artifact's description.
#[utoipa::path(get, path = "/v1/artifacts/{artifact_id}", operation_id = "getArtifact", tag = "Artifacts",
    responses((status = 200, body = Artifact)))]
async fn get_artifact(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<ArtifactId>,
) -> Answer<Artifact> {
    Ok(Json(edge.harness.artifact(&actor, &id).await?))
}

/// Download an artifact's content, whole or a range of it.
#[utoipa::path(get, path = "/v1/artifacts/{artifact_id}/content", operation_id = "downloadArtifactContent",
    tag = "Artifacts", responses(
        (status = 200, body = inline(Bytes), content_type = "application/octet-stream"),
        (status = 206, body = inline(Bytes), content_type = "application/octet-stream")))]
async fn download_content(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<ArtifactId>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (artifact, blob) = edge.harness.artifact_content(&actor, &id).await?;
    download::respond(blob, artifact.sha256.as_deref(), &headers).await
}

/// Upload an artifact's content, once.
#[utoipa::path(put, path = "/v1/artifacts/{artifact_id}/content", operation_id = "uploadArtifactContent",
    tag = "Artifacts", request_body(content = inline(Bytes), content_type = "application/octet-stream"),
    responses((status = 200, body = Artifact)))]
async fn upload_content(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<ArtifactId>,
    body: Body,
) -> Answer<Artifact> {
    // Seen first, so that nobody sends a gigabyte to an artifact that is not there.
    if let Err(error) = edge.harness.check_upload(&actor, &id).await {
        discard(body).await;
        return Err(error.into());
    }
    let incoming = upload::receive(body, edge.harness.upload_folder(), edge.options.upload_limit).await?;
    // The same content again changes nothing, so an upload needs no key to be retried.
    let call = Call::new(actor);
    Ok(Json(edge.harness.upload_artifact(&call, id, incoming.path.clone()).await?))
}
