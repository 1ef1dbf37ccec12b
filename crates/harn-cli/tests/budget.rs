//! What a run may spend: reserved before the call, counted over children, and its end in words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_cli::wiring::Running;
use harn_core::decision::RuleSource;
use harn_core::{SessionId, Task, TaskId, TaskStatus};
use harn_harness::{EventFilter, Harness};
use serde_json::{Value, json};
use support::{alice, open, request, scripted, transcript, user};

/// Every answer uses 100 tokens in and 50 out; a million of either cost a dollar and two.
fn script() -> Value {
    let read = json!({ "tool_calls": [{ "id": "r", "name": "list_dir", "args": {} }],
                       "usage": { "input_tokens": 100, "output_tokens": 50 } });
    json!({ "conversations": [
        { "when": "for ever", "responses": [read.clone()] },
        { "when": "wait", "responses": [
            { "tool_calls": [{ "id": "q", "name": "ask_user", "args": { "question": "sure?" } }],
              "usage": { "input_tokens": 100, "output_tokens": 50 } },
            { "text": "Done.", "usage": { "input_tokens": 100, "output_tokens": 50 } } ] },
        { "when": "slow", "responses": [{ "hang": true }] },
    ], "responses": [{ "text": "Hello.", "usage": { "input_tokens": 100, "output_tokens": 50 } }],
       "after": "repeat_last", "context_window": 20_000, "price": { "input": 1_000_000, "output": 2_000_000 } })
}

async fn session(running: &Running) -> SessionId {
    let create = request(json!({ "workspace_id": running.workspace.id }));
    running.harness.create_session(&alice(), create).await.unwrap().id
}

async fn submit(running: &Running, session: SessionId, text: &str, more: Value) -> Task {
    let mut body = json!({ "input": user(text) });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    running.harness.submit_task(&alice(), session, request(body)).await.unwrap()
}

async fn ended(harness: &Harness, task: &TaskId) -> Task {
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {}
    harness.task(&alice().actor, task).await.unwrap()
}

async fn waits(harness: &Harness, task: &TaskId) {
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while harness.task(&alice().actor, task).await.unwrap().status != TaskStatus::InputRequired {
        feed.next().await.unwrap().expect("the task ended without asking");
    }
}

