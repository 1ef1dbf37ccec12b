//! What a script of a task finds around it: rules, its own task and ids, no standard input, and its stores.

use std::path::Path;

use harn_cli::config::Config;
use harn_cli::wiring::{Running, Setup, start_with};
use harn_log::{RowFilter, RowKind};
use harn_policy::PermissionsFile;
use serde_json::{Value, json};

use crate::common::{ended, events, folder, harness, printed, submit, submit_to_persona};
use crate::support::{guard, offline, user};

/// A harness whose owner has these rules.
async fn ruled(folder: &Path, permissions: &str) -> Running {
    let setup = Setup {
        data: folder.join("data"),
        root: folder.join("work"),
        allowed_roots: Vec::new(),
        model: offline(),
        source: None,
        guard: guard(),
        log: Default::default(),
    };
    let permissions = PermissionsFile::parse(permissions).unwrap();
    start_with(setup, &Config { permissions, ..Config::default() }).await.unwrap()
}

/// What a script prints as a task, and the error that it ends with.
async fn run(running: &Running, path: &str) -> String {
    let task = submit(running, json!({ "path": path }), "").await.unwrap();
    let (task, outcome) = ended(&running.harness, &task.id).await;
    let failure = outcome.failure.map(|failure| failure.message).unwrap_or_default();
    printed(&events(&running.harness, &task.id).await) + &failure
}

async fn journal(running: &Running) -> Vec<Value> {
    let read = harn_log::read(&*running.log, |view| {
        let filter = RowFilter { kind: Some(RowKind::Journal), ..RowFilter::default() };
        let rows = view.rows(&filter, 0, usize::MAX)?;
        rows.iter().map(|row| row.parse::<Value>()).collect::<Result<Vec<_>, harn_log::LogError>>()
    });
    read.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_decides_about_templates_and_the_journal_has_what_it_said() {
    let folder = folder(&[
        ("a.harn", "println(render(\"vault/s\"))\n"),
        ("b.harn", "println(render(\"open.tpl\"))\n"),
        ("c.harn", "println(walk_dir(\".\").map({ found -> found.path }))\nprintln(glob(\"**/s\"))\n"),
        ("vault/s", "the secret"),
        ("open.tpl", "{{ include \"vault/s\" }}"),
    ]);
    let rule = "[[permissions.rules]]\nid = \"closed\"\naction = \"deny\"\nmatch = { path = \"vault/**\" }\n";
    let running = ruled(folder.path(), rule).await;
    let direct = run(&running, "a.harn").await;
    assert!(direct.contains("permission_denied") && direct.contains("vault/s"), "{direct}");
    let denied = |entry: &&Value| {
        entry["decision"]["action"] == "deny" && entry["key"].as_str().unwrap().starts_with("render:")
    };
    assert_eq!(journal(&running).await.iter().filter(denied).count(), 1);
    let included = run(&running, "b.harn").await;
    assert!(included.contains("policy does not let this run read it"), "{included}");
    assert!(!journal(&running).await.iter().any(|entry| entry.to_string().contains("the secret")));
    let listed = run(&running, "c.harn").await;
    assert!(!listed.contains("vault/s") && listed.ends_with("[]\n"), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_no_standard_input_and_a_program_can_catch_that() {
    let script = "for read in [read_line, read_stdin] {\n  println(try { read() } catch (e) { e })\n}\n\
                  println(try { prompt_user(\"sure?\") } catch (e) { e })\n";
    let folder = folder(&[("a.harn", script)]);
    let output = run(&harness(folder.path()).await, "a.harn").await;
    let calls: Vec<&str> = output.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(calls, ["read_line", "read_stdin", "prompt_user"]);
    assert_eq!(output.matches("a durable run has no standard input").count(), 3, "{output}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_knows_its_task_and_its_ids() {
    let script = "import \"std/runtime\"\npub pipeline main(task, depth) {\n  \
                  record_run_metadata({id: \"r\", status: \"done\", stages: [1]}, \"w\")\n  \
                  return {task: runtime_task(), input: runtime_pipeline_input(), dry: runtime_dry_run(),\n    \
                  plan: runtime_approved_plan(), run: runtime_context().run_id, trace: trace_id(),\n    \
                  known: runtime_context().trace_id, span: trace_start(\"s\").trace_id}\n}\n";
    let folder = folder(&[("a.harn", script)]);
    let running = harness(folder.path()).await;
    let mut input = user("look");
    let data = json!({ "type": "json", "visibility": "public", "value": { "depth": 3 } });
    input["parts"].as_array_mut().unwrap().push(data);
    for (input, given) in [(input, json!({ "depth": 3 })), (user("look"), json!("look"))] {
        let task = submit_to_persona(&running, "a.harn#main", input).await.unwrap();
        let (task, outcome) = ended(&running.harness, &task.id).await;
        let events = events(&running.harness, &task.id).await;
        let trace = &events.iter().find(|event| event["event"] == "task.started").unwrap()["trace_id"];
        let expected = json!({ "task": "look", "input": given, "dry": false, "plan": null, "run": task.id,
                               "trace": trace, "known": trace, "span": trace });
        assert_eq!(outcome.metadata.get("value"), Some(&expected), "{:?}", outcome.failure);
        let told = json!({ "kind": "update", "update": { "update": "run_recorded", "run_id": "r",
                           "status": "done", "stage_count": 1, "workflow_name": "w" } });
        assert!(events.iter().any(|event| event["payload"] == told), "{events:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_and_checkpoints_are_in_the_project_of_the_script_or_beside_it() {
    let script = "store_set(\"k\", 1)\ncheckpoint(\"c\", 2)\n";
    let folder = folder(&[("one/harn.toml", ""), ("one/deep/a.harn", script), ("two/b.harn", script)]);
    let running = harness(folder.path()).await;
    for (path, kept, name) in [("one/deep/a.harn", "one", "a"), ("two/b.harn", "two", "b")] {
        assert_eq!(run(&running, path).await, "");
        let state = folder.path().join("work").join(kept).join(".harn");
        assert!(state.join("store.json").is_file(), "{path}");
        assert!(state.join(format!("checkpoints/{name}.json")).is_file(), "{path}");
    }
    assert!(!folder.path().join("work/.harn").exists());
}
