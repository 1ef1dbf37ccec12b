//! The driver: performs what a program asks for, under policy, and journals every completion before anything that
//! depends on it leaves the run.
//!
//! After a crash the journal is played to a fresh program, and each effect that has no completion goes on from where
//! its entries end. A completion is committed together with what the program asked for next, so a step costs one
//! flush; nothing of it is performed or shown before that flush.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use harn_core::chat::ModelRequest;
use harn_core::ports::{RunError, RunExit, RunPort, Signal};
use harn_core::run::{
    Answer, Completion, Decision, Effect, EffectKey, Entry, JournalEntry, Manifest, Plan, Program, Reply,
    Request, RunEnd, RunRecord, Shown, Step,
};
use harn_core::tool::ToolSpec;
use harn_core::{Clock, Failure, SystemClock, Timestamp};
use harn_model::MadeAgain;
use serde_json::{Map, Value};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::agent::{self, AgentLoop};
use crate::calls::{self, Pieces, Place};
use crate::perform::{KeepInRun, Performed, Shape, SightOfRun, Told, call_model, call_tool};
use crate::runner::EngineOptions;
use crate::script;
use crate::tools::{Prepared, ToolContext};
use crate::turns::{Next, Turns};

/// What a program that never waits has done is written down after so many entries.
const MOST_AT_ONCE: usize = 256;

/// What was looked at is written down so much later, if the program looks at something else meanwhile.
const A_LOOK: Duration = Duration::from_millis(2);

/// A run that waits only for times further away than this leaves memory.
const PARKS_AFTER_MS: i64 = 30_000;

pub async fn run(options: &EngineOptions, port: Arc<dyn RunPort>) -> RunExit {
    let record = match port.load().await {
        Ok(record) => record,
        Err(RunError::Over) => return RunExit::Over,
        Err(RunError::Unavailable(error)) => {
            tracing::warn!(%error, "a run could not be loaded");
            return RunExit::Suspended;
        }
    };
    let mocked = match script::mocked(options, &record) {
        Ok(mocked) => mocked,
        Err(failure) => return refuse(&*port, failure).await,
    };
    let options = mocked.as_ref().unwrap_or(options);
    let (program, place): (Box<dyn Program>, _) = match record.manifest.program.as_str() {
        script::PROGRAM if is_supported(&record.manifest) => match script::start(&record) {
            Ok((program, place)) => (Box::new(program), place),
            Err(failure) => return refuse(&*port, failure).await,
        },
        _ => (Box::new(AgentLoop::new(&record)), Place::of_record(&record)),
    };
    drive(options, port, record, program, Arc::new(place)).await
}

/// The end of a run that cannot even begin.
async fn refuse(port: &dyn RunPort, failure: Failure) -> RunExit {
    match port.commit(vec![Entry::Finished(RunEnd::failed(failure))]).await {
        Ok(_) | Err(RunError::Over) => RunExit::Over,
        Err(RunError::Unavailable(error)) => {
            tracing::warn!(%error, "the end of a run could not be recorded");
            RunExit::Suspended
        }
    }
}

