//! Conversations over HTTP: forked, truncated, closed and expired; tasks that wait their turn, ask and are steered;
//! approvals in every way there is to give them; artifacts with their content.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;

use harn_core::hash::Sha256Hash;
use harn_core::{Clock, SystemClock};
use harn_testkit::{Answer, Api, PROTOCOL_VERSION};
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{
    Local, Started, all_events, ended, id, kinds, messages, persona, refused, requests, respond, said, say,
    session, session_with, started, submit, text, until, until_task,
};
use support::server::KEY;
use support::{offline, user};

async fn texts(api: &Api, session: &str) -> Vec<String> {
    messages(api, session).await.iter().map(text).collect()
}

async fn status(api: &Api, task: &str) -> String {
    let task = api.get(&format!("/v1/tasks/{task}")).await.expect(200);
    task["status"].as_str().unwrap().to_owned()
}

async fn state(api: &Api, session: &str) -> String {
    let session = api.get(&format!("/v1/sessions/{session}")).await.expect(200);
    session["state"].as_str().unwrap().to_owned()
}

async fn act(api: &Api, session: &str, verb: &str, body: Value) -> Answer {
    api.post(&format!("/v1/sessions/{session}/{verb}"), body).await
}

async fn send(api: &Api, task: &str, kind: &str, message: Value) -> Answer {
    api.post(&format!("/v1/tasks/{task}/messages"), json!({ "kind": kind, "message": message })).await
}

