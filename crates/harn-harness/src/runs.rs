//! A run's port: loads what a driver needs, and turns what it reports into journal entries and events.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use harn_core::decision::{Access, EffectKind, PathFact};
use harn_core::errand::Query;
use harn_core::ports::{RunError, RunPort, Signal};
use harn_core::run::{
    Answer, Decision, EffectKey, Entry, JournalEntry, Manifest, Reply, RunRecord, Seam, Verdict,
};
use harn_core::tool::ToolCall;
use harn_core::{Artifact, ArtifactId, Code, Error, Result, SessionId, Task, TaskId};
use harn_log::{DocQuery, RowFilter, StagedBlob, View};

use crate::artifacts::{artifact_of_run, content};
use crate::law::Case;
use crate::lifecycle::takes;
use crate::plan::{Decoded, RunPlan};
use crate::projection::InboxItem;
use crate::requests::manifest;
use crate::run_commit::RunCommit;
use crate::scheduler::RunSignal;
use crate::tx::{Tx, get, kind};
use crate::{Call, Harness, fault};

/// Where the paths of requested calls lead.
pub(crate) type Facts = HashMap<EffectKey, Vec<PathFact>>;

/// The agent's own identity in events.
pub(crate) const AGENT: &str = "agent:harn";

pub(crate) struct HarnessPort {
    pub harness: Harness,
    pub task: TaskId,
    pub session: SessionId,
    pub signal: Arc<RunSignal>,
    /// What policy has to know about the run, once it is loaded.
    pub judged: OnceLock<(Task, Manifest)>,
}

#[async_trait]
impl RunPort for HarnessPort {
    async fn load(&self) -> Result<RunRecord, RunError> {
        let (task, session) = (self.task.clone(), self.session.clone());
        let plan = Arc::clone(&self.harness.plan);
        let record = self.harness.look(move |view| load(view, &plan, task, session)).await;
        let record = record.map_err(RunError::Unavailable)?;
        let id = self.task.clone();
        let task: Option<Task> = self
            .harness
            .glance(move |view| get(view, kind::TASK, id.as_str()))
            .map_err(RunError::Unavailable)?;
        let task = task.ok_or(RunError::Over)?;
        self.judged.get_or_init(|| (task, record.manifest.clone()));
        Ok(record)
    }

