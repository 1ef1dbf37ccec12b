//! Things that change over time. Values hold only their numbers, so none of them can be part of a cycle.

use std::collections::VecDeque;
use std::sync::Arc;

use super::fibre::{Called, Coroutine, Side, Wait};
use super::{Output, Vm};
use crate::fault::Fault;
use crate::value::{Handle, HandleKind, Value, printed_within};

#[derive(Debug)]
pub enum Object {
    Generator(Generator),
    Items(Items),
    Channel(ChannelState),
    Atomic(i64),
    Task(TaskState),
    Rng(crate::builtins::Rng),
    Permit(super::locks::Permit),
}

/// Roughly the bytes that a thing takes by itself.
pub const SIZE: usize = 192;

#[derive(Debug)]
pub struct Generator {
    /// None while it runs.
    pub coroutine: Option<Box<Coroutine>>,
    pub is_done: bool,
}

/// An iterator over what is all there already.
#[derive(Debug)]
pub struct Items {
    /// As a loop keeps it: numbers up to a limit, or a list with a place in it.
    pub state: (Value, Value),
    /// Somebody has asked for more than there is.
    pub is_done: bool,
}

impl Items {
    fn next(&mut self) -> Option<Value> {
        let next = match &mut self.state {
            (Value::Int(at), Value::Int(limit)) if *at != *limit => {
                let number = *at;
                *at = at.wrapping_add(1);
                Some(Value::Int(number))
            }
            (Value::List(list), Value::Int(at)) => {
                let item = usize::try_from(*at).ok().and_then(|at| list.get(at)).cloned();
                *at += 1;
                item
            }
            _ => None,
        };
        if next.is_none() {
            *self = Self { state: (Value::Nil, Value::Nil), is_done: true };
        }
        next
    }
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
    /// How many tasks had ended before it did.
    pub ended: u64,
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
    takers: Queue,
    givers: Queue,
}

/// Fibres that wait for a thing to change, in the order in which they came.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// How many were called and have not come yet.
    called: usize,
}

/// A fibre with the number of its wait: if it has gone on since, this no longer counts.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    fibre: u32,
    ticket: u64,
}

