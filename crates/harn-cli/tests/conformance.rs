//! What a conformance client of the Harn Agents Protocol asks of a server, asked of the real binary: core, streaming,
//! lifecycle, idempotency, authentication and scopes. Every answer is also held against the public document.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::HashMap;
use std::time::Duration;

use harn_core::WorkspaceAccess;
use harn_testkit::{Answer, Api, PROTOCOL_VERSION};
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{
    Local, all_events, ended, id, keyed, kinds, messages, persona, refused, requests, session, session_with,
    started, started_with, submit, until_task, workspace,
};
use support::server::{KEY, Server};
use support::{offline, user};

fn artifact() -> Value {
    json!({ "kind": "log", "mime_type": "text/plain", "uri": "harn://artifacts/one", "visibility": "public" })
}

#[tokio::test]
async fn discovery_claims_what_is_served() {
    let s = started();

    let told = s.api.request(Method::GET, "/v1").without_key().without_version().send().await.expect(200);

    let expected = json!({
        "object": "protocol_discovery",
        "protocol_family": "harn_agents_protocol",
        "current_version": "agents-protocol-2026-04-25",
        "supported_versions": ["agents-protocol-2026-04-25"],
        "capabilities": { "rest": true, "sse": true, "websocket": false, "receipts": false, "replay": false },
    });
    assert_eq!(told, expected);
    assert_eq!(s.api.get("/v1").await.expect(200), expected, "a client may send its headers here too");
}

#[tokio::test]
async fn the_agent_card_describes_this_server() {
    let s = started();

    let call = s.api.request(Method::GET, "/v1/agent-card").without_key().without_version();
    let card = call.send().await.expect(200);

    let url = &s.server.url;
    assert_eq!(card["object"], "harn_agent_card");
    assert_eq!(card["protocol_version"], PROTOCOL_VERSION);
    let interfaces = json!([
        { "transport": "rest", "url": format!("{url}/v1") },
        { "transport": "sse", "url": format!("{url}/v1/events/stream") },
    ]);
    assert_eq!((&card["interfaces"], &card["harn_interfaces"]), (&interfaces, &interfaces));
    assert!(!card["skills"].as_array().unwrap().is_empty());
    let a2a = card["a2a_card"].as_object().unwrap();
    for field in [
        "name",
        "description",
        "url",
        "version",
        "protocolVersion",
        "preferredTransport",
        "additionalInterfaces",
        "supportedInterfaces",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "securitySchemes",
        "security",
        "skills",
    ] {
        assert!(a2a.contains_key(field), "a2a_card.{field} is missing");
    }
}

#[tokio::test]
async fn core_lists_answer_with_the_list_envelope() {
    let s = started();
    for path in ["/v1/tasks", "/v1/sessions", "/v1/artifacts", "/v1/outcomes", "/v1/personas"] {
        let list = s.api.get(path).await.expect(200);
        let empty =
            json!({ "object": "list", "data": [], "page": { "has_more": false, "next_cursor": null } });
        assert_eq!(list, empty, "{path}");
    }
    assert_eq!(s.api.get("/v1/events").await.expect(200)["object"], "list");
}

#[tokio::test]
async fn lists_of_later_work_are_empty_or_not_implemented() {
    let s = started();
    for path in ["/v1/connectors", "/v1/quotas", "/v1/memories", "/v1/vaults"] {
        let answer = s.api.get(path).await;
        match answer.status {
            200 => assert_eq!(answer.body["object"], "list"),
            _ => refused(&answer, 501, "not_implemented"),
        }
    }
}

#[tokio::test]
async fn a_workspace_is_created_and_renamed() {
    let s = started();

    let made = s.api.post("/v1/workspaces", json!({ "name": "one", "root": "harn://one" })).await.expect(201);
    let path = format!("/v1/workspaces/{}", id(&made));
    let change = json!({ "name": "two", "metadata": { "k": "v" } });
    let changed = s.api.patch(&path, change).await.expect(200);

    let mut expected = made.clone();
    expected["name"] = json!("two");
    expected["metadata"] = json!({ "k": "v" });
    expected["updated_at"] = changed["updated_at"].clone();
    assert_eq!((made["root"].as_str(), &changed), (Some("harn://one"), &expected));
    assert_eq!(s.api.get(&path).await.expect(200), changed);
}

