//! From an effect to its performance: the same way for every kind. Requested, decided, perhaps approved, begun.
//!
//! Where an effect is nothing but a commit (the inbox, a question, a compaction) or begins with one (a model call),
//! policy decides within that commit, so the usual case costs no flush of its own.

use harn_core::Failure;
use harn_core::decision::RuleSource;
use harn_core::ports::RunError;
use harn_core::run::{Answer, Completion, Decision, Effect, EffectKey, Entry, Plan, Request, Verdict};
use harn_core::tool::{Class, ToolCall, ToolOutcome};
use serde_json::{Map, Value};

use crate::agent::ASK_USER;
use crate::driver::{After, Begun, Driver, Progress, Wait};
use crate::perform::{denied, failed, interrupted, tool_completion};
use crate::tokens;
use crate::tools::{Prepared, Reconciled};

impl Driver<'_> {
    /// Takes an effect from wherever its entries end.
    pub(crate) async fn admit(&mut self, Effect { key, request }: Effect) -> Result<(), RunError> {
        let Progress { decision, asked, mut answers, begun } = self.progress.remove(&key).unwrap_or_default();
        self.heard.insert(key.clone(), answers.len());
        if let Some(begun) = begun {
            self.take_up(key, request, begun).await;
            return Ok(());
        }
        let Some(decision) = decision else { return self.ask_policy(key, request).await };
        let is_question = matches!(request, Request::Question { .. });
        // A question that needed approval has two answers: the approval, then the reply.
        let wait = match (is_question, decision.action == Verdict::Ask, asked) {
            (true, false, 1..) | (true, true, 2..) => Wait::Reply,
            _ => Wait::Approval,
        };
        let wanted = if decision.action == Verdict::Ask && wait == Wait::Reply { 2 } else { 1 };
        match answers.pop().filter(|_| self.heard[&key] >= wanted) {
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
            Request::Tool(call) => match self.class_of(&call.name) {
                Some(class) if self.options.registry.get(&call.name).is_some() => {
                    let entry = Entry::Requested { key: key.clone(), call: call.clone(), class };
                    self.batch.push((entry, After::Decide(key, request)));
                }
                _ => self.complete(key, unknown(call)),
            },
            Request::Question { call, .. } if self.class_of(&call.name).is_none() => {
                self.complete(key, unknown(call));
            }
            _ => self.commit_it(key, request, 1),
        }
        Ok(())
    }

    /// An effect that happens within a commit, or begins with one.
    fn commit_it(&mut self, key: EffectKey, request: Request, attempt: u32) {
        let entry = match &request {
            Request::Inbox(seam) => Entry::TakeInbox { key: key.clone(), seam: *seam },
            Request::Question { call, prompt } => {
                Entry::Question { key: key.clone(), call: call.clone(), prompt: prompt.clone() }
            }
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
            },
            Request::Tool(_) => return,
        };
        let after = match request {
            Request::Model(call) => After::Model(key, call),
            request => After::Commit(key, request),
        };
        self.batch.push((entry, after));
    }

    /// An effect that was begun and has no completion: what may be done about it depends on its class.
    async fn take_up(&mut self, key: EffectKey, request: Request, begun: Begun) {
        let call = match request {
            // A lost model call is made again; the attempt shows that it may have been paid for twice.
            Request::Model(_) => return self.commit_it(key, request, begun.attempt + 1),
            Request::Tool(call) => call,
            Request::Inbox(_) | Request::Question { .. } | Request::Compact(_) => return,
        };
        let plan = match begun.plan {
            Some(Plan::Write(plan)) if self.class_of(&call.name) == Some(Class::Checkable) => plan,
            _ => return self.complete(key, interrupted(&call)),
        };
        let Some(tool) = self.options.registry.get(&call.name) else {
            return self.complete(key, unknown(&call));
        };
        match tool.reconcile(&self.ctx, &plan).await {
            Reconciled::Done(output) => self.complete(key, tool_completion(&call, ToolOutcome::Ok, output)),
            Reconciled::NotDone => {
                let args = begun.args.as_object().cloned().unwrap_or_default();
                self.begin(key, call, args, begun.attempt + 1).await;
            }
            Reconciled::Unknown => self.complete(key, interrupted(&call)),
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
            Request::Tool(call) => {
                let args = args.unwrap_or_else(|| call.args.clone());
                self.begin(key, call, args, 1).await;
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
            (Wait::Reply, Request::Question { call, .. }) => {
                let completion = reply_to(call, &answer);
                self.complete(key, completion);
            }
            _ if answer.approved => self.authorised(key, request, answer.args).await,
            _ => self.complete(key, turned_down(&request, answer.reason.as_deref())),
        }
        Ok(())
    }

    /// Takes up what people have answered since the last time.
    pub(crate) async fn hear_answers(&mut self) -> Result<(), RunError> {
        let mut seen = std::collections::HashMap::<EffectKey, usize>::new();
        for (key, answer) in self.port.answers().await? {
            let nth = seen.entry(key.clone()).or_default();
            *nth += 1;
            let heard = self.heard.entry(key.clone()).or_default();
            if *nth <= *heard {
                continue;
            }
            *heard = *nth;
            if let Some((request, wait)) = self.waiting.remove(&key) {
                self.heard_answer(key, request, wait, answer).await?;
            }
        }
        Ok(())
    }

    /// An authorised call. Reads are performed at once; anything else is begun durably first.
    async fn begin(&mut self, key: EffectKey, call: ToolCall, args: Map<String, Value>, attempt: u32) {
        if self.class_of(&call.name) == Some(Class::Read) {
            return self.perform(key, call, args, None);
        }
        let Some(tool) = self.options.registry.get(&call.name) else {
            return self.complete(key, unknown(&call));
        };
        match tool.prepare(&self.ctx, &args).await {
            Err(failure) => self.complete(key, failed(&call, &failure.message)),
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
                self.batch.push((entry, After::Tool(key, call, args, prepared)));
            }
        }
    }

    /// Only tools of the run's own list exist for it, whatever has been added since.
    fn class_of(&self, name: &str) -> Option<Class> {
        self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.class)
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
        Request::Tool(call) | Request::Question { call, .. } => denied(call, reason),
        Request::Compact(_) => Completion::Compacted { artifact_id: None },
    }
}

fn reply_to(call: &ToolCall, answer: &Answer) -> Completion {
    if answer.approved {
        return tool_completion(call, ToolOutcome::Ok, answer.reply.clone().unwrap_or(Value::Null));
    }
    denied(call, answer.reason.as_deref())
}

pub(crate) fn unknown(call: &ToolCall) -> Completion {
    if call.name == ASK_USER {
        return failed(call, "`ask_user` needs the argument `question`, a string.");
    }
    failed(call, &format!("There is no tool `{}` in this run.", call.name))
}
