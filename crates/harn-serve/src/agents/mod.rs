//! The Harn Agents Protocol: one file per group of resources, and the routes of all.

mod artifacts;
mod card;
mod discovery;
mod events;
mod keys;
mod later;
mod permissions;
mod sessions;
mod skills;
mod tasks;
mod tools;
mod waitpoints;
mod workspaces;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::document;
use crate::edge::Edge;
use crate::failure::Failure;

type Shared = State<Arc<Edge>>;
type Routes = OpenApiRouter<Arc<Edge>>;
/// 200 with a resource.
type Answer<T> = Result<Json<T>, Failure>;
/// Another success status with a resource.
type Made<T> = Result<(StatusCode, Json<T>), Failure>;

fn created<T>(resource: T) -> (StatusCode, Json<T>) {
    (StatusCode::CREATED, Json(resource))
}

fn accepted<T>(resource: T) -> (StatusCode, Json<T>) {
    (StatusCode::ACCEPTED, Json(resource))
}

/// Schemas that no handler names by itself.
#[derive(OpenApi)]
#[openapi(components(schemas(harn_wire::agents::ErrorResponse)))]
struct Shape;

/// The public routes, the guarded ones, and the document of both.
pub fn routes() -> (Router<Arc<Edge>>, Router<Arc<Edge>>, Value) {
    let (public, public_document) = discovery::public_routes().split_for_parts();
    let guarded = OpenApiRouter::with_openapi(Shape::openapi())
        .merge(discovery::routes())
        .merge(tools::routes())
        .merge(workspaces::routes())
        .merge(sessions::routes())
        .merge(tasks::routes())
        .merge(events::routes())
        .merge(artifacts::routes())
        .merge(permissions::routes())
        .merge(skills::routes())
        .merge(waitpoints::routes())
        .merge(keys::routes())
        .merge(later::routes());
    let (guarded, mut document) = guarded.split_for_parts();
    document.merge(public_document);
    (public, guarded, document::complete(&document))
}

/// Filters that several lists have.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct WorkspaceParam {
    #[param(value_type = String, required = false)]
    workspace_id: Option<String>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SessionParam {
    #[param(value_type = String, required = false)]
    session_id: Option<String>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TaskParam {
    #[param(value_type = String, required = false)]
    task_id: Option<String>,
}
