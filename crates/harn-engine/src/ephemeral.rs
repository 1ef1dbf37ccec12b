//! Runs that leave nothing behind: the same program, driver and policy, and a journal that nobody keeps.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use harn_core::chat::ModelRef;
use harn_core::decision::{EffectKind, PathFact};
use harn_core::errand::{Errand, Query};
use harn_core::ports::{Located, RunError, RunExit, RunPort, Signal};
use harn_core::price::Prices;
use harn_core::route::ChosenBy;
use harn_core::run::{
    Answer, Budget, Completion, Decision, EffectKey, Entry, Limits, Manifest, Program, Reply, Request,
    RunEnd, RunRecord, Shown, Spend, Trust, Verdict,
};
use harn_core::tool::{OwnTool, ToolCall, ToolSpec};
use harn_core::{AutonomyTier, Clock, Error, SessionId, SystemClock, TaskId};
use harn_policy::{ApprovalPolicy, Policy, Subject, located};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::calls::Place;
use crate::fixture::Fixture;
use crate::memory::Memory;
use crate::people::{self, Approvals, People};
use crate::perform::failed;
use crate::tools::ConfinedFiles;
use crate::{EngineOptions, driver, script};

/// Who watches such a run.
pub trait Witness: Send + Sync {
    /// Something was printed. An error means that nobody reads it any more, and ends the run.
    fn printed(&self, shown: &[Shown]) -> std::io::Result<()>;

    /// An effect was asked for, allowed or not.
    fn asked(&self, _key: &EffectKey, _decision: &Decision) {}

    /// The program told something: progress, a plan, a message.
    fn told(&self, _kind: &str, _payload: &Value) {}
}

/// How an ephemeral run is stopped from outside.
#[derive(Default)]
pub struct Interrupts {
    state: Mutex<Option<Signal>>,
    changed: Notify,
}

impl Interrupts {
    /// The program may put things in order.
    pub fn interrupt(&self) {
        self.tell(Signal::Interrupted);
    }

    /// It is over now.
    pub fn stop(&self) {
        self.tell(Signal::Over);
    }

    /// Before another run: what was said is for the one before.
    pub fn forget(&self) {
        *self.state.lock() = None;
    }

    fn tell(&self, signal: Signal) {
        *self.state.lock() = Some(signal);
        self.changed.notify_one();
    }

    async fn next(&self) -> Signal {
        loop {
            let told = *self.state.lock();
            match told {
                Some(Signal::Over) => return Signal::Over,
                Some(signal) => {
                    *self.state.lock() = None;
                    return signal;
                }
                None => self.changed.notified().await,
            }
        }
    }
}

/// What an ephemeral run is made of.
pub struct Setup {
    pub policy: Arc<Policy>,
    pub trust: Trust,
    pub limits: Limits,
    pub place: Arc<Place>,
    pub witness: Arc<dyn Witness>,
    pub interrupts: Arc<Interrupts>,
    /// Who answers questions; none where nobody is there.
    pub people: Option<Arc<dyn People>>,
    /// Keeps what effects give, or answers in their place.
    pub fixture: Option<Arc<Fixture>>,
}

/// Runs a program to its end, in this process and at once.
pub async fn run(options: &EngineOptions, setup: Setup, program: Box<dyn Program>) -> Option<RunEnd> {
    let place = Arc::clone(&setup.place);
    let record = record(options, &setup);
    let port = Arc::new(Ephemeral {
        calls: options.calls.specs(),
        tools: options.registry.specs(),
        setup,
        spending: Mutex::default(),
        end: Mutex::default(),
        memory: Memory::default(),
        approvals: Approvals::default(),
    });
    let run = driver::drive(options, Arc::clone(&port) as Arc<dyn RunPort>, record, program, place);
    let exit = match port.setup.limits.budget.seconds {
        None => run.await,
        Some(seconds) => match tokio::time::timeout(Duration::from_secs(seconds), run).await {
            Ok(exit) => exit,
            Err(_) => return Some(RunEnd::failed(Budget::out_of_time(seconds))),
        },
    };
    debug_assert!(exit != RunExit::Parked, "nobody would wake an ephemeral run");
    port.end.lock().take()
}

