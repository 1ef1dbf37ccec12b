//! Builtins that are part of the machine: output, tasks, channels, atomics and locks.

use std::collections::VecDeque;

use super::exec::Flow;
use super::fibre::Fibre;
use super::object::{ChannelState, Items, Object};
use super::tasks;
use super::{Channel, Failure, Vm, Waiter};
use crate::bytecode::Reg;
use crate::fault::{Fault, Limit};
use crate::value::{HandleKind, Value};

/// What a special builtin came to.
pub(super) enum Done {
    Value(Value),
    /// Goes on by itself, or waits.
    Flow(Flow),
}

impl From<Value> for Done {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl Vm {
    pub(super) fn call_special(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        start: Reg,
        count: u8,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let base = fibre.active.frames.last().map_or(0, |frame| frame.base as usize) + usize::from(start);
        // The arguments stay where they are until it is done: it may have to be tried again.
        let args: Vec<Value> = fibre.active.stack[base..base + usize::from(count)].to_vec();
        match self.special(fibre, name, &args)? {
            Done::Value(value) => {
                fibre.active.stack[base..base + usize::from(count)].fill(Value::Nil);
                self.end_timer(fibre);
                fibre.active.set(dst, value);
                Ok(Flow::Again)
            }
            Done::Flow(flow) => Ok(flow),
        }
    }

