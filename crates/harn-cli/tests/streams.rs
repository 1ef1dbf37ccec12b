//! What readers of events may rely on: everything once and in order, nothing that is not for them, and an end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Command;
use std::time::Duration;

use harn_serve::ServeOptions;
use harn_testkit::Api;
use reqwest::Method;
use serde_json::{Value, json};
use support::http::{
    Local, SOON, all_events, ended, id, kinds, part, persona, said, say, session, session_with, started,
    started_with, submit, until, until_task,
};
use support::server::Server;
use support::{HARN, offline, user};

const WRITERS: usize = 6;
const MESSAGES: usize = 25;
/// The creation, and two events for each message.
const EVENTS: usize = 1 + 2 * WRITERS * MESSAGES;

/// A small generator, so that a failing test can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Reads a session's events until it has all of them; with dice, it goes away and comes back now and then.
async fn subscriber(api: Api, path: String, mut dice: Option<Dice>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    while seen.len() < EVENTS {
        let mut stream = api.events(&path, seen.last().map(String::as_str)).await;
        let stay = dice.as_mut().map_or(u64::MAX, |dice| dice.roll(40));
        for _ in 0..stay {
            let Some(frame) = stream.next(SOON).await else { panic!("{} of {EVENTS} events", seen.len()) };
            seen.push(frame.id.unwrap());
            if seen.len() == EVENTS {
                break;
            }
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_subscriber_sees_every_event_once_and_in_order() {
    let s = started();
    let session = session(&s.api).await;
    let path = format!("/v1/sessions/{session}/events/stream");

    let readers: Vec<_> = (0..20)
        .map(|n| {
            let dice = (n % 2 == 1).then_some(Dice(n));
            tokio::spawn(subscriber(s.api.clone(), path.clone(), dice))
        })
        .collect();
    let writers = (0..WRITERS).map(|writer| {
        let (api, session) = (s.api.clone(), session.clone());
        tokio::spawn(async move {
            for n in 0..MESSAGES {
                say(&api, &session, &format!("{writer}-{n}")).await;
            }
        })
    });
    futures::future::try_join_all(writers).await.unwrap();

    let events = all_events(&s.api, &format!("/v1/sessions/{session}/events")).await;
    let expected: Vec<String> = events.iter().map(id).collect();
    assert_eq!(expected.len(), EVENTS);
    for reader in readers {
        assert_eq!(reader.await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let s = started();
    let session = session(&s.api).await;
    let mut stream = s.api.events(&format!("/v1/sessions/{session}/events/stream"), None).await;

    // More than the server keeps in memory for readers that are up to date.
    let big = "x".repeat(256 << 10);
    for n in 0..80 {
        say(&s.api, &session, &format!("{n} {big}")).await;
    }

    let mut numbers = Vec::new();
    while numbers.len() < 80 {
        let frame = stream.next(SOON).await.unwrap();
        if frame.event.as_deref() == Some("user.message") {
            let text = frame.data["payload"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
            numbers.push(text.split(' ').next().unwrap().parse::<usize>().unwrap());
        }
    }
    assert_eq!(numbers, (0..80).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_stream_goes_on_after_a_restart_of_the_server() {
    let mut s = started();
    let session = session(&s.api).await;
    let path = format!("/v1/sessions/{session}/events/stream");
    say(&s.api, &session, "before").await;
    let seen = until(&s.api, &path, "user.message").await;
    s.server.kill();

    let server = Server::start(s.folder.path());
    let api = server.api();
    say(&api, &session, "after").await;
    let last = id(seen.last().unwrap());
    let mut by_header = api.events(&path, Some(&last)).await;
    let mut by_query = api.events(&format!("{path}?after_event_id={last}"), None).await;

    let expected = ["session.message_appended", "user.message", "session.message_appended"];
    for kind in expected {
        assert_eq!(by_header.next(SOON).await.unwrap().event.as_deref(), Some(kind));
        assert_eq!(by_query.next(SOON).await.unwrap().event.as_deref(), Some(kind));
    }
}

const WORDS: [&str; 3] = ["for-everyone", "for-insiders", "for-receipts"];

fn mixed() -> Value {
    let parts: Vec<Value> = WORDS
        .iter()
        .zip(["public", "internal", "receipt_only"])
        .map(|(word, level)| part(word, level))
        .collect();
    said(&parts)
}

/// Which of the words are in an answer.
fn leaks(text: &str) -> Vec<&'static str> {
    WORDS.into_iter().filter(|word| text.contains(word)).collect()
}

/// Fills a session with mixed content in every way there is; gives the session and its tasks.
async fn fill(api: &Api) -> (String, Vec<String>) {
    let mut system = mixed();
    system["role"] = json!("system");
    let session = session_with(api, json!({ "initial_messages": [mixed(), system] })).await;
    let path = format!("/v1/sessions/{session}");
    api.post(&format!("{path}/messages"), json!({ "message": mixed() })).await.expect(201);
    let done = api.post(&format!("{path}/tasks"), json!({ "input": mixed() })).await.expect(202);
    ended(api, &id(&done)).await;
    // A message to a running task waits in the inbox before it is delivered.
    let asking = id(&submit(api, &session, "ask Which?").await);
    until_task(api, &asking, "task.input_required").await;
    api.post(&format!("{path}/messages"), json!({ "message": mixed() })).await.expect(201);
    let steer = json!({ "kind": "interrupt", "message": mixed() });
    api.post(&format!("/v1/tasks/{asking}/messages"), steer).await.expect(201);
    (session, vec![id(&done), asking])
}

/// Every place where messages can be read.
async fn readings(api: &Api, session: &str, tasks: &[String]) -> Vec<(String, String)> {
    let mut paths = vec![
        format!("/v1/sessions/{session}/messages"),
        format!("/v1/sessions/{session}/tasks"),
        format!("/v1/sessions/{session}/events?limit=200"),
        "/v1/events?limit=200".to_owned(),
        "/v1/tasks".to_owned(),
        "/v1/outcomes".to_owned(),
        "/v1/permission-requests".to_owned(),
    ];
    paths.extend(
        tasks.iter().flat_map(|task| [format!("/v1/tasks/{task}"), format!("/v1/tasks/{task}/events")]),
    );
    let list = api.get(&paths[0]).await.expect(200);
    paths.extend(
        list["data"].as_array().unwrap().iter().map(|message| format!("/v1/messages/{}", id(message))),
    );
    let events = all_events(api, &format!("/v1/sessions/{session}/events")).await;
    paths.extend(events.iter().map(|event| format!("/v1/events/{}", id(event))));
    let mut read = Vec::new();
    for path in paths {
        let answer = api.get(&path).await;
        read.push((path, String::from_utf8_lossy(&answer.bytes).into_owned()));
    }
    for path in [format!("/v1/sessions/{session}/events/stream"), "/v1/events/stream".to_owned()] {
        let mut stream = api.events(&path, None).await;
        let mut streamed = Vec::new();
        while streamed.len() < events.len() {
            streamed.push(stream.next(SOON).await.unwrap().data);
        }
        read.push((path, json!(streamed).to_string()));
    }
    read
}

/// Reads everything as this reader; gives the places that show a hidden word, and how many words were shown.
async fn leaking(
    reader: &Api,
    sessions: &[&str],
    tasks: &[String],
    hidden: &[&str],
) -> (Vec<(String, Vec<&'static str>)>, usize) {
    let (mut wrong, mut shown) = (Vec::new(), 0);
    for session in sessions {
        for (path, text) in readings(reader, session, tasks).await {
            let leaks = leaks(&text);
            shown += leaks.len();
            if leaks.iter().any(|word| hidden.contains(word)) {
                wrong.push((path, leaks));
            }
        }
    }
    (wrong, shown)
}

const READS: [&str; 4] = ["sessions:read", "tasks:read", "events:read", "approvals:read"];

#[tokio::test]
async fn parts_are_shown_to_those_who_may_see_them_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let (insider, outsider) = (local.key("insider", &["*"]).await, local.key("outsider", &READS).await);
    let (session, tasks) = fill(&insider).await;
    let fork = id(&insider.post(&format!("/v1/sessions/{session}/fork"), json!({})).await.expect(201));

    for (reader, hidden) in [(&outsider, &WORDS[1..]), (&insider, &WORDS[2..])] {
        let (wrong, shown) = leaking(reader, &[&session, &fork], &tasks, hidden).await;
        assert_eq!(wrong, []);
        assert!(shown > 20, "the test has read nothing");
    }
    for (path, text) in readings(&insider, &session, &tasks).await {
        let mixed = path.starts_with("/v1/messages/") && text.contains(WORDS[0]);
        assert!(!mixed || leaks(&text) == WORDS[..2], "{path}: {text}");
    }
}

#[tokio::test]
async fn what_an_answer_to_a_question_hides_stays_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let (insider, outsider) = (local.key("insider", &["*"]).await, local.key("outsider", &READS).await);
    let session = session(&insider).await;
    let task = id(&submit(&insider, &session, "ask Which?").await);
    until_task(&insider, &task, "task.input_required").await;
    let answer = json!({ "kind": "input", "message": mixed() });
    insider.post(&format!("/v1/tasks/{task}/messages"), answer).await.expect(201);
    ended(&insider, &task).await;

    for (reader, hidden) in [(&outsider, &WORDS[1..]), (&insider, &WORDS[2..])] {
        let (wrong, shown) = leaking(reader, &[&session], std::slice::from_ref(&task), hidden).await;
        assert_eq!(wrong, []);
        assert!(shown > 3, "the answer itself is nowhere");
    }
}

#[tokio::test]
async fn artifacts_are_shown_to_those_who_may_see_them() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let insider = local.key("insider", &["*"]).await;
    let outsider = local.key("outsider", &["artifacts:read", "artifacts:write", "events:read"]).await;
    let session = session(&insider).await;
    let mut ids = Vec::new();
    for visibility in ["public", "internal", "receipt_only"] {
        let body = json!({ "kind": "log", "mime_type": "text/plain", "visibility": visibility, "session_id": session });
        ids.push(id(&insider.post("/v1/artifacts", body).await.expect(201)));
    }
    for (reader, visible) in [(&outsider, 1), (&insider, 2)] {
        let list = reader.get(&format!("/v1/artifacts?session_id={session}")).await.expect(200);
        let listed: Vec<String> = list["data"].as_array().unwrap().iter().map(id).collect();
        assert_eq!(listed, ids[..visible]);
        for (n, artifact) in ids.iter().enumerate() {
            let status = if n < visible { 200 } else { 404 };
            reader.get(&format!("/v1/artifacts/{artifact}")).await.expect(status);
            let missing = if n < visible { 409 } else { 404 };
            reader.get(&format!("/v1/artifacts/{artifact}/content")).await.expect(missing);
            if n >= visible {
                let upload = reader.request(Method::PUT, &format!("/v1/artifacts/{artifact}/content"));
                upload.bytes("x", "application/octet-stream").send().await.expect(404);
            }
        }
        let told = json!(all_events(reader, "/v1/events").await).to_string();
        let told: Vec<bool> = ids.iter().map(|artifact| told.contains(artifact)).collect();
        assert_eq!(told, [true, visible > 1, false]);
    }
}

#[tokio::test]
async fn an_artifact_of_no_workspace_is_not_for_keys_of_certain_workspaces() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let owner = local.key("owner", &["*"]).await;
    let guest = local.confined("guest", local.running.workspace.id.as_str()).await;
    let body = json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public" });
    let artifact = id(&owner.post("/v1/artifacts", body).await.expect(201));

    guest.get(&format!("/v1/artifacts/{artifact}")).await.expect(404);
    assert_eq!(guest.get("/v1/artifacts").await.expect(200)["data"], json!([]));
    assert!(!json!(all_events(&guest, "/v1/events").await).to_string().contains(&artifact));
}

#[tokio::test]
async fn hidden_reasoning_is_nowhere() {
    let thought = "I-must-not-say-this";
    let s = started_with(&json!({ "responses": [
        { "thinking": thought, "text": "Looking.", "tool_calls": [{ "id": "c", "name": "list_dir", "args": { "path": "." } }] },
        { "thinking": thought, "text": "Done." },
    ] }));
    let session = session(&s.api).await;
    let task = ended(&s.api, &id(&submit(&s.api, &session, "go").await)).await;
    assert_eq!(task["status"], "COMPLETED");

    let outcome =
        s.api.get(&format!("/v1/outcomes/{}", task["outcome_id"].as_str().unwrap())).await.expect(200);
    let data = s.folder.path().join("data");
    let export = Command::new(HARN).args(["log", "export", "--data"]).arg(data).output().unwrap();
    assert!(export.status.success());
    for told in [
        json!(all_events(&s.api, "/v1/events").await).to_string(),
        json!(support::http::messages(&s.api, &session).await).to_string(),
        json!([task, outcome]).to_string(),
        String::from_utf8(export.stdout).unwrap(),
    ] {
        assert!(told.contains("Done.") || told.contains("COMPLETED"));
        assert!(!told.contains(thought), "{told}");
    }
}

/// The kinds of a stream that must end by itself.
async fn to_the_end(api: &Api, task: &str, after: Option<&str>) -> Vec<String> {
    let mut stream = api.events(&format!("/v1/tasks/{task}/stream"), after).await;
    let mut seen = Vec::new();
    while let Some(frame) = stream.next(Duration::from_secs(10)).await {
        seen.push(frame.event.unwrap());
    }
    assert!(stream.ended(), "the stream goes on after {seen:?}");
    seen
}

#[tokio::test]
async fn a_task_stream_ends_after_its_terminal_event() {
    let s = started_with(&json!({ "conversations": [
        { "when": "work", "responses": [{ "text": "Done.", "delay_ms": 50 }] },
        { "when": "break", "responses": [{ "error": { "kind": "invalid_request", "message": "no" } }] },
        { "when": "hang", "responses": [{ "hang": true }] },
    ] }));
    for (words, terminal) in [("work", "task.completed"), ("break", "task.failed"), ("hang", "task.canceled")]
    {
        let task = id(&submit(&s.api, &session(&s.api).await, words).await);
        let live = to_the_end(&s.api, &task, None);
        let cancel = async {
            if words == "hang" {
                until_task(&s.api, &task, "span.started").await;
                s.api.post(&format!("/v1/tasks/{task}/cancel"), json!({})).await.expect(200);
            }
        };
        let (live, ()) = tokio::join!(live, cancel);
        assert_eq!(live.last().unwrap(), terminal);
        assert_eq!(to_the_end(&s.api, &task, None).await, live);
        let events = all_events(&s.api, &format!("/v1/tasks/{task}/events")).await;
        assert_eq!(kinds(&events), live);
        assert_eq!(to_the_end(&s.api, &task, Some(&id(events.last().unwrap()))).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_task_stream_ends_although_something_was_linked_to_the_task_later() {
    let s = started();
    let task = id(&submit(&s.api, &session(&s.api).await, "hello").await);
    ended(&s.api, &task).await;
    let events = all_events(&s.api, &format!("/v1/tasks/{task}/events")).await;
    let artifact =
        json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public", "task_id": task });
    s.api.post("/v1/artifacts", artifact).await.expect(201);

    let whole = to_the_end(&s.api, &task, None).await;
    assert!(whole.contains(&"task.completed".to_owned()));
    let after = to_the_end(&s.api, &task, Some(&id(events.last().unwrap()))).await;
    assert!(after.is_empty() || after == ["artifact.created"], "{after:?}");
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let folder = tempfile::tempdir().unwrap();
    let options = ServeOptions { heartbeat: Duration::from_millis(50), ..ServeOptions::default() };
    let local = Local::with(folder.path(), offline(), options).await;
    let api = local.key("ann", &["*"]).await;
    let session = session(&api).await;
    let mut stream = api.events(&format!("/v1/sessions/{session}/events/stream"), None).await;
    let first = stream.next(SOON).await.unwrap();
    assert_eq!((first.event.as_deref(), first.comments), (Some("session.created"), 0));

    while stream.comments() < 3 {
        assert!(stream.next(Duration::from_millis(100)).await.is_none());
        assert!(!stream.ended());
    }
    say(&api, &session, "still here").await;

    assert_eq!(stream.next(SOON).await.unwrap().event.as_deref(), Some("user.message"));
}

#[tokio::test]
async fn a_filtered_stream_shows_only_what_was_asked_for() {
    let s = started();
    let (one, two) = (session(&s.api).await, session(&s.api).await);
    persona(&s.api, "act_auto", json!({})).await;
    let body = json!({ "message": user("hello") });
    s.api.post(&format!("/v1/sessions/{two}/messages"), body.clone()).await.expect(201);
    s.api.post(&format!("/v1/sessions/{one}/messages"), body).await.expect(201);

    let events =
        until(&s.api, &format!("/v1/events/stream?session_id={one}"), "session.message_appended").await;

    assert_eq!(kinds(&events), ["session.created", "user.message", "session.message_appended"]);
    assert!(events.iter().all(|event| event["session_id"] == json!(one)));
}
