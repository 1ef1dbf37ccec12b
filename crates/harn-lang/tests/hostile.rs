//! Every pure builtin and method is called with all kinds of values: none may panic, hang or grow without end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod support;

use harn_lang::builtins::{self, Body, Cx, Meter, PureFn, Rng};
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::methods::{self, Method};
use harn_lang::value::Value;
use harn_lang::vm::Limits;

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
    let mut meter = Meter { fuel: i64::MAX, ..Meter::new(1 << 17) };
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

/// What tasks are made of and what is written in Harn itself is called by programs, with values at the edge of something.
#[test]
fn builtins_of_the_machine_survive_everything() {
    let values = "[nil, true, 0, -1, 3, 9223372036854775807, -9223372036854775808, 0.5, 0.0 / 0.0, 1.0 / 0.0, \"\", \"a\", 5ms, \
        [], [1, \"a\", nil], {}, {key: \"k\", name: \"n\", scope: \"task\", max: -1, init: 1}, {_type: \"mailbox\"}, \
        {_type: \"supervisor\", id: 5}, {_type: \"timer\"}, {children: [{fn: len}, {fn: { -> throw 1 }, backoff: 1}], backoff: 0}, \
        set(1), 1 to 3, pair(1, 2), Ok(1), len, { x -> x }, { a, b -> a + b }, channel(\"c\", 1), atomic(1), spawn { 1 }, \
        iter([1]), shared_cell(\"cell\", 1), shared_map(\"map\"), mailbox_open(\"box\", 1), sync_mutex_acquire(\"m\")]";
    let limits = Limits { fuel: 3_000_000, memory: 8 << 20, output: 1 << 20, tasks: 1000 };
    for builtin in builtins::all() {
        let is_of_machine = matches!(builtin.body, Body::Vm | Body::Prelude);
        // Programs cannot name those that begin so.
        let is_closed = builtin.name.starts_with("__") && matches!(builtin.body, Body::Vm);
        if !is_of_machine || is_closed || ["spawn", "select", "stream"].contains(&builtin.name) {
            continue;
        }
        let name = builtin.name;
        let program = format!(
            "let values = {values}\nlet f = {name}\ntry {{ f() }}\nfor a in values {{\n try {{ f(a) }}\n for b in values {{\n  \
             try {{ deadline 1s {{ f(a, b) }} }}\n  try {{ deadline 1s {{ f(b, 1, a) }} }}\n }}\n}}"
        );
        // Whether it ends well or goes over a limit does not matter here, if it ends.
        let ran = support::run_with(&program, limits);
        if let Err(error) = ran.result {
            assert!(error.contains("limit exceeded"), "{name}: {error}");
        }
    }
}

/// Lists in lists: few of them, and more than can be printed.
const ENDLESS: &str = "var d = [1]\nfor i in 1 to 60 { d = [d, d] }\n";

#[test]
fn what_prints_without_end_is_cut_or_refused() {
    let limits = Limits { memory: 8 << 20, ..Limits::default() };
    for (code, expected) in [
        ("throw d", "Thrown: [[["),
        ("fn f(n: int) { n }\nlet g = f\ng(d)", "TypeError: parameter 'n' expected int, got list ([[["),
        ("csv_stringify([], {headers: [d]})", "Memory limit exceeded"),
        ("csv_parse(\"a\", {delimiter: d})", "delimiter must be one ASCII character, got [[["),
        ("sync_mutex_acquire(d)", "Key limit exceeded"),
        ("sync_mutex_acquire(\"a\")\nsync_metrics(\"mutex\", d)", "Key limit exceeded"),
        ("sync_rwlock_acquire(\"a\", d)", "not [[["),
        ("runtime_context_get(d)", "Key limit exceeded"),
        ("runtime_context_clear(d)", "Key limit exceeded"),
        ("shared_cell({key: \"a\", scope_id: d})", "Key limit exceeded"),
        ("let m = shared_map(\"m\")\nshared_map_get(m, d)", "Key limit exceeded"),
        ("shared_get({_type: \"shared_cell\", key: d})", "Key limit exceeded"),
        ("rng_seed(d)", "Key limit exceeded"),
    ] {
        let error = support::run_with(&format!("{ENDLESS}{code}"), limits).result.unwrap_err();
        let start: String = error.chars().take(200).collect();
        assert!(start.contains(expected), "{code}: {start}");
        assert!(error.len() < (1 << 20) + 200, "{code}: {} bytes", error.len());
    }
    let bound = support::run_with(&format!("{ENDLESS}len(schema_check(-1, {{min: d}}).to_string())"), limits);
    assert!(bound.result.is_ok(), "{:?}", bound.result);
}