impl Objects {
    fn add(&mut self, kind: HandleKind, object: Object, label: Arc<str>) -> Arc<Handle> {
        if self.slots.len() - self.free.len() >= self.sweep_at.max(1024) {
            self.sweep();
        }
        let id = self.free.pop().unwrap_or_else(|| u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        let handle = Arc::new(Handle { kind, id, label });
        let slot = Slot {
            object: Some(object),
            handle: Arc::clone(&handle),
            takers: Queue::default(),
            givers: Queue::default(),
        };
        match self.slots.get_mut(id as usize) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        handle
    }

    /// Lets go of what no value refers to. What only such things refer to goes the next time.
    pub fn sweep(&mut self) {
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

    fn queue(&mut self, id: u32, side: Side) -> Option<&mut Queue> {
        let slot = self.slots.get_mut(id as usize)?;
        Some(match side {
            Side::Take => &mut slot.takers,
            Side::Give => &mut slot.givers,
        })
    }

    /// How many of those who wait can go on now.
    fn room(&self, id: u32, side: Side) -> usize {
        match self.get(id) {
            Some(Object::Channel(channel)) if !channel.is_closed => match side {
                Side::Take => channel.items.len(),
                Side::Give => channel.capacity.saturating_sub(channel.items.len()),
            },
            // Everything else is there for all or for none.
            _ => usize::MAX,
        }
    }

    /// What somebody wants who has to wait for this: only a full channel makes those wait who give.
    fn wanted(&self, id: u32) -> Side {
        match self.get(id) {
            Some(Object::Channel(channel)) if !channel.items.is_empty() => Side::Give,
            _ => Side::Take,
        }
    }

    /// Those of generators that are between two values.
    pub fn coroutines(&mut self) -> impl Iterator<Item = &mut Coroutine> {
        self.slots.iter_mut().filter_map(|slot| match &mut slot.object {
            Some(Object::Generator(generator)) => generator.coroutine.as_deref_mut(),
            _ => None,
        })
    }

    /// Whether somebody waits for this.
    #[inline]
    pub fn is_awaited(&self, id: u32) -> bool {
        self.slots.get(id as usize).is_some_and(|slot| !slot.takers.waiting.is_empty())
    }

    pub fn end_generator(&mut self, id: u32) {
        if let Some(Object::Generator(generator)) = self.get_mut(id) {
            generator.is_done = true;
            generator.coroutine = None;
        }
    }

    /// The next item of an iterator over what is all there; `Some(None)` at its end, `None` for other things.
    #[inline]
    pub fn next_item(&mut self, id: u32) -> Option<Option<Value>> {
        match self.get_mut(id) {
            Some(Object::Items(items)) => Some(items.next()),
            _ => None,
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
                Some(
                    Object::Generator(Generator { is_done: true, .. })
                    | Object::Items(Items { is_done: true, .. }),
                ) => {
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
        fibre: &super::Fibre,
        kind: HandleKind,
        object: Object,
        label: &str,
    ) -> Result<Value, Fault> {
        self.pay(fibre, SIZE + label.len())?;
        Ok(Value::Handle(self.objects.add(kind, object, label.into())))
    }

    /// Lets those look again who wait for this and can go on now, in the order in which they came.
    pub(super) fn wake_waiters(&mut self, id: u32) {
        for side in [Side::Take, Side::Give] {
            let room = self.objects.room(id, side);
            while let Some(queue) = self.objects.queue(id, side).filter(|queue| queue.called < room)
                && let Some(next) = queue.waiting.pop_front()
            {
                if !self.still_waits(next) {
                    continue;
                }
                if room < usize::MAX
                    && let (Some(queue), Some(fibre)) =
                        (self.objects.queue(id, side), self.fibres.get_mut(&next.fibre))
                {
                    queue.called += 1;
                    fibre.called = Some(Called { to: id, side });
                }
                self.wake(next.fibre);
            }
        }
    }

    fn still_waits(&self, waiting: Waiting) -> bool {
        self.fibres
            .get(&waiting.fibre)
            .is_some_and(|fibre| fibre.ticket == waiting.ticket && fibre.wait == Some(Wait::Change))
    }

    /// A fibre that was called has come. If it cannot take what it was called for, somebody else may.
    pub(super) fn has_come(&mut self, called: Option<Called>) {
        if let Some(Called { to, side }) = called
            && let Some(queue) = self.objects.queue(to, side)
        {
            queue.called = queue.called.saturating_sub(1);
        }
    }

    /// A fibre waits until one of these changes.
    pub(super) fn wait_on(&mut self, fibre: &mut super::Fibre, ids: &[u32]) -> super::exec::Flow {
        self.next_ticket += 1;
        fibre.ticket = self.next_ticket;
        let waiting = Waiting { fibre: fibre.id, ticket: fibre.ticket };
        for id in ids {
            let side = self.objects.wanted(*id);
            let Some(queue) = self.objects.queue(*id, side) else { continue };
            queue.waiting.push_back(waiting);
            // More than there are fibres: most of them have long gone on.
            if queue.waiting.len() > 2 * self.fibres.len() + 16 {
                let mut all = std::mem::take(&mut queue.waiting);
                all.retain(|other| other.ticket == waiting.ticket || self.still_waits(*other));
                if let Some(queue) = self.objects.queue(*id, side) {
                    queue.waiting = all;
                }
            }
        }
        self.wait_for_change(fibre)
    }

    pub(super) fn object_of(&self, value: &Value, kind: HandleKind, what: &str) -> Result<u32, Fault> {
        match value {
            Value::Handle(handle) if handle.kind == kind => Ok(handle.id),
            other => Err(Fault::thrown(format!(
                "{what}: first argument must be {} {}, got {}",
                if kind == HandleKind::Atomic { "an" } else { "a" },
                kind.type_name(),
                other.type_name()
            ))),
        }
    }
}
