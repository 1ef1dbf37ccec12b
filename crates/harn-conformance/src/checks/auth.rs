//! Authentication: who gets in, who does not, and what a refusal may tell.

use serde_json::Value;

use crate::ask::{Ask, Seen};
use crate::check::{Verdict, checks, ensure, failed, skipped};
use crate::probe::{Probe, unique};
use crate::shape::{self, id_of};

const AUTHORIZATION: &str = "authorization";

checks! { AuthAndScopes;
    key_is_accepted: "spec 001, API key: \"Authorization: Bearer <api-key>\""
        => "Accept the key that was given with --api-key, or give the right one.";
    key_is_required: "spec 001, Error taxonomy: 401 unauthenticated, \"Authentication is missing or invalid\""
        => "Refuse requests without an Authorization header with 401.";
    malformed_key_is_refused: "spec 001, Error taxonomy: 401 unauthenticated, \"Authentication is missing or invalid\""
        => "Refuse an Authorization header that is not `Bearer <key>` with 401.";
    wrong_key_is_refused: "spec 001, API key: \"Servers MUST bind API keys to an actor\""
        => "Refuse keys that belong to nobody with 401.";
    wrong_scheme_is_refused: "spec 001, API key: the scheme is Bearer"
        => "Refuse the right key in another scheme with 401.";
    refusal_has_the_envelope: "spec 001, Error taxonomy: unauthenticated is an auth_error in the error envelope"
        => "Answer 401 with code unauthenticated and type auth_error in the envelope.";
    refusal_does_not_echo_the_key: "spec 001, API key: keys MUST NOT be logged in \"error details\""
        => "Never put the presented key into an answer.";
    refused_writes_do_nothing: "spec 001, Authorization rules: authentication comes before the action"
        => "Check the key before the body is read and before anything is written.";
    streams_need_a_key: "spec 001, Implementation notes: transports do not change authorization"
        => "Check the key on event streams as on every other path.";
    refusal_does_not_tell_what_exists: "spec 001, Authorization rules: failures MUST NOT leak \"hidden resource existence\""
        => "Check the key before looking for the resource.";
    key_is_in_no_event: "spec 001, API key: \"API keys MUST NOT be logged in Events\""
        => "Leave credentials out of everything that is recorded.";
}

fn key(probe: &Probe) -> Verdict<&str> {
    match &probe.options().api_key {
        Some(key) => Ok(key),
        None => skipped("no API key was given (--api-key)"),
    }
}

fn unauthenticated(seen: &Seen) -> Verdict {
    // The envelope has its own check.
    match seen.answer.status {
        401 => Ok(()),
        _ => failed(format!("{}: expected 401 with code unauthenticated, got {}", seen.what, seen.got())),
    }
}

/// Requests that nobody is behind.
fn strangers<'p>(probe: &'p Probe, wrong: &str) -> [Ask<'p>; 2] {
    [
        probe.get("/v1/tasks").without(AUTHORIZATION),
        probe.get("/v1/tasks").header(AUTHORIZATION, format!("Bearer {wrong}")),
    ]
}

async fn key_is_accepted(probe: &Probe) -> Verdict {
    key(probe)?;
    probe.get("/v1/tasks").expect(&[200]).await?;
    Ok(())
}

async fn key_is_required(probe: &Probe) -> Verdict {
    key(probe)?;
    unauthenticated(&probe.get("/v1/tasks").without(AUTHORIZATION).send().await?)
}

async fn malformed_key_is_refused(probe: &Probe) -> Verdict {
    let key = key(probe)?;
    for value in ["Bearer", "Bearer ", "Bearer , ", "nonsense", key, &format!("Bearer{key}")] {
        unauthenticated(&probe.get("/v1/tasks").header(AUTHORIZATION, value).send().await?)?;
    }
    Ok(())
}

async fn wrong_key_is_refused(probe: &Probe) -> Verdict {
    let key = key(probe)?;
    // Also what a sloppy comparison takes for the right one.
    let shorter = key.get(..key.len().saturating_sub(1)).unwrap_or_default();
    for wrong in [unique("wrong"), format!("{key}x"), format!("x{shorter}"), format!("{shorter}\u{7e}")] {
        if wrong != key {
            let ask = probe.get("/v1/tasks").header(AUTHORIZATION, format!("Bearer {wrong}"));
            unauthenticated(&ask.send().await?)?;
        }
    }
    Ok(())
}

