//! The methods of dicts.

use std::sync::Arc;

use super::Method::{self, Prelude, Pure};
use crate::builtins::args::{self, at};
use crate::builtins::{Cx, collections};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub fn find(method: &str) -> Option<Method> {
    Some(match method {
        "keys" => Pure(collections::keys),
        "values" => Pure(collections::values),
        "entries" => Pure(collections::entries),
        "count" => Pure(count),
        "has" => Pure(has),
        "merge" => Pure(merge),
        "remove" => Pure(remove),
        "get" => Pure(get),
        "map_values" => Prelude("dict_map_values"),
        "rekey" | "map_keys" => Prelude("dict_map_keys"),
        "filter" => Prelude("dict_filter"),
        "iter" => Prelude("dict_iter"),
        _ => return None,
    })
}

fn count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(args::dict(args, 0).map_or(0, crate::value::Dict::len)))
}

fn has(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let key = args::text(cx, args, 1)?;
    Ok(args::dict(args, 0).is_some_and(|dict| dict.has(&key)).into())
}

fn get(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let key = args::text(cx, args, 1)?;
    let found = args::dict(args, 0).and_then(|dict| dict.get(&key));
    Ok(found.unwrap_or(at(args, 2)).clone())
}

fn merge(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let other = args::take(args, 1);
    let Value::Dict(mut dict) = args::take(args, 0) else { return Ok(Value::Nil) };
    let Some(other) = args::fields(&other).filter(|other| !other.is_empty()) else {
        return Ok(Value::Dict(dict));
    };
    let copied = if Arc::strong_count(&dict) > 1 { dict.len() } else { 0 };
    cx.charge((copied + other.len()).saturating_mul(40))?;
    cx.work(copied + other.len());
    let merged = Arc::make_mut(&mut dict);
    for (key, value) in other.iter() {
        merged.insert(key.clone(), value.clone());
    }
    Ok(Value::Dict(dict))
}

fn remove(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let key = args::text(cx, args, 1)?.into_owned();
    let Value::Dict(mut dict) = args::take(args, 0) else { return Ok(Value::Nil) };
    if dict.has(&key) {
        let copied = if Arc::strong_count(&dict) > 1 { dict.len() } else { 0 };
        cx.charge(copied.saturating_mul(40))?;
        cx.work(copied);
        Arc::make_mut(&mut dict).remove(&key);
    }
    Ok(Value::Dict(dict))
}
