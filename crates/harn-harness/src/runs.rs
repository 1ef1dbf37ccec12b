//! A run's port: loads what a driver needs, and turns what it reports into journal entries and events.

use std::sync::Arc;

use async_trait::async_trait;
use harn_core::ports::{RunError, RunPort, Signal};
use harn_core::run::{Answer, Completion, EffectKey, Entry, JournalEntry, Reply, RunRecord, Seam, Verdict};
use harn_core::tool::{Class, ToolCall, ToolOutcome, ToolResult};
use harn_core::{
    Code, Error, EventKind, Message, MessageInput, Part, Result, Role, Session, SessionId, Task, TaskId,
    Visibility,
};
use harn_log::{DocQuery, RowFilter, StagedBlob, View};
use serde_json::{Map, Value, json};

use crate::lifecycle::{self, append_message, deliver, derive_status, takes, tool_call_subject};
use crate::plan::{Decoded, RunPlan};
use crate::projection::InboxItem;
use crate::requests::{ask_approval, ask_question, decide_tool, manifest};
use crate::scheduler::RunSignal;
use crate::tx::{Place, Tx, get, kind};
use crate::{Call, Harness, fault};

/// The agent's own identity in events.
pub(crate) const AGENT: &str = "agent:harn";

pub(crate) struct HarnessPort {
    pub harness: Harness,
    pub task: TaskId,
    pub session: SessionId,
    pub signal: Arc<RunSignal>,
}

#[async_trait]
impl RunPort for HarnessPort {
    async fn load(&self) -> Result<RunRecord, RunError> {
        let (task, session) = (self.task.clone(), self.session.clone());
        let plan = Arc::clone(&self.harness.plan);
        self.harness.look(move |view| load(view, &plan, task, session)).await.map_err(RunError::Unavailable)
    }

    async fn commit(&self, entries: Vec<Entry>) -> Result<Vec<Reply>, RunError> {
        let pre_images = self.stage_pre_images(&entries).await?;
        let (task, harness) = (self.task.clone(), self.harness.clone());
        let call = Call::new(harn_core::Actor::owner(AGENT));
        let applied = self.harness.command_always(&call, move |tx: &mut Tx<'_>| {
            for blob in &pre_images {
                tx.txn.keep_blob(blob).map_err(fault)?;
            }
            RunCommit { harness: &harness, tx }.apply(&task, entries)
        });
        applied.await.map_err(|error| match error.code {
            // The task ended under the driver, or another driver has completed this effect.
            Code::InvalidStateTransition | Code::Conflict => RunError::Over,
            _ => RunError::Unavailable(error),
        })
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

    async fn signal(&self) -> Signal {
        self.signal.wait().await
    }
}

impl HarnessPort {
    /// Large pre-images are on disk before the commit that refers to them.
    async fn stage_pre_images(&self, entries: &[Entry]) -> Result<Vec<StagedBlob>, RunError> {
        let mut staged = Vec::new();
        for entry in entries {
            if let Entry::Begun { pre_image: Some(bytes), .. } = entry {
                let blob = self.harness.log.stage(bytes.clone()).await;
                staged.push(blob.map_err(|error| RunError::Unavailable(fault(error)))?);
            }
        }
        Ok(staged)
    }
}

fn load(view: &dyn View, plan: &RunPlan, task_id: TaskId, session_id: SessionId) -> Result<RunRecord> {
    let manifest = manifest(view, &task_id)?;
    let Decoded { system_prompt, tools } = plan.decode(view, &manifest)?;
    let query = DocQuery { session: Some(session_id.as_str()), ..DocQuery::of(kind::MESSAGE) };
    let docs = view.docs(&query).map_err(fault)?;
    let history = docs.iter().filter(|doc| doc.position <= manifest.history_up_to);
    let history = history.map(|doc| doc.parse().map_err(fault)).collect::<Result<_>>()?;
    let journal = journal(view, &task_id)?;
    Ok(RunRecord { task_id, session_id, manifest, system_prompt, tools, history, journal })
}

/// A run's entries in order, without its manifest.
fn journal(view: &dyn View, task: &TaskId) -> Result<Vec<JournalEntry>> {
    let rows = view.rows(&RowFilter::journal(task.as_str()), 0, usize::MAX).map_err(fault)?;
    rows.iter().skip(1).map(|row| row.parse().map_err(fault)).collect()
}

