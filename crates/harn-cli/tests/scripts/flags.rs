//! What the command line says of a run holds for a task, too, and whoever goes on with it after `kill -9`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use harn_core::Workspace;
use harn_engine::tools::{ConfinedFiles, Registry};
use harn_engine::{Engine, EngineOptions};
use harn_harness::{Harness, HarnessProjection};
use harn_log::sqlite::SqliteLog;
use harn_model::{Model, Models, OfflineModel};
use serde_json::{Value, json};

use crate::common::{ended, events, folder, printed, write};
use crate::crash::harn;
use crate::support::{alice, guard, request, user};

/// Runs a script as a task until it has printed so many lines, kills it, and gives its id.
fn killed_after(lines: usize, folder: &Path, args: &[&str]) -> String {
    let mut child = harn(folder, args).stdout(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    (0..lines).for_each(|_| drop(printed.next().unwrap().unwrap()));
    child.kill().unwrap();
    child.wait().unwrap();
    runs(folder)[0]["id"].as_str().unwrap().to_owned()
}

fn runs(folder: &Path) -> Vec<Value> {
    let listed = harn(folder, &["runs", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    listed["data"].as_array().cloned().unwrap_or_default()
}

fn resumed(folder: &Path, id: &str) -> (String, Option<i32>) {
    let output = harn(folder, &["runs", "resume", id]).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_denied_stays_denied_after_a_kill() {
    let script = "fn tried(word) {\n  return try { shell(\"echo ${word} >> ran.log\")\n \"ran\" } catch (e) { e }\n}\n\
                  println(tried(\"one\"))\nprintln(__tool(\"run_command\", {command: \"echo tool >> ran.log\"}).status)\n\
                  sleep(2s)\nprintln(tried(\"two\"))\nwrite_file(\"out.txt\", \"x\")\n";
    let folder = folder(&[("a.harn", script)]);
    let id = killed_after(2, folder.path(), &["run", "--durable", "--deny", "process", "a.harn"]);
    let (printed, code) = resumed(folder.path(), &id);
    let lines: Vec<&str> = printed.lines().collect();
    let why = |word: &str| {
        format!("`shell` would run `echo {word}`: the rule `--deny process` of the command line denies it.")
    };
    assert!(lines[0].contains(&why("one")) && lines[2].contains(&why("two")), "{printed}");
    assert_eq!((lines[1], code), ("denied", Some(0)));
    let exists = |name: &str| folder.path().join("work").join(name).exists();
    assert!(exists("out.txt") && !exists("ran.log"));
    let shown = harn(folder.path(), &["runs", "show", &id]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("--deny process"), "{shown:?}");
}

#[test]
fn only_what_is_allowed_is_done_after_a_kill() {
    let script = "println(try { read_file(\"a.txt\") } catch (e) { \"denied\" })\nsleep(2s)\n\
                  println(try { read_file(\"a.txt\") } catch (e) { \"denied\" })\n\
                  println(try { write_file(\"b.txt\", \"x\") } catch (e) { \"denied\" })\n";
    let folder = folder(&[("a.harn", script), ("a.txt", "content")]);
    let id = killed_after(1, folder.path(), &["run", "--durable", "--allow", "read_file", "a.harn"]);
    assert_eq!(resumed(folder.path(), &id), ("content\ncontent\ndenied\n".into(), Some(0)));
    assert!(!folder.path().join("work/b.txt").exists());
}

#[test]
fn a_script_that_asks_people_can_be_kept_from_it() {
    let folder = folder(&[("a.harn", "println(try { ask_user(\"sure?\") } catch (e) { e })\n")]);
    let output = harn(folder.path(), &["run", "--deny", "people", "a.harn"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("the rule `--deny people` of the command line denies it"), "{output:?}");
    let script = &runs(folder.path())[0]["metadata"]["script"];
    assert_eq!(script["narrowing"], json!({ "deny": ["people"] }));
    let unknown = harn(folder.path(), &["run", "--deny", "peple", "a.harn"]).output().unwrap();
    assert!(told(&unknown).contains("--allow and --deny do not know `peple`"), "{unknown:?}");
}

#[test]
fn a_file_of_answers_goes_on_where_it_was_after_a_kill() {
    let script = "println(llm_call(\"a\").text)\nsleep(2s)\nprintln(llm_call(\"b\").text)\nprintln(llm_call(\"the rain\").text)\n\
                  println(try { llm_call(\"c\").text } catch (e) { \"nothing left\" })\n";
    let folder = folder(&[("a.harn", script)]);
    let answers =
        "{\"text\": \"one\"}\n{\"match\": \"rain\", \"text\": \"an umbrella\"}\n{\"text\": \"two\"}\n";
    write(folder.path(), "answers.jsonl", answers);
    let id = killed_after(1, folder.path(), &["run", "--durable", "--llm-mock", "answers.jsonl", "a.harn"]);
    // The run has taken the answers down; an edited file is for new runs.
    write(folder.path(), "answers.jsonl", "{\"text\": \"other\"}\n");
    let printed = "one\ntwo\nan umbrella\nnothing left\n";
    assert_eq!(resumed(folder.path(), &id), (printed.into(), Some(0)));
}

#[test]
fn files_of_answers_that_cannot_be_used_are_refused_before_anything_runs() {
    let folder = folder(&[("a.harn", "println(1)\n"), ("broken.jsonl", "{]\n")]);
    let run = |args: &[&str]| {
        let output =
            harn(folder.path(), &[&["run", "--durable"], args, &["a.harn"]].concat()).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        told(&output)
    };
    assert!(run(&["--llm-mock", "none.jsonl"]).contains("none.jsonl cannot be read"));
    assert!(run(&["--llm-mock", "broken.jsonl"]).contains("broken.jsonl:1: "));
    assert!(run(&["--llm-mock-record", "new.jsonl"]).contains("harn serve --record-model"));
    assert!(runs(folder.path()).is_empty());
}

#[test]
fn limits_hold_for_tasks() {
    let folder = folder(&[
        ("steps.harn", "var i = 0\nwhile true { i = i + 1 }\n"),
        ("memory.harn", "var s = \"ab\"\nwhile true { s = s + s }\n"),
        ("output.harn", "while true { println(\"x\".repeat(100000)) }\n"),
    ]);
    for (flag, value, script, expected) in [
        ("--max-steps", "5000", "steps.harn", "may execute 5000 steps"),
        ("--max-memory", "2", "memory.harn", "Memory limit"),
        ("--max-output", "1", "output.harn", "Output limit"),
    ] {
        let output = harn(folder.path(), &["run", "--durable", flag, value, script]).output().unwrap();
        assert!(
            told(&output).contains(expected) && output.status.code() == Some(1),
            "{flag}: {}",
            told(&output)
        );
    }
}

#[test]
fn a_script_that_says_that_it_sleeps_for_long_is_a_task() {
    let folder = folder(&[
        ("short.harn", "sleep(1)\nlet pause = 2h\nif false { sleep(pause) }\nprintln(\"at once\")\n"),
        ("long.harn", "if false { sleep(2h) }\nprintln(\"as a task\")\n"),
    ]);
    for (script, printed, count) in [("short.harn", "at once\n", 0), ("long.harn", "as a task\n", 1)] {
        let output = harn(folder.path(), &["run", script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), printed);
        assert_eq!(runs(folder.path()).len(), count, "{script}");
    }
}

#[test]
fn the_budget_of_the_configuration_holds_for_a_run_that_leaves_nothing_behind() {
    let folder = folder(&[
        ("a.harn", "sleep(30s)\n"),
        ("b.harn", "println(try { llm_call(\"hi\").text } catch (e) { e })\n"),
        ("harn.toml", "[budget]\nseconds = 1\n"),
        ("other.toml", "[budget]\ntokens = 5\n"),
    ]);
    for args in [&["run", "a.harn"] as &[&str], &["run", "--durable", "a.harn"]] {
        let output = harn(folder.path(), args).output().unwrap();
        let expected = "error: The run took longer than the 1 seconds of its budget.\n  hint: harn explain budget_exhausted\n";
        assert_eq!((told(&output).as_str(), output.status.code()), (expected, Some(1)), "{args:?}");
    }
    let output = harn(folder.path(), &["run", "--config", "other.toml", "b.harn"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = "{category: budget_exceeded, message: This run may use 5 tokens";
    assert!(printed.starts_with(expected), "{output:?}");
}

#[test]
fn where_nobody_can_be_asked_a_question_of_policy_is_a_denial_that_says_how_to_go_on() {
    let rules = "[[permissions.rules]]\nid = \"careful\"\nask = { tool = \"write_file\" }\n";
    let folder = folder(&[("a.harn", "write_file(\"out.txt\", \"x\")\n"), ("harn.toml", rules)]);
    let output = harn(folder.path(), &["run", "a.harn"]).stdin(Stdio::null()).output().unwrap();
    let way_out =
        "Nobody is there to be asked: run it at a terminal or with --durable, or allow it in harn.toml.";
    assert!(told(&output).contains(way_out), "{output:?}");
    assert!(output.status.code() == Some(1) && !folder.path().join("work/out.txt").exists());
}

/// A harness whose scripts can call all but one thing.
async fn without(call: &str, folder: &Path) -> (Harness, Workspace) {
    let models = Models::new(vec![Arc::new(OfflineModel)]);
    let mut options = EngineOptions::new(models, OfflineModel.reference(), guard());
    let kept = options.calls.specs();
    let kept = kept.iter().filter(|spec| spec.name != call).filter_map(|spec| options.calls.get(&spec.name));
    options.calls = Registry::of_calls(kept.collect());
    let log = SqliteLog::open(&folder.join("data"), Arc::new(HarnessProjection), Default::default()).unwrap();
    let root = folder.join("work").canonicalize().unwrap();
    let (engine, options) = (Arc::new(Engine::new(options)), harn_harness::Options::new(root));
    let harness = Harness::new(Arc::new(log), engine, Arc::new(ConfinedFiles), options);
    let workspace = harness.start().await.unwrap();
    (harness, workspace)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_words_mean_nothing_any_more_may_do_nothing() {
    let script = "sleep(300)\nprintln(try { write_file(\"out.txt\", \"x\") } catch (e) { e })\n";
    let folder = folder(&[("a.harn", script)]);
    let id = {
        let (harness, workspace) = without("nothing", folder.path()).await;
        let create = request(json!({ "workspace_id": workspace.id }));
        let session = harness.create_session(&alice(), create).await.unwrap().id;
        let script = json!({ "path": "a.harn", "narrowing": { "deny": ["exec"] } });
        let body = json!({ "input": user(""), "metadata": { "script": script } });
        let task = harness.submit_task(&alice(), session, request(body)).await.unwrap();
        harness.drain(Duration::from_secs(5)).await;
        task.id
    };
    let (harness, _) = without("exec", folder.path()).await;
    ended(&harness, &id).await;
    let shown = printed(&events(&harness, &id).await);
    assert!(shown.contains("What narrows this run is not understood"), "{shown}");
    assert!(!folder.path().join("work/out.txt").exists());
}
