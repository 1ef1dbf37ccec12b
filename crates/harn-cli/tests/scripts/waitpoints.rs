//! Waitpoints from outside: by the command and over HTTP, and across the death of the server.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common::{self, folder, harness, idle, submit};
use crate::support::HARN;
use crate::support::http::{Started, all_events, ended, refused, session, started, until_task, workspace};
use crate::support::server::Server;
use crate::support::{alice, user};

const SCRIPT: &str = r#"
import { wait } from "std/waitpoint"

println("tested")
let day = wait("deploy")
println("deployed on ${day}")
let why = try { wait("announce") } catch (e) { e.name }
println("not announced: ${why}")
"#;

fn harn(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(HARN);
    command.args(args).arg("--data").arg(folder.join("data")).arg("--root").arg(folder.join("work"));
    command.env("HARN_LLM_MODEL", "offline").env_remove("HARN_URL").output().unwrap()
}

#[track_caller]
fn says(folder: &Path, args: &[&str]) -> String {
    let output = harn(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A task that has come to the first waitpoint.
async fn waiting(s: &Started) -> String {
    std::fs::write(s.work().join("deploy.harn"), SCRIPT).unwrap();
    let path = format!("/v1/sessions/{}/tasks", session(&s.api).await);
    let body = json!({ "input": user("go"), "metadata": { "script": { "path": "deploy.harn" } } });
    let task = s.api.post(&path, body).await.expect(202)["id"].as_str().unwrap().to_owned();
    until_task(&s.api, &task, "vendor.harn.waitpoint_awaited").await;
    task
}

fn printed(events: &[Value]) -> String {
    let output = events.iter().filter(|event| event["event"] == "vendor.harn.script_output");
    output.filter_map(|event| event["payload"]["text"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_after_a_crash_when_somebody_completes_what_it_waits_for() {
    let mut s = started();
    let folder = s.folder.path().to_owned();
    let task = waiting(&s).await;
    s.server.kill();
    s.server = Server::start(&folder);
    s.api = s.server.api();

    let listed = says(&folder, &["waitpoints", "list", "--open"]);
    assert!(listed.contains("deploy") && listed.contains(&task), "{listed}");
    let said = says(&folder, &["waitpoints", "complete", "deploy", "--text", "Friday"]);
    assert!(said.starts_with("deploy is completed.\n"), "{said}");
    let again = says(&folder, &["waitpoints", "complete", "deploy", "--value", "\"Friday\"", "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["value"], &again["task_ids"]), (&json!("Friday"), &json!([])));
    let other = harn(&folder, &["waitpoints", "complete", "deploy", "--text", "Monday"]);
    let told = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(1));
    assert!(told.contains("was completed by") && told.contains("already with another value"), "{told}");
    let wrong = harn(&folder, &["waitpoints", "complete", "announce", "--value", "soon"]);
    assert_eq!(wrong.status.code(), Some(2), "words are no JSON");
    let shown = says(&folder, &["waitpoints", "show", "deploy"]);
    assert!(shown.contains("completed") && shown.contains("\"Friday\""), "{shown}");

    // Nobody serves: the command itself lets the run go on to its end.
    let awaited = async |n: usize| {
        let mut seen = 0;
        let mut stream = s.api.events(&format!("/v1/tasks/{task}/stream"), None).await;
        while seen < n {
            let frame = stream.next(crate::support::http::SOON).await.expect("it waits");
            seen += usize::from(frame.event.as_deref() == Some("vendor.harn.waitpoint_awaited"));
        }
    };
    awaited(2).await;
    s.server.kill();
    let said = says(&folder, &["waitpoints", "cancel", "announce", "--reason", "a secret launch"]);
    assert_eq!(said, format!("announce is cancelled.\n{task} is COMPLETED.\n"));

    s.server = Server::start(&folder);
    s.api = s.server.api();
    assert_eq!(ended(&s.api, &task).await["status"], "COMPLETED");
    let events = all_events(&s.api, &format!("/v1/tasks/{task}/events")).await;
    let expected = "tested\ndeployed on Friday\nnot announced: WaitpointCancelledError\n";
    assert_eq!(printed(&events), expected, "each line once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waitpoints_are_read_and_settled_over_http() {
    let s = started();
    let task = waiting(&s).await;
    let list = format!("/v1/workspaces/{}/waitpoints", workspace(&s.api).await);
    let deploy = format!("{list}/deploy");
    let open = s.api.get(&deploy).await.expect(200);
    assert_eq!((&open["status"], &open["task_ids"]), (&json!("open"), &json!([task])));
    assert_eq!(s.api.get(&list).await.expect(200)["data"], json!([open]));
    refused(&s.api.get(&format!("{list}/none")).await, 404, "resource_not_found");
    refused(&s.api.post(&format!("{list}/none/complete"), json!({})).await, 404, "resource_not_found");

    let complete = format!("{deploy}/complete");
    let key = "the key is AKIAIOSFODNN7EXAMPLE";
    let done = s.api.post(&complete, json!({ "value": key })).await.expect(200);
    assert_eq!((&done["status"], &done["task_ids"]), (&json!("completed"), &json!([task])));
    assert_eq!(done["value"], "the key is [redacted: AWS access key id]", "it would be in the journal");
    let again = s.api.post(&complete, json!({ "value": key })).await.expect(200);
    assert_eq!(again["settled_at"], done["settled_at"]);
    let other = s.api.post(&complete, json!({ "value": "x" })).await;
    refused(&other, 409, "conflict");
    assert_eq!(other.body["error"]["details"]["status"], "completed");
    refused(&s.api.post(&format!("{deploy}/cancel"), json!({})).await, 409, "conflict");

    let cancel = format!("{list}/announce/cancel");
    let events = async || all_events(&s.api, "/v1/events").await;
    while s.api.get(&format!("{list}/announce")).await.status != 200 {
        tokio::task::yield_now().await;
    }
    let gone = s.api.post(&cancel, json!({ "reason": "quiet" })).await.expect(200);
    assert_eq!((&gone["status"], &gone["reason"]), (&json!("cancelled"), &json!("quiet")));
    assert_eq!(s.api.post(&cancel, json!({})).await.expect(200)["settled_at"], gone["settled_at"]);
    refused(&s.api.post(&format!("{list}/announce/complete"), json!({})).await, 409, "conflict");
    assert_eq!(ended(&s.api, &task).await["status"], "COMPLETED");
    let settled = events().await;
    let settled = settled.iter().filter(|event| event["event"] == "vendor.harn.waitpoint_settled");
    let settled: Vec<Value> = settled.map(|event| event["payload"]["waitpoint"].clone()).collect();
    assert_eq!(settled, ["deploy", "announce"], "each is settled once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_at_a_waitpoint_is_not_in_memory() {
    let script = "import { wait } from \"std/waitpoint\"\nlet value = wait(\"w\", {})\n\
                  let late = try { wait(\"never\", {timeout: 5ms}) } catch (e) { e.name }\n[value, late]\n";
    let folder = folder(&[("a.harn", script)]);
    let running = harness(folder.path()).await;
    let task = submit(&running, json!({ "path": "a.harn" }), "go").await.unwrap();
    idle(&running).await;
    let waitpoint =
        running.harness.waitpoint(&alice().actor, running.workspace.id.clone(), "w").await.unwrap();
    assert_eq!(waitpoint.task_ids, std::slice::from_ref(&task.id));
    let value = crate::support::request(json!({ "value": 7 }));
    let workspace = running.workspace.id.clone();
    running.harness.complete_waitpoint(&alice(), workspace, "w".into(), value).await.unwrap();
    let (_, outcome) = common::ended(&running.harness, &task.id).await;
    assert_eq!(outcome.metadata["value"], json!([7, "WaitpointTimeoutError"]));
}
