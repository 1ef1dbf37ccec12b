//! Operations of the protocol that are not served yet: in the document, and 501 when called.

use harn_core::{Code, Error, Task};
use harn_wire::agents::{
    Connector, CreateMemoryRequest, CreateVaultRequest, Memory, Page, Quota, Receipt, ReceiptVerification,
    ReplayTaskRequest, Vault, VerifyReceiptRequest,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Routes, SessionParam, WorkspaceParam};
use crate::failure::Failure;
use crate::intake::PageParams;

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(replay_task))
        .routes(routes!(list_task_receipts))
        .routes(routes!(get_receipt))
        .routes(routes!(verify_receipt))
        .routes(routes!(list_memories, create_memory))
        .routes(routes!(get_memory, delete_memory))
        .routes(routes!(list_vaults, create_vault))
        .routes(routes!(get_vault))
        .routes(routes!(list_connectors))
        .routes(routes!(get_connector))
        .routes(routes!(list_quotas))
        .routes(routes!(get_quota))
}

/// The answer of all of them. Which part is missing is said; nothing was done.
fn missing(what: &str) -> Failure {
    let message = format!("{what} are not served by this harness yet. `GET /v1/capabilities` lists what is.");
    not_yet(&message)
}

pub fn not_yet(message: &str) -> Failure {
    Error::new(Code::NotImplemented, message).into()
}

/// Replay a task from its journal.
#[utoipa::path(post, path = "/v1/tasks/{task_id}/replay", tag = "Tasks", request_body = Option<ReplayTaskRequest>,
    responses((status = 202, body = Task)))]
async fn replay_task() -> Failure {
    missing("Replays")
}

/// List a task's receipts.
#[utoipa::path(get, path = "/v1/tasks/{task_id}/receipts", tag = "Receipts", params(PageParams),
    responses((status = 200, body = Page<Receipt>)))]
async fn list_task_receipts() -> Failure {
    missing("Receipts")
}

/// Read a receipt.
#[utoipa::path(get, path = "/v1/receipts/{receipt_id}", tag = "Receipts", responses((status = 200, body = Receipt)))]
async fn get_receipt() -> Failure {
    missing("Receipts")
}

/// Verify a receipt.
#[utoipa::path(post, path = "/v1/receipts/{receipt_id}/verify", tag = "Receipts",
    request_body = Option<VerifyReceiptRequest>, responses((status = 200, body = ReceiptVerification)))]
async fn verify_receipt() -> Failure {
    missing("Receipts")
}

/// List memories.
#[utoipa::path(get, path = "/v1/memories", tag = "Memories", params(WorkspaceParam, SessionParam, PageParams),
    responses((status = 200, body = Page<Memory>)))]
async fn list_memories() -> Failure {
    missing("Memories")
}

/// Create a memory.
#[utoipa::path(post, path = "/v1/memories", tag = "Memories", request_body = CreateMemoryRequest,
    responses((status = 201, body = Memory)))]
async fn create_memory() -> Failure {
    missing("Memories")
}

/// Read a memory.
#[utoipa::path(get, path = "/v1/memories/{memory_id}", tag = "Memories", responses((status = 200, body = Memory)))]
async fn get_memory() -> Failure {
    missing("Memories")
}

/// Delete a memory.
#[utoipa::path(delete, path = "/v1/memories/{memory_id}", tag = "Memories", responses((status = 204)))]
async fn delete_memory() -> Failure {
    missing("Memories")
}

/// List vaults, without their secrets.
#[utoipa::path(get, path = "/v1/vaults", tag = "Vaults", params(WorkspaceParam, PageParams),
    responses((status = 200, body = Page<Vault>)))]
async fn list_vaults() -> Failure {
    missing("Vaults")
}

/// Create a vault.
#[utoipa::path(post, path = "/v1/vaults", tag = "Vaults", request_body = CreateVaultRequest,
    responses((status = 201, body = Vault)))]
async fn create_vault() -> Failure {
    missing("Vaults")
}

/// Read a vault, without its secrets.
#[utoipa::path(get, path = "/v1/vaults/{vault_id}", tag = "Vaults", responses((status = 200, body = Vault)))]
async fn get_vault() -> Failure {
    missing("Vaults")
}

/// List connectors.
#[utoipa::path(get, path = "/v1/connectors", tag = "Connectors", params(WorkspaceParam, PageParams),
    responses((status = 200, body = Page<Connector>)))]
async fn list_connectors() -> Failure {
    missing("Connectors")
}

/// Read a connector.
#[utoipa::path(get, path = "/v1/connectors/{connector_id}", tag = "Connectors",
    responses((status = 200, body = Connector)))]
async fn get_connector() -> Failure {
    missing("Connectors")
}

/// List quotas.
#[utoipa::path(get, path = "/v1/quotas", tag = "Quotas", params(PageParams),
    responses((status = 200, body = Page<Quota>)))]
async fn list_quotas() -> Failure {
    missing("Quotas")
}

/// Read a quota.
#[utoipa::path(get, path = "/v1/quotas/{quota_id}", tag = "Quotas", responses((status = 200, body = Quota)))]
async fn get_quota() -> Failure {
    missing("Quotas")
}
