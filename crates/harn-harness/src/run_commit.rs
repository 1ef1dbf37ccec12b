//! One commit of a driver: what it reports becomes journal entries and events, under policy and budget.

use harn_core::chat::{ModelRef, ProviderToolUse, Thinking};
use harn_core::decision::PathFact;
use harn_core::message::ToolStatus;
use harn_core::run::{
    Attachment, Compacted, Compaction, Completion, EffectKey, Entry, JournalEntry, Manifest, Reply, Spend,
    Verdict,
};
use harn_core::tool::{Class, ToolCall, ToolOutcome, ToolResult};
use harn_core::{
    Artifact, ArtifactId, ArtifactKind, ArtifactTag, Code, Decision, EffectKind, Error, EventKind, Message,
    MessageInput, Part, Result, Role, Session, Task, TaskId, Visibility,
};
use harn_log::DocQuery;
use serde_json::{Map, Value, json};

use crate::Harness;
use crate::law::{Case, check_budget};
use crate::lifecycle::{self, append_message, deliver, derive_status, tool_call_subject};
use crate::projection::{InboxItem, Phase, RunState};
use crate::requests::{ask_approval, ask_question, manifest};
use crate::runs::Facts;
use crate::tx::{Place, Tx, kind, payload};

/// Who ran a tool that none of ours ran.
const PROVIDER: &str = "provider_native";

pub(crate) struct RunCommit<'a, 'b> {
    harness: &'a Harness,
    tx: &'a mut Tx<'b>,
    facts: &'a Facts,
    task: Task,
    session: Session,
    manifest: Manifest,
}

/// What policy says about an effect that is about to happen.
enum Gate {
    /// It may. The decision is new, or was recorded when the effect was requested.
    Open(Option<Decision>),
    /// It may not, or not yet; that is recorded.
    Shut(Decision),
}

impl<'a, 'b> RunCommit<'a, 'b> {
    pub fn apply(
        tx: &'a mut Tx<'b>,
        harness: &'a Harness,
        facts: &'a Facts,
        id: &TaskId,
        entries: Vec<Entry>,
    ) -> Result<Vec<Reply>> {
        let task: Task = tx.get(kind::TASK, id.as_str())?.ok_or_else(|| Error::not_found("task", id))?;
        if task.status.is_terminal() {
            return Err(Error::new(Code::InvalidStateTransition, "The task is over."));
        }
        let session: Session = tx
            .get(kind::SESSION, task.session_id.as_str())?
            .ok_or_else(|| Error::not_found("session", &task.session_id))?;
        let manifest = manifest(&*tx.txn, id)?;
        let mut commit = Self { harness, tx, facts, task, session, manifest };
        let replies = entries.into_iter().map(|entry| commit.entry(entry)).collect::<Result<_>>()?;
        if !commit.task.status.is_terminal() {
            derive_status(commit.tx, &mut commit.task)?;
        }
        Ok(replies)
    }

    fn entry(&mut self, entry: Entry) -> Result<Reply> {
        match entry {
            Entry::Requested { key, call, class } => self.requested(key, call, class),
            Entry::Question { key, call, prompt } => self.question(key, call, &prompt),
            Entry::Begun { key, attempt, args, plan, .. } => {
                self.require_allowed(&key)?;
                let epoch = self.tx.txn.epoch();
                let (decision, reserved) = (None, None);
                self.journal(&JournalEntry::Begun { key, attempt, epoch, args, plan, decision, reserved })?;
                Ok(Reply::Done)
            }
            Entry::BegunModel { .. } => self.begun_model(entry),
            Entry::Completed { key, completion, changes, attachments } => {
                self.attach(attachments)?;
                let spent = self.spent(&key, &completion)?;
                self.completed(&key, &completion, spent)?;
                let decision = None;
                self.journal(&JournalEntry::Completed { key, completion, changes, decision, spent })?;
                Ok(Reply::Done)
            }
            Entry::TakeInbox { key, seam } => {
                let args = json!({ "seam": seam });
                let decision = match self.gate(&key, EffectKind::Inbox, "inbox", args)? {
                    Gate::Open(decision) => decision,
                    Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
                };
                let messages = deliver(self.tx, &self.session, &self.task, Some(seam), decision.as_ref())?;
                self.delivered(key, Completion::Inbox { messages }, decision)
            }
            Entry::Compact { key, compaction, archive } => self.compact(key, &compaction, &archive),
            Entry::Finished(end) => {
                lifecycle::finish(self.tx, &self.harness.plan, &mut self.task, end)?;
                Ok(Reply::Done)
            }
        }
    }

