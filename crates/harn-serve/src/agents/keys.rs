//! API keys: made, listed, revoked. The secret of a key is shown once, when it is made.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use harn_core::KeyId;
use harn_wire::agents::{ApiKey, CreateKeyRequest, Page};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Made, Routes, Shared, created};
use crate::failure::Failure;
use crate::intake::{Caller, Command, Id};

pub fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(list_keys, create_key)).routes(routes!(revoke_key))
}

/// List API keys.
#[utoipa::path(get, path = "/v1/keys", operation_id = "listKeys", tag = "Keys",
    responses((status = 200, body = Page<ApiKey>)))]
async fn list_keys(State(edge): Shared, Caller(actor): Caller) -> Answer<Page<ApiKey>> {
    Ok(Json(Page::new(edge.harness.keys(&actor).await?, None)))
}

/// Make an API key.
#[utoipa::path(post, path = "/v1/keys", operation_id = "createKey", tag = "Keys",
    request_body = CreateKeyRequest, responses((status = 201, body = ApiKey)))]
async fn create_key(State(edge): Shared, command: Command<CreateKeyRequest>) -> Made<ApiKey> {
    Ok(created(edge.harness.make_key(&command.call, command.body).await?))
}

/// Revoke an API key.
#[utoipa::path(delete, path = "/v1/keys/{key_id}", operation_id = "revokeKey", tag = "Keys",
    responses((status = 204)))]
async fn revoke_key(
    State(edge): Shared,
    Id(id): Id<KeyId>,
    command: Command<Option<serde_json::Value>>,
) -> Result<StatusCode, Failure> {
    edge.harness.revoke_key(&command.call.actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
