//! What runs have in flight: the documents that journal entries become.

use std::collections::BTreeMap;

use harn_core::chat::ModelRef;
use harn_core::errand::Wait;
use harn_core::run::{EffectKey, JournalEntry, Spend, Verdict};
use harn_core::{PermissionRequest, RequestId, RequestSource, Task, Timestamp};
use harn_log::{Doc, DocQuery, Docs, Result, Row};
use serde::{Deserialize, Serialize};

use crate::projection::put;
use crate::tx::{kind, tag};

/// How far an effect of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Policy or a person has said no.
    Refused,
    /// Policy or a person has said yes; nothing has happened yet.
    Allowed,
    /// A person has to approve.
    Approval,
    /// A person has to reply.
    Question,
    /// The person has replied.
    Answered,
    /// It may have happened.
    Begun,
}

/// One effect that is in flight. Each has a document of its own, so that a run with many of them does not write all of
/// them again for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenEffect {
    pub key: EffectKey,
    pub phase: Phase,
    /// The model that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calling: Option<ModelRef>,
    /// When the timer goes off, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

impl OpenEffect {
    fn new(key: EffectKey, phase: Phase) -> Self {
        Self { key, phase, calling: None, due: None }
    }
}

/// The document of an effect.
pub fn effect_id(task: &str, key: &EffectKey) -> String {
    format!("{task}/{key}")
}

/// A run as a whole; the task's status derives from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// How many effects are in flight, and how many of them wait for a yes or for a reply.
    #[serde(default)]
    pub open: u64,
    #[serde(default)]
    pub approvals: u64,
    #[serde(default)]
    pub questions: u64,
    /// When the run's time is up, and how many seconds it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<(Timestamp, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// By the run itself and by all that it has started.
    #[serde(default)]
    pub spent: Spend,
    /// Set aside for calls that are under way; those of children under `task/key`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reserved: BTreeMap<String, Spend>,
}

impl RunState {
    /// What is spent or may still be spent by what is under way, except for this call.
    pub fn committed_beside(&self, call: &str) -> Spend {
        let mut total = self.spent;
        let others = self.reserved.iter().filter(|(held, _)| *held != call);
        others.for_each(|(_, reserved)| total += *reserved);
        total
    }

    fn count(&mut self, before: Option<Phase>, after: Option<Phase>) {
        let is = |phase: Option<Phase>, wanted| u64::from(phase == Some(wanted));
        self.open = self.open + u64::from(after.is_some()) - u64::from(before.is_some());
        self.approvals = self.approvals + is(after, Phase::Approval) - is(before, Phase::Approval);
        self.questions = self.questions + is(after, Phase::Question) - is(before, Phase::Question);
    }
}

/// A run that waits for waitpoints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    pub key: EffectKey,
    pub request_id: RequestId,
    pub wait: Wait,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

pub fn apply(docs: &mut dyn Docs, row: &Row) -> Result<()> {
    let Some(task) = &row.task else { return Ok(()) };
    let entry: JournalEntry = row.parse()?;
    if let JournalEntry::Manifest { manifest } = entry {
        let seconds = manifest.limits.budget.seconds;
        let deadline = seconds.map(|seconds| (row.at.plus_seconds(seconds), seconds));
        let owner: Option<Task> = docs.get(kind::TASK, task)?.map(|doc| doc.parse()).transpose()?;
        let workspace = owner.map(|task| task.workspace_id.to_string());
        let run = RunState { deadline, workspace, ..RunState::default() };
        return put(docs, row, kind::RUN, task, &run, |doc| {
            doc.task = None;
            doc.tag = deadline.map(|_| tag::TIMED.to_owned());
        });
    }
    let Some(doc) = docs.get(kind::RUN, task)? else { return Ok(()) };
    let before: RunState = doc.parse()?;
    let mut step = Step { docs, row, task, run: before.clone() };
    step.entry(entry)?;
    let Step { docs, run, .. } = step;
    if run == before {
        return Ok(());
    }
    docs.replace(Doc { body: serde_json::to_string(&run)?, ..doc })
}

/// A run that is over has nothing in flight.
pub fn forget(docs: &mut dyn Docs, task: &str) -> Result<()> {
    for kind in [kind::WAIT, kind::EFFECT] {
        for doc in docs.find(&DocQuery { task: Some(task), ..DocQuery::of(kind) })? {
            docs.remove(kind, &doc.id)?;
        }
    }
    docs.remove(kind::RUN, task)
}

/// What one journal entry changes.
struct Step<'a> {
    docs: &'a mut dyn Docs,
    row: &'a Row,
    task: &'a str,
    run: RunState,
}

