//! The methods of sets.

use super::Method::{self, Prelude, Pure};
use crate::builtins::args::{self, at};
use crate::builtins::types::{length, spread};
use crate::builtins::{Cx, sets};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub fn find(method: &str) -> Option<Method> {
    Some(match method {
        "count" | "len" => Pure(count),
        "empty" => Pure(empty),
        "contains" => Pure(sets::contains),
        "add" => Pure(sets::add),
        "remove" | "delete" => Pure(sets::remove),
        "union" => Pure(sets::union),
        "intersect" | "intersection" => Pure(sets::intersect),
        "difference" => Pure(sets::difference),
        "symmetric_difference" => Pure(sets::symmetric_difference),
        "is_subset" => Pure(sets::is_subset),
        "is_superset" => Pure(sets::is_superset),
        "is_disjoint" => Pure(sets::is_disjoint),
        "to_list" => Pure(to_list),
        "map" => Prelude("set_map"),
        "filter" => Prelude("set_filter"),
        "any" => Prelude("set_any"),
        "all" | "every" => Prelude("set_all"),
        "iter" => Prelude("set_iter"),
        _ => return None,
    })
}

fn count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(length(at(args, 0)).unwrap_or(0)))
}

fn empty(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok((length(at(args, 0)) == Some(0)).into())
}

fn to_list(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::list(spread(cx, at(args, 0))?))
}
