//! Tasks: starting them, what happens when they end, and calls of the host.

use std::sync::Arc;

use super::exec::Flow;
use super::fibre::{Fibre, Frame, Wait};
use super::object::{Object, TaskState};
use super::{Failure, MAIN, Output, Vm};
use crate::bytecode::Reg;
use crate::fault::{Fault, Limit};
use crate::value::{Closure, HandleKind, Value};

/// Where what a task prints goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prints {
    /// Kept until somebody takes its result.
    Later,
    Now,
}

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
        let handle = self.start_task(parent, closure, args, path, Prints::Later)?;
        parent.active.set(dst, handle);
        Ok(Flow::Again)
    }

    pub(super) fn start_task(
        &mut self,
        parent: &mut Fibre,
        closure: Value,
        args: Vec<Value>,
        path: Arc<str>,
        prints: Prints,
    ) -> Result<Value, Fault> {
        let Value::Closure(closure) = closure else {
            return Err(Fault::Type(format!("cannot run {} as a task", closure.type_name())));
        };
        if !self.has_room_for_task() {
            return Err(Fault::Limit(Limit::Tasks(self.limits.tasks)));
        }
        let function = u16::try_from(closure.function).unwrap_or(u16::MAX);
        let mut fibre = self.new_fibre(path, function, args, Some(closure))?;
        self.pay(parent, 512 + fibre.active.stack.len() * 16)?;
        fibre.output = (prints == Prints::Later).then(Vec::new);
        fibre.context = Arc::clone(&parent.context);
        (fibre.parent, fibre.root) = (parent.id, parent.root);
        parent.has_tasks = true;
        let id = fibre.id;
        let state = TaskState { fibre: Some(id), result: None, output: Vec::new(), ended: 0 };
        let handle =
            self.add_object(parent, HandleKind::Task, Object::Task(state), &format!("vm_task_{id}"))?;
        if let Value::Handle(handle) = &handle {
            fibre.task = Some(handle.id);
        }
        self.fibres.insert(id, Box::new(fibre));
        self.ready.push_back(id);
        Ok(handle)
    }

    fn has_room_for_task(&self) -> bool {
        (self.fibres.len() as u64) < self.limits.tasks && self.next_fibre < u32::MAX
    }

    fn new_fibre(
        &mut self,
        path: Arc<str>,
        function: u16,
        args: Vec<Value>,
        closure: Option<Arc<Closure>>,
    ) -> Result<Fibre, Fault> {
        let mut fibre = Fibre::new(self.next_fibre, path);
        let given = u8::try_from(args.len()).unwrap_or(u8::MAX);
        fibre.active.stack = args;
        let frame = Frame { function, pc: 0, base: 0, dst: 0, given, closure_at: Frame::NOWHERE };
        fibre.active.enter(&self.program, frame, closure)?;
        self.next_fibre += 1;
        Ok(fibre)
    }

    /// Calls a function of the program, as soon as the VM is run. `Turn::ended` tells its result under this number.
    /// It can be called while the program waits, and after it has ended.
    pub fn call(&mut self, callee: Value, args: Vec<Value>) -> u32 {
        self.host_calls = self.host_calls.saturating_add(1);
        let path: Arc<str> = format!("main/call:{}", self.host_calls).into();
        let limit = if self.fuel_left == 0 {
            Some(Limit::Fuel(self.limits.fuel))
        } else if !self.has_room_for_task() {
            Some(Limit::Tasks(self.limits.tasks))
        } else {
            None
        };
        let apply = self.program.prelude.get("__apply").copied();
        let made = match (limit, apply) {
            (Some(limit), _) => Err(Fault::Limit(limit)),
            (None, None) => Err(Fault::Plain("Undefined builtin: __apply".into())),
            (None, Some(apply)) => self.new_fibre(path, apply, vec![callee, Value::list(args)], None),
        };
        match made {
            Ok(mut fibre) => {
                if let Some(main) = self.fibres.get(&MAIN) {
                    fibre.context = Arc::clone(&main.context);
                }
                let id = fibre.id;
                self.fibres.insert(id, Box::new(fibre));
                self.ready.push_back(id);
                id
            }
            Err(fault) => {
                let id = self.next_fibre;
                self.next_fibre = self.next_fibre.saturating_add(1);
                self.ended.push((id, Err(Failure { fault, trace: Vec::new() })));
                id
            }
        }
    }

    /// A fibre has ended: all that is part of it too, if it was the program's first or a call of the host; else whoever
    /// waits for the task is told.
    pub(super) fn ended(&mut self, mut fibre: Box<Fibre>, result: Result<Value, Failure>) {
        self.let_go(&mut fibre);
        if let Err(failure @ Failure { fault: Fault::Limit(_), .. }) = &result {
            // A limit is the whole program's, while it runs.
            if self.result.is_none() {
                if fibre.root == fibre.id && fibre.id != MAIN {
                    self.ended.push((fibre.id, result.clone()));
                }
                return self.give_up(failure.clone());
            }
            return self.root_ended(fibre.root, result);
        }
        if fibre.root == fibre.id {
            return self.root_ended(fibre.id, result);
        }
        let Some(task) = fibre.task else { return };
        let output = fibre.output.take().unwrap_or_default();
        self.task_ended(task, result, output);
    }

    fn task_ended(&mut self, task: u32, result: Result<Value, Failure>, output: Vec<Output>) {
        self.endings += 1;
        if let Some(Object::Task(state)) = self.objects.get_mut(task) {
            *state = TaskState { fibre: None, result: Some(result), output, ended: self.endings };
        }
        self.wake_waiters(task);
    }

    /// The program, or a call of the host, is over; tasks of it that still run are dropped.
    fn root_ended(&mut self, root: u32, result: Result<Value, Failure>) {
        let keeps = root == MAIN && self.keeps_tasks;
        let part = self.fibres.values().filter(|fibre| fibre.root == root && !keeps);
        let part: Vec<u32> = part.map(|fibre| fibre.id).collect();
        part.into_iter().for_each(|id| self.abort(id));
        match root {
            MAIN => self.result = Some(result),
            call => self.ended.push((call, result)),
        }
    }

    /// The program went over a limit: nothing of it goes on, nor of what the host called.
    pub(super) fn give_up(&mut self, failure: Failure) {
        let all: Vec<(u32, u32)> = self.fibres.values().map(|fibre| (fibre.id, fibre.root)).collect();
        for (id, root) in all {
            self.abort(id);
            if id == root && id != MAIN {
                self.ended.push((id, Err(failure.clone())));
            }
        }
        self.ready.clear();
        self.result.get_or_insert(Err(failure));
    }

    /// What a fibre that is over still has: deadlines, a timer, locks, generators in the middle of a step.
    fn let_go(&mut self, fibre: &mut Fibre) {
        while self.leave_generator(fibre) {}
        self.drop_deadlines(&mut fibre.active);
        if let Some(called) = fibre.called.take() {
            self.has_come(Some(called));
            self.wake_waiters(called.to);
        }
        self.end_timer(fibre);
        self.leave_queue(fibre);
        self.release_all(fibre.id);
    }

    /// Ends a fibre at once, wherever it is. What it printed is lost.
    fn abort(&mut self, id: u32) {
        let Some(mut fibre) = self.fibres.remove(&id) else { return };
        if let Some(Wait::Call { call, .. }) = fibre.wait.take() {
            self.drop_call(call);
        }
        self.let_go(&mut fibre);
        if let Some(task) = fibre.task {
            let failure = Failure { fault: cancelled(), trace: Vec::new() };
            self.task_ended(task, Err(failure), Vec::new());
        }
    }

    /// The result of a task, once it has one; its output joins that of the fibre that takes it.
    pub(super) fn take_result(&mut self, fibre: &mut Fibre, task: u32) -> Option<Result<Value, Failure>> {
        let Some(Object::Task(state)) = self.objects.get_mut(task) else { return Some(Ok(Value::Nil)) };
        if state.fibre.is_some() {
            return None;
        }
        let result = state.result.take().unwrap_or(Ok(Value::Nil));
        self.take_output(fibre, task);
        Some(result)
    }

    /// What a task has printed joins what the fibre has printed.
    pub(super) fn take_output(&mut self, fibre: &mut Fibre, task: u32) {
        let Some(Object::Task(state)) = self.objects.get_mut(task) else { return };
        let output: Vec<Output> = std::mem::take(&mut state.output);
        fibre.output.as_mut().unwrap_or(&mut self.output).extend(output);
    }

    /// Ends a task at once, and the tasks that it has started. Tells whether the running fibre is one of them.
    pub(super) fn cancel_task(&mut self, running: &Fibre, task: u32) -> bool {
        let Some(Object::Task(TaskState { fibre: Some(first), .. })) = self.objects.get(task) else {
            return false;
        };
        let (mut part, mut at) = (vec![*first], 0);
        while let Some(id) = part.get(at).copied() {
            at += 1;
            if id == running.id || self.fibres.get(&id).is_some_and(|fibre| fibre.has_tasks) {
                let all = self.fibres.values().map(|fibre| &**fibre).chain([running]);
                part.extend(all.filter(|fibre| fibre.parent == id && fibre.id != id).map(|fibre| fibre.id));
            }
        }
        for id in &part {
            self.abort(*id);
        }
        part.contains(&running.id)
    }

    /// Tells a task that it should end soon.
    pub(super) fn ask_to_end(&mut self, task: u32) {
        if let Some(Object::Task(TaskState { fibre: Some(id), .. })) = self.objects.get(task)
            && let Some(fibre) = self.fibres.get_mut(id)
        {
            fibre.is_cancelled = true;
        }
    }
}

/// The error of what was cancelled.
pub(super) fn cancelled() -> Fault {
    Fault::Plain("kind:cancelled:VM cancelled by host".into())
}
