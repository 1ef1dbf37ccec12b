//! A fibre's turn, and how its functions end.

use std::sync::Arc;

use super::exec::Flow;
use super::fibre::{Deadline, Deferred, Ending, Fibre, Wait};
use super::{Vm, Waiter};
use crate::bytecode::Reg;
use crate::fault::Fault;
use crate::value::Value;

impl Vm {
    /// Runs a fibre until it waits or ends.
    pub(super) fn turn_of(&mut self, mut fibre: Box<Fibre>) {
        let program = Arc::clone(&self.program);
        let called = fibre.called.take();
        self.has_come(called);
        if let (Some(called), true) = (called, is_interrupted(&fibre)) {
            self.wake_waiters(called.to);
        }
        loop {
            let flow = match self.interruption(&mut fibre) {
                Some(fault) => self.raise(&mut fibre, fault),
                None => self.execute(&program, &mut fibre),
            };
            match flow {
                Flow::Again => {}
                Flow::Stop => {
                    let id = fibre.id;
                    if fibre.wait.is_none() {
                        self.ready.push_front(id);
                    }
                    self.fibres.insert(id, fibre);
                    return;
                }
                Flow::End(result) => return self.ended(fibre, result),
            }
        }
    }

    /// An error from outside that is due.
    fn interruption(&mut self, fibre: &mut Fibre) -> Option<Fault> {
        if let Some(fault) = fibre.injected.take() {
            return Some(fault);
        }
        if !is_interrupted(fibre) {
            return None;
        }
        // One that whoever runs a generator has set is over for the generator, too, and nothing in it can catch that.
        let is_over = |deadline: &Deadline| deadline.is_over;
        while fibre.below.iter().any(|below| below.coroutine.deadlines.iter().any(is_over)) {
            self.leave_generator(fibre);
        }
        let over = fibre.active.deadlines.iter().position(is_over)?;
        for deadline in fibre.active.deadlines.split_off(over) {
            self.drop_call(deadline.call);
        }
        Some(Fault::Thrown(Value::str("Deadline exceeded")))
    }

    pub(super) fn begin_deadline(&mut self, fibre: &mut Fibre, ms: i64) {
        let key = Self::key(fibre, "deadline");
        let call = self.new_call(Waiter::Deadline(fibre.id), key, "deadline", vec![Value::Int(ms)]);
        let co = &mut fibre.active;
        let (handlers, frames) = (co.handlers.len(), co.frames.len());
        co.deadlines.push(Deadline { call, is_over: false, handlers, frames });
    }

    /// The topmost function ends with a value, after its deferred blocks.
    pub(super) fn return_value(&mut self, fibre: &mut Fibre, value: Value) -> Flow {
        let co = &mut fibre.active;
        if let Some(deferred) = co.next_deferred() {
            co.run_deferred(deferred, Ending::Return(value));
            return Flow::Again;
        }
        let Some(done) = co.leave(&self.program) else { return Flow::End(Ok(value)) };
        if co.frames.is_empty() {
            return match fibre.below.is_empty() {
                true => Flow::End(Ok(value)),
                false => self.generator_ended(fibre),
            };
        }
        co.set(done.dst, value);
        Flow::Again
    }

    pub(super) fn end_defer(&mut self, fibre: &mut Fibre) -> Flow {
        match fibre.active.endings.pop() {
            Some(Ending::Return(value)) => self.return_value(fibre, value),
            Some(Ending::Fault(fault, trace)) => self.raise_from(fibre, fault, trace),
            None => Flow::Again,
        }
    }

    /// The block at `to` will run when the function ends.
    pub(super) fn defer(&mut self, fibre: &mut Fibre, to: u32, low: Reg) -> Result<Flow, Fault> {
        self.pay(fibre, size_of::<Deferred>())?;
        let frame = fibre.active.frames.len() as u32;
        fibre.active.defers.push(Deferred { frame, to, low, kept: Vec::new() });
        Ok(Flow::Again)
    }

    /// A round of a loop ends: what was deferred in it keeps its variables, which are those from a register on.
    pub(super) fn keep_deferred(&mut self, fibre: &mut Fibre, from: Reg) -> Result<Flow, Fault> {
        let co = &mut fibre.active;
        let frame = co.frames.len() as u32;
        let base = co.frames.last().map_or(0, |frame| frame.base as usize);
        let mut count = 0;
        for deferred in co.defers.iter_mut().rev().take_while(|it| it.frame == frame && it.low > from) {
            let live = &co.stack[base + usize::from(from)..base + usize::from(deferred.low)];
            deferred.kept.splice(..0, live.iter().cloned());
            (deferred.low, count) = (from, count + live.len());
        }
        self.pay(fibre, count * size_of::<Value>())?;
        Ok(Flow::Again)
    }

    /// Lets a fibre wait until something changes, and then try its instruction again.
    pub(super) fn wait_for_change(&mut self, fibre: &mut Fibre) -> Flow {
        fibre.wait = Some(Wait::Change);
        if let Some(frame) = fibre.active.frames.last_mut() {
            frame.pc -= 1;
        }
        Flow::Stop
    }
}

/// Whether an error from outside is due.
fn is_interrupted(fibre: &Fibre) -> bool {
    fibre.injected.is_some() || fibre.deadlines().any(|deadline| deadline.is_over)
}
