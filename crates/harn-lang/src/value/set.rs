//! Sets: the order of insertion, and every value once.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::Value;

/// Up to so many items, looking through them is faster than a table.
const SMALL: usize = 8;

/// Values in the order in which they came, unique by `==`.
#[derive(Clone, Debug, Default)]
pub struct Set {
    items: Vec<Value>,
    /// Positions by hash, once there are many.
    table: Option<HashTable<usize>>,
    hasher: DefaultHashBuilder,
    depth: u16,
}

impl Set {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn depth(&self) -> u16 {
        self.depth.max(1)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.items.iter()
    }

    pub fn contains(&self, value: &Value) -> bool {
        let mut parts = u64::MAX;
        self.contains_within(value, &mut parts).unwrap_or(false)
    }

    /// None if finding out takes a look at more parts than are left.
    fn contains_within(&self, value: &Value, parts: &mut u64) -> Option<bool> {
        let mut found = Some(false);
        let mut is_it = |item: &Value| {
            found = item.equals_within(value, parts);
            found != Some(false)
        };
        match &self.table {
            None => _ = self.items.iter().any(is_it),
            Some(table) => _ = table.find(self.hash(value), |at| is_it(&self.items[*at])),
        }
        found
    }

    /// Without order; as for values.
    pub fn equals_within(&self, other: &Self, parts: &mut u64) -> Option<bool> {
        if self.len() != other.len() {
            return Some(false);
        }
        for value in self.iter() {
            if !other.contains_within(value, parts)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether it was not there yet.
    pub fn insert(&mut self, value: Value) -> bool {
        if self.contains(&value) {
            return false;
        }
        self.depth = self.depth().max(value.depth().saturating_add(1));
        let hash = self.hash(&value);
        let at = self.items.len();
        self.items.push(value);
        if let Some(table) = &mut self.table {
            let (items, hasher) = (&self.items, &self.hasher);
            table.insert_unique(hash, at, |at| hash_of(hasher, &items[*at]));
        } else if self.items.len() > SMALL {
            self.index();
        }
        true
    }

    pub fn remove(&mut self, value: &Value) -> bool {
        let Some(at) = self.items.iter().position(|item| item == value) else { return false };
        self.items.remove(at);
        if self.table.is_some() {
            self.index();
        }
        true
    }

    fn index(&mut self) {
        let mut table = HashTable::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            table.insert_unique(self.hash(item), at, |at| hash_of(&self.hasher, &self.items[*at]));
        }
        self.table = Some(table);
    }

    fn hash(&self, value: &Value) -> u64 {
        hash_of(&self.hasher, value)
    }
}

fn hash_of(hasher: &DefaultHashBuilder, value: &Value) -> u64 {
    let mut state = hasher.build_hasher();
    feed(value, &mut state, &mut 1000);
    state.finish()
}

/// How many parts of an item of an inner set are looked at.
const INNER: u32 = 8;

/// Equal values give equal hashes; what lies beyond the first thousand parts is only told apart by `==`. What is never
/// equal to anything has a hash of its own too, so that many such values do not fall into one place.
fn feed(value: &Value, state: &mut impl Hasher, parts: &mut u32) {
    let Some(left) = parts.checked_sub(1) else { return };
    *parts = left;
    match value {
        Value::Nil => 0u8.hash(state),
        Value::Bool(value) => value.hash(state),
        // A whole float equals its int, and -0.0 equals 0.
        Value::Int(value) => (*value as f64 + 0.0).to_bits().hash(state),
        Value::Float(value) => (*value + 0.0).to_bits().hash(state),
        Value::Str(text) => text.hash(state),
        Value::Bytes(bytes) => bytes.hash(state),
        Value::List(list) => list.iter().for_each(|item| feed(item, state, parts)),
        Value::Dict(dict) => dict.iter().for_each(|(key, value)| {
            key.hash(state);
            feed(value, state, parts);
        }),
        Value::Pair(pair) => {
            feed(&pair.first, state, parts);
            feed(&pair.second, state, parts);
        }
        Value::Enum(value) => {
            value.variant.hash(state);
            value.fields.iter().for_each(|field| feed(field, state, parts));
        }
        Value::Struct(value) => {
            value.name.hash(state);
            value.fields.values().for_each(|field| feed(field, state, parts));
        }
        Value::Range(range) => (range.start, range.end).hash(state),
        Value::Set(set) => {
            set.len().hash(state);
            // Items in any order must give the same; sets within items are left out, or they would multiply.
            if set.len() <= INNER as usize && *parts > INNER {
                set.iter().fold(0u64, |sum, item| sum.wrapping_add(plain_hash(item))).hash(state);
            }
        }
        Value::Duration(ms) => ms.hash(state),
        Value::Builtin(number) => number.hash(state),
        Value::Closure(closure) => (Arc::as_ptr(closure) as usize).hash(state),
        Value::Handle(handle) => handle.id.hash(state),
    }
}

/// The hash of the first few parts of an item.
fn plain_hash(value: &Value) -> u64 {
    let mut state = std::hash::DefaultHasher::new();
    feed(value, &mut state, &mut { INNER });
    state.finish()
}

impl FromIterator<Value> for Set {
    fn from_iter<T: IntoIterator<Item = Value>>(values: T) -> Self {
        let mut set = Self::new();
        for value in values {
            set.insert(value);
        }
        set
    }
}

/// Without order.
impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        let mut parts = u64::MAX;
        self.equals_within(other, &mut parts).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unique_by_equality_and_keep_their_order() {
        for size in [3i64, 8, 9, 200] {
            let set: Set = (0..size).chain(0..size).map(Value::Int).collect();
            assert_eq!(
                set.iter().cloned().collect::<Vec<_>>(),
                (0..size).map(Value::Int).collect::<Vec<_>>()
            );
            assert!(set.contains(&Value::Float(2.0)) && !set.contains(&Value::Int(size)));
            let backwards: Set = (0..size).rev().map(Value::Int).collect();
            assert_eq!(set, backwards);
        }
    }

    #[test]
    fn sets_of_sets_are_told_apart_whatever_their_order() {
        let pair = |a: i64, b: i64| Value::Set(Arc::new([a, b].into_iter().map(Value::Int).collect()));
        let set: Set = (0..100).map(|n| pair(n, n + 1000)).collect();
        assert!(set.contains(&pair(1007, 7)) && !set.contains(&pair(7, 1008)));
        let mut parts = 50;
        assert_eq!(set.equals_within(&set.clone(), &mut parts), None);
    }

    #[test]
    fn removing_keeps_the_rest_findable() {
        let mut set: Set = (0..20).map(Value::Int).collect();
        assert!(set.remove(&Value::Int(3)) && !set.remove(&Value::Int(3)));
        assert!(set.contains(&Value::Int(19)) && set.insert(Value::Int(3)));
        assert_eq!(set.iter().last(), Some(&Value::Int(3)));
    }
}
