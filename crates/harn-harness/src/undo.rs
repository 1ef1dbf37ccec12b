//! Undo: puts back what a task did to files, from the pre-images and stashes that its journal names.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use harn_core::ports::{Restored, WorkspaceFiles};
use harn_core::run::{Change, Completion, EffectKey, JournalEntry, Node, Plan};
use harn_core::tool::ToolOutcome;
use harn_core::{
    Code, Error, EventKind, MessageInput, Part, Result, Role, Session, SessionState, Task, TaskId,
};
use harn_log::{Log, View};
use harn_wire::agents::{UndoResult, UndoTag, UndonePath};
use serde_json::{Map, json};

use crate::lifecycle::append_message;
use crate::requests::manifest;
use crate::runs::journal;
use crate::tasks::visible_task;
use crate::tx::{Place, Tx, kind, payload};
use crate::{Call, Harness, fault};

/// What a task did, as its journal has it.
#[derive(Default)]
struct Deeds {
    /// In the order in which they happened.
    changes: Vec<Change>,
    /// Listings from before commands whose end nobody saw; what changed since has to be looked for.
    unknown: Vec<BTreeMap<String, Node>>,
    notes: Vec<String>,
}

impl Harness {
    /// Puts back what a finished task did, path by path, and tells the session. What has changed since stays.
    pub async fn undo_task(&self, call: &Call, id: TaskId) -> Result<UndoResult> {
        call.actor.require("tasks:write")?;
        let (actor, wanted) = (call.actor.clone(), id.clone());
        let (task, root, deeds) = self
            .look(move |view| {
                let task = visible_task(view, &actor, &wanted)?;
                if !task.status.is_terminal() {
                    let message = format!("Task `{wanted}` is still running. Cancel it, then undo it.");
                    return Err(Error::new(Code::Conflict, message));
                }
                // A task that was cancelled before it started has done nothing.
                let root = if task.started_at.is_some() { manifest(view, &wanted)?.root } else { None };
                let deeds = deeds(view, &wanted)?;
                Ok((task, root, deeds))
            })
            .await?;
        let (files, log) = (Arc::clone(&self.files), Arc::clone(&self.log));
        let result = crate::blocking(move || put_back(&*files, &log, root.as_deref(), id, deeds)).await?;
        self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(Some(&task.workspace_id.clone()), |tx| {
                tell(tx, &task, &result)?;
                Ok(result)
            })
        })
        .await
    }
}

fn deeds(view: &dyn View, task: &TaskId) -> Result<Deeds> {
    let mut deeds = Deeds::default();
    let mut plans: BTreeMap<EffectKey, Plan> = BTreeMap::new();
    for entry in journal(view, task)? {
        match entry {
            JournalEntry::Begun { key, plan: Some(plan), .. } => {
                plans.insert(key, plan);
            }
            JournalEntry::Completed { key, completion, changes, .. } => {
                let (done, unfinished) = match &completion {
                    // A command in the background went on when its call was over.
                    Completion::Tool { result } => (result.outcome, result.output.get("handle").is_some()),
                    _ => continue,
                };
                match plans.remove(&key) {
                    Some(plan) if done == ToolOutcome::Interrupted || unfinished => {
                        interrupted(view, plan, &mut deeds)?;
                    }
                    Some(Plan::Write(plan)) if done == ToolOutcome::Ok => {
                        deeds.changes.extend(plan.changes())
                    }
                    Some(Plan::Stash(stash)) => deeds.notes.extend(stash.left_out),
                    _ => {}
                }
                deeds.changes.extend(changes);
            }
            _ => {}
        }
    }
    for plan in plans.into_values() {
        interrupted(view, plan, &mut deeds)?;
    }
    deeds.notes.dedup();
    Ok(deeds)
}

/// Nobody saw how this ended, so what there is now has to tell.
fn interrupted(view: &dyn View, plan: Plan, deeds: &mut Deeds) -> Result<()> {
    match plan {
        Plan::Write(plan) => deeds.changes.extend(plan.changes()),
        Plan::Stash(stash) => {
            deeds.notes.extend(stash.left_out);
            deeds.notes.push(
                "A command was interrupted or ran in the background, so everything that changed since it began counts as its doing."
                    .into(),
            );
            let listing = stash.listing.strip_prefix("sha256:").unwrap_or(&stash.listing);
            let text = crate::plan::text(view, listing)?;
            deeds.unknown.push(serde_json::from_str(&text).map_err(|error| fault(error.into()))?);
        }
    }
    Ok(())
}

fn put_back(
    files: &dyn WorkspaceFiles,
    log: &Arc<dyn Log>,
    root: Option<&str>,
    task_id: TaskId,
    mut deeds: Deeds,
) -> Result<UndoResult> {
    let mut paths = Vec::new();
    if let Some(root) = root {
        for listing in &deeds.unknown {
            deeds.changes.extend(files.changes_since(root, listing)?);
        }
        let kept = |hash: &str| kept(&**log, hash);
        let restored = files.restore(root, &deeds.changes, &kept)?;
        paths = restored.into_iter().map(|(path, result)| UndonePath { path, result }).collect();
    }
    Ok(UndoResult { object: UndoTag::Tag, task_id, paths, notes: deeds.notes })
}

fn kept(log: &dyn Log, hash: &str) -> Option<Bytes> {
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash).to_owned();
    let found = harn_log::glance(log, move |view| match view.blob(&hash)? {
        Some(blob) => blob.bytes().map(|bytes| Some(Bytes::copy_from_slice(&bytes))),
        None => Ok(None),
    });
    found.unwrap_or_else(|error: harn_log::LogError| {
        tracing::warn!(%error, "content that was kept for undo could not be read");
        None
    })
}

/// The event, and a message that the next run of the session will read.
fn tell(tx: &mut Tx<'_>, task: &Task, result: &UndoResult) -> Result<()> {
    let body = payload("undo", result)?;
    tx.emit(EventKind::TaskUndone, ("task", task.id.as_str()), Place::task(task), body)?;
    let session: Option<Session> = tx.get(kind::SESSION, task.session_id.as_str())?;
    let Some(session) = session.filter(|session| session.state != SessionState::Closed) else {
        return Ok(());
    };
    let list = |wanted: fn(&Restored) -> bool| {
        let paths = result.paths.iter().filter(|path| wanted(&path.result)).map(|path| path.path.as_str());
        paths.collect::<Vec<_>>().join(", ")
    };
    let done = list(|restored| matches!(restored, Restored::Done));
    let refused = list(|restored| matches!(restored, Restored::Refused(_)));
    let mut text = format!("What task {} did to files was undone by {}.", task.id, tx.call.actor.id);
    if !done.is_empty() {
        text.push_str(&format!(" Back as before: {done}."));
    }
    if !refused.is_empty() {
        text.push_str(&format!(" Not put back: {refused}."));
    }
    text.push_str(" Look at the files again before you rely on what you remember of them.");
    let metadata = json!({ "undone_task_id": task.id }).as_object().cloned().unwrap_or_else(Map::new);
    append_message(
        tx,
        &session,
        None,
        MessageInput { role: Role::System, parts: vec![Part::text(&text)], metadata },
    )?;
    Ok(())
}
