//! What the prelude needs and programs do not.

use super::{Group, pure, vm};
use crate::builtins::order;
use crate::fault::Fault;
use crate::value::Value;

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
            let sorted = order::places(keys).into_iter().filter_map(|at| items.get(at).cloned());
            Ok(Value::list(sorted.collect()))
        }),
        pure("__uuid_v7", "ms", "string", "An id that sorts by time.", super::output::uuid_at),
        pure("__date_at", "ms", "dict", "The parts of a time in milliseconds.", super::dates::date_at),
        pure("__iso_at", "ms", "string", "A time in milliseconds as ISO 8601.", super::dates::iso_at),
        pure(
            "__jwt_claims",
            "alg, token, key",
            "dict",
            "The claims of a signed token.",
            super::jwt::jwt_claims,
        ),
        pure(
            "__jwt_in_time",
            "claims, ms",
            "nil",
            "Throws if a token is not valid.",
            super::jwt::jwt_in_time,
        ),
        pure(
            "__glob",
            "pattern, text",
            "bool",
            "Whether a pattern with `*` fits a text.",
            super::reach::glob,
        ),
        pure(
            "__host_fits",
            "rule, host, port",
            "bool",
            "Whether a rule of an egress policy is about a host.",
            super::reach::host_fits,
        ),
        pure("__url_join", "base, link", "string", "Where a link on a page leads.", super::reach::url_join),
        vm("__logs", "level", "bool", "Whether log lines of a level are written."),
        vm("__log", "level, ms, msg, fields", "nil", "Writes a log line."),
        vm("__log_json", "ms, key, value", "nil", "Writes a value as JSON under a name."),
        vm("__colours", "", "bool|nil", "Whether colours are on; nil if the host has to say."),
        vm("__paint", "text, name, is_on", "string", "A text in a colour."),
        vm("__trace_start", "name, ms", "dict", "Starts a span."),
        vm("__trace_end", "span, ms", "nil", "Ends a span."),
        pure("__to_list", "s", "list", "The items of anything but an iterator.", super::types::to_list),
        pure(
            "__milliseconds",
            "value, otherwise",
            "any",
            "A time as a number of milliseconds.",
            |_, args| {
                Ok(match args.first() {
                    Some(Value::Duration(ms) | Value::Int(ms)) => Value::Int(*ms),
                    Some(Value::Float(ms)) => Value::Int(*ms as i64),
                    _ => args.get(1).cloned().unwrap_or_default(),
                })
            },
        ),
        vm("__start", "closure, args, path, prints_now?", "any", "Starts a task under a path."),
        vm("__mapped", "iter", "list|nil", "The source and the function of a `map` that has not begun."),
        vm(
            "__positional",
            "handler",
            "list|nil",
            "The parameters of the function of a `tool`, in their order.",
        ),
        vm("__has_failed", "task", "bool", "Whether a task has ended with an error."),
        vm("__take_output", "task", "nil", "Prints what a task has printed."),
        vm("__ask_to_end", "task", "nil", "Tells a task that it should end soon."),
        vm("__rethrow", "", "never", "Throws what was caught last, as it was."),
        vm("__of_run", "key", "any", "What the host says about the run under a key."),
        vm("__state", "key", "any", "What is kept for all tasks under a key."),
        vm("__set_state", "key, value", "nil", "Keeps something for all tasks under a key."),
        vm("__me", "", "int", "The number of the current task."),
        vm("__lives", "number", "bool", "Whether the task with a number has not ended."),
        vm("__count", "kind", "int", "Counts within the current task."),
        vm("__settled", "task", "any", "The outcome of a task as a result."),
        vm("__ended", "task", "nil", "Waits until a task has ended."),
        vm("__wait_any", "tasks, timeout?", "int", "The place of the task that was the first to end."),
        vm("__select", "channels, timeout, has_default", "dict", "Waits for one of several channels."),
    ],
};
