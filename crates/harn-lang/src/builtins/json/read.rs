//! From JSON, YAML and TOML to values, paid for while they grow.

use std::sync::Arc;

use hashbrown::HashSet;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::super::Cx;
use super::super::args::key;
use crate::fault::Fault;
use crate::value::{Dict, Text, Value, Wanted};

/// How deep what is read may be nested.
const MAX_DEPTH: usize = 128;

/// The outer error ends the program, the inner one says what is wrong with the text.
type Read = Result<Result<Value, String>, Fault>;

pub fn json(cx: &mut Cx<'_>, text: &str) -> Read {
    cx.work(text.len());
    let mut fault = None;
    let mut source = serde_json::Deserializer::from_str(text);
    let read = Seed { cx, fault: &mut fault, keys: &mut Keys::default(), is_key: false, depth: 0 }
        .deserialize(&mut source);
    let read = read.and_then(|value| source.end().map(|()| value));
    told(read, fault)
}

pub fn yaml(cx: &mut Cx<'_>, text: &str) -> Read {
    cx.work(text.len());
    if text.trim().is_empty() {
        return Ok(Ok(Value::Nil));
    }
    let mut fault = None;
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
    };
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |source| {
        Seed { cx, fault: &mut fault, keys: &mut Keys::default(), is_key: false, depth: 0 }
            .deserialize(source)
    });
    Ok(told(read, fault)?.map_err(|error| plainly(&error)))
}

/// Without advice for those who call the reader from Rust.
fn plainly(error: &str) -> String {
    if error.starts_with("budget breached") {
        return "the document has too many parts".to_owned();
    }
    error
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "")
        .replace(
            "multiple YAML documents detected; use from_str_multiple or from_str_multiple_with_options",
            "more than one document",
        )
        .replace("rejected by the configured policy", "is not taken")
}

pub fn toml(cx: &mut Cx<'_>, text: &str) -> Read {
    cx.work(text.len());
    let mut fault = None;
    let source = match toml::de::Deserializer::parse(text) {
        Ok(source) => source,
        Err(error) => return Ok(Err(error.message().to_owned())),
    };
    let read = Seed { cx, fault: &mut fault, keys: &mut Keys::default(), is_key: false, depth: 0 }
        .deserialize(source);
    told(read, fault)
}

fn told<E: std::fmt::Display>(read: Result<Value, E>, fault: Option<Fault>) -> Read {
    match fault {
        Some(fault) => Err(fault),
        None => Ok(read.map_err(|error| error.to_string())),
    }
}

struct Seed<'s, 'm> {
    cx: &'s mut Cx<'m>,
    fault: &'s mut Option<Fault>,
    keys: &'s mut Keys,
    is_key: bool,
    depth: usize,
}

/// The keys that were read: those that come again are the same texts.
#[derive(Default)]
struct Keys(HashSet<Arc<Text>>);

impl Keys {
    fn text(&mut self, name: &str) -> Arc<Text> {
        if let Some(known) = self.0.get(&Wanted(name)) {
            return Arc::clone(known);
        }
        let text = key(name);
        // Where every key is another, remembering them is of no use.
        if self.0.len() < 256 {
            self.0.insert(Arc::clone(&text));
        }
        text
    }
}

impl<'m> Seed<'_, 'm> {
    fn charge<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.cx.charge(bytes).map_err(|fault| {
            let error = E::custom(&fault);
            *self.fault = Some(fault);
            error
        })
    }

    fn inner<E: Error>(&mut self) -> Result<Seed<'_, 'm>, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format!("nested more than {MAX_DEPTH} deep")));
        }
        self.charge(16)?;
        let (cx, fault, keys) = (&mut *self.cx, &mut *self.fault, &mut *self.keys);
        Ok(Seed { cx, fault, keys, is_key: false, depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

/// The key under which the TOML reader hides a date.
const TOML_DATE: &str = "$__toml_private_datetime";

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<Value, E> {
        self.charge(48 + value.len())?;
        match self.is_key {
            true => Ok(Value::Str(self.keys.text(value))),
            false => Ok(value.into()),
        }
    }

    fn visit_bytes<E: Error>(mut self, value: &[u8]) -> Result<Value, E> {
        self.charge(48 + value.len())?;
        Ok(super::super::args::bytes(value.to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut source: A) -> Result<Value, A::Error> {
        self.charge(48)?;
        let mut items = Vec::new();
        while let Some(item) = source.next_element_seed(self.inner()?)? {
            items.push(item);
        }
        Ok(Value::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut source: A) -> Result<Value, A::Error> {
        self.charge(48)?;
        let mut dict = Dict::new();
        while let Some(name) = source.next_key_seed(Seed { is_key: true, ..self.inner()? })? {
            let value = source.next_value_seed(self.inner()?)?;
            let name = match name {
                Value::Str(text) => text,
                scalar if scalar.depth() == 0 => key(&scalar.to_string()),
                _ => return Err(A::Error::custom("a key must be a text or a number")),
            };
            if name.as_str() == TOML_DATE {
                return Ok(value);
            }
            self.charge(40)?;
            dict.insert(name, value);
        }
        Ok(Value::dict(dict))
    }
}
