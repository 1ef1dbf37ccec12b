//! What the formatter writes, and what it never changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod laid_out;
mod tree;

use harn_lang::format::format;
use laid_out::{checked, programs};

#[test]
fn programs_are_laid_out() {
    for (name, source) in programs() {
        insta::assert_snapshot!(name, checked(&source));
    }
}

/// What people write by hand is left alone, but for the commas after the last item of a broken list.
#[test]
fn customary_programs_do_not_change() {
    let without_last_commas = |text: &str| text.replace(",\n", "\n");
    for (name, source) in programs().into_iter().filter(|(name, _)| name.starts_with("spec_")) {
        assert_eq!(without_last_commas(&checked(&source)), without_last_commas(&source), "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_not_changed() {
    let errors = format("let x = )").unwrap_err();
    assert_eq!(
        errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>(),
        ["Expected expression, got ) at 1:9"]
    );
}

#[test]
fn small_layouts() {
    let cases = [
        ("", ""),
        ("\n\n  \n", ""),
        ("// only\n", "// only\n"),
        ("a   ;b", "a\nb\n"),
        ("f( a ,b )", "f(a, b)\n"),
        ("let x=  -1", "let x = -1\n"),
        ("x? ?", "x? ?\n"),
        ("if a{b}", "if a { b }\n"),
        ("if a{\nb}", "if a {\n  b\n}\n"),
        ("f({ x ->\n x })", "f({ x ->\n  x\n})\n"),
        ("f(\na)", "f(\n  a,\n)\n"),
        ("f(a, {\nb: 1})", "f(a, {\n  b: 1,\n})\n"),
        ("let a = [\n1,\n\n\n2]", "let a = [\n  1,\n\n  2,\n]\n"),
        ("@test pipeline p(){}", "@test\npipeline p() {}\n"),
        ("a\n  // why\n  |> b", "a\n  // why\n  |> b\n"),
        ("a // first\n  && b", "a // first\n  && b\n"),
        ("f(a /* one */, /* two */ b)", "f(a /* one */, /* two */ b)\n"),
        ("[1 // a\n, // b\n2, // c\n]", "[\n  1, // a\n  // b\n  2, // c\n]\n"),
        ("match a { 1 -> {b}, _ -> {} }", "match a {\n  1 -> { b }\n  _ -> {}\n}\n"),
        ("struct P {\nx: int\ny}", "struct P {\n  x: int,\n  y,\n}\n"),
        ("import {a,b} from \"m\"", "import { a, b } from \"m\"\n"),
        ("type A = {a:int}|nil", "type A = {a: int} | nil\n"),
        ("let {a,...b} = c; for (x,y) in z {}", "let {a, ...b} = c\nfor (x, y) in z {}\n"),
        ("let f = {x->x}", "let f = { x -> x }\n"),
        ("skill s { a: 1, b 2 }", "skill s {\n  a: 1,\n  b 2\n}\n"),
        ("let x = \"a  \\q\"", "let x = \"a  \\q\"\n"),
        ("x   \t\r\n// c  \r\n", "x\n// c\n"),
    ];
    for (source, expected) in cases {
        assert_eq!(checked(source), expected, "source: {source:?}");
    }
}

#[test]
fn lines_are_short_where_they_can_break() {
    for (name, source) in programs() {
        let long: Vec<String> =
            checked(&source).lines().filter(|line| line.chars().count() > 100).map(str::to_owned).collect();
        assert_eq!(long, Vec::<String>::new(), "{name}");
    }
}

/// Texts of several lines keep their ends of lines, because those are a part of the program.
#[test]
fn ends_of_lines_of_any_kind_are_read() {
    for (name, source) in programs() {
        let formatted = checked(&source.replace('\n', "\r\n"));
        assert_eq!(formatted.replace('\r', ""), checked(&source), "{name}");
    }
}
