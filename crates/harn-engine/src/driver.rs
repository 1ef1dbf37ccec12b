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
    Answer, Completion, Decision, Effect, EffectKey, Entry, JournalEntry, Plan, Program, Reply, Request,
    RunEnd, RunRecord, Step,
};
use harn_core::tool::{ToolCall, ToolSpec};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentLoop, PROGRAM, SEMANTICS};
use crate::perform::{KeepInRun, Performed, SightOfRun, call_model, call_tool};
use crate::runner::EngineOptions;
use crate::tools::{Prepared, ToolContext};

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
pub(crate) struct Progress {
    pub decision: Option<Decision>,
    /// How often people were asked about it.
    pub asked: usize,
    pub answers: Vec<Answer>,
    pub begun: Option<Begun>,
}

pub(crate) struct Begun {
    pub attempt: u32,
    pub args: Value,
    pub plan: Option<Plan>,
}

/// What to do once an entry is durable.
pub(crate) enum After {
    Nothing,
    /// Policy has decided about this effect, and nothing else has happened yet.
    Decide(EffectKey, Request),
    /// Allowed, it has happened within the commit; otherwise policy has decided.
    Commit(EffectKey, Request),
    /// Allowed, the model is called now.
    Model(EffectKey, ModelRequest),
    Tool(EffectKey, ToolCall, Map<String, Value>, Prepared),
}

/// What a completion still needs.
enum Done {
    /// To be journaled.
    Fresh(Performed),
    /// Nothing: its commit was its journal entry.
    Journaled(Completion),
}

pub(crate) struct Driver<'a> {
    pub(crate) options: &'a EngineOptions,
    pub(crate) port: Arc<dyn RunPort>,
    program: Box<dyn Program>,
    supported: bool,
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) ctx: ToolContext,
    pub(crate) progress: HashMap<EffectKey, Progress>,
    recorded: VecDeque<(EffectKey, Completion)>,
    /// To be committed next, in order.
    pub(crate) batch: Vec<(Entry, After)>,
    /// Completions that the program has not seen.
    done: VecDeque<(EffectKey, Done)>,
    running: JoinSet<(EffectKey, Performed)>,
    /// Effects that wait for a person.
    pub(crate) waiting: BTreeMap<EffectKey, (Request, Wait)>,
    /// How many answers to each effect have been taken up.
    pub(crate) heard: HashMap<EffectKey, usize>,
}

/// What a person has to say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Approval,
    Reply,
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
            supported: manifest.program == PROGRAM && manifest.semantics == SEMANTICS,
            program: Box::new(AgentLoop::new(&record)),
            tools: Arc::clone(&record.tools),
            ctx: ToolContext {
                root,
                guard: options.guard.clone(),
                keep: Arc::new(KeepInRun(Arc::clone(&port))),
                sight: Arc::new(SightOfRun(Arc::clone(&port))),
                stashes: Arc::clone(&options.stashes),
                background: Arc::default(),
                cancel,
            },
            progress,
            recorded,
            batch: Vec::new(),
            done: VecDeque::new(),
            running: JoinSet::new(),
            waiting: BTreeMap::new(),
            heard: HashMap::new(),
            port,
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
            Done::Fresh(performed) => {
                let step = self.program.resume(&key, &performed.completion);
                self.batch.push((performed.entry(key), After::Nothing));
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
            (After::Decide(key, request), Reply::Decided(decision)) => {
                self.decided(key, request, &decision).await
            }
            (After::Commit(key, request), Reply::Decided(decision)) => {
                self.decided(key, request, &decision).await
            }
            (After::Commit(key, request), Reply::Done) => {
                self.waiting.insert(key, (request, Wait::Reply));
            }
            (After::Commit(key, _), Reply::Delivered(completion)) => {
                self.done.push_back((key, Done::Journaled(completion)));
            }
            (After::Model(key, request), Reply::Decided(decision)) => {
                self.decided(key, Request::Model(request), &decision).await
            }
            (After::Model(key, request), _) => {
                let (models, port) = (self.options.models.clone(), Arc::clone(&self.port));
                self.running.spawn(async move { (key, call_model(models, &*port, request).await.into()) });
            }
            (After::Tool(key, call, args, prepared), _) => self.perform(key, call, args, Some(prepared)),
            (After::Nothing | After::Decide(..), _) => {}
        }
    }

    pub(crate) fn perform(
        &mut self,
        key: EffectKey,
        call: ToolCall,
        args: Map<String, Value>,
        prepared: Option<Prepared>,
    ) {
        let Some(tool) = self.options.registry.get(&call.name) else {
            return self.complete(key, crate::authorise::unknown(&call));
        };
        let ctx = self.ctx.clone();
        self.running.spawn(async move { (key, call_tool(tool, ctx, call, args, prepared).await) });
    }

    pub(crate) fn complete(&mut self, key: EffectKey, performed: impl Into<Performed>) {
        self.done.push_back((key, Done::Fresh(performed.into())));
    }

    /// Waits for an effect or for news. Gives the exit when there is nothing left to wait for here.
    async fn wait(&mut self) -> Result<Option<RunExit>, RunError> {
        if self.running.is_empty() && self.waiting.is_empty() {
            return self
                .finish(failure_end("internal_error", "The program waits for nothing."))
                .await
                .map(Some);
        }
        if self.running.is_empty() && self.ctx.background.is_empty() {
            return Ok(Some(RunExit::Parked));
        }
        let signal = tokio::select! {
            Some(finished) = self.running.join_next() => {
                if let Ok((key, performed)) = finished {
                    self.complete(key, performed);
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

    /// Running effects may finish and are recorded; nothing new is begun. The harness decides how long that takes.
    async fn drain(&mut self) -> Result<RunExit, RunError> {
        while let Some(finished) = self.running.join_next().await {
            if let Ok((key, performed)) = finished {
                self.port.commit(vec![performed.entry(key)]).await?;
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
            JournalEntry::Asked { key, .. } => progress.entry(key).or_default().asked += 1,
            JournalEntry::Answered { key, answer, .. } => {
                progress.entry(key).or_default().answers.push(answer);
            }
            JournalEntry::Begun { key, attempt, args, plan, .. } => {
                progress.entry(key).or_default().begun = Some(Begun { attempt, args, plan });
            }
            JournalEntry::Completed { key, completion, .. } => recorded.push_back((key, completion)),
        }
    }
    (progress, recorded)
}

fn failure_end(code: &str, message: &str) -> RunEnd {
    let result = Err(Failure::new(code, message));
    RunEnd { result, usage: Default::default(), model_calls: 0, tool_calls: 0 }
}
