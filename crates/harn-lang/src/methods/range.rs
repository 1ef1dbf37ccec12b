//! The methods of ranges; all others are those of iterators.

use super::Method::{self, Pure};
use crate::builtins::Cx;
use crate::builtins::args::{self, at};
use crate::fault::Fault;
use crate::value::{Range, Value};

type Answer = Result<Value, Fault>;

pub fn find(method: &str) -> Option<Method> {
    Some(match method {
        "len" | "count" => Pure(count),
        "empty" => Pure(empty),
        "contains" => Pure(contains),
        "first" => Pure(first),
        "last" => Pure(last),
        "to_string" => Pure(to_string),
        other => return super::iter(other),
    })
}

const NOTHING: Range = Range { start: 0, end: 0, exclusive: true };

fn receiver(args: &[Value]) -> Range {
    match at(args, 0) {
        Value::Range(range) => **range,
        _ => NOTHING,
    }
}

fn count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::Int(i64::try_from(receiver(args).len()).unwrap_or(i64::MAX)))
}

fn empty(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).is_empty().into())
}

fn contains(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(at(args, 1).as_int().is_some_and(|value| receiver(args).contains(value)).into())
}

fn first(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let range = receiver(args);
    Ok(if range.is_empty() { Value::Nil } else { Value::Int(range.start) })
}

fn last(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let range = receiver(args);
    let last = if range.exclusive { range.end.wrapping_sub(1) } else { range.end };
    Ok(if range.is_empty() { Value::Nil } else { Value::Int(last) })
}

fn to_string(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::text(cx, args, 0)?.into_owned().into())
}