fn record(options: &EngineOptions, setup: &Setup) -> RunRecord {
    let manifest = Manifest {
        program: script::PROGRAM.to_owned(),
        semantics: script::SEMANTICS,
        model: options.model.clone(),
        tier: AutonomyTier::ActAuto,
        limits: setup.limits,
        seed: 0,
        root: setup.place.root.to_str().map(str::to_owned),
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
        trust: setup.trust,
        script: None,
        narrowing: Default::default(),
    };
    RunRecord {
        task_id: TaskId::generate(),
        session_id: SessionId::generate(),
        manifest,
        system_prompt: "".into(),
        tools: options.registry.specs(),
        script: None,
        summary: None,
        history: Vec::new(),
        journal: Vec::new(),
    }
}

/// The port of such a run: policy decides, and nothing is written down.
struct Ephemeral {
    calls: Arc<[ToolSpec]>,
    tools: Arc<[ToolSpec]>,
    setup: Setup,
    spending: Mutex<Spending>,
    end: Mutex<Option<RunEnd>>,
    memory: Memory,
    approvals: Approvals,
}

/// What the run has spent, and what it has set aside for calls that are under way.
#[derive(Default)]
struct Spending {
    spent: Spend,
    /// What was given up stays here: the provider may charge for it all the same.
    reserved: HashMap<EffectKey, Spend>,
}

impl Spending {
    fn committed(&self) -> Spend {
        let mut total = self.spent;
        self.reserved.values().for_each(|reserved| total += *reserved);
        total
    }

    fn settle(&mut self, key: &EffectKey, completion: &Completion) {
        self.reserved.remove(key);
        if let Completion::Model { answer } = completion {
            self.spent += Spend {
                input_tokens: answer.usage.input_tokens,
                output_tokens: answer.usage.output_tokens,
                micro_usd: answer.answered_by.as_ref().and_then(|by| by.micro_usd),
            };
        }
    }
}

impl Ephemeral {
    fn judge(&self, key: &EffectKey, effect: EffectKind, name: &str, args: &Map<String, Value>) -> Decision {
        self.judge_of(None, key, effect, name, args, None)
    }

    /// The same about an effect that may be a call of a model, or of a tool that the script describes itself.
    fn judge_of(
        &self,
        model: Option<&ModelRef>,
        key: &EffectKey,
        effect: EffectKind,
        name: &str,
        args: &Map<String, Value>,
        own: Option<&OwnTool>,
    ) -> Decision {
        let spec = own.map(|tool| &tool.spec).or_else(|| self.spec_of(effect, name));
        let paths = spec.map(|spec| self.located(spec, args)).unwrap_or_default();
        let subject = Subject { model, ..self.subject(effect, name, spec, (args, &paths)) };
        let mut decision = self.setup.policy.decide(&subject);
        if let Some(policy) = own.and_then(|tool| ApprovalPolicy::of_script(&tool.policy)) {
            decision = policy.narrow(decision, &subject);
        }
        if decision.action == Verdict::Ask && self.approvals.has(key) {
            decision.action = Verdict::Allow;
        }
        if decision.action == Verdict::Ask && self.setup.people.is_none() {
            decision.action = Verdict::Deny;
            decision.reason = format!(
                "{} Nobody is there to be asked: run it at a terminal or with --durable, or allow it in harn.toml.",
                decision.reason
            );
        }
        self.setup.witness.asked(key, &decision);
        decision
    }

    fn spec_of(&self, effect: EffectKind, name: &str) -> Option<&ToolSpec> {
        let specs = match effect {
            EffectKind::Call => &self.calls,
            EffectKind::Tool | EffectKind::Question => &self.tools,
            _ => return None,
        };
        specs.iter().find(|spec| spec.name == name)
    }