/// Each would take hours if the text were looked through again and again, or more memory than is metered.
#[test]
fn long_texts_are_read_once() {
    let long = "let many = { text -> text.repeat(500000) }\n";
    for (code, expected) in [
        ("len(format(many(\"{\")))", "500000"),
        ("len(format(many(\"{a\") + \"}\", {a: 1}))", "999999"),
        ("len(parse_junit_xml(\"<testcase name='\" + many(\"&\") + \"'/>\")[0].name)", "500000"),
    ] {
        let ran = support::run(&format!("{long}{code}"));
        assert_eq!(ran.result.map(|value| value.to_string()).as_deref(), Ok(expected), "{code}");
    }
    let wide = "csv_parse(\"a,\".repeat(10000) + \"\\n\" + \"x\\n\".repeat(100000))";
    let error = support::run_with(wide, Limits { memory: 8 << 20, ..Limits::default() }).result.unwrap_err();
    assert!(error.starts_with("Memory limit exceeded"), "{error}");
}

#[test]
fn long_expressions_compile_or_are_refused() {
    let sum = format!("{}1", "1 + ".repeat(100_000));
    assert_eq!(support::run(&sum).result, Ok(Value::Int(100_001)));
    let text = format!("let a = 1\nlen(\"{}\")", "${a}".repeat(70_000));
    let keys = format!("var a = {{}}\na{} = 1", ".b".repeat(70_000));
    let lists = format!("let a = 1\nlet f = {{ {} -> a }}", "p, ".repeat(70_000) + "q");
    for program in [text, keys, lists] {
        // Whether it is refused does not matter here.
        let _ = support::run(&program);
    }
}

#[test]
fn many_permits_are_given_back_one_by_one() {
    let code = "var held = []\nfor i in 1 to 20000 { held = held.push(sync_semaphore_acquire(\"s\", 20000)) }\n\
        for permit in held { sync_release(permit) }\nsync_metrics(\"semaphore\", \"s\").held";
    assert_eq!(support::run(code).result, Ok(Value::Int(0)));
}

#[test]
fn functions_that_share_all_their_variables_are_refused() {
    let (count, mut text) = (1100, String::new());
    (0..count).for_each(|at| text.push_str(&format!("var v{at} = {at}\n")));
    (0..count)
        .for_each(|at| text.push_str(&format!("fn f{at}() {{ return f{}() + v{at} }}\n", (at + 1) % count)));
    let source = Source { name: "wide.harn".into(), text: text.into() };
    let refused = compile(source, &NoModules, &Settings::default()).err().map(|problems| problems.all);
    let messages: Vec<String> = refused.into_iter().flatten().map(|problem| problem.message).collect();
    assert!(
        matches!(messages.as_slice(), [only] if only.starts_with("The functions of this block use too many")),
        "{messages:?}"
    );
}

#[test]
fn types_that_grow_without_end_are_cut() {
    let node = "type Node = {name: string, left?: Node, right?: Node, parent?: Node}\nfn f(n: Node) { return n.name }\n\
        tool t(n: Node) -> Node { n }\n";
    let text = |value: &str| Ok(value.to_owned());
    let shown = |program: &str| support::run(program).result.map(|value| value.to_string());
    assert_eq!(shown(&format!("{node}f({{name: \"a\", left: {{name: \"b\"}}}})")), text("a"));
    assert_eq!(shown(&format!("{node}schema_is({{name: \"a\", left: {{name: 1}}}}, Node)")), text("false"));
    let mut chain = String::from("type T0 = int\n");
    (1..=30).for_each(|at| chain.push_str(&format!("type T{at} = {{x: T{0}, y: T{0}}}\n", at - 1)));
    assert_eq!(
        shown(&format!("{chain}fn f(t: T30) {{ return 1 }}\nschema_is({{x: 1}}, T30)")),
        text("false")
    );
    let boxed = "type Box<T> = {value: T}\ntype BI = Box<int>\n";
    assert_eq!(shown(&format!("{boxed}schema_is({{value: 1}}, BI)")), text("true"));
    assert_eq!(shown(&format!("{boxed}schema_is({{value: \"a\"}}, BI)")), text("false"));
}
