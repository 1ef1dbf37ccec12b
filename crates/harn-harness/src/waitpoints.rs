//! Waitpoints and the event log of scripts: facts of a workspace, changed by runs and by people.

use std::time::Duration;

use harn_core::errand::{Errand, Query, Recorded, Said, Wait, Waitpoint, WaitpointStatus};
use harn_core::run::{Answer, JournalEntry};
use harn_core::{Actor, Error, EventKind, Result, Task, TaskId, Timestamp, WaitpointId, WorkspaceId};
use harn_log::{Doc, DocQuery, View};
use harn_wire::agents::{self as wire, CancelWaitpointRequest, CompleteWaitpointRequest, Page};
use serde_json::{Map, Value, json};

use crate::in_flight::Waiting;
use crate::lifecycle::derive_status;
use crate::page::{PageQuery, page};
use crate::requests::refuse_agent;
use crate::tx::{Place, Tx, Wake, get, kind, tag};
use crate::workspaces::visible_workspace;
use crate::{Call, Harness, asks, fault};

/// What came of an errand.
pub enum Ran {
    Done(Value),
    /// It waits.
    Later(Wait),
}

/// Does what a script asks of its keeper, within its commit.
pub fn run(tx: &mut Tx<'_>, workspace: &WorkspaceId, errand: Errand) -> Result<Ran> {
    let waitpoint = match errand {
        Errand::CreateWaitpoint { id, metadata } => {
            let id = id.unwrap_or_else(|| WaitpointId::generate().to_string());
            found_or_made(tx, workspace, &id, metadata)?
        }
        Errand::CompleteWaitpoint { id, value, said } => {
            let waitpoint = found_or_made(tx, workspace, &id, Map::new())?;
            complete(tx, workspace, waitpoint, value, said)?
        }
        Errand::CancelWaitpoint { id, said } => {
            let waitpoint = found_or_made(tx, workspace, &id, Map::new())?;
            cancel(tx, workspace, waitpoint, said)?
        }
        Errand::Wait(wait) => {
            // Whoever waits first names it: it does not matter who comes first.
            for id in &wait.ids {
                found_or_made(tx, workspace, id, Map::new())?;
            }
            let waitpoints = all_of(&*tx.txn, workspace, &wait)?;
            return Ok(wait.outcome(&waitpoints).map_or(Ran::Later(wait), Ran::Done));
        }
        Errand::Record(recorded) => {
            let row = tx.fact_in(workspace, "script.event", &recorded)?;
            return Ok(Ran::Done(row.id.into()));
        }
    };
    Ok(Ran::Done(json!(waitpoint)))
}

fn found(view: &dyn View, workspace: &WorkspaceId, id: &str) -> Result<Option<Waitpoint>> {
    get(view, kind::WAITPOINT, &format!("{workspace}/{id}"))
}

fn found_or_made(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    id: &str,
    metadata: Map<String, Value>,
) -> Result<Waitpoint> {
    if let Some(waitpoint) = found(&*tx.txn, workspace, id)? {
        return Ok(waitpoint);
    }
    let waitpoint = Waitpoint::new(id.to_owned(), metadata, tx.now);
    tx.fact_in(workspace, "waitpoint.changed", &waitpoint)?;
    Ok(waitpoint)
}

fn complete(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    mut waitpoint: Waitpoint,
    value: Value,
    said: Said,
) -> Result<Waitpoint> {
    let changed = waitpoint.complete(value, said, &tx.call.actor.id, tx.now);
    if changed { changed_to(tx, workspace, waitpoint) } else { Ok(waitpoint) }
}

fn cancel(
    tx: &mut Tx<'_>,
    workspace: &WorkspaceId,
    mut waitpoint: Waitpoint,
    said: Said,
) -> Result<Waitpoint> {
    let changed = waitpoint.cancel(said, &tx.call.actor.id, tx.now);
    if changed { changed_to(tx, workspace, waitpoint) } else { Ok(waitpoint) }
}

/// Records a change, and lets everyone go on whose wait that ends.
fn changed_to(tx: &mut Tx<'_>, workspace: &WorkspaceId, waitpoint: Waitpoint) -> Result<Waitpoint> {
    tx.fact_in(workspace, "waitpoint.changed", &waitpoint)?;
    let Waitpoint { id, status, settled_by, reason, .. } = &waitpoint;
    // Not its value, which is for whoever waits.
    let body = json!({ "waitpoint": id, "status": status, "by": settled_by, "reason": reason });
    tx.emit(EventKind::WaitpointSettled, ("waitpoint", id), Place::workspace(workspace), body)?;
    let query = DocQuery { workspace: Some(workspace.as_str()), ..DocQuery::of(kind::WAIT) };
    for doc in tx.txn.docs(&query).map_err(fault)? {
        let waiting: Waiting = doc.parse().map_err(fault)?;
        if waiting.wait.ids.contains(&waitpoint.id) {
            let waitpoints = all_of(&*tx.txn, workspace, &waiting.wait)?;
            if let Some(outcome) = waiting.wait.outcome(&waitpoints) {
                end_wait(tx, &doc, waiting, outcome)?;
            }
        }
    }
    Ok(waitpoint)
}

