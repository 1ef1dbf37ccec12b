//! Dicts: found by hash, told in the order of their keys.

use std::sync::{Arc, OnceLock};

use hashbrown::hash_map::EntryRef;
use hashbrown::{Equivalent, HashMap};

use super::{Text, Value};

/// Up to so many entries, a sorted list is faster than a table.
const SMALL: usize = 12;

/// String keys, always told in their order.
#[derive(Clone, Debug)]
pub struct Dict {
    entries: Entries,
    depth: u16,
}

#[derive(Clone, Debug)]
enum Entries {
    /// Sorted by key.
    Few(Vec<(Arc<Text>, Value)>),
    /// Apart, so that a small dict is small.
    Many(Box<Many>),
}

#[derive(Clone, Debug)]
struct Many {
    table: HashMap<Arc<Text>, Value>,
    /// The keys in order, once somebody asked.
    order: OnceLock<Vec<Arc<Text>>>,
}

impl Default for Dict {
    fn default() -> Self {
        Self { entries: Entries::Few(Vec::new()), depth: 1 }
    }
}

impl Dict {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(entries: usize) -> Self {
        Self { entries: Entries::Few(Vec::with_capacity(entries.min(SMALL))), depth: 1 }
    }

    /// Of keys that are in their order, none of them twice, and a value for each.
    pub fn of_sorted(keys: &[Arc<Text>], values: impl Iterator<Item = Value>) -> Self {
        if keys.len() > SMALL {
            return keys.iter().cloned().zip(values).collect();
        }
        let mut depth = 0;
        let entries = keys.iter().zip(values).map(|(key, value)| {
            depth = depth.max(value.depth());
            (Arc::clone(key), value)
        });
        let entries = Entries::Few(entries.collect());
        Self { entries, depth: depth.saturating_add(1) }
    }

