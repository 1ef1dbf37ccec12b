//! The methods of lists.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Method::{self, Prelude, Pure};
use crate::builtins::args::{self, at};
use crate::builtins::{Cx, collections, math, order, strings};
use crate::fault::Fault;
use crate::value::{Dict, List, Set, Value};

type Answer = Result<Value, Fault>;

pub fn find(method: &str) -> Option<Method> {
    Some(match method {
        "count" => Pure(count),
        "empty" => Pure(empty),
        "sort" => Pure(sort),
        "reverse" => Pure(reverse),
        "join" => Pure(join),
        "contains" => Pure(contains),
        "index_of" => Pure(index_of),
        "enumerate" => Pure(enumerate),
        "zip" => Pure(zip),
        "slice" => Pure(slice),
        "unique" => Pure(unique),
        "take" => Pure(take),
        "skip" => Pure(skip),
        "sum" => Pure(sum),
        "min" => Pure(min),
        "max" => Pure(max),
        "flatten" => Pure(flatten),
        "push" => Pure(push),
        "pop" => Pure(pop),
        "first" => Pure(first),
        "last" => Pure(last),
        "chunk" | "each_slice" => Pure(collections::chunk),
        "window" | "each_cons" | "sliding_window" => Pure(collections::window),
        "compact" => Pure(compact),
        "tally" => Pure(tally),
        "map" => Prelude("list_map"),
        "filter" => Prelude("list_filter"),
        "reduce" => Prelude("list_reduce"),
        "find" => Prelude("list_find"),
        "find_index" => Prelude("list_find_index"),
        "any" => Prelude("list_any"),
        "all" | "every" => Prelude("list_all"),
        "none" => Prelude("list_none"),
        "flat_map" => Prelude("list_flat_map"),
        "sort_by" => Prelude("list_sort_by"),
        "partition" => Prelude("list_partition"),
        "group_by" => Prelude("list_group_by"),
        "min_by" => Prelude("list_min_by"),
        "max_by" => Prelude("list_max_by"),
        "iter" => Prelude("list_iter"),
        _ => return None,
    })
}

/// The receiver itself, copied only when somebody else has it.
fn own(cx: &mut Cx<'_>, args: &mut [Value]) -> Result<Arc<List>, Fault> {
    let Value::List(list) = args::take(args, 0) else { return Ok(Arc::default()) };
    cx.work(list.len());
    if Arc::strong_count(&list) > 1 {
        cx.charge(list.len() * 16 + 48)?;
    }
    Ok(list)
}

fn some(cx: &mut Cx<'_>, args: &[Value], start: usize, end: usize) -> Answer {
    let items = args::list(args, 0).get(start..end).unwrap_or_default();
    cx.charge(items.len() * 16 + 48)?;
    cx.work(items.len());
    Ok(Value::list(items.to_vec()))
}

fn count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(args::list(args, 0).len()))
}

fn empty(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::list(args, 0).is_empty().into())
}

fn sort(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut list = own(cx, args)?;
    cx.work(list.len().saturating_mul(16));
    let items = Arc::make_mut(&mut list).items_mut();
    *items = order::sort(std::mem::take(items));
    Ok(Value::List(list))
}

fn reverse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut list = own(cx, args)?;
    Arc::make_mut(&mut list).items_mut().reverse();
    Ok(Value::List(list))
}

fn push(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let value = args::take(args, 1);
    let Value::List(mut list) = args::take(args, 0) else { return Ok(Value::Nil) };
    let copied = if Arc::strong_count(&list) > 1 { list.len() * 16 + 48 } else { 0 };
    cx.charge(copied + 32)?;
    cx.work(copied / 16);
    Arc::make_mut(&mut list).push(value);
    Ok(Value::List(list))
}

fn pop(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let Value::List(mut list) = args::take(args, 0) else { return Ok(Value::Nil) };
    let copied = if Arc::strong_count(&list) > 1 { list.len() * 16 + 48 } else { 0 };
    cx.charge(copied)?;
    cx.work(copied / 16);
    Arc::make_mut(&mut list).items_mut().pop();
    Ok(Value::List(list))
}

