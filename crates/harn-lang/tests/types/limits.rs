//! Programs that are large, deep, or refer to themselves.

use std::fmt::Write;

use proptest::prelude::*;

use super::support::{errors, fine, problems};

#[test]
fn types_that_refer_to_themselves_end() {
    fine(&[
        "type Tree = {value: int, children: list<Tree>}\nlet t: Tree = {value: 1, children: [{value: 2, children: []}]}\nprintln(t)",
        "type A = B\ntype B = A\nlet x: A = 1\nprintln(x)",
        "type A = A | int\nlet x: A = 1\nprintln(x)",
        "type L<T> = {head: T, tail: L<T> | nil}\nlet l: L<int> = {head: 1, tail: {head: 2, tail: nil}}\nprintln(l)",
        "type G<T> = G<list<T>>\nlet g: G<int> = 1\nprintln(g)",
        "type W<T> = {inner: W<W<T>> | nil}\nlet a: W<int> = {inner: nil}\nlet b: W<string> = a\nprintln(b)",
        "struct Node { next: Node | nil }\nlet n: Node = Node {next: Node {next: nil}}\nprintln(n)",
        "interface I {\n  fn same(self, other: I) -> I\n}\nstruct S { x: int }\nimpl S {\n  fn same(self, other: I) -> I { return other }\n}\nfn f(i: I) { return i }\nprintln(f(S {x: 1}))",
    ]);
    let found =
        errors("type A = {next: A, v: int}\ntype B = {next: B, v: string}\nfn f(a: A) -> B { return a }");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn types_do_not_grow_without_end() {
    let mut program = String::from("let x0 = {a: 1}\n");
    for at in 1..2000 {
        let before = at - 1;
        writeln!(program, "let x{at} = {{a: x{before}, b: [x{before}, x{before}], c: x{before}}}").unwrap();
    }
    program.push_str("let y: int = x1999\nprintln(x1999 == x1998)\n");
    let _ = problems(&program);

    let mut program = String::from("type T0<A, B, C> = {a: A, b: B, c: C}\n");
    for at in 1..60 {
        writeln!(program, "type T{at}<A, B, C> = T{}<A | int, B | string, C | A | B>", at - 1).unwrap();
    }
    program.push_str("let y: T59<int, string, bool> = {a: 1, b: true, c: 3}\n");
    let _ = problems(&program);

    let mut program = String::from("type U0 = {k0: int} | {k1: string}\n");
    for at in 1..40 {
        let before = at - 1;
        writeln!(program, "type U{at} = {{l: U{before}, r: U{before}}} | list<U{before}>").unwrap();
    }
    program.push_str("fn f(a: U39) {\n  let b: list<U39> = [a]\n  return b\n}\n");
    let _ = problems(&program);
}

#[test]
fn deep_and_wide_programs_are_walked() {
    let nested = format!("{}1{}", "[".repeat(190), "]".repeat(190));
    fine(&[&format!("println({nested})")]);
    let openings = [
        ("if x { ", " }"),
        ("let f = { y -> ", " }"),
        ("match x { _ -> { ", " } }"),
        ("try { ", " } catch (e) { 1 }"),
        ("for i in [x] { ", " }"),
        ("f({a: [", "]})"),
        ("(x && ", ")"),
        ("parallel each [x] { i -> ", " }"),
    ];
    for (open, close) in openings {
        for depth in [30, 60, 95, 190] {
            let text = format!("fn f(x) {{\n{}x{}\n}}", open.repeat(depth), close.repeat(depth));
            let _ = problems(&text);
        }
    }
    let mut chain = String::from("fn f(x) {\n  if x == 0 { return 0 }");
    for at in 1..180 {
        write!(chain, " else if x == {at} {{ return {at} }}").unwrap();
    }
    chain.push_str("\n}\nprintln(f(3))");
    fine(&[&chain]);
    let sum = format!("println({})", vec!["1"; 20_000].join(" + "));
    fine(&[&sum]);
    let literals: Vec<String> = (0..3000).map(|at| format!("\"l{at}\"")).collect();
    let program = format!("type T = {}\nlet t: T = \"x\"\nprintln(t)", literals.join(" | "));
    fine(&[&program]);
}

#[test]
fn nested_conditions_take_no_longer_than_they_are() {
    let mut condition = String::from("x.a == nil");
    for at in 0..60 {
        let op = if at % 2 == 0 { "&&" } else { "||" };
        condition = format!("({condition}) {op} x.b != nil");
    }
    fine(&[&format!(
        "fn f(x: {{a: int | nil, b: int | nil}}) {{\n  if {condition} {{ return 1 }}\n  return 2\n}}"
    )]);
    let fields: Vec<String> = (0..2000).map(|at| format!("x.f{at} != nil")).collect();
    fine(&[&format!(
        "fn f(x: {{f1: int | nil}}) {{\n  if {} {{ return 1 }}\n  return 2\n}}",
        fields.join(" && ")
    )]);
    let names: Vec<String> = (0..2000).map(|at| format!("V{at}")).collect();
    let arms: Vec<String> = names.iter().map(|name| format!("E.{name} -> {{ 1 }}")).collect();
    fine(&[&format!(
        "enum E {{ {} }}\nfn f(e: E) {{\n  return match e {{\n{}\n}}\n}}",
        names.join(", "),
        arms.join("\n")
    )]);
}

#[test]
fn errors_are_not_lost_among_warnings() {
    let mut program = "println(nothing)\n".repeat(1100);
    program.push_str("let x: int = \"a\"\n");
    assert_eq!(errors(&program), ["'x' declared as int, but assigned string"]);
}

/// A program in which types are everywhere, for swapping its words.
const TYPED: &str = "type M = { kind : \"a\" , v : int } | { kind : \"b\" , w ? : string } \n\
    struct Box < T > { value : T } \n enum E { A , B ( n : int ) } \n\
    interface I { fn get ( self , x : int ) -> T } \n impl Box { fn get ( self , x : T ) -> T { return self . value } } \n\
    fn f < T > ( m : M , b : Box < T > , e : E | nil ) -> list < T > where T : I { \n\
    if m . kind == \"a\" && e != nil { return [ b . value ] } \n\
    var x : T | nil = nil \n x = b . get ( m . v ) \n\
    match e { \n E . A -> { 1 } \n E . B ( n ) -> { n } \n nil -> { f ( m , b , E . A ) } \n } \n\
    guard x else { throw \"no\" } \n return [ x , Box { value : x } . value ] ?? { a : x } \n }";

#[test]
fn the_program_to_swap_words_in_is_one() {
    let found = problems(TYPED);
    assert!(found.iter().all(|problem| problem.code != harn_lang::problem::Code::Syntax), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_is_survived(program in crate::generate::program()) {
        let _ = problems(&program.text);
    }

    #[test]
    fn swapped_words_are_survived(swaps in proptest::collection::vec((0usize..400, 0usize..400), 1..4)) {
        let mut words: Vec<&str> = TYPED.split(' ').collect();
        for (from, to) in swaps {
            let (from, to) = (from % words.len(), to % words.len());
            // A line or a brace that moves is seldom a program.
            if words[from].chars().all(|c| c.is_alphanumeric() || c == '"') && words[to].chars().all(char::is_alphanumeric) {
                words[to] = words[from];
            }
        }
        let _ = problems(&words.join(" "));
    }
}