    pub fn len(&self) -> usize {
        match &self.entries {
            Entries::Few(entries) => entries.len(),
            Entries::Many(many) => many.table.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn depth(&self) -> u16 {
        self.depth
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        match &self.entries {
            Entries::Few(entries) => {
                entries.iter().find(|(name, _)| name.as_str() == key).map(|(_, value)| value)
            }
            Entries::Many(many) => many.table.get(&Wanted(key)),
        }
    }

    /// As `get`. Names in a program that are the same are one text, so a look at where it is often suffices.
    pub fn find(&self, key: &Arc<Text>) -> Option<&Value> {
        match &self.entries {
            Entries::Few(entries) => {
                let same = entries.iter().find(|(name, _)| Arc::ptr_eq(name, key));
                same.map(|(_, value)| value).or_else(|| self.get(key.as_str()))
            }
            Entries::Many(many) => many.table.get(key),
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The value under a key, to be changed in place. Give what it becomes to `insert` if that may be deeper.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match &mut self.entries {
            Entries::Few(entries) => {
                entries.iter_mut().find(|(name, _)| name.as_str() == key).map(|(_, value)| value)
            }
            Entries::Many(many) => many.table.get_mut(&Wanted(key)),
        }
    }

    pub fn insert(&mut self, key: Arc<Text>, value: Value) {
        self.depth = self.depth.max(value.depth().saturating_add(1));
        match &mut self.entries {
            Entries::Few(entries) if entries.last().is_none_or(|(last, _)| **last < *key) => {
                entries.push((key, value));
                self.grow();
            }
            Entries::Few(entries) => match place(entries, key.as_str()) {
                Ok(at) => entries[at].1 = value,
                Err(at) => {
                    entries.insert(at, (key, value));
                    self.grow();
                }
            },
            Entries::Many(many) => {
                if many.table.insert(key, value).is_none() {
                    many.order.take();
                }
            }
        }
    }

    /// As `insert`; a key that is there already is left as it is.
    pub fn set(&mut self, key: &Arc<Text>, value: Value) {
        let depth = value.depth();
        if let Entries::Few(entries) = &mut self.entries
            && let Some((_, place)) = entries.iter_mut().find(|(name, _)| Arc::ptr_eq(name, key))
        {
            self.depth = self.depth.max(depth.saturating_add(1));
            return place.put(value);
        }
        self.entry(key, depth).put(value);
    }

    /// The value under a key, nil if there was none, to be changed into something that is at most so deep.
    pub fn entry(&mut self, key: &Arc<Text>, depth: u16) -> &mut Value {
        self.depth = self.depth.max(depth.saturating_add(1));
        if let Entries::Few(entries) = &self.entries
            && !entries.iter().any(|(name, _)| Arc::ptr_eq(name, key))
            && !self.has(key.as_str())
        {
            self.insert(Arc::clone(key), Value::Nil);
        }
        match &mut self.entries {
            Entries::Few(entries) => {
                let same = entries.iter().position(|(name, _)| Arc::ptr_eq(name, key));
                let at = same.unwrap_or_else(|| place(entries, key.as_str()).unwrap_or_default());
                &mut entries[at].1
            }
            Entries::Many(many) => match many.table.entry_ref(key) {
                EntryRef::Occupied(entry) => entry.into_mut(),
                EntryRef::Vacant(entry) => {
                    many.order.take();
                    entry.insert_with_key(Arc::clone(key), Value::Nil)
                }
            },
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Value> {
        match &mut self.entries {
            Entries::Few(entries) => place(entries, key).ok().map(|at| entries.remove(at).1),
            Entries::Many(many) => {
                let gone = many.table.remove(&Wanted(key))?;
                many.order.take();
                Some(gone)
            }
        }
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> Iter<'_> {
        match &self.entries {
            Entries::Few(entries) => Iter::Few(entries.iter()),
            Entries::Many(many) => {
                let Many { table, order } = &**many;
                let keys = order.get_or_init(|| {
                    let mut keys: Vec<_> = table.keys().cloned().collect();
                    keys.sort_unstable();
                    keys
                });
                Iter::Many { keys: keys.iter(), table }
            }
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &Arc<Text>> {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    fn grow(&mut self) {
        if let Entries::Few(entries) = &mut self.entries
            && entries.len() > SMALL
        {
            let table = std::mem::take(entries).into_iter().collect();
            self.entries = Entries::Many(Box::new(Many { table, order: OnceLock::new() }));
        }
    }
}

/// A key to look for, without making a text of it.
#[derive(Hash)]
pub struct Wanted<'a>(pub &'a str);

impl Equivalent<Arc<Text>> for Wanted<'_> {
    fn equivalent(&self, key: &Arc<Text>) -> bool {
        self.0 == key.as_str()
    }
}

fn place(entries: &[(Arc<Text>, Value)], key: &str) -> Result<usize, usize> {
    entries.binary_search_by(|(name, _)| name.as_str().cmp(key))
}

pub enum Iter<'a> {
    Few(std::slice::Iter<'a, (Arc<Text>, Value)>),
    Many { keys: std::slice::Iter<'a, Arc<Text>>, table: &'a HashMap<Arc<Text>, Value> },
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Arc<Text>, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(entries) => entries.next().map(|(key, value)| (key, value)),
            Self::Many { keys, table } => keys.find_map(|key| table.get(key).map(|value| (key, value))),
        }
    }
}

impl FromIterator<(Arc<Text>, Value)> for Dict {
    /// Of equal keys, the last one counts.
    fn from_iter<T: IntoIterator<Item = (Arc<Text>, Value)>>(entries: T) -> Self {
        let entries = entries.into_iter();
        let mut dict = Self::with_capacity(entries.size_hint().0);
        for (key, value) in entries {
            dict.insert(key, value);
        }
        dict
    }
}

impl Dict {
    /// As for values.
    pub fn equals_within(&self, other: &Self, parts: &mut u64) -> Option<bool> {
        if self.len() != other.len() {
            return Some(false);
        }
        for (key, value) in self.iter() {
            match other.get(key.as_str()) {
                Some(there) if value.equals_within(there, parts)? => {}
                _ => return Some(false),
            }
        }
        Some(true)
    }
}

impl PartialEq for Dict {
    fn eq(&self, other: &Self) -> bool {
        let mut parts = u64::MAX;
        self.equals_within(other, &mut parts).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Arc<Text> {
        Arc::new(Text::new(name))
    }

    #[test]
    fn it_is_told_in_the_order_of_its_keys_however_large_it_is() {
        for size in [3, 12, 13, 100] {
            let mut dict = Dict::new();
            for n in (0..size).rev() {
                dict.insert(key(&format!("k{n:03}")), Value::Int(n));
            }
            let told: Vec<_> = dict.keys().map(|key| key.as_str().to_owned()).collect();
            let expected: Vec<_> = (0..size).map(|n| format!("k{n:03}")).collect();
            assert_eq!(told, expected);
            assert_eq!(dict.get("k001"), Some(&Value::Int(1)));
            assert_eq!(dict.remove("k001"), Some(Value::Int(1)));
            assert_eq!(dict.keys().nth(1).unwrap().as_str(), "k002");
        }
    }

    #[test]
    fn equality_does_not_depend_on_how_it_was_built() {
        let few: Dict = [(key("a"), Value::Int(1)), (key("b"), Value::Nil)].into_iter().collect();
        let mut many = Dict::new();
        for n in 0..20 {
            many.insert(key(&n.to_string()), Value::Int(n));
        }
        for n in 0..20 {
            many.remove(&n.to_string());
        }
        many.insert(key("b"), Value::Nil);
        many.insert(key("a"), Value::Float(1.0));
        assert_eq!(few, many);
        many.insert(key("a"), Value::Int(2));
        assert_ne!(few, many);
    }
}
