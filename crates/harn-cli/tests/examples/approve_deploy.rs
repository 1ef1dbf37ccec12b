//! A deploy that two people approve, whose second step fails and which somebody takes over.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;

use crate::kit::{HARN, Ran, Stage, calls, results, says, tools};

const NOTES: &str = "The database has to be migrated before the service starts.\n";

fn release(start: &str, after: Option<&str>) -> String {
    json!({ "after": after, "version": "2.4.0", "reviewers": ["bob", "carol"], "on_call": "operations", "steps": [
        { "name": "start", "run": start, "undo": "rm -f live.txt" },
        { "name": "migrate", "run": "echo migrated > schema.txt; echo 3 tables", "undo": "rm schema.txt" },
    ] })
    .to_string()
}

/// A server in the folder of a stage, as long as this value lives.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(stage: &Stage) -> Self {
        let mut command = stage.command(HARN, &["serve", "--bind", "127.0.0.1:0", "--rate-limit", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let url = first.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(url.starts_with("http"), "the server said: {first}");
        Self { child, url }
    }

    /// Without a chance to tidy up.
    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A stage with its server, and the people who have keys.
struct Deploy {
    stage: Stage,
    server: Server,
}

impl Deploy {
    async fn new(start: &str) -> Self {
        Self::after(start, None).await
    }

    /// A release that waits for something first.
    async fn after(start: &str, after: Option<&str>) -> Self {
        let plan = json!({ "risk": "medium", "reason": "A migration.", "order": ["migrate", "start"] });
        let turns = vec![
            calls(&[("list_dir", json!({ "path": "release" }))]),
            calls(&[("read_file", json!({ "path": "release/notes.md" }))]),
            says("First migrate, then start. The migration can be undone."),
            says(&plan.to_string()),
        ];
        let release = release(start, after);
        let files = [("release/deploy.json", release.as_str()), ("release/notes.md", NOTES)];
        let stage = Stage::new("approve_deploy.harn", &files, turns).await;
        let server = Server::start(&stage);
        Self { stage, server }
    }

    /// Answers with the key of a person.
    fn answers(&self, who: &str, request: &str, choice: &[&str]) -> Ran {
        let key = self.stage.harn(&["keys", "create", who]).out;
        let mut args = vec!["tasks", "answer", request, "--url", &self.server.url, "--api-key", key.trim()];
        args.extend(choice);
        self.stage.harn(&args)
    }
}

/// The ids of the run and of the request that it waits for, as the command names them when it leaves.
fn waiting(left: &Ran) -> (String, String) {
    assert_eq!(left.code, Some(3), "{left:?}");
    let word = |start: &str| {
        let mut words = left.err.split_whitespace();
        words.find(|word| word.starts_with(start)).unwrap_or_else(|| panic!("{left:?}")).to_owned()
    };
    (word("task_"), word("request_0"))
}

/// What the program itself printed, without the requests that are shown in between.
fn printed(ran: &Ran) -> Vec<&str> {
    let is_request = |line: &&str| line.is_empty() || line.starts_with('?') || line.starts_with(' ');
    ran.out.lines().filter(|line| !is_request(line)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_fails_is_rolled_back_and_somebody_takes_over() {
    let mut deploy = Deploy::new("echo half > live.txt; echo no port >&2; exit 1").await;
    let left = deploy.stage.run(&["release"]);
    assert_eq!(printed(&left), ["Plan for 2.4.0 (medium risk): migrate, start"]);
    assert!(left.out.contains("echo migrated > schema.txt"), "{left:?}");
    let (run, request) = waiting(&left);

    let refused = deploy.answers("alice", &request, &["--approve"]);
    assert!(refused.err.contains("You are not among the reviewers"), "{refused:?}");
    assert!(refused.err.contains("hint: only bob, carol can answer"), "{refused:?}");
    let shown = deploy.stage.harn(&["tasks", "show", &run]).out;
    assert!(
        shown.lines().any(|line| line.trim_start().starts_with("reviewers") && line.contains("carol")),
        "{shown}"
    );
    let first = deploy.answers("bob", &request, &["--approve"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let twice = deploy.answers("bob", &request, &["--approve"]);
    assert!(twice.err.contains("already answered"), "{twice:?}");
    assert!(!deploy.stage.has("schema.txt"));

    // One of two is not enough, and the vote outlives the server.
    deploy.server.stop();
    deploy.server = Server::start(&deploy.stage);
    let second = deploy.answers("carol", &request, &["--approve"]);
    assert_eq!(second.code, Some(0), "{second:?}");

    let left = deploy.stage.harn(&["runs", "resume", &run]);
    let (_, request) = waiting(&left);
    assert!(left.out.contains("2.4.0 failed at start (no port); everything was rolled back"), "{left:?}");
    let taken = deploy.answers("dora", &request, &["--approve"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    let ended = deploy.stage.harn(&["runs", "resume", &run]);
    let expected = [
        "Plan for 2.4.0 (medium risk): migrate, start",
        "Approved by bob and carol",
        "ok   migrate: 3 tables",
        "FAIL start: no port",
        "ok   undo start",
        "ok   undo migrate",
        "Taken over by dora; everything was rolled back.",
    ];
    assert_eq!((printed(&ended), ended.code), (expected.to_vec(), Some(1)), "{ended:?}");
    assert!(!deploy.stage.has("schema.txt") && !deploy.stage.has("live.txt"));

    let asked = deploy.stage.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(tools(&asked[0]), ["list_dir", "read_file"]);
    assert!(results(&asked[1])[0].text.contains("notes.md"));
    assert!(results(&asked[2])[0].text.contains("before the service starts"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_when_one_reviewer_denies() {
    let deploy = Deploy::new("echo up > live.txt").await;
    let (run, request) = waiting(&deploy.stage.run(&["release"]));
    let denied = deploy.answers("carol", &request, &["--deny", "--reason", "not on a Friday"]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let ended = deploy.stage.harn(&["runs", "resume", &run]);
    let expected = ["Plan for 2.4.0 (medium risk): migrate, start", "Not approved: not on a Friday"];
    assert_eq!((printed(&ended), ended.code), (expected.to_vec(), Some(2)), "{ended:?}");
    assert!(!deploy.stage.has("schema.txt") && !deploy.stage.has("live.txt"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_release_waits_for_its_tests_also_over_a_restart() {
    let mut deploy = Deploy::after("echo up > live.txt", Some("tests-2.4.0")).await;
    let (run, request) = waiting(&deploy.stage.run(&["release"]));
    for who in ["bob", "carol"] {
        assert_eq!(deploy.answers(who, &request, &["--approve"]).code, Some(0));
    }
    // Until the script has come to its waitpoint, nobody can have said anything about it.
    while deploy.stage.harn(&["waitpoints", "show", "tests-2.4.0"]).code != Some(0) {}
    deploy.server.stop();
    deploy.server = Server::start(&deploy.stage);
    assert!(!deploy.stage.path("live.txt").exists());
    let said = deploy.stage.harn(&["waitpoints", "complete", "tests-2.4.0", "--text", "all 312 pass"]);
    assert!(said.out.starts_with("tests-2.4.0 is completed.\n"), "{said:?}");
    let ended = deploy.stage.harn(&["runs", "resume", &run]);
    let expected = [
        "Plan for 2.4.0 (medium risk): migrate, start",
        "Approved by bob and carol",
        "Tested: all 312 pass",
        "ok   migrate: 3 tables",
        "ok   start",
        "2.4.0 is deployed.",
    ];
    assert_eq!((printed(&ended), ended.code), (expected.to_vec(), Some(0)), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_program_offers_is_called_over_http() {
    let deploy = Deploy::new("true").await;
    let api = harn_testkit::Api::new(&deploy.server.url)
        .with_key(deploy.stage.harn(&["keys", "create", "bob"]).out.trim());
    let persona = json!({ "name": "deployer", "version": "1", "entry_workflow": "approve_deploy.harn",
                          "description": "Deploys.", "autonomy_tier": "act_auto", "receipt_policy": "optional" });
    api.post("/v1/personas", persona).await.expect(201);
    let skills = api.get("/v1/skills").await.expect(200);
    let steps =
        skills["data"].as_array().unwrap().iter().find(|skill| skill["name"] == "release_steps").unwrap();
    assert_eq!(steps["output_schema"], json!({ "type": "array", "items": { "type": "string" } }));
    let body = json!({ "input": { "folder": "release" }, "metadata": { "skill_id": steps["id"] } });
    let task = api.post("/v1/tasks", body).await.expect(202);
    let mut stream = api.events(&format!("/v1/tasks/{}/stream", task["id"].as_str().unwrap()), None).await;
    let mut last = None;
    while let Some(frame) = stream.next(std::time::Duration::from_secs(30)).await {
        last = Some(frame.data);
    }
    assert_eq!(last.unwrap()["payload"]["outcome"]["metadata"]["value"], json!(["start", "migrate"]));
}
