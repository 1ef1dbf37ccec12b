//! Core: discovery, and creating, reading and changing the resources.

use harn_client::VERSION_HEADER;
use harn_core::PROTOCOL_VERSION;
use serde_json::{Value, json};

use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::{Probe, unique};
use crate::shape::{self, id_of, ids_of, shown};

checks! { Core;
    discovery: "OpenAPI, getProtocolDiscovery: object protocol_discovery with family, current and supported versions and capabilities"
        => "Serve the discovery document at GET /v1 with exactly these members.";
    discovery_is_public: "spec 001, Versioning: \"Every request except public discovery endpoints MUST include\" the version header"
        => "Answer GET /v1 and GET /v1/agent-card without a version header and without a key.";
    agent_card: "spec 001, HarnAgentCard: required fields id, name, description, protocol_version, a2a_card, skills"
        => "Serve a card with all required fields at GET /v1/agent-card.";
    workspace: "OpenAPI, createWorkspace and updateWorkspace: 201 with the Workspace, then 200"
        => "Answer 201 to the creation and 200 to the update, or 501 to what is not served.";
    session: "spec 001, Session: required fields workspace_id, state, transcript; REST covers Session creation"
        => "Answer 201 with the Session, serve it at GET /v1/sessions/{id}, and let PATCH change its metadata.";
    session_initial_messages: "OpenAPI, CreateSessionRequest: initial_messages open the transcript"
        => "Append the initial messages, in order, when the session is created.";
    session_close: "spec 001, REST: the surface covers Session creation, close, fork, truncate"
        => "Answer POST /v1/sessions/{id}/close with 200 and state CLOSED, and keep it so.";
    session_fork: "spec 001, Session: branch lineage, with parent_session_id"
        => "Answer a fork with 201 and a new Session whose parent_session_id is the source.";
    session_truncate: "spec 001, Session: truncate \"keeps the first N turns of the current Session and drops all later turns in place\""
        => "Drop everything after the first keep_first turns from the transcript.";
    message: "spec 001, Message: required fields id, role, parts, created_at"
        => "Answer 201 with the Message, serve it by id, and list it in its session.";
    message_order: "spec 001, Session: \"Servers MUST preserve message ordering inside a Session\""
        => "List the messages of a session in the order in which they were appended.";
    part_visibility: "spec 001, Privacy: \"Servers MUST distinguish public content, internal content, and receipt-only content\""
        => "Keep the visibility of every part as it was given.";
    task: "spec 001, Task: required fields session_id, workspace_id, status, input, created_by; Core: Task submit, get"
        => "Answer a submit with the Task as it is stored, and serve it at GET /v1/tasks/{id}.";
    task_submit_status: "OpenAPI, submitSessionTask: 202 with the Task"
        => "Answer a submit with 202.";
    artifact: "spec 001, Artifact: required fields kind, mime_type, uri, visibility, sha256"
        => "Answer a registration with 201 and serve the Artifact by id.";
    event: "OpenAPI, getEvent: the Event by its id, as in the list"
        => "Serve every listed event, unchanged, at GET /v1/events/{id}.";
    branch: "spec 001, Branch: required fields workspace_id, kind, base_ref"
        => "Answer the creation with 201 and serve the Branch by id, or answer 501.";
    resource_envelope: "spec 001, Resource model: all resources share id, object, created_at, updated_at, metadata"
        => "Put the whole envelope on every resource, also within lists.";
    resource_object: "spec 001, Resource model: \"object is a lower-snake-case discriminator\""
        => "Name the resource's own type in `object`.";
    timestamps_are_utc: "spec 001, Normative language: \"timestamps are RFC3339 UTC strings\""
        => "Write every *_at field as RFC 3339 with Z.";
    ids_are_not_reused: "spec 001, Normative language: \"A Harness MUST NOT recycle an identifier for a different resource\""
        => "Make ids unique over all resources, sessions and restarts.";
    workspace_is_named: "spec 001, Workspace: \"Workspace identifiers MUST be included on stateful resources\""
        => "Put the workspace_id of the session's workspace on sessions and tasks.";
}

