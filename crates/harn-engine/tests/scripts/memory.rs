//! A run whose journal is in memory, and whose log stops when a test wants it. Ephemeral runs have a port of their own in
//! the engine, which keeps no journal: they are never gone on with, and that is what is tested here.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use harn_core::chat::ModelRef;
use harn_core::decision::EffectKind;
use harn_core::ports::{Located, RunError, RunPort, Signal};
use harn_core::route::ChosenBy;
use harn_core::run::{
    Budget, Completed, Completion, Decision, Entry, JournalEntry, Limits, Manifest, Reply, RunEnd, RunRecord,
    ScriptImage, Trust, Verdict,
};
use harn_core::tool::{Class, SideEffect, ToolCall, ToolOutcome};
use harn_core::{AutonomyTier, Clock, Error, SessionId, SystemClock, TaskId};
use harn_engine::calls::Simple;
use harn_engine::guard::GuardCommand;
use harn_engine::tools::{Registry, Tool, ToolFailure};
use harn_engine::{Engine, EngineOptions, script};
use harn_model::{Models, OfflineModel};
use harn_policy::{Policy, Subject};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// Whether the log stops before a commit is durable, or right after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Before,
    After,
}

/// An engine with two calls: one that reads, and one that happens at most once.
pub fn engine() -> Engine {
    let mut options = options();
    options.calls = Registry::of_calls(calls());
    Engine::new(options)
}

/// An engine as it is.
pub fn options() -> EngineOptions {
    let models = Models::new(vec![Arc::new(OfflineModel)]);
    let model = ModelRef { provider: "offline".into(), model: "offline".into() };
    let guard = GuardCommand { program: "/nonexistent".into(), args: Vec::new() };
    EngineOptions::new(models, model, guard)
}

fn calls() -> Vec<Arc<dyn Tool>> {
    let read = Simple::new("read_file", "Reads.", Class::Read, SideEffect::ReadOnly, |_, args| {
        Ok(json!(format!("<{}>", args["path"].as_str().unwrap_or_default())))
    });
    let append =
        Simple::new("append_file", "Appends.", Class::Once, SideEffect::WorkspaceWrite, |ctx, args| {
            use std::io::Write as _;
            let failed = |error: std::io::Error| ToolFailure::new(error.to_string());
            let file = ctx.place.root.join(args["path"].as_str().unwrap_or_default());
            let mut file =
                std::fs::OpenOptions::new().create(true).append(true).open(file).map_err(failed)?;
            file.write_all(args["content"].as_str().unwrap_or_default().as_bytes()).map_err(failed)?;
            Ok(Value::Null)
        });
    vec![read.call(), append.call()]
}

pub fn record(text: &str, folder: &Path) -> RunRecord {
    let image = ScriptImage {
        entry: "main.harn".into(),
        sources: vec![("main.harn".into(), text.into())],
        ..ScriptImage::default()
    };
    let manifest = Manifest {
        program: script::PROGRAM.to_owned(),
        semantics: script::SEMANTICS,
        model: ModelRef { provider: "offline".into(), model: "offline".into() },
        tier: AutonomyTier::ActAuto,
        limits: Limits {
            max_model_calls: 1,
            max_output_tokens: 1,
            context_window: 1000,
            budget: Budget::default(),
        },
        seed: 7,
        root: folder.to_str().map(str::to_owned),
        system_prompt: String::new(),
        tools: String::new(),
        history_up_to: 0,
        compacted: None,
        prices: None,
        thinking: Default::default(),
        chosen_by: ChosenBy::Configuration,
        fallbacks: Vec::new(),
        fallback_on: Vec::new(),
        mutation: None,
        trust: Trust::Own,
        script: Some("image".into()),
        narrowing: Default::default(),
    };
    RunRecord {
        task_id: TaskId::generate(),
        session_id: SessionId::generate(),
        manifest,
        system_prompt: "".into(),
        tools: Arc::default(),
        script: Some(Arc::new(image)),
        summary: None,
        history: Vec::new(),
        journal: Vec::new(),
    }
}

/// What policy says to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Allow,
    Deny,
}

pub struct Memory {
    record: RunRecord,
    rule: Rule,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    journal: Vec<JournalEntry>,
    commits: usize,
    stop_at: Option<(Point, usize)>,
    is_stopped: bool,
    shown: String,
    end: Option<RunEnd>,
}

impl Memory {
    pub fn new(record: RunRecord, stop_at: Option<(Point, usize)>) -> Self {
        Self { record, rule: Rule::Allow, state: Mutex::new(State { stop_at, ..State::default() }) }
    }

    pub fn denying(record: RunRecord) -> Self {
        Self { record, rule: Rule::Deny, state: Mutex::default() }
    }

    /// What was decided about the call of this name.
    pub fn decided(&self, name: &str) -> Option<Verdict> {
        self.state.lock().journal.iter().find_map(|entry| match entry {
            JournalEntry::Requested { call, decision, .. } if call.name == name => Some(decision.action),
            _ => None,
        })
    }

    pub fn is_stopped(&self) -> bool {
        self.state.lock().is_stopped
    }

