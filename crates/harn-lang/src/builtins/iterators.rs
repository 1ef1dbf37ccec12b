//! Pairs; iterators and streams live in the VM and are only declared here.

use super::{Cx, Group, args, pure, vm};
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
        vm(
            "parallel_race",
            "items, callable, options?",
            "any",
            "Calls a function on all items at once and gives the first result.",
        ),
        vm("stream", "", "dict", "The dict of the stream functions."),
        vm("stream.broadcast", "s, n", "list", "So many streams that all give what one gives."),
        vm(
            "stream.collect",
            "source, max?",
            "list",
            "The values of a stream as a list, up to a number of them.",
        ),
        vm(
            "stream.debounce",
            "s, window_ms",
            "any",
            "The values of a stream that are not followed by another within a time.",
        ),
        vm("stream.filter", "s, pred", "any", "The values of a stream that a function accepts."),
        vm("stream.first", "s", "any", "The first value of a stream, or nil."),
        vm("stream.fold", "s, spec, f", "any", "One value out of all values of a stream."),
        vm("stream.interleave", "...", "any", "The values of several streams in turn."),
        vm("stream.map", "s, f", "any", "What a function makes of each value of a stream."),
        vm("stream.merge", "...", "any", "The values of several streams as they come."),
        vm("stream.race", "...", "any", "The stream that gives a value first."),
        vm("stream.scan", "s, spec, f", "any", "What folding a stream gives after each value."),
        vm("stream.take", "s, n", "any", "The first values of a stream."),
        vm(
            "stream.take_until",
            "s, pred",
            "any",
            "The values of a stream up to one that a function accepts.",
        ),
        vm("stream.tap", "s, f", "any", "The values of a stream, each shown to a function on the way."),
        vm("stream.throttle", "s, per_sec", "any", "The values of a stream, at most so many a second."),
        vm("stream.zip", "a, b", "any", "Pairs of the values of two streams."),
    ],
};

fn pair(_: &mut Cx<'_>, args: &mut [Value]) -> Result<Value, Fault> {
    Ok(Value::pair(args::take(args, 0), args::take(args, 1)))
}
