//! Every kind of effect can be allowed, asked about and denied, leaves a decision each time, and none is performed
//! without one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::HashMap;
use std::path::Path;

use harn_cli::config::Config;
use harn_cli::wiring::{Running, Setup, start_with};
use harn_core::run::{Completion, Decision, EffectKey, JournalEntry};
use harn_core::{EffectKind, RequestStatus, SessionId, TaskId, TaskStatus, Verdict};
use harn_harness::{EventFilter, Harness, PageQuery};
use harn_log::{RowFilter, RowKind, View};
use harn_policy::PermissionsFile;
use serde_json::{Value, json};
use support::{alice, guard, request, scripted, user};

/// What the model says in each story; the first words of the person choose it.
fn script() -> Value {
    let story = |when: &str, responses: Value| json!({ "when": when, "responses": responses });
    json!({ "conversations": [
        story("Summarise this conversation", json!([{ "text": "A long talk." }])),
        story("[Summary of the earlier", json!([{ "text": "Going on." }])),
        story("do inbox", json!([{ "text": "First.", "delay_ms": 400 }, { "text": "Second." }])),
        story("do model", json!([{ "text": "Hello." }])),
        story("do tool", json!([
            { "tool_calls": [{ "id": "t", "name": "write_file", "args": { "path": "out.txt", "content": "x" } }] },
            { "text": "Written." },
        ])),
        story("do question", json!([
            { "tool_calls": [{ "id": "q", "name": "ask_user", "args": { "question": "sure?" } }] },
            { "text": "Asked." },
        ])),
        story("do compaction", json!([{ "text": "Not compacted." }])),
    ], "context_window": 60_000 })
}

fn rules(effect: EffectKind, verdict: Verdict) -> PermissionsFile {
    let action = serde_json::to_value(verdict).unwrap();
    let what = match effect {
        EffectKind::Tool => "tool = \"write_file\"".to_owned(),
        other => format!("effect = \"{}\"", other.as_str()),
    };
    let text = format!("[[permissions.rules]]\nid = \"the-rule\"\naction = {action}\nmatch = {{ {what} }}\n");
    PermissionsFile::parse(&text).unwrap()
}

async fn open(folder: &Path, permissions: PermissionsFile) -> Running {
    let root = folder.join("work");
    std::fs::create_dir_all(&root).unwrap();
    // Only scripts have these two.
    std::fs::write(root.join("call.harn"), "println(__now_ms() > 0)\n").unwrap();
    std::fs::write(root.join("timer.harn"), "sleep(1)\nprintln(\"slept\")\n").unwrap();
    let setup = Setup {
        data: folder.join("data"),
        root,
        allowed_roots: Vec::new(),
        model: scripted(&script()),
        source: None,
        guard: guard(),
        log: Default::default(),
    };
    start_with(setup, &Config { permissions, ..Config::default() }).await.unwrap()
}

/// Begins the story of one kind and gives its session and task.
async fn begin(running: &Running, effect: EffectKind) -> (SessionId, TaskId) {
    let (harness, call) = (&running.harness, alice());
    let entry = match effect {
        EffectKind::Call | EffectKind::Timer => format!("{}.harn", effect.as_str()),
        _ => "agent_loop".to_owned(),
    };
    let persona = json!({ "name": "p", "version": "1", "entry_workflow": entry, "description": "d",
                          "autonomy_tier": "act_auto", "receipt_policy": "optional" });
    let persona = harness.create_persona(&call, request(persona)).await.unwrap();
    let create = json!({ "workspace_id": running.workspace.id, "persona_id": persona.id });
    let session = harness.create_session(&call, request(create)).await.unwrap().id;
    if effect == EffectKind::Compaction {
        let long = json!({ "message": user(&format!("do compaction {}", "word ".repeat(50_000))) });
        harness.append_session_message(&call, session.clone(), request(long)).await.unwrap();
    }
    let submit = request(json!({ "input": user(&format!("do {}", effect.as_str())) }));
    let task = harness.submit_task(&call, session.clone(), submit).await.unwrap().id;
    if effect == EffectKind::Inbox {
        let message = json!({ "message": user("and this") });
        harness.append_session_message(&call, session.clone(), request(message)).await.unwrap();
    }
    (session, task)
}

/// Answers whatever the run asks until it is over: approvals as given, questions with `yes`.
async fn see_through(harness: &Harness, task: &TaskId, approve: bool) -> TaskStatus {
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&alice().actor, filter, None).await.unwrap();
    while feed.next().await.unwrap().is_some() {
        let actor = alice().actor;
        let asked =
            harness.task_permission_requests(&actor, task.clone(), PageQuery::default()).await.unwrap();
        for pending in asked.data.iter().filter(|asked| asked.status == RequestStatus::Pending) {
            let answer = match pending.action["kind"].as_str() {
                Some("question") if pending.action.get("prompt").is_some() => json!({ "answer": "yes" }),
                _ => json!({ "approved": approve }),
            };
            // Another event may have led here too; the first answer counts.
            let _ = harness.respond(&alice(), pending.id.clone(), request(answer)).await;
        }
    }
    harness.task(&alice().actor, task).await.unwrap().status
}

async fn events(harness: &Harness) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), None);
    loop {
        let page = harness.events(&alice().actor, EventFilter::default(), after, Some(200)).await.unwrap();
        events.extend(page.data.iter().map(|event| serde_json::from_str::<Value>(event.get()).unwrap()));
        match page.next {
            Some(next) => after = Some(next.to_string()),
            None => return events,
        }
    }
}