    pub fn is_over(&self) -> bool {
        self.state.lock().end.is_some()
    }

    /// How many effects came back without anybody knowing what became of them.
    pub fn interrupted(&self) -> usize {
        let is_interrupted = |entry: &&JournalEntry| match entry {
            JournalEntry::Completed { completion: Completion::Tool { result }, .. } => {
                result.outcome == ToolOutcome::Interrupted
            }
            _ => false,
        };
        self.state.lock().journal.iter().filter(is_interrupted).count()
    }

    /// The process starts again.
    pub fn revive(&self) {
        let mut state = self.state.lock();
        (state.is_stopped, state.stop_at) = (false, None);
    }

    pub fn shown(&self) -> String {
        self.state.lock().shown.clone()
    }

    pub fn end(&self) -> RunEnd {
        self.state.lock().end.clone().unwrap()
    }
}

impl State {
    fn apply(&mut self, entry: Entry, rule: Rule) -> Reply {
        let none = Map::new();
        let journaled = match entry {
            Entry::Requested { key, effect, call, class } => {
                let decision = decide(rule, effect, &call.name, &call.args);
                let reply = Reply::Decided(decision.clone());
                self.journal.push(JournalEntry::Requested { key, call, class, decision });
                return reply;
            }
            // Nothing but a commit: it is denied here, or not asked for by these programs.
            Entry::Errand { key, call } => {
                let decision = decide(rule, EffectKind::Call, &call.name, &call.args);
                let (reply, class) = (Reply::Decided(decision.clone()), Class::Local);
                self.journal.push(JournalEntry::Requested { key, call, class, decision });
                return reply;
            }
            Entry::Begun { key, attempt, args, plan, .. } => {
                assert_eq!(attempt, 1, "what happens at most once was begun again");
                let (epoch, decision, reserved) = (1, None, None);
                JournalEntry::Begun { key, attempt, epoch, args, plan, decision, reserved }
            }
            Entry::BegunModel { key, attempt, model, .. } => {
                let decision = Some(decide(rule, EffectKind::Model, "model", &none));
                let (epoch, args, plan, reserved) = (1, json!(model), None, None);
                JournalEntry::Begun { key, attempt, epoch, args, plan, decision, reserved }
            }
            Entry::Completed(completed) => {
                let Completed { key, completion, changes, read, at, .. } = *completed;
                let is_same = |entry: &JournalEntry| matches!(entry, JournalEntry::Completed { key: other, .. } if *other == key);
                assert!(!self.journal.iter().any(is_same), "{key} was completed twice");
                let ((call, decision), spent) = (read.unzip(), None);
                JournalEntry::Completed { key, completion, changes, decision, spent, call, at }
            }
            Entry::Timer { key, due } => {
                let decision = Some(decide(rule, EffectKind::Timer, "timer", &none));
                JournalEntry::Timer { key, due, decision }
            }
            Entry::Dropped { key } => JournalEntry::Dropped { key },
            Entry::Output { shown } => {
                shown.iter().for_each(|shown| self.shown.push_str(&shown.text));
                JournalEntry::Output { shown }
            }
            Entry::Finished(end) => {
                assert!(self.end.replace(end).is_none(), "the run ended twice");
                return Reply::Done;
            }
            other => panic!("a script does not ask for {other:?}"),
        };
        self.journal.push(journaled);
        Reply::Done
    }
}

fn decide(rule: Rule, effect: EffectKind, name: &str, args: &Map<String, Value>) -> Decision {
    let decision = Policy::default().decide(&Subject {
        effect,
        name,
        spec: None,
        args,
        model: None,
        paths: &[],
        tier: AutonomyTier::ActAuto,
        persona: None,
        session: "",
        workspace: "",
        submitter: "",
        trust: Trust::Own,
        now: SystemClock.now(),
    });
    match rule {
        Rule::Allow => decision,
        Rule::Deny => Decision { action: Verdict::Deny, ..decision },
    }
}

#[async_trait]
impl RunPort for Memory {
    async fn load(&self) -> Result<RunRecord, RunError> {
        Ok(RunRecord { journal: self.state.lock().journal.clone(), ..self.record.clone() })
    }

    async fn commit(&self, entries: Vec<Entry>) -> Result<Vec<Reply>, RunError> {
        let mut state = self.state.lock();
        state.commits += 1;
        let n = state.commits;
        let stopped = || RunError::Unavailable(Error::internal("The log stopped."));
        state.is_stopped |= state.stop_at == Some((Point::Before, n));
        if state.is_stopped {
            return Err(stopped());
        }
        let replies = entries.into_iter().map(|entry| state.apply(entry, self.rule)).collect();
        state.is_stopped |= state.stop_at == Some((Point::After, n));
        if state.is_stopped { Err(stopped()) } else { Ok(replies) }
    }

    async fn decide(&self, effect: EffectKind, call: &ToolCall) -> Result<Decision, RunError> {
        Ok(decide(self.rule, effect, &call.name, &call.args))
    }

    fn verdict(&self, _: EffectKind, _: &str, _: &Located) -> Verdict {
        Verdict::Allow
    }

    async fn signal(&self) -> Signal {
        std::future::pending().await
    }
}