async fn outcome(harness: &Harness, task: &Task) -> Value {
    let outcome = harness.outcome(&alice().actor, task.outcome_id.as_ref().unwrap()).await.unwrap();
    json!({ "cost": outcome.cost, "calls": outcome.metrics.get("model_calls") })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_could_go_beyond_the_budget_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let cases = [
        (json!({ "tokens": 12_000 }), "budget.tokens", "may use 12000 tokens"),
        (json!({ "usd": 0.02 }), "budget.usd", "may cost $0.02;"),
    ];
    for (budget, rule, words) in cases {
        let session = session(&running).await;
        let task =
            submit(&running, session.clone(), "go on for ever", json!({ "metadata": { "budget": budget } }))
                .await;
        let task = ended(&running.harness, &task.id).await;
        let failure = task.failure.clone().unwrap();
        assert_eq!((task.status, failure.code.as_str()), (TaskStatus::Failed, "budget_exhausted"));
        assert!(failure.message.contains(words), "{}", failure.message);
        let (actor, of) = (alice().actor, Some(task.id.to_string()));
        let history = running.harness.permission_history(&actor, of, None, 0, 200).await.unwrap().data;
        let refusals: Vec<_> =
            history.iter().filter(|entry| entry.decision.matched_rule.source == RuleSource::Budget).collect();
        assert_eq!(refusals.len(), 1);
        assert_eq!(refusals[0].decision.matched_rule.id, rule);
        // Some calls were within it, and the refused one never reached the model.
        let answers = transcript(&running.harness, &session).await;
        let answers = answers.iter().filter(|line| line.starts_with("assistant")).count();
        assert!(answers > 0, "{rule}");
        let spent = outcome(&running.harness, &task).await;
        assert_eq!(spent["cost"]["input_tokens"], 100 * answers);
        let dollars = answers as f64 * 200.0 / 1e6;
        assert!((spent["cost"]["total"].as_f64().unwrap() - dollars).abs() < 1e-9, "{spent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_in_money_ends_where_costs_can_no_longer_be_counted() {
    let read = json!({ "tool_calls": [{ "id": "r", "name": "list_dir", "args": {} }],
                       "usage": { "input_tokens": 100, "output_tokens": 50, "cache_write_tokens": 5 } });
    let script = |price: Value| json!({ "responses": [read, { "text": "Done." }], "price": price });
    let cases = [
        (
            json!({ "input": 1, "output": 1, "up_to": 10 }),
            0,
            "The price of scripted:scripted-1 is not known for a prompt of up to",
        ),
        // The first answer wrote to a cache, and nobody knows what that costs.
        (
            json!({ "input": 1, "output": 1 }),
            100,
            "This run has made calls whose cost is not known, so a budget in money",
        ),
    ];
    for (price, used, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let running = open(folder.path(), scripted(&script(price)), Default::default()).await.unwrap();
        let budget = json!({ "metadata": { "budget": { "usd": 5 } } });
        let task = submit(&running, session(&running).await, "read", budget).await;
        let task = ended(&running.harness, &task.id).await;
        let failure = task.failure.clone().unwrap();
        assert_eq!(failure.code, "budget_exhausted");
        assert!(failure.message.starts_with(words), "{}", failure.message);
        let cost = outcome(&running.harness, &task).await["cost"].clone();
        assert_eq!((&cost["input_tokens"], cost["total"].is_null()), (&json!(used), used > 0), "{cost}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_child_spends_is_the_parent_s_too() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let harness = &running.harness;
    let budget = json!({ "metadata": { "budget": { "tokens": 12_000 } } });
    let parent = submit(&running, session(&running).await, "wait", budget).await;
    waits(harness, &parent.id).await;
    let child = json!({ "parent_task_id": parent.id });
    let child = submit(&running, session(&running).await, "go on for ever", child).await;
    let child = ended(harness, &child.id).await;
    let failure = child.failure.clone().unwrap();
    assert_eq!(failure.code, "budget_exhausted");
    assert!(failure.message.starts_with("The run that started this one may use"), "{}", failure.message);
    let used = outcome(harness, &child).await["cost"]["input_tokens"].as_u64().unwrap();
    let asked = harness.task_permission_requests(&alice().actor, parent.id.clone(), Default::default()).await;
    let question = asked.unwrap().data.remove(0).id;
    harness.respond(&alice(), question, request(json!({ "answer": "yes" }))).await.unwrap();
    let parent = ended(harness, &parent.id).await;
    let spent = outcome(harness, &parent).await;
    assert_eq!(spent["cost"]["input_tokens"], used + 200, "the child's calls and two of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_when_its_time_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let budget = json!({ "metadata": { "budget": { "seconds": 1 } } });
    let task = submit(&running, session(&running).await, "slow", budget).await;
    let task = ended(&running.harness, &task.id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.status, failure.code.as_str()), (TaskStatus::Failed, "budget_exhausted"));
    assert_eq!(failure.message, "The run took longer than the 1 seconds of its budget.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_is_none_is_refused_when_the_task_is_submitted() {
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), scripted(&script()), Default::default()).await.unwrap();
    let body = json!({ "input": user("x"), "metadata": { "budget": { "usd": -1 } } });
    let refused =
        running.harness.submit_task(&alice(), session(&running).await, request(body)).await.unwrap_err();
    assert_eq!(refused.param.as_deref(), Some("metadata.budget"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_nobody_gives_in_time_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let script = json!({ "responses": [
        { "tool_calls": [{ "id": "w", "name": "write_file", "args": { "path": "a", "content": "b" } }] },
        { "text": "Then not." } ] });
    let running = open(folder.path(), scripted(&script), Default::default()).await.unwrap();
    let persona = json!({ "name": "p", "version": "1", "entry_workflow": "agent_loop", "description": "d",
        "autonomy_tier": "act_with_approval", "receipt_policy": "optional",
        "metadata": { "approval": { "deadline_seconds": 1 } } });
    let persona = running.harness.create_persona(&alice(), request(persona)).await.unwrap().id;
    let create = request(json!({ "workspace_id": running.workspace.id, "persona_id": persona }));
    let session = running.harness.create_session(&alice(), create).await.unwrap().id;
    let task = submit(&running, session.clone(), "write", json!({})).await;
    let task = ended(&running.harness, &task.id).await;
    assert_eq!(task.status, TaskStatus::Completed);
    let told = transcript(&running.harness, &session).await;
    assert!(told.iter().any(|line| line.contains("Nobody answered before the deadline.")), "{told:#?}");
    assert!(!folder.path().join("work/a").exists());
}