    fn subject<'a>(
        &self,
        effect: EffectKind,
        name: &'a str,
        spec: Option<&'a ToolSpec>,
        (args, paths): (&'a Map<String, Value>, &'a [PathFact]),
    ) -> Subject<'a> {
        Subject {
            effect,
            name,
            spec,
            args,
            model: None,
            paths,
            tier: AutonomyTier::ActAuto,
            persona: None,
            session: "",
            workspace: "",
            submitter: "",
            trust: self.setup.trust,
            now: SystemClock.now(),
        }
    }

    fn located(&self, spec: &ToolSpec, args: &Map<String, Value>) -> Vec<PathFact> {
        let Some(root) = self.setup.place.root.to_str() else { return Vec::new() };
        located(&ConfinedFiles, root, spec, args)
    }

    /// An effect that is nothing but a decision.
    fn gate(&self, key: &EffectKey, effect: EffectKind, name: &str, args: Value, open: Reply) -> Reply {
        let args = args.as_object().cloned().unwrap_or_default();
        let decision = self.judge(key, effect, name, &args);
        match decision.action {
            Verdict::Allow => open,
            _ => self.decided(key, name, &args, decision),
        }
    }

    /// A decision about an effect that is now to happen: where policy asks, a person is asked.
    fn decided(&self, key: &EffectKey, name: &str, args: &Map<String, Value>, decision: Decision) -> Reply {
        if decision.action == Verdict::Ask
            && let Some(people) = &self.setup.people
        {
            let call = ToolCall { id: key.to_string(), name: name.to_owned(), args: args.clone() };
            self.approvals.ask(Arc::clone(people), key, call, decision.clone());
        }
        Reply::Decided(decision)
    }

    /// Policy and budget decide about a call of a model.
    fn begin_model(
        &self,
        key: EffectKey,
        model: &ModelRef,
        messages: usize,
        (wanted, prices): (Spend, Option<Prices>),
    ) -> Reply {
        let args = json!({ "provider": model.provider, "model": model.model, "messages": messages });
        let args = args.as_object().cloned().unwrap_or_default();
        let decision = self.judge_of(Some(model), &key, EffectKind::Model, "model", &args, None);
        if decision.action != Verdict::Allow {
            return self.decided(&key, "model", &args, decision);
        }
        let mut spending = self.spending.lock();
        let budget = self.setup.limits.budget;
        let over = budget.refuses("This run", spending.committed(), wanted, (model, prices));
        if let Some(over) = over {
            return Reply::Decided(over.decision(AutonomyTier::ActAuto, model));
        }
        spending.reserved.insert(key, wanted);
        Reply::Done
    }

    fn reply(&self, entry: Entry) -> Result<Reply, RunError> {
        Ok(match entry {
            Entry::Requested { key, effect, call, .. } => {
                let decision = self.judge(&key, effect, &call.name, &call.args);
                self.decided(&key, &call.name, &call.args, decision)
            }
            Entry::Ask { key, ask } => {
                let (name, args) = (ask.call.name.as_str(), Value::Object(ask.call.args.clone()));
                self.gate(&key, EffectKind::Question, name, args, Reply::Done)
            }
            Entry::OwnTool { key, tool } => {
                let call = &tool.call;
                let decision =
                    self.judge_of(None, &key, EffectKind::Tool, &call.name, &call.args, Some(&tool));
                self.decided(&key, &call.name, &call.args, decision)
            }
            Entry::Errand { key, call } => self.errand(&key, &call),
            Entry::Timer { key, due } => {
                self.gate(&key, EffectKind::Timer, "timer", json!({ "due": due }), Reply::Done)
            }
            Entry::BegunModel { key, model, messages, input_tokens, output_tokens, prices, .. } => {
                let wanted = Spend::at_most(input_tokens, output_tokens, prices);
                self.begin_model(key, &model, messages, (wanted, prices))
            }
            Entry::TakeInbox { .. } => Reply::Delivered(Completion::Inbox { messages: Vec::new() }),
            Entry::Compact { .. } => Reply::Delivered(Completion::Compacted { artifact_id: None }),
            Entry::Output { shown } => {
                self.setup.witness.printed(&shown).map_err(|_| RunError::Over)?;
                Reply::Done
            }
            Entry::Finished(end) => {
                *self.end.lock() = Some(end);
                Reply::Done
            }
            Entry::Completed(completed) => {
                self.spending.lock().settle(&completed.key, &completed.completion);
                if let Some(fixture) = &self.setup.fixture {
                    fixture.completed(&completed.key, &completed.completion);
                }
                if let Some((call, _)) = completed.read.filter(|(call, _)| call.name == "emit") {
                    let kind = call.args.get("kind").and_then(Value::as_str).unwrap_or("update");
                    self.setup.witness.told(kind, call.args.get("payload").unwrap_or(&Value::Null));
                }
                Reply::Done
            }
            Entry::Dropped { key } => {
                self.approvals.forget(&key);
                Reply::Done
            }
            Entry::Begun { .. } => Reply::Done,
        })
    }

    fn errand(&self, key: &EffectKey, call: &ToolCall) -> Reply {
        let errand = match Errand::parse(call) {
            Ok(errand) => errand,
            Err(problem) => return Reply::Delivered(failed(call, &problem)),
        };
        let args = Value::Object(call.args.clone());
        match self.gate(key, EffectKind::Call, &call.name, args, Reply::Done) {
            Reply::Done => match self.memory.run(errand) {
                Some(answer) => Reply::Delivered(Completion::Answered { answer }),
                None => Reply::Done,
            },
            refused => refused,
        }
    }
}

