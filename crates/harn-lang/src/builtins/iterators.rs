//! Pairs; iterators and streams live in the VM and in the prelude, and are only declared here.

use super::{Cx, Group, args, prelude, pure, vm};
use crate::fault::Fault;
use crate::value::Value;

pub static ITERATORS: Group = Group {
    title: "Iterators and streams",
    builtins: &[
        vm(
            "iter",
            "x",
            "iter",
            "An iterator over a list, set, dict, text, range, generator, stream or channel.",
        ),
        pure("pair", "a, b", "pair", "Two values in one.", pair),
        prelude(
            "parallel_race",
            "items, callable, options?",
            "any",
            "Calls a function on all items at once and gives the first result.",
        ),
        vm("stream", "", "dict", "The dict of the stream functions."),
        prelude("stream.broadcast", "s, n", "list", "So many streams that all give what one gives."),
        prelude(
            "stream.collect",
            "source, max?",
            "list",
            "The values of a stream as a list, up to a number of them.",
        ),
        prelude(
            "stream.debounce",
            "s, window_ms",
            "any",
            "The values of a stream that are not followed by another within a time.",
        ),
        prelude("stream.filter", "s, pred", "any", "The values of a stream that a function accepts."),
        prelude("stream.first", "s", "any", "The first value of a stream, or nil."),
        prelude("stream.fold", "s, spec, f", "any", "One value out of all values of a stream."),
        prelude("stream.interleave", "...", "any", "The values of several streams in turn."),
        prelude("stream.map", "s, f", "any", "What a function makes of each value of a stream."),
        prelude("stream.merge", "...", "any", "The values of several streams as they come."),
        prelude("stream.race", "...", "any", "The stream that gives a value first."),
        prelude("stream.scan", "s, spec, f", "any", "What folding a stream gives after each value."),
        prelude("stream.take", "s, n", "any", "The first values of a stream."),
        prelude(
            "stream.take_until",
            "s, pred",
            "any",
            "The values of a stream up to one that a function accepts.",
        ),
        prelude("stream.tap", "s, f", "any", "The values of a stream, each shown to a function on the way."),
        prelude("stream.throttle", "s, per_sec", "any", "The values of a stream, at most so many a second."),
        prelude("stream.zip", "a, b", "any", "Pairs of the values of two streams."),
    ],
};

fn pair(_: &mut Cx<'_>, args: &mut [Value]) -> Result<Value, Fault> {
    Ok(Value::pair(args::take(args, 0), args::take(args, 1)))
}
