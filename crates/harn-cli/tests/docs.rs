//! The documents that people read, held against the code: event kinds with their causes and payloads, error codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use harn_core::EventKind;
use harn_harness::{EventFilter, PageQuery};
use harn_log::sqlite::Options;
use serde_json::{Value, json};
use support::{alice, keyed, open, request, scripted, user};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn schemas() -> Value {
    serde_json::from_str(&std::fs::read_to_string(docs().join("event-payloads.schema.json")).unwrap())
        .unwrap()
}

fn events_page() -> String {
    let mut page = String::from(
        "# Events\n\nEvery event has the same envelope (`GET /openapi.json`, schema `Event`); what differs is the \
         payload. The fields that a payload\nalways has are listed here; their schemas are in \
         [event-payloads.schema.json](event-payloads.schema.json). This page is\ngenerated: \
         `UPDATE_DOCS=1 cargo test -p harn-cli --test docs`.\n\n| kind | cause | payload |\n|---|---|---|\n",
    );
    let schemas = schemas();
    for kind in EventKind::ALL {
        let Some(cause) = kind.cause() else { continue };
        let required = schemas["properties"][kind.as_str()]["required"].as_array();
        let fields: Vec<String> =
            required.into_iter().flatten().map(|field| format!("`{}`", field.as_str().unwrap())).collect();
        writeln!(page, "| `{}` | {cause} | {} |", kind.as_str(), fields.join(", ")).unwrap();
    }
    page.push_str("\nKinds of spec 001 that nothing causes yet: ");
    let silent: Vec<String> = EventKind::ALL
        .iter()
        .filter(|kind| kind.cause().is_none())
        .map(|kind| format!("`{}`", kind.as_str()))
        .collect();
    page.push_str(&silent.join(", "));
    page.push_str(".\n");
    page
}

#[test]
fn the_table_of_events_is_the_code_s() {
    let file = docs().join("events.md");
    let page = events_page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    assert!(std::fs::read_to_string(&file).unwrap_or_default() == page, "run with UPDATE_DOCS=1");
}

