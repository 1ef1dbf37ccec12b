//! Programs that are stopped, and what they are told.

use std::collections::HashMap;

use harn_lang::compile::{Settings, UnknownCalls};
use harn_lang::problem::Code;

use super::support::{Files, fine, problems, problems_with, refused};

#[test]
fn what_a_variable_is_declared_as() {
    refused(&[
        ("let x: int = \"a\"", "'x' declared as int, but assigned string"),
        ("let x: string = nil", "'x' declared as string, but assigned nil"),
        ("let x: int = 1.5", "'x' declared as int, but assigned float"),
        ("let x: bool = 1", "'x' declared as bool, but assigned int"),
        ("let x: duration = 5", "'x' declared as duration, but assigned int"),
        ("let xs: list<int> = [\"a\"]", "'xs' declared as list<int>, but assigned list<string>"),
        ("let xs: [int] = [1, \"a\"]", "'xs' declared as list<int>, but assigned list<int | string>"),
        (
            "let d: dict<string, int> = {a: \"x\"}",
            "'d' declared as dict<string, int>, but assigned {a: string}",
        ),
        ("let s: \"a\" | \"b\" = 1", "'s' declared as \"a\" | \"b\", but assigned int"),
        ("let n: 1 | -2 = \"x\"", "'n' declared as 1 | -2, but assigned string"),
        ("let f: fn(int) -> bool = 5", "'f' declared as fn(int) -> bool, but assigned int"),
        (
            "let user: {name: string, age: int} = {age: 25}",
            "'user' declared as {name: string, age: int}, but assigned {age: int} (missing field 'name' (string))",
        ),
        (
            "let user: {name: string, age: int} = {name: 1, age: 25}",
            "'user' declared as {name: string, age: int}, but assigned {name: int, age: int} (field 'name' has type int, expected string)",
        ),
        (
            "type User = {name: string, age?: int}\nlet u: User = {age: \"x\"}",
            "'u' declared as {name: string, age?: int}, but assigned {age: string} (missing field 'name' (string); field 'age' has type string, expected int)",
        ),
        ("let xs: list<int> = iter([1, 2]).map({ x -> x })", "'xs' declared as list<int>, but assigned iter"),
        ("let xs: list<int> = [1, 2].iter()", "'xs' declared as list<int>, but assigned iter"),
        ("let s: string = 1 to 3", "'s' declared as string, but assigned range"),
        (
            "gen fn s() -> Stream<int> { emit 1 }\nlet g: Generator<int> = s()",
            "'g' declared as Generator<int>, but assigned Stream<int>",
        ),
        ("fn f(v: unknown) {\n  let s: string = v\n}", "'s' declared as string, but assigned unknown"),
        (
            "let xs: list<int> = [1, 2]\nlet ys: list<float> = xs",
            "'ys' declared as list<float>, but assigned list<int>",
        ),
        (
            "let d: dict<string, int> = {a: 1}\nlet e: dict<string, float> = d",
            "'e' declared as dict<string, float>, but assigned dict<string, int>",
        ),
        (
            "let f: fn(int) -> string = { x: int -> x + 1 }",
            "'f' declared as fn(int) -> string, but assigned fn(int) -> int",
        ),
        (
            "fn two(a: int, b: int) -> int { return a + b }\nlet f: fn(int) -> int = two",
            "'f' declared as fn(int) -> int, but assigned fn(int, int) -> int",
        ),
        (
            "fn narrow(a: int) -> int { return a }\nlet f: fn(int | string) -> int = narrow",
            "'f' declared as fn(int | string) -> int, but assigned fn(int) -> int",
        ),
        (
            "let s: string = if 1 > 2 { 1 } else { \"a\" }",
            "'s' declared as string, but assigned int | string",
        ),
        ("let s: string = true ? 1 : 2", "'s' declared as string, but assigned int"),
        ("let n: int = \"a\" + \"b\"", "'n' declared as int, but assigned string"),
        ("let n: int = 1 < 2", "'n' declared as int, but assigned bool"),
        ("let n: int = !1", "'n' declared as int, but assigned bool"),
        ("let s: string = -5", "'s' declared as string, but assigned int"),
        ("let n: int = \"a\".trim()", "'n' declared as int, but assigned string"),
        ("let s: string = [1].count()", "'s' declared as string, but assigned int"),
        ("let s: string = \"a,b\".split(\",\")", "'s' declared as string, but assigned list"),
        ("let s: string = {a: 1}.keys()", "'s' declared as string, but assigned list"),
        ("let n: int = env(\"A\")", "'n' declared as int, but assigned string | nil"),
        ("let n: int = uppercase(\"a\")", "'n' declared as int, but assigned string"),
        ("let s: string = parallel 3 { i -> i }", "'s' declared as string, but assigned list"),
        ("let s: string = parallel settle [1] { i -> i }", "'s' declared as string, but assigned dict"),
        (
            "let s: string = parallel each [1] { i -> i } as stream",
            "'s' declared as string, but assigned Stream",
        ),
        ("let s: string = try { 5 }", "'s' declared as string, but assigned Result<int, _>"),
        ("let s: string = Ok(1)", "'s' declared as string, but assigned Result<int, _>"),
        ("let p = {x: 1, y: {z: \"a\"}}\nlet n: int = p.y.z", "'n' declared as int, but assigned string"),
        ("let p: {x?: int} = {}\nlet n: int = p.x", "'n' declared as int, but assigned int | nil"),
        ("type A = B\ntype B = int\nlet x: A = \"s\"", "'x' declared as int, but assigned string"),
        (
            "pipeline default(task) {\n  type Id = int\n  let x: Id = \"s\"\n}",
            "'x' declared as int, but assigned string",
        ),
        ("fn f() {\n  type Id = int\n  let x: Id = \"s\"\n}", "'x' declared as int, but assigned string"),
    ]);
}

