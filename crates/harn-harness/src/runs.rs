//! A run's port: loads what a driver needs, and turns what it reports into journal entries and events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use harn_core::decision::{EffectKind, PathFact};
use harn_core::errand::Query;
use harn_core::ports::{Located, RunError, RunPort, Signal};
use harn_core::run::{
    Answer, Decision, EffectKey, Entry, JournalEntry, Manifest, Reply, RunRecord, Seam, Verdict,
};
use harn_core::tool::ToolCall;
use harn_core::{Artifact, ArtifactId, Code, Error, Result, SessionId, Task, TaskId};
use harn_log::{DocQuery, RowFilter, StagedBlob, View};

use crate::artifacts::{artifact_of_run, content};
use crate::in_flight::effect_id;
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

/// How long a run that waits for people stays in memory.
const LINGERS: Duration = Duration::from_secs(2);

/// The agent's own identity in events.
pub(crate) const AGENT: &str = "agent:harn";

pub(crate) struct HarnessPort {
    pub harness: Harness,
    pub task: TaskId,
    pub session: SessionId,
    pub signal: Arc<RunSignal>,
    /// What policy has to know about the run, once it is loaded.
    pub judged: OnceLock<(Task, Manifest)>,
    /// Up to where the journal has been read.
    pub read: AtomicU64,
}

#[async_trait]
impl RunPort for HarnessPort {
    async fn load(&self) -> Result<RunRecord, RunError> {
        let (task, session) = (self.task.clone(), self.session.clone());
        let plan = Arc::clone(&self.harness.plan);
        let loaded = self.harness.look(move |view| {
            let head = view.head().map_err(fault)?;
            Ok((load(view, &plan, task, session)?, head))
        });
        let (record, head) = loaded.await.map_err(RunError::Unavailable)?;
        self.read.store(head, Ordering::SeqCst);
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
        if self.harness.scheduler.is_closed() {
            let gone = Error::new(Code::ServiceUnavailable, "The harness has shut down.");
            return Err(RunError::Unavailable(gone));
        }
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

    fn verdict(&self, effect: EffectKind, name: &str, at: &Located) -> Verdict {
        let Some((task, manifest)) = self.judged.get() else { return Verdict::Deny };
        let fact = at.read();
        let args = serde_json::Map::from_iter([("path".to_owned(), fact.asked.as_str().into())]);
        let case = Case { effect, name, args: &args, model: None, paths: &[fact], own: None };
        self.harness.law.verdict(self.harness.options.clock.now(), task, manifest, case)
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

    fn lingers(&self) -> Duration {
        LINGERS
    }

    async fn answers(&self) -> Result<Vec<(EffectKey, Answer)>, RunError> {
        let (task, after) = (self.task.clone(), self.read.load(Ordering::SeqCst));
        let look = self.harness.look(move |view| {
            let head = view.head().map_err(fault)?;
            let rows = view.rows(&RowFilter::journal(task.as_str()), after, usize::MAX).map_err(fault)?;
            let mut answers = Vec::new();
            for row in rows.iter().filter(|row| row.name == "answered") {
                if let JournalEntry::Answered { key, answer, .. } = row.parse().map_err(fault)? {
                    answers.push((key, answer));
                }
            }
            Ok((answers, head))
        });
        let (answers, head) = look.await.map_err(RunError::Unavailable)?;
        self.read.store(head, Ordering::SeqCst);
        Ok(answers)
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

/// The call that an effect in flight was requested with, which is what opened it.
pub(crate) fn requested_call(tx: &Tx<'_>, task: &Task, key: &EffectKey) -> Result<ToolCall> {
    let id = effect_id(task.id.as_str(), key);
    let doc = tx.txn.doc(kind::EFFECT, &id).map_err(fault)?;
    let row = doc.and_then(|doc| tx.txn.row(doc.position).transpose()).transpose().map_err(fault)?;
    match row.map(|row| row.parse()).transpose().map_err(fault)? {
        Some(JournalEntry::Requested { call, .. }) => Ok(call),
        _ => Err(never_requested(task, key)),
    }
}

fn never_requested(task: &Task, key: &EffectKey) -> Error {
    Error::internal(format!("Effect `{key}` of task `{}` was never requested.", task.id))
}

/// The session of a task, for waking it.
pub(crate) fn session_of(view: &dyn View, task: &TaskId) -> Result<SessionId> {
    let task: Task = get(view, kind::TASK, task.as_str())?.ok_or_else(|| Error::not_found("task", task))?;
    Ok(task.session_id)
}