fn std_page() -> String {
    let mut page = String::from(
        "# Standard modules\n\nThey are part of `harn` and need no files. A program that imports none of them pays for \
         none. How imports work is told in\n[modules.md](modules.md). This page is generated from the sources of the \
         modules: `UPDATE_DOCS=1 cargo test -p harn-cli --test docs`.\n\n\
         ```harn\nimport \"std/math\"\nimport { truncate_head_tail } from \"std/text\"\n\n\
         println(percentile([1, 2, 3, 4, 5], 90))\nprintln(kmeans([[1, 1], [9, 9], [1, 2]], 2).assignments)\n\
         println(truncate_head_tail(\"a\\nb\\nc\\nd\\ne\", 1))\n```\n\n\
         ```text\n4.6\n[0, 1, 0]\na\n... (3 lines omitted) ...\ne\n```\n\n| module | |\n|---|---|\n",
    );
    let modules = harn_lang::stdlib::modules();
    for module in &modules {
        let anchor = module.name.replace('/', "");
        writeln!(page, "| [`{}`](#{anchor}) | {} |", module.name, module.doc.replace('\n', " ")).unwrap();
    }
    for module in &modules {
        write!(page, "\n## {}\n\n{}\n", module.name, module.doc).unwrap();
        for function in &module.functions {
            write!(page, "\n### `{}`\n\n{}\n", function.signature, function.doc).unwrap();
        }
        if !module.types.is_empty() {
            page.push_str("\n| type | |\n|---|---|\n");
        }
        for alias in &module.types {
            writeln!(page, "| `{}` | {} |", alias.name, alias.doc.replace('\n', " ")).unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_standard_modules_is_the_code_s() {
    let file = docs().join("language/std.md");
    let page = std_page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    assert!(std::fs::read_to_string(&file).unwrap_or_default() == page, "run with UPDATE_DOCS=1");
}

#[test]
fn every_kind_with_a_cause_has_a_schema_and_no_other() {
    let caused: BTreeSet<String> = EventKind::ALL
        .iter()
        .filter(|kind| kind.cause().is_some())
        .map(|kind| kind.as_str().to_owned())
        .collect();
    let described: BTreeSet<String> = schemas()["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(described, caused);
}

/// A story in which everything that can be told happens at least once.
fn script() -> Value {
    json!({ "responses": [
        { "text": "Looking.", "thinking": "hidden", "tool_calls": [
            { "id": "a", "name": "read_file", "args": { "path": "notes.txt" } },
            { "id": "b", "name": "read_file", "args": { "path": "absent.txt" } } ] },
        { "tool_calls": [{ "id": "c", "name": "write_file", "args": { "path": "out.txt", "content": "x" } }] },
        { "tool_calls": [{ "id": "d", "name": "run_command", "args": { "command": "touch made" } }] },
        { "tool_calls": [{ "id": "e", "name": "ask_user", "args": { "question": "sure?" } }] },
        { "text": "Done." },
        { "text": "Heard." },
        { "error": { "kind": "overloaded", "message": "busy" } },
    ], "conversations": [
        { "when": "Summarise this conversation", "responses": [{ "text": "They filled it." }] },
        { "when": "[Summary of the earlier", "responses": [{ "text": "Going on." }] },
    ], "after": "error", "context_window": 60_000 })
}

/// What every event of a run through all commands says, by kind.
async fn tell_all(folder: &Path) -> Vec<Value> {
    std::fs::create_dir_all(folder.join("work")).unwrap();
    std::fs::write(folder.join("work/notes.txt"), "n").unwrap();
    let running = open(folder, scripted(&script()), Options::default()).await.unwrap();
    let (harness, call) = (&running.harness, alice());
    let workspace = &running.workspace.id;
    let persona = json!({ "name": "p", "version": "1", "entry_workflow": "agent_loop", "description": "d",
                          "autonomy_tier": "act_with_approval", "receipt_policy": "optional" });
    let persona = harness.create_persona(&call, request(persona)).await.unwrap();
    harness.update_persona(&call, persona.id.clone(), request(json!({ "description": "e" }))).await.unwrap();
    harness.update_workspace(&call, workspace.clone(), request(json!({ "name": "w" }))).await.unwrap();
    let body = request(json!({ "content": "text" }));
    harness.write_file(&call, workspace, "f.txt".into(), body).await.unwrap();
    let create = json!({ "workspace_id": workspace, "persona_id": persona.id });
    let session = harness.create_session(&call, request(create)).await.unwrap().id;
    harness.update_session(&call, session.clone(), request(json!({ "summary": "s" }))).await.unwrap();
    let branch = request(json!({ "kind": "session", "base_ref": "main" }));
    harness.create_branch(&call, session.clone(), branch).await.unwrap();
    let artifact = request(json!({ "kind": "log", "mime_type": "text/plain", "visibility": "public" }));
    let artifact = harness.register_artifact(&call, artifact).await.unwrap().id;
    let upload = harness.upload_folder().join("u");
    std::fs::write(&upload, "bytes").unwrap();
    harness.upload_artifact(&call, artifact, upload).await.unwrap();

    let submit = |text: &str| request(json!({ "input": user(text) }));
    let first = harness.submit_task(&call, session.clone(), submit("go")).await.unwrap().id;
    let denied = request_of(harness, &first, 0).await;
    let inject = request(json!({ "message": user("and this") }));
    harness.append_session_message(&keyed("inject"), session.clone(), inject).await.unwrap();
    harness.respond(&call, denied, request(json!({ "approved": false, "reason": "no" }))).await.unwrap();
    let approved = request_of(harness, &first, 1).await;
    let remembered = json!({ "approved": true, "remember": true, "scope": "session" });
    let answered = harness.respond(&call, approved, request(remembered)).await.unwrap();
    let rule = answered.response["remembered_rule_id"].as_str().unwrap().to_owned();
    harness.remove_permission_rule(&keyed("forget"), rule).await.unwrap();
    harness.put_permission_policy(&call, request(json!({ "read": ["docs/**"] }))).await.unwrap();
    let question = request_of(harness, &first, 2).await;
    harness.respond(&call, question, request(json!({ "answer": "yes" }))).await.unwrap();
    ended(harness, &first).await;
    harness.undo_task(&call, first).await.unwrap();
    fill_the_window(harness, workspace).await;
    run_a_script(harness, folder, workspace).await;
    let second = harness.submit_task(&call, session.clone(), submit("fail")).await.unwrap().id;
    ended(harness, &second).await;
    let fork = harness.fork_session(&call, session.clone(), Default::default()).await.unwrap().id;
    harness.truncate_session(&call, fork.clone(), request(json!({ "keep_first": 0 }))).await.unwrap();
    let third = harness.submit_task(&call, fork.clone(), submit("go")).await.unwrap().id;
    request_of(harness, &third, 0).await;
    harness.cancel_task(&call, third, Default::default()).await.unwrap();
    harness.close_session(&call, session).await.unwrap();

    let mut events = Vec::new();
    let mut after = None;
    loop {
        let page = harness.events(&call.actor, EventFilter::default(), after, Some(200)).await.unwrap();
        events.extend(page.data.iter().map(|event| serde_json::from_str::<Value>(event.get()).unwrap()));
        match page.next {
            Some(next) => after = Some(next.to_string()),
            None => return events,
        }
    }
}

/// A script that prints something, waits for a moment, and tells of a plan.
async fn run_a_script(harness: &harn_harness::Harness, folder: &Path, workspace: &harn_core::WorkspaceId) {
    let text = "println(\"at work\")\n\
                let signal = spawn { sleep(50)\nwaitpoint_complete(\"gate\", 1) }\nwaitpoint_wait(\"gate\")\nawait(signal)\n\
                ({text: \"Done.\", events: [{sessionUpdate: \"plan\", entries: []}]})\n";
    std::fs::write(folder.join("work/a.harn"), text).unwrap();
    let create = request(json!({ "workspace_id": workspace }));
    let session = harness.create_session(&alice(), create).await.unwrap().id;
    let submit = json!({ "input": user("go"), "metadata": { "script": { "path": "a.harn" } } });
    let task = harness.submit_task(&alice(), session, request(submit)).await.unwrap().id;
    ended(harness, &task).await;
}

/// A session that grows too long for its model.
async fn fill_the_window(harness: &harn_harness::Harness, workspace: &harn_core::WorkspaceId) {
    let create = request(json!({ "workspace_id": workspace }));
    let session = harness.create_session(&alice(), create).await.unwrap().id;
    let long = request(json!({ "message": user(&"word ".repeat(50_000)) }));
    harness.append_session_message(&alice(), session.clone(), long).await.unwrap();
    let submit = request(json!({ "input": user("and now?") }));
    let task = harness.submit_task(&alice(), session, submit).await.unwrap().id;
    ended(harness, &task).await;
}

async fn request_of(
    harness: &harn_harness::Harness,
    task: &harn_core::TaskId,
    n: usize,
) -> harn_core::RequestId {
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    loop {
        let found = harness
            .task_permission_requests(&alice().actor, task.clone(), PageQuery::default())
            .await
            .unwrap();
        if let Some(request) = found.data.get(n) {
            return request.id.clone();
        }
        feed.next().await.unwrap().expect("the task ended without asking");
    }
}

async fn ended(harness: &harn_harness::Harness, task: &harn_core::TaskId) {
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_is_emitted_and_fits_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let events = tell_all(folder.path()).await;
    let schemas = schemas();
    let mut told = BTreeSet::new();
    for event in &events {
        let kind = event["event"].as_str().unwrap();
        told.insert(kind.to_owned());
        let schema = json!({ "$defs": schemas["$defs"], "allOf": [schemas["properties"][kind]] });
        let problems: Vec<String> = harn_testkit::validate(&schema, &event["payload"]);
        assert_eq!(problems, Vec::<String>::new(), "{event}");
    }
    // Only scripts tell updates, and this run has none.
    let caused: BTreeSet<String> = EventKind::ALL
        .iter()
        .filter(|kind| kind.cause().is_some() && **kind != EventKind::ScriptUpdate)
        .map(|kind| kind.as_str().to_owned())
        .collect();
    let silent: Vec<&String> = caused.difference(&told).collect();
    assert!(silent.is_empty(), "claimed and never seen: {silent:?}");
    let shown = serde_json::to_string(&events).unwrap();
    assert!(!shown.contains("hidden"), "the model's reasoning was shown");
}

#[test]
fn every_error_code_is_on_the_page_of_errors() {
    let page = std::fs::read_to_string(docs().join("errors.md")).unwrap();
    let document = harn_serve::openapi();
    let codes = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    assert!(codes.len() >= 19);
    for code in codes {
        assert!(page.contains(&format!("`{}`", code.as_str().unwrap())), "{code} is not explained");
    }
}