#[tokio::test]
async fn a_fork_at_an_event_has_the_messages_up_to_there() {
    let s = started();
    let parent = session(&s.api).await;
    for text in ["one", "two", "three"] {
        say(&s.api, &parent, text).await;
    }
    let events = all_events(&s.api, &format!("/v1/sessions/{parent}/events")).await;
    let second = events.iter().filter(|event| event["event"] == "session.message_appended").nth(1).unwrap();

    let body = json!({ "at_event_id": second["id"], "metadata": { "why": "try" } });
    let fork = act(&s.api, &parent, "fork", body).await.expect(201);

    assert_eq!(texts(&s.api, &id(&fork)).await, ["one", "two"]);
    assert_eq!((&fork["parent_session_id"], &fork["root_session_id"]), (&json!(parent), &json!(parent)));
    assert_eq!(fork["metadata"], json!({ "why": "try" }));
    let branch =
        s.api.get(&format!("/v1/branches/{}", fork["branch_id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&branch["kind"], &branch["session_id"]), (&json!("session"), &fork["id"]));
    assert_eq!(branch["base_ref"], format!("event:{}", id(second)));

    say(&s.api, &parent, "in the parent").await;
    say(&s.api, &id(&fork), "in the fork").await;
    assert_eq!(texts(&s.api, &parent).await, ["one", "two", "three", "in the parent"]);
    assert_eq!(texts(&s.api, &id(&fork)).await, ["one", "two", "in the fork"]);
    let task = id(&submit(&s.api, &id(&fork), "hello").await);
    assert_eq!(ended(&s.api, &task).await["branch_id"], fork["branch_id"]);
}

#[tokio::test]
async fn a_fork_without_an_event_has_everything() {
    let s = started();
    let root = session(&s.api).await;
    say(&s.api, &root, "one").await;
    let child = act(&s.api, &root, "fork", json!({})).await.expect(201);
    let no_body = s.api.request(Method::POST, &format!("/v1/sessions/{}/fork", id(&child))).send().await;
    let grandchild = no_body.expect(201);

    assert_eq!(texts(&s.api, &id(&grandchild)).await, ["one"]);
    assert_eq!(
        (&grandchild["parent_session_id"], &grandchild["root_session_id"]),
        (&child["id"], &json!(root))
    );
    let told = until(&s.api, &format!("/v1/sessions/{root}/events/stream"), "session.thread_forked").await;
    assert_eq!(told.last().unwrap()["payload"]["session_id"], child["id"]);
    for (event, code) in [(id(&told[0]), 400), ("99999999".into(), 410), ("x".into(), 400)] {
        act(&s.api, &id(&child), "fork", json!({ "at_event_id": event })).await.expect(code);
    }
}

#[tokio::test]
async fn truncation_keeps_the_first_turns() {
    let s = started();
    let mut note = user("be brief");
    note["role"] = json!("system");
    let session = session_with(&s.api, json!({ "initial_messages": [note] })).await;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        ids.push(id(&say(&s.api, &session, text).await));
    }
    for (body, kept, removed, tip, left) in [
        (json!({ "keep_first": 9 }), 3, 0, json!(ids[2]), vec!["be brief", "one", "two", "three"]),
        (json!({ "keep_first": 2 }), 2, 1, json!(ids[1]), vec!["be brief", "one", "two"]),
        (json!({ "keepFirst": 1, "reason": "shorter" }), 1, 1, json!(ids[0]), vec!["be brief", "one"]),
        (json!({ "keep_first": 0 }), 0, 1, Value::Null, vec!["be brief"]),
    ] {
        let result = act(&s.api, &session, "truncate", body).await.expect(200);
        let expected = json!({ "object": "session.truncate_result", "session_id": session, "kept_turn_count": kept,
            "removed_turn_count": removed, "new_tip_turn_id": tip, "session": result["session"] });
        assert_eq!(result, expected);
        assert_eq!(result["session"]["state"], "IDLE");
        assert_eq!(texts(&s.api, &session).await, left);
    }
    s.api.get(&format!("/v1/messages/{}", ids[2])).await.expect(404);
    for body in
        [json!({}), json!({ "keep_first": -1 }), json!({ "keep_first": "1" }), json!({ "keep_first": null })]
    {
        refused(&act(&s.api, &session, "truncate", body).await, 400, "invalid_request");
    }
}

#[tokio::test]
async fn truncation_cancels_the_active_task_and_the_next_one_starts() {
    let s = started();
    let session = session(&s.api).await;
    let first = id(&submit(&s.api, &session, "write a.txt: x").await);
    let second = id(&submit(&s.api, &session, "ask Now?").await);
    until_task(&s.api, &first, "task.auth_required").await;

    let result = act(&s.api, &session, "truncate", json!({ "keep_first": 0 })).await.expect(200);

    assert_eq!(result["removed_turn_count"], 1);
    assert_eq!(status(&s.api, &first).await, "CANCELED");
    until_task(&s.api, &second, "task.input_required").await;
    assert_eq!(texts(&s.api, &session).await[0], "ask Now?");
    assert_eq!(requests(&s.api, &first).await[0]["status"], "denied");
    assert_eq!(state(&s.api, &session).await, "ACTIVE");
}

#[tokio::test]
async fn closing_cancels_what_is_open_and_refuses_what_is_new() {
    let s = started();
    let session = session(&s.api).await;
    let first = id(&submit(&s.api, &session, "ask One?").await);
    let second = id(&submit(&s.api, &session, "ask Two?").await);
    until_task(&s.api, &first, "task.input_required").await;

    let closed = act(&s.api, &session, "close", json!({})).await.expect(200);

    assert_eq!(closed["state"], "CLOSED");
    for task in [&first, &second] {
        assert_eq!(ended(&s.api, task).await["status"], "CANCELED");
    }
    let path = format!("/v1/sessions/{session}");
    assert_eq!(s.api.get(&path).await.expect(200), closed);
    refused(&act(&s.api, &session, "messages", json!({ "message": user("x") })).await, 409, "conflict");
    refused(&act(&s.api, &session, "tasks", json!({ "input": user("x") })).await, 409, "conflict");
    refused(&act(&s.api, &session, "truncate", json!({ "keep_first": 0 })).await, 409, "conflict");
    refused(&s.api.patch(&path, json!({ "summary": "x" })).await, 409, "conflict");
    let again = s.api.request(Method::POST, &format!("{path}/close")).send().await;
    assert_eq!(again.expect(200), closed, "closing twice changes nothing");
    assert_eq!(texts(&s.api, &session).await[0], "ask One?");
}

#[tokio::test]
async fn a_session_closes_by_itself_when_its_time_has_come() {
    let s = started();
    let soon = SystemClock.now().plus_millis(300);
    let session = session_with(&s.api, json!({ "expires_at": soon })).await;
    let task = id(&submit(&s.api, &session, "ask Still here?").await);

    let events = until(&s.api, &format!("/v1/sessions/{session}/events/stream"), "session.closed").await;

    assert_eq!(events.last().unwrap()["payload"]["reason"], "expired");
    assert_eq!(state(&s.api, &session).await, "CLOSED");
    assert_eq!(ended(&s.api, &task).await["status"], "CANCELED");
    let kept = session_with(&s.api, json!({ "expires_at": SystemClock.now().plus_millis(60_000) })).await;
    let path = format!("/v1/sessions/{kept}");
    assert_eq!(
        s.api.patch(&path, json!({ "expires_at": null })).await.expect(200)["expires_at"],
        Value::Null
    );
}

#[tokio::test]
async fn tasks_of_a_session_run_in_the_order_of_submission() {
    let s = started();
    let session = session(&s.api).await;
    let first = submit(&s.api, &session, "ask First?").await;
    let second = submit(&s.api, &session, "hello").await;
    let third = submit(&s.api, &session, "hello again").await;
    assert_eq!((&first["status"], &second["status"]), (&json!("WORKING"), &json!("SUBMITTED")));
    until_task(&s.api, &id(&first), "task.input_required").await;
    assert_eq!(status(&s.api, &id(&second)).await, "SUBMITTED");
    assert_eq!(state(&s.api, &session).await, "ACTIVE");

    send(&s.api, &id(&first), "input", user("go on")).await.expect(201);

    assert_eq!(ended(&s.api, &id(&third)).await["status"], "COMPLETED");
    let events = all_events(&s.api, &format!("/v1/sessions/{session}/events")).await;
    let of = |kind: &str| -> Vec<Value> {
        events.iter().filter(|event| event["event"] == kind).map(|event| event["task_id"].clone()).collect()
    };
    let order = [first["id"].clone(), second["id"].clone(), third["id"].clone()];
    assert_eq!((of("task.started"), of("task.completed")), (order.to_vec(), order.to_vec()));
    let position = |kind: &str, task: &Value| {
        events.iter().position(|event| event["event"] == kind && event["task_id"] == task["id"]).unwrap()
    };
    assert!(position("task.completed", &first) < position("task.started", &second));
    assert_eq!(state(&s.api, &session).await, "IDLE");
}

#[tokio::test]
async fn a_waiting_task_can_be_cancelled_before_it_starts() {
    let s = started();
    let session = session(&s.api).await;
    let first = id(&submit(&s.api, &session, "ask First?").await);
    let second = id(&submit(&s.api, &session, "write never.txt: x").await);

    let canceled = s.api.post(&format!("/v1/tasks/{second}/cancel"), json!({})).await.expect(200);

    assert_eq!((&canceled["status"], &canceled["started_at"]), (&json!("CANCELED"), &Value::Null));
    send(&s.api, &first, "input", user("yes")).await.expect(201);
    assert_eq!(ended(&s.api, &first).await["status"], "COMPLETED");
    assert!(!texts(&s.api, &session).await.contains(&"write never.txt: x".to_owned()));
}

#[tokio::test]
async fn an_interruption_reaches_the_model_before_its_next_call() {
    let s = started();
    let session = session(&s.api).await;
    let task = id(&submit(&s.api, &session, "write a.txt: x").await);
    until_task(&s.api, &task, "task.auth_required").await;

    send(&s.api, &task, "interrupt", user("list files")).await.expect(201);
    let request = requests(&s.api, &task).await.remove(0);
    respond(&s.api, &request, json!({ "approved": true })).await.expect(200);

    assert_eq!(ended(&s.api, &task).await["status"], "COMPLETED");
    let list = messages(&s.api, &session).await;
    let calls: Vec<&str> = list.iter().filter_map(|message| message["parts"][0]["name"].as_str()).collect();
    assert_eq!(calls, ["write_file", "list_dir"]);
    let at = |wanted: &str| list.iter().position(|message| text(message) == wanted).unwrap();
    assert_eq!((at("write a.txt: x"), at("list files")), (0, 3), "after the result of the first call");
}

#[tokio::test]
async fn a_question_is_answered_by_a_message_or_by_a_response() {
    let s = started();
    for by_message in [true, false] {
        let session = session(&s.api).await;
        let task = id(&submit(&s.api, &session, "ask Which colour?").await);
        until_task(&s.api, &task, "task.input_required").await;
        let request = requests(&s.api, &task).await.remove(0);
        assert_eq!(
            (&request["source"], &request["action"]["prompt"]),
            (&json!("hitl"), &json!("Which colour?"))
        );

        if by_message {
            send(&s.api, &task, "input", user("blue")).await.expect(201);
        } else {
            refused(&respond(&s.api, &request, json!({ "approved": true })).await, 400, "invalid_request");
            respond(&s.api, &request, json!({ "answer": "blue" })).await.expect(200);
        }

        assert_eq!(ended(&s.api, &task).await["status"], "COMPLETED");
        let result = messages(&s.api, &session).await[2]["parts"][0].clone();
        assert_eq!((&result["status"], result["output"].to_string().contains("blue")), (&json!("ok"), true));
        refused(&respond(&s.api, &request, json!({ "answer": "red" })).await, 409, "conflict");
    }
}

#[tokio::test]
async fn a_message_that_was_accepted_can_be_read() {
    let s = started();
    let session = session(&s.api).await;
    let task = id(&submit(&s.api, &session, "ask Which?\nwrite a.txt: x").await);
    let yes = said(&[json!({ "type": "json", "value": { "approved": true }, "visibility": "public" })]);
    let mut unreadable = Vec::new();
    for (wait, kind, message) in [
        ("task.input_required", "interrupt", user("hm")),
        ("task.input_required", "input", user("blue")),
        ("task.auth_required", "tool_confirmation", yes),
    ] {
        until_task(&s.api, &task, wait).await;
        let made = send(&s.api, &task, kind, message).await.expect(201);
        let read = s.api.get(&format!("/v1/messages/{}", id(&made))).await;
        if read.body["parts"] != made["parts"] {
            unreadable.push((kind, read.status));
        }
    }
    assert_eq!(unreadable, []);
}

/// A task that waits for approval to write `a.txt`.
async fn writing(api: &Api, fields: Value) -> (String, String, Value) {
    let session = session_with(api, fields).await;
    let task = id(&submit(api, &session, "write a.txt: asked").await);
    until_task(api, &task, "task.auth_required").await;
    let request = requests(api, &task).await.remove(0);
    assert_eq!((&request["status"], &request["source"]), (&json!("pending"), &json!("acp")));
    (session, task, request)
}

fn written(s: &Started) -> Option<String> {
    fs::read_to_string(s.work().join("a.txt")).ok()
}

#[tokio::test]
async fn an_approval_may_be_given_in_several_ways() {
    let json_part = |value: Value| said(&[json!({ "type": "json", "value": value, "visibility": "public" })]);
    let result_part = |call: &Value, status: &str| {
        said(&[json!({ "type": "tool_result", "tool_call_id": call, "output": null, "status": status,
                       "visibility": "public" })])
    };
    let rewritten = json!({ "path": "a.txt", "content": "rewritten" });
    for (way, content, kind) in [
        ("respond", Some("asked"), "tool.approved"),
        ("outcome", Some("asked"), "tool.approved"),
        ("rewrite", Some("rewritten"), "tool.approved"),
        ("rewrite in answer", Some("rewritten"), "tool.approved"),
        ("json part", Some("asked"), "tool.approved"),
        ("json part with id", Some("rewritten"), "tool.approved"),
        ("result part", Some("asked"), "tool.approved"),
        ("deny", None, "tool.denied"),
        ("deny in json part", None, "tool.denied"),
        ("deny in result part", None, "tool.denied"),
    ] {
        let s = started();
        let (session, task, request) = writing(&s.api, json!({})).await;
        let call = &request["action"]["tool_call_id"];
        let (confirm, api) = ("tool_confirmation", &s.api);
        let answer = match way {
            "respond" => respond(api, &request, json!({ "approved": true })).await,
            "outcome" => respond(api, &request, json!({ "outcome": "approve" })).await,
            "rewrite" => respond(api, &request, json!({ "approved": true, "args": rewritten })).await,
            "rewrite in answer" => {
                respond(api, &request, json!({ "outcome": "selected", "answer": { "args": rewritten } }))
                    .await
            }
            "json part" => send(api, &task, confirm, json_part(json!({ "approved": true }))).await,
            "json part with id" => {
                let value = json!({ "request_id": request["id"], "approved": true, "args": rewritten });
                send(api, &task, confirm, json_part(value)).await
            }
            "result part" => send(api, &task, confirm, result_part(call, "ok")).await,
            "deny" => respond(api, &request, json!({ "approved": false, "reason": "not now" })).await,
            "deny in json part" => {
                send(api, &task, confirm, json_part(json!({ "outcome": "rejected" }))).await
            }
            _ => send(api, &task, confirm, result_part(call, "error")).await,
        };
        assert!(answer.status < 300, "{way}: {answer}");
        assert_eq!(ended(api, &task).await["status"], "COMPLETED", "{way}");
        assert_eq!(written(&s).as_deref(), content, "{way}");
        let events = all_events(api, &format!("/v1/tasks/{task}/events")).await;
        assert!(kinds(&events).contains(&kind), "{way}: {:?}", kinds(&events));
        let result = messages(api, &session).await[2]["parts"][0]["status"].clone();
        assert_eq!(result, if content.is_some() { "ok" } else { "error" }, "{way}");
        refused(&respond(api, &request, json!({ "approved": true })).await, 409, "conflict");
    }
}

#[tokio::test]
async fn a_confirmation_must_say_what_it_confirms() {
    let s = started();
    let (_, task, request) = writing(&s.api, json!({})).await;
    refused(&send(&s.api, &task, "tool_confirmation", user("yes")).await, 400, "invalid_request");
    let other = json!({ "type": "json", "value": { "approved": true, "request_id": "request_x" }, "visibility": "public" });
    refused(&send(&s.api, &task, "tool_confirmation", said(&[other])).await, 409, "conflict");
    refused(&respond(&s.api, &request, json!({})).await, 400, "invalid_request");
    refused(&respond(&s.api, &request, json!({ "outcome": "perhaps" })).await, 400, "invalid_request");
    refused(
        &respond(&s.api, &json!({ "id": "request_x" }), json!({ "approved": true })).await,
        404,
        "resource_not_found",
    );
    assert_eq!(status(&s.api, &task).await, "AUTH_REQUIRED");
    assert_eq!(written(&s), None);
}

#[tokio::test]
async fn a_quorum_of_reviewers_has_to_agree() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let (sam, ann) = (local.key("sam", &["*"]).await, local.key("ann", &["*"]).await);
    let (bob, cid) = (local.key("bob", &["*"]).await, local.key("cid", &["*"]).await);
    let approval = json!({ "approval": { "quorum": 2, "reviewers": ["ann", "bob", "sam"] } });
    let careful = persona(&sam, "act_with_approval", approval).await;
    let file = folder.path().join("work/a.txt");

    let (_, task, request) = writing(&sam, json!({ "persona_id": careful })).await;
    let yes = json!({ "approved": true });
    refused(&respond(&cid, &request, yes.clone()).await, 403, "permission_denied");
    for voter in [&sam, &ann] {
        assert_eq!(respond(voter, &request, yes.clone()).await.expect(200)["status"], "pending");
        refused(&respond(voter, &request, yes.clone()).await, 409, "conflict");
    }
    assert_eq!((status(&sam, &task).await.as_str(), file.exists()), ("AUTH_REQUIRED", false));
    assert_eq!(respond(&bob, &request, yes.clone()).await.expect(200)["status"], "approved");
    assert_eq!(ended(&sam, &task).await["status"], "COMPLETED");
    assert_eq!(fs::read_to_string(&file).unwrap(), "asked");
    fs::remove_file(&file).unwrap();

    let (_, task, request) = writing(&sam, json!({ "persona_id": careful })).await;
    respond(&ann, &request, yes).await.expect(200);
    assert_eq!(respond(&bob, &request, json!({ "approved": false })).await.expect(200)["status"], "denied");
    assert_eq!((ended(&sam, &task).await["status"].as_str(), file.exists()), (Some("COMPLETED"), false));
}

async fn download(api: &Api, artifact: &str, range: &str) -> (u16, String, String) {
    let client = harn_testkit::http().build().unwrap();
    let request = client.get(format!("{}/v1/artifacts/{artifact}/content", api.base)).bearer_auth(KEY);
    let request = request.header("Harn-Agents-Protocol-Version", PROTOCOL_VERSION).header("Range", range);
    let response = request.send().await.unwrap();
    let told = response.headers().get("content-range").map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), told.unwrap_or_default(), response.text().await.unwrap())
}

