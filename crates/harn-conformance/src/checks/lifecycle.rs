//! Lifecycle: the statuses of a task, the events that tell them, cancellation, and the outcome.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::check::{Verdict, checks, ensure, failed, skipped};
use crate::probe::{ASK_BACK, Probe, SAY_HELLO, pause};
use crate::shape::{self, id_of, ids_of, shown, status_of};
use crate::task_path;

checks! { Lifecycle;
    task_settles: "spec 001, Task lifecycle: a Task ends as COMPLETED, FAILED or CANCELED, or is blocked on somebody"
        => "Let an accepted task run to a terminal status or to one that waits for a person.";
    observed_statuses_follow_the_table: "spec 001, Task lifecycle: allowed transitions"
        => "Move tasks along the table only, and never out of a terminal status.";
    events_follow_the_table: "spec 001, Task lifecycle: \"Servers MUST emit a Task state event for every lifecycle transition\""
        => "Emit task.submitted first, then one state event for each transition, none skipped.";
    events_end_at_the_status: "spec 001, Task lifecycle: a state event for every transition, so also for the last"
        => "Emit the event of a transition together with the transition.";
    task_events_have_the_fields: "spec 001, Event: required fields id, event, resource, created_at, sequence, payload"
        => "Put all required fields on every event of a task.";
    sequence_increases: "spec 001, Event: sequence is the \"per-resource sequence number\""
        => "Number the events of a resource upwards, without repeating a number.";
    event_ids_are_monotonic: "spec 001, Event: id is the \"monotonic event id within the stream\""
        => "Give every event an id of its own, larger than those before it.";
    causes_come_first: "spec 001, Event: \"Servers MUST emit Events in causal order per resource\""
        => "Emit what begins something before what ends it, with times that do not go backwards.";
    task_times_are_in_order: "spec 001, Task: created_at, started_at, completed_at and canceled_at of one task"
        => "Set started_at, completed_at and canceled_at when it happens.";
    completed_task_has_one_outcome: "spec 001, Outcome: \"A completed Task SHOULD have exactly one Outcome\""
        => "Write one Outcome with status SUCCEEDED when a task completes.";
    terminal_task_stays: "spec 001, Task lifecycle: \"Servers MUST reject client attempts to move a terminal Task back\""
        => "Refuse messages and cancels that would move a terminal task.";
    cancel_answers: "spec 001, Core: Task submit, get, cancel"
        => "Answer a cancel with 200 and the Task, or 409 when the task had already ended.";
    cancel_holds: "spec 001, Task lifecycle: \"once the server records CANCELED, no later success Outcome may replace it\""
        => "Keep a canceled task CANCELED, whatever its run still does.";
    cancel_twice_is_the_same: "spec 001, Task lifecycle: CANCELED is terminal"
        => "Answer a second cancel with 200 and the same task, or 409.";
    canceled_has_no_completed_at: "spec 001, Task: completed_at belongs to a completed task, canceled_at to a canceled one"
        => "Leave completed_at null when a task is canceled.";
    input_moves_a_waiting_task: "spec 001, Task lifecycle: INPUT_REQUIRED goes to WORKING when input comes"
        => "Let POST /v1/tasks/{id}/messages with kind input wake a task that waits for input.";
}

async fn task_settles(probe: &Probe) -> Verdict {
    probe.settled().await.map(|_| ())
}

async fn observed_statuses_follow_the_table(probe: &Probe) -> Verdict {
    task_path::observed(&probe.settled().await?.observed)
}

async fn events_follow_the_table(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    let id = id_of(&settled.task)?;
    task_path::legal(&task_path::told(&settled.events, &id))?;
    task_path::continuous(&settled.events, &id)
}

async fn events_end_at_the_status(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    let (id, status) = (id_of(&settled.task)?, status_of(&settled.task)?);
    let told = task_path::told(&settled.events, &id);
    ensure!(told.last() == Some(&status), "the task is {status}, but its events tell {}", told.join(" → "));
    Ok(())
}

async fn task_events_have_the_fields(probe: &Probe) -> Verdict {
    for event in &probe.settled().await?.events {
        shape::event("a listed event", event)?;
    }
    Ok(())
}

async fn sequence_increases(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    let session = settled.task["session_id"].as_str().unwrap_or_default();
    let of_session = probe.events_of(&format!("/v1/sessions/{session}/events")).await?;
    for events in [&settled.events, &of_session] {
        let mut last: HashMap<String, u64> = HashMap::new();
        for event in events {
            let Some(sequence) = event["sequence"].as_u64() else { continue };
            let resource = event["resource"].to_string();
            let before = last.insert(resource, sequence);
            ensure!(
                before.is_none_or(|before| before < sequence),
                "the sequence of {} went from {before:?} to {sequence}: {}",
                event["resource"],
                shown(event)
            );
        }
    }
    Ok(())
}

