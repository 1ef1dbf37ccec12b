//! Permissions: the policy document, rules, checks, and the record of decisions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use harn_core::Error;
use harn_wire::agents::{
    DecisionEntry, Page, PermissionCheck, PermissionCheckResult, PermissionPolicyBody,
    PermissionPolicyDocument, PermissionRule, PermissionRuleRequest,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Made, Routes, SessionParam, Shared, TaskParam, created};
use crate::failure::Failure;
use crate::intake::{Asked, Caller, Command, Id, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(get_policy, put_policy))
        .routes(routes!(list_rules, add_rule))
        .routes(routes!(remove_rule))
        .routes(routes!(history))
        .routes(routes!(check))
}

/// Read the permission policy.
#[utoipa::path(get, path = "/v1/permissions/policy", operation_id = "getPermissionPolicy", tag = "Permissions",
    responses((status = 200, body = PermissionPolicyDocument)))]
async fn get_policy(State(edge): Shared, Caller(actor): Caller) -> Answer<PermissionPolicyDocument> {
    Ok(Json(edge.harness.permission_policy(&actor).await?))
}

/// Replace the permission policy.
#[utoipa::path(put, path = "/v1/permissions/policy", operation_id = "putPermissionPolicy", tag = "Permissions",
    request_body = PermissionPolicyBody, responses((status = 200, body = PermissionPolicyDocument)))]
async fn put_policy(
    State(edge): Shared,
    command: Command<PermissionPolicyBody>,
) -> Answer<PermissionPolicyDocument> {
    Ok(Json(edge.harness.put_permission_policy(&command.call, command.body).await?))
}

/// List the rules that were added and the answers that are remembered.
#[utoipa::path(get, path = "/v1/permissions/rules", operation_id = "listPermissionRules", tag = "Permissions",
    params(PageParams), responses((status = 200, body = Page<PermissionRule>)))]
async fn list_rules(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<PermissionRule>> {
    Ok(Json(edge.harness.permission_rules(&actor, page.wanted()?).await?))
}

/// Add a rule.
#[utoipa::path(post, path = "/v1/permissions/rules", operation_id = "addPermissionRule", tag = "Permissions",
    request_body = PermissionRuleRequest, responses((status = 201, body = PermissionRule)))]
async fn add_rule(State(edge): Shared, command: Command<PermissionRuleRequest>) -> Made<PermissionRule> {
    Ok(created(edge.harness.add_permission_rule(&command.call, command.body).await?))
}

/// Remove a rule.
#[utoipa::path(delete, path = "/v1/permissions/rules/{rule_id}", operation_id = "removePermissionRule",
    tag = "Permissions", responses((status = 204)))]
async fn remove_rule(
    State(edge): Shared,
    Id(id): Id<String>,
    command: Command<Option<serde_json::Value>>,
) -> Result<StatusCode, Failure> {
    edge.harness.remove_permission_rule(&command.call, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct HistoryParams {
    /// Only decisions after this event.
    #[param(value_type = String, required = false)]
    after_event_id: Option<String>,
    #[param(value_type = u64, required = false, minimum = 1, maximum = 200)]
    limit: Option<u64>,
}

/// List decisions in the order in which they were made.
#[utoipa::path(get, path = "/v1/permissions/history", operation_id = "listPermissionHistory", tag = "Permissions",
    params(SessionParam, TaskParam, HistoryParams), responses((status = 200, body = Page<DecisionEntry>)))]
async fn history(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(session): Asked<SessionParam>,
    Asked(task): Asked<TaskParam>,
    Asked(asked): Asked<HistoryParams>,
) -> Answer<Page<DecisionEntry>> {
    let after = match asked.after_event_id.as_deref().map(str::parse::<u64>) {
        None => 0,
        Some(Ok(id)) => id,
        Some(Err(_)) => return Err(Error::invalid("after_event_id", "This is no event id.").into()),
    };
    let limit = match asked.limit.unwrap_or(50) {
        limit @ 1..=200 => limit as usize,
        _ => return Err(Error::invalid("limit", "`limit` must be from 1 to 200.").into()),
    };
    let page = edge.harness.permission_history(&actor, task.task_id, session.session_id, after, limit);
    Ok(Json(page.await?))
}

/// Ask what policy would say about a tool call. Nothing happens.
#[utoipa::path(post, path = "/v1/permissions/check", operation_id = "checkPermission", tag = "Permissions",
    request_body = PermissionCheck, responses((status = 200, body = PermissionCheckResult)))]
async fn check(State(edge): Shared, command: Command<PermissionCheck>) -> Answer<PermissionCheckResult> {
    Ok(Json(edge.harness.check_permission(&command.call.actor, command.body).await?))
}