#[async_trait]
impl RunPort for Ephemeral {
    async fn load(&self) -> Result<RunRecord, RunError> {
        Err(RunError::Unavailable(Error::internal("A run that leaves nothing behind cannot be loaded.")))
    }

    async fn commit(&self, entries: Vec<Entry>) -> Result<Vec<Reply>, RunError> {
        entries.into_iter().map(|entry| self.reply(entry)).collect()
    }

    async fn decide(&self, effect: EffectKind, call: &ToolCall) -> Result<Decision, RunError> {
        Ok(self.judge(&EffectKey::spelled(call.id.as_str()), effect, &call.name, &call.args))
    }

    fn keeps_a_journal(&self) -> bool {
        false
    }

    fn verdict(&self, effect: EffectKind, name: &str, at: &Located) -> Verdict {
        let fact = at.read();
        let args = Map::from_iter([("path".to_owned(), fact.asked.as_str().into())]);
        let spec = self.spec_of(effect, name);
        self.setup.policy.verdict(&self.subject(effect, name, spec, (&args, &[fact])))
    }

    async fn answers(&self) -> Result<Vec<(EffectKey, Answer)>, RunError> {
        Ok(self.approvals.answers())
    }

    async fn answer_here(&self, _: &EffectKey, request: &Request) -> Completion {
        match request {
            Request::Ask(ask) => people::ask(self.setup.people.as_deref(), ask).await,
            Request::Errand(call) => match Errand::parse(call) {
                Ok(Errand::Wait(wait)) => Completion::Answered { answer: self.memory.wait(&wait).await },
                _ => failed(call, "There is nothing to wait for."),
            },
            _ => std::future::pending().await,
        }
    }

    fn recorded(&self, key: &EffectKey, request: &Request) -> Option<Completion> {
        let fixture = self.setup.fixture.as_ref()?;
        let spec = match request {
            Request::Call(call) => self.calls.iter().find(|spec| spec.name == call.name),
            Request::Tool(call) => self.tools.iter().find(|spec| spec.name == call.name),
            _ => None,
        };
        fixture.answer(key, request, spec)
    }

    async fn tell(&self, query: Query) -> Result<Value, RunError> {
        Ok(self.memory.tell(query).await)
    }

    async fn signal(&self) -> Signal {
        tokio::select! {
            signal = self.setup.interrupts.next() => signal,
            () = self.approvals.heard() => Signal::Answered,
        }
    }
}
