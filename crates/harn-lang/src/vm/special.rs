//! Builtins that are part of the machine: output, tasks, channels, atomics and locks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::exec::Flow;
use super::fibre::Fibre;
use super::object::{ChannelState, Object};
use super::{Channel, Vm, Waiter};
use crate::bytecode::Reg;
use crate::fault::{Fault, Limit};
use crate::value::{HandleKind, Value};

/// What all tasks of a program share besides channels and atomics.
#[derive(Debug, Default)]
pub struct Shared {
    locks: BTreeMap<(String, String), Lock>,
    pub cells: BTreeMap<String, Value>,
}

impl Shared {
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.cells.values()
    }
}

#[derive(Debug, Default)]
struct Lock {
    used: u64,
    capacity: u64,
    waiters: VecDeque<u32>,
    acquired: u64,
    released: u64,
    timeouts: u64,
}

/// So much of a lock, held until it is given back.
#[derive(Debug, Clone)]
pub struct Permit {
    kind: String,
    key: String,
    count: u64,
    is_held: bool,
}

/// What a special builtin came to.
enum Done {
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
            "log" => self.say(fibre, Channel::Out, "[harn] ", &arg(0), "\n")?,
            "print" => self.say(fibre, Channel::Out, "", &arg(0), "")?,
            "println" => self.say(fibre, Channel::Out, "", &arg(0), "\n")?,
            "eprint" => self.say(fibre, Channel::Error, "", &arg(0), "")?,
            "eprintln" => self.say(fibre, Channel::Error, "", &arg(0), "\n")?,
            "await" => return self.await_task(fibre, &arg(0)),
            "cancel" => {
                if let Value::Handle(handle) = arg(0)
                    && handle.kind == HandleKind::Task
                {
                    self.cancel_task(handle.id);
                }
                Value::Nil.into()
            }
            "is_cancelled" => Value::Bool(fibre.is_cancelled).into(),
            "iter" => return self.iter(fibre, arg(0)),
            "channel" => {
                let label = if args.is_empty() { "default".to_owned() } else { arg(0).display() };
                let capacity =
                    arg(1).as_int().and_then(|size| usize::try_from(size).ok()).unwrap_or(256).max(1);
                let state = ChannelState { items: VecDeque::new(), capacity, is_closed: false };
                self.add_object(fibre, HandleKind::Channel, Object::Channel(state), &label).into()
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
                if let Some(Object::Channel(channel)) = self.objects.get_mut(id) {
                    channel.is_closed = true;
                }
                self.wake_waiters(id);
                Value::Nil.into()
            }
            "select" => return self.select_channels(fibre, args, None, false),
            "channel_select" => {
                let channels = arg(0).as_list().map(<[Value]>::to_vec).unwrap_or_default();
                return self.select_channels(fibre, &channels, milliseconds(&arg(1)), false);
            }
            "__select" => {
                let channels = arg(0).as_list().map(<[Value]>::to_vec).unwrap_or_default();
                return self.select_channels(fibre, &channels, milliseconds(&arg(1)), arg(2).is_truthy());
            }
            "atomic" => {
                let number = arg(0).as_int().unwrap_or(0);
                let label = number.to_string();
                self.add_object(fibre, HandleKind::Atomic, Object::Atomic(number), &label).into()
            }
            "atomic_get" => Value::Int(*self.atomic(&arg(0), name)?).into(),
            "atomic_set" => {
                let new = arg(1).as_int().unwrap_or(0);
                Value::Int(std::mem::replace(self.atomic(&arg(0), name)?, new)).into()
            }
            "atomic_add" => {
                let place = self.atomic(&arg(0), name)?;
                let new = place.wrapping_add(arg(1).as_int().unwrap_or(0));
                Value::Int(std::mem::replace(place, new)).into()
            }
            "atomic_cas" => {
                let (expected, new) = (arg(1).as_int().unwrap_or(0), arg(2).as_int().unwrap_or(0));
                let place = self.atomic(&arg(0), name)?;
                let is_expected = *place == expected;
                if is_expected {
                    *place = new;
                }
                Value::Bool(is_expected).into()
            }
            "rng_seed" => {
                let rng = match arg(0) {
                    Value::Int(seed) => crate::builtins::Rng::new(seed as u64),
                    other => crate::builtins::Rng::named(&other.display()),
                };
                self.add_object(fibre, HandleKind::Rng, Object::Rng(rng), "").into()
            }
            "sync_mutex_acquire" => {
                return self.acquire(fibre, "mutex", &arg(0), 1, 1, milliseconds(&arg(1)));
            }
            "sync_semaphore_acquire" => {
                let capacity = arg(1).as_int().map_or(1, |count| count.max(1) as u64);
                let permits = arg(2).as_int().map_or(1, |count| count.max(1) as u64);
                return self.acquire(fibre, "semaphore", &arg(0), capacity, permits, milliseconds(&arg(3)));
            }
            "sync_gate_acquire" => {
                let limit = arg(1).as_int().map_or(1, |count| count.max(1) as u64);
                return self.acquire(fibre, "gate", &arg(0), limit, 1, milliseconds(&arg(2)));
            }
            "sync_rwlock_acquire" => {
                // A writer needs all of it, a reader a part.
                let all = 1 << 20;
                let wanted = if arg(1).as_str() == Some("write") { all } else { 1 };
                return self.acquire(fibre, "rwlock", &arg(0), all, wanted, milliseconds(&arg(2)));
            }
            "sync_release" => Value::Bool(self.release(&arg(0))).into(),
            "runtime_context_set" => {
                let context = Arc::make_mut(&mut fibre.context);
                let before = context.get(&arg(0).display()).cloned().unwrap_or_default();
                context.insert(super::operate::key_of(&arg(0))?, arg(1));
                before.into()
            }
            "runtime_context_get" => {
                let found = fibre.context.get(&arg(0).display()).cloned();
                found.unwrap_or_else(|| arg(1)).into()
            }
            "runtime_context_clear" => {
                let context = Arc::make_mut(&mut fibre.context);
                context.remove(&arg(0).display()).unwrap_or_default().into()
            }
            "runtime_context_values" => Value::Dict(Arc::clone(&fibre.context)).into(),
            "__start" => {
                // What `parallel` starts: the closure, its arguments, the kind and two numbers.
                let path = format!("{}/{}", fibre.path, arg(2).display());
                let args = arg(1).as_list().map(<[Value]>::to_vec).unwrap_or_default();
                self.start_task(fibre, arg(0), args, path.into())?.into()
            }
            "__count" => Value::Int(i64::from(fibre.count(&arg(0).display()))).into(),
            "__settled" => return self.settled(fibre, &arg(0)),
            "__ended" => {
                let tasks = Value::list(vec![arg(0)]);
                return self.wait_any(fibre, &tasks);
            }
            "__still_running" => {
                let tasks = arg(0);
                let running = |task: &&Value| match task {
                    Value::Handle(handle) => !self.has_ended(handle.id),
                    _ => false,
                };
                let left = tasks.as_list().unwrap_or_default().iter().filter(running).cloned().collect();
                Value::list(left).into()
            }
            "__wait_any" => return self.wait_any(fibre, &arg(0)),
            _ => return Err(Fault::thrown(format!("{name}: is not available here"))),
        })
    }

    fn say(
        &mut self,
        fibre: &mut Fibre,
        to: Channel,
        before: &str,
        value: &Value,
        after: &str,
    ) -> Result<Done, Fault> {
        let limit = Fault::Limit(Limit::Output(self.limits.output));
        let shown = self.objects.shown(value, self.output_left).ok_or(limit)?;
        self.print(fibre, to, format!("{before}{shown}{after}"))?;
        Ok(Value::Nil.into())
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
            Some(Err(failure)) => Err(failure.fault),
            None => Ok(Done::Flow(self.wait_on(fibre, &[handle.id]))),
        }
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

    /// The place of the first task of a list that has ended.
    fn wait_any(&mut self, fibre: &mut Fibre, tasks: &Value) -> Result<Done, Fault> {
        let ids: Vec<u32> = (tasks.as_list().unwrap_or_default().iter())
            .filter_map(|task| match task {
                Value::Handle(handle) => Some(handle.id),
                _ => None,
            })
            .collect();
        match ids.iter().position(|id| self.has_ended(*id)) {
            Some(at) => Ok(Value::Int(at as i64).into()),
            None => Ok(Done::Flow(self.wait_on(fibre, &ids))),
        }
    }

    fn has_ended(&self, task: u32) -> bool {
        !matches!(self.objects.get(task), Some(Object::Task(state)) if state.fibre.is_some())
    }

    fn send(&mut self, fibre: &mut Fibre, channel: &Value, value: Value) -> Result<Done, Fault> {
        let id = self.object_of(channel, HandleKind::Channel, "send")?;
        let Some(Object::Channel(channel)) = self.objects.get_mut(id) else {
            return Ok(Value::Bool(false).into());
        };
        if channel.is_closed {
            return Ok(Value::Bool(false).into());
        }
        if channel.items.len() >= channel.capacity {
            return Ok(Done::Flow(self.wait_on(fibre, &[id])));
        }
        channel.items.push_back(value);
        self.meter.charge(16)?;
        self.wake_waiters(id);
        Ok(Value::Bool(true).into())
    }

    /// `{index, value, channel}` of the first channel that has something or is closed.
    fn select_channels(
        &mut self,
        fibre: &mut Fibre,
        channels: &[Value],
        timeout: Option<i64>,
        has_default: bool,
    ) -> Result<Done, Fault> {
        let mut ids = Vec::new();
        for (at, channel) in channels.iter().enumerate() {
            let id = self.object_of(channel, HandleKind::Channel, "select")?;
            if let Some(value) = self.objects.receive(id) {
                self.wake_waiters(id);
                let chosen = [
                    ("index", Value::Int(at as i64)),
                    ("value", value.unwrap_or_default()),
                    ("channel", channel.clone()),
                ];
                return Ok(Value::record(chosen).into());
            }
            ids.push(id);
        }
        let none =
            || Value::record([("index", Value::Int(-1)), ("value", Value::Nil), ("channel", Value::Nil)]);
        if has_default || self.is_time_over(fibre, timeout) {
            return Ok(none().into());
        }
        Ok(Done::Flow(self.wait_on(fibre, &ids)))
    }

    /// Whether the time of the waiting instruction is over; starts the timer when it first waits.
    fn is_time_over(&mut self, fibre: &mut Fibre, timeout: Option<i64>) -> bool {
        let Some(ms) = timeout else { return false };
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

    fn end_timer(&mut self, fibre: &mut Fibre) {
        if let Some((call, _)) = fibre.timer.take() {
            self.drop_call(call);
        }
    }

    fn acquire(
        &mut self,
        fibre: &mut Fibre,
        kind: &str,
        key: &Value,
        capacity: u64,
        wanted: u64,
        timeout: Option<i64>,
    ) -> Result<Done, Fault> {
        let name = (kind.to_owned(), key.display());
        let lock = self.special.locks.entry(name.clone()).or_default();
        lock.capacity = capacity;
        let is_first = lock.waiters.front().is_none_or(|first| *first == fibre.id);
        if is_first && lock.used + wanted <= capacity {
            lock.waiters.retain(|other| *other != fibre.id);
            lock.used += wanted;
            lock.acquired += 1;
            let permit = Permit { kind: name.0, key: name.1, count: wanted, is_held: true };
            let label = format!("{}:{}", permit.kind, permit.key);
            return Ok(self.add_object(fibre, HandleKind::SyncPermit, Object::Permit(permit), &label).into());
        }
        if self.is_time_over(fibre, timeout) {
            if let Some(lock) = self.special.locks.get_mut(&name) {
                lock.waiters.retain(|other| *other != fibre.id);
                lock.timeouts += 1;
            }
            return Ok(Value::Nil.into());
        }
        if let Some(lock) = self.special.locks.get_mut(&name)
            && !lock.waiters.contains(&fibre.id)
        {
            lock.waiters.push_back(fibre.id);
        }
        Ok(Done::Flow(self.wait_for_change(fibre)))
    }

    fn release(&mut self, permit: &Value) -> bool {
        let Value::Handle(handle) = permit else { return false };
        let Some(Object::Permit(permit)) = self.objects.get_mut(handle.id) else { return false };
        if !std::mem::replace(&mut permit.is_held, false) {
            return false;
        }
        let (name, count) = ((permit.kind.clone(), permit.key.clone()), permit.count);
        let Some(lock) = self.special.locks.get_mut(&name) else { return false };
        lock.used = lock.used.saturating_sub(count);
        lock.released += 1;
        let waiters: Vec<u32> = lock.waiters.iter().copied().collect();
        for id in waiters {
            self.wake(id);
        }
        true
    }

    /// `iter(x)`: something that gives the items of `x` one by one.
    fn iter(&mut self, fibre: &mut Fibre, source: Value) -> Result<Done, Fault> {
        let function = match &source {
            Value::Handle(handle) if handle.kind == HandleKind::Iter => return Ok(source.into()),
            Value::Dict(_) => "__iter_dict",
            Value::Str(_) => "__iter_string",
            Value::List(_) | Value::Set(_) | Value::Range(_) | Value::Handle(_) => "__iter_items",
            other => return Err(Fault::Type(format!("iter: cannot iterate over {}", other.type_name()))),
        };
        let Some(function) = self.program.prelude.get(function).copied() else {
            return Err(Fault::Plain(format!("Undefined builtin: {function}")));
        };
        Ok(self.new_generator(fibre, function, vec![source], None)?.into())
    }
}

/// A time limit given as a duration or as a number of milliseconds.
fn milliseconds(value: &Value) -> Option<i64> {
    match value {
        Value::Duration(ms) | Value::Int(ms) => Some(*ms),
        Value::Float(ms) => Some(*ms as i64),
        _ => None,
    }
}
