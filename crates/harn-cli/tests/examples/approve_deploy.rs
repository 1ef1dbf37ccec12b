//! A deploy that two people approve, whose second step fails and which somebody takes over.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::json;

use crate::kit::{Ran, Stage, calls, offered, ran, results, says};

const NOTES: &str = "The database has to be migrated before the service starts.\n";

fn release(start: &str) -> String {
    json!({ "version": "2.4.0", "reviewers": ["bob", "carol"], "on_call": "operations", "steps": [
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
        let mut command = stage.harn(&["serve", "--bind", "127.0.0.1:0", "--rate-limit", "0"]);
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
        let plan = json!({ "risk": "medium", "reason": "A migration.", "order": ["migrate", "start"] });
        let turns = vec![
            calls(&[("c1", "list_dir", json!({ "path": "release" }))]),
            calls(&[("c2", "read_file", json!({ "path": "release/notes.md" }))]),
            says("First migrate, then start. The migration can be undone."),
            says(&plan.to_string()),
        ];
        let release = release(start);
        let files = [("release/deploy.json", release.as_str()), ("release/notes.md", NOTES)];
        let stage = Stage::new("approve_deploy.harn", &files, turns).await;
        let server = Server::start(&stage);
        Self { stage, server }
    }

    fn harn(&self, args: &[&str]) -> Ran {
        ran(&self.stage.harn(args).output().unwrap())
    }

    /// Answers with the key of a person.
    fn answers(&self, who: &str, request: &str, choice: &[&str]) -> Ran {
        let key = self.harn(&["keys", "create", who]).out;
        let mut args = vec!["tasks", "answer", request, "--url", &self.server.url, "--api-key", key.trim()];
        args.extend(choice);
        self.harn(&args)
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
    let first = deploy.answers("bob", &request, &["--approve"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let twice = deploy.answers("bob", &request, &["--approve"]);
    assert!(twice.err.contains("already answered"), "{twice:?}");
    assert!(!deploy.stage.path("schema.txt").exists());

    // One of two is not enough, and the vote outlives the server.
    deploy.server.stop();
    deploy.server = Server::start(&deploy.stage);
    let second = deploy.answers("carol", &request, &["--approve"]);
    assert_eq!(second.code, Some(0), "{second:?}");

    let left = deploy.harn(&["runs", "resume", &run]);
    let (_, request) = waiting(&left);
    assert!(left.out.contains("2.4.0 failed at start (no port); everything was rolled back"), "{left:?}");
    let taken = deploy.answers("dora", &request, &["--approve"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    let ended = deploy.harn(&["runs", "resume", &run]);
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
    assert!(!deploy.stage.path("schema.txt").exists() && !deploy.stage.path("live.txt").exists());

    let asked = deploy.stage.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(offered(&asked[0]), ["list_dir", "read_file"]);
    assert!(results(&asked[1])[0].text.contains("notes.md"));
    assert!(results(&asked[2])[0].text.contains("before the service starts"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_runs_when_one_reviewer_denies() {
    let deploy = Deploy::new("echo up > live.txt").await;
    let (run, request) = waiting(&deploy.stage.run(&["release"]));
    let denied = deploy.answers("carol", &request, &["--deny", "--reason", "not on a Friday"]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let ended = deploy.harn(&["runs", "resume", &run]);
    let expected = ["Plan for 2.4.0 (medium risk): migrate, start", "Not approved: not on a Friday"];
    assert_eq!((printed(&ended), ended.code), (expected.to_vec(), Some(2)), "{ended:?}");
    assert!(!deploy.stage.path("schema.txt").exists() && !deploy.stage.path("live.txt").exists());
}
