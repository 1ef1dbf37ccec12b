//! Builtins that the prelude needs for tasks, and programs do not.

use super::Vm;
use super::fibre::Fibre;
use super::object::{Object, TaskState};
use super::special::{Done, milliseconds};
use super::tasks::Prints;
use crate::fault::Fault;
use crate::value::Value;

impl Vm {
    pub(super) fn internal(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        Ok(match name {
            "__start" => {
                // The closure, its arguments, its path from here, and whether what it prints is shown at once.
                let path = format!("{}/{}", fibre.path, arg(2).display());
                let args = arg(1).as_list().map(<[Value]>::to_vec).unwrap_or_default();
                let prints = if arg(3).is_truthy() { Prints::Now } else { Prints::Later };
                self.start_task(fibre, arg(0), args, path.into(), prints)?.into()
            }
            "__positional" => self.positional(&arg(0)),
            "__mapped" => self.mapped(&arg(0)).into(),
            "__has_failed" => match &arg(0) {
                Value::Handle(handle) => {
                    let task = self.objects.get(handle.id);
                    let failed = |state: &TaskState| matches!(state.result, Some(Err(_)));
                    Value::Bool(matches!(task, Some(Object::Task(state)) if failed(state))).into()
                }
                _ => Value::Bool(false).into(),
            },
            "__take_output" => {
                if let Value::Handle(handle) = arg(0) {
                    self.take_output(fibre, handle.id);
                }
                Value::Nil.into()
            }
            "__ask_to_end" => {
                if let Value::Handle(handle) = arg(0) {
                    self.ask_to_end(handle.id);
                }
                Value::Nil.into()
            }
            "__rethrow" => {
                return Err(fibre.caught.take().unwrap_or_else(|| Fault::thrown("nothing to throw")));
            }
            "__of_run" => self.about.get(arg(0).display().as_str()).cloned().unwrap_or_default().into(),
            "__state" => self.own_state(&arg(0).display()).into(),
            "__set_state" => {
                self.set_own_state(fibre, arg(0).display(), arg(1))?;
                Value::Nil.into()
            }
            "__me" => Value::Int(i64::from(fibre.id)).into(),
            "__lives" => {
                let task = arg(0).as_int().and_then(|id| u32::try_from(id).ok());
                Value::Bool(task.is_some_and(|id| id == fibre.id || self.fibres.contains_key(&id))).into()
            }
            "__count" => Value::Int(i64::from(fibre.count(&arg(0).display()))).into(),
            "__settled" => return self.settled(fibre, &arg(0)),
            "__ended" => {
                let tasks = Value::list(vec![arg(0)]);
                return self.wait_any(fibre, &tasks, None);
            }
            "__wait_any" => return self.wait_any(fibre, &arg(0), milliseconds(&arg(1))),
            "__select" => {
                let channels = arg(0).as_list().map(<[Value]>::to_vec).unwrap_or_default();
                return self.select_channels(fibre, &channels, milliseconds(&arg(1)), arg(2).is_truthy());
            }
            _ => return self.output_special(fibre, name, args),
        })
    }

    /// The names of the parameters of a handler that takes its arguments one by one; nil for all other functions.
    fn positional(&self, handler: &Value) -> Done {
        let Value::Closure(closure) = handler else { return Value::Nil.into() };
        let number = u16::try_from(closure.function).unwrap_or(u16::MAX);
        if !self.program.handlers.contains(&number) {
            return Value::Nil.into();
        }
        Value::list(closure.params.iter().map(|name| Value::str(&**name)).collect()).into()
    }

    /// The outcome of a task as a result; an error is told as it would be if nobody had caught it.
    fn settled(&mut self, fibre: &mut Fibre, task: &Value) -> Result<Done, Fault> {
        let Value::Handle(handle) = task else { return Ok(Value::ok(task.clone()).into()) };
        match self.take_result(fibre, handle.id) {
            Some(Ok(value)) => Ok(Value::ok(value).into()),
            Some(Err(failure)) => Ok(Value::err(Value::str(failure.fault.to_string())).into()),
            None => Ok(Done::Flow(self.wait_on(fibre, &[handle.id]))),
        }
    }

    /// The place of the task of a list that was the first to end; -1 if the time is over before.
    fn wait_any(&mut self, fibre: &mut Fibre, tasks: &Value, timeout: Option<i64>) -> Result<Done, Fault> {
        let ids: Vec<u32> = (tasks.as_list().unwrap_or_default().iter())
            .map(|task| match task {
                Value::Handle(handle) => handle.id,
                _ => u32::MAX,
            })
            .collect();
        self.meter.work(ids.len());
        let first = ids.iter().enumerate().filter_map(|(at, id)| Some((self.ended_at(*id)?, at))).min();
        match first {
            Some((_, at)) => Ok(Value::Int(at as i64).into()),
            None if self.is_time_over(fibre, timeout) => Ok(Value::Int(-1).into()),
            None => Ok(Done::Flow(self.wait_on(fibre, &ids))),
        }
    }

    /// How many tasks had ended before this one did; none while it runs.
    fn ended_at(&self, task: u32) -> Option<u64> {
        match self.objects.get(task) {
            Some(Object::Task(state)) => state.fibre.is_none().then_some(state.ended),
            _ => Some(0),
        }
    }
}
