//! Operators, indexing and assignment: what they do to values, without a VM.

use std::sync::Arc;

use crate::fault::{Fault, Limit};
use crate::value::{MAX_DEPTH, Range, Text, Value, compare, printed_within};

pub fn add(a: &Value, b: &Value) -> Result<Value, Fault> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
        (Value::Str(a), Value::Str(b)) => {
            let mut text = String::with_capacity(a.as_str().len() + b.as_str().len());
            text.push_str(a.as_str());
            text.push_str(b.as_str());
            Value::str(text)
        }
        (Value::List(a), Value::List(b)) => Value::list(a.iter().chain(b.iter()).cloned().collect()),
        (Value::Dict(a), Value::Dict(b)) => {
            let mut all = (**a).clone();
            b.iter().for_each(|(key, value)| all.insert(Arc::clone(key), value.clone()));
            Value::dict(all)
        }
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.saturating_add(*b)),
        _ => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => Value::Float(a + b),
            _ => return Err(Fault::Type(format!("Cannot add {} and {}", a.type_name(), b.type_name()))),
        },
    })
}

/// `a = a + b`, in place where nobody else has `a`.
pub fn append(a: &mut Value, b: &Value) -> Result<(), Fault> {
    match (&mut *a, b) {
        (Value::Str(text), Value::Str(more)) => Arc::make_mut(text).push(more.as_str()),
        (Value::List(list), Value::List(more)) if !Arc::ptr_eq(list, more) => {
            let list = Arc::make_mut(list);
            more.iter().for_each(|item| list.push(item.clone()));
        }
        (Value::Dict(dict), Value::Dict(more)) if !Arc::ptr_eq(dict, more) => {
            let dict = Arc::make_mut(dict);
            more.iter().for_each(|(key, value)| dict.insert(Arc::clone(key), value.clone()));
        }
        _ => *a = add(a, b)?,
    }
    Ok(())
}

pub fn subtract(a: &Value, b: &Value) -> Result<Value, Fault> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_sub(*b)),
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.saturating_sub(*b)),
        _ => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => Value::Float(a - b),
            _ => {
                return Err(Fault::Type(format!("Cannot subtract {} from {}", b.type_name(), a.type_name())));
            }
        },
    })
}

pub fn multiply(a: &Value, b: &Value) -> Result<Value, Fault> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_mul(*b)),
        (Value::Str(text), Value::Int(times)) | (Value::Int(times), Value::Str(text)) => {
            Value::str(text.as_str().repeat(usize::try_from(*times).unwrap_or(0)))
        }
        _ => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => Value::Float(a * b),
            _ => return Err(Fault::Type(format!("Cannot multiply {} and {}", a.type_name(), b.type_name()))),
        },
    })
}

pub fn divide(a: &Value, b: &Value) -> Result<Value, Fault> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) => Err(Fault::Plain("Division by zero".into())),
        (Value::Int(a), Value::Int(b)) => Ok(Value::Int(a.wrapping_div(*b))),
        _ => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => Ok(Value::Float(a / b)),
            _ => Err(Fault::Runtime(format!("Cannot divide {} by {}", a.type_name(), b.type_name()))),
        },
    }
}

pub fn modulo(a: &Value, b: &Value) -> Result<Value, Fault> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) => Err(Fault::Plain("Division by zero".into())),
        (Value::Int(a), Value::Int(b)) => Ok(Value::Int(a.wrapping_rem(*b))),
        _ => match (a.as_number(), b.as_number()) {
            (Some(_), Some(0.0)) => Err(Fault::Plain("Division by zero".into())),
            (Some(a), Some(b)) => Ok(Value::Float(a % b)),
            _ => Err(Fault::Runtime(format!("Cannot modulo {} by {}", a.type_name(), b.type_name()))),
        },
    }
}

pub fn power(a: &Value, b: &Value) -> Result<Value, Fault> {
    match (a, b) {
        (Value::Int(base), Value::Int(exponent)) if *exponent >= 0 => {
            let exponent = u32::try_from(*exponent).unwrap_or(u32::MAX);
            Ok(Value::Int(base.wrapping_pow(exponent)))
        }
        _ => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => Ok(Value::Float(a.powf(b))),
            _ => Err(Fault::Type(format!("Cannot exponentiate {} by {}", a.type_name(), b.type_name()))),
        },
    }
}

