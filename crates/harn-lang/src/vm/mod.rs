//! The machine: it runs a program until every fibre waits, and never does anything else than compute.
//!
//! `run` gives what was printed and which calls the host is to answer; `complete` brings an answer. Fibres take turns
//! in the order in which they became ready, so the same answers in the same order give the same run.

mod call;
mod census;
mod check;
mod exec;
mod fibre;
mod iterate;
mod object;
mod operate;
mod special;
mod tasks;
mod unwind;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::builtins::Meter;
use crate::bytecode::Program;
use crate::fault::{Fault, Limit};
use crate::value::{Text, Value};
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
    pub state: State,
}

#[derive(Debug, Clone)]
pub enum State {
    /// For answers of the host.
    Waiting,
    OutOfFuel,
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
    fibres: BTreeMap<u32, Fibre>,
    ready: VecDeque<u32>,
    next_fibre: u32,
    objects: Objects,
    meter: Meter,
    limits: Limits,
    /// Steps left in all.
    fuel_left: u64,
    output_left: u64,
    output: Vec<Output>,
    calls: Vec<Call>,
    dropped: Vec<u64>,
    next_call: u64,
    /// Who waits for which answer.
    waiting: BTreeMap<u64, Waiter>,
    methods: call::MethodCache,
    result: Option<Result<Value, Failure>>,
    rng: crate::builtins::Rng,
    special: special::Shared,
}

/// What an answer of the host is for.
#[derive(Clone, Copy, Debug)]
enum Waiter {
    Fibre(u32),
    Deadline(u32),
    Timer(u32),
}

const MAIN: u32 = 0;

impl Vm {
    /// A program with the values that its host gives, in the order in which it was compiled with their names.
    pub fn new(program: Arc<Program>, host_values: Vec<Value>, limits: Limits, seed: u64) -> Self {
        let mut globals = host_values;
        globals.resize(program.globals as usize, Value::Nil);
        let mut main = Fibre::new(MAIN, "main".into());
        let frame = Frame { function: program.entry, pc: 0, base: 0, dst: 0, given: 0, closure: None };
        main.active.arrange(&program, &frame);
        main.active.frames.push(frame);
        let methods = call::MethodCache::new(program.names.len());
        Self {
            globals,
            fibres: BTreeMap::from([(MAIN, main)]),
            ready: VecDeque::from([MAIN]),
            next_fibre: 1,
            objects: Objects::default(),
            meter: Meter::new(limits.memory),
            limits,
            fuel_left: limits.fuel,
            output_left: limits.output,
            output: Vec::new(),
            calls: Vec::new(),
            dropped: Vec::new(),
            next_call: 1,
            waiting: BTreeMap::new(),
            methods,
            result: None,
            rng: crate::builtins::Rng::new(seed),
            special: special::Shared::default(),
            program,
        }
    }

    /// Runs until every fibre waits, the program ends, or so many steps were made.
    pub fn run(&mut self, fuel: u64) -> Turn {
        let slice = fuel.min(self.fuel_left);
        self.meter.fuel = slice;
        let state = loop {
            if let Some(result) = self.result.clone() {
                break match result {
                    Ok(value) => State::Done(value),
                    Err(failure) => State::Failed(failure),
                };
            }
            if self.meter.fuel == 0 {
                break State::OutOfFuel;
            }
            let Some(id) = self.ready.pop_front() else {
                if self.waiting.is_empty() {
                    self.deadlock();
                    continue;
                }
                break State::Waiting;
            };
            if let Some(fibre) = self.fibres.remove(&id) {
                self.turn_of(fibre);
            }
        };
        self.fuel_left -= slice - self.meter.fuel.min(slice);
        if matches!(state, State::OutOfFuel) && self.fuel_left == 0 {
            let fault = Fault::Limit(Limit::Fuel(self.limits.fuel));
            let failure = Failure { fault, trace: Vec::new() };
            self.result = Some(Err(failure.clone()));
            return self.turn(State::Failed(failure));
        }
        self.turn(state)
    }

    fn turn(&mut self, state: State) -> Turn {
        Turn {
            output: std::mem::take(&mut self.output),
            calls: std::mem::take(&mut self.calls),
            dropped: std::mem::take(&mut self.dropped),
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
                if let Some(fibre) = self.fibres.get_mut(&id) {
                    let over = fibre.deadlines.iter_mut().find(|deadline| deadline.call == call);
                    if let Some(deadline) = over {
                        deadline.is_over = true;
                    }
                    self.wake(id);
                }
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
                fibre.injected = Some(Fault::Plain("kind:cancelled:VM cancelled by host".into()));
                if let Some(Wait::Call { call, .. }) = fibre.wait.take() {
                    self.waiting.remove(&call);
                    self.dropped.push(call);
                }
                self.ready.push_back(id);
            }
        }
    }

    /// Lets a fibre that waits for a change look again.
    fn wake(&mut self, id: u32) {
        let Some(fibre) = self.fibres.get_mut(&id) else { return };
        match fibre.wait.take() {
            Some(Wait::Call { call, dst }) => {
                // A deadline interrupts what the fibre waits for.
                if fibre.deadlines.iter().any(|deadline| deadline.is_over) {
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

    /// Nobody can go on, and no answer is outstanding: whoever waits is told.
    fn deadlock(&mut self) {
        let Some((id, fibre)) = self.fibres.iter_mut().next() else {
            self.result = Some(Ok(Value::Nil));
            return;
        };
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
        let all = fibre.output.as_mut().unwrap_or(&mut self.output);
        match all.last_mut() {
            Some(last) if last.to == to && last.text.len() < 1 << 16 => last.text.push_str(&text),
            _ => all.push(Output { to, text }),
        }
        Ok(())
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn text(&self, name: u16) -> Arc<Text> {
        Arc::clone(&self.program.names[usize::from(name)])
    }

    /// The key of the next call of its kind in a fibre.
    fn key(fibre: &mut Fibre, builtin: &str) -> String {
        let count = fibre.count(builtin);
        format!("{builtin}:{}:{count}", fibre.path)
    }
}
