//! One commit of a driver: what it reports becomes journal entries and events, under policy and budget.

use harn_core::ask::{Ask, Asker};
use harn_core::chat::{ModelRef, ProviderToolUse, Thinking};
use harn_core::decision::PathFact;
use harn_core::errand::Errand;
use harn_core::message::ToolStatus;
use harn_core::run::{
    Attachment, Compacted, Compaction, Completed, Completion, EffectKey, Entry, JournalEntry, Manifest,
    Reply, Shown, Spend, Verdict,
};
use harn_core::tool::{Class, OwnTool, ToolCall, ToolOutcome, ToolResult};
use harn_core::{
    Artifact, ArtifactId, ArtifactKind, ArtifactTag, Code, Decision, EffectKind, Error, EventKind, Message,
    MessageInput, Part, RequestId, Result, Role, Session, Task, TaskId, Timestamp, Visibility,
};
use harn_log::DocQuery;
use serde_json::{Map, Value, json};

use crate::asks::ask_people;
use crate::in_flight::{OpenEffect, Phase, RunState, effect_id};
use crate::law::{Case, check_budget};
use crate::lifecycle::{self, append_message, deliver, derive_status, tool_call_subject};
use crate::projection::InboxItem;
use crate::requests::{ask_approval, manifest};
use crate::runs::Facts;
use crate::tx::{Place, Tx, kind, payload};
use crate::waitpoints::{self, Ran};
use crate::{Harness, clip, script_tells};

/// Who ran a tool that none of ours ran.
const PROVIDER: &str = "provider_native";