#[test]
fn assignments() {
    refused(&[
        ("var x: int = 1\nx = \"a\"", "can't assign string to 'x' (declared as int)"),
        ("var x: int = 1\nx += 1.5", "can't assign float to 'x' (declared as int)"),
        ("var x: string | nil = nil\nx = 5", "can't assign int to 'x' (declared as string | nil)"),
    ]);
    fine(&[
        "var x: float = 1\nx = 2\nx += 1",
        "var x = 1\nx = \"a\"\nx = nil\nprintln(x)",
        "var x = nil\nx = 5\nlet n: int | nil = x\nprintln(n)",
        "var x: string | nil = nil\nx = \"a\"\nlet s: string = x\nprintln(s)",
    ]);
}

#[test]
fn arguments() {
    let add = "fn add(a: int, b: int) -> int { return a + b }\n";
    let cases = [
        ("add(\"x\", 1)", "Argument 1 ('a'): expected int, got string"),
        ("add(1, nil)", "Argument 2 ('b'): expected int, got nil"),
        ("let f = add(1, [1])", "Argument 2 ('b'): expected int, got list<int>"),
        ("let s = \"a\"\nadd(s, 1)", "Argument 1 ('a'): expected int, got string"),
        ("let s: string = add(1, 2)", "'s' declared as string, but assigned int"),
        ("[1].map({ x -> add(\"a\", x) })", "Argument 1 ('a'): expected int, got string"),
    ];
    for (call, expected) in cases {
        refused(&[(&format!("{add}{call}"), expected)]);
    }
    refused(&[
        (
            "struct P { x: int }\nimpl P {\n  fn by(self, n: int) -> int { return n }\n}\nlet p = P {x: 1}\np.by(\"a\")",
            "Argument 1 ('n'): expected int, got string",
        ),
        (
            "type Id = int\nfn f(id: Id) { return id }\nf(\"a\")",
            "Argument 1 ('id'): expected int, got string",
        ),
        (
            "fn f(p: {name: string}) { return p }\nf({nam: \"x\"})",
            "Argument 1 ('p'): expected {name: string}, got {nam: string}",
        ),
        (
            "tool t(a: string) -> string { return a }\nfn f(x: int) { return x }\nf(\"a\")",
            "Argument 1 ('x'): expected int, got string",
        ),
    ]);
}