    fn special(&mut self, fibre: &mut Fibre, name: &'static str, args: &[Value]) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        Ok(match name {
            "log" => self.say(fibre, Channel::Out, "[harn] ", args, "\n")?,
            "print" => self.say(fibre, Channel::Out, "", args, "")?,
            "println" => self.say(fibre, Channel::Out, "", args, "\n")?,
            "eprint" => self.say(fibre, Channel::Error, "", args, "")?,
            "eprintln" => self.say(fibre, Channel::Error, "", args, "\n")?,
            "await" => return self.await_task(fibre, &arg(0)),
            "cancel" => {
                if let Value::Handle(handle) = arg(0)
                    && handle.kind == HandleKind::Task
                    && self.cancel_task(fibre, handle.id)
                {
                    let failure = Failure { fault: tasks::cancelled(), trace: Vec::new() };
                    return Ok(Done::Flow(Flow::End(Err(failure))));
                }
                Value::Nil.into()
            }
            "cancel_graceful" => return self.cancel_gracefully(fibre, &arg(0), &arg(1)),
            "is_cancelled" => Value::Bool(fibre.is_cancelled).into(),
            "iter" => return self.iter(fibre, arg(0)),
            "channel" => {
                let label = if args.is_empty() { "default".to_owned() } else { arg(0).display() };
                let capacity =
                    arg(1).as_int().and_then(|size| usize::try_from(size).ok()).unwrap_or(256).max(1);
                let state = ChannelState { items: VecDeque::new(), capacity, is_closed: false };
                self.add_object(fibre, HandleKind::Channel, Object::Channel(state), &label)?.into()
            }
            "send" => return self.send(fibre, &arg(0), arg(1)),
            "receive" => {
                let id = self.object_of(&arg(0), HandleKind::Channel, name)?;
                match self.objects.receive(id) {
                    Some(value) => {
                        self.wake_waiters(id);
                        value.unwrap_or_default().into()
                    }
                    None => Done::Flow(self.wait_on(fibre, &[id])),
                }
            }
            "try_receive" => {
                let id = self.object_of(&arg(0), HandleKind::Channel, name)?;
                let value = self.objects.receive(id).flatten().unwrap_or_default();
                self.wake_waiters(id);
                value.into()
            }
            "close_channel" => {
                let id = self.object_of(&arg(0), HandleKind::Channel, name)?;
                self.close_channel(id);
                Value::Nil.into()
            }
            "select" => return self.select_channels(fibre, args, None, false),
            "channel_select" => {
                let channels = arg(0).as_list().map(<[Value]>::to_vec).unwrap_or_default();
                return self.select_channels(fibre, &channels, milliseconds(&arg(1)), false);
            }
            "rng_seed" => {
                let rng = match arg(0) {
                    Value::Int(seed) => crate::builtins::Rng::new(seed as u64),
                    other => crate::builtins::Rng::named(super::operate::key_of(&other)?.as_str()),
                };
                self.add_object(fibre, HandleKind::Rng, Object::Rng(rng), "")?.into()
            }
            _ if name.starts_with("__") => return self.internal(fibre, name, args),
            _ if name.starts_with("atomic") => self.atomics(fibre, name, args)?.into(),
            _ if name.starts_with("sync_") => return self.sync(fibre, name, args),
            _ if name.starts_with("shared_") => return self.shared(fibre, name, args),
            _ if name.starts_with("mailbox_") => return self.mailbox(fibre, name, args),
            _ if name.starts_with("runtime_context") || name == "task_current" => {
                return self.context(fibre, name, args);
            }
            _ => return self.output_special(fibre, name, args),
        })
    }

    /// Without an argument there is nothing to say, which is not the same as nil.
    fn say(
        &mut self,
        fibre: &mut Fibre,
        to: Channel,
        before: &str,
        args: &[Value],
        after: &str,
    ) -> Result<Done, Fault> {
        let limit = Fault::Limit(Limit::Output(self.limits.output));
        let shown = match args.first() {
            Some(value) => self.objects.shown(value, self.output_left).ok_or(limit)?,
            None => String::new(),
        };
        self.print(fibre, to, format!("{before}{shown}{after}"))?;
        Ok(Value::Nil.into())
    }

    fn atomics(&mut self, fibre: &Fibre, name: &str, args: &[Value]) -> Result<Value, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        let number = |at: usize| arg(at).as_int().unwrap_or(0);
        if name == "atomic" {
            let number = number(0);
            return self.add_object(fibre, HandleKind::Atomic, Object::Atomic(number), &number.to_string());
        }
        let place = self.atomic(&arg(0), name)?;
        let old = *place;
        match name {
            "atomic_set" => *place = number(1),
            "atomic_add" => *place = old.wrapping_add(number(1)),
            "atomic_cas" => {
                if old == number(1) {
                    *place = number(2);
                }
                return Ok(Value::Bool(old == number(1)));
            }
            _ => {}
        }
        Ok(Value::Int(old))
    }

    fn atomic(&mut self, value: &Value, name: &str) -> Result<&mut i64, Fault> {
        let id = self.object_of(value, HandleKind::Atomic, name)?;
        match self.objects.get_mut(id) {
            Some(Object::Atomic(number)) => Ok(number),
            _ => Err(Fault::thrown(format!("{name}: this atomic is gone"))),
        }
    }

    fn await_task(&mut self, fibre: &mut Fibre, task: &Value) -> Result<Done, Fault> {
        let Value::Handle(handle) = task else { return Ok(task.clone().into()) };
        if handle.kind != HandleKind::Task {
            return Ok(task.clone().into());
        }
        match self.take_result(fibre, handle.id) {
            Some(Ok(value)) => Ok(value.into()),
            Some(Err(Failure { fault, mut trace })) => {
                // It came from the task, and goes on from here.
                trace.extend(self.trace(fibre));
                fibre.active.origin = Some(trace);
                Err(fault)
            }
            None => Ok(Done::Flow(self.wait_on(fibre, &[handle.id]))),
        }
    }

    /// `Ok` with the value of a task that ends in time after it was asked to, else `Err` with what happened.
    fn cancel_gracefully(&mut self, fibre: &mut Fibre, task: &Value, timeout: &Value) -> Result<Done, Fault> {
        let Value::Handle(handle) = task else { return Ok(Value::ok(task.clone()).into()) };
        if handle.kind != HandleKind::Task {
            return Ok(Value::ok(task.clone()).into());
        }
        self.ask_to_end(handle.id);
        if let Some(result) = self.take_result(fibre, handle.id) {
            return Ok(match result {
                Ok(value) => Value::ok(value),
                Err(failure) => Value::err(failure.fault.caught()),
            }
            .into());
        }
        if self.is_time_over(fibre, Some(milliseconds(timeout).unwrap_or(5000))) {
            if self.cancel_task(fibre, handle.id) {
                let failure = Failure { fault: tasks::cancelled(), trace: Vec::new() };
                return Ok(Done::Flow(Flow::End(Err(failure))));
            }
            return self.cancel_gracefully(fibre, task, timeout);
        }
        Ok(Done::Flow(self.wait_on(fibre, &[handle.id])))
    }

    pub(super) fn close_channel(&mut self, id: u32) {
        if let Some(Object::Channel(channel)) = self.objects.get_mut(id) {
            channel.is_closed = true;
        }
        self.wake_waiters(id);
    }

    pub(super) fn send(&mut self, fibre: &mut Fibre, channel: &Value, value: Value) -> Result<Done, Fault> {
        let Value::Handle(handle) = channel else { return Err(not_a_channel("send", channel)) };
        let Some(Object::Channel(channel)) = self.objects.get_mut(handle.id) else {
            return Err(not_a_channel("send", channel));
        };
        if channel.is_closed {
            return Ok(Value::Bool(false).into());
        }
        if channel.items.len() >= channel.capacity {
            return Ok(Done::Flow(self.wait_on(fibre, &[handle.id])));
        }
        self.pay(fibre, 16)?;
        if let Some(Object::Channel(channel)) = self.objects.get_mut(handle.id) {
            channel.items.push_back(value);
        }
        self.wake_waiters(handle.id);
        Ok(Value::Bool(true).into())
    }

    /// `{index, value, channel}` of the first channel that has something; the index is -1 when the time is over, and
    /// when nothing can come any more.
    pub(super) fn select_channels(
        &mut self,
        fibre: &mut Fibre,
        channels: &[Value],
        timeout: Option<i64>,
        has_default: bool,
    ) -> Result<Done, Fault> {
        let mut open = Vec::new();
        for (at, channel) in channels.iter().enumerate() {
            let handle = match channel {
                Value::Handle(handle) if handle.kind == HandleKind::Channel => handle,
                other => {
                    return Err(Fault::thrown(format!(
                        "select: expected a channel, got {}",
                        other.type_name()
                    )));
                }
            };
            match self.objects.receive(handle.id) {
                Some(Some(value)) => {
                    // It may have been called by another of them, which then calls the next.
                    for channel in channels {
                        if let Value::Handle(handle) = channel {
                            self.wake_waiters(handle.id);
                        }
                    }
                    return Ok(chosen(at as i64, value, Value::str(&*handle.label)).into());
                }
                Some(None) => {}
                None => open.push(handle.id),
            }
        }
        if has_default || open.is_empty() || self.is_time_over(fibre, timeout) {
            return Ok(chosen(-1, Value::Nil, Value::Nil).into());
        }
        Ok(Done::Flow(self.wait_on(fibre, &open)))
    }

    /// Whether the time of the waiting instruction is over; starts the timer when it first waits.
    pub(super) fn is_time_over(&mut self, fibre: &mut Fibre, timeout: Option<i64>) -> bool {
        let Some(ms) = timeout else { return false };
        if ms <= 0 {
            return true;
        }
        match fibre.timer {
            Some((_, has_fired)) => has_fired,
            None if ms <= 0 => true,
            None => {
                let key = Self::key(fibre, "timer");
                let call = self.new_call(Waiter::Timer(fibre.id), key, "sleep", vec![Value::Int(ms)]);
                fibre.timer = Some((call, false));
                false
            }
        }
    }

    pub(super) fn end_timer(&mut self, fibre: &mut Fibre) {
        if let Some((call, _)) = fibre.timer.take() {
            self.drop_call(call);
        }
    }

    /// `iter(x)`: something that gives the items of `x` one by one.
    fn iter(&mut self, fibre: &mut Fibre, source: Value) -> Result<Done, Fault> {
        let function = match &source {
            Value::Handle(handle) if handle.kind == HandleKind::Iter => return Ok(source.into()),
            Value::Dict(_) => "__iter_dict",
            Value::Str(_) => "__iter_string",
            Value::Handle(_) => "__iter_items",
            Value::List(_) | Value::Set(_) | Value::Range(_) => {
                let items = Items { state: super::iterate::prepare(source), is_done: false };
                return Ok(self.add_object(fibre, HandleKind::Iter, Object::Items(items), "")?.into());
            }
            other => return Err(Fault::Type(format!("iter: cannot iterate over {}", other.type_name()))),
        };
        let Some(function) = self.program.prelude.get(function).copied() else {
            return Err(Fault::Plain(format!("Undefined builtin: {function}")));
        };
        Ok(self.new_generator(fibre, function, vec![source], None)?.into())
    }
}

/// A time limit given as a duration or as a number of milliseconds.
pub(super) fn milliseconds(value: &Value) -> Option<i64> {
    match value {
        Value::Duration(ms) | Value::Int(ms) => Some(*ms),
        Value::Float(ms) => Some(*ms as i64),
        _ => None,
    }
}

fn chosen(index: i64, value: Value, channel: Value) -> Value {
    Value::record([("index", Value::Int(index)), ("value", value), ("channel", channel)])
}

fn not_a_channel(what: &str, value: &Value) -> Fault {
    Fault::thrown(format!("{what}: first argument must be a channel, got {}", value.type_name()))
}
