//! Core: version negotiation, and the errors that a client can provoke.

use harn_client::{IDEMPOTENCY_HEADER, VERSION_HEADER};
use harn_core::PROTOCOL_VERSION;
use serde_json::json;

use crate::ask::{Ask, Seen};
use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::{Probe, unique};
use crate::shape;

const UNSUPPORTED: &str = "agents-protocol-1900-01-01";

checks! { Core;
    version_absent: "spec 001, Error taxonomy: 426 unsupported_protocol_version, \"Version header is absent or unsupported\""
        => "Refuse requests without the version header with 426.";
    version_unsupported: "spec 001, Versioning: \"Servers MUST reject unsupported protocol versions with 426\""
        => "Compare the version header with the supported versions before anything else.";
    version_lists_supported: "spec 001, Versioning: \"The response SHOULD list supported versions\""
        => "Put the supported versions into error.details.supported_versions.";
    errors_have_the_right_status: "spec 001, Error taxonomy: the status and code of each case"
        => "Answer each of these requests with the status and code of the table.";
    error_envelope: "spec 001, Error taxonomy: error { code, message, type, param, request_id, details }"
        => "Use the envelope for every error, also those of routing and parsing.";
    error_codes_agree_with_status: "spec 001, Error taxonomy: each core code has one HTTP status and type"
        => "Derive the status and the type from the code in one place.";
    errors_do_not_echo_the_key: "spec 001, API key: keys \"MUST NOT be logged in Events, Receipts, or error details\""
        => "Never put request headers into an error.";
}

async fn version_absent(probe: &Probe) -> Verdict {
    let seen = probe.get("/v1/tasks").without(VERSION_HEADER).send().await?;
    seen.refused(426, "unsupported_protocol_version")
}

async fn version_unsupported(probe: &Probe) -> Verdict {
    let seen = probe.get("/v1/tasks").header(VERSION_HEADER, UNSUPPORTED).send().await?;
    seen.refused(426, "unsupported_protocol_version")
}

async fn version_lists_supported(probe: &Probe) -> Verdict {
    let seen = probe.get("/v1/tasks").header(VERSION_HEADER, UNSUPPORTED).send().await?;
    if seen.answer.status != 426 {
        return skipped(format!("the server did not refuse the version: {}", seen.got()));
    }
    let listed = String::from_utf8_lossy(&seen.answer.body).contains(PROTOCOL_VERSION);
    ensure!(listed, "{}: expected {PROTOCOL_VERSION} in the refusal, got {}", seen.what, seen.got());
    Ok(())
}

/// A request that must fail, with the pairs of status and code that are right for it.
struct Provoked {
    seen: Seen,
    right: &'static [(u16, &'static str)],
}

const NOT_FOUND: &[(u16, &str)] = &[(404, "resource_not_found")];
const INVALID: &[(u16, &str)] = &[(400, "invalid_request")];
const BAD_CURSOR: &[(u16, &str)] = &[(400, "invalid_request"), (410, "cursor_expired")];
const NO_SUCH_METHOD: &[(u16, &str)] =
    &[(405, "invalid_request"), (400, "invalid_request"), (404, "resource_not_found")];
const UNKNOWN_WORKSPACE: &[(u16, &str)] =
    &[(404, "resource_not_found"), (400, "invalid_request"), (403, "permission_denied")];