#[tokio::test]
async fn an_artifact_keeps_its_content() {
    let s = started();
    let register = |sha256: Value| json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public", "sha256": sha256 });
    // Small content is in the log, large content in a file.
    for content in ["0123456789".to_owned(), "0123456789".repeat(20_000)] {
        let hash = Sha256Hash::of(content.as_bytes()).to_string();
        let artifact = id(&s.api.post("/v1/artifacts", register(json!(hash))).await.expect(201));
        let path = format!("/v1/artifacts/{artifact}/content");
        let upload =
            |bytes: String| s.api.request(Method::PUT, &path).bytes(bytes, "application/octet-stream").send();
        refused(&s.api.get(&path).await, 409, "conflict");
        refused(&upload("something else".into()).await, 409, "conflict");
        let stored = upload(content.clone()).await.expect(200);
        assert_eq!((&stored["sha256"], &stored["size_bytes"]), (&json!(hash), &json!(content.len())));
        assert_eq!(upload(content.clone()).await.expect(200), stored, "the same again changes nothing");

        let whole = s.api.get(&path).await;
        assert_eq!((whole.status, &whole.bytes[..]), (200, content.as_bytes()));
        assert_eq!(whole.header("etag"), Some(&*format!("\"{hash}\"")));
        let size = content.len();
        let part = |range: &str, text: &str| (206, format!("bytes {range}/{size}"), text.to_owned());
        assert_eq!(download(&s.api, &artifact, "bytes=2-4").await, part("2-4", "234"));
        let end = format!("{}-{}", size - 3, size - 1);
        assert_eq!(download(&s.api, &artifact, "bytes=-3").await, part(&end, "789"));
        let beyond = s.api.request(Method::GET, &path).header("Range", "bytes=9999999-").send().await;
        refused(&beyond, 416, "invalid_request");
        assert_eq!(beyond.header("content-range"), Some(&*format!("bytes */{size}")));
    }
    let open = id(&s.api.post("/v1/artifacts", register(Value::Null)).await.expect(201));
    let path = format!("/v1/artifacts/{open}/content");
    let upload = |bytes: &'static str| s.api.request(Method::PUT, &path).bytes(bytes, "text/plain").send();
    assert_eq!(upload("first").await.expect(200)["size_bytes"], 5);
    refused(&upload("second").await, 409, "conflict");
}