#[test]
fn returns_and_emits() {
    refused(&[
        ("fn f() -> int { return \"a\" }", "return type doesn't match: expected int, got string"),
        (
            "fn f(x) -> int {\n  if x { return \"a\" }\n  return 1\n}",
            "return type doesn't match: expected int, got string",
        ),
        ("tool t(a: string) -> int { return a }", "return type doesn't match: expected int, got string"),
        (
            "type R = {text: string}\npub pipeline p(task) -> R {\n  return {text: 5}\n}",
            "return type doesn't match: expected {text: string}, got {text: int}",
        ),
        (
            "struct P { x: int }\nimpl P {\n  fn m(self) -> string { return 1 }\n}",
            "return type doesn't match: expected string, got int",
        ),
        ("gen fn s() -> Stream<int> { emit \"a\" }", "emit type doesn't match: expected int, got string"),
        ("gen fn s() -> int { emit 1 }", "`gen fn` must return Stream<T>, got int"),
        ("gen fn s() -> Stream<int> { yield 1 }", "`yield` is not a stream emit; use `emit` inside `gen fn`"),
        ("fn s() { emit 1 }", "`emit` can only be used inside a `gen fn`"),
        ("emit 1", "`emit` can only be used inside a `gen fn`"),
    ]);
    fine(&[
        "fn f() -> int { return 1 }\nfn g() -> Generator<int> {\n  yield 1\n  return nil\n}\nprintln(f())\nprintln(g())",
        "fn f() -> int {\n  let g = { -> return \"a\" }\n  return 1\n}\nprintln(f())",
        "fn f() -> int {\n  let h = spawn { return \"a\" }\n  return await(h) ?? 1\n}\nprintln(f())",
        "gen fn s() -> Stream<float> { emit 1 }\nfor x in s() { println(x) }",
    ]);
}

#[test]
fn operands() {
    refused(&[
        ("println(1 + \"a\")", "can't add int and string"),
        ("println(true + 1)", "can't add bool and int"),
        ("println(\"a\" * \"b\")", "can't multiply string and string (try string * int)"),
        ("println(\"a\" - 1)", "can't use '-' on string and int (needs numeric operands)"),
        ("println(\"a\" / 2)", "can't use '/' on string and int (needs numeric operands)"),
        ("println(nil % 2)", "can't use '%' on nil and int (needs numeric operands)"),
        ("println(true ** 2)", "can't use '**' on bool and int (needs numeric operands)"),
        ("var s = \"a\"\ns -= 1", "can't use '-' on string and int (needs numeric operands)"),
    ]);
    fine(&[
        "println(1 + 2.5)\nprintln(\"a\" * 3)\nprintln(3 * \"a\")\nprintln([1] + [2])\nprintln({a: 1} + {b: 2})",
        "println(5s + 3s)\nprintln(5s - 3s)\nprintln(-5s)\nprintln(\"a\" < 1)\nprintln(nil <= 1)",
        "fn f(a, b) { return a + b }\nprintln(f(1, \"a\"))",
        "println(1 + nil ?? 2)",
    ]);
}

