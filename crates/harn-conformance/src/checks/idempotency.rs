//! Idempotency: retries, reused keys, the scope of a key, and duplicates at the same time.

use serde_json::{Value, json};

use crate::ask::{Ask, Seen};
use crate::check::{Verdict, checks, ensure, failed, skipped};
use crate::probe::{Probe, SAY_HELLO, unique};
use crate::shape::ids_of;

checks! { Idempotency;
    task_retry_gives_the_same_task: "spec 001, Idempotency: retries \"with the same key and equivalent request body MUST return the same resource id\""
        => "Remember the response of a submit by its key for 24 hours.";
    message_retry_gives_the_same_message: "spec 001, Core: \"Idempotency-Key for Task and Message creation\""
        => "Remember the response of an append by its key for 24 hours.";
    session_retry_gives_the_same_session: "spec 001, REST: writes \"MUST accept Idempotency-Key when the method is not naturally idempotent\""
        => "Remember the response of a session creation by its key.";
    artifact_retry_gives_the_same_artifact: "spec 001, Idempotency: no duplicate \"Tasks, Messages, Artifacts, or approval actions\""
        => "Remember the response of a registration by its key.";
    task_key_with_another_body: "spec 001, Idempotency: same key, different body \"MUST fail with 409 Conflict and error code idempotency_key_reused\""
        => "Keep a hash of the request beside the key, and compare it.";
    message_key_with_another_body: "spec 001, Idempotency: same key, different body \"MUST fail with 409 Conflict and error code idempotency_key_reused\""
        => "Keep a hash of the request beside the key, and compare it.";
    equivalent_body_is_the_same_request: "spec 001, Idempotency: \"same key and equivalent request body\""
        => "Compare the parsed body, not its bytes: order of members and white space do not count.";
    retry_answers_alike: "spec 001, Idempotency: \"a semantically equivalent response\""
        => "Answer a retry with the first response, not with a short form or another status class.";
    key_is_scoped_to_its_target: "spec 001, Idempotency: the scope is actor + workspace_id + method + canonical target + key"
        => "Keep keys per target: the same key in another session is another write.";
    concurrent_duplicates_create_one: "spec 001, Idempotency: \"A server MUST NOT create duplicate Tasks, Messages\""
        => "Reserve the key in the same transaction that creates the resource.";
}

/// Asks twice with one key; both answers.
async fn twice(ask: Ask<'_>) -> Verdict<(Seen, Seen)> {
    let ask = ask.key(&unique("key"));
    let first = ask.send().await?;
    if first.absent() {
        return skipped(format!("{} is not served: {}", first.what, first.got()));
    }
    ensure!(first.succeeded(), "{}: expected success, got {}", first.what, first.got());
    let second = ask.send().await?;
    ensure!(second.succeeded(), "{} again: expected the first response, got {}", second.what, second.got());
    Ok((first, second))
}

async fn same_id(ask: Ask<'_>) -> Verdict {
    let (first, second) = twice(ask).await?;
    let (one, two) = (first.id()?, second.id()?);
    ensure!(one == two, "{} with one key and body gave {one} and then {two}", first.what);
    Ok(())
}

async fn ids_at(probe: &Probe, path: &str) -> Verdict<Vec<String>> {
    ids_of(&super::core_lists::walk(probe, path, 200).await?)
}

async fn task_retry_gives_the_same_task(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    same_id(probe.submit(&session, SAY_HELLO)).await?;
    let found = ids_at(probe, &format!("/v1/sessions/{session}/tasks")).await?;
    ensure!(found.len() == 1, "one submit and its retry made {} tasks: {found:?}", found.len());
    Ok(())
}

async fn message_retry_gives_the_same_message(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    same_id(probe.append(&session, "once")).await?;
    let found = ids_at(probe, &format!("/v1/sessions/{session}/messages")).await?;
    ensure!(found.len() == 1, "one append and its retry made {} messages: {found:?}", found.len());
    Ok(())
}

async fn session_retry_gives_the_same_session(probe: &Probe) -> Verdict {
    let body = json!({ "workspace_id": probe.workspace().await? });
    same_id(probe.post("/v1/sessions").body(body)).await
}