fn all_of(view: &dyn View, workspace: &WorkspaceId, wait: &Wait) -> Result<Vec<Waitpoint>> {
    let each = wait.ids.iter().map(|id| found(view, workspace, id));
    Ok(each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn end_wait(tx: &mut Tx<'_>, doc: &Doc, waiting: Waiting, outcome: Value) -> Result<()> {
    let id = TaskId::from(doc.task.as_deref().unwrap_or_default());
    let Some(mut task) = tx.get::<Task>(kind::TASK, id.as_str())? else { return Ok(()) };
    let answer = Answer { approved: true, args: None, reply: None, reason: None, record: Some(outcome) };
    let Waiting { key, request_id, .. } = waiting;
    tx.journal(&task, &JournalEntry::Answered { key, request_id, answer, decision: None })?;
    derive_status(tx, &mut task)?;
    tx.wakes.push(Wake::Answered(id));
    Ok(())
}

impl Harness {
    /// The waitpoints of a workspace, oldest first.
    pub async fn waitpoints(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        wanted: PageQuery,
    ) -> Result<Page<wire::Waitpoint>> {
        actor.require("approvals:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            visible_workspace(view, &actor, &workspace)?;
            let query = DocQuery { workspace: Some(workspace.as_str()), ..DocQuery::of(kind::WAITPOINT) };
            let waiting = waiting_in(view, &workspace)?;
            let found = page::<Waitpoint>(view, &actor, query, &wanted, |_| true)?;
            found.try_map(|one| Ok(shown(&workspace, one, &waiting)))
        })
        .await
    }

    pub async fn waitpoint(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        id: &str,
    ) -> Result<wire::Waitpoint> {
        actor.require("approvals:read")?;
        let (actor, id) = (actor.clone(), id.to_owned());
        self.look(move |view| {
            visible_workspace(view, &actor, &workspace)?;
            let found = found(view, &workspace, &id)?.ok_or_else(|| Error::not_found("waitpoint", &id))?;
            Ok(shown(&workspace, found, &waiting_in(view, &workspace)?))
        })
        .await
    }

    /// Completes a waitpoint. Doing it again with the same value changes nothing.
    pub async fn complete_waitpoint(
        &self,
        call: &Call,
        workspace: WorkspaceId,
        id: String,
        request: CompleteWaitpointRequest,
    ) -> Result<wire::Waitpoint> {
        let mut value = request.value;
        harn_policy::redact_value(&mut value);
        self.settle_waitpoint(call, workspace, id, move |tx, workspace, waitpoint| match waitpoint.status {
            WaitpointStatus::Open => complete(tx, workspace, waitpoint, value, Said::default()),
            WaitpointStatus::Completed if waitpoint.value == value => Ok(waitpoint),
            WaitpointStatus::Completed => Err(settled(&waitpoint, "completed", " with another value")),
            WaitpointStatus::Cancelled => Err(settled(&waitpoint, "cancelled", "")),
        })
        .await
    }

    /// Cancels a waitpoint. Doing it again changes nothing.
    pub async fn cancel_waitpoint(
        &self,
        call: &Call,
        workspace: WorkspaceId,
        id: String,
        request: CancelWaitpointRequest,
    ) -> Result<wire::Waitpoint> {
        let said = Said { by: None, reason: request.reason };
        self.settle_waitpoint(call, workspace, id, move |tx, workspace, waitpoint| match waitpoint.status {
            WaitpointStatus::Open => cancel(tx, workspace, waitpoint, said),
            WaitpointStatus::Cancelled => Ok(waitpoint),
            WaitpointStatus::Completed => Err(settled(&waitpoint, "completed", "")),
        })
        .await
    }

    async fn settle_waitpoint(
        &self,
        call: &Call,
        workspace: WorkspaceId,
        id: String,
        settle: impl FnOnce(&mut Tx<'_>, &WorkspaceId, Waitpoint) -> Result<Waitpoint> + Send + 'static,
    ) -> Result<wire::Waitpoint> {
        call.actor.require("approvals:write")?;
        refuse_agent(&call.actor)?;
        self.command(call, move |tx: &mut Tx<'_>| {
            visible_workspace(&*tx.txn, &tx.call.actor, &workspace)?;
            tx.once(Some(&workspace), |tx| {
                let waitpoint = found(&*tx.txn, &workspace, &id)?;
                let waitpoint = waitpoint.ok_or_else(|| Error::not_found("waitpoint", &id))?;
                let waiting = waiting_in(&*tx.txn, &workspace)?;
                let waitpoint = settle(tx, &workspace, waitpoint)?;
                Ok(shown(&workspace, waitpoint, &waiting))
            })
        })
        .await
    }

    /// Waits beyond their time are over.
    pub(crate) async fn end_waits(&self, now: Timestamp) -> Result<()> {
        let late = self.look(move |view| overdue(view, now)).await?;
        for id in late {
            self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
                // It may have ended since.
                let Some(doc) = tx.txn.doc(kind::WAIT, &id).map_err(fault)? else { return Ok(()) };
                let waiting: Waiting = doc.parse().map_err(fault)?;
                let workspace = WorkspaceId::from(doc.workspace.as_deref().unwrap_or_default());
                let waitpoints = all_of(&*tx.txn, &workspace, &waiting.wait)?;
                end_wait(tx, &doc, waiting, Wait::timed_out(&waitpoints))
            })
            .await?;
        }
        Ok(())
    }

    /// What a run wants to know.
    pub(crate) async fn tell(&self, task: Task, query: Query) -> Result<Value> {
        match query {
            Query::Requests { filters } => {
                self.look(move |view| asks::open_requests(view, &task, &filters).map(Value::Array)).await
            }
            Query::Latest { topic } => {
                self.look(move |view| latest(view, &task.workspace_id, topic.as_deref())).await
            }
            Query::Events { topic, after, limit, wait_ms: None } => {
                self.look(move |view| recorded(view, &task.workspace_id, &topic, after, limit)).await
            }
            Query::Events { topic, after, limit, wait_ms: Some(ms) } => {
                let found = self.next_recorded(&task.workspace_id, &topic, after, limit);
                let found = tokio::time::timeout(Duration::from_millis(ms), found).await;
                found.unwrap_or_else(|_| Ok(json!([])))
            }
        }
    }

    async fn next_recorded(
        &self,
        workspace: &WorkspaceId,
        topic: &str,
        after: u64,
        limit: usize,
    ) -> Result<Value> {
        let mut commits = self.log.tail().commits();
        loop {
            commits.borrow_and_update();
            let (workspace, topic) = (workspace.clone(), topic.to_owned());
            let found = self.look(move |view| recorded(view, &workspace, &topic, after, limit)).await?;
            if found != json!([]) {
                return Ok(found);
            }
            // The sender lives as long as the log, which we hold.
            let _ = commits.changed().await;
        }
    }
}