#[test]
fn calls_of_what_is_not_there() {
    refused(&[
        ("nonexistent_function()", "call target `nonexistent_function` is not defined or imported"),
        ("prntln(1)", "call target `prntln` is not defined or imported \u{2014} did you mean `println`?"),
        (
            "fn compute() { return 1 }\ncompte()",
            "call target `compte` is not defined or imported \u{2014} did you mean `compute`?",
        ),
        ("let r = try { nope(1) } catch (e) { e }", "call target `nope` is not defined or imported"),
    ]);
    fine(&[
        "println(later())\nfn later() { return 1 }",
        "pipeline default(task) {\n  println(inner())\n  fn inner() { return twice(2) }\n}\nfn twice(n) { return n * 2 }",
        "let f = { x -> x }\nprintln(f(1))",
        "fn apply(f, x) { return f(x) }\nprintln(apply({ x -> x }, 1))",
        "let fact = { n -> if n < 2 { 1 } else { n * fact(n - 1) } }\nprintln(fact(3))",
        "struct P { x: int }\nprintln(P({x: 1}))",
        "println(stream.collect(iter([1]), 3))",
    ]);
    let settings = Settings { unknown_calls: UnknownCalls::LeftToHost, ..Settings::default() };
    let found = problems_with("host_thing(1)", &harn_lang::compile::NoModules, &settings);
    assert_eq!(
        found.iter().map(|problem| (problem.code, problem.is_error())).collect::<Vec<_>>(),
        [(Code::HostCall, false)]
    );
}

#[test]
fn structs_and_enums() {
    refused(&[
        ("struct P { x: int }\nlet p = P {x: \"a\"}", "Field 'x' in struct 'P' expects int, got string"),
        ("struct P { x: int }\nlet p = P({x: nil})", "Field 'x' in struct 'P' expects int, got nil"),
        (
            "struct Point { x: int }\nlet p = Pont {x: 1}",
            "unknown struct type `Pont` \u{2014} did you mean `Point`?",
        ),
        ("let p = Thing {x: 1}", "unknown struct type `Thing`"),
        (
            "struct P { x: int }\nlet p = P {x: 1}\nlet s: string = p.x",
            "'s' declared as string, but assigned int",
        ),
        (
            "struct P { x: int }\nstruct Q { y: int }\nlet q: Q = P {x: 1}",
            "'q' declared as Q, but assigned P",
        ),
        ("enum E { A, B(n: int) }\nlet e = E.B(\"a\")", "E.B expects n: int, got string"),
        ("enum E { A, B(n: int) }\nlet s: string = E.A", "'s' declared as string, but assigned E"),
        (
            "struct Box<T> { value: T }\nlet b: Box<string> = Box {value: 1}",
            "'b' declared as Box<string>, but assigned Box<int>",
        ),
        (
            "struct Box<T> { value: T }\nlet a: Box<int> = Box {value: 1}\nlet b: Box<float> = a",
            "'b' declared as Box<float>, but assigned Box<int>",
        ),
        (
            "struct Box<T> { value: T }\nlet b = Box<string>({value: 1})",
            "Field 'value' in struct 'Box' expects string, got int",
        ),
        (
            "let r: Result<int, string> = Ok(\"a\")",
            "'r' declared as Result<int, string>, but assigned Result<string, _>",
        ),
        (
            "let r: Result<int, string> = Result.Err(5)",
            "'r' declared as Result<int, string>, but assigned Result<_, int>",
        ),
        (
            "struct P { name: string }\nfn f(p: {name: int}) { return p }\nf(P {name: \"a\"})",
            "Argument 1 ('p'): expected {name: int}, got P",
        ),
    ]);
}