#[tokio::test]
async fn a_session_keeps_its_messages_in_order() {
    let s = started();

    let session = session_with(&s.api, json!({ "initial_messages": [user("first")] })).await;
    let path = format!("/v1/sessions/{session}");
    let changed = s.api.patch(&path, json!({ "summary": "short" })).await.expect(200);
    let second =
        s.api.post(&format!("{path}/messages"), json!({ "message": user("second") })).await.expect(201);

    assert_eq!((&changed["summary"], &changed["state"]), (&json!("short"), &json!("IDLE")));
    assert_eq!(s.api.get(&format!("/v1/messages/{}", id(&second))).await.expect(200), second);
    let list = messages(&s.api, &session).await;
    assert_eq!(list[0]["parts"], user("first")["parts"]);
    assert_eq!(list[1..], [second]);
}

#[tokio::test]
async fn a_task_is_submitted_read_and_cancelled() {
    let s = started();
    let session = session(&s.api).await;

    let body = json!({ "session_id": session, "input": user("ask What now?") });
    let task = s.api.post("/v1/tasks", body).await.expect(202);
    let path = format!("/v1/tasks/{}", id(&task));
    until_task(&s.api, &id(&task), "task.input_required").await;
    let read = s.api.get(&path).await.expect(200);
    let canceled = s.api.post(&format!("{path}/cancel"), json!({ "reason": "enough" })).await.expect(200);

    assert_eq!((&task["status"], &read["status"]), (&json!("WORKING"), &json!("INPUT_REQUIRED")));
    assert_eq!(read["input"], user("ask What now?"));
    assert_eq!(canceled["status"], "CANCELED");
    assert_eq!(canceled["completed_at"], Value::Null, "a canceled task was never completed");
    assert!(canceled["canceled_at"].is_string());
    assert_eq!(s.api.get(&path).await.expect(200), canceled);
    let events = all_events(&s.api, &format!("{path}/events")).await;
    assert_eq!(kinds(&events).last(), Some(&"task.canceled"));
    let outcome = canceled["outcome_id"].as_str().unwrap();
    let outcome = s.api.get(&format!("/v1/outcomes/{outcome}")).await.expect(200);
    assert_eq!((&outcome["status"], &outcome["task_id"]), (&json!("CANCELED"), &task["id"]));
}

#[tokio::test]
async fn artifacts_events_and_branches_are_read_back() {
    let s = started();
    let session = session(&s.api).await;

    let made = s.api.post("/v1/artifacts", artifact()).await.expect(201);
    assert_eq!(s.api.get(&format!("/v1/artifacts/{}", id(&made))).await.expect(200), made);
    assert_eq!(made["uri"], "harn://artifacts/one");

    let events = all_events(&s.api, "/v1/events").await;
    for event in &events {
        assert_eq!(&s.api.get(&format!("/v1/events/{}", id(event))).await.expect(200), event);
    }

    let body = json!({ "kind": "session", "base_ref": "main" });
    let branches = format!("/v1/sessions/{session}/branches");
    let branch = s.api.post(&branches, body).await.expect(201);
    assert_eq!(s.api.get(&format!("/v1/branches/{}", id(&branch))).await.expect(200), branch);
    assert_eq!(s.api.get(&branches).await.expect(200)["data"], json!([branch]));
}

/// Splits a stream as the public client does: at blank lines, every piece a frame of three fields.
async fn raw_frames(api: &Api, path: &str, wanted: usize) -> Vec<Value> {
    let client = harn_testkit::http().build().unwrap();
    let request = client.get(format!("{}{path}", api.base)).bearer_auth(KEY);
    let request = request.header("Harn-Agents-Protocol-Version", PROTOCOL_VERSION);
    let mut response = request.header("Accept", "text/event-stream").send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    let mut text = String::new();
    while text.matches("\n\n").count() < wanted {
        let chunk = tokio::time::timeout(Duration::from_secs(5), response.chunk()).await.unwrap();
        text.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
    }
    let frames = text.split("\n\n").take(wanted).map(|frame| {
        let field = |name: &str| {
            let line = frame.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name} in {frame:?}")).trim().to_owned()
        };
        let data: Value = serde_json::from_str(&field("data:")).unwrap();
        assert_eq!(data["object"], "event");
        assert_eq!(
            (data["id"].as_str(), data["event"].as_str()),
            (Some(&*field("id:")), Some(&*field("event:")))
        );
        assert!(data["sequence"].is_u64(), "{data}");
        data
    });
    frames.collect()
}