pub fn negate(a: &Value) -> Result<Value, Fault> {
    match a {
        Value::Int(value) => Ok(Value::Int(value.wrapping_neg())),
        Value::Float(value) => Ok(Value::Float(-value)),
        Value::Duration(value) => Ok(Value::Duration(value.saturating_neg())),
        other => Err(Fault::Runtime(format!("Cannot negate value of type {}", other.type_name()))),
    }
}

pub fn less(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a < b,
        _ => compare(a, b).is_lt(),
    }
}

pub fn less_or_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a <= b,
        _ => compare(a, b).is_le(),
    }
}

pub fn contains(container: &Value, item: &Value) -> Result<bool, Fault> {
    Ok(match container {
        Value::List(list) => {
            let mut parts = COMPARED;
            for other in list.iter() {
                if other.equals_within(item, &mut parts).ok_or(TOO_MANY_PARTS)? {
                    return Ok(true);
                }
            }
            false
        }
        Value::Set(set) => set.contains(item),
        Value::Dict(dict) => dict.has(key_of(item)?.as_str()),
        Value::Str(text) => text.as_str().contains(key_of(item)?.as_str()),
        Value::Range(range) => match item {
            Value::Int(value) => range.contains(*value),
            Value::Float(value) => value.fract() == 0.0 && range.contains(*value as i64),
            _ => false,
        },
        _ => false,
    })
}

/// So many parts of two values are compared before it is given up.
const COMPARED: u64 = 50_000_000;
const TOO_MANY_PARTS: Fault = Fault::Limit(Limit::Comparison(COMPARED));

pub fn equal(a: &Value, b: &Value) -> Result<bool, Fault> {
    let mut parts = COMPARED;
    a.equals_within(b, &mut parts).ok_or(TOO_MANY_PARTS)
}

/// The place of an index that may count from the end.
fn place(index: i64, length: usize) -> Option<usize> {
    let place = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(place).ok().filter(|place| *place < length)
}

pub fn index(object: &Value, index: &Value) -> Result<Value, Fault> {
    match (object, index) {
        (Value::List(list), Value::Int(at)) => {
            Ok(place(*at, list.len()).map(|at| list[at].clone()).unwrap_or_default())
        }
        (Value::Dict(dict), Value::Str(key)) => Ok(dict.get(key.as_str()).cloned().unwrap_or_default()),
        (Value::Dict(dict), key) => Ok(dict.get(key_of(key)?.as_str()).cloned().unwrap_or_default()),
        (Value::Str(text), Value::Int(at)) => {
            let found = place(*at, text.chars());
            Ok(found.map(|at| Value::str(text.slice(at, at + 1))).unwrap_or_default())
        }
        (Value::Struct(object), Value::Str(key)) => {
            Ok(object.fields.get(key.as_str()).cloned().unwrap_or_default())
        }
        (Value::Range(range), Value::Int(at)) => {
            let length = usize::try_from(range.len()).unwrap_or(usize::MAX);
            match place(*at, length) {
                Some(at) => Ok(Value::Int(range.start.wrapping_add(at as i64))),
                None => Err(Fault::Runtime(format!(
                    "range index out of range: index {at} for range of length {length}"
                ))),
            }
        }
        (object, index) => {
            Err(Fault::Type(format!("cannot index into {} with {}", object.type_name(), index.type_name())))
        }
    }
}

/// From one place to another that is not part of it; both may count from the end, and are moved within.
pub fn slice(object: &Value, start: &Value, end: &Value) -> Result<Value, Fault> {
    let bounds = |length: usize| {
        let clamp = |bound: &Value, default: usize| match bound {
            Value::Int(at) if *at < 0 => {
                length.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX))
            }
            Value::Int(at) => usize::try_from(*at).unwrap_or(usize::MAX).min(length),
            _ => default,
        };
        let (from, to) = (clamp(start, 0), clamp(end, length));
        (from, to.max(from))
    };
    match object {
        Value::List(list) => {
            let (from, to) = bounds(list.len());
            Ok(Value::list(list[from..to].to_vec()))
        }
        Value::Str(text) => {
            let (from, to) = bounds(text.chars());
            Ok(Value::str(text.slice(from, to)))
        }
        Value::Bytes(bytes) => {
            let (from, to) = bounds(bytes.len());
            Ok(Value::Bytes(Arc::new(bytes[from..to].to_vec())))
        }
        other => Err(Fault::Type(format!("cannot slice {}", other.type_name()))),
    }
}

