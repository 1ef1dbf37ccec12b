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
        "CreateSessionRequest.expires_at",
        "ours: the protocol's session has an expiry, and its request no way to set it",
    ),
    ("UpdateSessionRequest.expires_at", "as above"),
    ("PermissionResponseRequest.args", "ours: an answer may rewrite the arguments, as spec 000 has it"),
];

#[test]
fn the_generated_document_says_what_the_public_one_says() {
    let Some(public) = PublicApi::load() else { return };
    let differences = compare(public.published(), &harn_serve::openapi());
    let problems = unexplained(&differences, ALLOWED);
    assert!(problems.is_empty(), "{} unexplained:\n{}", problems.len(), problems.join("\n"));
}