impl Step<'_> {
    fn entry(&mut self, entry: JournalEntry) -> Result<()> {
        match entry {
            JournalEntry::Requested { key, decision, .. } => {
                let phase = match decision.action {
                    Verdict::Allow => Phase::Allowed,
                    Verdict::Ask => Phase::Approval,
                    Verdict::Deny => Phase::Refused,
                };
                self.open(OpenEffect::new(key, phase))
            }
            JournalEntry::Asked { key, request_id } => {
                let approval = match self.docs.get(kind::REQUEST, request_id.as_str())? {
                    Some(request) => asks_for_approval(&request.parse()?),
                    None => false,
                };
                self.open(OpenEffect::new(key, if approval { Phase::Approval } else { Phase::Question }))
            }
            JournalEntry::Answered { key, answer, .. } => {
                self.docs.remove(kind::WAIT, &effect_id(self.task, &key))?;
                let phase = match self.phase(&key)? {
                    Some(Phase::Question) => Phase::Answered,
                    _ if answer.approved => Phase::Allowed,
                    _ => Phase::Refused,
                };
                self.open(OpenEffect::new(key, phase))
            }
            JournalEntry::Begun { key, reserved, args, .. } => {
                let mut calling = None;
                if let Some(reserved) = reserved {
                    // Only model calls set something aside; their arguments name the model.
                    calling = serde_json::from_value(args).ok();
                    self.run.reserved.insert(key.to_string(), reserved);
                    let held = effect_id(self.task, &key);
                    each_ancestor(self.docs, self.task, |run| {
                        run.reserved.insert(held.clone(), reserved);
                    })?;
                }
                self.open(OpenEffect { calling, ..OpenEffect::new(key, Phase::Begun) })
            }
            JournalEntry::Completed { key, spent, .. } => {
                let held = self.run.reserved.remove(key.as_str()).is_some();
                self.run.spent += spent.unwrap_or_default();
                if held || spent.is_some() {
                    let held = effect_id(self.task, &key);
                    each_ancestor(self.docs, self.task, |run| {
                        run.reserved.remove(&held);
                        run.spent += spent.unwrap_or_default();
                    })?;
                }
                self.close(&key)
            }
            JournalEntry::Timer { key, due, .. } => {
                self.open(OpenEffect { due: Some(due), ..OpenEffect::new(key, Phase::Allowed) })
            }
            JournalEntry::Waiting { key, request_id, wait, due, .. } => {
                let id = effect_id(self.task, &key);
                let waiting = Waiting { key: key.clone(), request_id, wait, due };
                put(self.docs, self.row, kind::WAIT, &id, &waiting, |doc| {
                    doc.workspace = self.run.workspace.clone();
                    doc.tag = due.map(|_| tag::TIMED.to_owned());
                })?;
                self.open(OpenEffect::new(key, Phase::Allowed))
            }
            JournalEntry::Dropped { key } => self.close(&key),
            JournalEntry::Manifest { .. } | JournalEntry::Output { .. } => Ok(()),
        }
    }

    fn phase(&self, key: &EffectKey) -> Result<Option<Phase>> {
        let Some(doc) = self.docs.get(kind::EFFECT, &effect_id(self.task, key))? else { return Ok(None) };
        Ok(Some(doc.parse::<OpenEffect>()?.phase))
    }

    fn open(&mut self, effect: OpenEffect) -> Result<()> {
        self.run.count(self.phase(&effect.key)?, Some(effect.phase));
        put(self.docs, self.row, kind::EFFECT, &effect_id(self.task, &effect.key), &effect, |doc| {
            // Whoever keeps the time looks at effects with this tag.
            doc.tag = effect.due.map(|_| tag::TIMED.to_owned());
        })
    }

    fn close(&mut self, key: &EffectKey) -> Result<()> {
        let id = effect_id(self.task, key);
        if key.kind() == "waitpoint" {
            self.docs.remove(kind::WAIT, &id)?;
        }
        // What only looks at something is completed without having been opened.
        let phase = self.phase(key)?;
        if phase.is_some() {
            self.run.count(phase, None);
            self.docs.remove(kind::EFFECT, &id)?;
        }
        Ok(())
    }
}

/// A person's yes is wanted, rather than an answer or a helping hand.
fn asks_for_approval(request: &PermissionRequest) -> bool {
    request.source == RequestSource::Acp
        || matches!(request.action["kind"].as_str(), Some("approval" | "dual_control"))
}

/// Whoever started a run pays for it too.
fn each_ancestor(docs: &mut dyn Docs, task: &str, change: impl Fn(&mut RunState)) -> Result<()> {
    let parent_of = |docs: &dyn Docs, task: &str| -> Result<Option<String>> {
        let Some(doc) = docs.get(kind::TASK, task)? else { return Ok(None) };
        Ok(doc.parse::<Task>()?.parent_task_id.map(|id| id.to_string()))
    };
    let mut next = parent_of(docs, task)?;
    while let Some(parent) = next {
        if let Some(doc) = docs.get(kind::RUN, &parent)? {
            let mut run: RunState = doc.parse()?;
            change(&mut run);
            docs.replace(Doc { body: serde_json::to_string(&run)?, ..doc })?;
        }
        next = parent_of(docs, &parent)?;
    }
    Ok(())
}
