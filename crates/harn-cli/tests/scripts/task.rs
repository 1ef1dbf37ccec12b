//! One script task from its submission to its outcome.

use harn_core::{Part, TaskStatus};
use serde_json::{Value, json};

use crate::common::{
    ended, events, folder, harness, idle, printed, submit, submit_to_persona, submit_to_tier, write,
};
use crate::support::{alice, transcript, user};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persona_runs_a_script_with_the_task_and_its_data() {
    let script = "import { shout } from \"lib/words\"\n\
                  pub pipeline greet(task, name) {\n  println(\"working\")\n  return shout(task) + \" \" + name\n}\n";
    let words = "pub fn shout(text) { return text.upper() }\n";
    let folder = folder(&[("agents/hello.harn", script), ("agents/lib/words.harn", words)]);
    let running = harness(folder.path()).await;
    let mut input = user("good morning");
    input["parts"].as_array_mut().unwrap().push(json!({ "type": "json", "visibility": "public",
        "value": { "name": "Ada" } }));
    let task = submit_to_persona(&running, "agents/hello.harn#greet", input).await.unwrap();
    assert_eq!(task.metadata["script"]["path"], "agents/hello.harn");
    let (task, outcome) = ended(&running.harness, &task.id).await;
    assert_eq!((task.status, outcome.summary.as_str()), (TaskStatus::Completed, "GOOD MORNING Ada"));
    assert_eq!(outcome.metadata["value"], "GOOD MORNING Ada");
    assert_eq!(outcome.messages[0].parts, [Part::text("GOOD MORNING Ada")]);
    assert_eq!(printed(&events(&running.harness, &task.id).await), "working\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exported_function_runs_with_named_arguments() {
    let script =
        "pub fn add(a: int, b: int = 2) -> int { return a + b }\npub pipeline main(depth) { return depth }\n";
    let folder = folder(&[("lib.harn", script)]);
    let running = harness(folder.path()).await;
    for (input, expected) in [
        (json!({ "a": 1 }), Ok(json!(3))),
        (json!({ "a": 1, "b": 5 }), Ok(json!(6))),
        (json!({ "b": 5 }), Err("`add` needs the argument `a`.")),
        (json!({ "a": 1, "c": 5 }), Err("`add` has no parameter `c`; it has `a`, `b`.")),
        (user("one"), Err("`add` cannot be given this: at a: expected type 'integer', got 'string'.")),
        (json!({ "a": 1.5 }), Err("`add` cannot be given this: at a: expected type 'integer', got 'float'.")),
    ] {
        let got = match submit_to_persona(&running, "lib.harn#add", input).await {
            Ok(task) => Ok(ended(&running.harness, &task.id).await.1.metadata["value"].clone()),
            Err(error) => {
                assert_eq!(
                    (error.code, error.param.as_deref()),
                    (harn_core::Code::InvalidRequest, Some("input"))
                );
                Err(error.message)
            }
        };
        assert_eq!(got, expected.map_err(str::to_owned));
    }
    // The words of a task are no argument where there is no parameter for them.
    let mut input = user("go");
    input["parts"].as_array_mut().unwrap().push(json!({ "type": "json", "visibility": "public",
        "value": { "depth": 3 } }));
    let task = submit_to_persona(&running, "lib.harn#main", input).await.unwrap();
    assert_eq!(ended(&running.harness, &task.id).await.1.metadata["value"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_does_not_compile_is_refused_with_its_places() {
    let folder = folder(&[("bad.harn", "println(1)\nlet x: int = \"one\"\n"), ("ok.harn", "1\n")]);
    std::fs::write(folder.path().join("outside.harn"), "1").unwrap();
    let running = harness(folder.path()).await;
    let mut told = Vec::new();
    for script in [
        json!({ "path": "bad.harn" }),
        json!({ "path": "none.harn" }),
        json!({ "path": "ok.harn", "function": "f" }),
        json!({ "path": 3 }),
    ] {
        told.push(submit(&running, script, "").await.unwrap_err().to_string());
    }
    told.push(submit_to_persona(&running, "../outside.harn", user("x")).await.unwrap_err().to_string());
    let expected = [
        "bad.harn:2:",
        "The script `none.harn` cannot be read: No such file",
        "`ok.harn` has no pipeline and no exported function `f`; it exports nothing.",
        "The path of the script is missing.",
        "The script `../outside.harn` cannot be read: it is outside of the workspace",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{told}");
    }
    let tasks = running.harness.tasks(&alice().actor, Default::default(), Default::default()).await.unwrap();
    assert!(tasks.data.is_empty(), "nothing was accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_an_owner_runs_a_script_by_its_name() {
    let folder = folder(&[("a.harn", "1\n")]);
    let running = harness(folder.path()).await;
    let create = crate::support::request(json!({ "workspace_id": running.workspace.id }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    let scopes = ["tasks:write", "tasks:read"].map(|scope| harn_core::Scope(scope.into())).into();
    let actor = harn_core::Actor { id: "bob".into(), scopes, workspaces: harn_core::WorkspaceAccess::All };
    let body = json!({ "input": user("x"), "metadata": { "script": { "path": "a.harn", "image": "0" } } });
    let call = harn_harness::Call::new(actor);
    let refused =
        running.harness.submit_task(&call, session, crate::support::request(body)).await.unwrap_err();
    assert_eq!(refused.code, harn_core::Code::PermissionDenied);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipeline_result_becomes_a_message_and_events() {
    let script = "import { plan, agent_message_chunk } from \"std/acp\"\n\
                  pub pipeline main(task) {\n  return {text: \"All done.\", events: [\n    \
                  agent_message_chunk(\"Looking.\"), plan([{content: \"look\", priority: \"high\", status: \"completed\"}])]}\n}\n";
    let folder = folder(&[("a.harn", script)]);
    let running = harness(folder.path()).await;
    let task = submit(&running, json!({ "path": "a.harn" }), "go").await.unwrap();
    let (task, outcome) = ended(&running.harness, &task.id).await;
    assert_eq!(outcome.summary, "All done.");
    let said = transcript(&running.harness, &task.session_id).await;
    assert_eq!(said, ["user: go", "assistant: Looking.", "assistant: All done."]);
    let events = events(&running.harness, &task.id).await;
    let updates: Vec<&Value> =
        events.iter().filter(|event| event["event"] == "vendor.harn.script_update").collect();
    assert_eq!((updates.len(), &updates[0]["payload"]["kind"]), (1, &json!("plan")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_does_not_fit_its_type_fails_the_task() {
    let script = "import { PipelineResult } from \"std/acp\"\n\
                  fn anything() -> any { return {text: \"x\", events: [3]} }\n\
                  pub pipeline main(task) -> PipelineResult {\n  return anything()\n}\n";
    let folder = folder(&[("a.harn", script)]);
    let running = harness(folder.path()).await;
    let task = submit(&running, json!({ "path": "a.harn" }), "go").await.unwrap();
    let (task, outcome) = ended(&running.harness, &task.id).await;
    let failure = outcome.failure.unwrap();
    assert_eq!((task.status, failure.code.as_str()), (TaskStatus::Failed, "script_result"));
    assert!(failure.message.contains("result.events[0]"), "{}", failure.message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_and_an_exit_code_are_told() {
    let folder = folder(&[("throws.harn", "println(1)\nthrow \"no luck\"\n"), ("exits.harn", "exit(3)\n")]);
    let running = harness(folder.path()).await;
    let mut told = Vec::new();
    for path in ["throws.harn", "exits.harn"] {
        let task = submit(&running, json!({ "path": path }), "").await.unwrap();
        let (_, outcome) = ended(&running.harness, &task.id).await;
        let failure = outcome.failure.unwrap();
        told.push((failure.code, failure.message, outcome.metadata.get("value").cloned()));
    }
    assert_eq!(told[0].0, "script_error");
    assert!(told[0].1.contains("no luck") && told[0].1.contains("throws.harn:2"), "{}", told[0].1);
    assert_eq!(told[1].0, "script_exit");
    assert_eq!(told[1].2, Some(json!(3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_file_affects_new_runs_only() {
    let script = "import { word } from \"other\"\nprintln(\"before\")\nsleep(300)\nprintln(word())\n";
    let folder = folder(&[("a.harn", script), ("other.harn", "pub fn word() { return \"old\" }\n")]);
    let id = {
        let running = harness(folder.path()).await;
        let task = submit(&running, json!({ "path": "a.harn" }), "").await.unwrap();
        running.harness.drain(std::time::Duration::from_secs(5)).await;
        task.id
    };
    write(folder.path(), "a.harn", "println(\"another\")\n");
    write(folder.path(), "other.harn", "pub fn word() { return \"new\" }\n");
    let running = harness(folder.path()).await;
    let (task, _) = ended(&running.harness, &id).await;
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(printed(&events(&running.harness, &id).await), "before\nold\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_waits_for_a_person_is_not_in_memory_and_goes_on_after_a_restart() {
    let script = "let r = __tool(\"write_file\", {path: \"out.txt\", content: \"x\"})\nprintln(r.status)\n";
    let folder = folder(&[("a.harn", script)]);
    let id = {
        let running = harness(folder.path()).await;
        let task = submit_to_tier(&running, "act_with_approval", "a.harn", user("go")).await.unwrap();
        idle(&running).await;
        let waiting = running.harness.task(&alice().actor, &task.id).await.unwrap();
        assert_eq!(waiting.status, TaskStatus::AuthRequired);
        running.harness.drain(std::time::Duration::from_secs(5)).await;
        task.id
    };
    let running = harness(folder.path()).await;
    idle(&running).await;
    let actor = alice().actor;
    let asked = running.harness.task_permission_requests(&actor, id.clone(), Default::default());
    let asked = asked.await.unwrap().data;
    assert_eq!(asked.len(), 1);
    let yes = crate::support::request(json!({ "approved": true }));
    running.harness.respond(&alice(), asked[0].id.clone(), yes).await.unwrap();
    let (task, _) = ended(&running.harness, &id).await;
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(printed(&events(&running.harness, &id).await), "ok\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_sleeps_is_cancelled_at_once() {
    let folder = folder(&[("a.harn", "println(\"before\")\nsleep(1h)\nprintln(\"after\")\n")]);
    let running = harness(folder.path()).await;
    let task = submit(&running, json!({ "path": "a.harn" }), "").await.unwrap();
    idle(&running).await;
    running.harness.cancel_task(&alice(), task.id.clone(), Default::default()).await.unwrap();
    let (task, _) = ended(&running.harness, &task.id).await;
    assert_eq!(task.status, TaskStatus::Canceled);
    assert_eq!(printed(&events(&running.harness, &task.id).await), "before\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_hears_what_is_there_and_what_comes() {
    let script = r#"
pipeline default(task) {
  let later = spawn { sleep(50); event_log.emit("jobs", "late", {n: 2}) }
  event_log.emit("jobs", "early", {n: 1})
  var seen = 0
  for event in event_log.subscribe({topic: "jobs", from_cursor: 0}) {
    println("${event.kind} ${event.payload.n}")
    seen += 1
    if seen == 2 { break }
  }
  await(later)
}
"#;
    let folder = folder(&[("a.harn", script)]);
    let running = harness(folder.path()).await;
    let task = submit(&running, json!({ "path": "a.harn" }), "go").await.unwrap();
    let (task, _) = ended(&running.harness, &task.id).await;
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(printed(&events(&running.harness, &task.id).await), "early 1\nlate 2\n");
}
