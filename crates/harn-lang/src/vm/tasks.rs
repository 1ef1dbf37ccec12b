//! Tasks: starting them, and what happens when they end.

use std::sync::Arc;

use super::exec::Flow;
use super::fibre::{Fibre, Frame};
use super::object::{Object, TaskState};
use super::{Failure, MAIN, Output, Vm};
use crate::bytecode::Reg;
use crate::fault::{Fault, Limit};
use crate::value::{HandleKind, Value};

impl Vm {
    /// Starts a task. It does not run before whoever started it waits.
    pub(super) fn spawn(
        &mut self,
        parent: &mut Fibre,
        closure: Value,
        args: Vec<Value>,
        kind: &str,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let count = parent.count(kind);
        let path: Arc<str> = format!("{}/{kind}:{count}", parent.path).into();
        let handle = self.start_task(parent, closure, args, path)?;
        parent.active.set(dst, handle);
        Ok(Flow::Again)
    }

    pub(super) fn start_task(
        &mut self,
        parent: &mut Fibre,
        closure: Value,
        args: Vec<Value>,
        path: Arc<str>,
    ) -> Result<Value, Fault> {
        let Value::Closure(closure) = closure else {
            return Err(Fault::Type(format!("cannot run {} as a task", closure.type_name())));
        };
        if self.fibres.len() as u64 >= self.limits.tasks {
            return Err(Fault::Limit(Limit::Tasks(self.limits.tasks)));
        }
        self.meter.charge(512)?;
        let id = self.next_fibre;
        self.next_fibre += 1;
        let mut fibre = Fibre::new(id, path);
        fibre.output = Some(Vec::new());
        fibre.context = Arc::clone(&parent.context);
        let given = u8::try_from(args.len()).unwrap_or(u8::MAX);
        let function = u16::try_from(closure.function).unwrap_or(u16::MAX);
        fibre.active.stack = args;
        let frame = Frame { function, pc: 0, base: 0, dst: 0, given, closure: Some(closure) };
        fibre.active.enter(&self.program, frame)?;
        let state = TaskState { fibre: Some(id), result: None, output: Vec::new() };
        let label = format!("vm_task_{id}");
        let handle = self.add_object(parent, HandleKind::Task, Object::Task(state), &label);
        if let Value::Handle(handle) = &handle {
            fibre.task = Some(handle.id);
        }
        self.fibres.insert(id, fibre);
        self.ready.push_back(id);
        Ok(handle)
    }

    /// A fibre has ended: the program with it, if it was the first; else whoever waits for the task is told.
    pub(super) fn ended(&mut self, mut fibre: Fibre, result: Result<Value, Failure>) {
        for deadline in std::mem::take(&mut fibre.deadlines) {
            self.drop_call(deadline.call);
        }
        if let Some((timer, _)) = fibre.timer.take() {
            self.drop_call(timer);
        }
        if fibre.id == MAIN {
            self.finish(result);
            return;
        }
        // A limit is the whole program's.
        if let Err(Failure { fault: Fault::Limit(_), .. }) = &result {
            self.finish(result);
            return;
        }
        let Some(task) = fibre.task else { return };
        if let Some(Object::Task(state)) = self.objects.get_mut(task) {
            state.fibre = None;
            state.result = Some(result);
            state.output = fibre.output.take().unwrap_or_default();
        }
        self.wake_waiters(task);
    }

    /// The program is over; tasks that still run are dropped.
    pub(super) fn finish(&mut self, result: Result<Value, Failure>) {
        self.fibres.clear();
        self.ready.clear();
        self.dropped.extend(std::mem::take(&mut self.waiting).into_keys());
        self.result = Some(result);
    }

    /// The result of a task, once it has one; its output joins that of the fibre that takes it.
    pub(super) fn take_result(&mut self, fibre: &mut Fibre, task: u32) -> Option<Result<Value, Failure>> {
        let Some(Object::Task(state)) = self.objects.get_mut(task) else { return Some(Ok(Value::Nil)) };
        if state.fibre.is_some() {
            return None;
        }
        let output: Vec<Output> = std::mem::take(&mut state.output);
        let result = state.result.take().unwrap_or(Ok(Value::Nil));
        fibre.output.as_mut().unwrap_or(&mut self.output).extend(output);
        Some(result)
    }

    /// Ends a task at once. What it printed is lost.
    pub(super) fn cancel_task(&mut self, task: u32) {
        let Some(Object::Task(state)) = self.objects.get_mut(task) else { return };
        let Some(id) = state.fibre.take() else { return };
        let fault = Fault::Plain("kind:cancelled:VM cancelled by host".into());
        state.result = Some(Err(Failure { fault, trace: Vec::new() }));
        if let Some(fibre) = self.fibres.remove(&id) {
            if let Some(super::Wait::Call { call, .. }) = fibre.wait {
                self.drop_call(call);
            }
            for deadline in fibre.deadlines {
                self.drop_call(deadline.call);
            }
        }
        self.ready.retain(|other| *other != id);
        self.wake_waiters(task);
    }
}
