//! From an effect to its performance: the same way for every kind. Requested, decided, perhaps approved, begun.
//!
//! Where an effect is nothing but a commit (the inbox, a question, a compaction) or begins with one (a model call),
//! policy decides within that commit, so the usual case costs no flush of its own.

use std::sync::Arc;

use harn_core::ask::{Ask, Asker, Settled};
use harn_core::chat::{ModelRequest, Sampling};
use harn_core::decision::{EffectKind, RuleSource};
use harn_core::ports::RunError;
use harn_core::run::{Answer, Completion, Decision, Effect, EffectKey, Entry, Plan, Request, Verdict};
use harn_core::tool::{Class, ToolCall, ToolOutcome, ToolSpec};
use harn_core::{Clock, Failure, SystemClock};
use serde_json::{Map, Value, json};

use crate::agent::ASK_USER;
use crate::driver::{After, Begun, Driver, Progress, Wait};
use crate::perform::{denied, failed, failure_of, interrupted, tool_completion};
use crate::tokens;
use crate::tools::{Prepared, Reconciled, Tool};
use crate::turns::Next;

impl Driver<'_> {
    /// Takes an effect from wherever its entries end.
    pub(crate) async fn admit(&mut self, Effect { key, request }: Effect) -> Result<(), RunError> {
        if let Some(completion) = self.port.recorded(&key, &request) {
            self.complete(key, completion);
            return Ok(());
        }
        let Progress { decision, asked, mut answers, begun, due, waits } =
            self.progress.remove(&key).unwrap_or_default();
        if let Some(due) = due {
            self.sleep_until(key, due);
            return Ok(());
        }
        let heard = answers.len();
        let request = match self.settled(request, begun.as_ref()) {
            Ok(request) => request,
            Err(failure) => {
                self.complete(key, Completion::model_failed(failure));
                return Ok(());
            }
        };
        if let Some(begun) = begun {
            self.take_up(key, request, begun).await;
            return Ok(());
        }
        if let Request::Model(ModelRequest { sampling: Sampling { stream: Some(stream), .. }, .. }) = &request
        {
            self.listen(&key, stream);
        }
        if waits {
            // What comes after the approvals is the answer.
            return match answers.pop().filter(|_| heard > asked) {
                Some(answer) => self.heard_answer(key, request, Wait::Reply, answer).await,
                None => {
                    self.waiting.insert(key, (request, Wait::Reply));
                    Ok(())
                }
            };
        }
        let Some(decision) = decision else { return self.ask_policy(key, request).await };
        let is_question = matches!(request, Request::Ask(_));
        // A question that needed approval has two answers: the approval, then the reply.
        let wait = match (is_question, decision.action == Verdict::Ask, asked) {
            (true, false, 1..) | (true, true, 2..) => Wait::Reply,
            _ => Wait::Approval,
        };
        let wanted = if decision.action == Verdict::Ask && wait == Wait::Reply { 2 } else { 1 };
        match answers.pop().filter(|_| heard >= wanted) {
            Some(answer) => self.heard_answer(key, request, wait, answer).await?,
            None if wait == Wait::Reply => {
                self.waiting.insert(key, (request, Wait::Reply));
            }
            None => self.decided(key, request, &decision).await,
        }
        Ok(())
    }

    /// A fresh effect: puts it before policy.
    async fn ask_policy(&mut self, key: EffectKey, request: Request) -> Result<(), RunError> {
        match &request {
            Request::Inbox(seam) if !self.port.inbox_waiting(*seam).await? => {
                self.complete(key, Completion::Inbox { messages: Vec::new() });
            }
            Request::Tool(call) | Request::Call(call) => {
                let (Some(spec), Some(_)) = (self.spec_of(&request), self.executor(&request)) else {
                    self.complete(key, unknown(call));
                    return Ok(());
                };
                let effect = request.kind();
                if effect == EffectKind::Call && spec.only_looks() {
                    let decision = self.port.decide(effect, call).await?;
                    if decision.action == Verdict::Allow {
                        let args = call.args.clone();
                        self.perform(key, &request, args, None, Some(decision));
                        return Ok(());
                    }
                }
                let (call, class) = (call.clone(), spec.class);
                let entry = Entry::Requested { key: key.clone(), effect, call, class };
                self.batch.push((entry, After::Decide(key, request)));
            }
            Request::Ask(ask) if ask.asker == Asker::Model && self.spec_of(&request).is_none() => {
                self.complete(key, unknown(&ask.call));
            }
            Request::Ask(ask) if ask.problem().is_some() => {
                self.complete(key, failed(&ask.call, ask.problem().unwrap_or_default()));
            }
            Request::OwnTool(tool) if tool.call.name.is_empty() => {
                self.complete(key, failed(&tool.call, "The call of a tool needs the tool's `name`."));
            }
            Request::OwnTool(tool) => {
                let entry = Entry::OwnTool { key: key.clone(), tool: tool.clone() };
                self.batch.push((entry, After::Decide(key, request)));
            }
            _ => self.commit_it(key, request, 1),
        }
        Ok(())
    }

    /// An effect that happens within a commit, or begins with one.
    fn commit_it(&mut self, key: EffectKey, request: Request, attempt: u32) {
        let entry = match &request {
            Request::Inbox(seam) => Entry::TakeInbox { key: key.clone(), seam: *seam },
            Request::Ask(ask) => Entry::Ask { key: key.clone(), ask: ask.clone() },
            Request::Errand(call) => Entry::Errand { key: key.clone(), call: call.clone() },
            Request::Compact(compaction) => {
                let archive = serde_json::to_vec_pretty(&compaction.dropped[..]).unwrap_or_default();
                Entry::Compact { key: key.clone(), compaction: compaction.clone(), archive: archive.into() }
            }
            Request::Model(call) => Entry::BegunModel {
                key: key.clone(),
                attempt,
                model: call.model.clone(),
                messages: call.messages.len(),
                input_tokens: tokens::at_most(call),
                output_tokens: call.max_output_tokens.into(),
                prices: self.prices_of(&call.model),
            },
            Request::Tool(_) | Request::Call(_) | Request::OwnTool(_) => return,
            Request::Timer { ms } => {
                let due = SystemClock.now().plus_millis(i64::try_from(*ms).unwrap_or(i64::MAX));
                self.batch.push((Entry::Timer { key: key.clone(), due }, After::Timer(key, request, due)));
                return;
            }
        };
        let after = match request {
            Request::Model(call) => After::Model(key, call),
            request => After::Commit(key, request),
        };
        self.batch.push((entry, after));
    }

    /// An effect that was begun and has no completion: what may be done about it depends on its class.
    async fn take_up(&mut self, key: EffectKey, request: Request, begun: Begun) {
        let call = match &request {
            // What the program has seen of an answer would not be the beginning of another one.
            Request::Model(call) if call.sampling.stream.is_some() => {
                let message = "Harn stopped while this answer was under way. It may have been paid for.";
                let failure = Failure::new("interrupted", message);
                return self.complete(key, Completion::model_failed(failure));
            }
            // A lost model call is made again; the attempt shows that it may have been paid for twice.
            Request::Model(_) => return self.commit_it(key, request, begun.attempt + 1),
            Request::Tool(call) | Request::Call(call) => call,
            Request::Inbox(_) | Request::Ask(_) | Request::OwnTool(_) | Request::Errand(_) => return,
            Request::Compact(_) | Request::Timer { .. } => return,
        };
        let (class, tool) = (self.spec_of(&request).map(|spec| spec.class), self.executor(&request));
        let (Some(class), Some(tool)) = (class, tool) else { return self.complete(key, unknown(call)) };
        let args = || begun.args.as_object().cloned().unwrap_or_default();
        let plan = match begun.plan {
            // A read that had to be begun, because others see it, is harmless to do again.
            _ if class == Class::Read => return self.begin(key, request, args(), begun.attempt + 1).await,
            Some(Plan::Write(plan)) if class == Class::Checkable => plan,
            _ => return self.complete(key, interrupted(call)),
        };
        match tool.reconcile(&self.ctx, &plan).await {
            Reconciled::Done(output) => self.complete(key, tool_completion(call, ToolOutcome::Ok, output)),
            Reconciled::NotDone => self.begin(key, request, args(), begun.attempt + 1).await,
            Reconciled::Unknown => self.complete(key, interrupted(call)),
        }
    }

    pub(crate) async fn decided(&mut self, key: EffectKey, request: Request, decision: &Decision) {
        match decision.action {
            Verdict::Allow => self.authorised(key, request, None).await,
            Verdict::Deny => self.complete(key, refused(&request, decision)),
            Verdict::Ask => {
                self.waiting.insert(key, (request, Wait::Approval));
            }
        }
    }

    /// Policy, or people, have said yes.
    async fn authorised(&mut self, key: EffectKey, request: Request, args: Option<Map<String, Value>>) {
        match request {
            Request::Tool(ref call) | Request::Call(ref call) => {
                let args = args.unwrap_or_else(|| call.args.clone());
                self.begin(key, request, args, 1).await;
            }
            Request::OwnTool(tool) => {
                let args = args.unwrap_or_else(|| tool.call.args.clone());
                let answer = json!({ "decision": "allow", "reason": null, "args": args });
                self.complete(key, Completion::Answered { answer });
            }
            request => self.commit_it(key, request, 1),
        }
    }

    async fn heard_answer(
        &mut self,
        key: EffectKey,
        request: Request,
        wait: Wait,
        answer: Answer,
    ) -> Result<(), RunError> {
        match (wait, &request) {
            (Wait::Reply, Request::Ask(ask)) => {
                let completion = reply_to(ask, answer);
                self.complete(key, completion);
            }
            (Wait::Reply, Request::Errand(_)) => {
                let answer = answer.record.unwrap_or_default();
                self.complete(key, Completion::Answered { answer });
            }
            _ if answer.approved => self.authorised(key, request, answer.args).await,
            _ => self.complete(key, turned_down(&request, answer.reason.as_deref())),
        }
        Ok(())
    }

    /// Takes up what people have answered since the last time.
    pub(crate) async fn hear_answers(&mut self) -> Result<(), RunError> {
        for (key, answer) in self.port.answers().await? {
            if let Some((request, wait)) = self.waiting.remove(&key) {
                self.heard_answer(key, request, wait, answer).await?;
            }
        }
        Ok(())
    }

    /// An authorised call. Reads are performed at once; anything else is begun durably first.
    pub(crate) async fn begin(
        &mut self,
        key: EffectKey,
        request: Request,
        args: Map<String, Value>,
        attempt: u32,
    ) {
        let next = Next { key, request, args, attempt };
        let next = match self.spec_of(&next.request).cloned() {
            Some(spec) if spec.class == Class::Read => {
                return self.perform(next.key, &next.request, next.args, None, None);
            }
            Some(spec) => self.turns.take(&spec, next),
            None => Some(next),
        };
        let Some(Next { key, request, args, attempt }) = next else { return };
        let (Request::Tool(call) | Request::Call(call)) = &request else { return };
        let Some(tool) = self.executor(&request) else {
            return self.complete(key, unknown(call));
        };
        match tool.prepare(&self.ctx, &args).await {
            Err(failure) => self.complete(key, failure_of(call, &failure)),
            Ok(prepared) => {
                let (plan, pre_image) = match &prepared {
                    Prepared::Write(write) => {
                        (Some(Plan::Write(write.plan.clone())), write.pre_image.clone())
                    }
                    Prepared::Stashed(taken) => (Some(Plan::Stash(taken.stash.clone())), None),
                    Prepared::Ready => (None, None),
                };
                let recorded = Value::Object(args.clone());
                let entry = Entry::Begun { key: key.clone(), attempt, args: recorded, plan, pre_image };
                self.batch.push((entry, After::Perform(key, request, args, prepared)));
            }
        }
    }

    /// Only tools of the run's own list exist for it, whatever has been added since. What a script may call comes with
    /// the language.
    fn spec_of(&self, request: &Request) -> Option<&ToolSpec> {
        match request {
            Request::Tool(call) => self.tools.iter().find(|tool| tool.name == call.name),
            Request::Ask(ask) => self.tools.iter().find(|tool| tool.name == ask.call.name),
            Request::Call(call) => self.options.calls.spec(&call.name),
            _ => None,
        }
    }

    pub(crate) fn executor(&self, request: &Request) -> Option<Arc<dyn Tool>> {
        match request {
            Request::Tool(call) => self.options.registry.get(&call.name),
            Request::Call(call) => self.options.calls.get(&call.name),
            _ => None,
        }
    }
}

