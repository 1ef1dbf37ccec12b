//! The rules by which one type fits another, one by one: what each lets through, and what it stops.

use super::support::{fine, refused};

#[test]
fn type_parameters_and_aliases() {
    fine(&[
        "fn f<T>(x: T) {\n  let n: int = x\n  let y: T = 5\n  println([n, y])\n}\nf(1)",
        "fn f(x) {\n  let n: int = x\n  println(n)\n}\nf(1)",
        "type A = int\ntype B = A\nlet x: B = 1\nlet y: int = x\nprintln(y)",
        "type C<T> = {v: list<T>}\nlet c: C<int | string> = {v: [1]}\nlet d: C<int | string> = {v: [\"a\"]}\nprintln([c, d])",
    ]);
    refused(&[
        ("type A = int\ntype B = A\nlet x: B = \"s\"", "'x' declared as int, but assigned string"),
        (
            "type C<T> = {v: T}\nlet c: C<int | string> = {v: nil}",
            "'c' declared as {v: int} | {v: string}, but assigned {v: nil}",
        ),
    ]);
}

#[test]
fn interfaces() {
    let sized = "interface Sized {\n  fn size(self) -> int\n}\nstruct Box { n: int }\nfn f(x: Sized) { return x.size() }\n";
    fine(&[&format!(
        "{sized}impl Box {{\n  fn size(self) -> int {{ return self.n }}\n}}\nprintln(f(Box {{n: 1}}))"
    )]);
    let expected = "Argument 1 ('x'): expected Sized, got Box";
    for methods in [
        "",
        "impl Box {\n  fn other(self) -> int { return 1 }\n}",
        "impl Box {\n  fn size(self, n: int) -> int { return n }\n}",
        "impl Box {\n  fn size(self) -> string { return \"a\" }\n}",
    ] {
        refused(&[(&format!("{sized}{methods}\nprintln(f(Box {{n: 1}}))"), expected)]);
    }
}

#[test]
fn never_any_and_unknown() {
    fine(&[
        "fn stop() -> never { throw \"x\" }\nlet n: int = stop()\nprintln(n)",
        "let a: any = 1\nlet n: string = a\nprintln(n)",
        "let u: unknown = 1\nlet v: unknown = u\nlet a: any = u\nprintln([v, a])",
    ]);
    refused(&[
        ("let n: never = 1", "'n' declared as never, but assigned int"),
        (
            "let u: unknown = 1\nfn f(v: unknown) {\n  let n: int = v\n}\nf(u)",
            "'n' declared as int, but assigned unknown",
        ),
    ]);
}

#[test]
fn names() {
    fine(&[
        "let f: float = 1\nprintln(f)",
        "struct Box<T> { v: T }\nlet a: Box<int> = Box {v: 1}\nlet b: Box = a\nlet c: Box<string> = b\nprintln(c)",
        "struct Box<out T> { v: T }\nlet a: Box<int> = Box {v: 1}\nlet b: Box<float> = a\nprintln(b)",
        "fn f(r: Result<int, string>) {\n  let s: Result<float, string> = r\n  println(s)\n}\nf(Ok(1))",
    ]);
    refused(&[
        ("fn f(x: float) {\n  let n: int = x\n}\nf(1)", "'n' declared as int, but assigned float"),
        (
            "struct A { x: int }\nstruct B { x: int }\nlet b: B = A {x: 1}",
            "'b' declared as B, but assigned A",
        ),
        (
            "struct Box<T> { v: T }\nlet a: Box<int> = Box {v: 1}\nlet b: Box<float> = a",
            "'b' declared as Box<float>, but assigned Box<int>",
        ),
        (
            "fn f(r: Result<float, string>) {\n  let s: Result<int, string> = r\n}\nf(Ok(1))",
            "'s' declared as Result<int, string>, but assigned Result<float, string>",
        ),
    ]);
}

#[test]
fn unions() {
    fine(&[
        "fn f(x: int | string) {\n  let y: string | nil | int = x\n  println(y)\n}\nf(1)",
        "let x: int | nil = nil\nprintln(x)",
    ]);
    refused(&[
        (
            "fn f(x: int | string) {\n  let y: int = x\n}\nf(1)",
            "'y' declared as int, but assigned int | string",
        ),
        ("let x: int | nil = \"a\"", "'x' declared as int | nil, but assigned string"),
    ]);
}