async fn discovery(probe: &Probe) -> Verdict {
    let found = probe.discovery().await?;
    let version = PROTOCOL_VERSION;
    ensure!(
        found["object"] == "protocol_discovery" && found["protocol_family"] == "harn_agents_protocol",
        "GET /v1: expected object protocol_discovery of family harn_agents_protocol, got {}",
        shown(found)
    );
    ensure!(
        found["current_version"] == version,
        "GET /v1: expected current_version {version}, got {}",
        shown(found)
    );
    let supported = found["supported_versions"].as_array();
    let listed = supported.is_some_and(|versions| versions.iter().any(|each| each == version));
    ensure!(listed, "GET /v1: expected {version} among supported_versions, got {}", shown(found));
    let capabilities = found["capabilities"].as_object();
    let booleans = ["rest", "sse", "websocket", "receipts", "replay"];
    let valid = capabilities
        .is_some_and(|all| booleans.iter().all(|name| all.get(*name).is_none_or(Value::is_boolean)));
    ensure!(valid, "GET /v1: expected booleans in capabilities, got {}", shown(found));
    Ok(())
}

async fn discovery_is_public(probe: &Probe) -> Verdict {
    for path in ["/v1", "/v1/agent-card"] {
        probe.get(path).without(VERSION_HEADER).without("authorization").expect(&[200]).await?;
    }
    Ok(())
}

async fn agent_card(probe: &Probe) -> Verdict {
    let card = probe.get("/v1/agent-card").expect(&[200]).await?.value()?;
    // The OpenAPI document and the public client disagree about the discriminator.
    let object = card["object"] == "harn_agent_card" || card["object"] == "agent_card";
    ensure!(object, "GET /v1/agent-card: expected object harn_agent_card, got {}", shown(&card));
    for field in ["id", "name", "description"] {
        ensure!(
            card[field].is_string(),
            "GET /v1/agent-card: expected the string `{field}`, got {}",
            shown(&card)
        );
    }
    let version = &card["protocol_version"];
    ensure!(version == PROTOCOL_VERSION, "GET /v1/agent-card: expected {PROTOCOL_VERSION}, got {version}");
    ensure!(
        card["a2a_card"].is_object(),
        "GET /v1/agent-card: expected the object `a2a_card`, got {}",
        shown(&card)
    );
    ensure!(
        card["skills"].is_array(),
        "GET /v1/agent-card: expected the array `skills`, got {}",
        shown(&card)
    );
    Ok(())
}

async fn workspace(probe: &Probe) -> Verdict {
    let body = json!({ "name": unique("conformance"), "root": "harn://conformance" });
    let created = probe.post("/v1/workspaces").body(body.clone()).send().await?;
    if created.absent() || matches!(created.answer.status, 400 | 403 | 422) {
        return skipped(format!("the server does not create this workspace: {}", created.got()));
    }
    created.status(&[200, 201])?;
    let (id, value) = (created.id()?, created.value()?);
    ensure!(
        value["name"] == body["name"],
        "{}: expected the name {}, got {}",
        created.what,
        body["name"],
        created.got()
    );
    let fields = value["root"].is_string() && value.get("default_branch_id").is_some();
    ensure!(fields, "{}: expected `root` and `default_branch_id`, got {}", created.what, created.got());
    let name = unique("renamed");
    let changed = probe.patch(format!("/v1/workspaces/{id}")).body(json!({ "name": name })).send().await?;
    changed.status(&[200, 501])?;
    if changed.succeeded() {
        let read = probe.get(format!("/v1/workspaces/{id}")).expect(&[200]).await?;
        ensure!(
            read.value()?["name"] == name,
            "{}: expected the new name {name}, got {}",
            read.what,
            read.got()
        );
    }
    Ok(())
}

