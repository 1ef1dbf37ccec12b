//! The driver: performs what a program asks for, under policy, and journals every completion before anything that
//! depends on it leaves the run.
//!
//! After a crash the journal is played to a fresh program, and each effect that has no completion goes on from where
//! its entries end. A completion is committed together with what the program asked for next, so a step costs one
//! flush; nothing of it is performed or shown before that flush.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use harn_core::Failure;
use harn_core::chat::ModelRequest;
use harn_core::ports::{RunError, RunExit, RunPort, Signal};
use harn_core::run::{
    Answer, Completion, Decision, Effect, EffectKey, Entry, JournalEntry, Program, Reply, Request, RunEnd,
    RunRecord, Step, Verdict, WritePlan,
};
use harn_core::tool::{Class, ToolCall, ToolOutcome, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::{ASK_USER, AgentLoop, PROGRAM, SEMANTICS};
use crate::perform::{call_model, call_tool, denied, failed, interrupted, tool_completion};
use crate::runner::EngineOptions;
use crate::tools::{Prepared, Reconciled, Tool, ToolContext};

pub async fn run(options: &EngineOptions, port: Arc<dyn RunPort>) -> RunExit {
    let record = match port.load().await {
        Ok(record) => record,
        Err(RunError::Over) => return RunExit::Over,
        Err(RunError::Unavailable(error)) => {
            tracing::warn!(%error, "a run could not be loaded");
            return RunExit::Suspended;
        }
    };
    let task = record.task_id.clone();
    let cancel = CancellationToken::new();
    let _stop_effects = cancel.clone().drop_guard();
    match Driver::new(options, port, record, cancel).go().await {
        Ok(exit) => exit,
        Err(RunError::Over) => RunExit::Over,
        Err(RunError::Unavailable(error)) => {
            tracing::warn!(%task, %error, "a run is suspended");
            RunExit::Suspended
        }
    }
}

/// How far an effect had come according to the journal.
#[derive(Default)]
struct Progress {
    decision: Option<Decision>,
    asked: bool,
    answer: Option<Answer>,
    begun: Option<Begun>,
}

struct Begun {
    attempt: u32,
    args: Value,
    plan: Option<WritePlan>,
}

/// What to do once an entry is durable.
enum After {
    Nothing,
    /// Policy has decided about this call.
    Decide(EffectKey, ToolCall),
    /// The inbox has delivered.
    Deliver(EffectKey),
    Model(EffectKey, ModelRequest),
    Tool(EffectKey, ToolCall, Map<String, Value>, Prepared),
}

/// What a completion still needs.
enum Done {
    /// To be journaled.
    Fresh(Completion),
    /// Nothing: its commit was its journal entry.
    Journaled(Completion),
}

struct Driver<'a> {
    options: &'a EngineOptions,
    port: Arc<dyn RunPort>,
    program: Box<dyn Program>,
    supported: bool,
    tools: Arc<[ToolSpec]>,
    ctx: ToolContext,
    progress: HashMap<EffectKey, Progress>,
    recorded: VecDeque<(EffectKey, Completion)>,
    /// To be committed next, in order.
    batch: Vec<(Entry, After)>,
    /// Completions that the program has not seen.
    done: VecDeque<(EffectKey, Done)>,
    running: JoinSet<(EffectKey, Completion)>,
    /// Calls that wait for a person.
    waiting: BTreeMap<EffectKey, (ToolCall, Ask)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Approval,
    Question,
}

