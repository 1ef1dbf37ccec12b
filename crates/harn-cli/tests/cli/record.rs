//! `--record-model`: real calls become a script, and the script plays them again without their secrets.

use std::process::Output;

use harn_testkit::providers::openai_chat::{self, Said, Turn};
use serde_json::{Value, json};

use crate::kit::Project;

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";
const CLEAN: &str = "[redacted: AWS access key id]";
const PROMPT: &str = "note the key";

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The real binary; what it speaks to runs on this thread.
async fn run(project: &Project, args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = project.command(args);
    command.envs(env.iter().copied());
    tokio::process::Command::from(command).output().await.unwrap()
}

fn script(project: &Project, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(project.path().join(name)).unwrap()).unwrap()
}

fn entry(turn: u64, response: Value) -> Value {
    let usage = json!({"input_tokens": 20, "output_tokens": 9, "cached_tokens": 16, "thinking_tokens": 4});
    let mut response = response;
    response["usage"] = usage;
    json!({"first": PROMPT, "turn": turn, "response": response})
}

#[tokio::test]
async fn a_task_on_a_provider_is_played_again_from_its_recording_without_the_secret() {
    let content = format!("key = {SECRET}\n");
    let fake = openai_chat::Fake::start(vec![
        Turn::Answer(Said {
            reasoning: "They gave AKIAIOSFODNN7EXAMPLE.",
            calls: vec![("call_1", "write_file", json!({"path": "key.txt", "content": content}))],
            finish: "tool_calls",
            ..Said::default()
        }),
        Turn::Answer(Said { text: "I noted AKIAIOSFODNN7EXAMPLE.", finish: "stop", ..Said::default() }),
    ])
    .await;
    let first = Project::new();
    let env = [
        ("HARN_LLM_MODEL", "vllm:test"),
        ("VLLM_BASE_URL", fake.url.as_str()),
        ("VLLM_API_KEY", openai_chat::KEY),
    ];
    let task = ["task", PROMPT, "--yes", "--quiet", "--record-model", "calls.json"];
    let recorded = run(&first, &task, &env).await;
    assert!(recorded.status.success(), "{recorded:?}");
    assert_eq!(std::fs::read_to_string(first.path().join("key.txt")).unwrap(), content);
    assert_eq!(fake.asked().len(), 2);

    let written = std::fs::read_to_string(first.path().join("calls.json")).unwrap();
    assert!(!written.contains(SECRET) && !written.contains(openai_chat::KEY), "{written}");
    let clean = format!("key = {CLEAN}\n");
    let call = json!({"id": "call_1", "name": "write_file", "args": {"path": "key.txt", "content": clean}});
    let expected = json!({
        "context_window": 128_000,
        "recorded": [
            entry(0, json!({"thinking": format!("They gave {CLEAN}."), "tool_calls": [call], "stop": "tool_use"})),
            entry(1, json!({"text": format!("I noted {CLEAN}."), "chunks": 5, "stop": "end_turn"})),
        ],
    });
    assert_eq!(script(&first, "calls.json"), expected);

    let second = Project::new();
    let file = first.path().join("calls.json");
    let replay = ["task", PROMPT, "--yes", "--quiet", "--scripted-model", file.to_str().unwrap()];
    let played = run(&second, &replay, &[]).await;
    assert!(played.status.success(), "{played:?}");
    let said = format!("I noted {CLEAN}.");
    assert_eq!(text(&played.stdout).lines().last(), Some(said.as_str()));
    assert_eq!(std::fs::read_to_string(second.path().join("key.txt")).unwrap(), clean);
    assert_eq!(fake.asked().len(), 2);
}

#[test]
fn a_server_records_what_it_does_and_a_task_on_it_cannot() {
    let project = Project::new();
    let server = project.serve_with(&["--record-model", "calls.json"]);
    let session = server.session();
    let task = server.submit(&session, "list files");
    server.until(&task, "task.completed");
    let refused = project.run(&["task", "list files", "--record-model", "mine.json"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = text(&refused.stderr);
    assert!(said.contains("nothing can be recorded into mine.json here: a server does this work"), "{said}");
    assert!(said.contains("harn serve --record-model"), "{said}");
    assert!(!project.path().join("mine.json").exists());
    server.stop();

    let recorded = script(&project, "calls.json")["recorded"].clone();
    let turns: Vec<&Value> = recorded.as_array().unwrap().iter().map(|entry| &entry["turn"]).collect();
    assert_eq!(turns, [0, 1]);
    assert_eq!(recorded[0]["response"]["tool_calls"][0]["name"], "list_dir");
    let again = project.serve_with(&["--scripted-model", "calls.json"]);
    let session = again.session();
    let task = again.submit(&session, "list files");
    again.until(&task, "task.completed");
    again.stop();
}

#[tokio::test]
async fn what_cannot_be_recorded_into_is_refused_and_left_alone() {
    let project = Project::new();
    std::fs::write(project.path().join("notes.txt"), "my notes").unwrap();
    std::fs::write(project.path().join("script.json"), r#"{"responses": []}"#).unwrap();
    let both = ["task", "x", "--record-model", "new.json", "--scripted-model", "script.json"];
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], i32, &'a str);
    let cases: [Case<'_>; 4] = [
        (&both, &[], 2, "cannot be used with"),
        (
            &["task", "x", "--scripted-model", "script.json"],
            &[("HARN_RECORD_MODEL", "new.json")],
            2,
            "cannot be used with",
        ),
        (
            &["task", "x"],
            &[("HARN_RECORD_MODEL", "notes.txt")],
            1,
            "notes.txt is there already and is no script",
        ),
        (&["task", "x", "--record-model", "no/new.json"], &[], 1, "no/new.json cannot be written"),
    ];
    for (args, env, code, said) in cases {
        let output = run(&project, args, env).await;
        assert_eq!(output.status.code(), Some(code), "{args:?} {output:?}");
        assert!(text(&output.stderr).contains(said), "{args:?} {}", text(&output.stderr));
    }
    assert_eq!(std::fs::read_to_string(project.path().join("notes.txt")).unwrap(), "my notes");
    assert!(!project.path().join("new.json").exists());
}
