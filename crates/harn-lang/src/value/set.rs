//! Sets: the order of insertion, and every value once.

use std::hash::{BuildHasher, Hash, Hasher};

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
        match &self.table {
            None => self.items.contains(value),
            Some(table) => table.find(self.hash(value), |at| self.items[*at] == *value).is_some(),
        }
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

/// Equal values give equal hashes; a set and a handle are only told apart by `==`, and so is what lies beyond the first
/// thousand parts.
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
        Value::Struct(value) => value.name.hash(state),
        Value::Range(range) => (range.start, range.end).hash(state),
        Value::Set(set) => set.len().hash(state),
        Value::Duration(_) | Value::Closure(_) | Value::Builtin(_) | Value::Handle(_) => 1u8.hash(state),
    }
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
        self.len() == other.len() && self.iter().all(|value| other.contains(value))
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
    fn removing_keeps_the_rest_findable() {
        let mut set: Set = (0..20).map(Value::Int).collect();
        assert!(set.remove(&Value::Int(3)) && !set.remove(&Value::Int(3)));
        assert!(set.contains(&Value::Int(19)) && set.insert(Value::Int(3)));
        assert_eq!(set.iter().last(), Some(&Value::Int(3)));
    }
}
