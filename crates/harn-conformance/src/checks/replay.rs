//! Replay, where the server offers it.

use serde_json::json;

use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::Probe;
use crate::shape::{self, id_of};

checks! { Replay;
    event_range_is_stable: "spec 001, Replay: \"event range reads with durable cursors\""
        => "Return the same events, with the same content, on every read of a range.";
    event_range_after_a_cursor: "spec 001, Replay contract: events are durable enough to replay a Task history"
        => "Answer after_event_id with 200 and a list.";
    replay_creates_a_task: "spec 001, Replay contract: the new Task MUST expose the source Task as parent_task_id"
        => "Answer POST /v1/tasks/{id}/replay with 202 and a new Task that names its source.";
    replayed_events_are_marked: "spec 001, Replay contract: \"Replayed stream events are marked as replayed\""
        => "Set replayed to true on the events that a replay delivers again.";
}

async fn offered(probe: &Probe) -> Verdict {
    match probe.has_capability("replay").await {
        true => Ok(()),
        false => skipped("the server does not offer replay (capability replay)"),
    }
}

async fn event_range_is_stable(probe: &Probe) -> Verdict {
    offered(probe).await?;
    let settled = probe.settled().await?;
    let path = format!("/v1/tasks/{}/events", id_of(&settled.task)?);
    let first = probe.get(&path).expect(&[200]).await?;
    let second = probe.get(&path).expect(&[200]).await?;
    ensure!(first.answer.body == second.answer.body, "GET {path}: two reads differ");
    Ok(())
}

async fn event_range_after_a_cursor(probe: &Probe) -> Verdict {
    offered(probe).await?;
    let settled = probe.settled().await?;
    let Some(first) = settled.events.first() else { return skipped("the task has no events") };
    let path = format!("/v1/tasks/{}/events", id_of(&settled.task)?);
    let seen = probe.get(path).query("after_event_id", id_of(first)?).expect(&[200]).await?;
    shape::list(&seen.what, &seen.value()?)
}

async fn replayed(probe: &Probe) -> Verdict<(String, crate::ask::Seen)> {
    offered(probe).await?;
    let source = id_of(&probe.settled().await?.task)?;
    let path = format!("/v1/tasks/{source}/replay");
    let seen = probe.post(path).body(json!({ "mode": "exact" })).expect(&[200, 202]).await?;
    Ok((source, seen))
}

async fn replay_creates_a_task(probe: &Probe) -> Verdict {
    let (source, seen) = replayed(probe).await?;
    ensure!(seen.id()? != source, "{}: expected a new task, got the source", seen.what);
    let parent = &seen.value()?["parent_task_id"];
    ensure!(*parent == source, "{}: expected parent_task_id {source}, got {parent}", seen.what);
    Ok(())
}

async fn replayed_events_are_marked(probe: &Probe) -> Verdict {
    let (_, seen) = replayed(probe).await?;
    let settled = probe.settle(&seen.value()?).await?;
    let retold: Vec<_> = settled.events.iter().filter(|event| event["replay"].is_object()).collect();
    if retold.is_empty() {
        return skipped("the replay delivered no event of its source");
    }
    for event in retold {
        ensure!(
            event["replayed"] == true,
            "the event {} of a replay has replayed {}",
            event["id"],
            event["replayed"]
        );
    }
    Ok(())
}