async fn event_ids_are_monotonic(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    let session = settled.task["session_id"].as_str().unwrap_or_default();
    let ids = ids_of(&probe.events_of(&format!("/v1/sessions/{session}/events")).await?)?;
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    ensure!(distinct.len() == ids.len(), "{} events have only {} ids: {ids:?}", ids.len(), distinct.len());
    // Opaque ids have no order that a client could see.
    if let Ok(numbers) = ids.iter().map(|id| id.parse::<u128>()).collect::<Result<Vec<_>, _>>() {
        ensure!(numbers.is_sorted(), "the event ids go down: {ids:?}");
    }
    Ok(())
}

async fn causes_come_first(probe: &Probe) -> Verdict {
    let mut begun: HashMap<String, (Vec<&str>, &str)> = HashMap::new();
    for event in &probe.settled().await?.events {
        let (kind, at) = (event["event"].as_str().unwrap_or_default(), &event["created_at"]);
        let (kinds, last) = begun.entry(event["resource"].to_string()).or_default();
        if let Some(cause) = cause_of(kind) {
            ensure!(kinds.contains(&cause), "{kind} of {} came before {cause}", event["resource"]);
        }
        let at = at.as_str().unwrap_or_default();
        ensure!(earlier_or_same(last, at), "the events of {} go back from {last} to {at}", event["resource"]);
        kinds.push(kind);
        *last = at;
    }
    Ok(())
}

fn cause_of(kind: &str) -> Option<&'static str> {
    match kind {
        "task.submitted" => None,
        _ if kind.starts_with("task.") => Some("task.submitted"),
        "span.updated" | "span.completed" | "span.failed" => Some("span.started"),
        "tool.approval_required" | "tool.approved" | "tool.denied" | "tool.completed" | "tool.failed" => {
            Some("tool.requested")
        }
        _ => None,
    }
}

/// Times that cannot be read are the business of another check.
fn earlier_or_same(earlier: &str, later: &str) -> bool {
    match (earlier.parse::<jiff::Timestamp>(), later.parse::<jiff::Timestamp>()) {
        (Ok(earlier), Ok(later)) => earlier <= later,
        _ => true,
    }
}

async fn task_times_are_in_order(probe: &Probe) -> Verdict {
    let task = &probe.settled().await?.task;
    let names = ["created_at", "started_at", "completed_at"];
    let times: Vec<_> = names.iter().filter_map(|name| Some((*name, task[*name].as_str()?))).collect();
    for pair in times.windows(2) {
        let [(early, first), (late, second)] = [pair[0], pair[1]];
        ensure!(earlier_or_same(first, second), "{late} {second} is before {early} {first}");
    }
    let ended = task["completed_at"].is_string();
    ensure!(
        ended || task["status"] != "COMPLETED" || task.get("completed_at").is_none(),
        "the task is COMPLETED, but its completed_at is {}",
        task["completed_at"]
    );
    Ok(())
}

async fn completed_task_has_one_outcome(probe: &Probe) -> Verdict {
    let task = &probe.settled().await?.task;
    if task["status"] != "COMPLETED" {
        return skipped(format!("the task ended as {}", task["status"]));
    }
    let id = id_of(task)?;
    let seen = probe.get("/v1/outcomes").query("task_id", &id).expect(&[200]).await?;
    let found = seen.items()?;
    ensure!(
        found.len() == 1,
        "{}: expected exactly one outcome, got {}: {}",
        seen.what,
        found.len(),
        seen.got()
    );
    let outcome = &found[0];
    let agrees = outcome["task_id"] == id && outcome["status"] == "SUCCEEDED";
    ensure!(agrees, "{}: expected the SUCCEEDED outcome of {id}, got {}", seen.what, shown(outcome));
    let named = task["outcome_id"].is_null() || task["outcome_id"] == outcome["id"];
    ensure!(named, "the task names the outcome {}, but it has {}", task["outcome_id"], outcome["id"]);
    Ok(())
}

async fn terminal_task_stays(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let settled = probe.settle(&probe.new_task(&session, SAY_HELLO).await?).await?;
    let (id, before) = (id_of(&settled.task)?, status_of(&settled.task)?);
    if !task_path::is_terminal(&before) {
        return skipped(format!("the task waits as {before}"));
    }
    for kind in ["input", "interrupt"] {
        let message = json!({ "role": "user", "parts": [shape::text("go on")] });
        let body = json!({ "kind": kind, "message": message });
        probe.post(format!("/v1/tasks/{id}/messages")).body(body).send().await?;
        let after = status_of(&probe.task(&id).await?)?;
        ensure!(after == before, "a message of kind {kind} moved the task from {before} to {after}");
    }
    let seen = probe.post(format!("/v1/tasks/{id}/cancel")).body(json!({})).send().await?;
    seen.status(&[200, 400, 409, 422])?;
    let after = status_of(&probe.task(&id).await?)?;
    ensure!(after == before, "{} moved the task from {before} to {after}", seen.what);
    Ok(())
}