async fn wrong_scheme_is_refused(probe: &Probe) -> Verdict {
    let key = key(probe)?;
    for scheme in ["Basic", "Token", "Digest"] {
        let ask = probe.get("/v1/tasks").header(AUTHORIZATION, format!("{scheme} {key}"));
        unauthenticated(&ask.send().await?)?;
    }
    Ok(())
}

async fn refusal_has_the_envelope(probe: &Probe) -> Verdict {
    key(probe)?;
    for ask in strangers(probe, &unique("wrong")) {
        let seen = ask.send().await?;
        if seen.answer.status == 401 {
            let body = seen.value()?;
            shape::error_envelope(&seen.what, &body)?;
            shape::error_agreement(&seen.what, 401, &body)?;
            seen.refused(401, "unauthenticated")?;
        }
    }
    Ok(())
}

async fn refusal_does_not_echo_the_key(probe: &Probe) -> Verdict {
    key(probe)?;
    let wrong = unique("wrong");
    for ask in strangers(probe, &wrong) {
        let seen = ask.send().await?;
        let headers = seen
            .answer
            .headers
            .values()
            .any(|value| String::from_utf8_lossy(value.as_bytes()).contains(&wrong));
        let body = String::from_utf8_lossy(&seen.answer.body).contains(&wrong);
        ensure!(!headers && !body, "{}: the key that was sent came back in the refusal", seen.what);
    }
    Ok(())
}

async fn refused_writes_do_nothing(probe: &Probe) -> Verdict {
    key(probe)?;
    let session = probe.new_session().await?;
    probe.append(&session, "not written").without(AUTHORIZATION).send().await?;
    let listed = probe.get(format!("/v1/sessions/{session}/messages")).expect(&[200]).await?;
    ensure!(
        listed.items()?.is_empty(),
        "{}: a message without a key was written: {}",
        listed.what,
        listed.got()
    );
    Ok(())
}

async fn streams_need_a_key(probe: &Probe) -> Verdict {
    key(probe)?;
    let session = probe.new_session().await?;
    let ask = probe.get(format!("/v1/sessions/{session}/events/stream")).without(AUTHORIZATION);
    match ask.events().await {
        Err(harn_client::ClientError::Refused { status: 401 | 501, .. }) => Ok(()),
        // A refusal without an envelope is the business of another check.
        Err(harn_client::ClientError::Protocol(text)) if text.contains("answered 401") => Ok(()),
        Err(error) => failed(format!("{}: expected 401, got: {error}", ask.what())),
        Ok(_) => failed(format!("{} without a key: expected 401, got a stream", ask.what())),
    }
}

async fn refusal_does_not_tell_what_exists(probe: &Probe) -> Verdict {
    key(probe)?;
    let session = probe.new_session().await?;
    let task = id_of(&probe.new_task(&session, crate::probe::SAY_HELLO).await?)?;
    let there = probe.get(format!("/v1/tasks/{task}")).without(AUTHORIZATION).send().await?;
    let absent = probe.get(format!("/v1/tasks/{}", unique("task"))).without(AUTHORIZATION).send().await?;
    let told = |seen: &Seen| -> (u16, Value, Value) {
        let error = seen.value().map(|mut body| body["error"].take()).unwrap_or_default();
        (seen.answer.status, error["code"].clone(), error["type"].clone())
    };
    ensure!(
        told(&there) == told(&absent),
        "without a key, a task that exists gives {} and one that does not gives {}",
        there.got(),
        absent.got()
    );
    Ok(())
}

async fn key_is_in_no_event(probe: &Probe) -> Verdict {
    let key = key(probe)?;
    let task = &probe.settled().await?.task;
    let session = task["session_id"].as_str().unwrap_or_default();
    for event in probe.events_of(&format!("/v1/sessions/{session}/events")).await? {
        ensure!(
            !event.to_string().contains(key),
            "the API key is in the event {} ({})",
            event["id"],
            event["event"]
        );
    }
    Ok(())
}