async fn artifact_retry_gives_the_same_artifact(probe: &Probe) -> Verdict {
    let uri = format!("harn://conformance/{}", unique("artifact"));
    let body = json!({ "kind": "other", "mime_type": "text/plain", "visibility": "public", "uri": uri });
    same_id(probe.post("/v1/artifacts").body(body)).await
}

async fn reused(first: Ask<'_>, second: Ask<'_>) -> Verdict {
    let key = unique("key");
    let seen = first.key(&key).send().await?;
    ensure!(seen.succeeded(), "{}: expected success, got {}", seen.what, seen.got());
    second.key(&key).send().await?.refused(409, "idempotency_key_reused")
}

async fn task_key_with_another_body(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    reused(probe.submit(&session, SAY_HELLO), probe.submit(&session, "Say goodbye.")).await
}

async fn message_key_with_another_body(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    reused(probe.append(&session, "one"), probe.append(&session, "another")).await
}

async fn equivalent_body_is_the_same_request(probe: &Probe) -> Verdict {
    const BODIES: [&str; 2] = [
        r#"{"message":{"role":"user","parts":[{"type":"text","text":"same","visibility":"public"}]}}"#,
        "{ \"message\": { \"parts\": [ {\"visibility\":\"public\", \"text\":\"s\\u0061me\", \"type\":\"text\"} ],\n \"role\": \"user\" } }",
    ];
    let session = probe.new_session().await?;
    let (key, path) = (unique("key"), format!("/v1/sessions/{session}/messages"));
    let mut ids = Vec::new();
    for body in BODIES {
        ids.push(probe.post(&path).raw(body).key(&key).expect(&[200, 201]).await?.id()?);
    }
    ensure!(ids[0] == ids[1], "POST {path}: two spellings of one body gave {} and {}", ids[0], ids[1]);
    Ok(())
}

async fn retry_answers_alike(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let (first, second) = twice(probe.append(&session, "alike")).await?;
    // The id has its own check.
    let without_id = |seen: &Seen| -> Verdict<Value> {
        let mut value = seen.value()?;
        for field in ["id", "created_at", "updated_at"] {
            value.as_object_mut().and_then(|fields| fields.remove(field));
        }
        Ok(value)
    };
    let alike = without_id(&first)? == without_id(&second)?;
    ensure!(alike, "{}: expected {} again, got {}", first.what, first.got(), second.got());
    Ok(())
}

async fn key_is_scoped_to_its_target(probe: &Probe) -> Verdict {
    let key = unique("key");
    let mut ids = Vec::new();
    for _ in 0..2 {
        let session = probe.new_session().await?;
        for ask in [probe.append(&session, "scoped"), probe.submit(&session, SAY_HELLO)] {
            let seen = ask.key(&key).send().await?;
            ensure!(seen.succeeded(), "{} with the key of another target: got {}", seen.what, seen.got());
            ids.push(seen.id()?);
        }
    }
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    ensure!(
        distinct.len() == ids.len(),
        "one key for four targets gave only {} resources: {ids:?}",
        distinct.len()
    );
    Ok(())
}

async fn concurrent_duplicates_create_one(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let ask = probe.append(&session, "at once").key(&unique("key"));
    let (a, b, c, d) = tokio::join!(ask.send(), ask.send(), ask.send(), ask.send());
    let mut ids = Vec::new();
    for seen in [a?, b?, c?, d?] {
        match seen.answer.status {
            200..300 => ids.extend(seen.id().ok()),
            // The first is still at work: come back later.
            409 if seen.error_code().as_deref() != Some("idempotency_key_reused") => {}
            423 | 425 | 429 | 503 => {}
            _ => return failed(format!("{} at the same time with one key: got {}", seen.what, seen.got())),
        }
    }
    ids.dedup();
    ensure!(ids.len() <= 1, "four equal requests with one key gave {ids:?}");
    let found = ids_at(probe, &format!("/v1/sessions/{session}/messages")).await?;
    ensure!(found.len() == 1, "four equal requests with one key made {} messages", found.len());
    Ok(())
}