async fn provoke(probe: &Probe) -> Verdict<Vec<Provoked>> {
    let session = probe.session().await?;
    let workspace = probe.workspace().await?;
    let messages = format!("/v1/sessions/{session}/messages");
    let message = |parts, role: &str| json!({ "message": { "role": role, "parts": parts } });
    let hello = json!({ "input": { "role": "user", "parts": [shape::text("hello")] } });
    let nothing = |kind: &str| format!("/v1/{kind}s/{}", unique(kind));
    let questions: Vec<(Ask<'_>, &'static [(u16, &'static str)])> = vec![
        (probe.get(nothing("session")), NOT_FOUND),
        (probe.get(nothing("task")), NOT_FOUND),
        (probe.get(nothing("message")), NOT_FOUND),
        (probe.get(nothing("artifact")), NOT_FOUND),
        (probe.get(nothing("event")), NOT_FOUND),
        (probe.get(nothing("outcome")), NOT_FOUND),
        (probe.get(nothing("conformance-path")), NOT_FOUND),
        (probe.post(format!("{}/cancel", nothing("task"))).body(json!({})), NOT_FOUND),
        (probe.post(format!("{}/tasks", nothing("session"))).body(hello), NOT_FOUND),
        (probe.put("/v1/sessions").body(json!({})), NO_SUCH_METHOD),
        (probe.post("/v1/sessions").raw("{ not json"), INVALID),
        (probe.post("/v1/sessions").body(json!({})), INVALID),
        (probe.post("/v1/sessions").body(json!([workspace])), INVALID),
        (probe.post("/v1/sessions").body(json!({ "workspace_id": unique("workspace") })), UNKNOWN_WORKSPACE),
        (probe.post(format!("/v1/sessions/{session}/tasks")).body(json!({})), INVALID),
        (probe.post(&messages).body(message(json!([shape::text("x")]), "narrator")), INVALID),
        (probe.post(&messages).body(message(json!([{ "type": "text", "text": "x" }]), "user")), INVALID),
        (probe.post(&messages).body(message(json!("x"), "user")), INVALID),
        (probe.get("/v1/sessions").query("cursor", unique("cursor")), BAD_CURSOR),
        (probe.get("/v1/sessions").query("limit", "many"), INVALID),
        (probe.append(session, "x").header(IDEMPOTENCY_HEADER, "k".repeat(256)), INVALID),
    ];
    let mut provoked = Vec::new();
    for (ask, right) in questions {
        provoked.push(Provoked { seen: ask.send().await?, right });
    }
    // What a server does not serve at all is none of these errors.
    provoked.retain(|each| each.seen.answer.status != 501);
    Ok(provoked)
}

async fn errors_have_the_right_status(probe: &Probe) -> Verdict {
    for Provoked { seen, right } in provoke(probe).await? {
        // Codes are compared elsewhere when the status alone shows the case.
        let matches = right.iter().any(|(status, _)| *status == seen.answer.status);
        let wanted: Vec<_> =
            right.iter().map(|(status, code)| format!("{status} with code {code}")).collect();
        ensure!(matches, "{}: expected {}, got {}", seen.what, wanted.join(" or "), seen.got());
    }
    Ok(())
}

async fn error_envelope(probe: &Probe) -> Verdict {
    for Provoked { seen, .. } in refusals(probe).await? {
        let body = seen.value()?;
        shape::error_envelope(&seen.what, &body)?;
    }
    Ok(())
}

async fn error_codes_agree_with_status(probe: &Probe) -> Verdict {
    for Provoked { seen, right } in refusals(probe).await? {
        let Ok(body) = seen.value() else { continue };
        shape::error_agreement(&seen.what, seen.answer.status, &body)?;
        let Some(code) = body["error"]["code"].as_str() else { continue };
        let of_status = right.iter().find(|(status, _)| *status == seen.answer.status);
        if let Some((status, wanted)) = of_status {
            // A server may use a code of its own, but not another core code.
            let own = code.contains('.');
            ensure!(
                code == *wanted || own,
                "{}: expected {status} with code {wanted}, got {}",
                seen.what,
                seen.got()
            );
        }
    }
    Ok(())
}

async fn errors_do_not_echo_the_key(probe: &Probe) -> Verdict {
    let Some(key) = &probe.options().api_key else { return skipped("no API key was given") };
    for Provoked { seen, .. } in refusals(probe).await? {
        let echoed = String::from_utf8_lossy(&seen.answer.body).contains(key.as_str());
        ensure!(!echoed, "{}: the API key is in the error: {}", seen.what, seen.got());
    }
    Ok(())
}

/// Those that were refused; one that was accepted fails in one check only.
async fn refusals(probe: &Probe) -> Verdict<Vec<Provoked>> {
    let mut provoked = provoke(probe).await?;
    provoked.retain(|each| !each.seen.succeeded());
    Ok(provoked)
}
