//! Locks: mutexes, semaphores, gates and locks for readers and writers, each with a queue that is served in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Vm;
use super::fibre::Fibre;
use super::object::Object;
use super::operate::key_of;
use super::special::{Done, milliseconds};
use crate::fault::Fault;
use crate::value::{HandleKind, Value};

/// The kind and key of a lock.
pub type Name = (&'static str, Arc<str>);

/// A lock for writers has so many parts that a reader takes one, and a writer all.
const READERS: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct Locks {
    all: BTreeMap<Name, Lock>,
    /// What each fibre holds, by ticket.
    holders: BTreeMap<u32, BTreeMap<u64, Name>>,
    tickets: u64,
}

#[derive(Debug, Default)]
struct Lock {
    capacity: u64,
    used: u64,
    /// Who holds how much, by ticket.
    holds: BTreeMap<u64, (u32, u64)>,
    waiters: VecDeque<u32>,
    acquired: u64,
    released: u64,
    timed_out: u64,
    most_waiting: usize,
}

/// So much of a lock, until it is given back or the task that has it ends.
#[derive(Debug, Clone)]
pub struct Permit {
    name: Name,
    ticket: u64,
}

/// What a task asks of a lock.
struct Wanted {
    name: Name,
    capacity: u64,
    parts: u64,
    timeout: Option<i64>,
}

impl Locks {
    pub fn size(&self) -> u64 {
        self.all.iter().map(|((_, key), lock)| 192 + key.len() as u64 + 48 * lock.holds.len() as u64).sum()
    }
}

impl Vm {
    pub(super) fn sync(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        let capacity = |at: usize| arg(at).as_int().map_or(1, |count| u64::try_from(count).unwrap_or(0));
        let permits = |at: usize| capacity(at).max(1);
        match name {
            "sync_release" => return Ok(Value::Bool(self.release(&arg(0))).into()),
            "sync_metrics" => return Ok(self.lock_metrics(&arg(0), &arg(1))?.into()),
            _ => {}
        }
        let key: Arc<str> = key_of(&arg(0))?.as_str().into();
        let wanted = match name {
            "sync_mutex_acquire" => {
                Wanted { name: ("mutex", key), capacity: 1, parts: 1, timeout: milliseconds(&arg(1)) }
            }
            "sync_semaphore_acquire" => Wanted {
                name: ("semaphore", key),
                capacity: capacity(1),
                parts: permits(2),
                timeout: milliseconds(&arg(3)),
            },
            "sync_gate_acquire" => Wanted {
                name: ("gate", key),
                capacity: capacity(1),
                parts: 1,
                timeout: milliseconds(&arg(2)),
            },
            _ => {
                let parts = match arg(1).as_str() {
                    Some("read") => 1,
                    Some("write") => READERS,
                    _ => {
                        let mode = arg(1).display();
                        let message =
                            format!("sync_rwlock_acquire: the mode is \"read\" or \"write\", not {mode}");
                        return Err(Fault::thrown(message));
                    }
                };
                Wanted { name: ("rwlock", key), capacity: READERS, parts, timeout: milliseconds(&arg(2)) }
            }
        };
        if wanted.parts > wanted.capacity {
            let (parts, capacity) = (wanted.parts, wanted.capacity);
            return Err(Fault::thrown(format!("{name}: {parts} permits of {capacity} can never be had")));
        }
        self.acquire(fibre, wanted)
    }

    fn acquire(&mut self, fibre: &mut Fibre, wanted: Wanted) -> Result<Done, Fault> {
        let Wanted { name, capacity, parts, timeout } = wanted;
        if !self.locks.all.contains_key(&name) {
            self.pay(fibre, 192 + name.1.len())?;
        }
        let lock = self.locks.all.entry(name.clone()).or_default();
        lock.capacity = capacity;
        let is_queued = fibre.queued.is_some();
        let is_first = lock.waiters.front().is_none_or(|first| *first == fibre.id);
        if is_first && lock.used + parts <= capacity {
            if is_queued {
                lock.waiters.pop_front();
                fibre.queued = None;
            }
            lock.used += parts;
            lock.acquired += 1;
            self.locks.tickets += 1;
            let ticket = self.locks.tickets;
            lock.holds.insert(ticket, (fibre.id, parts));
            self.locks.holders.entry(fibre.id).or_default().insert(ticket, name.clone());
            self.serve(&name);
            let label = format!("{}:{}", name.0, name.1);
            let permit = Object::Permit(Permit { name, ticket });
            return Ok(self.add_object(fibre, HandleKind::SyncPermit, permit, &label)?.into());
        }
        if self.is_time_over(fibre, timeout) {
            if let Some(lock) = self.locks.all.get_mut(&name) {
                lock.timed_out += 1;
            }
            self.leave_queue(fibre);
            return Ok(Value::Nil.into());
        }
        if !is_queued && let Some(lock) = self.locks.all.get_mut(&name) {
            lock.waiters.push_back(fibre.id);
            lock.most_waiting = lock.most_waiting.max(lock.waiters.len());
            fibre.queued = Some(name);
        }
        Ok(Done::Flow(self.wait_for_change(fibre)))
    }

    /// Lets the first in the queue of a lock look whether it is its turn; it lets the next one look.
    fn serve(&mut self, name: &Name) {
        let Some(lock) = self.locks.all.get(name) else { return };
        if let (Some(first), true) = (lock.waiters.front().copied(), lock.used < lock.capacity) {
            self.wake(first);
        }
    }

    /// A fibre does not wait for a lock any more.
    pub(super) fn leave_queue(&mut self, fibre: &mut Fibre) {
        let Some(name) = fibre.queued.take() else { return };
        if let Some(lock) = self.locks.all.get_mut(&name) {
            lock.waiters.retain(|other| *other != fibre.id);
        }
        self.serve(&name);
    }

    fn release(&mut self, permit: &Value) -> bool {
        let Value::Handle(handle) = permit else { return false };
        let Some(Object::Permit(Permit { name, ticket })) = self.objects.get(handle.id) else { return false };
        let (name, ticket) = (name.clone(), *ticket);
        self.give_back(&name, ticket)
    }

    fn give_back(&mut self, name: &Name, ticket: u64) -> bool {
        let Some(lock) = self.locks.all.get_mut(name) else { return false };
        let Some((holder, parts)) = lock.holds.remove(&ticket) else { return false };
        lock.used -= parts;
        lock.released += 1;
        if let Some(held) = self.locks.holders.get_mut(&holder) {
            held.remove(&ticket);
            if held.is_empty() {
                self.locks.holders.remove(&holder);
            }
        }
        self.serve(name);
        true
    }

    /// A fibre that has ended holds nothing any more.
    pub(super) fn release_all(&mut self, fibre: u32) {
        for (ticket, name) in self.locks.holders.remove(&fibre).unwrap_or_default() {
            self.give_back(&name, ticket);
        }
    }

    /// One lock, or a list of all or of those of a kind.
    fn lock_metrics(&self, kind: &Value, key: &Value) -> Result<Value, Fault> {
        let wanted = if matches!(key, Value::Nil) { None } else { Some(key_of(key)?) };
        let fits = |(own_kind, own_key): &Name| {
            let is_kind = kind.as_str().is_none_or(|kind| kind == *own_kind);
            is_kind && wanted.as_ref().is_none_or(|wanted| *wanted.as_str() == **own_key)
        };
        let mut found =
            self.locks.all.iter().filter(|(name, _)| fits(name)).map(|(name, lock)| told(name, lock));
        Ok(match (kind, key) {
            (Value::Nil, _) | (_, Value::Nil) => Value::list(found.collect()),
            _ => found.next().unwrap_or_default(),
        })
    }
}

fn told((kind, key): &Name, lock: &Lock) -> Value {
    let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let is_written = lock.used == READERS;
    let mut told = vec![
        ("kind", Value::str(*kind)),
        ("key", Value::str(&**key)),
        ("held", number(if *kind == "rwlock" && is_written { 1 } else { lock.used })),
        ("waiting", number(lock.waiters.len() as u64)),
        ("most_waiting", number(lock.most_waiting as u64)),
        ("acquired", number(lock.acquired)),
        ("released", number(lock.released)),
        ("timed_out", number(lock.timed_out)),
    ];
    match *kind {
        "rwlock" => told.push(("writing", Value::Bool(is_written))),
        _ => told.push(("capacity", number(lock.capacity))),
    }
    super::shared::record(told)
}
