//! A fibre's turn, and how its functions end.

use std::sync::Arc;

use super::exec::Flow;
use super::fibre::{Deadline, Ending, Fibre, Wait};
use super::{Vm, Waiter};
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
        let over = fibre.deadlines.iter().position(|deadline| deadline.is_over)?;
        for deadline in fibre.deadlines.split_off(over) {
            self.drop_call(deadline.call);
        }
        Some(Fault::Thrown(Value::str("Deadline exceeded")))
    }

    pub(super) fn begin_deadline(&mut self, fibre: &mut Fibre, ms: i64) {
        let key = Self::key(fibre, "deadline");
        let call = self.new_call(Waiter::Deadline(fibre.id), key, "deadline", vec![Value::Int(ms)]);
        fibre.deadlines.push(Deadline {
            call,
            is_over: false,
            handlers: fibre.active.handlers.len(),
            frames: fibre.active.frames.len(),
            below: fibre.below.len(),
        });
    }

    /// The topmost function ends with a value, after its deferred blocks.
    pub(super) fn return_value(&mut self, fibre: &mut Fibre, value: Value) -> Flow {
        let co = &mut fibre.active;
        let depth = co.frames.len() as u32;
        if let Some((frame, to)) = co.defers.last().copied()
            && frame == depth
        {
            co.defers.pop();
            co.endings.push(Ending::Return(value));
            if let Some(frame) = co.frames.last_mut() {
                frame.pc = to;
            }
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
    fibre.injected.is_some() || fibre.deadlines.iter().any(|deadline| deadline.is_over)
}
