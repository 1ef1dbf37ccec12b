//! The machine: it runs a program until every fibre waits, and never does anything else than compute.
//!
//! `run` gives what was printed and which calls the host is to answer; `complete` brings an answer. Fibres take turns
//! in the order in which they became ready, so the same answers in the same order give the same run.

mod bound_tools;
mod build;
mod call;
mod census;
mod check;
mod context;
mod exec;
mod fibre;
mod internal;
mod iterate;
mod locks;
mod mailbox;
mod object;
mod operate;
mod output;
mod shared;
mod special;
mod tasks;
mod tracing;
mod turn;
mod unwind;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::builtins::Meter;
use crate::bytecode::Program;
use crate::fault::{Fault, Limit};
use crate::value::{Dict, Value};
use fibre::{Fibre, Frame, Wait};
use object::Objects;

pub use call::Method;

/// What a program may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps in all.
    pub fuel: u64,
    /// Bytes alive at once.
    pub memory: u64,
    /// Bytes of output in all.
    pub output: u64,
    /// Tasks alive at once.
    pub tasks: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { fuel: u64::MAX, memory: 1 << 30, output: 64 << 20, tasks: 100_000 }
    }
}

/// Something that was printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub to: Channel,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Out,
    Error,
}

/// A call that the host is to answer with `complete`.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: u64,
    /// `builtin:path:n`: the same in every run of the program with the same answers.
    pub key: String,
    pub builtin: &'static str,
    pub args: Vec<Value>,
}

/// What happened since the last time.
#[derive(Debug)]
pub struct Turn {
    pub output: Vec<Output>,
    pub calls: Vec<Call>,
    /// Calls whose answers nobody waits for any more.
    pub dropped: Vec<u64>,
    /// What `Vm::call` started and has ended, with its result.
    pub ended: Vec<(u32, Result<Value, Failure>)>,
    pub state: State,
}

#[derive(Debug, Clone)]
pub enum State {
    /// For answers of the host.
    Waiting,
    /// There is more to do at once.
    OutOfFuel,
    /// From here on only what the host calls is run.
    Done(Value),
    Failed(Failure),
}

/// An error that nobody caught, with the way to it.
#[derive(Clone, Debug)]
pub struct Failure {
    pub fault: Fault,
    /// From the inside out: the function, and the place in its source.
    pub trace: Vec<TraceEntry>,
}

#[derive(Clone, Debug)]
pub struct TraceEntry {
    pub function: Arc<str>,
    pub module: u16,
    pub offset: u32,
}

pub struct Vm {
    program: Arc<Program>,
    globals: Vec<Value>,
    /// In order, so that nothing depends on chance.
    fibres: BTreeMap<u32, Box<Fibre>>,
    ready: VecDeque<u32>,
    next_fibre: u32,
    next_ticket: u64,
    objects: Objects,
    meter: Meter,
    limits: Limits,
    /// Steps left in all.
    fuel_left: u64,
    output_left: u64,
    output: Vec<Output>,
    calls: Vec<Call>,
    dropped: Vec<u64>,
    ended: Vec<(u32, Result<Value, Failure>)>,
    next_call: u64,
    /// How many functions the host has called.
    host_calls: u32,
    /// Who waits for which answer.
    waiting: BTreeMap<u64, Waiter>,
    methods: call::MethodCache,
    /// The numbers of two names that are looked for at every call of a method.
    push: u16,
    next: u16,
    result: Option<Result<Value, Failure>>,
    /// Tasks outlive the entry that started them.
    keeps_tasks: bool,
    rng: crate::builtins::Rng,
    console: output::Console,
    locks: locks::Locks,
    shared: shared::Shared,
    mailboxes: mailbox::Mailboxes,
    /// What the host says about the run, for `runtime_context`.
    about: Dict,
    /// How many tasks have ended, to tell which was first.
    endings: u64,
}

/// What an answer of the host is for.
#[derive(Clone, Copy, Debug)]
enum Waiter {
    Fibre(u32),
    Deadline(u32),
    Timer(u32),
}

const MAIN: u32 = 0;

/// What does not fit in what a program gave back, where its pipeline says what that is to be.
pub fn misfit(program: &Program, value: &Value) -> Option<String> {
    check::result(program.returns.as_ref()?, value)
}

/// The fibre that runs a program from its entry on.
fn first_fibre(program: &Program) -> Fibre {
    let mut main = Fibre::new(MAIN, "main".into());
    let closure_at = Frame::NOWHERE;
    let frame = Frame { function: program.entry, pc: 0, base: 0, dst: 0, given: 0, closure_at };
    main.active.arrange(program, &frame);
    main.active.frames.push(frame);
    main
}

