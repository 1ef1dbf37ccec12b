//! The methods of values that do not call functions, and which ones the prelude has to bring.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{check, run_with};
use harn_lang::methods::{self, Method, PRELUDE};

#[test]
fn lists() {
    check(&[
        ("[1, 2].count()", "2"),
        ("[].empty()", "true"),
        ("[3, 1, 2].sort()", "[1, 2, 3]"),
        ("[2, 1.5, 'b', 'a', nil].sort()", "[1.5, 2, a, b, nil]"),
        ("[pair(2, 'a'), pair(1, 'b'), pair(1, 'a')].sort()", "[(1, a), (1, b), (2, a)]"),
        ("[1, 2, 3].reverse()", "[3, 2, 1]"),
        ("[1, 'a', nil].join()", "1anil"),
        ("[1, 2].join('-')", "1-2"),
        ("[1, [2]].contains([2.0])", "true"),
        ("[5, 6].index_of(6)", "1"),
        ("[5, 6].index_of(7)", "-1"),
        ("['a'].enumerate()", "[{index: 0, value: a}]"),
        ("[1, 2, 3].zip(['a', 'b'])", "[[1, a], [2, b]]"),
        ("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),
        ("[1, 2, 3, 4].slice(-2)", "[3, 4]"),
        ("[1, 2, 3].slice(2, 1)", "[]"),
        ("[1, 1.0, [2], [2], 'a'].unique()", "[1, [2], a]"),
        ("[1, 2, 3].take(2)", "[1, 2]"),
        ("[1, 2, 3].take(-1)", "[]"),
        ("[1, 2, 3].skip(2)", "[3]"),
        ("[1, 2, 3].skip(9)", "[]"),
        ("[1, 2].sum()", "3"),
        ("[1, 2.5].sum()", "3.5"),
        ("[9223372036854775807, 1].sum()", "-9223372036854775808"),
        ("[].sum()", "0"),
        ("[2, 1, 3].min()", "1"),
        ("[2, 1, 3].max()", "3"),
        ("[].max()", "nil"),
        ("[1, [2, [3]]].flatten()", "[1, 2, [3]]"),
        ("[1].push([2])", "[1, [2]]"),
        ("[1, 2].pop()", "[1]"),
        ("[].pop()", "[]"),
        ("[1, 2].first()", "1"),
        ("[1, 2, 3].first(2)", "[1, 2]"),
        ("[].first()", "nil"),
        ("[1, 2].last()", "2"),
        ("[1, 2, 3].last(2)", "[2, 3]"),
        ("[1, 2, 3].chunk()", "[[1], [2], [3]]"),
        ("[1, 2, 3].each_slice(2)", "[[1, 2], [3]]"),
        ("[1, 2, 3].window()", "[[1, 2], [2, 3]]"),
        ("[1, 2, 3].each_cons(3)", "[[1, 2, 3]]"),
        ("[1, 2, 3, 4, 5].sliding_window(2, 2)", "[[1, 2], [3, 4]]"),
        ("[1, nil, 0].compact()", "[1, 0]"),
        ("['a', 'b', 'a', 1].tally()", "{1: 1, a: 2, b: 1}"),
        ("[1].no_such_method(2)", "nil"),
    ]);
}

#[test]
fn texts() {
    check(&[
        ("'h\u{e9}'.count()", "2"),
        ("'abc'.len()", "3"),
        ("''.empty()", "true"),
        ("'hello'.contains('ll')", "true"),
        ("'a.b.c'.replace('.', '')", "abc"),
        ("'a,b'.split()", "[a, b]"),
        ("'a b'.split(' ')", "[a, b]"),
        ("' a '.trim()", "a"),
        ("' a '.trim_start()", "a "),
        ("' a '.trim_end()", " a"),
        ("'abc'.starts_with('ab')", "true"),
        ("'abc'.ends_with('ab')", "false"),
        ("'AB'.lowercase()", "ab"),
        ("'AB'.lower()", "ab"),
        ("'AB'.to_lower()", "ab"),
        ("'ab'.uppercase()", "AB"),
        ("'ab'.upper()", "AB"),
        ("'ab'.to_upper()", "AB"),
        ("'h\u{e9}llo'.substring(1, 3)", "\u{e9}l"),
        ("'hello'.substring(3, 1)", ""),
        ("'hello'.substring(2)", "llo"),
        ("'\u{e9}xyx'.index_of('x')", "1"),
        ("'\u{e9}xyx'.last_index_of('x')", "3"),
        ("'abc'.index_of('z')", "-1"),
        ("'h\u{e9}'.chars()", "[h, \u{e9}]"),
        ("'ab'.repeat(3)", "ababab"),
        ("'ab'.repeat(-1)", ""),
        ("'ab\u{e9}'.reverse()", "\u{e9}ba"),
        ("'7'.pad_left(3, '0')", "007"),
        ("'7'.pad_right(3)", "7  "),
        ("'a\\nb\\r\\nc'.lines()", "[a, b, c]"),
        ("'h\u{e9}'.char_at(1)", "\u{e9}"),
        ("'ab'.char_at(2)", "nil"),
        ("'ab'.char_at(-1)", "nil"),
    ]);
}

#[test]
fn dicts() {
    check(&[
        ("{b: 1, a: 2}.keys()", "[a, b]"),
        ("{b: 1, a: 2}.values()", "[2, 1]"),
        ("{b: 1}.entries()", "[{key: b, value: 1}]"),
        ("{b: 1}.count()", "1"),
        ("{b: nil}.has('b')", "true"),
        ("{'1': 5}.has(1)", "true"),
        ("{a: 1, b: 2}.merge({b: 3, c: 4})", "{a: 1, b: 3, c: 4}"),
        ("{a: 1}.merge(nil)", "{a: 1}"),
        ("{a: 1, b: 2}.remove('a')", "{b: 2}"),
        ("{a: 1}.get('a', 9)", "1"),
        ("{a: 1}.get('b', 9)", "9"),
        ("{a: 1}.get('b')", "nil"),
    ]);
}

#[test]
fn sets_and_ranges() {
    check(&[
        ("set(1, 2).count()", "2"),
        ("set(1, 2).len()", "2"),
        ("set().empty()", "true"),
        ("set(1).contains(1.0)", "true"),
        ("set(1).add(2)", "set(1, 2)"),
        ("set(1, 2).remove(1)", "set(2)"),
        ("set(1, 2).delete(3)", "set(1, 2)"),
        ("set(1).union(set(2))", "set(1, 2)"),
        ("set(1, 2).intersect(set(2))", "set(2)"),
        ("set(1, 2).intersection([2])", "set(2)"),
        ("set(1, 2).difference(set(2))", "set(1)"),
        ("set(1, 2).symmetric_difference(set(2, 3))", "set(1, 3)"),
        ("set(1).is_subset(set(1, 2))", "true"),
        ("set(1).is_superset(set(1, 2))", "false"),
        ("set(1).is_disjoint(set(2))", "true"),
        ("set(2, 1).to_list()", "[2, 1]"),
        ("to(1, 5).len()", "5"),
        ("range(2, 2).count()", "0"),
        ("to(2, 1).empty()", "true"),
        ("to(1, 5).contains(5)", "true"),
        ("range(1, 5).contains(5)", "false"),
        ("to(1, 5).first()", "1"),
        ("range(1, 5).last()", "4"),
        ("range(0).last()", "nil"),
        ("range(3).to_string()", "0 to 3 exclusive"),
        ("nil.anything()", "nil"),
    ]);
}

#[test]
fn an_unshared_list_grows_in_place() {
    let items = vec!["0"; 10_000].join(", ");
    // A copy of the list would cost 160,000 bytes each time.
    let call = format!("[{items}].push(1).push(2).pop().reverse().sort().count()");
    assert_eq!(run_with(&call, 100_000).unwrap().to_string(), "10001");
}

#[test]
fn every_method_of_the_prelude_is_told_and_every_one_told_is_a_method() {
    let types = ["list", "string", "dict", "set", "range", "iter", "generator", "stream"];
    let functions = [
        "map",
        "filter",
        "reduce",
        "find",
        "find_index",
        "any",
        "all",
        "every",
        "none",
        "flat_map",
        "sort_by",
        "partition",
        "group_by",
        "min_by",
        "max_by",
        "iter",
        "map_values",
        "map_keys",
        "rekey",
        "take",
        "skip",
        "take_while",
        "skip_while",
        "zip",
        "enumerate",
        "chain",
        "chunks",
        "windows",
        "to_list",
        "to_set",
        "to_dict",
        "count",
        "sum",
        "min",
        "max",
        "first",
        "last",
        "for_each",
    ];
    let mut used: Vec<&str> = types
        .iter()
        .flat_map(|kind| functions.iter().filter_map(|name| methods::find(kind, name)))
        .filter_map(|method| match method {
            Method::Prelude(name) => Some(name),
            Method::Pure(_) => None,
        })
        .collect();
    used.sort_unstable();
    used.dedup();
    let mut known: Vec<&str> = PRELUDE.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(used, known);
}