pub(crate) struct RunCommit<'a, 'b> {
    harness: &'a Harness,
    pub(crate) tx: &'a mut Tx<'b>,
    facts: &'a Facts,
    pub(crate) task: Task,
    pub(crate) session: Session,
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
            Entry::Requested { key, effect, call, class } => self.requested(key, effect, call, class),
            Entry::Ask { key, ask } => self.ask(key, &ask),
            Entry::OwnTool { key, tool } => self.own_tool(key, *tool),
            Entry::Errand { key, call } => self.errand(key, call),
            Entry::Begun { key, attempt, args, plan, .. } => {
                self.require_allowed(&key)?;
                let epoch = self.tx.txn.epoch();
                let (decision, reserved) = (None, None);
                self.journal(&JournalEntry::Begun { key, attempt, epoch, args, plan, decision, reserved })?;
                Ok(Reply::Done)
            }
            Entry::BegunModel { .. } => self.begun_model(entry),
            Entry::Completed(completed) => self.took_place(*completed),
            Entry::Timer { key, due } => self.timer(key, due),
            Entry::Dropped { key } => {
                if let Some(Phase::Approval | Phase::Question) = self.phase(&key)? {
                    lifecycle::withdraw_for(self.tx, &self.task, &key)?;
                }
                self.journal(&JournalEntry::Dropped { key })?;
                Ok(Reply::Done)
            }
            Entry::Output { shown } => self.output(shown),
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
                lifecycle::finish(self.tx, &self.harness.plan, &self.session, &mut self.task, end)?;
                Ok(Reply::Done)
            }
        }
    }

    fn took_place(&mut self, completed: Completed) -> Result<Reply> {
        let Completed { key, completion, changes, attachments, read, at } = completed;
        self.attach(attachments)?;
        let spent = self.spent(&key, &completion)?;
        // What only looks at something is told by the journal, not by events.
        match &read {
            Some((call, _)) => self.script_tells(&key, call, &completion)?,
            None => self.completed(&key, &completion, spent)?,
        }
        let (call, decision) = read.unzip();
        let entry = JournalEntry::Completed { key, completion, changes, decision, spent, call, at };
        self.journal(&entry)?;
        Ok(Reply::Done)
    }

    fn timer(&mut self, key: EffectKey, due: Timestamp) -> Result<Reply> {
        let decision = match self.gate(&key, EffectKind::Timer, "timer", json!({ "due": due }))? {
            Gate::Open(decision) => decision,
            Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
        };
        self.journal(&JournalEntry::Timer { key, due, decision })?;
        Ok(Reply::Done)
    }

    /// Whoever watches sees it with the commit of all that came before.
    fn output(&mut self, shown: Vec<Shown>) -> Result<Reply> {
        for Shown { to, text } in &shown {
            for piece in clip::pieces(text) {
                let (subject, place) = (("task", self.task.id.as_str()), Place::task(&self.task));
                self.tx.emit(EventKind::ScriptOutput, subject, place, json!({ "to": to, "text": piece }))?;
            }
        }
        self.journal(&JournalEntry::Output { shown })?;
        Ok(Reply::Done)
    }

    /// What a script does on its way is no part of the conversation; only what it says at the end is.
    fn is_script(&self) -> bool {
        self.manifest.script.is_some()
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
            call: None,
            at: None,
        };
        self.journal(&entry)?;
        Ok(Reply::Delivered(completion))
    }

    fn open(&self, key: &EffectKey) -> Result<Option<OpenEffect>> {
        self.tx.get(kind::EFFECT, &effect_id(self.task.id.as_str(), key))
    }

    fn phase(&self, key: &EffectKey) -> Result<Option<Phase>> {
        Ok(self.open(key)?.map(|effect| effect.phase))
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

    fn requested(
        &mut self,
        key: EffectKey,
        effect: EffectKind,
        call: ToolCall,
        class: Class,
    ) -> Result<Reply> {
        let nowhere: &[PathFact] = &[];
        let paths = self.facts.get(&key).map_or(nowhere, Vec::as_slice);
        let decision = self.decide(Case { effect, ..Case::tool(&call, paths) });
        self.announce(&key, &call, &decision)?;
        self.record(key, call, class, &decision, None)?;
        Ok(Reply::Decided(decision))
    }

    /// A tool that a script handles itself, judged as it describes it.
    fn own_tool(&mut self, key: EffectKey, tool: OwnTool) -> Result<Reply> {
        let nowhere: &[PathFact] = &[];
        let paths = self.facts.get(&key).map_or(nowhere, Vec::as_slice);
        let decision = self.decide(Case { own: Some(&tool), ..Case::tool(&tool.call, paths) });
        self.announce(&key, &tool.call, &decision)?;
        self.record(key, tool.call.clone(), Class::Local, &decision, Some(&tool))?;
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
        let decision = self.decide(Case { effect, name, args: &args, model, paths: &[], own: None });
        if decision.action == Verdict::Allow {
            return Ok(Gate::Open(Some(decision)));
        }
        let call = ToolCall { id: key.to_string(), name: name.to_owned(), args };
        self.record(key.clone(), call, Class::Local, &decision, None)?;
        Ok(Gate::Shut(decision))
    }

    /// Journals a decision, and asks people or tells them where it is not a plain yes.
    fn record(
        &mut self,
        key: EffectKey,
        call: ToolCall,
        class: Class,
        decision: &Decision,
        own: Option<&OwnTool>,
    ) -> Result<()> {
        let asked = match decision.action {
            Verdict::Allow => None,
            Verdict::Ask => {
                Some(ask_approval(self.tx, &self.task, &self.manifest, &key, &call, decision, own)?)
            }
            Verdict::Deny => {
                let body = json!({ "tool_call_id": call.id, "name": call.name, "input": clip::args(&call.args),
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

    fn ask(&mut self, key: EffectKey, ask: &Ask) -> Result<Reply> {
        let call = &ask.call;
        let gate = self.gate(&key, EffectKind::Question, &call.name, Value::Object(call.args.clone()))?;
        let decision = match gate {
            Gate::Open(decision) => decision,
            Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
        };
        if let Some(decision) = &decision {
            if ask.asker == Asker::Model {
                self.announce(&key, call, decision)?;
            }
            let (key, call, class, decision) = (key.clone(), call.clone(), Class::Local, decision.clone());
            self.journal(&JournalEntry::Requested { key, call, class, decision })?;
        }
        let request_id = ask_people(self.tx, &self.task, &key, ask, decision.as_ref())?;
        self.journal(&JournalEntry::Asked { key, request_id })?;
        Ok(Reply::Done)
    }

    fn errand(&mut self, key: EffectKey, call: ToolCall) -> Result<Reply> {
        let errand = match Errand::parse(&call) {
            Ok(errand) => errand,
            Err(problem) => return self.ran(key, call.clone(), refusal(call, &problem), None),
        };
        let gate = self.gate(&key, EffectKind::Call, &call.name, Value::Object(call.args.clone()))?;
        let decision = match gate {
            Gate::Open(decision) => decision,
            Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
        };
        match waitpoints::run(self.tx, &self.task.workspace_id, errand)? {
            Ran::Done(answer) => self.ran(key, call, Completion::Answered { answer }, decision),
            Ran::Later(wait) => {
                let (request_id, due) = (RequestId::generate(), wait.due(self.tx.now));
                let body = json!({ "waitpoints": wait.ids, "mode": wait.mode, "due": due });
                let place = Place::task(&self.task).span(key.span_id(&self.task.id));
                let subject = ("task", self.task.id.as_str());
                self.tx.emit(EventKind::WaitpointAwaited, subject, place, body)?;
                self.journal(&JournalEntry::Waiting { key, request_id, call, wait, due, decision })?;
                Ok(Reply::Done)
            }
        }
    }

    /// An errand that is over with its own commit.
    fn ran(
        &mut self,
        key: EffectKey,
        call: ToolCall,
        completion: Completion,
        decision: Option<Decision>,
    ) -> Result<Reply> {
        let (changes, spent, at) = (Vec::new(), None, None);
        let (told, call) = (completion.clone(), Some(call));
        self.journal(&JournalEntry::Completed { key, completion, changes, decision, spent, call, at })?;
        Ok(Reply::Delivered(told))
    }

    fn begun_model(&mut self, entry: Entry) -> Result<Reply> {
        let Entry::BegunModel { key, attempt, model, messages, input_tokens, output_tokens, prices } = entry
        else {
            return Err(Error::internal("This is not a model call."));
        };
        let args = json!({ "provider": model.provider, "model": model.model, "messages": messages });
        let gate = self.gate_to(Some(&model), &key, EffectKind::Model, "model", args.clone())?;
        let decision = match gate {
            Gate::Open(decision) => decision,
            Gate::Shut(decision) => return Ok(Reply::Decided(decision)),
        };
        let reserved = Spend::at_most(input_tokens, output_tokens, prices);
        if let Some(refusal) = check_budget(self.tx, &self.task, &model, prices, &key, reserved)? {
            let args = args.as_object().cloned().unwrap_or_default();
            let call = ToolCall { id: key.to_string(), name: "model".into(), args };
            self.record(key, call, Class::Local, &refusal, None)?;
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

    /// What an answer has really cost. A failed call is counted as nothing: providers do not charge for it. Of one that
    /// was interrupted nobody knows, so all that was set aside counts.
    fn spent(&self, key: &EffectKey, completion: &Completion) -> Result<Option<Spend>> {
        let answer = match completion {
            Completion::Model { answer } => answer,
            Completion::ModelFailed { failure, .. } if failure.code == "interrupted" => {
                let run: Option<RunState> = self.tx.get(kind::RUN, self.task.id.as_str())?;
                return Ok(run.and_then(|run| run.reserved.get(key.as_str()).copied()));
            }
            _ => return Ok(None),
        };
        let micro_usd = match &answer.answered_by {
            Some(by) => by.micro_usd,
            None => {
                let asked = self.open(key)?.and_then(|effect| effect.calling);
                let prices = asked.and_then(|model| self.manifest.prices_of(&model));
                prices.and_then(|prices| prices.cost(&answer.usage))
            }
        };
        let (input_tokens, output_tokens) = (answer.usage.input_tokens, answer.usage.output_tokens);
        Ok(Some(Spend { input_tokens, output_tokens, micro_usd }))
    }

    fn announce(&mut self, key: &EffectKey, call: &ToolCall, decision: &Decision) -> Result<()> {
        let input = clip::args(&call.args);
        let mut body = json!({ "tool_call_id": call.id, "name": call.name, "input": input });
        // A script calls its host by itself, no model has asked for it.
        if decision.context.effect != EffectKind::Call {
            self.tool_event(EventKind::AgentToolUse, key, &call.id, body.clone())?;
        }
        body["policy_decision"] = json!(decision);
        self.tool_event(EventKind::ToolRequested, key, &call.id, body)
    }

    fn completed(&mut self, key: &EffectKey, completion: &Completion, spent: Option<Spend>) -> Result<()> {
        match completion {
            Completion::Inbox { .. } | Completion::Compacted { .. } => Ok(()),
            Completion::Time { .. } | Completion::Answered { .. } => Ok(()),
            Completion::Model { answer } => {
                let parts = answer_parts(&answer.text, &answer.tool_calls);
                // A summary is no part of the conversation; it is told by the compaction.
                let is_said = !self.is_script() && !key.as_str().starts_with("llm:compact:");
                let message = if !parts.is_empty() && is_said {
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
            Completion::Tool { result } if key.kind() == "tool" => self.tool_completed(key, result),
            Completion::Tool { result } => self.call_completed(key, result),
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
        let message: Option<Message> = match self.is_script() {
            true => None,
            false => {
                let input = MessageInput { role: Role::Tool, parts: vec![part], metadata: Map::new() };
                Some(append_message(self.tx, &self.session, Some(&self.task), input)?)
            }
        };
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
        let mut body = json!({ "tool_call_id": result.call_id, "name": result.name, "status": status,
                               "output": result.output });
        if let Some(message) = message {
            body["message_id"] = json!(message.id);
        }
        self.tool_event(EventKind::AgentToolResult, key, &result.call_id, body)
    }

    /// A call of a script is no part of the conversation.
    fn call_completed(&mut self, key: &EffectKey, result: &ToolResult) -> Result<()> {
        if script_tells::is_word(&result.name) {
            let call = crate::runs::requested_call(self.tx, &self.task, key)?;
            return self.script_tells(key, &call, &Completion::Tool { result: result.clone() });
        }
        let kind = match result.outcome {
            ToolOutcome::Ok => EventKind::ToolCompleted,
            ToolOutcome::Error | ToolOutcome::Interrupted => EventKind::ToolFailed,
            ToolOutcome::Denied => return Ok(()),
        };
        let body = json!({ "tool_call_id": result.call_id, "name": result.name, "status": result.outcome });
        self.tool_event(kind, key, &result.call_id, body)
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

    pub(crate) fn tool_event(
        &mut self,
        kind: EventKind,
        key: &EffectKey,
        call_id: &str,
        body: Value,
    ) -> Result<()> {
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

fn refusal(call: ToolCall, problem: &str) -> Completion {
    let ToolCall { id: call_id, name, .. } = call;
    let (outcome, output) = (ToolOutcome::Error, json!({ "error": problem }));
    Completion::Tool { result: ToolResult { call_id, name, outcome, output, media: Vec::new() } }
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