/// Drives a program from where its journal ends until it is over, parked or suspended.
pub async fn drive(
    options: &EngineOptions,
    port: Arc<dyn RunPort>,
    record: RunRecord,
    program: Box<dyn Program>,
    place: Arc<Place>,
) -> RunExit {
    let task = record.task_id.clone();
    let cancel = CancellationToken::new();
    let _stop_effects = cancel.clone().drop_guard();
    match Driver::new(options, port, record, program, place, cancel).go().await {
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
    pub due: Option<Timestamp>,
    /// It waits for waitpoints, and was allowed to.
    pub waits: bool,
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
    /// The call is performed now.
    Perform(EffectKey, Request, Map<String, Value>, Prepared),
    Timer(EffectKey, Request, Timestamp),
}

impl After {
    fn key(&self) -> Option<&EffectKey> {
        match self {
            Self::Nothing => None,
            Self::Decide(key, _) | Self::Commit(key, _) | Self::Model(key, _) => Some(key),
            Self::Perform(key, ..) | Self::Timer(key, ..) => Some(key),
        }
    }
}

pub(crate) struct Driver<'a> {
    pub(crate) options: &'a EngineOptions,
    pub(crate) port: Arc<dyn RunPort>,
    program: Box<dyn Program>,
    /// What the run was started with.
    pub(crate) manifest: Manifest,
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) ctx: ToolContext,
    pub(crate) progress: HashMap<EffectKey, Progress>,
    recorded: VecDeque<Recorded>,
    /// What was begun before, in this order.
    begun: Vec<EffectKey>,
    /// Bytes of output that the journal says were shown.
    shown: usize,
    is_busy: bool,
    interrupted: bool,
    /// To be committed next, in order.
    pub(crate) batch: Vec<(Entry, After)>,
    /// Completions that the program has not seen, whose commit was their journal entry. They come first, because the
    /// others will be journaled after them.
    delivered: VecDeque<(EffectKey, Completion)>,
    /// Completions that the program has not seen and the journal has not either.
    done: VecDeque<(EffectKey, Performed)>,
    running: JoinSet<(EffectKey, Performed)>,
    aborts: HashMap<EffectKey, AbortHandle>,
    /// What is waited for here until when.
    timers: BTreeMap<EffectKey, Timestamp>,
    /// Effects that the program gave up while they were under way.
    dropped: HashSet<EffectKey>,
    /// Effects that wait for a person.
    pub(crate) waiting: BTreeMap<EffectKey, (Request, Wait)>,
    pub(crate) turns: Turns,
    /// Calls of models whose answers the program reads while they come.
    live: HashMap<EffectKey, Arc<Pieces>>,
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
        program: Box<dyn Program>,
        place: Arc<Place>,
        cancel: CancellationToken,
    ) -> Self {
        let Journal { progress, recorded, begun, shown } = Journal::read(&record.journal);
        let root = record.manifest.root.as_ref().map(PathBuf::from);
        let trust = record.manifest.trust;
        Self {
            options,
            program,
            tools: Arc::clone(&record.tools),
            ctx: ToolContext {
                root,
                guard: options.guard.clone(),
                keep: Arc::new(KeepInRun(Arc::clone(&port))),
                sight: Arc::new(SightOfRun(Arc::clone(&port))),
                stashes: Arc::clone(&options.stashes),
                background: Arc::default(),
                cancel,
                trust,
                is_kept: port.keeps_a_journal(),
                place,
                models: options.models.clone(),
                model: record.manifest.model.clone(),
                tools: record.tools,
                host: options.host.clone(),
                secrets: Arc::clone(&options.secrets),
                open: Arc::default(),
            },
            manifest: record.manifest,
            progress,
            recorded,
            begun,
            shown,
            is_busy: false,
            interrupted: false,
            batch: Vec::new(),
            delivered: VecDeque::new(),
            done: VecDeque::new(),
            running: JoinSet::new(),
            aborts: HashMap::new(),
            timers: BTreeMap::new(),
            dropped: HashSet::new(),
            waiting: BTreeMap::new(),
            turns: Turns::default(),
            live: HashMap::new(),
            port,
        }
    }

    async fn go(mut self) -> Result<RunExit, RunError> {
        if !is_supported(&self.manifest) {
            let message =
                "This run was started by a version of Harn whose programs this one cannot continue.";
            return self.finish(failure_end("unsupported_program", message)).await;
        }
        let mut asked = HashMap::new();
        let open = match self.replay(&mut asked) {
            Ok(Replayed::Open(open)) => open,
            Ok(Replayed::Ended(end)) => return self.finish(end).await,
            Err(message) => return self.finish(failure_end("journal_mismatch", &message)).await,
        };
        self.go_on_mocked(&asked, &open);
        self.live(open).await
    }

    /// Answers of a file that were given before are not given again.
    fn go_on_mocked(&self, asked: &HashMap<EffectKey, ModelRequest>, open: &[Effect]) {
        let Some(mock) = self.options.models.mock() else { return };
        let is_open = |key: &EffectKey| open.iter().any(|effect| effect.key == *key);
        let again = |key: &EffectKey| if is_open(key) { MadeAgain::Yes } else { MadeAgain::No };
        mock.go_on_after(self.begun.iter().filter_map(|key| Some((asked.get(key)?, again(key)))));
    }

    /// Plays the journal to the program. What is left open afterwards has to be performed. Notes what a file is asked.
    fn replay(&mut self, asked: &mut HashMap<EffectKey, ModelRequest>) -> Result<Replayed, String> {
        let mut open: Vec<Effect> = Vec::new();
        let mut given_up: HashSet<EffectKey> = HashSet::new();
        let mut step = self.program.start();
        loop {
            self.show_output();
            let dropped = self.program.take_dropped();
            let effects = match step {
                Step::Done(end) => return Ok(Replayed::Ended(end)),
                Step::Waiting(effects) => {
                    self.is_busy = false;
                    effects
                }
                Step::Busy(effects) => {
                    self.is_busy = true;
                    effects
                }
            };
            if self.options.models.mock().is_some() {
                asked.extend(effects.iter().filter_map(|effect| match &effect.request {
                    Request::Model(call) => Some((effect.key.clone(), call.clone())),
                    _ => None,
                }));
            }
            open.extend(effects);
            open.retain(|effect| !dropped.contains(&effect.key));
            given_up.extend(dropped);
            let Some(next) = self.recorded.front() else { return Ok(Replayed::Open(open)) };
            // It struck while the program was busy: not before, and not after.
            let strikes = next.at.is_some() && next.at == self.program.busy_at();
            if self.is_busy && !strikes {
                step = self.program.go_on(next.at);
                continue;
            }
            let Some(Recorded { key, completion, .. }) = self.recorded.pop_front() else {
                return Ok(Replayed::Open(open));
            };
            match open.iter().position(|effect| effect.key == key) {
                Some(index) => {
                    open.remove(index);
                    self.note(&completion);
                    step = self.program.resume(&key, &completion);
                }
                // Its commit came before the program gave it up.
                None if given_up.contains(&key) => {
                    step = if self.is_busy { Step::Busy(Vec::new()) } else { Step::Waiting(Vec::new()) };
                }
                None => {
                    return Err(format!("The journal completes `{key}`, which the program did not ask for."));
                }
            }
        }
    }

    async fn live(&mut self, mut fresh: Vec<Effect>) -> Result<RunExit, RunError> {
        loop {
            for effect in std::mem::take(&mut fresh) {
                self.admit(effect).await?;
            }
            while let Some(Next { key, request, args, attempt }) = self.turns.ready() {
                self.begin(key, request, args, attempt).await;
            }
            let step = if std::mem::take(&mut self.interrupted) {
                self.program.interrupt()
            } else if let Some((key, completion)) = self.delivered.pop_front() {
                self.program.resume(&key, &completion)
            } else if self.batch.len() >= MOST_AT_ONCE {
                self.flush().await?;
                continue;
            } else if let Some((key, performed)) = self.done.pop_front() {
                let at = self.program.busy_at();
                self.note(&performed.completion);
                let step = self.program.resume(&key, &performed.completion);
                self.batch.push((performed.entry(key, at), After::Nothing));
                step
            } else if !self.batch.is_empty() {
                if !self.looked_again().await {
                    self.flush().await?;
                }
                continue;
            } else if self.is_busy {
                tokio::task::yield_now().await;
                if let Some(exit) = self.look_around().await? {
                    return Ok(exit);
                }
                if self.interrupted || !self.done.is_empty() {
                    continue;
                }
                self.program.go_on(None)
            } else if let Some(exit) = self.wait().await? {
                return Ok(exit);
            } else {
                continue;
            };
            match self.after_step(step) {
                Ok(effects) => fresh = effects,
                Err(end) => return self.finish(*end).await,
            }
        }
    }

    /// A provider that the program has added is there for its later calls, after a restart too.
    fn note(&mut self, completion: &Completion) {
        if let Some(row) = calls::added_provider(completion) {
            match self.ctx.models.with_provider(row) {
                Ok(models) => self.ctx.models = models,
                Err(why) => tracing::warn!(why, "a provider that a run has added is not there any more"),
            }
        }
    }

    /// Whether one look has led to another that is over at once: both are then written down together.
    async fn looked_again(&mut self) -> bool {
        let only_looked = self.batch.iter().all(|(entry, _)| is_look(entry));
        if !only_looked || self.is_busy || self.running.is_empty() {
            return false;
        }
        match tokio::time::timeout(A_LOOK, self.running.join_next()).await {
            Ok(Some(finished)) => {
                self.finished(finished);
                true
            }
            _ => false,
        }
    }

    /// What a step of the program leaves: output to show, effects to forget, and effects to perform.
    fn after_step(&mut self, step: Step) -> Result<Vec<Effect>, Box<RunEnd>> {
        self.show_output();
        let mut given_up = self.program.take_dropped();
        let (mut effects, is_busy) = match step {
            Step::Done(end) => return Err(Box::new(end)),
            Step::Waiting(effects) => (effects, false),
            Step::Busy(effects) => (effects, true),
        };
        self.is_busy = is_busy;
        // Asked for and given up within one step: as if it had never been asked for.
        given_up.retain(|key| match effects.iter().position(|effect| effect.key == *key) {
            Some(index) => {
                effects.remove(index);
                false
            }
            None => true,
        });
        given_up.into_iter().for_each(|key| self.give_up(key));
        Ok(effects)
    }

    /// The program does not want this any more. What is under way is stopped.
    fn give_up(&mut self, key: EffectKey) {
        let known = self.delivered.len() + self.done.len() + self.waiting.len();
        self.delivered.retain(|(other, _)| *other != key);
        self.done.retain(|(other, _)| *other != key);
        self.waiting.remove(&key);
        self.timers.remove(&key);
        let had_turn = self.turns.forget(&key);
        self.fall_silent(&key);
        if let Some(abort) = self.aborts.remove(&key) {
            abort.abort();
        } else if !had_turn && self.delivered.len() + self.done.len() + self.waiting.len() == known {
            // It is about to be committed, and must not be performed then.
            self.dropped.insert(key.clone());
        }
        self.batch.push((Entry::Dropped { key }, After::Nothing));
    }

    /// What the program has printed is shown with the next commit.
    fn show_output(&mut self) {
        let shown = self.take_output();
        if !shown.is_empty() {
            self.batch.push((Entry::Output { shown }, After::Nothing));
        }
    }

    /// What the program has printed, without what people have seen before a crash.
    fn take_output(&mut self) -> Vec<Shown> {
        let mut output = self.program.take_output();
        while self.shown > 0
            && let Some(first) = output.first_mut()
        {
            let seen = self.shown.min(first.text.len());
            self.shown -= seen;
            first.text.drain(..seen);
            if first.text.is_empty() {
                output.remove(0);
            }
        }
        output
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
        if after.key().is_some_and(|key| self.dropped.remove(key)) {
            return;
        }
        match (after, reply) {
            (After::Decide(key, request) | After::Commit(key, request), Reply::Decided(decision)) => {
                self.decided(key, request, &decision).await
            }
            (After::Commit(key, request), Reply::Done) if self.port.keeps_a_journal() => {
                self.waiting.insert(key, (request, Wait::Reply));
            }
            // Nobody would wake it later, so it is waited for here.
            (After::Commit(key, request), Reply::Done) => {
                let (port, named) = (Arc::clone(&self.port), key.clone());
                self.spawn(key, async move { port.answer_here(&named, &request).await.into() });
            }
            (After::Commit(key, _), Reply::Delivered(completion)) => {
                self.delivered.push_back((key, completion));
            }
            (After::Model(key, request), Reply::Decided(decision)) => {
                self.decided(key, Request::Model(request), &decision).await
            }
            (After::Model(key, request), _) => {
                let (models, port) = (self.ctx.models.clone(), Arc::clone(&self.port));
                let told = self.is_script().then(|| Told { prices: self.prices_of(&request.model) });
                let live = self.live.get(&key).cloned();
                self.spawn(key, async move { call_model(models, &*port, request, told, live).await.into() });
            }
            (After::Timer(key, request, _), Reply::Decided(decision)) => {
                self.decided(key, request, &decision).await
            }
            (After::Timer(key, _, due), _) => self.sleep_until(key, due),
            (After::Perform(key, request, args, prepared), _) => {
                self.perform(key, &request, args, Some(prepared), None)
            }
            (After::Nothing | After::Decide(..), _) => {}
        }
    }

    /// Starts what an effect asks for. What is done at once, such as a look at the clock, takes no task of its own.
    fn spawn(&mut self, key: EffectKey, work: impl Future<Output = Performed> + Send + 'static) {
        let mut work = Box::pin(work);
        if let Some(performed) = (&mut work).now_or_never() {
            return self.complete(key, performed);
        }
        let named = key.clone();
        let abort = self.running.spawn(async move { (named, work.await) });
        self.aborts.insert(key, abort);
    }

    pub(crate) fn sleep_until(&mut self, key: EffectKey, due: Timestamp) {
        let left = due.millis().saturating_sub(SystemClock.now().millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        self.timers.insert(key.clone(), due);
        self.spawn(key, async move {
            tokio::time::sleep(left).await;
            Completion::Time { refused: None }.into()
        });
    }

    /// Performs an authorised call; `read` says what policy said about one that only reads.
    pub(crate) fn perform(
        &mut self,
        key: EffectKey,
        request: &Request,
        args: Map<String, Value>,
        prepared: Option<Prepared>,
        read: Option<Decision>,
    ) {
        let (Request::Tool(call) | Request::Call(call)) = request else { return };
        let Some(tool) = self.executor(request) else {
            return self.complete(key, crate::authorise::unknown(call));
        };
        let (ctx, call) = (self.ctx.clone(), call.clone());
        let shape = Shape::of(request, &*self.port);
        let read = read.map(|decision| (call.clone(), decision));
        self.spawn(key, async move {
            Performed { read, ..call_tool(tool, ctx, call, args, prepared, shape).await }
        });
    }

    /// The program will read the answer to this while it comes.
    pub(crate) fn listen(&mut self, key: &EffectKey, stream: &str) {
        let pieces = Arc::new(Pieces::default());
        self.ctx.open.put_shared(stream, Arc::clone(&pieces));
        self.live.insert(key.clone(), pieces);
    }

    pub(crate) fn complete(&mut self, key: EffectKey, performed: impl Into<Performed>) {
        self.timers.remove(&key);
        self.turns.free(&key);
        self.fall_silent(&key);
        self.done.push_back((key, performed.into()));
    }

    /// Whatever came of a call, nothing more is heard of it.
    fn fall_silent(&mut self, key: &EffectKey) {
        if let Some(pieces) = self.live.remove(key) {
            pieces.end();
        }
    }

    fn finished(&mut self, finished: Result<(EffectKey, Performed), tokio::task::JoinError>) {
        // What was given up comes back as an error, and nobody waits for it.
        if let Ok((key, performed)) = finished {
            self.aborts.remove(&key);
            self.complete(key, performed);
        }
    }

    /// What has happened while the program was busy, without waiting for anything.
    async fn look_around(&mut self) -> Result<Option<RunExit>, RunError> {
        while let Some(finished) = self.running.try_join_next() {
            self.finished(finished);
        }
        let signal = self.port.signal().now_or_never();
        match signal {
            Some(signal) => self.heed(signal).await,
            None => Ok(None),
        }
    }

    /// Waits for an effect or for news. Gives the exit when there is nothing left to wait for here.
    async fn wait(&mut self) -> Result<Option<RunExit>, RunError> {
        if self.running.is_empty() && self.waiting.is_empty() {
            return self
                .finish(failure_end("internal_error", "The program waits for nothing."))
                .await
                .map(Some);
        }
        let patience = if self.sleeps() { self.port.lingers() } else { Duration::MAX };
        let signal = tokio::select! {
            Some(finished) = self.running.join_next() => {
                self.finished(finished);
                return Ok(None);
            }
            signal = self.port.signal() => signal,
            () = tokio::time::sleep(patience) => return Ok(Some(RunExit::Parked)),
        };
        self.heed(signal).await
    }

    /// Whether nothing is under way here but waiting, for people or for a time that is far away: whoever wakes the run
    /// then finds all of it in the journal.
    fn sleeps(&self) -> bool {
        let soon = SystemClock.now().plus_millis(PARKS_AFTER_MS);
        let is_far = self.timers.values().all(|due| *due > soon);
        let only_timers = self.running.len() == self.timers.len() && is_far;
        // Nobody would wake a run that is kept nowhere.
        let may_park = self.port.keeps_a_journal();
        only_timers && may_park && self.ctx.background.is_empty() && self.ctx.open.may_go()
    }

    async fn heed(&mut self, signal: Signal) -> Result<Option<RunExit>, RunError> {
        match signal {
            Signal::Over => Ok(Some(RunExit::Over)),
            Signal::Draining => self.drain().await.map(Some),
            Signal::Answered => self.hear_answers().await.map(|()| None),
            Signal::Interrupted => {
                self.interrupted = true;
                Ok(None)
            }
        }
    }

    /// Running effects may finish and are recorded; nothing new is begun. The harness decides how long that takes.
    async fn drain(&mut self) -> Result<RunExit, RunError> {
        for key in std::mem::take(&mut self.timers).into_keys() {
            if let Some(abort) = self.aborts.remove(&key) {
                abort.abort();
            }
        }
        for (key, performed) in std::mem::take(&mut self.done) {
            self.port.commit(vec![performed.entry(key, None)]).await?;
        }
        while let Some(finished) = self.running.join_next().await {
            if let Ok((key, performed)) = finished {
                self.port.commit(vec![performed.entry(key, None)]).await?;
            }
        }
        Ok(RunExit::Suspended)
    }
}