#[test]
fn generics() {
    refused(&[
        (
            "fn same<T>(a: T, b: T) -> T { return a }\nsame(1, \"a\")",
            "type parameter 'T' was inferred as both int and string",
        ),
        (
            "fn first<T>(xs: list<T>) -> T { return xs[0] }\nlet s: string = first([1, 2])",
            "'s' declared as string, but assigned int",
        ),
        (
            "fn first<T>(xs: list<T>) -> T { return xs[0] }\nfirst(\"a\")",
            "Argument 1 ('xs'): expected list<T>, got string",
        ),
        (
            "fn id<T>(x: T) -> T { return x }\nlet s: string = id(5)",
            "'s' declared as string, but assigned int",
        ),
        ("fn id<T>(x: T) -> T { return x }\nid<int>(\"a\")", "Argument 1 ('x'): expected int, got string"),
        (
            "fn id<T>(x: T) -> T { return x }\nid<int, string>(1)",
            "Function 'id' expects 1 type arguments, got 2",
        ),
        ("fn f(x) { return x }\nf<int>(1)", "Function 'f' does not declare type parameters"),
        (
            "fn or<T>(x: T | nil, d: T) -> T { return x ?? d }\nlet n: int = or(env(\"A\"), \"x\")",
            "'n' declared as int, but assigned string",
        ),
        (
            "type Maybe<T> = {some: T} | {none: bool}\nlet m: Maybe<int> = {some: \"x\"}",
            "'m' declared as {some: int} | {none: bool}, but assigned {some: string}",
        ),
        (
            "type Box<T> = {value: T}\nlet b: Box<int | string> = {value: true}",
            "'b' declared as {value: int} | {value: string}, but assigned {value: bool}",
        ),
        (
            "fn parse<T>(text: string, schema: Schema<T>) -> T { return schema_expect(json_parse(text), schema) }\ntype User = {name: string}\nlet u: int = parse(\"{}\", schema_of(User))",
            "'u' declared as int, but assigned {name: string}",
        ),
    ]);
}

#[test]
fn interfaces_and_constraints() {
    let sized = "interface Sized {\n  fn size(self) -> int\n}\nfn total<T>(x: T) -> int where T: Sized { return x.size() }\n";
    let cases = [
        (
            "struct P { x: int }\ntotal(P {x: 1})",
            "Type 'P' does not satisfy interface 'Sized': missing method(s): size (required by constraint `where T: Sized`)",
        ),
        (
            "struct P { x: int }\nimpl P {\n  fn other(self) { return 1 }\n}\ntotal(P {x: 1})",
            "Type 'P' does not satisfy interface 'Sized': missing method 'size' (required by constraint `where T: Sized`)",
        ),
        (
            "struct P { x: int }\nimpl P {\n  fn size(self, a) -> int { return 1 }\n}\ntotal(P {x: 1})",
            "Type 'P' does not satisfy interface 'Sized': method 'size' has 1 parameter(s), expected 0 (required by constraint `where T: Sized`)",
        ),
        (
            "struct P { x: int }\nimpl P {\n  fn size(self) -> string { return \"a\" }\n}\ntotal(P {x: 1})",
            "Type 'P' does not satisfy interface 'Sized': method 'size' returns 'string', expected 'int' (required by constraint `where T: Sized`)",
        ),
        (
            "total(5)",
            "Type 'int' does not satisfy interface 'Sized': missing method(s): size (required by constraint `where T: Sized`)",
        ),
        (
            "struct P { x: int }\nfn g(s: Sized) { return s }\ng(P {x: 1})",
            "Argument 1 ('s'): expected Sized, got P",
        ),
    ];
    for (rest, expected) in cases {
        refused(&[(&format!("{sized}{rest}"), expected)]);
    }
    refused(&[
        (
            "interface Processor {\n  fn process(self, x: int) -> string\n}\nstruct P { x: int }\nimpl P {\n  fn process(self, x: string) -> string { return x }\n}\nfn run<T>(p: T) where T: Processor { return p }\nrun(P {x: 1})",
            "Type 'P' does not satisfy interface 'Processor': method 'process' parameter 1 has type 'string', expected 'int' (required by constraint `where T: Processor`)",
        ),
        (
            "interface Both {\n  fn a(self) -> int\n  fn b(self) -> int\n}\nstruct P { x: int }\nfn run<T>(p: T) where T: Both { return p }\nrun(P {x: 1})",
            "Type 'P' does not satisfy interface 'Both': missing method(s): a, b (required by constraint `where T: Both`)",
        ),
        (
            "interface Holder {\n  type Item = int\n  fn get(self) -> Item\n}\nstruct P { x: string }\nimpl P {\n  fn get(self) -> string { return self.x }\n}\nfn run<T>(p: T) where T: Holder { return p.get() }\nrun(P {x: \"a\"})",
            "Type 'P' does not satisfy interface 'Holder': associated type 'Item' resolves to 'string', expected 'int' (required by constraint `where T: Holder`)",
        ),
        (
            "fn run<T>(p: T) where T: Nothing { return p }\nrun(1)",
            "Type 'int' does not satisfy interface 'Nothing': interface 'Nothing' not found (required by constraint `where T: Nothing`)",
        ),
    ]);
}

