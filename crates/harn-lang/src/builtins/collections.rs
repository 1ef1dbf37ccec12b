//! Lists cut into pieces, and what a dict consists of.

use super::args::{self, at};
use super::types::entry;
use super::{Cx, Group, prelude, pure};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static COLLECTIONS: Group = Group {
    title: "Collection helpers",
    builtins: &[
        pure(
            "chunk",
            "list, size",
            "list",
            "The items of a list in lists of a size, the last one maybe shorter.",
            chunk,
        ),
        prelude(
            "dedup_by",
            "list, fn",
            "list",
            "The items of a list without those whose key, as the function gives it, was there before.",
        ),
        prelude(
            "flat_map",
            "list, fn",
            "list",
            "What a function makes of each item, lists among it taken apart.",
        ),
        prelude(
            "group_by",
            "list, fn",
            "dict",
            "The items of a list in lists under the key that the function gives.",
        ),
        prelude(
            "partition",
            "list, fn",
            "dict",
            "A dict of two lists: `match` has the items that the function accepts, `no_match` the rest.",
        ),
        pure(
            "window",
            "list, size, step?",
            "list",
            "Every run of a length in a list, `step` items apart.",
            window,
        ),
    ],
};

pub static DICTS: Group = Group {
    title: "Dict helpers",
    builtins: &[
        pure(
            "entries",
            "dict",
            "list",
            "The keys and values of a dict as dicts of `key` and `value`, in the order of the keys.",
            entries,
        ),
        pure("keys", "dict", "list", "The keys of a dict in order.", keys),
        pure("values", "dict", "list", "The values of a dict in the order of its keys.", values),
    ],
};

/// Also the list method.
pub fn chunk(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let size = args::count_or(args, 1, 1).max(1);
    let items = args::sequence(cx, args, 0)?.unwrap_or_default();
    cx.charge((items.len() / size).saturating_mul(64).saturating_add(items.len() * 16))?;
    cx.work(items.len());
    Ok(Value::list(items.chunks(size).map(|chunk| Value::list(chunk.to_vec())).collect()))
}

/// Also the list method.
pub fn window(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let size = args::count_or(args, 1, 2).max(1);
    let step = args::count_or(args, 2, 1).max(1);
    let items = args::sequence(cx, args, 0)?.unwrap_or_default();
    let count = items.len().saturating_sub(size - 1).div_ceil(step);
    cx.charge(count.saturating_mul(size.saturating_mul(16).saturating_add(64)))?;
    cx.work(count.saturating_mul(size));
    let windows = items.windows(size).step_by(step);
    Ok(Value::list(windows.map(|window| Value::list(window.to_vec())).collect()))
}

/// Also the dict method.
pub fn keys(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let Some(dict) = args::fields(at(args, 0)) else { return Ok(Value::list(Vec::new())) };
    cx.charge(dict.len() * 16)?;
    Ok(Value::list(dict.keys().cloned().map(Value::Str).collect()))
}

/// Also the dict method.
pub fn values(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let Some(dict) = args::fields(at(args, 0)) else { return Ok(Value::list(Vec::new())) };
    cx.charge(dict.len() * 16)?;
    Ok(Value::list(dict.values().cloned().collect()))
}

/// Also the dict method.
pub fn entries(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let Some(dict) = args::fields(at(args, 0)) else { return Ok(Value::list(Vec::new())) };
    cx.charge(dict.len() * 200)?;
    Ok(Value::list(dict.iter().map(entry).collect()))
}
