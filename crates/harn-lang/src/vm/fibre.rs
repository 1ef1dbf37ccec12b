//! A thread of a program: its frames, what it waits for, and what it has printed.

use std::sync::Arc;

use crate::bytecode::{Program, Reg};
use crate::fault::Fault;
use crate::value::{Closure, Dict, Value};

/// How deep calls may be nested.
pub const MAX_FRAMES: usize = 512;

/// A function that is being run.
#[derive(Debug)]
pub struct Frame {
    pub function: u16,
    /// The next instruction.
    pub pc: u32,
    /// Its first register on the stack.
    pub base: u32,
    /// The caller's register for the result.
    pub dst: Reg,
    /// How many arguments the caller gave.
    pub given: u8,
    pub closure: Option<Arc<Closure>>,
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
    Fault(Fault),
}

/// Calls on top of each other. A generator is one, and so is what runs it.
#[derive(Debug, Default)]
pub struct Coroutine {
    pub stack: Vec<Value>,
    pub frames: Vec<Frame>,
    pub handlers: Vec<Handler>,
    /// Errors that were caught and may be thrown on.
    pub faults: Vec<Fault>,
    /// Deferred blocks: the frame and the place of the code.
    pub defers: Vec<(u32, u32)>,
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
    pub coroutine: Coroutine,
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

/// A time limit on what a fibre is doing.
#[derive(Clone, Debug)]
pub struct Deadline {
    pub call: u64,
    pub is_over: bool,
    /// How many handlers and frames there were, so that an error that leaves it ends it.
    pub handlers: usize,
    pub frames: usize,
    /// How many coroutines were below.
    pub below: usize,
}

/// A thread of the program.
#[derive(Debug)]
pub struct Fibre {
    pub id: u32,
    /// `main`, `main/spawn:1`, `main/parallel:1:0`.
    pub path: Arc<str>,
    pub active: Coroutine,
    pub below: Vec<Suspended>,
    pub wait: Option<Wait>,
    /// What a task prints is kept until somebody takes its result.
    pub output: Option<Vec<super::Output>>,
    pub deadlines: Vec<Deadline>,
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
}

impl Fibre {
    pub fn new(id: u32, path: Arc<str>) -> Self {
        Self {
            id,
            path,
            active: Coroutine::default(),
            below: Vec::new(),
            wait: None,
            output: None,
            deadlines: Vec::new(),
            injected: None,
            timer: None,
            is_cancelled: false,
            counts: std::collections::HashMap::new(),
            context: Arc::default(),
            task: None,
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
    /// Puts a function on top, whose arguments are already on the stack from `base` on.
    pub fn enter(&mut self, program: &Program, frame: Frame) -> Result<(), Fault> {
        if self.frames.len() >= MAX_FRAMES {
            return Err(Fault::Plain("Stack overflow: too many nested calls".into()));
        }
        self.arrange(program, &frame);
        self.frames.push(frame);
        Ok(())
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
        let frame = self.frames.pop()?;
        let registers = usize::from(program.functions[usize::from(frame.function)].registers);
        let base = frame.base as usize;
        let end = (base + registers).min(self.stack.len());
        self.stack[base..end].fill(Value::Nil);
        Some(frame)
    }

    /// A register of the topmost function.
    pub fn set(&mut self, dst: Reg, value: Value) {
        if let Some(frame) = self.frames.last() {
            let at = frame.base as usize + usize::from(dst);
            if let Some(place) = self.stack.get_mut(at) {
                *place = value;
            }
        }
    }
}
