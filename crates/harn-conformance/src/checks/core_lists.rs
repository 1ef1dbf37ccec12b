//! Core: lists, their envelope, their pages and their filters.

use serde_json::Value;

use crate::check::{Verdict, checks, ensure, failed};
use crate::probe::Probe;
use crate::shape::{self, id_of, ids_of};

const MOST_PAGES: usize = 100;

checks! { Core;
    list_envelope: "OpenAPI, PaginatedList: object \"list\", data, page { has_more, next_cursor }"
        => "Answer every list with 200 and this envelope.";
    extended_lists: "spec 001, Conformance levels: Persona, Connector, Skill, Memory and Quota reads are Extended"
        => "Answer these lists with 200 and a list, or with 501.";
    pages_yield_every_item_once: "OpenAPI, limit and cursor: pages that follow next_cursor hold the whole list"
        => "Let next_cursor continue right after the last item, and end with has_more false.";
    limit_bounds_a_page: "OpenAPI, limit: at most so many items; has_more says that there are more"
        => "Return at most `limit` items and set has_more when some are left.";
    event_range_continues: "spec 001, REST: event range reads; OpenAPI: after_event_id"
        => "Return exactly the events after after_event_id, in the order of the stream.";
    filters_narrow_lists: "OpenAPI, session_id: only what belongs to the session"
        => "Apply session_id to /v1/tasks and /v1/events.";
}

/// All items of a list; an endless one is a failure.
pub(super) async fn walk(probe: &Probe, path: &str, limit: usize) -> Verdict<Vec<Value>> {
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut ask = probe.get(path).query("limit", limit);
        if let Some(cursor) = &cursor {
            ask = ask.query("cursor", cursor);
        }
        let seen = ask.expect(&[200]).await?;
        items.extend(seen.items()?);
        let page = seen.value()?["page"].take();
        if page["has_more"] != true {
            return Ok(items);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => {
                return failed(format!(
                    "{}: has_more is true but next_cursor is {}",
                    seen.what, page["next_cursor"]
                ));
            }
        }
    }
    failed(format!(
        "GET {path}?limit={limit} still has more after {MOST_PAGES} pages and {} items",
        items.len()
    ))
}

async fn list_envelope(probe: &Probe) -> Verdict {
    for path in ["/v1/tasks", "/v1/sessions", "/v1/artifacts", "/v1/events", "/v1/outcomes"] {
        let seen = probe.get(path).expect(&[200]).await?;
        shape::list(&seen.what, &seen.value()?)?;
    }
    Ok(())
}

async fn extended_lists(probe: &Probe) -> Verdict {
    for name in ["personas", "connectors", "skills", "quotas", "memories"] {
        let seen = probe.get(format!("/v1/{name}")).send().await?;
        seen.status(&[200, 501])?;
        if seen.succeeded() {
            shape::list(&seen.what, &seen.value()?)?;
        }
    }
    Ok(())
}

async fn pages_yield_every_item_once(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let mut appended = Vec::new();
    for number in 0..5 {
        appended.push(probe.append(&session, &format!("item {number}")).expect(&[200, 201]).await?.id()?);
    }
    appended.sort();
    let path = format!("/v1/sessions/{session}/messages");
    for limit in [1, 2, 5] {
        let mut found = ids_of(&walk(probe, &path, limit).await?)?;
        found.sort();
        let (wanted, got) = (appended.len(), found.len());
        ensure!(
            found == appended,
            "GET {path}?limit={limit}: expected each of {wanted} items once, got {got} in all: {found:?}"
        );
    }
    Ok(())
}

async fn limit_bounds_a_page(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    for text in ["one", "two", "three"] {
        probe.append(&session, text).expect(&[200, 201]).await?;
    }
    let seen = probe.get(format!("/v1/sessions/{session}/messages")).query("limit", 2).expect(&[200]).await?;
    let count = seen.items()?.len();
    let page = seen.value()?["page"].take();
    ensure!(count == 2, "{}: expected 2 items of 3, got {count}", seen.what);
    ensure!(page["has_more"] == true, "{}: expected has_more with one item left, got {page}", seen.what);
    Ok(())
}

async fn event_range_continues(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    let path = format!("/v1/tasks/{}/events", id_of(&settled.task)?);
    let all = ids_of(&settled.events)?;
    for position in [0, all.len() / 2, all.len().saturating_sub(1)] {
        let Some(after) = all.get(position) else { return failed(format!("GET {path}: no events")) };
        let seen = probe.get(&path).query("after_event_id", after).query("limit", 200).expect(&[200]).await?;
        let found = ids_of(&seen.items()?)?;
        ensure!(
            found.starts_with(&all[position + 1..]),
            "{}: expected the events {:?}, got {found:?}",
            seen.what,
            &all[position + 1..]
        );
        ensure!(!found.contains(after), "{}: the event {after} itself came again", seen.what);
    }
    Ok(())
}

async fn filters_narrow_lists(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let task = id_of(&probe.new_task(&session, crate::probe::SAY_HELLO).await?)?;
    let other = probe.new_session().await?;
    probe.new_task(&other, crate::probe::SAY_HELLO).await?;
    let tasks = probe.get("/v1/tasks").query("session_id", &session).expect(&[200]).await?;
    let found = ids_of(&tasks.items()?)?;
    ensure!(found == [task.as_str()], "{}: expected only the task {task}, got {found:?}", tasks.what);
    let events =
        probe.get("/v1/events").query("session_id", &session).query("limit", 200).expect(&[200]).await?;
    let items = events.items()?;
    ensure!(!items.is_empty(), "{}: expected the events of the session, got none", events.what);
    for event in items {
        let within = event["session_id"].is_null() || event["session_id"] == session;
        ensure!(within, "{}: an event of session {} came with it", events.what, event["session_id"]);
    }
    Ok(())
}
