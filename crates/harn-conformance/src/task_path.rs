//! The lifecycle of a task: the transition table, and the path that its events tell.

use serde_json::Value;

use crate::check::{Verdict, ensure, failed};
use crate::shape::shown;

const TABLE: [(&str, &[&str]); 7] = [
    ("SUBMITTED", &["WORKING", "CANCELED", "FAILED"]),
    ("WORKING", &["INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED", "CANCELED"]),
    ("INPUT_REQUIRED", &["WORKING", "FAILED", "CANCELED"]),
    ("AUTH_REQUIRED", &["WORKING", "FAILED", "CANCELED"]),
    ("COMPLETED", &[]),
    ("FAILED", &[]),
    ("CANCELED", &[]),
];

fn next(from: &str) -> Option<&'static [&'static str]> {
    TABLE.iter().find(|row| row.0 == from).map(|row| row.1)
}

pub(crate) fn is_terminal(status: &str) -> bool {
    next(status).is_some_and(<[_]>::is_empty)
}

pub(crate) fn waits_for_a_person(status: &str) -> bool {
    matches!(status, "INPUT_REQUIRED" | "AUTH_REQUIRED")
}

pub(crate) fn allows(from: &str, to: &str) -> bool {
    next(from).is_some_and(|next| next.contains(&to))
}

/// Whether polling may see `to` after `from`: any number of transitions in between.
fn reaches(from: &str, to: &str) -> bool {
    let mut known = vec![from];
    let mut position = 0;
    while let Some(status) = known.get(position) {
        let found = next(status).unwrap_or_default().iter().filter(|next| !known.contains(next));
        let found: Vec<_> = found.copied().collect();
        known.extend(found);
        position += 1;
    }
    from != to && known.contains(&to)
}

pub(crate) fn observed(statuses: &[String]) -> Verdict {
    for status in statuses {
        ensure!(next(status).is_some(), "{status:?} is no task status");
    }
    for pair in statuses.windows(2) {
        ensure!(reaches(&pair[0], &pair[1]), "a task went from {} to {}", pair[0], pair[1]);
    }
    Ok(())
}

/// The status that an event says the task has now, if it says one.
fn told_by(event: &Value) -> Option<String> {
    let named = match event["event"].as_str()? {
        "task.submitted" => "SUBMITTED",
        "task.started" => "WORKING",
        "task.input_required" => "INPUT_REQUIRED",
        "task.auth_required" => "AUTH_REQUIRED",
        "task.completed" => "COMPLETED",
        "task.failed" => "FAILED",
        "task.canceled" => "CANCELED",
        "task.status_changed" => {
            let payload = &event["payload"];
            let told = [&payload["to"], &payload["status"], &payload["task"]["status"]];
            return told.into_iter().find_map(Value::as_str).map(str::to_owned);
        }
        _ => return None,
    };
    Some(named.to_owned())
}

/// The statuses in the order in which the events of `task` tell them, each transition once.
///
/// A server may tell a transition twice: as `task.status_changed` and by the kind that names it.
pub(crate) fn told(events: &[Value], task: &str) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    for event in events.iter().filter(|event| event["resource"]["id"] == task) {
        if let Some(status) = told_by(event).filter(|status| path.last() != Some(status)) {
            path.push(status);
        }
    }
    path
}

/// The path begins with SUBMITTED and makes only steps of the table.
pub(crate) fn legal(path: &[String]) -> Verdict {
    match path.first() {
        None => return failed("no event of the task tells its status"),
        Some(first) => ensure!(first == "SUBMITTED", "the first task event tells {first}, not SUBMITTED"),
    }
    for pair in path.windows(2) {
        let (from, to) = (&pair[0], &pair[1]);
        ensure!(
            allows(from, to),
            "the events go from {from} to {to}; the whole path is {}",
            path.join(" → ")
        );
    }
    Ok(())
}

/// Where a `task.status_changed` names the status before, it is the one that was told before.
pub(crate) fn continuous(events: &[Value], task: &str) -> Verdict {
    let mut current: Option<String> = None;
    for event in events.iter().filter(|event| event["resource"]["id"] == task) {
        let Some(status) = told_by(event) else { continue };
        if current.as_deref() == Some(&status) {
            continue;
        }
        let (from, before) = (event["payload"]["from"].as_str(), current.as_deref());
        let agrees = from.is_none() || before.is_none() || from == before;
        ensure!(agrees, "after {before:?} came an event with `from` {from:?}: {}", shown(event));
        current = Some(status);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(statuses: &[&str]) -> Vec<String> {
        statuses.iter().map(|status| (*status).to_owned()).collect()
    }

    #[test]
    fn polling_may_miss_a_status_but_never_see_one_that_cannot_follow() {
        let good: [&[&str]; 4] = [
            &["SUBMITTED", "COMPLETED"],
            &["WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED"],
            &["CANCELED"],
            &["SUBMITTED", "WORKING", "FAILED"],
        ];
        let bad: [&[&str]; 4] =
            [&["COMPLETED", "WORKING"], &["WORKING", "SUBMITTED"], &["DONE"], &["CANCELED", "COMPLETED"]];
        for statuses in good {
            assert_eq!(observed(&path(statuses)), Ok(()), "{statuses:?}");
        }
        for statuses in bad {
            assert!(observed(&path(statuses)).is_err(), "{statuses:?}");
        }
    }

    #[test]
    fn events_tell_each_transition_once_and_skip_none() {
        let event = |kind: &str, payload: Value| json!({ "event": kind, "resource": { "object": "task", "id": "t" }, "payload": payload });
        let events = [
            event("task.submitted", json!({})),
            event("task.status_changed", json!({ "from": "SUBMITTED", "to": "WORKING" })),
            event("task.started", json!({})),
            json!({ "event": "task.failed", "resource": { "object": "task", "id": "another" } }),
            event("span.started", json!({})),
            event("task.completed", json!({})),
        ];
        assert_eq!(told(&events, "t"), path(&["SUBMITTED", "WORKING", "COMPLETED"]));
        assert_eq!(continuous(&events, "t"), Ok(()));
        let jump =
            [events[0].clone(), event("task.status_changed", json!({ "from": "WORKING", "to": "FAILED" }))];
        assert!(continuous(&jump, "t").is_err());
        let cases: [(&[&str], bool); 4] = [
            (&["SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"], true),
            (&["SUBMITTED", "COMPLETED"], false),
            (&["WORKING", "COMPLETED"], false),
            (&[], false),
        ];
        for (statuses, good) in cases {
            assert_eq!(legal(&path(statuses)).is_ok(), good, "{statuses:?}");
        }
    }
}
