//! The comparison on the public document itself: equal to itself, and every mutation is found where it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use harn_testkit::Kind::{self, Addition, Conflict, Missing};
use harn_testkit::{PublicApi, compare, unexplained};
use serde_json::{Value, json};

#[test]
fn the_public_document_equals_itself() {
    let Some(api) = PublicApi::shared() else { return };
    assert_eq!(compare(api.published(), api.published()), []);
}

/// Gives `mutate` the node at `pointer` of a copy of the public document, and compares.
fn check(pointer: &str, mutate: impl FnOnce(&mut Value), expected: &[(Kind, &str)]) {
    let Some(api) = PublicApi::shared() else { return };
    let mut ours = api.published().clone();
    mutate(ours.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")));
    let found = compare(api.published(), &ours);
    let short: Vec<_> = found.iter().map(|one| (one.kind, one.location.as_str())).collect();
    assert_eq!(short, expected, "{found:#?}");
}

fn remove(key: &str) -> impl FnOnce(&mut Value) {
    move |node| {
        node.as_object_mut().unwrap().remove(key).unwrap();
    }
}

fn set(key: &str, value: Value) -> impl FnOnce(&mut Value) {
    move |node| node[key] = value
}

fn rename(key: &str, new: &str) -> impl FnOnce(&mut Value) {
    move |node| {
        let value = node.as_object_mut().unwrap().remove(key).unwrap();
        node[new] = value;
    }
}

fn without(value: &str) -> impl FnOnce(&mut Value) {
    move |node| node.as_array_mut().unwrap().retain(|one| one != value)
}

fn with(value: Value) -> impl FnOnce(&mut Value) {
    move |node| node.as_array_mut().unwrap().push(value)
}

#[test]
fn operations() {
    check("/paths/~1v1~1tasks", remove("get"), &[(Missing, "GET /v1/tasks")]);
    check("/paths/~1v1~1tasks", set("delete", json!({ "responses": {} })), &[(Addition, "DELETE /v1/tasks")]);
    let changed = [(Conflict, "GET /health operationId")];
    check("/paths/~1health/get", set("operationId", json!("health")), &changed);
}

#[test]
fn parameters() {
    let parameters = "/paths/~1v1~1tools/get/parameters";
    let limit = json!({ "name": "page_size", "in": "query", "schema": { "type": "integer" } });
    let renamed = [(Missing, "GET /v1/tools query limit"), (Addition, "GET /v1/tools query page_size")];
    check(parameters, |list| list[1] = limit, &renamed);

    let required =
        json!({ "name": "tenant", "in": "header", "required": true, "schema": { "type": "string" } });
    check(parameters, with(required), &[(Conflict, "GET /v1/tools header tenant")]);

    let schema = json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 100 });
    let bounds = json!({ "name": "limit", "in": "query", "schema": schema });
    let changed = [(Conflict, "GET /v1/tools query limit"), (Addition, "GET /v1/tools query limit")];
    check(parameters, |list| list[1] = bounds, &changed);

    let lower_case = json!({
        "name": "harn-agents-protocol-version", "in": "header", "required": true,
        "schema": { "const": "agents-protocol-2026-04-25" },
    });
    check(parameters, |list| list[0] = lower_case, &[]);

    let schema = json!({ "type": "string" });
    let path = json!({ "name": "id", "in": "path", "required": true, "schema": schema });
    check(
        "/paths",
        |paths| {
            rename("/v1/tools/{tool_id}", "/v1/tools/{id}")(paths);
            paths["/v1/tools/{id}"]["get"]["parameters"][1] = path;
        },
        &[(Conflict, "GET /v1/tools/{tool_id} path id"), (Missing, "GET /v1/tools/{tool_id} path tool_id")],
    );
}

#[test]
fn request_bodies() {
    let operation = "/paths/~1v1~1vaults/post";
    let request = "POST /v1/vaults request";
    check(operation, remove("requestBody"), &[(Missing, request)]);
    check(&format!("{operation}/requestBody"), set("required", json!(false)), &[(Addition, request)]);
    let replay = "/paths/~1v1~1tasks~1{task_id}~1replay/post/requestBody";
    let replay_request = [(Conflict, "POST /v1/tasks/{task_id}/replay request")];
    check(replay, set("required", json!(true)), &replay_request);

    let create = "/components/schemas/CreateVaultRequest";
    let required = format!("{create}/required");
    check(&required, without("provider"), &[(Addition, "CreateVaultRequest.provider")]);
    check(&required, with(json!("workspace_id")), &[(Conflict, "CreateVaultRequest.workspace_id")]);
    let tenant = |required: bool, kind| {
        let mutate = |schema: &mut Value| {
            schema["properties"]["tenant"] = json!({ "type": "string" });
            if required {
                with(json!("tenant"))(&mut schema["required"]);
            }
        };
        check(create, mutate, &[(kind, "CreateVaultRequest.tenant")]);
    };
    tenant(true, Conflict);
    tenant(false, Addition);
    let closed = set("additionalProperties", json!(false));
    check(create, closed, &[(Conflict, "CreateVaultRequest.*")]);

    let properties = format!("{create}/properties");
    let text = json!({ "type": "string" });
    check(&properties, set("workspace_id", text), &[(Conflict, "CreateVaultRequest.workspace_id")]);
    check(&properties, set("provider", json!({})), &[(Addition, "CreateVaultRequest.provider")]);
    let outcome = "/components/schemas/PermissionResponseRequest/properties/outcome/enum";
    check(outcome, with(json!("maybe")), &[(Addition, "PermissionResponseRequest.outcome")]);
    check(outcome, without("deny"), &[(Missing, "PermissionResponseRequest.outcome")]);
}

