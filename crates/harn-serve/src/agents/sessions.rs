//! Sessions, their messages and branches.

use axum::Json;
use axum::extract::State;
use harn_core::{Branch, BranchId, Message, MessageId, Session, SessionId, Truncation};
use harn_wire::agents::{
    AppendMessageRequest, CreateBranchRequest, CreateSessionRequest, ForkSessionRequest, Page,
    TruncateSessionRequest, UpdateSessionRequest,
};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Made, Routes, Shared, WorkspaceParam, created};
use crate::intake::{Asked, Caller, Command, Id, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list_sessions, create_session))
        .routes(routes!(get_session, update_session))
        .routes(routes!(close_session))
        .routes(routes!(fork_session))
        .routes(routes!(truncate_session))
        .routes(routes!(list_messages, append_message))
        .routes(routes!(list_branches, create_branch))
        .routes(routes!(get_branch))
        .routes(routes!(get_message))
}

/// List sessions.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "listSessions", tag = "Sessions",
    params(WorkspaceParam, PageParams), responses((status = 200, body = Page<Session>)))]
async fn list_sessions(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(filter): Asked<WorkspaceParam>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Session>> {
    let workspace = filter.workspace_id.map(Into::into);
    Ok(Json(edge.harness.sessions(&actor, workspace, page.wanted()?).await?))
}

/// Create a session.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "createSession", tag = "Sessions",
    request_body = CreateSessionRequest, responses((status = 201, body = Session)))]
async fn create_session(State(edge): Shared, command: Command<CreateSessionRequest>) -> Made<Session> {
    Ok(created(edge.harness.create_session(&command.call, command.body).await?))
}

/// Retrieve a session.
#[utoipa::path(get, path = "/v1/sessions/{session_id}", operation_id = "getSession", tag = "Sessions",
    responses((status = 200, body = Session)))]
async fn get_session(State(edge): Shared, Caller(actor): Caller, Id(id): Id<SessionId>) -> Answer<Session> {
    Ok(Json(edge.harness.session(&actor, &id).await?))
}

/// Update a session.
#[utoipa::path(patch, path = "/v1/sessions/{session_id}", operation_id = "updateSession", tag = "Sessions",
    request_body = UpdateSessionRequest, responses((status = 200, body = Session)))]
async fn update_session(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    command: Command<UpdateSessionRequest>,
) -> Answer<Session> {
    Ok(Json(edge.harness.update_session(&command.call, id, command.body).await?))
}

/// Close a session; its open tasks are cancelled.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/close", operation_id = "closeSession", tag = "Sessions",
    responses((status = 200, body = Session)))]
async fn close_session(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    // It has no body; whatever comes is ignored.
    command: Command<Option<Value>>,
) -> Answer<Session> {
    Ok(Json(edge.harness.close_session(&command.call, id).await?))
}

/// Fork a session's transcript into a new session.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/fork", operation_id = "forkSession", tag = "Sessions",
    request_body = Option<ForkSessionRequest>, responses((status = 201, body = Session)))]
async fn fork_session(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    command: Command<Option<ForkSessionRequest>>,
) -> Made<Session> {
    let request = command.body.unwrap_or_default();
    Ok(created(edge.harness.fork_session(&command.call, id, request).await?))
}

/// Drop the turns after the first few, and cancel the active task.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/truncate", operation_id = "truncateSession", tag = "Sessions",
    request_body = TruncateSessionRequest, responses((status = 200, body = Truncation)))]
async fn truncate_session(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    command: Command<TruncateSessionRequest>,
) -> Answer<Truncation> {
    Ok(Json(edge.harness.truncate_session(&command.call, id, command.body).await?))
}

/// List the messages of a session.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/messages", operation_id = "listSessionMessages",
    tag = "Messages", params(PageParams), responses((status = 200, body = Page<Message>)))]
async fn list_messages(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<SessionId>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Message>> {
    Ok(Json(edge.harness.session_messages(&actor, &id, page.wanted()?).await?))
}

/// Append a message. It starts nothing; during a run it waits in the inbox.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/messages", operation_id = "appendSessionMessage",
    tag = "Messages", request_body = AppendMessageRequest, responses((status = 201, body = Message)))]
async fn append_message(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    command: Command<AppendMessageRequest>,
) -> Made<Message> {
    Ok(created(edge.harness.append_session_message(&command.call, id, command.body).await?))
}

/// List the branches of a session.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/branches", operation_id = "listSessionBranches",
    tag = "Branches", params(PageParams), responses((status = 200, body = Page<Branch>)))]
async fn list_branches(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<SessionId>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Branch>> {
    Ok(Json(edge.harness.session_branches(&actor, &id, page.wanted()?).await?))
}

/// Create a branch.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/branches", operation_id = "createSessionBranch",
    tag = "Branches", request_body = CreateBranchRequest, responses((status = 201, body = Branch)))]
async fn create_branch(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    command: Command<CreateBranchRequest>,
) -> Made<Branch> {
    Ok(created(edge.harness.create_branch(&command.call, id, command.body).await?))
}

/// Retrieve a branch.
#[utoipa::path(get, path = "/v1/branches/{branch_id}", operation_id = "getBranch", tag = "Branches",
    responses((status = 200, body = Branch)))]
async fn get_branch(State(edge): Shared, Caller(actor): Caller, Id(id): Id<BranchId>) -> Answer<Branch> {
    Ok(Json(edge.harness.branch(&actor, &id).await?))
}

/// Retrieve a message.
#[utoipa::path(get, path = "/v1/messages/{message_id}", operation_id = "getMessage", tag = "Messages",
    responses((status = 200, body = Message)))]
async fn get_message(State(edge): Shared, Caller(actor): Caller, Id(id): Id<MessageId>) -> Answer<Message> {
    Ok(Json(edge.harness.message(&actor, &id).await?))
}
