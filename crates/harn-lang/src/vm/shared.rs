//! State that tasks share under a key: cells and maps, each with versions to compare and set by.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fibre::Fibre;
use super::special::Done;
use super::{Vm, operate};
use crate::fault::{Fault, Limit};
use crate::value::{Dict, MAX_DEPTH, Text, Value};

/// The scope and the key.
pub type Place = (String, String);

#[derive(Debug, Default)]
pub struct Shared {
    cells: BTreeMap<Place, Cell>,
    maps: BTreeMap<Place, Map>,
    /// What the prelude keeps for all tasks: supervisors, breakers.
    own: BTreeMap<String, Value>,
}

#[derive(Debug, Default)]
struct Cell {
    value: Value,
    version: i64,
    uses: Uses,
}

#[derive(Debug, Default)]
struct Map {
    entries: BTreeMap<String, (Value, i64)>,
    /// The highest version of what was removed, so that no version comes twice.
    removed: i64,
    uses: Uses,
}

/// How often something was used.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    reads: i64,
    writes: i64,
    swapped: i64,
    refused: i64,
}

impl Shared {
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let cells = self.cells.values().map(|cell| &cell.value);
        let entries = self.maps.values().flat_map(|map| map.entries.values().map(|(value, _)| value));
        cells.chain(entries).chain(self.own.values())
    }

    /// Roughly the bytes that it takes, without the values.
    pub fn size(&self) -> u64 {
        let place = |(scope, key): &Place| (128 + scope.len() + key.len()) as u64;
        let cells: u64 = self.cells.keys().map(place).sum();
        let maps: u64 = self.maps.iter().map(|(at, map)| place(at) + map.size()).sum();
        cells + maps + self.own.keys().map(|key| 64 + key.len() as u64).sum::<u64>()
    }
}

impl Map {
    fn size(&self) -> u64 {
        self.entries.keys().map(|key| 64 + key.len() as u64).sum()
    }

    /// The value and version of a key; version 0 says that it is not there.
    fn at(&self, key: &str) -> (Value, i64) {
        self.entries.get(key).cloned().unwrap_or_default()
    }

    fn put(&mut self, key: String, value: Value) -> Value {
        let (old, version) = self.at(&key);
        let version = if version == 0 { self.removed + 1 } else { version + 1 };
        self.entries.insert(key, (value, version));
        old
    }
}

impl Vm {
    pub(super) fn shared(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        Ok(match name {
            "shared_cell" => self.open_cell(fibre, &arg(0), arg(1))?.into(),
            "shared_map" => self.open_map(fibre, &arg(0), arg(1))?.into(),
            "shared_scope_id" => Value::str(self.scope_id(fibre, &arg(0), &arg(1), name)?).into(),
            "shared_metrics" => self.shared_metrics(fibre, &arg(0))?.into(),
            "shared_get" | "shared_snapshot" | "shared_set" | "shared_cas" => {
                let place = self.place(fibre, &arg(0), "shared_cell", name)?;
                if let Some(new) = args.get(if name == "shared_cas" { 2 } else { 1 }) {
                    self.keep(fibre, new, 0)?;
                }
                let Some(cell) = self.shared.cells.get_mut(&place) else {
                    return Err(missing(name, "shared cell", &place));
                };
                use_cell(cell, name, args)?.into()
            }
            _ => {
                let place = self.place(fibre, &arg(0), "shared_map", name)?;
                let key = operate::key_of(&arg(1))?.as_str().to_owned();
                match name {
                    "shared_map_set" => self.keep(fibre, &arg(2), 64 + key.len())?,
                    "shared_map_cas" => self.keep(fibre, &arg(3), 64 + key.len())?,
                    "shared_map_entries" => {
                        let count = self.shared.maps.get(&place).map_or(0, |map| map.entries.len());
                        self.pay(fibre, 48 + count * 40)?;
                    }
                    _ => {}
                }
                let Some(map) = self.shared.maps.get_mut(&place) else {
                    return Err(missing(name, "shared map", &place));
                };
                use_map(map, name, key, args)?.into()
            }
        })
    }

