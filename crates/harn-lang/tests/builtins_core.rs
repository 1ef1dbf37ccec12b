//! Types, assertions, text, numbers, collections and sets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{check, run, run_with, told};

const TYPES: &[(&str, &str)] = &[
    ("Ok(1)", "Result.Ok(1)"),
    ("Err('x')", "Result.Err(x)"),
    ("is_ok(Ok(1))", "true"),
    ("is_ok(Err(1))", "false"),
    ("is_ok(1)", "false"),
    ("is_err(Err(1))", "true"),
    ("is_err('Err')", "false"),
    ("unwrap(Ok([1]))", "[1]"),
    ("unwrap(5)", "5"),
    ("unwrap(Err('boom'))", "Runtime error: unwrap called on Err: boom"),
    ("unwrap_or(Ok(1), 2)", "1"),
    ("unwrap_or(Err(1), 2)", "2"),
    ("unwrap_err(Err(3))", "3"),
    ("unwrap_err(Ok(3))", "Runtime error: unwrap_err called on non-Err"),
    ("unreachable()", "Runtime error: unreachable code was reached"),
    ("unreachable('x')", "Runtime error: unreachable code was reached: x"),
    ("type_of(nil)", "nil"),
    ("type_of(1.5)", "float"),
    ("type_of(set(1))", "set"),
    ("type_of(range(3))", "range"),
    ("type_of(closure)", "builtin"),
    ("to_string([1, 'a', {b: 2.0}])", "[1, a, {b: 2.0}]"),
    ("to_string()", ""),
    ("to_int('42')", "42"),
    ("to_int('x')", "nil"),
    ("to_int(true)", "nil"),
    ("to_int(-3.9)", "-3"),
    ("to_int(nan)", "0"),
    ("to_float('1.5')", "1.5"),
    ("to_float(2)", "2.0"),
    ("to_float('x')", "nil"),
    ("len('h\u{e9}llo')", "5"),
    ("len(bytes_from_string('h\u{e9}'))", "3"),
    ("len([1, 2])", "2"),
    ("len({a: 1})", "1"),
    ("len(set(1, 1, 2))", "2"),
    ("len(to(1, 5))", "5"),
    ("len(nil)", "0"),
    ("chunk(range(5), 2)", "[[0, 1], [2, 3], [4]]"),
    ("window(to(1, 4), 3)", "[[1, 2, 3], [2, 3, 4]]"),
    ("chunk(set(1, 2, 3), 2)", "[[1, 2], [3]]"),
    ("join(to(1, 3), '-')", "1-2-3"),
    ("mean(range(5))", "2.0"),
    ("median(set(1, 2, 9))", "2.0"),
    ("mean([])", "Thrown: mean: items must not be empty"),
    ("stddev('abc')", "Thrown: stddev: items must be a list, got string"),
    ("random_choice(to(7, 7))", "7"),
    ("len(random_shuffle(range(6)))", "6"),
    ("error_category('kind:cancelled:VM cancelled by host')", "cancelled"),
    ("len(42)", "0"),
    ("__to_list(set(3, 1))", "[3, 1]"),
    ("__to_list(range(1, 4))", "[1, 2, 3]"),
    ("__to_list({a: 1})", "[{key: a, value: 1}]"),
    ("__to_list(nil)", "[]"),
    ("is_same([1], [1])", "false"),
    ("is_same(1, 1.0)", "true"),
    ("addr_of('a')", "string@af63dc4c8601ec8c"),
];

const ASSERTIONS: &[(&str, &str)] = &[
    ("assert(1)", "nil"),
    ("assert(0)", "Thrown: Assertion failed"),
    ("assert(nil, 'no')", "Thrown: no"),
    ("assert_eq(1, 1.0)", "nil"),
    ("assert_eq([1], [2])", "Thrown: Assertion failed: expected [2], got [1]"),
    ("assert_eq(1, 2, 'math broke')", "Thrown: math broke"),
    ("assert_ne(1, 2)", "nil"),
    ("assert_ne('a', 'a')", "Thrown: Assertion failed: values should not be equal: a"),
    ("throw_error('slow', 'timeout')", "Thrown: {category: timeout, message: slow}"),
    ("throw_error('x')", "Thrown: {category: generic, message: x}"),
    ("error_category({category: 'auth'})", "auth"),
    ("error_category('HTTP 429 Too Many Requests')", "rate_limit"),
    ("error_category('status 503')", "overloaded"),
    ("error_category('status 4290')", "generic"),
    ("error_category('Error [tool_rejected]: no')", "tool_rejected"),
    ("error_category('Deadline exceeded')", "timeout"),
    ("error_category('connection reset by peer')", "transient_network"),
    ("error_category(nil)", "generic"),
    ("is_timeout('504 gateway')", "true"),
    ("is_timeout('x')", "false"),
    ("is_rate_limited({category: 'rate_limit'})", "true"),
];

