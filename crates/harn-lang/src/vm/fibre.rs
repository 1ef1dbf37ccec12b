//! A thread of a program: its frames, what it waits for, and what it has printed.

use std::sync::Arc;

use super::TraceEntry;
use crate::bytecode::{Function, Program, Reg};
use crate::fault::Fault;
use crate::value::{Closure, Dict, Value};

/// How deep calls may be nested.
pub const MAX_FRAMES: usize = 512;

/// A function that is being run.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub function: u16,
    /// The caller's register for the result.
    pub dst: Reg,
    /// The next instruction.
    pub pc: u32,
    /// Its first register on the stack.
    pub base: u32,
    /// Where on the stack the closure is that it is: a register of the caller, which does not change while it waits, so
    /// that the call need not count the closure.
    pub closure_at: u32,
    /// How many arguments the caller gave.
    pub given: u8,
}

impl Frame {
    /// For `closure_at`: the function is not a closure.
    pub const NOWHERE: u32 = u32::MAX;
    /// For `closure_at`: the coroutine holds the closure.
    pub const HELD: u32 = u32::MAX - 1;

    /// The closure that is being run; `below` is the stack up to the registers of the function.
    #[inline(always)]
    pub fn own_closure<'a>(&self, below: &'a [Value], held: &'a [Arc<Closure>]) -> Option<&'a Arc<Closure>> {
        match below.get(self.closure_at as usize) {
            Some(Value::Closure(closure)) => Some(closure),
            _ if self.closure_at == Self::HELD => held.last(),
            _ => None,
        }
    }
}

/// Where an error lands.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    /// How many frames there were.
    pub frames: u32,
    pub dst: Reg,
    pub to: u32,
}

/// How a function ends once its deferred blocks have run.
#[derive(Debug)]
pub enum Ending {
    Return(Value),
    /// An error, and where it came from.
    Fault(Fault, Vec<TraceEntry>),
}

/// Calls on top of each other. A generator is one, and so is what runs it.
#[derive(Debug, Default)]
pub struct Coroutine {
    pub stack: Vec<Value>,
    pub frames: Vec<Frame>,
    /// The closures of those frames that have none in a register of their caller.
    pub held: Vec<Arc<Closure>>,
    pub handlers: Vec<Handler>,
    /// Errors that were caught and may be thrown on, and where they came from.
    pub faults: Vec<(Fault, Vec<TraceEntry>)>,
    /// Where the error came from that is being thrown on.
    pub origin: Option<Vec<TraceEntry>>,
    pub defers: Vec<Deferred>,
    /// Those that hold for what it does, the outermost first.
    pub deadlines: Vec<Deadline>,
    /// Functions that are running their deferred blocks.
    pub endings: Vec<Ending>,
}

/// What a generator's next value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// The item of a loop; at the end its jump is taken.
    Loop(Reg),
    /// `{done, value}`.
    Step(Reg),
}

/// A coroutine that runs a generator at the moment.
#[derive(Debug)]
pub struct Suspended {
    pub coroutine: Box<Coroutine>,
    pub generator: u32,
    pub deliver: Deliver,
}

/// What a fibre waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The host's answer to a call; the result goes to a register.
    Call { call: u64, dst: Reg },
    /// Something in the VM changes: then the instruction is tried again.
    Change,
}

/// A fibre was woken because a thing of this number has something for it, or room for what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    pub to: u32,
    pub side: Side,
}

/// What a fibre wants of a thing that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Take,
    Give,
}

/// A time limit on what a fibre is doing.
#[derive(Clone, Debug)]
pub struct Deadline {
    pub call: u64,
    pub is_over: bool,
    /// How many handlers and frames there were, so that an error that leaves it ends it.
    pub handlers: usize,
    pub frames: usize,
}

/// A block that runs when its function ends.
#[derive(Debug)]
pub struct Deferred {
    /// How many frames there were with its function.
    pub frame: u32,
    pub to: u32,
    /// The registers from this one on are kept as they were when the round of a loop ended in which they belong.
    pub low: Reg,
    pub kept: Vec<Value>,
}

/// A thread of the program.
#[derive(Debug)]
pub struct Fibre {
    pub id: u32,
    /// `main`, `main/spawn:1`, `main/parallel:1:0`.
    pub path: Arc<str>,
    /// Boxed, as a generator takes its place and gives it back for every value.
    pub active: Box<Coroutine>,
    pub below: Vec<Suspended>,
    pub wait: Option<Wait>,
    /// The number of its last wait; what was noted down for an earlier one no longer counts.
    pub ticket: u64,
    /// What it was called for, and has not looked at yet.
    pub called: Option<Called>,
    /// What a task prints is kept until somebody takes its result.
    pub output: Option<Vec<super::Output>>,
    /// An error that is raised as soon as it runs.
    pub injected: Option<Fault>,
    /// A timer of the instruction that waits, and whether it has fired.
    pub timer: Option<(u64, bool)>,
    /// Cancelled, to be told at the next opportunity.
    pub is_cancelled: bool,
    /// How many tasks and calls of each kind it has started.
    pub counts: std::collections::HashMap<Arc<str>, u32>,
    /// Values that the program keeps with its tasks.
    pub context: Arc<Dict>,
    /// The task that this is, as others hold it.
    pub task: Option<u32>,
    /// Who started it; cancelled with it.
    pub parent: u32,
    /// The program, or the call of the host, that it is part of and ends with.
    pub root: u32,
    /// Whether it has started tasks.
    pub has_tasks: bool,
    /// What was caught last.
    pub caught: Option<Fault>,
    /// The lock in whose queue it is.
    pub queued: Option<super::locks::Name>,
}