    async fn commit(&self, entries: Vec<Entry>) -> Result<Vec<Reply>, RunError> {
        let staged = self.stage(&entries).await?;
        let facts = self.locate(&entries).await?;
        let (task, harness) = (self.task.clone(), self.harness.clone());
        let call = Call::new(harn_core::Actor::owner(AGENT));
        let applied = self.harness.command_always(&call, move |tx: &mut Tx<'_>| {
            for blob in &staged {
                tx.txn.keep_blob(blob).map_err(fault)?;
            }
            RunCommit::apply(tx, &harness, &facts, &task, entries)
        });
        applied.await.map_err(|error| match error.code {
            // The task ended under the driver, or another driver has completed this effect.
            Code::InvalidStateTransition | Code::Conflict => RunError::Over,
            _ => RunError::Unavailable(error),
        })
    }

    async fn decide(&self, effect: EffectKind, call: &ToolCall) -> Result<Decision, RunError> {
        let Some((task, manifest)) = self.judged.get() else { return Err(RunError::Over) };
        let paths = self.harness.locate(manifest.root.clone(), effect, call.clone()).await;
        let paths = paths.map_err(RunError::Unavailable)?;
        let now = self.harness.options.clock.now();
        Ok(self.harness.law.decide(now, task, manifest, Case { effect, ..Case::tool(call, &paths) }))
    }

    async fn keep(&self, blobs: Vec<Bytes>) -> Result<(), RunError> {
        let mut staged = Vec::with_capacity(blobs.len());
        for bytes in blobs {
            let blob = self.harness.log.stage(bytes).await;
            staged.push(blob.map_err(|error| RunError::Unavailable(fault(error)))?);
        }
        let call = Call::new(harn_core::Actor::owner(AGENT));
        let kept = self.harness.command_always(&call, move |tx: &mut Tx<'_>| {
            staged.iter().try_for_each(|blob| tx.txn.keep_blob(blob).map_err(fault))
        });
        kept.await.map_err(RunError::Unavailable)
    }

    async fn artifact_record(&self, id: &ArtifactId) -> Result<Option<Artifact>, RunError> {
        let Some((task, _)) = self.judged.get().cloned() else { return Ok(None) };
        let id = id.clone();
        let look = self.harness.glance(move |view| artifact_of_run(view, &task, &id));
        look.map_err(RunError::Unavailable)
    }

    async fn artifact(&self, id: &ArtifactId) -> Result<Option<Bytes>, RunError> {
        let Some((task, _)) = self.judged.get().cloned() else { return Ok(None) };
        let id = id.clone();
        let look = self.harness.look(move |view| {
            let Some(artifact) = artifact_of_run(view, &task, &id)? else { return Ok(None) };
            content(view, &artifact)?.map(|blob| blob.bytes().map_err(fault)).transpose()
        });
        look.await.map_err(RunError::Unavailable)
    }

    fn may_read(&self, path: &str) -> bool {
        let Some((task, manifest)) = self.judged.get() else { return false };
        let args = serde_json::json!({ "path": path }).as_object().cloned().unwrap_or_default();
        let call = ToolCall { id: String::new(), name: "read_file".into(), args };
        let fact = PathFact {
            asked: path.to_owned(),
            access: Access::Read,
            workspace_path: Some(path.to_owned()),
            host_path: None,
            through_link: false,
        };
        let now = self.harness.options.clock.now();
        let decision = self.harness.law.decide(now, task, manifest, Case::tool(&call, &[fact]));
        decision.action == Verdict::Allow
    }

    async fn inbox_waiting(&self, seam: Seam) -> Result<bool, RunError> {
        let session = self.session.clone();
        let look = self.harness.glance(move |view| {
            let query = DocQuery { session: Some(session.as_str()), ..DocQuery::of(kind::INBOX) };
            let docs = view.docs(&query).map_err(fault)?;
            let items = docs.iter().map(|doc| doc.parse::<InboxItem>().map_err(fault));
            Ok(items.collect::<Result<Vec<_>>>()?.iter().any(|item| takes(Some(seam), item.delivery)))
        });
        look.map_err(RunError::Unavailable)
    }

    async fn answers(&self) -> Result<Vec<(EffectKey, Answer)>, RunError> {
        let task = self.task.clone();
        let look = self.harness.look(move |view| {
            let entries = journal(view, &task)?;
            Ok(entries
                .into_iter()
                .filter_map(|entry| match entry {
                    JournalEntry::Answered { key, answer, .. } => Some((key, answer)),
                    _ => None,
                })
                .collect())
        });
        look.await.map_err(RunError::Unavailable)
    }

    async fn tell(&self, query: Query) -> Result<serde_json::Value, RunError> {
        let Some((task, _)) = self.judged.get().cloned() else { return Err(RunError::Over) };
        self.harness.tell(task, query).await.map_err(RunError::Unavailable)
    }

    async fn signal(&self) -> Signal {
        self.signal.wait().await
    }
}

impl HarnessPort {
    /// Large content is on disk before the commit that refers to it.
    async fn stage(&self, entries: &[Entry]) -> Result<Vec<StagedBlob>, RunError> {
        let mut staged = Vec::new();
        for bytes in entries.iter().flat_map(contents) {
            let blob = self.harness.log.stage(bytes).await;
            staged.push(blob.map_err(|error| RunError::Unavailable(fault(error)))?);
        }
        Ok(staged)
    }

