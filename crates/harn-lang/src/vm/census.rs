//! How much memory a program really uses: counted when it might be too much.

use std::collections::HashSet;
use std::sync::Arc;

use super::Vm;
use super::fibre::{Coroutine, Ending, Fibre};
use super::object::Object;
use crate::fault::{Fault, Limit};
use crate::value::Value;

impl Vm {
    /// Counts, and fails if there is no room for so many bytes more.
    pub(super) fn make_room(&mut self, fibre: &Fibre, bytes: usize) -> Result<(), Fault> {
        self.take_census(fibre);
        self.meter.charge(bytes).map_err(|_| Fault::Limit(Limit::Memory(self.limits.memory)))
    }

    /// Counts what is alive, with the fibre that is running.
    pub(super) fn take_census(&mut self, running: &Fibre) {
        let mut census = Census::default();
        self.globals.iter().for_each(|value| census.value(value));
        self.fibres.values().chain([running]).for_each(|fibre| census.fibre(fibre));
        for object in self.objects.all() {
            match object {
                Object::Generator(generator) => {
                    generator.coroutine.iter().for_each(|coroutine| census.coroutine(coroutine));
                }
                Object::Channel(channel) => channel.items.iter().for_each(|value| census.value(value)),
                Object::Task(task) => {
                    if let Some(Ok(value)) = &task.result {
                        census.value(value);
                    }
                }
                Object::Atomic(_) | Object::Rng(_) | Object::Permit(_) => census.bytes += 64,
            }
        }
        self.special.values().for_each(|value| census.value(value));
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
    }

    fn coroutine(&mut self, coroutine: &Coroutine) {
        self.bytes += coroutine.stack.len() as u64 * 16 + 256;
        coroutine.stack.iter().for_each(|value| self.value(value));
        for frame in &coroutine.frames {
            if let Some(closure) = &frame.closure {
                self.value(&Value::Closure(Arc::clone(closure)));
            }
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