impl Fibre {
    /// What it runs, with the generators in between.
    pub fn coroutines(&mut self) -> impl Iterator<Item = &mut Coroutine> {
        let below = self.below.iter_mut().map(|below| &mut *below.coroutine);
        below.chain(std::iter::once(&mut *self.active))
    }

    pub fn deadlines(&self) -> impl Iterator<Item = &Deadline> {
        let below = self.below.iter().map(|below| &below.coroutine);
        below.chain(std::iter::once(&self.active)).flat_map(|coroutine| coroutine.deadlines.iter())
    }

    pub fn new(id: u32, path: Arc<str>) -> Self {
        Self {
            id,
            path,
            active: Box::default(),
            below: Vec::new(),
            wait: None,
            ticket: 0,
            called: None,
            output: None,
            injected: None,
            timer: None,
            is_cancelled: false,
            counts: std::collections::HashMap::new(),
            context: Arc::default(),
            task: None,
            parent: id,
            root: id,
            has_tasks: false,
            caught: None,
            queued: None,
        }
    }

    pub fn count(&mut self, kind: &str) -> u32 {
        if let Some(count) = self.counts.get_mut(kind) {
            *count += 1;
            return *count;
        }
        self.counts.insert(kind.into(), 1);
        1
    }
}

impl Coroutine {
    /// What the topmost function has to do before it ends.
    pub fn next_deferred(&mut self) -> Option<Deferred> {
        let depth = self.frames.len() as u32;
        self.defers.pop_if(|deferred| deferred.frame == depth)
    }

    pub fn run_deferred(&mut self, deferred: Deferred, ending: Ending) {
        self.endings.push(ending);
        let Some(frame) = self.frames.last_mut() else { return };
        frame.pc = deferred.to;
        let first = frame.base as usize + usize::from(deferred.low);
        for (register, value) in self.stack[first..].iter_mut().zip(deferred.kept) {
            *register = value;
        }
    }

    /// Puts a function on top, whose arguments are already on the stack from `base` on.
    pub fn enter(
        &mut self,
        program: &Program,
        frame: Frame,
        closure: Option<Arc<Closure>>,
    ) -> Result<(), Fault> {
        if self.frames.len() >= MAX_FRAMES {
            return Err(Fault::Plain("Stack overflow: too many nested calls".into()));
        }
        self.arrange(program, &frame);
        let closure_at = if closure.is_some() { Frame::HELD } else { Frame::NOWHERE };
        self.held.extend(closure);
        self.frames.push(Frame { closure_at, ..frame });
        Ok(())
    }

    /// Takes the topmost frame away; its registers are left.
    pub fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        if frame.closure_at == Frame::HELD {
            self.held.pop();
        }
        Some(frame)
    }

    /// As `enter`, for a function that the arguments fit, where there is room for a frame.
    #[inline(always)]
    pub fn enter_simply(&mut self, function: &Function, frame: Frame) {
        let needed = frame.base as usize + usize::from(function.registers);
        if self.stack.len() < needed {
            self.stack.resize(needed, Value::Nil);
        }
        self.frames.push(frame);
    }

    /// The topmost function goes on from this instruction.
    #[inline(always)]
    pub fn stay_at(&mut self, pc: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc as u32;
        }
    }

    /// Makes the registers of a function out of the arguments that it was given.
    pub fn arrange(&mut self, program: &Program, frame: &Frame) {
        let function = &program.functions[usize::from(frame.function)];
        let (base, given) = (frame.base as usize, usize::from(frame.given));
        let params = function.params.len();
        let needed = base + usize::from(function.registers).max(params).max(given);
        if self.stack.len() < needed {
            self.stack.resize(needed, Value::Nil);
        }
        if function.has_rest {
            let first = params - 1;
            let surplus = given.saturating_sub(first);
            let rest = self.stack[base + first.min(given)..base + given.max(first.min(given))].iter_mut();
            let rest: Vec<Value> = rest.map(std::mem::take).collect();
            debug_assert_eq!(rest.len(), surplus);
            for missing in given..first {
                self.stack[base + missing] = Value::Nil;
            }
            self.stack[base + first] = Value::list(rest);
            return;
        }
        for place in given.min(params)..given.max(params) {
            self.stack[base + place] = Value::Nil;
        }
    }

    /// Takes the topmost function away, with its registers.
    pub fn leave(&mut self, program: &Program) -> Option<Frame> {
        let frame = self.pop()?;
        let registers = usize::from(program.functions[usize::from(frame.function)].registers);
        let base = frame.base as usize;
        let end = (base + registers).min(self.stack.len());
        clear(&mut self.stack[base..end]);
        Some(frame)
    }

    /// A register of the topmost function.
    #[inline]
    pub fn set(&mut self, dst: Reg, value: Value) {
        if let Some(frame) = self.frames.last() {
            let at = frame.base as usize + usize::from(dst);
            if let Some(place) = self.stack.get_mut(at) {
                *place = value;
            }
        }
    }
}

/// Lets go of what is in registers.
#[inline(always)]
pub fn clear(registers: &mut [Value]) {
    for register in registers {
        if !register.is_scalar() {
            *register = Value::Nil;
        }
    }
}

/// A register, for those who only have a fibre.
pub fn register(fibre: &mut Fibre, at: Reg) -> &mut Value {
    let base = fibre.active.frames.last().map_or(0, |frame| frame.base as usize);
    &mut fibre.active.stack[base + usize::from(at)]
}