    /// Where the paths of requested calls lead, for policy. The file system is not looked at within a commit.
    async fn locate(&self, entries: &[Entry]) -> Result<Facts, RunError> {
        let mut facts = Facts::new();
        for entry in entries {
            let root = || self.judged.get().and_then(|(_, manifest)| manifest.root.clone());
            let (key, found) = match entry {
                Entry::Requested { key, effect, call, .. } => {
                    (key, self.harness.locate(root(), *effect, call.clone()).await)
                }
                Entry::OwnTool { key, tool } => {
                    (key, self.harness.locate_own(root(), (**tool).clone()).await)
                }
                _ => continue,
            };
            facts.insert(key.clone(), found.map_err(RunError::Unavailable)?);
        }
        Ok(facts)
    }
}

/// What an entry brings along that is kept as a blob.
fn contents(entry: &Entry) -> Vec<Bytes> {
    match entry {
        Entry::Begun { pre_image: Some(bytes), .. } => vec![bytes.clone()],
        Entry::Completed(completed) => {
            completed.attachments.iter().map(|attachment| attachment.bytes.clone()).collect()
        }
        Entry::Compact { archive, compaction, .. } => {
            vec![archive.clone(), Bytes::copy_from_slice(compaction.summary.as_bytes())]
        }
        _ => Vec::new(),
    }
}

fn load(view: &dyn View, plan: &RunPlan, task_id: TaskId, session_id: SessionId) -> Result<RunRecord> {
    let manifest = manifest(view, &task_id)?;
    let Decoded { system_prompt, tools } = plan.decode(view, &manifest)?;
    let query = DocQuery { session: Some(session_id.as_str()), ..DocQuery::of(kind::MESSAGE) };
    let docs = view.docs(&query).map_err(fault)?;
    let from = manifest.compacted.as_ref().map_or(0, |compacted| compacted.from);
    let history = docs.iter().filter(|doc| (from..=manifest.history_up_to).contains(&doc.position));
    let history = history.map(|doc| doc.parse().map_err(fault)).collect::<Result<_>>()?;
    let summary = match &manifest.compacted {
        Some(compacted) => Some(crate::plan::text(view, &compacted.summary)?),
        None => None,
    };
    let journal = journal(view, &task_id)?;
    let script = manifest.script.as_deref().map(|hash| crate::scripts::load(view, hash)).transpose()?;
    Ok(RunRecord { task_id, session_id, manifest, system_prompt, tools, script, summary, history, journal })
}

/// A run's entries in order, without its manifest.
pub(crate) fn journal(view: &dyn View, task: &TaskId) -> Result<Vec<JournalEntry>> {
    let rows = view.rows(&RowFilter::journal(task.as_str()), 0, usize::MAX).map_err(fault)?;
    rows.iter().skip(1).map(|row| row.parse().map_err(fault)).collect()
}

/// The call that an effect was requested with.
pub(crate) fn requested_call(tx: &Tx<'_>, task: &Task, wanted: &EffectKey) -> Result<ToolCall> {
    let found = requested_calls(tx, task)?.remove(wanted);
    found.ok_or_else(|| never_requested(task, wanted))
}

/// The calls that the effects of a run were requested with, from one reading of its journal.
pub(crate) fn requested_calls(tx: &Tx<'_>, task: &Task) -> Result<HashMap<EffectKey, ToolCall>> {
    let mut calls = HashMap::new();
    for entry in journal(&*tx.txn, &task.id)? {
        if let JournalEntry::Requested { key, call, .. } = entry {
            calls.entry(key).or_insert(call);
        }
    }
    Ok(calls)
}

pub(crate) fn never_requested(task: &Task, key: &EffectKey) -> Error {
    Error::internal(format!("Effect `{key}` of task `{}` was never requested.", task.id))
}

/// The session of a task, for waking it.
pub(crate) fn session_of(view: &dyn View, task: &TaskId) -> Result<SessionId> {
    let task: Task = get(view, kind::TASK, task.as_str())?.ok_or_else(|| Error::not_found("task", task))?;
    Ok(task.session_id)
}