    /// Before something is kept for all tasks.
    pub(super) fn keep(&mut self, fibre: &Fibre, value: &Value, bytes: usize) -> Result<(), Fault> {
        if value.depth() >= MAX_DEPTH {
            return Err(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH))));
        }
        self.pay(fibre, bytes)
    }

    fn open_cell(&mut self, fibre: &Fibre, options: &Value, initial: Value) -> Result<Value, Fault> {
        let (handle, place) = self.open(fibre, options, "shared_cell", "key")?;
        if !self.shared.cells.contains_key(&place) {
            let value = first_value(options, initial);
            self.keep(fibre, &value, 128 + place.0.len() + place.1.len())?;
            self.shared.cells.insert(place, Cell { value, ..Cell::default() });
        }
        Ok(handle)
    }

    fn open_map(&mut self, fibre: &Fibre, options: &Value, initial: Value) -> Result<Value, Fault> {
        let (handle, place) = self.open(fibre, options, "shared_map", "key")?;
        if !self.shared.maps.contains_key(&place) {
            let mut map = Map::default();
            match first_value(options, initial) {
                Value::Dict(dict) => {
                    dict.iter().for_each(|(key, value)| {
                        map.put(key.as_str().to_owned(), value.clone());
                    });
                }
                Value::Nil => {}
                other => {
                    let kind = other.type_name();
                    return Err(Fault::thrown(format!(
                        "shared_map: expected a dict to begin with, got {kind}"
                    )));
                }
            }
            let size = usize::try_from(map.size()).unwrap_or(usize::MAX);
            self.pay(fibre, size.saturating_add(128 + place.0.len() + place.1.len()))?;
            self.shared.maps.insert(place, map);
        }
        Ok(handle)
    }

    /// What a program holds of something shared, and the place that it names.
    pub(super) fn open(
        &self,
        fibre: &Fibre,
        options: &Value,
        kind: &'static str,
        named_by: &str,
    ) -> Result<(Value, Place), Fault> {
        let (key, scope) = match options {
            Value::Dict(options) => {
                let key = options.get(named_by).or_else(|| options.get("key")).cloned().unwrap_or_default();
                (key, options.get("scope").cloned().unwrap_or_default())
            }
            other => (other.clone(), Value::Nil),
        };
        if matches!(key, Value::Nil) {
            return Err(Fault::thrown(format!("{kind}: expected a {named_by}")));
        }
        let scope_id = self.scope_id(fibre, &scope, options, kind)?;
        let scope = scope.as_str().unwrap_or(super::context::DEFAULT_SCOPE);
        let place = (scope_id, operate::key_of(&key)?.as_str().to_owned());
        let handle = Value::record([
            ("_type", Value::str(kind)),
            (named_by, Value::str(place.1.as_str())),
            ("scope", Value::str(scope)),
            ("scope_id", Value::str(place.0.as_str())),
        ]);
        Ok((handle, place))
    }

    /// The place that a program's handle, or a key in the scope that is usual, names.
    pub(super) fn place(
        &self,
        fibre: &Fibre,
        handle: &Value,
        kind: &'static str,
        what: &str,
    ) -> Result<Place, Fault> {
        match handle {
            Value::Str(key) => {
                Ok((self.scope_id(fibre, &Value::Nil, &Value::Nil, what)?, key.as_str().to_owned()))
            }
            Value::Dict(dict) if dict.get("_type").and_then(Value::as_str) == Some(kind) => {
                let text = |name: &str| match dict.get(name).map(operate::key_of).transpose() {
                    Ok(text) => Ok(text.map(|text| text.as_str().to_owned()).unwrap_or_default()),
                    Err(fault) => Err(fault),
                };
                let key = if dict.has("key") { "key" } else { "name" };
                Ok((text("scope_id")?, text(key)?))
            }
            other => Err(Fault::thrown(format!(
                "{what}: expected a {}, got {}",
                kind.replace('_', " "),
                other.type_name()
            ))),
        }
    }

    fn shared_metrics(&self, fibre: &Fibre, handle: &Value) -> Result<Value, Fault> {
        let what = "shared_metrics";
        if let Ok(place) = self.place(fibre, handle, "shared_map", what)
            && let Some(map) = self.shared.maps.get(&place)
        {
            let count = Value::Int(map.entries.len() as i64);
            return Ok(told(&place, map.uses, ("entries", count)));
        }
        let place = self.place(fibre, handle, "shared_cell", what)?;
        match self.shared.cells.get(&place) {
            Some(cell) => Ok(told(&place, cell.uses, ("version", Value::Int(cell.version)))),
            None => Err(missing(what, "shared cell", &place)),
        }
    }

    /// What the prelude keeps under a key.
    pub(super) fn own_state(&self, key: &str) -> Value {
        self.shared.own.get(key).cloned().unwrap_or_default()
    }

    pub(super) fn set_own_state(&mut self, fibre: &Fibre, key: String, value: Value) -> Result<(), Fault> {
        self.keep(fibre, &value, if self.shared.own.contains_key(&key) { 0 } else { 64 + key.len() })?;
        self.shared.own.insert(key, value);
        Ok(())
    }
}

