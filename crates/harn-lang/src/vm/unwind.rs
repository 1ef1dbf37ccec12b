//! What happens to an error: it unwinds until something catches it.

use super::exec::Flow;
use super::fibre::{Coroutine, Deadline, Ending, Fibre};
use super::{Failure, TraceEntry, Vm};
use crate::fault::Fault;

impl Vm {
    /// Raises an error in a fibre: deferred blocks run, the innermost handler takes over, or the fibre ends.
    pub(super) fn raise(&mut self, fibre: &mut Fibre, fault: Fault) -> Flow {
        let trace = fibre.active.origin.take().unwrap_or_else(|| self.trace(fibre));
        self.raise_from(fibre, fault, trace)
    }

    /// Raises an error that came from there: one that a deferred block held up keeps its place.
    pub(super) fn raise_from(&mut self, fibre: &mut Fibre, mut fault: Fault, trace: Vec<TraceEntry>) -> Flow {
        // What it was waiting for, it waits for no longer.
        self.end_timer(fibre);
        self.leave_queue(fibre);
        loop {
            if !matches!(fault, Fault::Limit(_)) && self.caught(fibre, &mut fault, &trace) {
                return Flow::Again;
            }
            // Nobody in this coroutine wants it: it goes to the one that asked for the next value.
            if !self.leave_generator(fibre) {
                self.drop_deadlines(&mut fibre.active);
                if fibre.id == super::MAIN {
                    uncaught(&mut fault);
                }
                return Flow::End(Err(Failure { fault, trace }));
            }
        }
    }

    /// Ends the generator that is running, if one is, and goes back to what runs it.
    pub(super) fn leave_generator(&mut self, fibre: &mut Fibre) -> bool {
        let Some(below) = fibre.below.pop() else { return false };
        self.drop_deadlines(&mut fibre.active);
        self.objects.end_generator(below.generator);
        self.wake_waiters(below.generator);
        fibre.active = below.coroutine;
        true
    }

    pub(super) fn drop_deadlines(&mut self, coroutine: &mut Coroutine) {
        for deadline in std::mem::take(&mut coroutine.deadlines) {
            self.drop_call(deadline.call);
        }
    }

    /// Unwinds the running coroutine to its innermost handler or deferred block.
    fn caught(&mut self, fibre: &mut Fibre, fault: &mut Fault, trace: &[TraceEntry]) -> bool {
        loop {
            let co = &mut fibre.active;
            let depth = co.frames.len() as u32;
            let handler = co.handlers.last().copied().filter(|handler| handler.frames == depth);
            if let Some(handler) = handler {
                co.handlers.pop();
                co.set(handler.dst, fault.caught());
                co.faults.push((fault.clone(), trace.to_vec()));
                fibre.caught = Some(fault.clone());
                if let Some(frame) = co.frames.last_mut() {
                    frame.pc = handler.to;
                }
                self.end_deadlines(fibre);
                return true;
            }
            if let Some(deferred) = co.next_deferred() {
                co.run_deferred(deferred, Ending::Fault(fault.clone(), trace.to_vec()));
                return true;
            }
            if self.is_given_away(fibre) {
                let line = self.line(fibre);
                told_with_line(fault, line);
            }
            if fibre.active.leave(&self.program).is_none() {
                return false;
            }
        }
    }

    /// Whether the topmost function was given to a builtin, or is a task.
    fn is_given_away(&self, fibre: &Fibre) -> bool {
        let is_prelude =
            |frame: &super::Frame| self.program.functions[usize::from(frame.function)].is_prelude;
        match fibre.active.frames.as_slice() {
            [] => false,
            [only] => !is_prelude(only) && fibre.below.is_empty() && fibre.id != super::MAIN,
            [.., caller, called] => !is_prelude(called) && is_prelude(caller),
        }
    }

    /// Deadlines of code that was left are over.
    fn end_deadlines(&mut self, fibre: &mut Fibre) {
        let (frames, handlers) = (fibre.active.frames.len(), fibre.active.handlers.len());
        let is_left = |last: &mut Deadline| last.frames > frames || last.handlers > handlers;
        while let Some(Deadline { call, .. }) = fibre.active.deadlines.pop_if(is_left) {
            self.drop_call(call);
        }
    }

    fn line(&self, fibre: &Fibre) -> u32 {
        let Some(frame) = fibre.active.frames.last() else { return 0 };
        let function = &self.program.functions[usize::from(frame.function)];
        let offset = function.places.get((frame.pc as usize).saturating_sub(1)).copied().unwrap_or(0);
        let text = self.program.sources.get(usize::from(function.module)).map_or("", |source| &source.text);
        let before = text.get(..offset as usize).unwrap_or_default();
        u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX)
    }

    /// The functions that are being run, from the inside out.
    pub(super) fn trace(&self, fibre: &Fibre) -> Vec<TraceEntry> {
        let coroutines =
            std::iter::once(&fibre.active).chain(fibre.below.iter().rev().map(|below| &below.coroutine));
        let frames = coroutines.flat_map(|co| co.frames.iter().rev());
        let entry = |frame: &super::Frame| {
            let function = &self.program.functions[usize::from(frame.function)];
            let at = (frame.pc as usize).saturating_sub(1);
            TraceEntry {
                function: function.name.clone(),
                module: function.module,
                offset: function.places.get(at).copied().unwrap_or(0),
            }
        };
        frames.map(entry).take(2 * super::fibre::MAX_FRAMES).collect()
    }
}

/// The error that was caught last, to be thrown on as if nobody had caught it.
pub(super) fn thrown_on(
    faults: &mut Vec<(Fault, Vec<TraceEntry>)>,
    origin: &mut Option<Vec<TraceEntry>>,
) -> Option<Fault> {
    let (fault, trace) = faults.pop()?;
    *origin = Some(trace);
    Some(fault)
}

/// What came out of a function that was given to a builtin, and that nobody caught, is an error of the machine.
fn uncaught(fault: &mut Fault) {
    if let Fault::Plain(message) = fault
        && message.contains(" (line ")
    {
        *fault = Fault::Runtime(std::mem::take(message));
    }
}

/// An error of the machine that leaves a function which was given to a builtin is told with its line.
fn told_with_line(fault: &mut Fault, line: u32) {
    match fault {
        Fault::Type(message) | Fault::Runtime(message) | Fault::Plain(message)
            if !message.contains(" (line ") =>
        {
            message.push_str(&format!(" (line {line})"));
        }
        _ => {}
    }
}