#[tokio::test]
async fn messages_are_listed_in_pages() {
    let s = started();
    let session = session(&s.api).await;
    for n in 0..5 {
        say(&s.api, &session, &n.to_string()).await;
    }
    let path = format!("/v1/sessions/{session}/messages?limit=2");
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = s.api.get(&format!("{path}{cursor}")).await.expect(200);
        pages.push(page["data"].as_array().unwrap().iter().map(text).collect::<Vec<_>>());
        assert_eq!(page["page"]["has_more"], json!(page["page"]["next_cursor"].is_string()));
        let Some(next) = page["page"]["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
        if pages.len() == 1 {
            say(&s.api, &session, "late").await;
        }
    }
    assert_eq!(pages, [vec!["0", "1"], vec!["2", "3"], vec!["4", "late"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_background_command_goes_on_while_its_run_waits_for_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let call = |id: &str, name: &str, args: Value| json!({ "id": id, "name": name, "args": args });
    let script = json!({ "responses": [
        { "tool_calls": [call("a", "run_command", json!({ "command": "sleep 1; echo alive", "background": true }))] },
        { "tool_calls": [call("b", "ask_user", json!({ "question": "go on?" }))] },
        { "tool_calls": [call("c", "command_output", json!({ "handle": "cmd_1", "wait_ms": 60_000 }))] },
        { "text": "Done." },
    ] });
    let running = support::open(folder.path(), support::scripted(&script), Default::default()).await.unwrap();
    let harness = &running.harness;
    let create = support::request(json!({ "workspace_id": running.workspace.id }));
    let session = harness.create_session(&support::alice(), create).await.unwrap().id;
    let submit = support::request(json!({ "input": support::user("serve") }));
    let task = harness.submit_task(&support::alice(), session.clone(), submit).await.unwrap().id;
    let filter = harn_harness::EventFilter { task: Some(task.clone()), ..Default::default() };
    let actor = support::alice().actor;
    let mut feed = harness.subscribe(&actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {
        let asked = harness.task_permission_requests(&actor, task.clone(), Default::default()).await.unwrap();
        for pending in asked.data.iter().filter(|asked| asked.status == harn_core::RequestStatus::Pending) {
            let answer = support::request(json!({ "approved": true, "answer": "yes" }));
            // Several events may lead here; the first answer counts.
            let _ = harness.respond(&support::alice(), pending.id.clone(), answer).await;
        }
    }
    let told = support::transcript(harness, &session).await;
    let alive = |line: &&String| line.starts_with("tool:") && line.contains("alive\\n");
    assert!(told.iter().any(|line| alive(&line)), "{told:#?}");
}