#[test]
fn responses() {
    let responses = "/paths/~1v1~1tasks/post/responses";
    let moved = [(Addition, "POST /v1/tasks 200"), (Missing, "POST /v1/tasks 202")];
    check(responses, rename("202", "200"), &moved);
    check(responses, remove("default"), &[(Missing, "POST /v1/tasks default")]);
    let foreign = json!({ "content": { "application/json": { "schema": { "type": "string" } } } });
    let not_found = [(Conflict, "POST /v1/tasks 404"), (Addition, "POST /v1/tasks 404")];
    check(responses, set("404", foreign), &not_found);
    let content = format!("{responses}/202/content");
    let media =
        [(Missing, "POST /v1/tasks 202 application/json"), (Addition, "POST /v1/tasks 202 text/plain")];
    check(&content, rename("application/json", "text/plain"), &media);
}

#[test]
fn response_schemas() {
    let health = "/components/schemas/Health";
    let properties = format!("{health}/properties");
    check(&properties, set("ok", json!({ "type": "string" })), &[(Conflict, "Health.ok")]);
    let nullable = json!({ "type": ["string", "null"] });
    check(&properties, set("version", nullable), &[(Conflict, "Health.version")]);
    check(&properties, set("version", json!({})), &[(Conflict, "Health.version")]);
    check(&properties, set("uptime", json!({ "type": "integer" })), &[(Addition, "Health.uptime")]);
    check(&format!("{health}/required"), without("ok"), &[(Conflict, "Health.ok")]);

    check("/components/schemas/TaskStatus/enum", without("WORKING"), &[(Missing, "TaskStatus")]);
    check("/components/schemas/TaskStatus/enum", with(json!("LOST")), &[(Conflict, "TaskStatus")]);
    check(
        "/components/schemas/Timestamp",
        remove("format"),
        &[(Conflict, "Timestamp"), (Addition, "Timestamp")],
    );

    let task = "/components/schemas/Task/allOf/1";
    check(&format!("{task}/properties"), remove("status"), &[(Missing, "Task.status")]);
    let status = set("status", json!({ "type": "string" }));
    check(&format!("{task}/properties"), status, &[(Conflict, "Task.status")]);
    let failure = set("failure", json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] }));
    check(&format!("{task}/properties"), failure, &[(Conflict, "Task.failure")]);

    let list = "/components/schemas/TaskList/allOf/1/properties/data/items";
    check(list, |items| *items = json!({ "type": "string" }), &[(Conflict, "TaskList.data[]")]);
    let limits = "/components/schemas/Quota/allOf/1/properties/limits/additionalProperties";
    check(limits, |value| *value = json!({ "type": "string" }), &[(Conflict, "Quota.limits.*")]);
}

#[test]
fn unions() {
    let part = "/components/schemas/Part/oneOf";
    let remove_json = |list: &mut Value| {
        list.as_array_mut().unwrap().remove(1);
    };
    check(part, remove_json, &[(Missing, "Part|JsonPart")]);
    let video = json!({ "type": "object", "properties": { "type": { "const": "video" } } });
    let added = [(Conflict, "Part|type=\"video\""), (Addition, "Part|type=\"video\"")];
    check(part, with(video), &added);
    check(part, |list| list.as_array_mut().unwrap().reverse(), &[]);
    let changed = [(Missing, "TextPart.text")];
    check("/components/schemas/TextPart/properties", remove("text"), &changed);
}

#[test]
fn a_promise_in_a_response_is_no_difference() {
    let health = "/components/schemas/Health";
    let runtime = "/components/schemas/RuntimeMetadata";
    check(&format!("{runtime}/required"), with(json!("task_count")), &[]);
    check(&format!("{health}/properties/status"), set("enum", json!(["ok"])), &[]);
    check(&format!("{runtime}/properties/task_count"), set("minimum", json!(1)), &[]);
    let workspace = "/components/schemas/Workspace/allOf/1/properties/default_branch_id";
    check(workspace, |schema| *schema = json!({ "type": "string" }), &[]);
    let payload = json!({ "type": "object", "properties": { "resource": { "type": "object" } } });
    check("/components/schemas/Event/allOf/1/properties", set("payload", payload), &[]);
}

#[test]
fn the_allowlist_explains_what_is_meant_and_can_only_shrink() {
    let Some(api) = PublicApi::shared() else { return };
    let mut ours = api.published().clone();
    remove("get")(&mut ours["paths"]["/v1/tasks"]);
    remove("get")(&mut ours["paths"]["/v1/quotas"]);
    let found = compare(api.published(), &ours);

    assert_eq!(unexplained(&found, &[("GET /v1/*", "not served yet")]), Vec::<String>::new());
    let complaints = unexplained(&found, &[("GET /v1/tasks", ""), ("Task.*", "was different once")]);
    assert_eq!(
        complaints,
        [
            "unexplained: Missing GET /v1/quotas: the operation is missing",
            "explains nothing, remove it: Task.* (was different once)",
            "has no reason: GET /v1/tasks",
        ]
    );
}