    fn journal(&mut self, entry: &JournalEntry) -> Result<()> {
        self.tx.journal(&self.task, entry).map(|_| ())
    }

    /// An effect whose commit is its completion.
    fn delivered(
        &mut self,
        key: EffectKey,
        completion: Completion,
        decision: Option<Decision>,
    ) -> Result<Reply> {
        let entry = JournalEntry::Completed {
            key,
            completion: completion.clone(),
            changes: Vec::new(),
            decision,
            spent: None,
        };
        self.journal(&entry)?;
        Ok(Reply::Delivered(completion))
    }

    fn phase(&self, key: &EffectKey) -> Result<Option<Phase>> {
        let run: Option<RunState> = self.tx.get(kind::RUN, self.task.id.as_str())?;
        Ok(run.and_then(|run| run.open.get(key).copied()))
    }

    /// A driver that would perform what nobody has allowed is stopped here.
    fn require_allowed(&self, key: &EffectKey) -> Result<()> {
        match self.phase(key)? {
            Some(Phase::Allowed | Phase::Begun) => Ok(()),
            _ => Err(Error::internal(format!("Effect `{key}` was begun without a decision that allows it."))),
        }
    }

    fn decide(&self, case: Case<'_>) -> Decision {
        self.harness.law.decide(self.tx.now, &self.task, &self.manifest, case)
    }

    fn requested(&mut self, key: EffectKey, call: ToolCall, class: Class) -> Result<Reply> {
        let nowhere: &[PathFact] = &[];
        let paths = self.facts.get(&key).map_or(nowhere, Vec::as_slice);
        let decision = self.decide(Case::tool(&call, paths));
        self.announce(&key, &call, &decision)?;
        self.record(key, call, class, &decision)?;
        Ok(Reply::Decided(decision))
    }

    /// For effects that are nothing but a commit, or begin with one: decides, and records what is not allowed.
    fn gate(&mut self, key: &EffectKey, effect: EffectKind, name: &str, args: Value) -> Result<Gate> {
        self.gate_to(None, key, effect, name, args)
    }

    /// The same for a call of a model: the one that is asked, which need not be the run's first.
    fn gate_to(
        &mut self,
        model: Option<&ModelRef>,
        key: &EffectKey,
        effect: EffectKind,
        name: &str,
        args: Value,
    ) -> Result<Gate> {
        if let Some(Phase::Allowed | Phase::Begun) = self.phase(key)? {
            return Ok(Gate::Open(None));
        }
        let args = args.as_object().cloned().unwrap_or_default();
        let decision = self.decide(Case { effect, name, args: &args, model, paths: &[] });
        if decision.action == Verdict::Allow {
            return Ok(Gate::Open(Some(decision)));
        }
        let call = ToolCall { id: key.to_string(), name: name.to_owned(), args };
        self.record(key.clone(), call, Class::Local, &decision)?;
        Ok(Gate::Shut(decision))
    }

    /// Journals a decision, and asks people or tells them where it is not a plain yes.
    fn record(&mut self, key: EffectKey, call: ToolCall, class: Class, decision: &Decision) -> Result<()> {
        let asked = match decision.action {
            Verdict::Allow => None,
            Verdict::Ask => Some(ask_approval(self.tx, &self.task, &self.manifest, &key, &call, decision)?),
            Verdict::Deny => {
                let body = json!({ "tool_call_id": call.id, "name": call.name, "input": call.args,
                                   "reason": decision.reason, "policy_decision": decision });
                self.tool_event(EventKind::ToolDenied, &key, &call.id, body)?;
                None
            }
        };
        let decision = decision.clone();
        self.journal(&JournalEntry::Requested { key: key.clone(), call, class, decision })?;
        if let Some(request_id) = asked {
            self.journal(&JournalEntry::Asked { key, request_id })?;
        }
        Ok(())
    }