/// Whether this version runs such programs as they were started.
fn is_supported(manifest: &Manifest) -> bool {
    match manifest.program.as_str() {
        agent::PROGRAM => manifest.semantics == agent::SEMANTICS,
        script::PROGRAM => manifest.semantics == script::SEMANTICS,
        _ => false,
    }
}

enum Replayed {
    Open(Vec<Effect>),
    Ended(RunEnd),
}

/// A completion of the journal, and when it struck.
struct Recorded {
    key: EffectKey,
    completion: Completion,
    at: Option<u64>,
}

/// What a journal says about a run.
#[derive(Default)]
struct Journal {
    progress: HashMap<EffectKey, Progress>,
    recorded: VecDeque<Recorded>,
    begun: Vec<EffectKey>,
    /// Bytes of output that were shown.
    shown: usize,
}

impl Journal {
    fn read(entries: &[JournalEntry]) -> Self {
        let mut journal = Self::default();
        for entry in entries.iter().cloned() {
            journal.take(entry);
        }
        journal
    }

    fn take(&mut self, entry: JournalEntry) {
        match entry {
            JournalEntry::Manifest { .. } | JournalEntry::Dropped { .. } => {}
            JournalEntry::Requested { key, decision, .. } => self.of(key).decision = Some(decision),
            JournalEntry::Asked { key, .. } => self.of(key).asked += 1,
            JournalEntry::Answered { key, answer, .. } => self.of(key).answers.push(answer),
            JournalEntry::Begun { key, attempt, args, plan, .. } => {
                if attempt == 1 {
                    self.begun.push(key.clone());
                }
                self.of(key).begun = Some(Begun { attempt, args, plan });
            }
            JournalEntry::Timer { key, due, .. } => self.of(key).due = Some(due),
            JournalEntry::Waiting { key, .. } => self.of(key).waits = true,
            JournalEntry::Completed { key, completion, at, .. } => {
                self.recorded.push_back(Recorded { key, completion, at });
            }
            JournalEntry::Output { shown } => {
                self.shown += shown.iter().map(|shown| shown.text.len()).sum::<usize>();
            }
        }
    }

    fn of(&mut self, key: EffectKey) -> &mut Progress {
        self.progress.entry(key).or_default()
    }
}

/// Whether an entry says only what the program has seen. What it tells others is for them to see soon.
fn is_look(entry: &Entry) -> bool {
    let Entry::Completed(completed) = entry else { return false };
    completed.read.as_ref().is_some_and(|(call, _)| !matches!(call.name.as_str(), "emit" | "tool_end"))
}

fn failure_end(code: &str, message: &str) -> RunEnd {
    RunEnd::failed(Failure::new(code, message))
}