impl<'a> Driver<'a> {
    fn new(
        options: &'a EngineOptions,
        port: Arc<dyn RunPort>,
        record: RunRecord,
        cancel: CancellationToken,
    ) -> Self {
        let (progress, recorded) = read_journal(&record.journal);
        let manifest = &record.manifest;
        let root = manifest.root.as_ref().map(PathBuf::from);
        Self {
            options,
            port,
            supported: manifest.program == PROGRAM && manifest.semantics == SEMANTICS,
            program: Box::new(AgentLoop::new(&record)),
            tools: Arc::clone(&record.tools),
            ctx: ToolContext { root, guard: options.guard.clone(), cancel },
            progress,
            recorded,
            batch: Vec::new(),
            done: VecDeque::new(),
            running: JoinSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    async fn go(mut self) -> Result<RunExit, RunError> {
        if !self.supported {
            let message =
                "This run was started by a version of Harn whose programs this one cannot continue.";
            return self.finish(failure_end("unsupported_program", message)).await;
        }
        let open = match self.replay() {
            Ok(Replayed::Open(open)) => open,
            Ok(Replayed::Ended(end)) => return self.finish(end).await,
            Err(message) => return self.finish(failure_end("journal_mismatch", &message)).await,
        };
        self.live(open).await
    }

    /// Plays the journal to the program. What is left open afterwards has to be performed.
    fn replay(&mut self) -> Result<Replayed, String> {
        let mut open: Vec<Effect> = Vec::new();
        let mut step = self.program.start();
        loop {
            match step {
                Step::Done(end) => return Ok(Replayed::Ended(end)),
                Step::Waiting(effects) => open.extend(effects),
            }
            let Some((key, completion)) = self.recorded.pop_front() else { return Ok(Replayed::Open(open)) };
            let Some(index) = open.iter().position(|effect| effect.key == key) else {
                return Err(format!("The journal completes `{key}`, which the program did not ask for."));
            };
            open.remove(index);
            step = self.program.resume(&key, &completion);
        }
    }

    async fn live(&mut self, mut fresh: Vec<Effect>) -> Result<RunExit, RunError> {
        loop {
            for effect in std::mem::take(&mut fresh) {
                self.admit(effect).await?;
            }
            if let Some((key, done)) = self.done.pop_front() {
                match self.give(key, done) {
                    Step::Done(end) => return self.finish(end).await,
                    Step::Waiting(effects) => fresh = effects,
                }
            } else if !self.batch.is_empty() {
                self.flush().await?;
            } else if let Some(exit) = self.wait().await? {
                return Ok(exit);
            }
        }
    }

    /// Gives the program a completion; its entry rides on the next commit.
    fn give(&mut self, key: EffectKey, done: Done) -> Step {
        match done {
            Done::Journaled(completion) => self.program.resume(&key, &completion),
            Done::Fresh(completion) => {
                let step = self.program.resume(&key, &completion);
                self.batch.push((Entry::Completed { key, completion }, After::Nothing));
                step
            }
        }
    }

    async fn finish(&mut self, end: RunEnd) -> Result<RunExit, RunError> {
        self.batch.push((Entry::Finished(end), After::Nothing));
        self.flush().await?;
        Ok(RunExit::Over)
    }

    async fn flush(&mut self) -> Result<(), RunError> {
        let (entries, afters): (Vec<_>, Vec<_>) = std::mem::take(&mut self.batch).into_iter().unzip();
        let replies = self.port.commit(entries).await?;
        for (after, reply) in afters.into_iter().zip(replies) {
            self.follow(after, reply).await;
        }
        Ok(())
    }

    async fn follow(&mut self, after: After, reply: Reply) {
        match (after, reply) {
            (After::Decide(key, call), Reply::Decided(decision)) => self.decided(key, call, &decision).await,
            (After::Deliver(key), Reply::Delivered(completion)) => {
                self.done.push_back((key, Done::Journaled(completion)));
            }
            (After::Model(key, request), _) => {
                let models = self.options.models.clone();
                self.running.spawn(async move { (key, call_model(models, request).await) });
            }
            (After::Tool(key, call, args, prepared), _) => self.perform(key, call, args, Some(prepared)),
            _ => {}
        }
    }

    fn perform(
        &mut self,
        key: EffectKey,
        call: ToolCall,
        args: Map<String, Value>,
        prepared: Option<Prepared>,
    ) {
        let Some(tool) = self.options.registry.get(&call.name) else {
            return self.complete(key, unknown(&call));
        };
        let ctx = self.ctx.clone();
        self.running.spawn(async move { (key, call_tool(tool, ctx, call, args, prepared).await) });
    }

    fn complete(&mut self, key: EffectKey, completion: Completion) {
        self.done.push_back((key, Done::Fresh(completion)));
    }

    /// Takes an effect from wherever its entries end.
    async fn admit(&mut self, Effect { key, request }: Effect) -> Result<(), RunError> {
        let progress = self.progress.remove(&key).unwrap_or_default();
        match request {
            Request::Inbox(seam) => {
                if self.port.inbox_waiting(seam).await? {
                    let after = After::Deliver(key.clone());
                    self.batch.push((Entry::TakeInbox { key, seam }, after));
                } else {
                    self.complete(key, Completion::Inbox { messages: Vec::new() });
                }
            }
            Request::Model(request) => {
                // A lost model call is made again; the attempt shows that it may have been paid for twice.
                let attempt = progress.begun.map_or(1, |begun| begun.attempt + 1);
                let args = json!({ "model": request.model, "messages": request.messages.len() });
                let begun = Entry::Begun { key: key.clone(), attempt, args, plan: None, pre_image: None };
                self.batch.push((begun, After::Model(key, request)));
            }
            Request::Question { call, prompt } => self.admit_question(key, call, prompt, progress),
            Request::Tool(call) => self.admit_tool(key, call, progress).await,
        }
        Ok(())
    }

    fn admit_question(&mut self, key: EffectKey, call: ToolCall, prompt: String, progress: Progress) {
        if self.class_of(&call.name).is_none() {
            return self.complete(key, unknown(&call));
        }
        match progress.answer {
            Some(answer) => self.complete(key, reply_to(&call, &answer)),
            None => {
                if !progress.asked {
                    let entry = Entry::Question { key: key.clone(), call: call.clone(), prompt };
                    self.batch.push((entry, After::Nothing));
                }
                self.waiting.insert(key, (call, Ask::Question));
            }
        }
    }

    async fn admit_tool(&mut self, key: EffectKey, call: ToolCall, progress: Progress) {
        let (Some(class), Some(tool)) = (self.class_of(&call.name), self.options.registry.get(&call.name))
        else {
            return self.complete(key, unknown(&call));
        };
        if let Some(begun) = progress.begun {
            return self.take_up(key, call, class, &*tool, begun).await;
        }
        match (progress.decision, progress.answer) {
            (None, _) => {
                let entry = Entry::Requested { key: key.clone(), call: call.clone(), class };
                self.batch.push((entry, After::Decide(key, call)));
            }
            (Some(_), Some(answer)) => self.answered(key, call, answer).await,
            (Some(decision), None) => self.decided(key, call, &decision).await,
        }
    }

    /// An effect that was begun and has no completion: what may be done about it depends on its class.
    async fn take_up(&mut self, key: EffectKey, call: ToolCall, class: Class, tool: &dyn Tool, begun: Begun) {
        let args = begun.args.as_object().cloned().unwrap_or_default();
        match (class, begun.plan) {
            (Class::Checkable, Some(plan)) => match tool.reconcile(&self.ctx, &plan).await {
                Reconciled::Done(output) => {
                    self.complete(key, tool_completion(&call, ToolOutcome::Ok, output))
                }
                Reconciled::NotDone => self.begin(key, call, args, begun.attempt + 1).await,
                Reconciled::Unknown => self.complete(key, interrupted(&call)),
            },
            _ => self.complete(key, interrupted(&call)),
        }
    }

    async fn decided(&mut self, key: EffectKey, call: ToolCall, decision: &Decision) {
        match decision.verdict {
            Verdict::Allow => {
                let args = call.args.clone();
                self.begin(key, call, args, 1).await;
            }
            Verdict::Deny => self.complete(key, denied(&call, Some(&decision.reason))),
            Verdict::Ask => {
                self.waiting.insert(key, (call, Ask::Approval));
            }
        }
    }

    async fn answered(&mut self, key: EffectKey, call: ToolCall, answer: Answer) {
        if !answer.approved {
            return self.complete(key, denied(&call, answer.reason.as_deref()));
        }
        let args = answer.args.unwrap_or_else(|| call.args.clone());
        self.begin(key, call, args, 1).await;
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
                    Prepared::Write(write) => (Some(write.plan.clone()), write.pre_image.clone()),
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

    /// Waits for an effect or for news. Gives the exit when there is nothing left to wait for here.
    async fn wait(&mut self) -> Result<Option<RunExit>, RunError> {
        if self.running.is_empty() {
            if !self.waiting.is_empty() {
                return Ok(Some(RunExit::Parked));
            }
            return self
                .finish(failure_end("internal_error", "The program waits for nothing."))
                .await
                .map(Some);
        }
        let signal = tokio::select! {
            Some(finished) = self.running.join_next() => {
                if let Ok((key, completion)) = finished {
                    self.complete(key, completion);
                }
                return Ok(None);
            }
            signal = self.port.signal() => signal,
        };
        match signal {
            Signal::Over => Ok(Some(RunExit::Over)),
            Signal::Draining => self.drain().await.map(Some),
            Signal::Answered => self.hear_answers().await.map(|()| None),
        }
    }

    async fn hear_answers(&mut self) -> Result<(), RunError> {
        for (key, answer) in self.port.answers().await? {
            match self.waiting.remove(&key) {
                Some((call, Ask::Question)) => self.complete(key, reply_to(&call, &answer)),
                Some((call, Ask::Approval)) => self.answered(key, call, answer).await,
                None => {}
            }
        }
        Ok(())
    }

    /// Running effects may finish and are recorded; nothing new is begun. The harness decides how long that takes.
    async fn drain(&mut self) -> Result<RunExit, RunError> {
        while let Some(finished) = self.running.join_next().await {
            if let Ok((key, completion)) = finished {
                self.port.commit(vec![Entry::Completed { key, completion }]).await?;
            }
        }
        Ok(RunExit::Suspended)
    }
}

enum Replayed {
    Open(Vec<Effect>),
    Ended(RunEnd),
}

fn read_journal(
    journal: &[JournalEntry],
) -> (HashMap<EffectKey, Progress>, VecDeque<(EffectKey, Completion)>) {
    let mut progress: HashMap<EffectKey, Progress> = HashMap::new();
    let mut recorded = VecDeque::new();
    for entry in journal.iter().cloned() {
        match entry {
            JournalEntry::Manifest { .. } => {}
            JournalEntry::Requested { key, decision, .. } => {
                progress.entry(key).or_default().decision = Some(decision);
            }
            JournalEntry::Asked { key, .. } => progress.entry(key).or_default().asked = true,
            JournalEntry::Answered { key, answer, .. } => {
                progress.entry(key).or_default().answer = Some(answer)
            }
            JournalEntry::Begun { key, attempt, args, plan, .. } => {
                progress.entry(key).or_default().begun = Some(Begun { attempt, args, plan });
            }
            JournalEntry::Completed { key, completion } => recorded.push_back((key, completion)),
        }
    }
    (progress, recorded)
}

fn reply_to(call: &ToolCall, answer: &Answer) -> Completion {
    if answer.approved {
        return tool_completion(call, ToolOutcome::Ok, answer.reply.clone().unwrap_or(Value::Null));
    }
    denied(call, answer.reason.as_deref())
}

fn unknown(call: &ToolCall) -> Completion {
    if call.name == ASK_USER {
        return failed(call, "`ask_user` needs the argument `question`, a string.");
    }
    failed(call, &format!("There is no tool `{}` in this run.", call.name))
}

fn failure_end(code: &str, message: &str) -> RunEnd {
    let result = Err(Failure::new(code, message));
    RunEnd { result, usage: Default::default(), model_calls: 0, tool_calls: 0 }
}
