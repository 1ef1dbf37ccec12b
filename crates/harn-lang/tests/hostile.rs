//! Every pure builtin and method is called with all kinds of values: none may panic, hang or grow without end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use harn_lang::builtins::{self, Body, Cx, Meter, PureFn, Rng};
use harn_lang::methods::{self, Method};
use harn_lang::value::Value;

/// How often each is called.
const CALLS: usize = 250;

/// Values that are at an edge of something.
const VALUES: &[&str] = &[
    "nil",
    "true",
    "0",
    "1",
    "2",
    "-1",
    "7",
    "9223372036854775807",
    "-9223372036854775808",
    "0.5",
    "nan",
    "inf",
    "-99999999999999999999999999999.5",
    "''",
    "' '",
    "'a'",
    "'abc'",
    "','",
    "'\u{e9}\u{1f600}e\u{301}'",
    "'\u{0}\u{202e}'",
    "'{\"a\": [1, {\"b\": null}]}'",
    "'[[[[[['",
    "'((((('",
    "'(a|b)*?$1'",
    "'{{ if a }}{{ b | upper }}{{ else }}'",
    "'{{ for x in xs }}{{ x }}{{ end }}'",
    "'a: &a [*a, b]'",
    "'/a/-/~1'",
    "'.a[] | select(. > 1)'",
    "'https://u:p@x.test:99/a?b=c#d'",
    "'2024-02-30T25:61:61Z'",
    "'2024-01-15'",
    "'a=1; b=2'",
    "'HS256'",
    "'<testcase name=\"a'",
    "'../../etc'",
    "'America/New_York'",
    "'%Y %'",
    "bytes_from_hex('')",
    "bytes_from_hex('1f8b0800ff')",
    "bytes_from_hex('28b52ffd')",
    "bytes_from_hex('504b0506000000000000000000000000000000000000')",
    "bytes_from_hex('ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00')",
    "[]",
    "[1, 2, 3]",
    "['b', 1, nil, 2.5, 'a', nan, [1], {}]",
    "[{key: 'a', value: 1}, {name: 'b', path: 'x', content: 'y'}]",
    "[[1, 2], [3]]",
    "doubled([1], 40)",
    "nested(1, 499)",
    "under('int', 'items', 499)",
    "under(1, 'a', 499)",
    "{}",
    "{a: 1, b: [1, 2], c: {d: nil}}",
    "{type: 'dict', properties: {a: {type: 'int'}}, required: ['a', 'z'], items: 'int'}",
    "{'$ref': '#', union: [{'$ref': '#'}], all_of: [{'$ref': '#'}]}",
    "{year: 99999, month: -1, timestamp: nan, headers: {cookie: 'x=y'}, delimiter: '', boundary: 'b'}",
    "{scheme: 'x', host: '', path: '//', query: [1]}",
    "set()",
    "set(1, 'a', [2])",
    "range(0)",
    "range(-9223372036854775808, 9223372036854775807)",
    "pair(1, pair(2, 3))",
    "Err({message: 'x'})",
    "duration_ms(-9223372036854775808)",
    "closure",
    "tool_registry()",
    "skill_registry()",
];

fn call(body: PureFn, args: &mut [Value], rng: &mut Rng) {
    let mut meter = Meter { fuel: u64::MAX, ..Meter::new(1 << 17) };
    // Whether it gives a value or an error does not matter here.
    let answer = body(&mut Cx { meter: &mut meter, rng }, args);
    if let Ok(value) = answer {
        assert!(value.depth() <= 510);
    }
}

fn try_all(bodies: &[(String, PureFn)], receivers: &[Value]) {
    let values: Vec<Value> = VALUES.iter().map(|value| common::run(value).unwrap()).collect();
    let mut rng = Rng::named("hostile");
    for (name, body) in bodies {
        for _ in 0..CALLS {
            let count = rng.below(5) as usize;
            let mut args: Vec<Value> = receivers.iter().take(1).cloned().collect();
            if let Some(first) = args.first_mut() {
                *first = receivers[rng.below(receivers.len() as u64) as usize].clone();
            }
            args.extend((0..count).map(|_| values[rng.below(values.len() as u64) as usize].clone()));
            let shown: Vec<String> = args.iter().map(|arg| arg.type_name().to_owned()).collect();
            let mut dice = rng.clone();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                call(*body, &mut args, &mut dice);
            }));
            assert!(outcome.is_ok(), "{name} panics with {shown:?}");
        }
    }
}

#[test]
fn builtins_survive_everything() {
    let bodies: Vec<(String, PureFn)> = builtins::all()
        .filter_map(|builtin| match builtin.body {
            Body::Pure(body) => Some((builtin.name.to_owned(), body)),
            _ => None,
        })
        .collect();
    try_all(&bodies, &[]);
}

#[test]
fn methods_survive_everything() {
    let receivers = |calls: &[&str]| calls.iter().map(|call| common::run(call).unwrap()).collect::<Vec<_>>();
    let names = [
        "count",
        "len",
        "empty",
        "contains",
        "sort",
        "reverse",
        "join",
        "index_of",
        "enumerate",
        "zip",
        "slice",
        "unique",
        "take",
        "skip",
        "sum",
        "min",
        "max",
        "flatten",
        "push",
        "pop",
        "first",
        "last",
        "chunk",
        "window",
        "compact",
        "tally",
        "replace",
        "split",
        "trim",
        "lower",
        "upper",
        "substring",
        "last_index_of",
        "chars",
        "repeat",
        "pad_left",
        "pad_right",
        "lines",
        "char_at",
        "keys",
        "values",
        "entries",
        "has",
        "merge",
        "remove",
        "get",
        "add",
        "union",
        "intersect",
        "difference",
        "symmetric_difference",
        "is_subset",
        "to_list",
        "to_string",
    ];
    for (kind, calls) in [
        ("list", &["[]", "[3, 'a', nan, nil, 1.5, [1]]", "doubled([1], 40)", "nested(1, 499)"][..]),
        ("string", &["''", "'abc'", "'\u{e9}\u{1f600}e\u{301}'"][..]),
        ("dict", &["{}", "{a: 1, b: {c: 2}}"][..]),
        ("set", &["set()", "set(1, 'a', [2])"][..]),
        ("range", &["range(0)", "range(-9223372036854775808, 9223372036854775807)"][..]),
    ] {
        let bodies: Vec<(String, PureFn)> = names
            .iter()
            .filter_map(|name| match methods::find(kind, name)? {
                Method::Pure(body) => Some((format!("{kind}.{name}"), body)),
                Method::Prelude(_) => None,
            })
            .collect();
        try_all(&bodies, &receivers(calls));
    }
}