#[test]
fn declared_variance() {
    refused(&[
        (
            "interface Sink<out T> {\n  fn put(self, x: T) -> nil\n}",
            "type parameter 'T' is declared 'out' (covariant) but appears in a contravariant position in interface 'Sink'",
        ),
        (
            "interface Source<in T> {\n  fn get(self) -> T\n}",
            "type parameter 'T' is declared 'in' (contravariant) but appears in a covariant position in interface 'Source'",
        ),
        (
            "struct Box<in T> { value: T }",
            "type parameter 'T' is declared 'in' (contravariant) but appears in a covariant position in struct 'Box'",
        ),
        (
            "type F<out T> = fn(T) -> int",
            "type parameter 'T' is declared 'out' (covariant) but appears in a contravariant position in type alias 'F'",
        ),
        (
            "enum E<in T> { A(x: T) }",
            "type parameter 'T' is declared 'in' (contravariant) but appears in a covariant position in enum 'E'",
        ),
        (
            "struct Sink<in T> { put: fn(T) -> nil }\nfn f(s: Sink<int>) {\n  let t: Sink<float> = s\n}",
            "'t' declared as Sink<float>, but assigned Sink<int>",
        ),
    ]);
    fine(&[
        "struct Box<out T> { value: T }\nlet a: Box<int> = Box {value: 1}\nlet b: Box<float> = a\nprintln(b)",
        "struct Sink<in T> { put: fn(T) -> nil }\nfn f(s: Sink<float>) {\n  let t: Sink<int> = s\n  println(t)\n}",
        "interface Both<in A, out B> {\n  fn run(self, a: A) -> B\n}",
        "type F<in A, out B> = fn(A) -> B",
    ]);
}