    fn question(&mut self, key: EffectKey, call: ToolCall, prompt: &str) -> Result<Reply> {
        let decision =
            match self.gate(&key, EffectKind::Question, &call.name, Value::Object(call.args.clone()))? {
                Gate::Open(decision) => decision,
                Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
            };
        if let Some(decision) = decision {
            self.announce(&key, &call, &decision)?;
            let entry = JournalEntry::Requested {
                key: key.clone(),
                call: call.clone(),
                class: Class::Local,
                decision,
            };
            self.journal(&entry)?;
        }
        let request_id = ask_question(self.tx, &self.task, &key, &call, prompt)?;
        self.journal(&JournalEntry::Asked { key, request_id })?;
        Ok(Reply::Done)
    }

    fn begun_model(&mut self, entry: Entry) -> Result<Reply> {
        let Entry::BegunModel { key, attempt, model, messages, input_tokens, output_tokens } = entry else {
            return Err(Error::internal("This is not a model call."));
        };
        let args = json!({ "provider": model.provider, "model": model.model, "messages": messages });
        let gate = self.gate_to(Some(&model), &key, EffectKind::Model, "model", args.clone())?;
        let decision = match gate {
            Gate::Open(decision) => decision,
            Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
        };
        let prices = self.manifest.prices_of(&model);
        let micro_usd = prices.and_then(|prices| prices.reserve(input_tokens, output_tokens));
        let reserved = Spend { input_tokens, output_tokens, micro_usd };
        if let Some(refusal) = check_budget(self.tx, &self.task, &model, prices, &key, reserved)? {
            let args = args.as_object().cloned().unwrap_or_default();
            let call = ToolCall { id: key.to_string(), name: "model".into(), args };
            self.record(key, call, Class::Local, &refusal)?;
            return Ok(Reply::Decided(refusal));
        }
        let mut body = json!({ "attempt": attempt, "model": model });
        if self.manifest.thinking != Thinking::Auto {
            body["thinking"] = json!(self.manifest.thinking);
        }
        if let Some(decision) = &decision {
            body["policy_decision"] = json!(decision);
        }
        self.span(EventKind::SpanStarted, &key, body)?;
        let (epoch, plan, reserved) = (self.tx.txn.epoch(), None, Some(reserved));
        self.journal(&JournalEntry::Begun { key, attempt, epoch, args, plan, decision, reserved })?;
        Ok(Reply::Done)
    }

    /// What an answer has really cost. A failed call is counted as nothing: providers do not charge for it.
    fn spent(&self, key: &EffectKey, completion: &Completion) -> Result<Option<Spend>> {
        let Completion::Model { answer } = completion else { return Ok(None) };
        let run: Option<RunState> = self.tx.get(kind::RUN, self.task.id.as_str())?;
        let asked = run.and_then(|run| run.calling.get(key).cloned());
        let micro_usd = asked
            .and_then(|model| self.manifest.prices_of(&model))
            .and_then(|prices| prices.cost(&answer.usage));
        let (input_tokens, output_tokens) = (answer.usage.input_tokens, answer.usage.output_tokens);
        Ok(Some(Spend { input_tokens, output_tokens, micro_usd }))
    }

    fn announce(&mut self, key: &EffectKey, call: &ToolCall, decision: &Decision) -> Result<()> {
        let mut body = json!({ "tool_call_id": call.id, "name": call.name, "input": call.args });
        self.tool_event(EventKind::AgentToolUse, key, &call.id, body.clone())?;
        body["policy_decision"] = json!(decision);
        self.tool_event(EventKind::ToolRequested, key, &call.id, body)
    }