/// A task that was canceled before it ended, as the server shows it.
async fn canceled(probe: &Probe) -> Verdict<Value> {
    for _ in 0..3 {
        let session = probe.new_session().await?;
        // One that waits in the queue or for a person is more likely to be still there.
        probe.new_task(&session, ASK_BACK).await?;
        let id = id_of(&probe.new_task(&session, ASK_BACK).await?)?;
        probe.post(format!("/v1/tasks/{id}/cancel")).body(json!({ "reason": "conformance" })).send().await?;
        // Cancellation is cooperative, so the status may follow later.
        for _ in 0..20 {
            let task = probe.task(&id).await?;
            let status = status_of(&task)?;
            if status == "CANCELED" {
                return Ok(task);
            }
            if task_path::is_terminal(&status) {
                break;
            }
            pause().await;
        }
    }
    skipped("three tasks ended before their cancel was seen, or did not end at all")
}

async fn cancel_answers(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let id = id_of(&probe.new_task(&session, ASK_BACK).await?)?;
    let seen = probe.post(format!("/v1/tasks/{id}/cancel")).body(json!({})).send().await?;
    seen.status(&[200, 409, 422])?;
    if seen.succeeded() {
        ensure!(seen.id()? == id, "{}: expected the task {id}, got {}", seen.what, seen.got());
    }
    Ok(())
}

async fn cancel_holds(probe: &Probe) -> Verdict {
    let id = id_of(&canceled(probe).await?)?;
    for _ in 0..5 {
        pause().await;
        let status = status_of(&probe.task(&id).await?)?;
        ensure!(status == "CANCELED", "the task was CANCELED and became {status}");
    }
    let events = probe.events_of(&format!("/v1/tasks/{id}/events")).await?;
    let told = task_path::told(&events, &id);
    task_path::legal(&told)?;
    ensure!(
        told.last().is_some_and(|last| last == "CANCELED"),
        "the events of a canceled task tell {told:?}"
    );
    let outcomes = probe.get("/v1/outcomes").query("task_id", &id).send().await?;
    if outcomes.succeeded() {
        let success = outcomes.items()?.into_iter().find(|outcome| outcome["status"] == "SUCCEEDED");
        ensure!(success.is_none(), "the canceled task {id} has a SUCCEEDED outcome");
    }
    Ok(())
}

async fn cancel_twice_is_the_same(probe: &Probe) -> Verdict {
    let first = canceled(probe).await?;
    let id = id_of(&first)?;
    let seen = probe.post(format!("/v1/tasks/{id}/cancel")).body(json!({})).send().await?;
    seen.status(&[200, 400, 409, 422])?;
    let second = probe.task(&id).await?;
    for field in ["status", "canceled_at"] {
        ensure!(
            first[field] == second[field],
            "a second cancel changed {field} from {} to {}",
            first[field],
            second[field]
        );
    }
    Ok(())
}

async fn canceled_has_no_completed_at(probe: &Probe) -> Verdict {
    let task = canceled(probe).await?;
    ensure!(task["completed_at"].is_null(), "a canceled task has completed_at {}", task["completed_at"]);
    Ok(())
}

async fn input_moves_a_waiting_task(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let settled = probe.settle(&probe.new_task(&session, ASK_BACK).await?).await?;
    let (id, status) = (id_of(&settled.task)?, status_of(&settled.task)?);
    if status != "INPUT_REQUIRED" {
        return skipped(format!("the task did not ask for input, it is {status}"));
    }
    let message = json!({ "role": "user", "parts": [shape::text("blue")] });
    let body = json!({ "kind": "input", "message": message });
    probe.post(format!("/v1/tasks/{id}/messages")).body(body).expect(&[200, 201]).await?;
    for _ in 0..100 {
        let events = probe.events_of(&format!("/v1/tasks/{id}/events")).await?;
        let told = task_path::told(&events, &id);
        let waiting = told.iter().position(|status| status == "INPUT_REQUIRED");
        if waiting.is_some_and(|position| position + 1 < told.len()) {
            return task_path::legal(&told);
        }
        pause().await;
    }
    failed(format!("the task {id} still waits after its input was given"))
}
