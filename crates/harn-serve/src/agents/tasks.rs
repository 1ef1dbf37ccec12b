//! Tasks, the requests that they put to people, and their outcomes.

use axum::Json;
use axum::extract::State;
use harn_core::{Error, Message, Outcome, OutcomeId, PermissionRequest, RequestId, SessionId, Task, TaskId};
use harn_harness::TaskFilter;
use harn_wire::agents::{
    AppendTaskMessageRequest, CancelTaskRequest, Page, PermissionResponseRequest, SubmitTaskRequest,
    UndoResult,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Made, Routes, SessionParam, Shared, TaskParam, WorkspaceParam, accepted, created};
use crate::intake::{Asked, Caller, Command, Id, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list_tasks, submit_task))
        .routes(routes!(list_session_tasks, submit_session_task))
        .routes(routes!(get_task))
        .routes(routes!(cancel_task))
        .routes(routes!(undo_task))
        .routes(routes!(append_message))
        .routes(routes!(list_task_requests))
        .routes(routes!(list_requests))
        .routes(routes!(get_request))
        .routes(routes!(respond))
        .routes(routes!(list_outcomes))
        .routes(routes!(get_outcome))
}

/// List tasks.
#[utoipa::path(get, path = "/v1/tasks", operation_id = "listTasks", tag = "Tasks",
    params(WorkspaceParam, SessionParam, PageParams), responses((status = 200, body = Page<Task>)))]
async fn list_tasks(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(workspace): Asked<WorkspaceParam>,
    Asked(session): Asked<SessionParam>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Task>> {
    let filter = TaskFilter {
        workspace: workspace.workspace_id.map(Into::into),
        session: session.session_id.map(Into::into),
    };
    Ok(Json(edge.harness.tasks(&actor, filter, page.wanted()?).await?))
}

/// Submit a task to the session that the body names; a skill is called without one, too.
#[utoipa::path(post, path = "/v1/tasks", operation_id = "submitTask", tag = "Tasks",
    request_body = SubmitTaskRequest, responses((status = 202, body = Task)))]
async fn submit_task(State(edge): Shared, command: Command<SubmitTaskRequest>) -> Made<Task> {
    let Command { call, body, .. } = command;
    Ok(accepted(match body.session_id.clone() {
        Some(session) => edge.harness.submit_task(&call, session, body).await?,
        None => edge.harness.call_skill(&call, body).await?,
    }))
}

/// List the tasks of a session.
#[utoipa::path(get, path = "/v1/sessions/{session_id}/tasks", operation_id = "listSessionTasks", tag = "Tasks",
    params(PageParams), responses((status = 200, body = Page<Task>)))]
async fn list_session_tasks(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<SessionId>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Task>> {
    Ok(Json(edge.harness.session_tasks(&actor, &id, page.wanted()?).await?))
}

/// Submit a task to a session.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/tasks", operation_id = "submitSessionTask", tag = "Tasks",
    request_body = SubmitTaskRequest, responses((status = 202, body = Task)))]
async fn submit_session_task(
    State(edge): Shared,
    Id(id): Id<SessionId>,
    command: Command<SubmitTaskRequest>,
) -> Made<Task> {
    if command.body.session_id.as_ref().is_some_and(|given| *given != id) {
        return Err(Error::invalid("session_id", "`session_id` is not the session of the path.").into());
    }
    Ok(accepted(edge.harness.submit_task(&command.call, id, command.body).await?))
}

/// Retrieve a task.
#[utoipa::path(get, path = "/v1/tasks/{task_id}", operation_id = "getTask", tag = "Tasks",
    responses((status = 200, body = Task)))]
async fn get_task(State(edge): Shared, Caller(actor): Caller, Id(id): Id<TaskId>) -> Answer<Task> {
    Ok(Json(edge.harness.task(&actor, &id).await?))
}

/// Cancel a task.
#[utoipa::path(post, path = "/v1/tasks/{task_id}/cancel", operation_id = "cancelTask", tag = "Tasks",
    request_body = Option<CancelTaskRequest>, responses((status = 200, body = Task)))]