#[tokio::test]
async fn a_session_stream_shows_a_message_that_comes_later() {
    let s = started();
    let session = session(&s.api).await;

    let path = format!("/v1/sessions/{session}/events/stream");
    let later = async {
        // The public client waits this long for the stream to be open.
        tokio::time::sleep(Duration::from_millis(100)).await;
        support::http::say(&s.api, &session, "hello").await
    };
    let (frames, message) = tokio::join!(raw_frames(&s.api, &path, 3), later);

    assert_eq!(kinds(&frames), ["session.created", "user.message", "session.message_appended"]);
    assert_eq!(frames[1]["payload"]["message"], message);
}

#[tokio::test]
async fn a_task_stream_opened_after_the_submission_starts_at_the_beginning() {
    let s = started();
    let task = submit(&s.api, &session(&s.api).await, "list files").await;

    let frames = raw_frames(&s.api, &format!("/v1/tasks/{}/stream", id(&task)), 3).await;

    assert_eq!(frames[0]["event"], "task.submitted");
    assert_eq!(frames[0]["resource"], json!({ "object": "task", "id": task["id"] }));
}

fn allowed(from: &str, to: &str) -> bool {
    let next: &[&str] = match from {
        "SUBMITTED" => &["WORKING", "CANCELED", "FAILED"],
        "WORKING" => &["INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED", "CANCELED"],
        "INPUT_REQUIRED" | "AUTH_REQUIRED" => &["WORKING", "FAILED", "CANCELED"],
        _ => &[],
    };
    next.contains(&to)
}

