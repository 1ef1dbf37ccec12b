//! Rules that people add and answers that they want remembered: what holds, for whom, and until when.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_cli::wiring::Running;
use harn_core::{
    Actor, PermissionRequest, RequestStatus, Scope, SessionId, TaskId, Verdict, WorkspaceAccess,
};
use harn_harness::{Call, EventFilter, Harness};
use harn_wire::agents::CheckOutcome;
use serde_json::{Value, json};
use support::{alice, open, request, scripted, transcript, user};

/// One write for each word after `write`.
fn script() -> Value {
    let write = |path: &str| {
        json!([{ "tool_calls": [{ "id": "w", "name": "write_file", "args": { "path": path, "content": "x" } }] },
               { "text": "Done." }])
    };
    json!({ "conversations": [
        { "when": "write a", "responses": write("a.txt") },
        { "when": "write b", "responses": write("b.txt") },
    ], "after": "repeat_last" })
}

async fn session(running: &Running) -> SessionId {
    let create = request(json!({ "workspace_id": running.workspace.id }));
    running.harness.create_session(&alice(), create).await.unwrap().id
}

/// Runs a task; whatever it asks is answered with `answer`. Gives what was asked.
async fn run(running: &Running, session: &SessionId, text: &str, answer: Value) -> Vec<PermissionRequest> {
    let submit = request(json!({ "input": user(text) }));
    let task = running.harness.submit_task(&alice(), session.clone(), submit).await.unwrap().id;
    see_through(&running.harness, &task, answer).await
}

async fn see_through(harness: &Harness, task: &TaskId, answer: Value) -> Vec<PermissionRequest> {
    let actor = alice().actor;
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&actor, filter, None).await.unwrap();
    let requests = || harness.task_permission_requests(&actor, task.clone(), Default::default());
    while feed.next().await.unwrap().is_some() {
        for pending in requests().await.unwrap().data {
            if pending.status == RequestStatus::Pending {
                harness.respond(&alice(), pending.id, request(answer.clone())).await.unwrap();
            }
        }
    }
    requests().await.unwrap().data
}