/// Every journal entry, as it is kept.
async fn journal(running: &Running) -> Vec<Value> {
    let read = harn_log::read(&*running.log, |view| {
        let filter = RowFilter { kind: Some(RowKind::Journal), ..RowFilter::default() };
        let rows = view.rows(&filter, 0, usize::MAX)?;
        rows.iter().map(|row| row.parse::<Value>()).collect::<Result<Vec<_>, harn_log::LogError>>()
    });
    read.await.unwrap()
}

/// Every decision record anywhere in a value.
fn decisions(value: &Value, found: &mut Vec<Decision>) {
    match value {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|kind| kind == "harn.permission_policy_decision.v1") {
                found.push(serde_json::from_value(value.clone()).unwrap());
            }
            fields.values().for_each(|field| decisions(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| decisions(item, found)),
        _ => {}
    }
}

/// Whether the effect of a story has happened.
fn performed(effect: EffectKind, folder: &Path, events: &[Value], status: TaskStatus) -> bool {
    let seen = |kind: &str| events.iter().any(|event| event["event"] == kind);
    match effect {
        EffectKind::Inbox => seen("vendor.harn.inbox_delivered"),
        EffectKind::Model => status == TaskStatus::Completed,
        EffectKind::Tool => folder.join("work/out.txt").exists(),
        EffectKind::Question => seen("vendor.harn.question_asked"),
        EffectKind::Compaction => seen("session.compacted"),
        EffectKind::Call | EffectKind::Timer => seen("vendor.harn.script_output"),
    }
}

/// Each completion in the journal has a decision that allowed it, unless nothing was performed.
fn check_journal(view: &dyn View, when: &str) {
    let filter = RowFilter { kind: Some(RowKind::Journal), ..RowFilter::default() };
    let mut decided: HashMap<(String, EffectKey), Verdict> = HashMap::new();
    let mut completed = 0;
    for row in view.rows(&filter, 0, usize::MAX).unwrap() {
        let task = row.task.clone().unwrap();
        let mut note = |key: &EffectKey, verdict: Verdict| {
            decided.insert((task.clone(), key.clone()), verdict);
        };
        match row.parse::<JournalEntry>().unwrap() {
            JournalEntry::Requested { key, decision, .. } => note(&key, decision.action),
            JournalEntry::Answered { key, answer, .. } if answer.approved => note(&key, Verdict::Allow),
            JournalEntry::Answered { key, .. } => note(&key, Verdict::Deny),
            JournalEntry::Begun { key, decision: Some(decision), .. }
            | JournalEntry::Timer { key, decision: Some(decision), .. } => note(&key, decision.action),
            JournalEntry::Completed { key, completion, decision, .. } => {
                if let Some(decision) = decision {
                    note(&key, decision.action);
                }
                let nothing = match &completion {
                    Completion::Inbox { messages } => messages.is_empty(),
                    Completion::ModelFailed { failure, .. } => failure.code == "denied",
                    Completion::Tool { result } => result.outcome == harn_core::tool::ToolOutcome::Denied,
                    Completion::Compacted { artifact_id } => artifact_id.is_none(),
                    Completion::Time { refused } => refused.is_some(),
                    Completion::Answered { answer } => answer["status"] == "denied",
                    Completion::Model { .. } => false,
                };
                let verdict = decided.get(&(task.clone(), key.clone()));
                assert!(nothing || verdict == Some(&Verdict::Allow), "{when}: {key} with {verdict:?}");
                completed += 1;
            }
            _ => {}
        }
    }
    assert!(completed > 0, "{when}: the journal has no completion");
}

async fn check(effect: EffectKind, verdict: Verdict, approve: bool) {
    let when = format!("{effect:?} {verdict:?}, approved: {approve}");
    let folder = tempfile::tempdir().unwrap();
    let running = open(folder.path(), rules(effect, verdict)).await;
    let (_, task) = begin(&running, effect).await;
    let status = see_through(&running.harness, &task, approve).await;
    let events = events(&running.harness).await;
    let expected = match verdict {
        Verdict::Allow => true,
        Verdict::Ask => approve,
        Verdict::Deny => false,
    };
    assert_eq!(performed(effect, folder.path(), &events, status), expected, "{when}: {status:?}");
    let mut found = Vec::new();
    events.iter().for_each(|event| decisions(&event["payload"], &mut found));
    // What a script only looks at, and how long it waits, is told by the journal alone.
    if matches!(effect, EffectKind::Call | EffectKind::Timer) {
        journal(&running).await.iter().for_each(|entry| decisions(entry, &mut found));
    }
    let about =
        |decision: &&Decision| decision.context.effect == effect && decision.matched_rule.id == "the-rule";
    let record = found.iter().find(about).unwrap_or_else(|| panic!("{when}: no record in {found:?}"));
    assert_eq!(record.action, verdict, "{when}");
    harn_log::read(&*running.log, move |view| {
        check_journal(view, &when);
        Ok::<_, harn_log::LogError>(())
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_effect_can_be_allowed_asked_about_and_denied() {
    for effect in EffectKind::ALL.iter().copied() {
        check(effect, Verdict::Allow, true).await;
        check(effect, Verdict::Ask, true).await;
        check(effect, Verdict::Ask, false).await;
        check(effect, Verdict::Deny, true).await;
    }
}