/// Polls as the public client does; every status that is seen must follow from the one seen before.
async fn polled_to_the_end(api: &Api, task: &Value) -> Vec<String> {
    let mut seen = vec![task["status"].as_str().unwrap().to_owned()];
    loop {
        let now = api.get(&format!("/v1/tasks/{}", id(task))).await.expect(200);
        let status = now["status"].as_str().unwrap().to_owned();
        if *seen.last().unwrap() != status {
            assert!(allowed(seen.last().unwrap(), &status), "{seen:?} then {status}");
            seen.push(status.clone());
        }
        if ["COMPLETED", "FAILED", "CANCELED"].contains(&&*status) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

#[tokio::test]
async fn observed_statuses_follow_the_table_of_transitions() {
    let script = json!({ "conversations": [
        { "when": "work", "responses": [{ "text": "Done.", "delay_ms": 20 }] },
        { "when": "break", "responses": [{ "error": { "kind": "invalid_request", "message": "no" }, "delay_ms": 20 }] },
    ] });
    let s = started_with(&script);
    let api = &s.api;
    for (words, end) in [("work", "COMPLETED"), ("break", "FAILED")] {
        for _ in 0..5 {
            let task = submit(api, &session(api).await, words).await;
            assert_eq!(polled_to_the_end(api, &task).await.last().unwrap(), end);
        }
    }
    // Behind another task, so that SUBMITTED can be seen.
    let session = session(api).await;
    let (first, second) = (submit(api, &session, "work").await, submit(api, &session, "work").await);
    let (first, second) = tokio::join!(polled_to_the_end(api, &first), polled_to_the_end(api, &second));
    assert_eq!((&*first[0], first.last().unwrap().as_str()), ("WORKING", "COMPLETED"));
    assert_eq!(second, ["SUBMITTED", "WORKING", "COMPLETED"]);
}

#[tokio::test]
async fn recorded_statuses_follow_the_table_and_sequences_have_no_gaps() {
    let s = started();
    let session = session(&s.api).await;
    let task = id(&submit(&s.api, &session, "list files\nwrite a.txt: hello").await);
    until_task(&s.api, &task, "task.auth_required").await;
    let request = requests(&s.api, &task).await.remove(0);
    support::http::respond(&s.api, &request, json!({ "approved": true })).await.expect(200);
    assert_eq!(ended(&s.api, &task).await["status"], "COMPLETED");

    let events = all_events(&s.api, &format!("/v1/sessions/{session}/events")).await;

    let mut last: HashMap<String, u64> = HashMap::new();
    for event in &events {
        let (resource, sequence) = (event["resource"].to_string(), event["sequence"].as_u64().unwrap());
        if let Some(before) = last.insert(resource, sequence) {
            assert_eq!(sequence, before + 1, "{event}");
        }
    }
    let changes: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["event"] == "task.status_changed")
        .map(|event| (event["payload"]["from"].as_str().unwrap(), event["payload"]["to"].as_str().unwrap()))
        .collect();
    let expected = [
        ("SUBMITTED", "WORKING"),
        ("WORKING", "AUTH_REQUIRED"),
        ("AUTH_REQUIRED", "WORKING"),
        ("WORKING", "COMPLETED"),
    ];
    assert_eq!(changes, expected);
    let ids: Vec<u64> = events.iter().map(|event| id(event).parse().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
}

/// A second request with the same key and body gives the first answer; another body is refused.
async fn repeats(api: &Api, path: &str, body: Value, other: Value) {
    let first = keyed(api, path, "one", &body).await;
    assert!(first.status < 300, "{first}");
    let again = keyed(api, path, "one", &body).await;
    assert_eq!((again.status, &again.body), (first.status, &first.body), "{path}");
    let different: Answer = keyed(api, path, "one", &other).await;
    refused(&different, 409, "idempotency_key_reused");
}

#[tokio::test]
async fn a_retry_gives_the_first_answer_and_another_body_is_refused() {
    let s = started();
    let place = workspace(&s.api).await;
    let body = |metadata: Value| json!({ "workspace_id": place, "metadata": metadata });
    repeats(&s.api, "/v1/sessions", body(json!({})), body(json!({ "k": 1 }))).await;
    let mut other = artifact();
    other["kind"] = json!("diff");
    repeats(&s.api, "/v1/artifacts", artifact(), other).await;
    let session = session(&s.api).await;
    let path = format!("/v1/sessions/{session}");
    let message = |text: &str| json!({ "message": user(text) });
    repeats(&s.api, &format!("{path}/messages"), message("one"), message("two")).await;
    let input = |text: &str| json!({ "input": user(text) });
    repeats(&s.api, &format!("{path}/tasks"), input("write a.txt: x"), input("list files")).await;
    repeats(&s.api, &format!("{path}/fork"), json!({}), json!({ "metadata": { "k": 1 } })).await;
    let branch = |base: &str| json!({ "kind": "session", "base_ref": base });
    repeats(&s.api, &format!("{path}/branches"), branch("a"), branch("b")).await;

    let tasks = s.api.get(&format!("{path}/tasks")).await.expect(200);
    assert_eq!(tasks["data"].as_array().unwrap().len(), 1);
    let task = id(&tasks["data"][0]);
    until_task(&s.api, &task, "task.auth_required").await;
    let listed = requests(&s.api, &task).await.remove(0);
    let request = id(&listed);
    assert_eq!(s.api.get(&format!("/v1/permission-requests/{request}")).await.expect(200), listed);
    let answer = format!("/v1/permission-requests/{request}/respond");
    repeats(&s.api, &answer, json!({ "approved": true }), json!({ "approved": false })).await;
    let waiting = id(&submit(&s.api, &support::http::session(&s.api).await, "ask What?").await);
    let cancel = format!("/v1/tasks/{waiting}/cancel");
    repeats(&s.api, &cancel, json!({ "reason": "a" }), json!({ "reason": "b" })).await;
}

#[tokio::test]
async fn a_key_is_good_for_one_target_and_outlives_the_process() {
    let mut s = started();
    let (one, two) = (session(&s.api).await, session(&s.api).await);
    let body = json!({ "message": user("hello") });
    let path = |session: &str| format!("/v1/sessions/{session}/messages");
    let first = keyed(&s.api, &path(&one), "k", &body).await.expect(201);
    let elsewhere = keyed(&s.api, &path(&two), "k", &body).await.expect(201);
    assert_ne!(first["id"], elsewhere["id"]);

    s.server.kill();
    let restarted = Server::start(s.folder.path());

    assert_eq!(keyed(&restarted.api(), &path(&one), "k", &body).await.expect(201), first);
}

#[tokio::test]
async fn twenty_equal_retries_at_once_make_one_task() {
    let s = started();
    let session = session(&s.api).await;
    let path = format!("/v1/sessions/{session}/tasks");
    let body = json!({ "input": user("list files") });

    let answers = (0..20).map(|_| keyed(&s.api, &path, "one", &body));
    let answers = futures::future::join_all(answers).await;

    let first = answers[0].expect(202);
    assert!(answers.iter().all(|answer| answer.expect(202) == first));
    assert_eq!(s.api.get(&path).await.expect(200)["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn actors_do_not_share_idempotency_keys() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let (ann, bob) = (local.key("ann", &["*"]).await, local.key("bob", &["*"]).await);
    let path = format!("/v1/sessions/{}/messages", session(&ann).await);
    let body = json!({ "message": user("hello") });

    let (first, second) = (keyed(&ann, &path, "k", &body).await, keyed(&bob, &path, "k", &body).await);

    assert_ne!(first.expect(201)["id"], second.expect(201)["id"]);
}

#[tokio::test]
async fn without_a_valid_key_nothing_is_told() {
    let s = started();
    s.api.get("/v1/tasks").await.expect(200);
    let wrong = "wrong-key-9876543210";
    for call in [
        s.api.request(Method::GET, "/v1/tasks").without_key(),
        s.api.request(Method::GET, "/v1/tasks").key(wrong),
        s.api.request(Method::GET, "/v1/tasks").header("Authorization", &format!("Basic {wrong}")),
        s.api.request(Method::GET, "/v1/tasks").header("Authorization", wrong),
        s.api.request(Method::GET, "/v1/events/stream").key(wrong),
    ] {
        let answer = call.send().await;
        refused(&answer, 401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(!String::from_utf8_lossy(&answer.bytes).contains(wrong), "{answer}");
    }
}

#[tokio::test]
async fn other_versions_of_the_protocol_are_refused() {
    let s = started();
    let old = s.api.request(Method::GET, "/v1/tasks").version("agents-protocol-1900-01-01");
    for call in [old, s.api.request(Method::GET, "/v1/tasks").without_version()] {
        let answer = call.send().await;
        refused(&answer, 426, "unsupported_protocol_version");
        assert_eq!(answer.body["error"]["details"]["supported_versions"], json!([PROTOCOL_VERSION]));
    }
}

#[tokio::test]
async fn a_key_does_only_what_its_scopes_allow() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let owner = local.key("owner", &["*"]).await;
    let session = session(&owner).await;
    let reader = local.key("reader", &["sessions:read", "tasks:read"]).await;

    reader.get("/v1/sessions").await.expect(200);
    reader.get(&format!("/v1/sessions/{session}")).await.expect(200);
    let tasks = format!("/v1/sessions/{session}/tasks");
    for (answer, scope) in [
        (reader.post(&tasks, json!({ "input": user("list files") })).await, "tasks:write"),
        (reader.post(&format!("/v1/sessions/{session}/close"), json!({})).await, "sessions:write"),
        (reader.get("/v1/events").await, "events:read"),
        (reader.get("/v1/events/stream").await, "events:read"),
        (reader.get("/v1/artifacts").await, "artifacts:read"),
        (reader.post("/v1/artifacts", artifact()).await, "artifacts:write"),
        (reader.get("/v1/permission-requests").await, "approvals:read"),
        (reader.get("/v1/permission-requests/request_x").await, "approvals:read"),
        (reader.get("/v1/personas").await, "personas:read"),
        (reader.get("/v1/skills").await, "skills:read"),
        (reader.get("/v1/workspaces").await, "workspaces:read"),
    ] {
        refused(&answer, 403, "permission_denied");
        assert_eq!(answer.body["error"]["details"]["required_scope"], scope);
    }
    assert_eq!(owner.get(&tasks).await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_revoked_key_is_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let (api, key) = local.bound("ann", &["*"], WorkspaceAccess::All).await;
    persona(&api, "act_auto", json!({})).await;

    local.running.harness.revoke_key(&harn_core::Actor::owner("owner"), key).await.unwrap();

    let answer = api.get("/v1/tasks").await;
    refused(&answer, 401, "unauthenticated");
    assert!(!answer.body.to_string().contains(api.key.as_deref().unwrap()));
}