impl Vm {
    /// A program with the values that its host gives, in the order in which it was compiled with their names.
    pub fn new(program: Arc<Program>, host_values: Vec<Value>, limits: Limits, seed: u64) -> Self {
        let mut globals = host_values;
        globals.resize(program.globals as usize, Value::Nil);
        let main = first_fibre(&program);
        let methods = call::MethodCache::new(program.names.len());
        let number = |name: &str| {
            let at = program.names.iter().position(|known| known.as_str() == name);
            at.and_then(|at| u16::try_from(at).ok()).unwrap_or(u16::MAX)
        };
        let (push, next) = (number("push"), number("next"));
        Self {
            globals,
            fibres: BTreeMap::from([(MAIN, Box::new(main))]),
            ready: VecDeque::from([MAIN]),
            next_fibre: 1,
            next_ticket: 0,
            objects: Objects::default(),
            meter: Meter::new(limits.memory),
            limits,
            fuel_left: limits.fuel,
            output_left: limits.output,
            output: Vec::new(),
            calls: Vec::new(),
            dropped: Vec::new(),
            ended: Vec::new(),
            next_call: 1,
            host_calls: 0,
            waiting: BTreeMap::new(),
            methods,
            push,
            next,
            result: None,
            keeps_tasks: false,
            rng: crate::builtins::Rng::new(seed),
            console: output::Console::default(),
            locks: locks::Locks::default(),
            shared: shared::Shared::default(),
            mailboxes: mailbox::Mailboxes::default(),
            about: Dict::new(),
            endings: 0,
            program,
        }
    }

    /// For a program that grows: when its entry ends, its tasks wait for the next one.
    pub fn keep_tasks(&mut self) {
        self.keeps_tasks = true;
    }

    /// Goes on with a program that has grown: what it computed stays, and its new entry runs.
    pub fn enter(&mut self, program: Arc<Program>) {
        if self.result.is_none() {
            // It was left in the middle of something.
            self.give_up(Failure { fault: tasks::cancelled(), trace: Vec::new() });
        }
        self.globals.resize(program.globals as usize, Value::Nil);
        self.methods = call::MethodCache::new(program.names.len());
        self.fibres.insert(MAIN, Box::new(first_fibre(&program)));
        self.ready.push_back(MAIN);
        self.result = None;
        (self.fuel_left, self.output_left) = (self.limits.fuel, self.limits.output);
        self.program = program;
    }

    /// Runs until every fibre waits, the program ends, or so many steps were made.
    pub fn run(&mut self, fuel: u64) -> Turn {
        let slice = i64::try_from(fuel.min(self.fuel_left)).unwrap_or(i64::MAX);
        // What the last step of the last turn took beyond its slice is paid first, so that slices do not matter.
        self.meter.fuel = slice.saturating_add(self.meter.fuel.min(0));
        let state = loop {
            if self.keeps_tasks && self.result.is_some() {
                break self.state();
            }
            let Some(id) = self.ready.pop_front() else {
                if self.waiting.is_empty() && !self.fibres.is_empty() {
                    self.deadlock();
                    continue;
                }
                break self.state();
            };
            if self.meter.fuel <= 0 {
                self.ready.push_front(id);
                break State::OutOfFuel;
            }
            // One that was cancelled may still be in the queue.
            if self.fibres.get(&id).is_some_and(|fibre| fibre.wait.is_none())
                && let Some(fibre) = self.fibres.remove(&id)
            {
                self.turn_of(fibre);
            }
        };
        let left = self.meter.fuel.clamp(0, slice);
        self.fuel_left -= u64::try_from(slice - left).unwrap_or(0);
        if matches!(state, State::OutOfFuel) && self.fuel_left == 0 {
            let fault = Fault::Limit(Limit::Fuel(self.limits.fuel));
            let running = self.ready.front().and_then(|id| self.fibres.get(id));
            let trace = running.map(|fibre| self.trace(fibre)).unwrap_or_default();
            self.give_up(Failure { fault, trace });
            let state = self.state();
            return self.turn(state);
        }
        self.turn(state)
    }

    /// How the program is when nothing in it can go on.
    fn state(&self) -> State {
        match self.result.clone() {
            Some(Ok(value)) => State::Done(value),
            Some(Err(failure)) => State::Failed(failure),
            None => State::Waiting,
        }
    }

    fn turn(&mut self, state: State) -> Turn {
        Turn {
            output: std::mem::take(&mut self.output),
            calls: std::mem::take(&mut self.calls),
            dropped: std::mem::take(&mut self.dropped),
            ended: std::mem::take(&mut self.ended),
            state,
        }
    }