async fn session(probe: &Probe) -> Verdict {
    let workspace = probe.workspace().await?;
    let created =
        probe.post("/v1/sessions").body(json!({ "workspace_id": workspace })).expect(&[200, 201]).await?;
    let (id, value) = (created.id()?, created.value()?);
    let states = ["ACTIVE", "IDLE", "PAUSED", "CLOSED", "FAILED"];
    let state = value["state"].as_str().is_some_and(|state| states.contains(&state));
    ensure!(state, "{}: expected a state of {states:?}, got {}", created.what, created.got());
    let transcript = value["transcript"].is_object() || value["transcript"].is_string();
    ensure!(transcript, "{}: expected `transcript`, got {}", created.what, created.got());
    let path = format!("/v1/sessions/{id}");
    let read = probe.get(&path).expect(&[200]).await?;
    ensure!(read.id()? == id, "{}: expected the session {id}, got {}", read.what, read.got());
    let changed = probe.patch(&path).body(json!({ "metadata": { "conformance": "yes" } })).send().await?;
    changed.status(&[200, 501])?;
    if changed.succeeded() {
        let read = probe.get(&path).expect(&[200]).await?;
        let kept = read.value()?["metadata"]["conformance"] == "yes";
        ensure!(kept, "{}: expected the metadata that was set, got {}", read.what, read.got());
    }
    Ok(())
}

async fn session_initial_messages(probe: &Probe) -> Verdict {
    let message = |text: &str| json!({ "role": "user", "parts": [shape::text(text)] });
    let texts = ["first of two", "second of two"];
    let body = json!({ "workspace_id": probe.workspace().await?, "initial_messages": texts.map(message) });
    let id = probe.post("/v1/sessions").body(body).expect(&[200, 201]).await?.id()?;
    let listed = probe.get(format!("/v1/sessions/{id}/messages")).expect(&[200]).await?;
    let mut found = texts_of(&listed.items()?);
    found.sort();
    ensure!(found == texts, "{}: expected the texts {texts:?}, got {}", listed.what, listed.got());
    Ok(())
}

async fn session_close(probe: &Probe) -> Verdict {
    let id = probe.new_session().await?;
    let closed = probe.post(format!("/v1/sessions/{id}/close")).send().await?;
    if closed.absent() {
        return skipped(format!("{} is not served: {}", closed.what, closed.got()));
    }
    closed.status(&[200])?;
    ensure!(
        closed.value()?["state"] == "CLOSED",
        "{}: expected state CLOSED, got {}",
        closed.what,
        closed.got()
    );
    let read = probe.get(format!("/v1/sessions/{id}")).expect(&[200]).await?;
    ensure!(read.value()?["state"] == "CLOSED", "{}: expected state CLOSED, got {}", read.what, read.got());
    Ok(())
}

async fn session_fork(probe: &Probe) -> Verdict {
    let id = probe.new_session().await?;
    probe.append(&id, "before the fork").expect(&[200, 201]).await?;
    let forked = probe.post(format!("/v1/sessions/{id}/fork")).body(json!({})).send().await?;
    if forked.absent() {
        return skipped(format!("{} is not served: {}", forked.what, forked.got()));
    }
    forked.status(&[200, 201])?;
    ensure!(forked.id()? != id, "{}: expected a new session, got the old one", forked.what);
    let parent = &forked.value()?["parent_session_id"];
    ensure!(*parent == id, "{}: expected parent_session_id {id}, got {parent}", forked.what);
    Ok(())
}

async fn session_truncate(probe: &Probe) -> Verdict {
    let id = probe.new_session().await?;
    for text in ["kept", "dropped"] {
        probe.append(&id, text).expect(&[200, 201]).await?;
    }
    let truncated =
        probe.post(format!("/v1/sessions/{id}/truncate")).body(json!({ "keep_first": 1 })).send().await?;
    if truncated.absent() {
        return skipped(format!("{} is not served: {}", truncated.what, truncated.got()));
    }
    truncated.status(&[200])?;
    let listed = probe.get(format!("/v1/sessions/{id}/messages")).expect(&[200]).await?;
    let found = texts_of(&listed.items()?);
    ensure!(found == ["kept"], "{}: expected only the first message, got {found:?}", listed.what);
    Ok(())
}