async fn cancel_task(
    State(edge): Shared,
    Id(id): Id<TaskId>,
    command: Command<Option<CancelTaskRequest>>,
) -> Answer<Task> {
    let request = command.body.unwrap_or_default();
    Ok(Json(edge.harness.cancel_task(&command.call, id, request).await?))
}

/// Put back what a finished task did to files, as far as that is possible.
#[utoipa::path(post, path = "/v1/tasks/{task_id}/undo", operation_id = "undoTask", tag = "Tasks",
    responses((status = 200, body = UndoResult)))]
async fn undo_task(
    State(edge): Shared,
    Id(id): Id<TaskId>,
    command: Command<Option<serde_json::Value>>,
) -> Answer<UndoResult> {
    Ok(Json(edge.harness.undo_task(&command.call, id).await?))
}

/// Send input, an interruption or a tool confirmation to a task.
#[utoipa::path(post, path = "/v1/tasks/{task_id}/messages", operation_id = "appendTaskMessage", tag = "Messages",
    request_body = AppendTaskMessageRequest, responses((status = 201, body = Message)))]
async fn append_message(
    State(edge): Shared,
    Id(id): Id<TaskId>,
    command: Command<AppendTaskMessageRequest>,
) -> Made<Message> {
    Ok(created(edge.harness.append_task_message(&command.call, id, command.body).await?))
}

/// List what a task has asked people.
#[utoipa::path(get, path = "/v1/tasks/{task_id}/permission-requests", operation_id = "listTaskPermissionRequests",
    tag = "Permissions", params(PageParams), responses((status = 200, body = Page<PermissionRequest>)))]
async fn list_task_requests(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<TaskId>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<PermissionRequest>> {
    Ok(Json(edge.harness.task_permission_requests(&actor, id, page.wanted()?).await?))
}

/// List what tasks have asked people, pending and resolved.
#[utoipa::path(get, path = "/v1/permission-requests", operation_id = "listPermissionRequests", tag = "Permissions",
    params(SessionParam, TaskParam, PageParams), responses((status = 200, body = Page<PermissionRequest>)))]
async fn list_requests(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(session): Asked<SessionParam>,
    Asked(task): Asked<TaskParam>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<PermissionRequest>> {
    let (session, task) = (session.session_id.map(Into::into), task.task_id.map(Into::into));
    Ok(Json(edge.harness.permission_requests(&actor, session, task, page.wanted()?).await?))
}

/// Retrieve what a task has asked people.
#[utoipa::path(get, path = "/v1/permission-requests/{request_id}", operation_id = "getPermissionRequest",
    tag = "Permissions", responses((status = 200, body = PermissionRequest)))]
async fn get_request(
    State(edge): Shared,
    Caller(actor): Caller,
    Id(id): Id<RequestId>,
) -> Answer<PermissionRequest> {
    Ok(Json(edge.harness.permission_request(&actor, &id).await?))
}

/// Approve or deny a tool call, or answer a question.
#[utoipa::path(post, path = "/v1/permission-requests/{request_id}/respond", operation_id = "respondPermissionRequest",
    tag = "Permissions", request_body = PermissionResponseRequest,
    responses((status = 200, body = PermissionRequest)))]
async fn respond(
    State(edge): Shared,
    Id(id): Id<RequestId>,
    command: Command<PermissionResponseRequest>,
) -> Answer<PermissionRequest> {
    Ok(Json(edge.harness.respond(&command.call, id, command.body).await?))
}

/// List outcomes.
#[utoipa::path(get, path = "/v1/outcomes", operation_id = "listOutcomes", tag = "Outcomes",
    params(TaskParam, PageParams), responses((status = 200, body = Page<Outcome>)))]
async fn list_outcomes(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(task): Asked<TaskParam>,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Outcome>> {
    Ok(Json(edge.harness.outcomes(&actor, task.task_id.map(Into::into), page.wanted()?).await?))
}

/// Retrieve an outcome.
#[utoipa::path(get, path = "/v1/outcomes/{outcome_id}", operation_id = "getOutcome", tag = "Outcomes",
    responses((status = 200, body = Outcome)))]
async fn get_outcome(State(edge): Shared, Caller(actor): Caller, Id(id): Id<OutcomeId>) -> Answer<Outcome> {
    Ok(Json(edge.harness.outcome(&actor, &id).await?))
}