/// `object.name`; none for kinds without properties.
pub fn property(object: &Value, name: &str) -> Option<Value> {
    Some(match object {
        Value::Dict(dict) => dict.get(name).cloned().unwrap_or_default(),
        Value::Struct(object) => object.fields.get(name).cloned().unwrap_or_default(),
        Value::List(list) => match name {
            "count" => Value::Int(list.len() as i64),
            "empty" => Value::Bool(list.is_empty()),
            "first" => list.first().cloned().unwrap_or_default(),
            "last" => list.last().cloned().unwrap_or_default(),
            _ => Value::Nil,
        },
        Value::Str(text) => match name {
            "count" => Value::Int(text.chars() as i64),
            "empty" => Value::Bool(text.as_str().is_empty()),
            _ => Value::Nil,
        },
        Value::Enum(value) => match name {
            "variant" => Value::str(&*value.variant),
            "fields" => Value::list(value.fields.clone()),
            _ => Value::Nil,
        },
        Value::Pair(pair) => match name {
            "first" => pair.first.clone(),
            "second" => pair.second.clone(),
            _ => Value::Nil,
        },
        _ => return None,
    })
}

pub fn no_property(object: &Value, name: &str) -> Fault {
    Fault::Type(format!("cannot access property `{name}` on {}", object.type_name()))
}

/// `object[index] = value`, in place where nobody else has the object.
pub fn set_index(object: &mut Value, index: &Value, value: Value) -> Result<(), Fault> {
    match object {
        Value::List(list) => {
            let Value::Int(at) = index else { return Ok(()) };
            let length = list.len();
            let Some(at) = place(*at, length) else {
                return Err(Fault::Runtime(format!("Index {at} out of bounds for list of length {length}")));
            };
            Arc::make_mut(list).set(at, value);
        }
        Value::Dict(dict) => match index {
            Value::Str(key) => Arc::make_mut(dict).set(key, value),
            other => Arc::make_mut(dict).insert(key_of(other)?, value),
        },
        Value::Struct(object) => {
            let key = key_of(index)?;
            Arc::make_mut(object).fields.set(&key, value);
        }
        _ => {}
    }
    Ok(())
}

/// The longest printed form that can be a key.
const KEY_LIMIT: usize = 1 << 20;

pub fn key_of(value: &Value) -> Result<Arc<Text>, Fault> {
    match value {
        Value::Str(text) => Ok(Arc::clone(text)),
        other => match printed_within(other, KEY_LIMIT) {
            Some(text) => Ok(Arc::new(Text::new(text))),
            None => Err(Fault::Limit(Limit::Key(KEY_LIMIT as u64))),
        },
    }
}

pub fn set_field(object: &mut Value, name: &Arc<Text>, value: Value) -> Result<(), Fault> {
    match object {
        Value::Dict(dict) => Arc::make_mut(dict).set(name, value),
        Value::Struct(object) => Arc::make_mut(object).fields.set(name, value),
        other => {
            let (name, kind) = (name.as_str(), other.type_name());
            return Err(Fault::Type(format!("cannot set property `{name}` on {kind}")));
        }
    }
    Ok(())
}