const STRINGS: &[(&str, &str)] = &[
    ("contains('hello', 'ell')", "true"),
    ("contains([1, 2], 2.0)", "true"),
    ("contains({a: 1}, 'a')", "true"),
    ("starts_with('hello', 'he')", "true"),
    ("ends_with('hello', 'he')", "false"),
    ("lowercase('\u{c4}B')", "\u{e4}b"),
    ("uppercase('stra\u{df}e')", "STRASSE"),
    ("trim('  a b\\n')", "a b"),
    ("replace('a-b-c', '-', '+')", "a+b+c"),
    ("replace('abc', 'x', 'y')", "abc"),
    ("split('a b  c')", "[a, b, , c]"),
    ("split('a,b', ',')", "[a, b]"),
    ("split('ab', '')", "[a, b]"),
    ("join([1, 'b', nil], '-')", "1-b-nil"),
    ("join(set(1, 2), ', ')", "1, 2"),
    ("join('x', ',')", ""),
    ("substring('h\u{e9}llo', 1, 3)", "\u{e9}ll"),
    ("substring('hello', 2)", "llo"),
    ("substring('hello', -2, 2)", "he"),
    ("substring('hello', 9, 2)", ""),
    ("format('{} and {}', 1, 'b')", "1 and b"),
    ("format('{name} {x}', {name: 'Ann'})", "Ann {x}"),
    ("format('{1}{0}', 'a', 'b')", "ba"),
    ("format('{} {}', 1)", "1 {}"),
    ("format('{ {}', 1)", "{ 1"),
    ("format('{}!', {a: 1})", "{a: 1}!"),
    ("str_pad('ab', 4)", "ab  "),
    ("str_pad('ab', 5, '-', 'left')", "---ab"),
    ("str_pad('ab', 5, '12', 'both')", "1ab12"),
    ("str_pad('e\u{301}', 2, '.')", "e\u{301}."),
    ("str_pad('ab', 4, '', 'left')", "ab"),
    ("str_pad('a', 3, ' ', 'up')", "Thrown: str_pad: unknown side 'up', expected left, right or both"),
    ("unicode_graphemes('e\u{301}x')", "[e\u{301}, x]"),
    ("unicode_normalize('e\u{301}', 'NFC')", "\u{e9}"),
    ("unicode_normalize('\u{fb01}', 'nfkd')", "fi"),
    (
        "unicode_normalize('a', 'X')",
        "Thrown: unicode_normalize: unknown form 'X', expected NFC, NFD, NFKC or NFKD",
    ),
    ("basename('/a/b.txt')", "b.txt"),
    ("dirname('/a/b.txt')", "/a"),
    ("dirname('b.txt')", ""),
    ("extname('a/b.tar.gz')", ".gz"),
    ("extname('.bashrc')", ""),
    ("camel_to_snake('someHTTPName2X')", "some_http_name2_x"),
    ("camel_to_kebab('someName')", "some-name"),
    ("camel_to_pascal('someName')", "SomeName"),
    ("pascal_to_snake('SomeName')", "some_name"),
    ("pascal_to_camel('SomeName')", "someName"),
    ("snake_to_camel('some_long_name')", "someLongName"),
    ("snake_to_pascal('some_name')", "SomeName"),
    ("snake_to_kebab('some_name')", "some-name"),
    ("kebab_to_camel('some-name')", "someName"),
    ("kebab_to_snake('some-name')", "some_name"),
    ("uppercase_first('\u{e9}a')", "\u{c9}a"),
    ("lowercase_first('AB')", "aB"),
    ("title_case('hELLO wide world')", "Hello Wide World"),
    ("render_string('Hi {{ name }}!', {name: 'Ann'})", "Hi Ann!"),
];

const MATH: &[(&str, &str)] = &[
    ("abs(-3)", "3"),
    ("abs(-9223372036854775808)", "9223372036854776000"),
    ("abs(-1.5)", "1.5"),
    ("acos(1)", "0.0"),
    ("asin(0)", "0.0"),
    ("atan(0)", "0.0"),
    ("atan2(0, 1)", "0.0"),
    ("cos(0)", "1.0"),
    ("sin(0)", "0.0"),
    ("tan(0)", "0.0"),
    ("exp(0)", "1.0"),
    ("ln(1)", "0.0"),
    ("log10(1000)", "3.0"),
    ("log2(8)", "3.0"),
    ("sqrt(16)", "4.0"),
    ("e()", "2.718281828459045"),
    ("pi()", "3.141592653589793"),
    ("floor(-1.5)", "-2"),
    ("ceil(1.2)", "2"),
    ("round(2.5)", "3"),
    ("round(inf)", "Thrown: round: cannot make a whole number of inf: it is not finite"),
    ("is_nan(nan)", "true"),
    ("is_infinite(inf)", "true"),
    ("is_infinite(1)", "false"),
    ("min(2, 1.5)", "1.5"),
    ("max(2, 3)", "3"),
    ("max([1, 7, 3])", "7"),
    ("min('b', 'a')", "a"),
    ("pow(2, 10)", "1024"),
    ("pow(2, 64)", "18446744073709552000"),
    ("pow(2, -1)", "0.5"),
    ("sign(-0.5)", "-1"),
    ("sign(0)", "0"),
    ("range(3)", "0 to 3 exclusive"),
    ("range(1, 3)", "1 to 3 exclusive"),
    ("range('x')", "Type error: range(n): expected integer argument"),
    ("mean([1, 2, 3])", "2.0"),
    ("median([3, 1, 2, 10])", "2.5"),
    ("median([])", "Thrown: median: items must not be empty"),
    ("percentile([1, 2, 3, 4], 50)", "2.5"),
    ("percentile([1], 101)", "Thrown: percentile: percentile must be between 0 and 100"),
    ("variance([1, 2, 3, 4])", "1.25"),
    ("variance([1], true)", "Thrown: variance: sample variance requires at least 2 values"),
    ("stddev([2, 4, 4, 4, 5, 5, 7, 9])", "2.0"),
    ("mean(['x'])", "Thrown: mean: items must be numbers, got string"),
    ("random_int(5, 5)", "5"),
    ("random_int(2, 1)", "Thrown: random_int: min 2 is larger than max 1"),
    ("random_choice([7])", "7"),
    ("random_choice([])", "nil"),
    ("random_shuffle([1])", "[1]"),
    ("type_of(random())", "float"),
];

