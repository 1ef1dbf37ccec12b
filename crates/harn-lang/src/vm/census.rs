//! How much memory a program really uses: counted when it might be too much.

use std::collections::HashSet;
use std::sync::Arc;

use super::fibre::{Coroutine, Deferred, Ending, Fibre};
use super::object::Object;
use super::operate::is_shared;
use super::{Failure, Vm};
use crate::bytecode::Reg;
use crate::fault::{Fault, Limit};
use crate::value::{MAX_DEPTH, Value};

impl Vm {
    /// Pays for something new that lives in the machine.
    pub(super) fn pay(&mut self, fibre: &Fibre, bytes: usize) -> Result<(), Fault> {
        match self.meter.charge(bytes) {
            Ok(()) => Ok(()),
            Err(_) => self.make_room(fibre, bytes),
        }
    }

    /// Counts, and fails if there is no room for so many bytes more.
    pub(super) fn make_room(&mut self, fibre: &Fibre, bytes: usize) -> Result<(), Fault> {
        self.take_census(fibre);
        self.meter.charge(bytes).map_err(|_| Fault::Limit(Limit::Memory(self.limits.memory)))
    }

    /// `xs = xs.push(x)`, where nobody else has the list. None if it is not that simple.
    #[inline(always)]
    pub(super) fn push_in_place(
        &mut self,
        regs: &mut [Value],
        list: Reg,
        item: Reg,
    ) -> Option<Result<(), Fault>> {
        let Ok([Value::List(list), item]) = regs.get_disjoint_mut([usize::from(list), usize::from(item)])
        else {
            return None;
        };
        let list = Arc::get_mut(list)?;
        if self.meter.is_high() || item.depth() >= MAX_DEPTH {
            return None;
        }
        list.push(std::mem::take(item));
        Some(self.meter.charge(48))
    }

    /// A container that others have too is copied before it is changed.
    pub(super) fn pay_for_change(&mut self, object: &Value) -> Result<(), Fault> {
        let size = if is_shared(object) { object.own_size() } else { 40 };
        self.meter.charge(size)
    }

    /// Counts what is alive, with the fibre that is running.
    pub(super) fn take_census(&mut self, running: &Fibre) {
        self.objects.sweep();
        let mut census = Census::default();
        self.globals.iter().for_each(|value| census.value(value));
        self.fibres.values().map(|fibre| &**fibre).chain([running]).for_each(|fibre| census.fibre(fibre));
        for object in self.objects.all() {
            census.bytes += super::object::SIZE as u64;
            match object {
                Object::Generator(generator) => {
                    generator.coroutine.iter().for_each(|coroutine| census.coroutine(coroutine));
                }
                Object::Items(items) => census.value(&items.state.0),
                Object::Channel(channel) => channel.items.iter().for_each(|value| census.value(value)),
                Object::Task(task) => {
                    if let Some(Ok(value) | Err(Failure { fault: Fault::Thrown(value), .. })) = &task.result {
                        census.value(value);
                    }
                }
                Object::Atomic(_) | Object::Rng(_) | Object::Permit(_) => {}
            }
        }
        self.shared.values().for_each(|value| census.value(value));
        census.bytes += self.shared.size() + self.mailboxes.size() + self.locks.size();
        census.value(&self.console.bound_tools);
        self.meter.counted(census.bytes);
    }
}

#[derive(Default)]
struct Census {
    bytes: u64,
    /// Shared things that were counted already.
    seen: HashSet<usize>,
}

impl Census {
    fn fibre(&mut self, fibre: &Fibre) {
        self.bytes += 512;
        self.coroutine(&fibre.active);
        fibre.below.iter().for_each(|below| self.coroutine(&below.coroutine));
        fibre.context.values().for_each(|value| self.value(value));
        if let Some(Fault::Thrown(value)) = &fibre.caught {
            self.value(value);
        }
    }

    fn coroutine(&mut self, coroutine: &Coroutine) {
        self.bytes += coroutine.stack.len() as u64 * 16 + 256;
        coroutine.stack.iter().for_each(|value| self.value(value));
        for deferred in &coroutine.defers {
            self.bytes += (size_of::<Deferred>() + deferred.kept.len() * 16) as u64;
            deferred.kept.iter().for_each(|value| self.value(value));
        }
        for closure in &coroutine.held {
            self.value(&Value::Closure(Arc::clone(closure)));
        }
        for ending in &coroutine.endings {
            if let Ending::Return(value) = ending {
                self.value(value);
            }
        }
    }

    fn value(&mut self, value: &Value) {
        let (place, count) = match value {
            Value::Str(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Bytes(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::List(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Dict(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Set(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Pair(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Enum(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Struct(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            Value::Closure(inner) => (Arc::as_ptr(inner) as usize, Arc::strong_count(inner)),
            _ => return,
        };
        if count > 1 && !self.seen.insert(place) {
            return;
        }
        self.bytes += value.own_size() as u64;
        match value {
            Value::List(inner) => inner.iter().for_each(|item| self.value(item)),
            Value::Dict(inner) => inner.values().for_each(|item| self.value(item)),
            Value::Set(inner) => inner.iter().for_each(|item| self.value(item)),
            Value::Pair(inner) => [&inner.first, &inner.second].into_iter().for_each(|item| self.value(item)),
            Value::Enum(inner) => inner.fields.iter().for_each(|item| self.value(item)),
            Value::Struct(inner) => inner.fields.values().for_each(|item| self.value(item)),
            Value::Closure(inner) => inner.captures.iter().for_each(|item| self.value(item)),
            _ => {}
        }
    }
}