async fn check(running: &Running, tool: &str, args: Value) -> (Verdict, String) {
    let check = request(json!({ "tool": tool, "args": args }));
    let result = running.harness.check_permission(&alice().actor, check).await.unwrap();
    assert_eq!(result.outcome, CheckOutcome::from(result.decision.action));
    (result.decision.action, result.decision.matched_rule.id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_remembered_for_exactly_what_it_was_given_for() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let (first, second) = (session(&running).await, session(&running).await);
    let yes = json!({ "approved": true, "remember": true, "scope": "session" });
    let asked = run(&running, &first, "write a", yes.clone()).await;
    assert_eq!(asked.len(), 1);
    assert!(asked[0].response["remembered_rule_id"].is_string());
    assert_eq!(
        run(&running, &first, "write a", yes.clone()).await.len(),
        0,
        "the same call of the same session"
    );
    assert_eq!(
        run(&running, &second, "write a", json!({ "approved": true })).await.len(),
        1,
        "another session"
    );
    let fresh = session(&running).await;
    let workspace = json!({ "approved": true, "scope": "workspace" });
    assert_eq!(run(&running, &fresh, "write b", workspace).await.len(), 1, "another file");
    assert_eq!(
        run(&running, &session(&running).await, "write b", yes).await.len(),
        0,
        "the workspace knows it now"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remembered_answer_expires_and_a_remembered_no_is_a_no() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let past = json!({ "approved": true, "scope": "always", "expires_at": "2020-01-01T00:00:00Z" });
    assert_eq!(run(&running, &session(&running).await, "write a", past.clone()).await.len(), 1);
    assert_eq!(run(&running, &session(&running).await, "write a", past).await.len(), 1, "it has expired");
    let no = json!({ "approved": false, "scope": "always" });
    assert_eq!(run(&running, &session(&running).await, "write b", no.clone()).await.len(), 1);
    let last = session(&running).await;
    assert_eq!(run(&running, &last, "write b", no).await.len(), 0);
    let told = transcript(&running.harness, &last).await;
    assert!(told.iter().any(|line| line.contains("Denied: ")), "{told:#?}");
    assert!(!folder.path().join("work/b.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewritten_arguments_go_before_the_rules_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("work/link")).unwrap();
    for path in [".env", "../outside.txt", "link/passwd", ".harn/x"] {
        let session = session(&running).await;
        let yes = json!({ "approved": true, "args": { "path": path, "content": "x" } });
        let asked = run(&running, &session, "write a", yes).await;
        assert_eq!(asked[0].status, RequestStatus::Denied, "{path}: {}", asked[0].response);
    }
    let yes = json!({ "approved": true, "args": { "path": "c.txt", "content": "x" } });
    assert_eq!(
        run(&running, &session(&running).await, "write a", yes).await[0].status,
        RequestStatus::Approved
    );
    assert!(folder.path().join("work/c.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_document_and_added_rules_hold_at_once_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let write = json!({ "path": "src/a.rs", "content": "x" });
    assert_eq!(check(&running, "write_file", write.clone()).await.0, Verdict::Ask);
    let policy = request(json!({ "write": ["src/**"], "escalate_to": ["bob"] }));
    let put = running.harness.put_permission_policy(&alice(), policy).await.unwrap();
    assert_eq!(running.harness.permission_policy(&alice().actor).await.unwrap(), put);
    assert_eq!(check(&running, "write_file", write.clone()).await.0, Verdict::Allow);
    let rule = json!({ "action": "deny", "scope": "always", "class": "write", "target_pattern": "src/a.rs" });
    let rule = running.harness.add_permission_rule(&alice(), request(rule)).await.unwrap();
    assert_eq!(check(&running, "write_file", write.clone()).await, (Verdict::Deny, rule.id.clone()));
    drop(running);
    let running = loop {
        match open(folder.path(), scripted(&script()), Default::default()).await {
            Ok(running) => break running,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(check(&running, "write_file", write.clone()).await, (Verdict::Deny, rule.id.clone()));
    running.harness.remove_permission_rule(&alice(), rule.id).await.unwrap();
    assert_eq!(check(&running, "write_file", write).await.0, Verdict::Allow);
    // Only the named reviewer may answer what still asks.
    let submit = request(json!({ "input": user("write a") }));
    let task = running.harness.submit_task(&alice(), session(&running).await, submit).await.unwrap().id;
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = running.harness.subscribe(&alice().actor, filter, None).await.unwrap();
    let asked = loop {
        feed.next().await.unwrap().expect("it asks");
        let actor = alice().actor;
        let found = running.harness.task_permission_requests(&actor, task.clone(), Default::default()).await;
        if let Some(asked) = found.unwrap().data.into_iter().next() {
            break asked.id;
        }
    };
    let yes = || request(json!({ "approved": true }));
    let refused = running.harness.respond(&alice(), asked.clone(), yes()).await.unwrap_err();
    assert_eq!(refused.message, "You are not among the reviewers of this request.");
    assert_eq!(refused.details["reviewers"], json!(["bob"]));
    running.harness.respond(&Call::new(Actor::owner("bob")), asked, yes()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_rules_and_policies_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let rules = [
        (json!({ "action": "allow", "scope": "session" }), "session_id"),
        (json!({ "action": "allow", "scope": "planet" }), "scope"),
        (json!({ "action": "ask", "scope": "always" }), "body"),
        (json!({ "action": "deny", "scope": "always", "class": "write", "target_pattern": "[" }), "body"),
    ];
    for (rule, param) in rules {
        let refused = running.harness.add_permission_rule(&alice(), request(rule.clone())).await.unwrap_err();
        assert_eq!(refused.param.as_deref(), Some(param), "{rule}: {refused}");
    }
    let policies =
        [(json!({ "write": ["{"] }), "body"), (json!({ "redact": { "transcript": ["x"] } }), "redact")];
    for (policy, param) in policies {
        let refused =
            running.harness.put_permission_policy(&alice(), request(policy.clone())).await.unwrap_err();
        assert_eq!(refused.param.as_deref(), Some(param), "{policy}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_gives_no_more_than_its_maker_has() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let harness = &running.harness;
    let wanted = request(json!({ "actor": "ci", "scopes": ["tasks:read", "keys:write"] }));
    let made = harness.make_key(&alice(), wanted).await.unwrap();
    let ci = harness.authenticate(made.secret.as_deref().unwrap()).await.unwrap();
    assert_eq!(ci.id, "ci");
    let more =
        harness.make_key(&Call::new(ci), request(json!({ "actor": "x", "scopes": ["tasks:write"] }))).await;
    assert_eq!(more.unwrap_err().details["required_scope"], "tasks:write");
    let listed = harness.keys(&alice().actor).await.unwrap();
    assert!(listed.iter().all(|key| key.secret.is_none()));
    harness.revoke_key(&alice().actor, made.id.as_str().into()).await.unwrap();
    assert!(harness.authenticate(made.secret.as_deref().unwrap()).await.is_err());
    let reader = Actor {
        id: "reader".into(),
        scopes: [Scope("tasks:read".into())].into(),
        workspaces: WorkspaceAccess::All,
    };
    assert!(harness.keys(&reader).await.is_err() && harness.permission_policy(&reader).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undo_puts_back_what_a_task_did_and_tells_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let file = folder.path().join("work/a.txt");
    std::fs::write(&file, "before").unwrap();
    let session = session(&running).await;
    let submit = request(json!({ "input": user("write a") }));
    let task = running.harness.submit_task(&alice(), session.clone(), submit).await.unwrap().id;
    let early = running.harness.undo_task(&alice(), task.clone()).await.unwrap_err();
    assert!(early.message.contains("still running"), "{early}");
    see_through(&running.harness, &task, json!({ "approved": true })).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
    let undone = running.harness.undo_task(&alice(), task.clone()).await.unwrap();
    assert_eq!(json!(undone.paths), json!([{ "path": "a.txt", "result": "done" }]));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "before");
    let told = transcript(&running.harness, &session).await;
    assert!(told.last().unwrap().contains("Back as before: a.txt."), "{told:#?}");
    let again = running.harness.undo_task(&alice(), task.clone()).await.unwrap();
    assert_eq!(json!(again.paths), json!([{ "path": "a.txt", "result": "unchanged" }]));
    std::fs::write(&file, "mine").unwrap();
    let refused = running.harness.undo_task(&alice(), task).await.unwrap();
    assert!(json!(refused.paths)[0]["result"]["refused"].is_string(), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}
