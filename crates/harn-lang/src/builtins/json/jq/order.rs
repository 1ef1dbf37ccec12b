//! The order of jq: null, false, true, numbers, texts, lists, objects.

use std::cmp::Ordering;

use crate::builtins::args;
use crate::value::{Value, compare};

pub fn order(left: &Value, right: &Value) -> Ordering {
    rank(left).cmp(&rank(right)).then_with(|| match (left, right) {
        (Value::List(a), Value::List(b)) => items(a.iter(), b.iter()),
        _ => match (args::fields(left), args::fields(right)) {
            // Objects are compared by their keys before anything else.
            (Some(a), Some(b)) => a
                .keys()
                .map(|key| key.as_str())
                .cmp(b.keys().map(|key| key.as_str()))
                .then_with(|| items(a.values(), b.values())),
            _ => compare(left, right),
        },
    })
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Nil => 0,
        Value::Bool(false) => 1,
        Value::Bool(true) => 2,
        Value::Int(_) | Value::Float(_) => 3,
        Value::Str(_) => 4,
        Value::List(_) => 5,
        Value::Dict(_) | Value::Struct(_) => 6,
        _ => 7,
    }
}

fn items<'a>(left: impl Iterator<Item = &'a Value>, right: impl Iterator<Item = &'a Value>) -> Ordering {
    let mut right = right.fuse();
    for item in left {
        let Some(other) = right.next() else { return Ordering::Greater };
        let found = order(item, other);
        if found.is_ne() {
            return found;
        }
    }
    if right.next().is_some() { Ordering::Less } else { Ordering::Equal }
}