    fn completed(&mut self, key: &EffectKey, completion: &Completion, spent: Option<Spend>) -> Result<()> {
        match completion {
            Completion::Inbox { .. } | Completion::Compacted { .. } => Ok(()),
            Completion::Model { answer } => {
                let parts = answer_parts(&answer.text, &answer.tool_calls);
                // A summary is no part of the conversation; it is told by the compaction.
                let message = if !parts.is_empty() && !key.as_str().starts_with("llm:compact:") {
                    let input = MessageInput { role: Role::Assistant, parts, metadata: Map::new() };
                    Some(append_message(self.tx, &self.session, Some(&self.task), input)?)
                } else {
                    None
                };
                self.provider_tools(key, &answer.provider_tools, message.as_ref())?;
                let cost = spent.and_then(|spent| spent.micro_usd);
                let body =
                    json!({ "usage": answer.usage, "stop_reason": answer.stop, "cost_micro_usd": cost });
                self.span(EventKind::SpanCompleted, key, body)
            }
            Completion::ModelFailed { failure, partial_calls } => {
                let mut body = json!({ "failure": failure });
                if !partial_calls.is_empty() {
                    body["partial_calls"] = json!(partial_calls);
                }
                self.span(EventKind::SpanFailed, key, body)
            }
            Completion::Tool { result } => self.tool_completed(key, result),
        }
    }

    /// Tools that the provider ran on its side: they have happened, and are told as such.
    fn provider_tools(
        &mut self,
        key: &EffectKey,
        used: &[ProviderToolUse],
        message: Option<&Message>,
    ) -> Result<()> {
        for (n, ProviderToolUse { name, input, output }) in used.iter().enumerate() {
            let id = format!("{key}:{}", n + 1);
            let input = if input.is_object() { input.clone() } else { json!({ "value": input }) };
            let body = json!({ "tool_call_id": id, "name": name, "input": input, "executor": PROVIDER });
            self.tool_event(EventKind::AgentToolUse, key, &id, body)?;
            let Some(output) = output else { continue };
            let mut body = json!({ "tool_call_id": id, "name": name, "status": ToolStatus::Ok,
                                   "output": output, "executor": PROVIDER });
            if let Some(message) = message {
                body["message_id"] = json!(message.id);
            }
            self.tool_event(EventKind::AgentToolResult, key, &id, body)?;
        }
        Ok(())
    }

    fn tool_completed(&mut self, key: &EffectKey, result: &ToolResult) -> Result<()> {
        let status = match result.outcome {
            ToolOutcome::Ok => ToolStatus::Ok,
            _ => ToolStatus::Error,
        };
        let part = Part::ToolResult {
            tool_call_id: result.call_id.clone(),
            output: result.output.clone(),
            status,
            visibility: Visibility::Public,
        };
        let input = MessageInput { role: Role::Tool, parts: vec![part], metadata: Map::new() };
        let message: Message = append_message(self.tx, &self.session, Some(&self.task), input)?;
        let outcome = match result.outcome {
            ToolOutcome::Ok => Some(EventKind::ToolCompleted),
            ToolOutcome::Error | ToolOutcome::Interrupted => Some(EventKind::ToolFailed),
            // Said when it was denied.
            ToolOutcome::Denied => None,
        };
        if let Some(kind) = outcome {
            let body =
                json!({ "tool_call_id": result.call_id, "name": result.name, "status": result.outcome });
            self.tool_event(kind, key, &result.call_id, body)?;
        }
        let body = json!({ "tool_call_id": result.call_id, "name": result.name, "status": status,
                           "output": result.output, "message_id": message.id });
        self.tool_event(EventKind::AgentToolResult, key, &result.call_id, body)
    }

    fn attach(&mut self, attachments: Vec<Attachment>) -> Result<()> {
        for Attachment { id, kind, mime_type, bytes } in attachments {
            self.new_artifact(id, kind, mime_type, &bytes)?;
        }
        Ok(())
    }