/// The first word about a waitpoint holds.
fn settled(waitpoint: &Waitpoint, how: &str, with: &str) -> Error {
    let by = waitpoint.settled_by.as_deref().unwrap_or("somebody");
    Error::conflict(format!("Waitpoint `{}` was {how} by `{by}` already{with}.", waitpoint.id))
        .detail("status", json!(waitpoint.status))
}

/// Which tasks of a workspace wait, each with what it waits for.
fn waiting_in(view: &dyn View, workspace: &WorkspaceId) -> Result<Vec<(TaskId, Wait)>> {
    let query = DocQuery { workspace: Some(workspace.as_str()), ..DocQuery::of(kind::WAIT) };
    let waits = view.docs(&query).map_err(fault)?.into_iter().map(|doc| {
        let waiting: Waiting = doc.parse().map_err(fault)?;
        Ok((TaskId::from(doc.task.as_deref().unwrap_or_default()), waiting.wait))
    });
    waits.collect()
}

fn shown(workspace: &WorkspaceId, found: Waitpoint, waiting: &[(TaskId, Wait)]) -> wire::Waitpoint {
    let tasks = waiting.iter().filter(|(_, wait)| wait.ids.contains(&found.id)).map(|(task, _)| task.clone());
    let tasks = tasks.collect();
    wire::Waitpoint::of(workspace.clone(), found, tasks)
}

fn overdue(view: &dyn View, now: Timestamp) -> Result<Vec<String>> {
    let query = DocQuery { tag: Some(tag::TIMED), ..DocQuery::of(kind::WAIT) };
    let mut late = Vec::new();
    for doc in view.docs(&query).map_err(fault)? {
        let waiting: Waiting = doc.parse().map_err(fault)?;
        if waiting.due.is_some_and(|due| due <= now) {
            late.push(doc.id);
        }
    }
    Ok(late)
}

fn latest(view: &dyn View, workspace: &WorkspaceId, topic: Option<&str>) -> Result<Value> {
    let newest = match topic {
        Some(topic) => view.doc(kind::TOPIC, &format!("{workspace}/{topic}")).map_err(fault)?,
        None => {
            let query = DocQuery { workspace: Some(workspace.as_str()), ..DocQuery::of(kind::TOPIC) };
            view.docs(&query).map_err(fault)?.pop()
        }
    };
    Ok(json!(newest.map(|doc| doc.position)))
}

fn recorded(
    view: &dyn View,
    workspace: &WorkspaceId,
    topic: &str,
    after: u64,
    limit: usize,
) -> Result<Value> {
    let (workspace, tag) = (Some(workspace.as_str()), Some(topic));
    let query = DocQuery { workspace, tag, after, limit, ..DocQuery::of(kind::RECORDED) };
    let mut found = Vec::new();
    for doc in view.docs(&query).map_err(fault)? {
        if let Some(row) = view.row(doc.position).map_err(fault)? {
            found.push(row.parse::<Recorded>().map_err(fault)?.told(row.id, row.at));
        }
    }
    Ok(found.into())
}
