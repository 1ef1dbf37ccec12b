//! What a value is, other forms of it, and results.

use std::sync::Arc;

use super::args::{self, at};
use super::{Cx, Group, prelude, pure};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static TYPES: Group = Group {
    title: "Types, Result",
    builtins: &[
        pure("Err", "value", "any", "Makes a failed result of a value.", err),
        pure("Ok", "value", "any", "Makes a successful result of a value.", ok),
        pure(
            "addr_of",
            "value",
            "string",
            "A text that is the same for equal values; values have no addresses that a program could see.",
            addr_of,
        ),
        pure("is_err", "result", "bool", "Whether a value is a failed result.", is_err),
        pure("is_ok", "result", "bool", "Whether a value is a successful result.", is_ok),
        pure(
            "is_same",
            "a, b",
            "bool",
            "Whether two lists, dicts, sets or functions are one and the same; other values are compared by `==`.",
            is_same,
        ),
        pure(
            "len",
            "value",
            "any",
            "How many characters, bytes, items or keys a value has; 0 for what has none.",
            len,
        ),
        pure(
            "to_float",
            "value",
            "float",
            "A number, or the number that a text says, as a float; nil if there is none.",
            to_float,
        ),
        pure(
            "to_int",
            "value",
            "int",
            "A number without its fraction, or the whole number that a text says; nil if there is none.",
            to_int,
        ),
        prelude(
            "to_list",
            "s",
            "list",
            "The items of a set, list, range, iterator, generator, stream or channel, the entries of a dict or the \
             characters of a text.",
        ),
        pure("to_string", "value", "string", "The printed form of a value.", to_string),
        pure("type_of", "value", "string", "The name of a value's type.", type_of),
        pure(
            "unreachable",
            "value?",
            "never",
            "Fails: the program came to a place that it never should.",
            unreachable,
        ),
        pure("unwrap", "result", "any", "The value of a successful result; fails on an error.", unwrap),
        pure(
            "unwrap_err",
            "result",
            "any",
            "The error of a failed result; fails on anything else.",
            unwrap_err,
        ),
        pure(
            "unwrap_or",
            "result, default",
            "any",
            "The value of a successful result, or the default.",
            unwrap_or,
        ),
    ],
};

fn ok(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::ok(args::take(args, 0)))
}

fn err(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::err(args::take(args, 0)))
}

fn is_ok(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(matches!(at(args, 0).as_result(), Some(Ok(_))).into())
}

fn is_err(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(matches!(at(args, 0).as_result(), Some(Err(_))).into())
}

fn unwrap(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match at(args, 0).as_result() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => {
            Err(Fault::runtime(format!("unwrap called on Err: {}", args::print(cx, &error)?)))
        }
        None => Ok(args::take(args, 0)),
    }
}

fn unwrap_or(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match at(args, 0).as_result() {
        Some(Ok(value)) => Ok(value),
        Some(Err(_)) => Ok(args::take(args, 1)),
        None => Ok(args::take(args, 0)),
    }
}

fn unwrap_err(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match at(args, 0).as_result() {
        Some(Err(error)) => Ok(error),
        _ => Err(Fault::runtime("unwrap_err called on non-Err")),
    }
}

fn unreachable(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Err(Fault::runtime(match args.first() {
        None => "unreachable code was reached".to_owned(),
        Some(value) => format!("unreachable code was reached: {}", args::print(cx, value)?),
    }))
}

fn type_of(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(at(args, 0).type_name().into())
}

fn to_string(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match args.first() {
        Some(Value::Str(_)) => Ok(args::take(args, 0)),
        _ => Ok(args::text(cx, args, 0)?.into_owned().into()),
    }
}

fn to_int(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(match at(args, 0) {
        Value::Int(value) | Value::Duration(value) => Value::Int(*value),
        Value::Float(value) => Value::Int(*value as i64),
        Value::Str(text) => text.as_str().parse().map_or(Value::Nil, Value::Int),
        _ => Value::Nil,
    })
}

fn to_float(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(match at(args, 0) {
        Value::Str(text) => text.as_str().parse().map_or(Value::Nil, Value::Float),
        value => value.as_number().map_or(Value::Nil, Value::Float),
    })
}

/// What `len` counts.
pub fn length(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Str(text) => text.chars(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Dict(dict) => dict.len(),
        Value::Struct(value) => value.fields.len(),
        Value::Set(set) => set.len(),
        Value::Range(range) => usize::try_from(range.len()).unwrap_or(usize::MAX),
        _ => return None,
    })
}

fn len(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    // A struct is one thing, however many fields it has.
    let counted = Some(at(args, 0)).filter(|value| !matches!(value, Value::Struct(_)));
    Ok(args::number(counted.and_then(length).unwrap_or(0)))
}

pub(super) fn to_list(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match args::take(args, 0) {
        list @ Value::List(_) => Ok(list),
        other => Ok(Value::list(spread(cx, &other)?)),
    }
}

/// The values that something consists of, paid for.
pub fn spread(cx: &mut Cx<'_>, value: &Value) -> Result<Vec<Value>, Fault> {
    let count = length(value).unwrap_or(0);
    cx.charge(count.saturating_mul(size_of::<Value>()))?;
    cx.work(count);
    Ok(match value {
        Value::List(list) => list.to_vec(),
        Value::Set(set) => set.iter().cloned().collect(),
        Value::Range(range) => (0..count as i64).map(|at| Value::Int(range.start.wrapping_add(at))).collect(),
        Value::Str(text) => {
            cx.charge(count.saturating_mul(64))?;
            text.as_str().chars().map(|c| c.to_string().into()).collect()
        }
        Value::Pair(pair) => vec![pair.first.clone(), pair.second.clone()],
        Value::Dict(_) | Value::Struct(_) => {
            cx.charge(count.saturating_mul(160))?;
            args::fields(value).into_iter().flat_map(|dict| dict.iter()).map(entry).collect()
        }
        _ => Vec::new(),
    })
}

/// A key and its value, as `entries` gives them.
pub fn entry((key, value): (&Arc<crate::value::Text>, &Value)) -> Value {
    Value::record([("key", Value::Str(key.clone())), ("value", value.clone())])
}

fn is_same(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    args::weigh(cx, at(args, 0))?;
    Ok(Value::Bool(match (at(args, 0), at(args, 1)) {
        (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Arc::ptr_eq(a, b),
        (Value::Set(a), Value::Set(b)) => Arc::ptr_eq(a, b),
        (Value::Closure(a), Value::Closure(b)) => Arc::ptr_eq(a, b),
        (Value::Handle(a), Value::Handle(b)) => Arc::ptr_eq(a, b),
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (a, b) => a == b,
    }))
}

fn addr_of(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let value = at(args, 0);
    let text = args::print(cx, value)?;
    Ok(format!("{}@{:016x}", value.type_name(), fnv1a(text.as_bytes())).into())
}

/// A quick hash that is the same everywhere.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