/// `object[path...] = value`. Where a dict has nothing under a key of the path, a dict is put there.
pub fn set_path(object: &mut Value, path: &[Value], value: Value) -> Result<(), Fault> {
    let Some((last, path)) = path.split_last() else { return Ok(()) };
    let mut at = object;
    let depth = value.depth().saturating_add(u16::try_from(path.len()).unwrap_or(u16::MAX));
    for key in path {
        at = match at {
            Value::List(list) => {
                let length = list.len();
                let found = key.as_int().and_then(|index| place(index, length));
                let Some(found) = found else {
                    return Err(Fault::Runtime(format!(
                        "Index {key} out of bounds for list of length {length}"
                    )));
                };
                Arc::make_mut(list).item_mut(found, depth)
            }
            Value::Dict(dict) => match key {
                Value::Str(key) => Arc::make_mut(dict).entry(key, depth),
                other => Arc::make_mut(dict).entry(&key_of(other)?, depth),
            },
            Value::Struct(object) => Arc::make_mut(object).fields.entry(&key_of(key)?, depth),
            other => {
                return Err(Fault::Type(format!("cannot set property `{key}` on {}", other.type_name())));
            }
        };
        if matches!(at, Value::Nil) {
            *at = Value::dict(crate::value::Dict::new());
        }
    }
    set_index(at, last, value)
}

/// `object.a.b = value`, as `set_path`.
pub fn set_fields(object: &mut Value, names: &[Arc<Text>], value: Value) -> Result<(), Fault> {
    let mut at = object;
    let levels = u16::try_from(names.len()).unwrap_or(u16::MAX);
    let depth = value.depth().saturating_add(levels).saturating_sub(1);
    for (done, name) in names.iter().enumerate() {
        let Value::Dict(dict) = at else {
            let rest: Vec<Value> = names[done..].iter().cloned().map(Value::Str).collect();
            return set_path(at, &rest, value);
        };
        let dict = Arc::make_mut(dict);
        if done + 1 == names.len() {
            dict.set(name, value);
            break;
        }
        at = dict.entry(name, depth);
        if matches!(at, Value::Nil) {
            *at = Value::dict(crate::value::Dict::new());
        }
    }
    Ok(())
}

/// Whether somebody else has it too.
pub fn is_shared(value: &Value) -> bool {
    match value {
        Value::Str(inner) => Arc::strong_count(inner) > 1,
        Value::List(inner) => Arc::strong_count(inner) > 1,
        Value::Dict(inner) => Arc::strong_count(inner) > 1,
        Value::Set(inner) => Arc::strong_count(inner) > 1,
        Value::Struct(inner) => Arc::strong_count(inner) > 1,
        _ => false,
    }
}

pub fn shallow(value: &Value) -> Result<(), Fault> {
    match value.depth() > MAX_DEPTH {
        true => Err(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH)))),
        false => Ok(()),
    }
}

pub fn int(value: &Value) -> i64 {
    value.as_int().unwrap_or(0)
}

/// A text several times, unless that would be longer than so many bytes.
pub fn repeat(text: &str, times: i64, limit: u64) -> Result<Value, Fault> {
    let times = usize::try_from(times).unwrap_or(0);
    if text.len().saturating_mul(times) as u64 > limit {
        return Err(Fault::Limit(Limit::Memory(limit)));
    }
    Ok(Value::str(text.repeat(times)))
}

/// What a variant of an enum has at a place.
pub fn variant_field(value: &Value, at: usize) -> Value {
    match value {
        Value::Enum(value) => value.fields.get(at).cloned().unwrap_or_default(),
        _ => Value::Nil,
    }
}

/// The items of a list from a place on.
pub fn rest_of_list(list: &Value, from: usize) -> Value {
    let rest = list.as_list().and_then(|list| list.get(from..));
    Value::list(rest.unwrap_or_default().to_vec())
}

/// A dict without the keys of a list.
pub fn rest_of_dict(dict: &Value, keys: &Value) -> Value {
    let mut rest = dict.as_dict().cloned().unwrap_or_default();
    for key in keys.as_list().unwrap_or_default() {
        rest.remove(key.as_str().unwrap_or_default());
    }
    Value::dict(rest)
}

pub fn range(a: &Value, b: &Value, exclusive: bool) -> Value {
    Value::Range(Arc::new(Range { start: int(a), end: int(b), exclusive }))
}

pub fn want(pattern: &str, wanted: &str, got: &Value) -> Fault {
    Fault::Type(format!("cannot destructure {} with {pattern} pattern — expected {wanted}", got.type_name()))
}

/// A number in a text that is being joined.
pub fn push_int(text: &mut String, number: i64) {
    use std::fmt::Write;
    // Writing to a string does not fail.
    let _ = write!(text, "{number}");
}