    /// The answer to a call. One that nobody waits for any more is ignored.
    pub fn complete(&mut self, call: u64, result: Result<Value, Fault>) {
        match self.waiting.remove(&call) {
            Some(Waiter::Fibre(id)) => {
                let Some(fibre) = self.fibres.get_mut(&id) else { return };
                let Some(Wait::Call { dst, .. }) = fibre.wait.take() else { return };
                match result {
                    Ok(value) => fibre.active.set(dst, value),
                    Err(fault) => fibre.injected = Some(fault),
                }
                self.ready.push_back(id);
            }
            Some(Waiter::Deadline(id)) => {
                let own = self.fibres.get_mut(&id).into_iter().flat_map(|fibre| fibre.coroutines());
                // A generator that has given a value takes its deadlines with it.
                let resting = self.objects.coroutines();
                let mut all = own.chain(resting).flat_map(|coroutine| coroutine.deadlines.iter_mut());
                if let Some(deadline) = all.find(|deadline| deadline.call == call) {
                    deadline.is_over = true;
                }
                drop(all);
                self.wake(id);
            }
            Some(Waiter::Timer(id)) => {
                if let Some(fibre) = self.fibres.get_mut(&id)
                    && let Some((timer, fired)) = &mut fibre.timer
                    && *timer == call
                {
                    *fired = true;
                    self.wake(id);
                }
            }
            None => {}
        }
    }

    /// Ends the program: every fibre is told that it was cancelled.
    pub fn cancel(&mut self) {
        let ids: Vec<u32> = self.fibres.keys().copied().collect();
        for id in ids {
            if let Some(fibre) = self.fibres.get_mut(&id) {
                fibre.is_cancelled = true;
                fibre.injected = Some(tasks::cancelled());
                match fibre.wait.take() {
                    Some(Wait::Call { call, .. }) => {
                        self.waiting.remove(&call);
                        self.dropped.push(call);
                        self.ready.push_back(id);
                    }
                    Some(Wait::Change) => self.ready.push_back(id),
                    None => {}
                }
            }
        }
    }

    /// Lets a fibre that waits for a change look again.
    fn wake(&mut self, id: u32) {
        let Some(fibre) = self.fibres.get_mut(&id) else { return };
        match fibre.wait.take() {
            Some(Wait::Call { call, dst }) => {
                // A deadline interrupts what the fibre waits for.
                if fibre.deadlines().any(|deadline| deadline.is_over) {
                    self.waiting.remove(&call);
                    self.dropped.push(call);
                    self.ready.push_back(id);
                } else {
                    fibre.wait = Some(Wait::Call { call, dst });
                }
            }
            Some(Wait::Change) => self.ready.push_back(id),
            None => {}
        }
    }

    /// Nobody can go on, and no answer is outstanding: whoever waits is told, one after the other.
    fn deadlock(&mut self) {
        let Some((id, fibre)) = self.fibres.iter_mut().next() else { return };
        fibre.wait = None;
        fibre.injected = Some(Fault::Runtime("deadlock: every task waits for another one".into()));
        self.ready.push_back(*id);
    }

    fn new_call(&mut self, waiter: Waiter, key: String, builtin: &'static str, args: Vec<Value>) -> u64 {
        let id = self.next_call;
        self.next_call += 1;
        self.waiting.insert(id, waiter);
        self.calls.push(Call { id, key, builtin, args });
        id
    }

    /// Nobody wants the answer to this call any more.
    fn drop_call(&mut self, call: u64) {
        if self.waiting.remove(&call).is_some() {
            self.dropped.push(call);
        }
    }

    /// Prints for a fibre; what a task prints is kept with it.
    fn print(&mut self, fibre: &mut Fibre, to: Channel, text: String) -> Result<(), Fault> {
        let size = text.len() as u64;
        if size > self.output_left {
            return Err(Fault::Limit(Limit::Output(self.limits.output)));
        }
        self.output_left -= size;
        if self.console.keep(to, &text) {
            return self.meter.charge(text.len());
        }
        let all = fibre.output.as_mut().unwrap_or(&mut self.output);
        match all.last_mut() {
            Some(last) if last.to == to && last.text.len() < 1 << 16 => last.text.push_str(&text),
            _ => all.push(Output { to, text }),
        }
        Ok(())
    }

    /// How many steps it has made in all.
    pub fn steps(&self) -> u64 {
        self.limits.fuel - self.fuel_left
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The key of the next call of its kind in a fibre.
    fn key(fibre: &mut Fibre, builtin: &str) -> String {
        let count = fibre.count(builtin);
        format!("{builtin}:{}:{count}", fibre.path)
    }
}