async fn message(probe: &Probe) -> Verdict {
    let session = probe.session().await?;
    let text = unique("message");
    let created = probe.append(session, &text).expect(&[200, 201]).await?;
    let (id, value) = (created.id()?, created.value()?);
    ensure!(value["role"] == "user", "{}: expected role user, got {}", created.what, created.got());
    let parts = json!([shape::text(&text)]);
    ensure!(value["parts"] == parts, "{}: expected parts {parts}, got {}", created.what, created.got());
    let read = probe.get(format!("/v1/messages/{id}")).expect(&[200]).await?;
    let same = read.value()?["id"] == id && read.value()?["parts"] == parts;
    ensure!(same, "{}: expected message {id} with parts {parts}, got {}", read.what, read.got());
    let listed =
        ids_of(&super::core_lists::walk(probe, &format!("/v1/sessions/{session}/messages"), 200).await?)?;
    ensure!(listed.contains(&id), "message {id} is not among the {} messages of its session", listed.len());
    Ok(())
}

async fn message_order(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let texts = ["one", "two", "three", "four"];
    for text in texts {
        probe.append(&session, text).expect(&[200, 201]).await?;
    }
    let listed = probe.get(format!("/v1/sessions/{session}/messages")).expect(&[200]).await?;
    let found = texts_of(&listed.items()?);
    ensure!(found == texts, "{}: expected the texts {texts:?} in this order, got {found:?}", listed.what);
    Ok(())
}

async fn part_visibility(probe: &Probe) -> Verdict {
    let session = probe.session().await?;
    let part = |visibility: &str| json!({ "type": "text", "text": visibility, "visibility": visibility });
    let parts = ["public", "internal", "receipt_only"].map(part);
    let body = json!({ "message": { "role": "user", "parts": parts } });
    let path = format!("/v1/sessions/{session}/messages");
    let created = probe.post(path).body(body).send().await?;
    if matches!(created.answer.status, 403 | 422) {
        return skipped(format!("only public parts are taken from this caller: {}", created.got()));
    }
    created.status(&[200, 201])?;
    let id = created.id()?;
    let read = probe.get(format!("/v1/messages/{id}")).expect(&[200]).await?;
    let found = read.value()?["parts"].as_array().cloned().unwrap_or_default();
    // A server may hide what is not public from this caller, or show that something was there.
    let public = found.first().is_some_and(|first| *first == parts[0]);
    ensure!(public, "{}: expected the public part unchanged, got {}", read.what, read.got());
    for part in &found {
        let given = parts.iter().find(|given| given["text"] == part["text"]);
        let kept = given.is_none_or(|given| given["visibility"] == part["visibility"]);
        ensure!(
            kept && part["visibility"].is_string(),
            "{}: the visibility of {part} is not as given",
            read.what
        );
    }
    Ok(())
}

async fn task(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let submitted = probe.submit(&session, crate::probe::SAY_HELLO).send().await?;
    ensure!(submitted.succeeded(), "{}: expected 202, got {}", submitted.what, submitted.got());
    let (id, value) = (submitted.id()?, submitted.value()?);
    for field in ["session_id", "workspace_id", "status", "created_by"] {
        ensure!(
            value[field].is_string(),
            "{}: expected the string `{field}`, got {}",
            submitted.what,
            submitted.got()
        );
    }
    ensure!(
        value["session_id"] == session,
        "{}: expected session_id {session}, got {}",
        submitted.what,
        submitted.got()
    );
    ensure!(
        value["input"].is_object(),
        "{}: expected the object `input`, got {}",
        submitted.what,
        submitted.got()
    );
    let read = probe.get(format!("/v1/tasks/{id}")).expect(&[200]).await?;
    ensure!(read.id()? == id, "{}: expected the task {id}, got {}", read.what, read.got());
    let listed = probe.get(format!("/v1/sessions/{session}/tasks")).expect(&[200]).await?;
    let found = ids_of(&listed.items()?)?;
    ensure!(found == [id.as_str()], "{}: expected only the task {id}, got {found:?}", listed.what);
    Ok(())
}

async fn task_submit_status(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    probe.submit(&session, crate::probe::SAY_HELLO).expect(&[200, 202]).await?;
    Ok(())
}