/// The call that an effect was requested with.
pub(crate) fn requested_call(tx: &Tx<'_>, task: &Task, wanted: &EffectKey) -> Result<ToolCall> {
    let found = journal(&*tx.txn, &task.id)?.into_iter().find_map(|entry| match entry {
        JournalEntry::Requested { key, call, .. } if key == *wanted => Some(call),
        _ => None,
    });
    found.ok_or_else(|| {
        Error::internal(format!("Effect `{wanted}` of task `{}` was never requested.", task.id))
    })
}

/// One commit of a driver.
struct RunCommit<'a, 'b> {
    harness: &'a Harness,
    tx: &'a mut Tx<'b>,
}

impl RunCommit<'_, '_> {
    fn apply(&mut self, id: &TaskId, entries: Vec<Entry>) -> Result<Vec<Reply>> {
        let mut task: Task =
            self.tx.get(kind::TASK, id.as_str())?.ok_or_else(|| Error::not_found("task", id))?;
        if task.status.is_terminal() {
            return Err(Error::new(Code::InvalidStateTransition, "The task is over."));
        }
        let session: Session = self
            .tx
            .get(kind::SESSION, task.session_id.as_str())?
            .ok_or_else(|| Error::not_found("session", &task.session_id))?;
        let mut replies = Vec::with_capacity(entries.len());
        for entry in entries {
            replies.push(self.entry(&mut task, &session, entry)?);
        }
        if !task.status.is_terminal() {
            derive_status(self.tx, &mut task)?;
        }
        Ok(replies)
    }

    fn entry(&mut self, task: &mut Task, session: &Session, entry: Entry) -> Result<Reply> {
        match entry {
            Entry::Requested { key, call, class } => self.requested(task, key, call, class),
            Entry::Question { key, call, prompt } => self.question(task, key, call, &prompt),
            Entry::Begun { key, attempt, args, plan, .. } => {
                let epoch = self.tx.txn.epoch();
                if key.as_str().starts_with("llm:") {
                    self.span(task, EventKind::SpanStarted, &key, json!({ "attempt": attempt }))?;
                }
                self.tx.journal(task, &JournalEntry::Begun { key, attempt, epoch, args, plan })?;
                Ok(Reply::Done)
            }
            Entry::Completed { key, completion } => {
                self.completed(task, session, &key, &completion)?;
                self.tx.journal(task, &JournalEntry::Completed { key, completion })?;
                Ok(Reply::Done)
            }
            Entry::TakeInbox { key, seam } => {
                let completion = Completion::Inbox { messages: deliver(self.tx, session, task, Some(seam))? };
                self.tx.journal(task, &JournalEntry::Completed { key, completion: completion.clone() })?;
                Ok(Reply::Delivered(completion))
            }
            Entry::Finished(end) => {
                lifecycle::finish(self.tx, &self.harness.plan, task, end)?;
                Ok(Reply::Done)
            }
        }
    }

    fn requested(&mut self, task: &Task, key: EffectKey, call: ToolCall, class: Class) -> Result<Reply> {
        let decision = decide_tool(self.tx, &self.harness.runner.tools(), task, &call.name)?;
        self.announce(task, &key, &call)?;
        let request = match decision.verdict {
            Verdict::Allow => None,
            Verdict::Ask => Some(ask_approval(self.tx, task, &key, &call, &decision)?),
            Verdict::Deny => {
                let body = json!({ "tool_call_id": call.id, "name": call.name, "input": call.args,
                                   "rule": decision.rule, "reason": decision.reason });
                self.tool_event(task, EventKind::ToolDenied, &key, &call.id, body)?;
                None
            }
        };
        let entry = JournalEntry::Requested { key: key.clone(), call, class, decision: decision.clone() };
        self.tx.journal(task, &entry)?;
        if let Some(request_id) = request {
            self.tx.journal(task, &JournalEntry::Asked { key, request_id })?;
        }
        Ok(Reply::Decided(decision))
    }

    fn question(&mut self, task: &Task, key: EffectKey, call: ToolCall, prompt: &str) -> Result<Reply> {
        let decision = decide_tool(self.tx, &self.harness.runner.tools(), task, &call.name)?;
        self.announce(task, &key, &call)?;
        let request_id = ask_question(self.tx, task, &key, &call, prompt)?;
        let class = Class::Local;
        self.tx.journal(task, &JournalEntry::Requested { key: key.clone(), call, class, decision })?;
        self.tx.journal(task, &JournalEntry::Asked { key, request_id })?;
        Ok(Reply::Done)
    }