/// What the program gets when policy says no.
fn refused(request: &Request, decision: &Decision) -> Completion {
    match request {
        Request::Model(_) if decision.matched_rule.source == RuleSource::Budget => {
            Completion::model_failed(Failure::new("budget_exhausted", &decision.reason))
        }
        _ => turned_down(request, Some(&decision.reason)),
    }
}

fn turned_down(request: &Request, reason: Option<&str>) -> Completion {
    match request {
        // What may not be taken stays where it is.
        Request::Inbox(_) => Completion::Inbox { messages: Vec::new() },
        Request::Model(_) => {
            let message = format!("The model call was denied: {}", reason.unwrap_or("a person said no."));
            Completion::model_failed(Failure::new("denied", message))
        }
        Request::Tool(call) | Request::Call(call) | Request::Errand(call) => denied(call, reason),
        Request::Ask(ask) if ask.asker == Asker::Model => denied(&ask.call, reason),
        Request::Ask(ask) => {
            let answer = ask.settled(Settled::No, reason.map(str::to_owned));
            Completion::Answered { answer }
        }
        Request::OwnTool(_) => {
            let reason = reason.unwrap_or("a person said no.");
            Completion::Answered { answer: json!({ "decision": "deny", "reason": reason, "args": null }) }
        }
        Request::Timer { .. } => {
            let reason = reason.unwrap_or("a person said no.");
            Completion::Time { refused: Some(format!("Denied: {reason}")) }
        }
        Request::Compact(_) => Completion::Compacted { artifact_id: None },
    }
}

fn reply_to(ask: &Ask, answer: Answer) -> Completion {
    match ask.asker {
        Asker::Script => Completion::Answered { answer: answer.record.unwrap_or_default() },
        Asker::Model if answer.approved => {
            tool_completion(&ask.call, ToolOutcome::Ok, answer.reply.unwrap_or_default())
        }
        Asker::Model => denied(&ask.call, answer.reason.as_deref()),
    }
}

pub(crate) fn unknown(call: &ToolCall) -> Completion {
    if call.name == ASK_USER {
        return failed(call, "`ask_user` needs the argument `question`, a string.");
    }
    failed(call, &format!("There is no tool `{}` in this run.", call.name))
}