    /// Its content was staged with the commit.
    fn new_artifact(&mut self, id: ArtifactId, kind: ArtifactKind, mime: &str, bytes: &[u8]) -> Result<()> {
        let artifact = Artifact {
            id,
            object: ArtifactTag::Tag,
            created_at: self.tx.now,
            updated_at: self.tx.now,
            metadata: Map::new(),
            kind,
            mime_type: mime.to_owned(),
            uri: None,
            visibility: Visibility::Public,
            sha256: Some(harn_core::hash::Sha256Hash::of(bytes).to_string()),
            size_bytes: Some(bytes.len() as u64),
            workspace_id: Some(self.task.workspace_id.clone()),
            session_id: Some(self.task.session_id.clone()),
            task_id: Some(self.task.id.clone()),
            receipt_id: None,
        };
        let body = payload("artifact", &artifact)?;
        let subject = ("artifact", artifact.id.as_str());
        self.tx.emit(EventKind::ArtifactCreated, subject, Place::task(&self.task), body)?;
        Ok(())
    }

    fn compact(&mut self, key: EffectKey, compaction: &Compaction, archive: &[u8]) -> Result<Reply> {
        let args = json!({ "messages": compaction.dropped.len(), "kept": compaction.kept });
        let decision = match self.gate(&key, EffectKind::Compaction, "compaction", args)? {
            Gate::Open(decision) => decision,
            Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
        };
        let artifact_id = ArtifactId::generate();
        self.new_artifact(artifact_id.clone(), ArtifactKind::Snapshot, "application/json", archive)?;
        let summary = harn_core::hash::Sha256Hash::of(compaction.summary.as_bytes()).to_string();
        let compacted = Compacted { from: self.kept_from(compaction.kept)?, summary, artifact_id };
        let mut body = json!({
            "mode": "auto",
            "reason": "context_window",
            "strategy": compaction.strategy,
            "archived_messages": compaction.dropped.len(),
            "estimated_tokens_before": compaction.tokens_before,
            "estimated_tokens_after": compaction.tokens_after,
            "snapshot_artifact_id": compacted.artifact_id,
            "summary": &*compaction.summary,
            "compacted": compacted,
        });
        if let Some(decision) = &decision {
            body["policy_decision"] = json!(decision);
        }
        let subject = ("session", self.session.id.as_str());
        self.tx.emit(EventKind::SessionCompacted, subject, Place::task(&self.task), body)?;
        self.delivered(key, Completion::Compacted { artifact_id: Some(compacted.artifact_id) }, decision)
    }

    /// Where in the session's transcript the newest `kept` messages begin. Those still in the inbox are not counted.
    fn kept_from(&self, kept: usize) -> Result<u64> {
        let session = Some(self.session.id.as_str());
        let waiting: Vec<InboxItem> = self.tx.find(&DocQuery { session, ..DocQuery::of(kind::INBOX) })?;
        let told =
            self.tx.txn.docs(&DocQuery { session, ..DocQuery::of(kind::MESSAGE) }).map_err(crate::fault)?;
        let told: Vec<u64> = told
            .iter()
            .filter(|doc| !waiting.iter().any(|item| item.message.id.as_str() == doc.id))
            .map(|doc| doc.position)
            .collect();
        let first = told.len().saturating_sub(kept);
        Ok(told.get(first).copied().unwrap_or(u64::MAX))
    }

    fn tool_event(&mut self, kind: EventKind, key: &EffectKey, call_id: &str, body: Value) -> Result<()> {
        let place = Place::task(&self.task).span(key.span_id(&self.task.id));
        let subject = tool_call_subject(&self.task, call_id);
        self.tx.emit(kind, ("tool_call", &subject), place, body).map(|_| ())
    }

    fn span(&mut self, kind: EventKind, key: &EffectKey, mut body: Value) -> Result<()> {
        let span = key.span_id(&self.task.id);
        body["key"] = json!(key);
        body["name"] = json!("model_call");
        let place = Place::task(&self.task).span(span.clone());
        self.tx.emit(kind, ("span", &span), place, body).map(|_| ())
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
