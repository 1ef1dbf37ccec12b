//! Things that change over time. Values hold only their numbers, so none of them can be part of a cycle.

use std::collections::VecDeque;
use std::sync::Arc;

use super::fibre::Coroutine;
use super::{Output, Vm};
use crate::fault::Fault;
use crate::value::{Handle, HandleKind, Value, printed_within};

#[derive(Debug)]
pub enum Object {
    Generator(Generator),
    Channel(ChannelState),
    Atomic(i64),
    Task(TaskState),
    Rng(crate::builtins::Rng),
    Permit(super::special::Permit),
}

#[derive(Debug)]
pub struct Generator {
    /// None while it runs.
    pub coroutine: Option<Coroutine>,
    pub is_done: bool,
}

#[derive(Debug)]
pub struct ChannelState {
    pub items: VecDeque<Value>,
    pub capacity: usize,
    pub is_closed: bool,
}

#[derive(Debug)]
pub struct TaskState {
    /// The fibre that runs it, until it has ended.
    pub fibre: Option<u32>,
    pub result: Option<Result<Value, super::Failure>>,
    pub output: Vec<Output>,
}

/// Everything that values of a program refer to by number.
#[derive(Debug, Default)]
pub struct Objects {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Looked through for what nobody refers to any more, when there are so many.
    sweep_at: usize,
}

#[derive(Debug)]
struct Slot {
    object: Option<Object>,
    handle: Arc<Handle>,
    /// Fibres that wait for it to change.
    waiters: Vec<u32>,
}

impl Objects {
    fn add(&mut self, kind: HandleKind, object: Object, label: Arc<str>) -> Arc<Handle> {
        if self.slots.len() - self.free.len() >= self.sweep_at.max(1024) {
            self.sweep();
        }
        let id = self.free.pop().unwrap_or_else(|| u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        let handle = Arc::new(Handle { kind, id, label });
        let slot = Slot { object: Some(object), handle: Arc::clone(&handle), waiters: Vec::new() };
        match self.slots.get_mut(id as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        handle
    }

    /// Lets go of what no value refers to. What only such things refer to goes the next time.
    fn sweep(&mut self) {
        for (id, slot) in self.slots.iter_mut().enumerate() {
            let is_task = matches!(&slot.object, Some(Object::Task(TaskState { fibre: Some(_), .. })));
            if slot.object.is_some() && Arc::strong_count(&slot.handle) == 1 && !is_task {
                slot.object = None;
                self.free.push(id as u32);
            }
        }
        self.sweep_at = 2 * (self.slots.len() - self.free.len());
    }

    pub fn get(&self, id: u32) -> Option<&Object> {
        self.slots.get(id as usize)?.object.as_ref()
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut Object> {
        self.slots.get_mut(id as usize)?.object.as_mut()
    }

    pub fn all(&self) -> impl Iterator<Item = &Object> {
        self.slots.iter().filter_map(|slot| slot.object.as_ref())
    }

    pub fn wait(&mut self, id: u32, fibre: u32) {
        if let Some(slot) = self.slots.get_mut(id as usize)
            && !slot.waiters.contains(&fibre)
        {
            slot.waiters.push(fibre);
        }
    }

    pub fn take_waiters(&mut self, id: u32) -> Vec<u32> {
        self.slots.get_mut(id as usize).map(|slot| std::mem::take(&mut slot.waiters)).unwrap_or_default()
    }

    pub fn end_generator(&mut self, id: u32) {
        if let Some(Object::Generator(generator)) = self.get_mut(id) {
            generator.is_done = true;
            generator.coroutine = None;
        }
    }

    /// The next item of a channel; `Some(None)` when there will be none, `None` when there is none yet.
    pub fn receive(&mut self, id: u32) -> Option<Option<Value>> {
        let Some(Object::Channel(channel)) = self.get_mut(id) else { return Some(None) };
        match channel.items.pop_front() {
            Some(value) => Some(Some(value)),
            None if channel.is_closed => Some(None),
            None => None,
        }
    }

    /// `==`, which for atomics compares what they hold.
    pub fn equal(&self, a: &Value, b: &Value) -> Result<bool, Fault> {
        if let (Value::Handle(a), Value::Handle(b)) = (a, b)
            && let (Some(Object::Atomic(a)), Some(Object::Atomic(b))) = (self.get(a.id), self.get(b.id))
        {
            return Ok(a == b);
        }
        super::operate::equal(a, b)
    }

    /// The printed form, which for some things depends on how they are now.
    /// None if it is longer than so many bytes.
    pub fn shown(&self, value: &Value, limit: u64) -> Option<String> {
        if let Value::Handle(handle) = value {
            match self.get(handle.id) {
                Some(Object::Atomic(number)) => return Some(format!("<atomic:{number}>")),
                Some(Object::Generator(generator)) if generator.is_done => {
                    return Some(match handle.kind {
                        HandleKind::Iter => "<iter (exhausted)>".into(),
                        kind => format!("<{} (done)>", kind.type_name()),
                    });
                }
                _ => {}
            }
        }
        printed_within(value, usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

impl Vm {
    pub(super) fn add_object(
        &mut self,
        _fibre: &mut super::Fibre,
        kind: HandleKind,
        object: Object,
        label: &str,
    ) -> Value {
        Value::Handle(self.objects.add(kind, object, label.into()))
    }

    /// Lets everybody look again who waits for this to change, in the order in which they came.
    pub(super) fn wake_waiters(&mut self, id: u32) {
        for fibre in self.objects.take_waiters(id) {
            self.wake(fibre);
        }
    }

    /// A fibre waits until one of these changes.
    pub(super) fn wait_on(&mut self, fibre: &mut super::Fibre, ids: &[u32]) -> super::exec::Flow {
        for id in ids {
            self.objects.wait(*id, fibre.id);
        }
        self.wait_for_change(fibre)
    }

    pub(super) fn object_of(&self, value: &Value, kind: HandleKind, what: &str) -> Result<u32, Fault> {
        match value {
            Value::Handle(handle) if handle.kind == kind => Ok(handle.id),
            other => Err(Fault::thrown(format!(
                "{what}: expected a {}, got {}",
                kind.type_name(),
                other.type_name()
            ))),
        }
    }
}