    fn announce(&mut self, task: &Task, key: &EffectKey, call: &ToolCall) -> Result<()> {
        let body = json!({ "tool_call_id": call.id, "name": call.name, "input": call.args });
        self.tool_event(task, EventKind::AgentToolUse, key, &call.id, body.clone())?;
        self.tool_event(task, EventKind::ToolRequested, key, &call.id, body)
    }

    fn completed(
        &mut self,
        task: &Task,
        session: &Session,
        key: &EffectKey,
        completion: &Completion,
    ) -> Result<()> {
        match completion {
            Completion::Inbox { .. } => Ok(()),
            Completion::Model { answer } => {
                let parts = answer_parts(&answer.text, &answer.tool_calls);
                if !parts.is_empty() {
                    let input = MessageInput { role: Role::Assistant, parts, metadata: Map::new() };
                    append_message(self.tx, session, Some(task), input)?;
                }
                let body = json!({ "usage": answer.usage, "stop_reason": answer.stop });
                self.span(task, EventKind::SpanCompleted, key, body)
            }
            Completion::ModelFailed { failure } => {
                self.span(task, EventKind::SpanFailed, key, json!({ "failure": failure }))
            }
            Completion::Tool { result } => self.tool_completed(task, session, key, result),
        }
    }

    fn tool_completed(
        &mut self,
        task: &Task,
        session: &Session,
        key: &EffectKey,
        result: &ToolResult,
    ) -> Result<()> {
        let status = match result.outcome {
            ToolOutcome::Ok => harn_core::message::ToolStatus::Ok,
            _ => harn_core::message::ToolStatus::Error,
        };
        let part = Part::ToolResult {
            tool_call_id: result.call_id.clone(),
            output: result.output.clone(),
            status,
            visibility: Visibility::Public,
        };
        let input = MessageInput { role: Role::Tool, parts: vec![part], metadata: Map::new() };
        let message: Message = append_message(self.tx, session, Some(task), input)?;
        let outcome = match result.outcome {
            ToolOutcome::Ok => Some(EventKind::ToolCompleted),
            ToolOutcome::Error | ToolOutcome::Interrupted => Some(EventKind::ToolFailed),
            // Said when it was denied.
            ToolOutcome::Denied => None,
        };
        if let Some(kind) = outcome {
            let body =
                json!({ "tool_call_id": result.call_id, "name": result.name, "status": result.outcome });
            self.tool_event(task, kind, key, &result.call_id, body)?;
        }
        let body = json!({ "tool_call_id": result.call_id, "name": result.name, "status": status,
                           "output": result.output, "message_id": message.id });
        self.tool_event(task, EventKind::AgentToolResult, key, &result.call_id, body)
    }

    fn tool_event(
        &mut self,
        task: &Task,
        kind: EventKind,
        key: &EffectKey,
        call_id: &str,
        body: Value,
    ) -> Result<()> {
        let place = Place::task(task).span(key.span_id(&task.id));
        self.tx.emit(kind, ("tool_call", &tool_call_subject(task, call_id)), place, body)?;
        Ok(())
    }

    fn span(&mut self, task: &Task, kind: EventKind, key: &EffectKey, mut body: Value) -> Result<()> {
        let span = key.span_id(&task.id);
        body["key"] = json!(key);
        body["name"] = json!("model_call");
        let place = Place::task(task).span(span.clone());
        self.tx.emit(kind, ("span", &span), place, body)?;
        Ok(())
    }
}

fn answer_parts(text: &str, calls: &[ToolCall]) -> Vec<Part> {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    parts.extend(calls.iter().map(|call| Part::ToolCall {
        tool_call_id: call.id.clone(),
        name: call.name.clone(),
        input: call.args.clone(),
        visibility: Visibility::Public,
    }));
    parts
}

/// The session of a task, for waking it.
pub(crate) fn session_of(view: &dyn View, task: &TaskId) -> Result<SessionId> {
    let task: Task = get(view, kind::TASK, task.as_str())?.ok_or_else(|| Error::not_found("task", task))?;
    Ok(task.session_id)
}
