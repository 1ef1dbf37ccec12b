//! The document that we generate, held against the public one.

use harn_testkit::{PublicApi, compare, unexplained};

/// Differences that are meant, each with its reason. An entry that explains nothing fails the test.
const ALLOWED: &[(&str, &str)] = &[
    (
        "A2aAgentCard.additionalInterfaces",
        "spec 001 wants the A2A 0.3.0 card, the public document a later one: both",
    ),
    ("A2aAgentCard.preferredTransport", "as above"),
    ("A2aAgentCard.protocolVersion", "as above"),
    ("A2aAgentCard.url", "as above"),
    (
        "HarnAgentCard.interfaces",
        "the conformance client reads this name, the public document has `harn_interfaces`",
    ),
    ("Error.code", "paths that are not served yet say `not_implemented`, for which spec 001 has no code"),
    ("Session.transcript|JsonObject", "the protocol allows an object or a link; ours is always the link"),
    (
        "PUT /v1/artifacts/{artifact_id}/content",
        "ours: upload, which spec 001 asks for and the public document lacks",
    ),
    ("GET /v1/artifacts/{artifact_id}/content 206", "ours: a range of the content"),
    ("Artifact.size_bytes", "ours, and a later public document's"),
    (
        "CreatePersonaRequest.tools",
        "ours: the protocol's persona has tools, and its request no way to set them",
    ),
    (
        "CreatePersonaRequest.model_policy",
        "ours: the protocol's persona has a model policy, and its requests no way to set it",
    ),
    ("UpdatePersonaRequest.model_policy", "as above"),
    (
        "CreateSessionRequest.expires_at",
        "ours: the protocol's session has an expiry, and its request no way to set it",
    ),
    ("UpdateSessionRequest.expires_at", "as above"),
    ("PermissionResponseRequest.args", "ours: an answer may rewrite the arguments, as spec 000 has it"),
    ("PermissionResponseRequest.remember", "a later public document's: answers may be remembered"),
    ("PermissionResponseRequest.scope", "as above"),
    ("PermissionResponseRequest.expires_at", "as above"),
    ("PermissionResponseRequest.action_pattern", "as above"),
    ("PermissionResponseRequest.target_pattern", "as above"),
    ("PermissionResponseRequest.class", "as above"),
    ("GET /v1/permissions/policy", "a later public document's"),
    ("PUT /v1/permissions/policy", "as above"),
    ("GET /v1/permissions/rules", "as above"),
    ("POST /v1/permissions/rules", "as above"),
    ("DELETE /v1/permissions/rules/{rule_id}", "as above"),
    ("GET /v1/permissions/history", "as above"),
    ("POST /v1/permissions/check", "as above"),
    ("GET /v1/provider-catalog", "a later public document's"),
    ("GET /v1/keys", "ours: keys are made and revoked while the server runs"),
    ("POST /v1/keys", "as above"),
    ("DELETE /v1/keys/{key_id}", "as above"),
    ("GET /v1/permission-requests/{request_id}", "ours: one request, beside the list"),
    (
        "GET /v1/workspaces/{workspace_id}/waitpoints",
        "ours: what scripts wait for, seen and settled from outside",
    ),
    ("GET /v1/workspaces/{workspace_id}/waitpoints/{waitpoint_id}", "as above"),
    ("POST /v1/workspaces/{workspace_id}/waitpoints/{waitpoint_id}/complete", "as above"),
    ("POST /v1/workspaces/{workspace_id}/waitpoints/{waitpoint_id}/cancel", "as above"),
    ("POST /v1/tasks/{task_id}/undo", "ours: puts back what a task did to files"),
];

#[test]
fn the_generated_document_says_what_the_public_one_says() {
    let Some(public) = PublicApi::load() else { return };
    let differences = compare(public.published(), &harn_serve::openapi());
    let problems = unexplained(&differences, ALLOWED);
    assert!(problems.is_empty(), "{} unexplained:\n{}", problems.len(), problems.join("\n"));
}