#[test]
fn matches_that_forget_something() {
    refused(&[
        (
            "enum Action { Create, Edit(n: int), Delete }\nfn f(a: Action) {\n  match a {\n    Action.Create -> { 1 }\n    Action.Delete -> { 2 }\n  }\n}",
            "Non-exhaustive match on enum Action: missing variants Edit",
        ),
        (
            "enum E { A, B, C }\nlet e = E.A\nmatch e { E.A -> { 1 } }",
            "Non-exhaustive match on enum E: missing variants B, C",
        ),
        (
            "enum E { A, B }\nfn f(e: E) {\n  match e.variant { \"A\" -> { 1 } }\n}",
            "Non-exhaustive match on enum E: missing variants B",
        ),
        (
            "type M = {kind: \"ping\", n: int} | {kind: \"pong\", s: string}\nfn f(m: M) {\n  match m.kind { \"ping\" -> { 1 } }\n}",
            "Non-exhaustive match on tagged shape union: missing variants \"pong\"",
        ),
        (
            "type M = {kind: \"a\"} | {kind: \"b\"} | {kind: \"c\"}\nfn f(m: M) {\n  match m { {kind: \"a\"} -> { 1 } }\n}",
            "Non-exhaustive match on tagged shape union: missing variants \"b\", \"c\"",
        ),
        (
            "type S = \"on\" | \"off\" | \"auto\"\nfn f(s: S) {\n  match s {\n    \"on\" -> { 1 }\n    \"off\" -> { 2 }\n  }\n}",
            "Non-exhaustive match on literal union: missing \"auto\"",
        ),
        (
            "fn f(x: string | int | nil) {\n  match type_of(x) {\n    \"string\" -> { 1 }\n    \"int\" -> { 2 }\n  }\n}",
            "Non-exhaustive match on union type: missing nil",
        ),
        (
            "fn f(x: \"a\" | nil) {\n  match x { \"a\" -> { 1 } }\n}",
            "Non-exhaustive match on union type: missing nil",
        ),
        (
            "enum A { X }\nenum B { Y }\nfn f(v: A | B) {\n  match v { A.X -> { 1 } }\n}",
            "Non-exhaustive match on union type: missing B",
        ),
        (
            "enum C { Red, Green }\nfn f(c: C) {\n  match c {\n    C.Red -> { 1 }\n    C.Green if 1 > 2 -> { 2 }\n  }\n}",
            "Non-exhaustive match on enum C: missing variants Green",
        ),
        (
            "type S = \"on\" | \"off\"\nfn f(s: S, b: bool) {\n  match s {\n    \"on\" if b -> { 1 }\n    \"off\" -> { 2 }\n  }\n}",
            "Non-exhaustive match on literal union: missing \"on\"",
        ),
        (
            "type S = \"on\" | \"off\"\nfn f(s: S, b: bool) {\n  match s {\n    \"on\" if b -> { return 1 }\n    \"off\" -> { return 2 }\n    \"on\" if !b -> { return 3 }\n    (_) if b -> { return 4 }\n  }\n  unreachable(\"never\")\n}",
            "Non-exhaustive match on literal union: missing \"on\"",
        ),
        (
            "fn f(x: string | int) {\n  if type_of(x) == \"string\" { return 1 }\n  unreachable(x)\n}",
            "unreachable() argument has type `int` \u{2014} not all cases are handled",
        ),
    ]);
    fine(&[
        "enum E { A, B }\nfn f(e: E) {\n  return match e {\n    E.A -> { 1 }\n    _ -> { 2 }\n  }\n}\nprintln(f(E.A))",
        "enum E { A, B(n: int) }\nfn f(e: E) {\n  return match e {\n    E.A -> { 1 }\n    E.B(n) -> { n + 1 }\n  }\n}\nprintln(f(E.A))",
        "fn f(e) {\n  match e { \"a\" -> { 1 } }\n}\nprintln(f(\"a\"))",
        "fn f(n: int) {\n  match n { 1 | 2 -> { \"low\" } }\n}\nprintln(f(1))",
        "fn f(x: string | int) -> int {\n  if type_of(x) == \"string\" { return 1 }\n  if type_of(x) == \"int\" { return x }\n  unreachable(x)\n}\nprintln(f(1))",
        "type S = \"on\" | \"off\"\nfn f(s: S) -> int {\n  match s {\n    \"on\" -> { return 1 }\n    \"off\" -> { return 2 }\n    _ -> { unreachable(s) }\n  }\n}\nprintln(f(\"on\"))",
        "enum E { A, B(n: int) }\nfn f(e: E) -> int {\n  match e {\n    E.A -> { return 1 }\n    E.B(n) -> { return n }\n    _ -> { unreachable(e) }\n  }\n}\nprintln(f(E.A))",
        "type S = \"on\" | \"off\"\nfn f(s: S) -> int {\n  match s {\n    \"on\" -> { return 1 }\n    \"off\" -> { return 2 }\n  }\n  unreachable(s)\n}\nprintln(f(\"on\"))",
        "enum E { A, B(n: int) }\nfn f(e: E) -> int {\n  match e {\n    E.A -> { return 1 }\n    E.B(n) -> { return n }\n  }\n  unreachable(e)\n}\nprintln(f(E.A))",
        "fn f(e: string) -> int {\n  match e {\n    \"a\" -> { return 1 }\n    (_) -> { return 2 }\n  }\n  unreachable(e)\n}\nprintln(f(\"a\"))",
        "fn f(n: int) -> int {\n  match n {\n    1 -> { return 1 }\n    _ -> { return 2 }\n  }\n  return 0\n}\nprintln(f(1))",
        "enum E { A, B }\nfn f(e: E, b: bool) {\n  return match e {\n    E.A if b -> { 1 }\n    E.A -> { 2 }\n    E.B -> { 3 }\n  }\n}\nprintln(f(E.A, true))",
        "enum E { A, B(n: int) }\nfn f(e: E) -> int {\n  return match e {\n    E.A -> { 1 }\n    E.B((n)) -> { n + 1 }\n  }\n}\nprintln(f(E.A))",
        "unreachable()",
        "unreachable(\"not reached\")",
    ]);
}