const COLLECTIONS: &[(&str, &str)] = &[
    ("chunk([1, 2, 3], 2)", "[[1, 2], [3]]"),
    ("chunk([1, 2], 0)", "[[1], [2]]"),
    ("window([1, 2, 3], 2)", "[[1, 2], [2, 3]]"),
    ("window([1, 2, 3, 4], 2, 2)", "[[1, 2], [3, 4]]"),
    ("window([1], 2)", "[]"),
    ("keys({b: 1, a: 2})", "[a, b]"),
    ("values({b: 1, a: 2})", "[2, 1]"),
    ("entries({b: 1})", "[{key: b, value: 1}]"),
    ("keys(nil)", "[]"),
    ("set()", "set()"),
    ("set(1, 2, 1.0)", "set(1, 2)"),
    ("set([1, 1, 2])", "set(1, 2)"),
    ("set_add(set(1), 2)", "set(1, 2)"),
    ("set_remove(set(1, 2), 1)", "set(2)"),
    ("set_contains(set(1), 1)", "true"),
    ("set_union(set(1, 2), [3, 2])", "set(1, 2, 3)"),
    ("set_intersect(set(1, 2), set(2, 3))", "set(2)"),
    ("set_difference(set(1, 2), set(2, 3))", "set(1)"),
    ("set_symmetric_difference(set(1, 2), set(2, 3))", "set(1, 3)"),
    ("set_is_subset(set(1), set(1, 2))", "true"),
    ("set_is_superset(set(1), set(1, 2))", "false"),
    ("set_is_disjoint(set(1), set(2))", "true"),
    ("pair(1, 'a')", "(1, a)"),
    ("uuid_nil()", "00000000-0000-0000-0000-000000000000"),
    ("uuid_parse('6BA7B8109DAD11D180B400C04FD430C8')", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ("uuid_parse('x')", "nil"),
    ("uuid_v5('dns', 'example.com')", "cfbff0d1-9375-5685-968c-48ce8b15ae17"),
    ("uuid_v5('x', 'y')", "Thrown: uuid_v5: unknown namespace 'x', expected an id, dns, url, oid or x500"),
];

#[test]
fn types_and_results() {
    check(TYPES);
}

#[test]
fn assertions_and_categories() {
    check(ASSERTIONS);
}

#[test]
fn text() {
    check(STRINGS);
}

#[test]
fn numbers() {
    check(MATH);
}

#[test]
fn collections_and_sets() {
    check(COLLECTIONS);
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    assert_eq!(
        told("random_shuffle([1, 2, 3, 4, 5, 6, 7, 8])"),
        told("random_shuffle([1, 2, 3, 4, 5, 6, 7, 8])")
    );
    assert_ne!(told("[random(), random()]"), told("[random(), random_int(1, 9)]"));
}

#[test]
fn what_would_grow_without_end_runs_into_the_limit() {
    let limit = "Memory limit exceeded: the program may use 100000 bytes";
    for call in [
        "to_string(doubled([1], 60))",
        "join(doubled(['abcdefgh'], 60), ',')",
        "str_pad('x', 9223372036854775807)",
        "__to_list(range(9223372036854775807))",
        "replace(replace('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'), 'b', 'cccccccccccccccccccccccccccccccccccccccccccccccccc')",
        "'ab'.repeat(9223372036854775807)",
        "'ab'.pad_left(9223372036854775807, 'x')",
        "json_stringify(doubled([1], 60))",
        "yaml_stringify(doubled([1], 60))",
        "set(range(9223372036854775807))",
    ] {
        let got = run_with(call, 100_000).map_or_else(|fault| fault.to_string(), |_| "a value".to_owned());
        assert_eq!(got, limit, "{call}");
    }
    assert!(run("to_string(doubled([1], 4))").is_ok());
}
