//! What happens to an error: it unwinds until something catches it.

use super::exec::Flow;
use super::fibre::{Ending, Fibre};
use super::{Failure, TraceEntry, Vm};
use crate::fault::Fault;

impl Vm {
    /// Raises an error in a fibre: deferred blocks run, the innermost handler takes over, or the fibre ends.
    pub(super) fn raise(&mut self, fibre: &mut Fibre, fault: Fault) -> Flow {
        let trace = self.trace(fibre);
        let mut fault = fault;
        loop {
            if !matches!(fault, Fault::Limit(_)) && self.caught(fibre, &mut fault) {
                return Flow::Again;
            }
            // Nobody in this coroutine wants it: it goes to the one that asked for the next value.
            match fibre.below.pop() {
                Some(below) => {
                    self.objects.end_generator(below.generator);
                    fibre.active = below.coroutine;
                }
                None => {
                    for deadline in std::mem::take(&mut fibre.deadlines) {
                        self.drop_call(deadline.call);
                    }
                    return Flow::End(Err(Failure { fault, trace }));
                }
            }
        }
    }

    /// Unwinds the running coroutine to its innermost handler or deferred block.
    fn caught(&mut self, fibre: &mut Fibre, fault: &mut Fault) -> bool {
        loop {
            let co = &mut fibre.active;
            let depth = co.frames.len() as u32;
            let handler = co.handlers.last().copied().filter(|handler| handler.frames == depth);
            let deferred = co.defers.last().copied().filter(|(frame, _)| *frame == depth);
            if let Some(handler) = handler {
                co.handlers.pop();
                co.set(handler.dst, fault.caught());
                co.faults.push(fault.clone());
                if let Some(frame) = co.frames.last_mut() {
                    frame.pc = handler.to;
                }
                self.end_deadlines(fibre);
                return true;
            }
            if let Some((_, to)) = deferred {
                co.defers.pop();
                co.endings.push(Ending::Fault(fault.clone()));
                if let Some(frame) = co.frames.last_mut() {
                    frame.pc = to;
                }
                return true;
            }
            let line = self.line(fibre);
            let Some(gone) = fibre.active.leave(&self.program) else { return false };
            let left = &self.program.functions[usize::from(gone.function)];
            let caller =
                fibre.active.frames.last().map(|frame| &self.program.functions[usize::from(frame.function)]);
            if !left.is_prelude && caller.is_some_and(|caller| caller.is_prelude) {
                told_with_line(fault, line);
            }
        }
    }

    /// Deadlines of code that was left are over.
    fn end_deadlines(&mut self, fibre: &mut Fibre) {
        let (below, frames, handlers) =
            (fibre.below.len(), fibre.active.frames.len(), fibre.active.handlers.len());
        while let Some(last) = fibre.deadlines.last() {
            let is_left = last.below > below
                || (last.below == below && (last.frames > frames || last.handlers > handlers));
            if !is_left {
                break;
            }
            let call = last.call;
            fibre.deadlines.pop();
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
    fn trace(&self, fibre: &Fibre) -> Vec<TraceEntry> {
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
        frames.map(entry).take(64).collect()
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