fn join(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let separator = args::text_or(cx, args, 1, "")?;
    strings::joined(cx, args::list(args, 0).iter(), &separator)
}

fn contains(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    cx.work(items.len());
    args::weigh(cx, at(args, 1))?;
    Ok(items.contains(at(args, 1)).into())
}

fn index_of(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    cx.work(items.len());
    args::weigh(cx, at(args, 1))?;
    Ok(items.iter().position(|item| item == at(args, 1)).map_or(Value::Int(-1), args::number))
}

fn enumerate(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    cx.charge(items.len().saturating_mul(200))?;
    cx.work(items.len());
    let entry =
        |(at, item): (usize, &Value)| Value::record([("index", args::number(at)), ("value", item.clone())]);
    Ok(Value::list(items.iter().enumerate().map(entry).collect()))
}

fn zip(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (left, right) = (args::list(args, 0), args::list(args, 1));
    let count = left.len().min(right.len());
    cx.charge(count.saturating_mul(96))?;
    cx.work(count);
    let both = left.iter().zip(right).map(|(a, b)| Value::list(vec![a.clone(), b.clone()]));
    Ok(Value::list(both.collect()))
}

fn slice(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (start, end) = args::bounds(args::list(args, 0).len(), args::int(args, 1), args::int(args, 2));
    some(cx, args, start, end)
}

fn take(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let count = args::count_or(args, 1, 0).min(args::list(args, 0).len());
    some(cx, args, 0, count)
}

fn skip(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let length = args::list(args, 0).len();
    some(cx, args, args::count_or(args, 1, 0).min(length), length)
}

fn first(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match args::int(args, 1) {
        None => Ok(args::list(args, 0).first().cloned().unwrap_or_default()),
        Some(_) => take(cx, args),
    }
}

fn last(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    match args::int(args, 1) {
        None => Ok(items.last().cloned().unwrap_or_default()),
        Some(_) => some(cx, args, items.len().saturating_sub(args::count_or(args, 1, 0)), items.len()),
    }
}

fn unique(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    cx.charge(items.len().saturating_mul(48))?;
    cx.work(items.len().saturating_mul(4));
    args::weigh(cx, at(args, 0))?;
    let unique: Set = items.iter().cloned().collect();
    Ok(Value::list(unique.iter().cloned().collect()))
}

/// Whole numbers wrap; with a float among them, the sum is a float. What is no number does not count.
fn sum(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    cx.work(items.len());
    let sum = items.iter().fold(Value::Int(0), |sum, item| match (&sum, item) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
        (sum, item) => match (sum.as_number(), item.as_number()) {
            (Some(a), Some(b)) => Value::Float(a + b),
            _ => sum.clone(),
        },
    });
    Ok(sum)
}

fn min(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    cx.work(args::list(args, 0).len());
    Ok(math::first_extreme(args::list(args, 0), Ordering::Less))
}

fn max(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    cx.work(args::list(args, 0).len());
    Ok(math::first_extreme(args::list(args, 0), Ordering::Greater))
}

fn flatten(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let items = args::list(args, 0);
    let count = items.iter().map(|item| item.as_list().map_or(1, <[Value]>::len)).sum::<usize>();
    cx.charge(count.saturating_mul(16))?;
    cx.work(count);
    let mut flat = Vec::with_capacity(count);
    for item in items {
        match item {
            Value::List(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    Ok(Value::list(flat))
}

fn compact(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut list = own(cx, args)?;
    if list.contains(&Value::Nil) {
        Arc::make_mut(&mut list).items_mut().retain(|item| *item != Value::Nil);
    }
    Ok(Value::List(list))
}

fn tally(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut counts = Dict::new();
    for item in args::list(args, 0) {
        let name = args::print(cx, item)?;
        cx.work(name.len() + 16);
        match counts.get_mut(&name) {
            Some(Value::Int(count)) => *count += 1,
            _ => {
                cx.charge(name.len() + 88)?;
                counts.insert(args::key(&name), Value::Int(1));
            }
        }
    }
    Ok(Value::dict(counts))
}
