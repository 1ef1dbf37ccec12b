//! Sets, and what can be done with two of them.

use std::sync::Arc;

use super::args::{self, at};
use super::types::spread;
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Set, Value};

type Answer = Result<Value, Fault>;

pub static SETS: Group = Group {
    title: "Sets",
    builtins: &[
        pure("set", "items...", "any", "A set of the arguments, or of the items of one list.", set),
        pure("set_add", "s, value", "any", "A set with one more value.", add),
        pure("set_contains", "s, value", "bool", "Whether a value is in a set.", contains),
        pure("set_difference", "a, b", "any", "What is in the first set and not in the second.", difference),
        pure("set_intersect", "a, b", "any", "What is in both sets.", intersect),
        pure("set_is_disjoint", "a, b", "bool", "Whether two sets have nothing in common.", is_disjoint),
        pure("set_is_subset", "a, b", "bool", "Whether all of the first set is in the second.", is_subset),
        pure(
            "set_is_superset",
            "a, b",
            "bool",
            "Whether all of the second set is in the first.",
            is_superset,
        ),
        pure("set_remove", "s, value", "any", "A set without a value.", remove),
        pure(
            "set_symmetric_difference",
            "a, b",
            "any",
            "What is in one of two sets and not in both.",
            symmetric_difference,
        ),
        pure("set_union", "a, b", "any", "What is in either of two sets.", union),
    ],
};

fn set(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match args {
        [one @ (Value::List(_) | Value::Set(_) | Value::Range(_))] => {
            let one = std::mem::take(one);
            Ok(Value::Set(as_set(cx, one)?))
        }
        values => {
            values.iter().try_for_each(|value| args::weigh(cx, value))?;
            Ok(made(values.iter().cloned().collect()))
        }
    }
}

fn made(set: Set) -> Value {
    Value::Set(Arc::new(set))
}

/// A set as it is, or one of the items of a list, range or dict.
pub fn as_set(cx: &mut Cx<'_>, value: Value) -> Result<Arc<Set>, Fault> {
    match value {
        Value::Set(set) => Ok(set),
        other => {
            args::weigh(cx, &other)?;
            let items = spread(cx, &other)?;
            cx.charge(items.len().saturating_mul(32))?;
            Ok(Arc::new(items.into_iter().collect()))
        }
    }
}

fn both(cx: &mut Cx<'_>, args: &mut [Value]) -> Result<(Arc<Set>, Arc<Set>), Fault> {
    let (first, second) = (args::take(args, 0), args::take(args, 1));
    let (first, second) = (as_set(cx, first)?, as_set(cx, second)?);
    args::weigh(cx, &Value::Set(Arc::clone(&first)))?;
    args::weigh(cx, &Value::Set(Arc::clone(&second)))?;
    cx.work(first.len() + second.len());
    cx.charge((first.len() + second.len()).saturating_mul(48))?;
    Ok((first, second))
}

pub fn add(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (set, value) = (args::take(args, 0), args::take(args, 1));
    let mut set = as_set(cx, set)?;
    args::weigh(cx, &value)?;
    if !set.contains(&value) {
        cx.charge(48)?;
        Arc::make_mut(&mut set).insert(value);
    }
    Ok(Value::Set(set))
}

pub fn remove(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let set = args::take(args, 0);
    let mut set = as_set(cx, set)?;
    args::weigh(cx, at(args, 1))?;
    cx.work(set.len());
    if set.contains(at(args, 1)) {
        Arc::make_mut(&mut set).remove(at(args, 1));
    }
    Ok(Value::Set(set))
}

pub fn contains(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let set = args::take(args, 0);
    args::weigh(cx, at(args, 1))?;
    Ok(as_set(cx, set)?.contains(at(args, 1)).into())
}

pub fn union(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (mut first, second) = both(cx, args)?;
    let all = Arc::make_mut(&mut first);
    for value in second.iter() {
        all.insert(value.clone());
    }
    Ok(Value::Set(first))
}

pub fn intersect(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = both(cx, args)?;
    Ok(made(first.iter().filter(|value| second.contains(value)).cloned().collect()))
}

pub fn difference(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = both(cx, args)?;
    Ok(made(first.iter().filter(|value| !second.contains(value)).cloned().collect()))
}

pub fn symmetric_difference(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = both(cx, args)?;
    let left = first.iter().filter(|value| !second.contains(value));
    let right = second.iter().filter(|value| !first.contains(value));
    Ok(made(left.chain(right).cloned().collect()))
}

pub fn is_subset(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = both(cx, args)?;
    Ok(first.iter().all(|value| second.contains(value)).into())
}

pub fn is_superset(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = both(cx, args)?;
    Ok(second.iter().all(|value| first.contains(value)).into())
}

pub fn is_disjoint(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = both(cx, args)?;
    Ok((!first.iter().any(|value| second.contains(value))).into())
}