#[test]
fn shapes() {
    fine(&[
        "let d: dict = {a: 1}\nlet s: {a: int} = d\nlet e: dict = s\nprintln(e)",
        "let s: {a: int, b?: string} = {a: 1, extra: true}\nprintln(s)",
        "let s: {a: int, b: int} = {a: 1, b: 2}\nlet d: dict<string, int> = s\nprintln(d)",
        "let d: dict<string, int> = {a: 1}\nlet s: {a: int} = d\nprintln(s)",
    ]);
    refused(&[
        (
            "let s: {a: int, b: string} = {a: 1}",
            "'s' declared as {a: int, b: string}, but assigned {a: int} (missing field 'b' (string))",
        ),
        (
            "let s: {a: int} = {a: \"x\"}",
            "'s' declared as {a: int}, but assigned {a: string} (field 'a' has type string, expected int)",
        ),
        (
            "let s: {a: int, b: string} = {a: 1, b: \"x\"}\nlet d: dict<string, int> = s",
            "'d' declared as dict<string, int>, but assigned {a: int, b: string}",
        ),
    ]);
}

#[test]
fn lists_dicts_and_sequences() {
    fine(&[
        "let xs: list = [1]\nlet ys: list<string> = xs\nlet zs: list = ys\nprintln(zs)",
        "let d: dict = {}\nlet e: dict<string, int> = d\nlet f: dict = e\nprintln(f)",
        "fn f(g: Generator<int>, s: Stream<int>, i: iter<int>) {\n  let a: Generator<float> = g\n  let b: Stream<float> = s\n  let c: iter<float> = i\n  println([a, b, c])\n}\nprintln(f)",
    ]);
    refused(&[
        (
            "let xs: list<int> = [1]\nlet ys: list<float> = xs",
            "'ys' declared as list<float>, but assigned list<int>",
        ),
        (
            "let d: dict<string, int> = {a: 1}\nlet e: dict<string, float> = d",
            "'e' declared as dict<string, float>, but assigned dict<string, int>",
        ),
        (
            "fn f(g: Generator<float>) {\n  let a: Generator<int> = g\n}\nprintln(f)",
            "'a' declared as Generator<int>, but assigned Generator<float>",
        ),
        (
            "fn f(g: Generator<int>) {\n  let a: Stream<int> = g\n}\nprintln(f)",
            "'a' declared as Stream<int>, but assigned Generator<int>",
        ),
    ]);
}

#[test]
fn functions() {
    fine(&[
        "fn wide(x: int | string) -> int { return 1 }\nlet f: fn(int) -> int | nil = wide\nprintln(f(1))",
        "let c: closure = { x -> x }\nlet f: fn(int) -> int = c\nlet d: closure = f\nprintln(d)",
    ]);
    refused(&[
        (
            "fn one(x: int) -> int { return x }\nlet f: fn() -> int = one",
            "'f' declared as fn() -> int, but assigned fn(int) -> int",
        ),
        (
            "fn narrow(x: int) -> int { return x }\nlet f: fn(int | string) -> int = narrow",
            "'f' declared as fn(int | string) -> int, but assigned fn(int) -> int",
        ),
        (
            "fn wide(x: int) -> int | nil { return x }\nlet f: fn(int) -> int = wide",
            "'f' declared as fn(int) -> int, but assigned fn(int) -> int | nil",
        ),
    ]);
}

#[test]
fn literals() {
    fine(&[
        "let a: \"low\" | \"high\" = \"low\"\nlet s: string = a\nlet n: 1 | 2 = 1\nlet i: int = n\nlet f: float = n\nprintln([s, i, f])",
        "fn f(s: string, n: int) {\n  let a: \"low\" = s\n  let b: 1 = n\n  println([a, b])\n}\nf(\"x\", 1)",
    ]);
    refused(&[
        (
            "fn f(a: \"low\") {\n  let b: \"high\" = a\n}\nf(\"low\")",
            "'b' declared as \"high\", but assigned \"low\"",
        ),
        ("fn f(a: \"low\") {\n  let b: int = a\n}\nf(\"low\")", "'b' declared as int, but assigned \"low\""),
        ("fn f(a: 1) {\n  let b: 2 = a\n}\nf(1)", "'b' declared as 2, but assigned 1"),
    ]);
}