#[test]
fn limits_of_parallel() {
    refused(&[(
        "parallel each [1] with { max_concurrent: \"two\" } { x -> x }",
        "`max_concurrent` on `parallel` must be int, got string",
    )]);
    fine(&["let n = 2\nparallel each [1] with { max_concurrent: n } { x -> x }"]);
}

#[test]
fn rethrows_need_a_function() {
    refused(&[(
        "let x = try* len([])",
        "try* requires an enclosing function (fn, tool, or pipeline) so the rethrow has a target",
    )]);
    fine(&[
        "fn f() { return try* len([]) }\nprintln(f())",
        "pipeline default(task) {\n  println(try* len([]))\n}",
    ]);
}

#[test]
fn types_and_functions_of_other_modules() {
    let files = Files(HashMap::from([
        (
            "types",
            "type User = {name: string}\nenum Color { Red, Green }\nstruct P { x: int }\nimpl P {\n  fn get(self) -> int { return self.x }\n}",
        ),
        (
            "lib",
            "import \"types\"\npub fn greet(u: User) -> string { return u.name }\nfn hidden(n: int) { return n }",
        ),
        ("again", "pub import \"lib\"\npub import { User } from \"types\""),
    ]));
    let cases = [
        (
            "import { User } from \"types\"\nlet u: User = {nam: 1}",
            "'u' declared as {name: string}, but assigned {nam: int} (missing field 'name' (string))",
        ),
        ("import \"lib\"\nlet n: int = greet({name: \"a\"})", "'n' declared as int, but assigned string"),
        (
            "import { greet } from \"lib\"\ngreet({name: 1})",
            "Argument 1 ('u'): expected {name: string}, got {name: int}",
        ),
        ("import \"lib\"\nhidden(1)", "call target `hidden` is not defined or imported"),
        ("import { hidden } from \"lib\"\nhidden(\"a\")", "Argument 1 ('n'): expected int, got string"),
        (
            "import \"again\"\nlet u: User = {name: 1}\ngreet(u)",
            "'u' declared as {name: string}, but assigned {name: int} (field 'name' has type int, expected string)",
        ),
        (
            "import { P } from \"types\"\nfn f(p: P) -> string { return p.get() }",
            "return type doesn't match: expected string, got int",
        ),
    ];
    for (program, expected) in cases {
        let found: Vec<String> = problems_with(program, &files, &Settings::default())
            .into_iter()
            .filter(|problem| problem.is_error())
            .map(|problem| problem.message)
            .collect();
        assert_eq!(found, [expected], "{program}");
    }
}

#[test]
fn a_problem_has_its_place_its_code_and_its_advice() {
    let found = problems("let a = 1\nlet s: string = a\n");
    let [problem] = &found[..] else { panic!("{found:?}") };
    assert_eq!((problem.code, problem.span.start, problem.span.end), (Code::TypeMismatch, 26, 27));
    assert!(problem.help.as_deref().unwrap().contains("to_string"), "{problem:?}");
    let found = problems("let s: string = env(\"A\")");
    assert!(found[0].help.as_deref().unwrap().contains("??"), "{found:?}");
}

#[test]
fn every_code_is_explained_in_its_own_words() {
    let mut seen = std::collections::BTreeSet::new();
    for code in Code::ALL {
        let explanation = code.explanation();
        assert!(seen.insert(code.id()) && seen.insert(explanation.meaning), "{}", code.id());
    }
}
