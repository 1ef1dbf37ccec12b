//! What the prelude needs and programs do not.

use super::{Group, pure, vm};
use crate::fault::Fault;
use crate::value::{Value, compare};

pub static INTERNAL: Group = Group {
    title: "",
    builtins: &[
        pure("__type_error", "message", "never", "Fails with a type error.", |_, args| {
            Err(Fault::Type(args.first().and_then(Value::as_str).unwrap_or_default().to_owned()))
        }),
        pure("__sort_by_keys", "list, keys", "list", "A list in the order of its keys.", |cx, args| {
            let list = |at: usize| args.get(at).and_then(Value::as_list);
            let (Some(items), Some(keys)) = (list(0), list(1)) else { return Ok(Value::Nil) };
            cx.work(items.len().saturating_mul(8));
            let mut order: Vec<usize> = (0..items.len().min(keys.len())).collect();
            order.sort_by(|a, b| compare(&keys[*a], &keys[*b]));
            Ok(Value::list(order.into_iter().map(|at| items[at].clone()).collect()))
        }),
        vm("__start", "closure, args, path", "any", "Starts a task under a path."),
        vm("__count", "kind", "int", "Counts within the current task."),
        vm("__settled", "task", "any", "The outcome of a task as a result."),
        vm("__ended", "task", "nil", "Waits until a task has ended."),
        vm("__wait_any", "tasks", "int", "The place of the first task that has ended."),
        vm("__still_running", "tasks", "list", "The tasks that still run."),
        vm("__select", "channels, timeout, has_default", "dict", "Waits for one of several channels."),
    ],
};