async fn artifact(probe: &Probe) -> Verdict {
    let uri = format!("harn://conformance/{}", unique("artifact"));
    let body = json!({ "kind": "other", "mime_type": "text/plain", "visibility": "public", "uri": uri });
    let created = probe.post("/v1/artifacts").body(body.clone()).send().await?;
    if created.absent() {
        return skipped(format!("{} is not served: {}", created.what, created.got()));
    }
    created.status(&[200, 201])?;
    let id = created.id()?;
    let read = probe.get(format!("/v1/artifacts/{id}")).expect(&[200]).await?;
    let value = read.value()?;
    for field in ["kind", "mime_type", "visibility"] {
        ensure!(
            value[field] == body[field],
            "{}: expected {field} {}, got {}",
            read.what,
            body[field],
            read.got()
        );
    }
    let fields = value.get("uri").is_some() && value.get("sha256").is_some();
    ensure!(
        fields && value["id"] == id,
        "{}: expected `uri` and `sha256` on {id}, got {}",
        read.what,
        read.got()
    );
    Ok(())
}

async fn event(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    ensure!(!settled.events.is_empty(), "the task {} has no events", settled.task["id"]);
    for listed in settled.events.iter().take(5) {
        let id = id_of(listed)?;
        let read = probe.get(format!("/v1/events/{id}")).expect(&[200]).await?;
        ensure!(
            read.value()? == *listed,
            "{}: expected the event as listed, {}, got {}",
            read.what,
            shown(listed),
            read.got()
        );
    }
    Ok(())
}

async fn branch(probe: &Probe) -> Verdict {
    let session = probe.session().await?;
    let body = json!({ "kind": "session", "base_ref": "main" });
    let created = probe.post(format!("/v1/sessions/{session}/branches")).body(body).send().await?;
    if created.absent() {
        return skipped(format!("{} is not served: {}", created.what, created.got()));
    }
    created.status(&[200, 201])?;
    let id = created.id()?;
    let value = probe.get(format!("/v1/branches/{id}")).expect(&[200]).await?.value()?;
    let fields =
        value["workspace_id"].is_string() && value["kind"] == "session" && value["base_ref"] == "main";
    ensure!(fields, "GET /v1/branches/{id}: expected the branch that was created, got {}", shown(&value));
    Ok(())
}

async fn resource_envelope(probe: &Probe) -> Verdict {
    for sample in probe.samples().await? {
        shape::envelope(&sample.what, &sample.value)?;
    }
    Ok(())
}

async fn resource_object(probe: &Probe) -> Verdict {
    for sample in probe.samples().await? {
        let found = &sample.value["object"];
        ensure!(found == sample.object, "{}: expected object {:?}, got {found}", sample.what, sample.object);
    }
    Ok(())
}

async fn timestamps_are_utc(probe: &Probe) -> Verdict {
    for sample in probe.samples().await? {
        shape::timestamps(&sample.what, &sample.value)?;
    }
    Ok(())
}

async fn ids_are_not_reused(probe: &Probe) -> Verdict {
    let mut ids = Vec::new();
    for _ in 0..2 {
        let session = probe.new_session().await?;
        for text in ["one", "two"] {
            ids.push(probe.append(&session, text).expect(&[200, 201]).await?.id()?);
        }
        ids.push(session);
    }
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    ensure!(distinct.len() == ids.len(), "six new resources have only {} ids: {ids:?}", distinct.len());
    Ok(())
}

async fn workspace_is_named(probe: &Probe) -> Verdict {
    let workspace = probe.workspace().await?;
    let session = probe.new_session().await?;
    let task = probe.new_task(&session, crate::probe::SAY_HELLO).await?;
    let session = probe.get(format!("/v1/sessions/{session}")).expect(&[200]).await?.value()?;
    for (name, resource) in [("session", session), ("task", task)] {
        let found = &resource["workspace_id"];
        ensure!(found == workspace, "the {name} has workspace_id {found}, not {workspace:?}");
    }
    Ok(())
}

fn texts_of(messages: &[Value]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| message["parts"][0]["text"].as_str());
    texts.map(str::to_owned).collect()
}