fn use_cell(cell: &mut Cell, name: &str, args: &[Value]) -> Result<Value, Fault> {
    let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
    Ok(match name {
        "shared_get" => {
            cell.uses.reads += 1;
            cell.value.clone()
        }
        "shared_snapshot" => {
            cell.uses.reads += 1;
            snapshot(&cell.value, cell.version)
        }
        "shared_set" => {
            cell.uses.writes += 1;
            cell.version += 1;
            std::mem::replace(&mut cell.value, arg(1))
        }
        _ => {
            let is_expected = fits(&arg(1), &cell.value, cell.version)?;
            cell.uses.tried(is_expected);
            if is_expected {
                cell.version += 1;
                cell.value = arg(2);
            }
            Value::Bool(is_expected)
        }
    })
}

fn use_map(map: &mut Map, name: &str, key: String, args: &[Value]) -> Result<Value, Fault> {
    let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
    Ok(match name {
        "shared_map_get" => {
            map.uses.reads += 1;
            map.entries.get(&key).map_or_else(|| arg(2), |(value, _)| value.clone())
        }
        "shared_map_snapshot" => {
            map.uses.reads += 1;
            let (value, version) = map.at(&key);
            snapshot(&value, version)
        }
        "shared_map_entries" => {
            map.uses.reads += 1;
            let entries = map.entries.iter();
            Value::dict(entries.map(|(key, (value, _))| (text(key), value.clone())).collect())
        }
        "shared_map_set" => {
            map.uses.writes += 1;
            map.put(key, arg(2))
        }
        "shared_map_delete" => {
            map.uses.writes += 1;
            let (value, version) = map.entries.remove(&key).unwrap_or_default();
            map.removed = map.removed.max(version);
            value
        }
        "shared_map_cas" => {
            let (value, version) = map.at(&key);
            let is_expected = fits(&arg(2), &value, version)?;
            map.uses.tried(is_expected);
            if is_expected {
                map.put(key, arg(3));
            }
            Value::Bool(is_expected)
        }
        _ => return Err(Fault::thrown(format!("{name}: is not available here"))),
    })
}

impl Uses {
    fn tried(&mut self, is_done: bool) {
        match is_done {
            true => self.swapped += 1,
            false => self.refused += 1,
        }
    }
}

fn snapshot(value: &Value, version: i64) -> Value {
    Value::record([("value", value.clone()), ("version", Value::Int(version))])
}

/// Whether something is still as expected: a snapshot by its version, anything else by its value.
fn fits(expected: &Value, value: &Value, version: i64) -> Result<bool, Fault> {
    if let Value::Dict(dict) = expected
        && dict.len() == 2
        && dict.has("value")
        && let Some(Value::Int(known)) = dict.get("version")
    {
        return Ok(*known == version);
    }
    operate::equal(expected, value)
}

fn first_value(options: &Value, initial: Value) -> Value {
    match (&initial, options) {
        (Value::Nil, Value::Dict(options)) => options.get("initial").cloned().unwrap_or_default(),
        _ => initial,
    }
}

fn missing(name: &str, kind: &str, (scope, key): &Place) -> Fault {
    Fault::thrown(format!("{name}: there is no {kind} '{key}' in {scope}"))
}

fn told((scope, key): &Place, uses: Uses, more: (&'static str, Value)) -> Value {
    record(vec![
        ("key", Value::str(key.as_str())),
        ("scope_id", Value::str(scope.as_str())),
        ("reads", Value::Int(uses.reads)),
        ("writes", Value::Int(uses.writes)),
        ("cas_success", Value::Int(uses.swapped)),
        ("cas_failure", Value::Int(uses.refused)),
        more,
    ])
}

pub(super) fn record(fields: Vec<(&str, Value)>) -> Value {
    Value::dict(fields.into_iter().map(|(key, value)| (text(key), value)).collect::<Dict>())
}

fn text(key: &str) -> Arc<Text> {
    Arc::new(Text::new(key))
}
