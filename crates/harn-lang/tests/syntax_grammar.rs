//! Every rule of the grammar, and every rule that surprises, as text and the tree that it means.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod tree;

use harn_lang::syntax::parse;

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let parsed = parse(source);
        let errors: Vec<&str> = parsed.errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(
            (tree::module(&parsed.module), errors),
            ((*expected).to_owned(), vec![]),
            "source: {source}"
        );
    }
}

#[test]
fn literals() {
    check(&[
        ("42", "42"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9.223372036854776e18"),
        ("1.5", "1.5"),
        ("42.name", "(. 42 name)"),
        ("[5ms, 5s, 5m, 5h, 5d, 5w]", "[5ms 5000ms 300000ms 18000000ms 432000000ms 3024000000ms]"),
        ("[true, false, nil]", "[true false nil]"),
        (r#""a\n\t\\\"\$\d""#, r#""a\n\t\\\"$\\d""#),
        (r#"r"a\n${x}""#, r#""a\\n${x}""#),
        ("größe_1", "größe_1"),
        ("\u{feff}#!/usr/bin/env harn\n1", "1"),
        ("let x = 1 \\\n  + 2", "(let x (1 + 2))"),
        ("/* a /* b */ c */ 1 // d", "1"),
    ]);
}

#[test]
fn strings_with_expressions() {
    check(&[
        (r#""a ${x} b""#, r#"(str "a " x " b")"#),
        (r#""${join(xs, ", ")}""#, r#"(str (call join xs ", "))"#),
        (r#""${ {a: 1}.a }""#, r#"(str (. (dict a:1) a))"#),
        (r#""${"in ${x}"}""#, r#"(str (str "in " x))"#),
        (r#""${x y} $ \${z} $5""#, r#""${x y} $ ${z} $5""#),
        ("\"\"\"\n    a\n      b ${x}\n\n    c\n    \"\"\"", r#"(str "a\n  b " x "\n\nc")"#),
        ("\"\"\"\n  ${x} y\n  z\n\"\"\"", r#"(str x " y\nz")"#),
        ("\"\"\"a \\n \"b\" \"\"\"", r#""a \\n \"b\" ""#),
        ("\"\"\"${}\"\"\"", r#""${}""#),
        ("{\"k\": 1, \"${x}\": 2}", "(dict k:1 [(str x)]:2)"),
    ]);
}

#[test]
fn operators_from_loose_to_tight() {
    check(&[
        ("a |> b |> c", "(a |> b |> c)"),
        ("1 to n + 1", "(to 1 (n + 1))"),
        ("1 to 5 exclusive |> f", "((to-exclusive 1 5) |> f)"),
        ("a ? b : c", "(?: a b c)"),
        ("a || b && c || d", "(a || (b && c) || d)"),
        ("a == b != c", "(a == b != c)"),
        ("a < b == c >= d", "((a < b) == (c >= d))"),
        ("x in xs && y not in ys", "((x in xs) && (y not in ys))"),
        ("not", "not"),
        ("a + b - c * d / e % f", "(a + b - (c * d / e % f))"),
        ("a + b ?? c * d", "(a + (b ?? (c * d)))"),
        ("a ?? b < c", "((a ?? b) < c)"),
        ("2 ** 3 ** 4", "(2 ** (3 ** 4))"),
        ("-2 ** 2", "((neg 2) ** 2)"),
        ("!-!x.y", "(! (neg (! (. x y))))"),
        ("(a + b) * c", "((paren (a + b)) * c)"),
    ]);
}

#[test]
fn what_follows_an_operand() {
    check(&[
        ("a.b?.c", "(?. (. a b) c)"),
        ("a.type.tool", "(. (. a type) tool)"),
        ("a.m(1, ...xs)?.n()", "(?method (method a m 1 ...xs) n)"),
        ("a[0]?[1]", "(?index (index a 0) 1)"),
        ("a[1:2][:2][1:][:]", "(slice (slice (slice (slice a 1 2) _ 2) 1 _) _ _)"),
        ("f()", "(call f)"),
        ("f (x, y,)", "(call f x y)"),
        ("f<int, list<string>>(x)", "(call f <int list<string>> x)"),
        ("a < b", "(a < b)"),
        ("[a < b[0], c > (d)]", "[(a < (index b 0)) (c > (paren d))]"),
        ("f(a < b, c > (d))", "(call f (call a <b c> d))"),
        ("a < {k: b<int>(x)} > (y)", "(a < (dict k:(call b <int> x)) > (paren y))"),
        ("P {x: 1, \"y\": 2, ...z}", "(struct P x:1 y:2 ...z)"),
        ("P {}", "(struct P)"),
        ("P {\n  x: 1\n  type: 2\n}", "(struct P x:1 type:2)"),
        ("f(x)? + 1", "((propagate (call f x)) + 1)"),
        ("f(x)?\ng()", "(propagate (call f x))\n(call g)"),
        ("f(x)?.y", "(?. (call f x) y)"),
        ("c ? [1] : [2]", "(?: c [1] [2])"),
        ("c ? -1 : {}", "(?: c (neg 1) (dict))"),
        ("c ? \"a\" :\n \"b\"", "(?: c \"a\" \"b\")"),
    ]);
}

#[test]
fn brackets_and_closures() {
    check(&[
        ("[1, ...xs, 2,]", "[1 ...xs 2]"),
        ("[\n  1,\n  2\n]", "[1 2]"),
        ("[1\n2]", "[1 2]"),
        ("let d = {}", "(let d (dict))"),
        (
            "let d = {a: 1, \"b c\": 2, [k + 1]: 3, ...e, if: 4, skill: 5,}",
            "(let d (dict a:1 b c:2 [(k + 1)]:3 ...e if:4 skill:5))",
        ),
        ("let f = { x -> x + 1 }", "(let f (closure [x] {(x + 1)}))"),
        ("let f = { -> 1 }", "(let f (closure [] {1}))"),
        ("let f = { a, b = 1 -> a; b }", "(let f (closure [a b=1] {a; b}))"),
        ("let f = { g: fn(int) -> int, x: int -> x }", "(let f (closure [g:fn(int)->int x:int] {x}))"),
        ("let d = {f: { x -> x }, g: fn(y) { y }}", "(let d (dict f:(closure [x] {x}) g:(lambda [y] {y})))"),
        ("fn(a, ...b) { return a }", "(lambda [a ...b] {(return a)})"),
        ("spawn { f() }", "(spawn {(call f)})"),
    ]);
}

#[test]
fn lines_and_separators() {
    check(&[
        ("a; b\nc;\n\nd;", "a\nb\nc\nd"),
        ("a\n|> b\n  .c()\n?? d", "(a |> ((method b c) ?? d))"),
        ("a\n  || b\n  && c\n  == d", "(a || (b && (c == d)))"),
        ("a\n+ b\n* c\n** d", "(a + (b * (c ** d)))"),
        ("a +\n\n b", "(a + b)"),
        ("a\n- b", "a\n(neg b)"),
        ("a\n(b)", "a\n(paren b)"),
        ("a\n[b]", "a\n[b]"),
        ("a -\n b", "(a - b)"),
        ("x\n// note\n|> y", "(x |> y)"),
        ("let x =\n  1", "(let x 1)"),
    ]);
}

#[test]
fn statements() {
    check(&[
        ("let x: int | nil = 1", "(let x :int|nil 1)"),
        ("var {a, b: c, d = 1, type: t = 2, ...r} = e", "(var ({} a b:c d=1 type:t=2 ...r) e)"),
        ("let [a, b = 2, ...r] = e", "(let ([] a b=2 ...r) e)"),
        ("let _ = e", "(let _ e)"),
        ("a = 1\na.b += 2\na[0].c *= 3", "(= a 1)\n(+= (. a b) 2)\n(*= (. (index a 0) c) 3)"),
        ("a -= 1; a /= 2; a %= 3", "(-= a 1)\n(/= a 2)\n(%= a 3)"),
        ("for x in xs { f(x) }", "(for x xs {(call f x)})"),
        ("for (a, b) in xs {}", "(for (pair a b) xs {})"),
        ("for {k, v} in d {}", "(for ({} k v) d {})"),
        (
            "while (a) && b { break }\nwhile x { continue }",
            "(while ((paren a) && b) {break})\n(while x {continue})",
        ),
        ("fn f() { return }", "(fn f [] {(return)})"),
        ("return; yield\nyield 1", "(return)\n(yield)\n(yield 1)"),
        ("throw \"x\"\nemit x", "(throw \"x\")\n(emit x)"),
        ("guard x != nil else { return 1 }", "(guard (x != nil) {(return 1)})"),
        ("require x, \"no\"\nrequire y", "(require x \"no\")\n(require y)"),
        ("defer { f() }\nmutex { g() }", "(defer {(call f)})\n(mutex {(call g)})"),
        ("override p(a, b) { a }", "(override p [a b] {a})"),
        (
            "select {\n  m from ch { f(m) }\n  timeout from t {}\n  timeout 5s { g() }\n  default {}\n}",
            "(select (from m ch {(call f m)}) (from timeout t {}) (timeout 5000ms {(call g)}) (default {}))",
        ),
    ]);
}

#[test]
fn control_flow_is_an_expression() {
    check(&[
        ("let x = if a { 1 } else if b { 2 }\nelse { 3 }", "(let x (if a {1} (if b {2} {3})))"),
        ("if a { 1 }", "(if a {1})"),
        ("if a { 1 }\nb", "(if a {1})\nb"),
        (
            "match v {\n  1 | 2 -> { a }\n  E.V(x, _) if x > 1 -> { b },\n  {kind: \"k\"} -> { c } [y, z] -> { d }\n  _ -> { }\n}",
            "(match v (arm 1|2 {a}) (arm (method E V x _) if (x > 1) {b}) (arm (dict kind:\"k\") {c}) (arm [y z] {d}) (arm _ {}))",
        ),
        ("retry 3 { f() }\nretry (n) { g() }", "(retry 3 {(call f)})\n(retry (paren n) {(call g)})"),
        ("deadline 5s { f() }", "(deadline 5000ms {(call f)})"),
        ("parallel 3 { i -> i }", "(parallel 3 i {i})"),
        ("parallel 3 { f() }", "(parallel 3 {(call f)})"),
        ("parallel each xs { x -> x }", "(parallel-each xs x {x})"),
        (
            "let s = parallel each xs with { max_concurrent: 4 } {\n  x -> f(x)\n} as stream",
            "(let s (parallel-stream xs max 4 x {(call f x)}))",
        ),
        ("parallel settle xs { x -> x }", "(parallel-settle xs x {x})"),
        ("try { a } catch (e) { b } finally { c }", "(try {a} (catch e {b}) finally {c})"),
        ("try { a }\ncatch (e: AppError) { b }", "(try {a} (catch e :AppError {b}))"),
        ("try { a } catch e { b }\ntry { c } catch { d }", "(try {a} (catch e {b}))\n(try {c} (catch {d}))"),
        ("let r = try { a }", "(let r (try {a}))"),
        ("let r = try* f(x) + 1", "(let r ((try* (call f x)) + 1))"),
    ]);
}

#[test]
fn declarations() {
    check(&[
        ("import \"std/math\"", "(import \"std/math\")"),
        ("pub import { a, b, } from \"m\"", "(pub-import [a b] \"m\")"),
        ("pipeline p(a, b) -> T extends q { a }", "(pipeline p [a b] ->T extends q {a})"),
        ("pub pipeline default(task) {}", "pub (pipeline default [task] {})"),
        (
            "pub fn f<T, out U, in V>(a: T, b: int = 1, ...c) -> list<T> where T: I, U: J { }",
            "pub (fn f <T,out U,in V> [a:T b:int=1 ...c] ->list<T> where T:I where U:J {})",
        ),
        ("gen fn g() -> Stream<int> { emit 1 }", "(gen-fn g [] ->Stream<int> {(emit 1)})"),
        ("gen(1)\nlet gen = fn() {}", "(call gen 1)\n(let gen (lambda [] {}))"),
        (
            "tool t(a: string, n: int = 3) -> string {\n  description \"d\"\n  a\n}",
            "(tool t [a:string n:int=3] ->string description \"d\" {a})",
        ),
        ("tool t() { description }", "(tool t [] {description})"),
        ("skill s {\n  description \"d\"\n  paths [\"a\"]\n}", "(skill s description:\"d\" paths:[\"a\"])"),
        ("pub skill s { description: \"d\", type: 1, }", "pub (skill s description:\"d\" type:1)"),
        (
            "eval_pack p \"id\" {\n  name: \"n\"\n  summarize { a }\n  f()\n  threshold: 1,\n}",
            "(eval_pack p \"id\" name:\"n\" threshold:1 summarize {a} {(call f)})",
        ),
        ("eval_pack \"id\" {}", "(eval_pack \"id\" {})"),
        ("struct P<T> { x: int, y?: T\n z\n type: string }", "(struct P <T> x:int y?:T z type:string)"),
        ("enum E { A, B(x), C(p: int, q: string) }", "(enum E (A) (B x) (C p:int q:string))"),
        (
            "impl P {\n  /// Doubles.\n  pub fn m(self) { return 1 }\n  fn n(self) {} fn o(self) {}\n}",
            "(impl P doc \"Doubles.\" pub (fn m [self] {(return 1)}) (fn n [self] {}) (fn o [self] {}))",
        ),
        (
            "interface I<T> {\n  type Item = int\n  type Other\n  fn m<U>(self, a: U) -> T\n  fn n(self)\n}",
            "(interface I <T> (type Item =int) (type Other) (fn m <U> [self a:U] ->T) (fn n [self]))",
        ),
        (
            "@test\n@deprecated(since: \"1\", use: other, -1, 2.5, [a, nil], true)\npub fn f() {}",
            "(@test) (@deprecated since:\"1\" use:other -1 2.5 [a nil] true) pub (fn f [] {})",
        ),
    ]);
}

#[test]
fn types() {
    check(&[
        ("type A = int", "(type A int)"),
        ("type A<T> = dict<string, T> | [T] | nil", "(type A <T> dict<string,T>|[T]|nil)"),
        ("type A = {\n  kind: \"a\",\n  type?: int\n  b: {}\n}", "(type A {kind:\"a\",type?:int,b:{}})"),
        ("type A = fn(int, string) -> bool | never", "(type A fn(int,string)->bool|never)"),
        ("type A = \"x\"\n  | -1\n  | 2 | true", "(type A \"x\"|-1|2|bool)"),
    ]);
}

#[test]
fn documentation_belongs_to_the_declaration_below() {
    check(&[
        ("/// One.\n///   Two.\nfn f() {}", "doc \"One.\\n  Two.\" (fn f [] {})"),
        (
            "/** One.\n  * Two.\n  */\n@test\npipeline p() {}",
            "(@test) doc \"One.\\nTwo.\" (pipeline p [] {})",
        ),
        ("@test\n/// One.\nfn f() {}", "(@test) doc \"One.\" (fn f [] {})"),
        ("/// Far.\n\nfn f() {}", "(fn f [] {})"),
        ("let x = 1 /// Other.\nfn f() {}", "(let x 1)\n(fn f [] {})"),
        ("// No.\nfn f() {}\n//// No.\nfn g() {}", "(fn f [] {})\n(fn g [] {})"),
    ]);
}

#[test]
fn names_share_their_text() {
    use harn_lang::syntax::ast::{ExprKind, StmtKind};
    let parsed = parse("abc\nabc\n\"${abc}\"");
    let name = |at: usize| match &parsed.module.body[at].kind {
        StmtKind::Expr(expr) => match &expr.kind {
            ExprKind::Name(name) => name.clone(),
            other => panic!("not a name: {other:?}"),
        },
        other => panic!("not an expression: {other:?}"),
    };
    assert!(std::sync::Arc::ptr_eq(&name(0), &name(1)));
}

#[test]
fn places_point_into_the_source() {
    use harn_lang::syntax::ast::{ExprKind, StmtKind, StrPart};
    let source = "let s = \"é ${a.b} c\"";
    let parsed = parse(source);
    let StmtKind::Bind { value, .. } = &parsed.module.body[0].kind else { panic!("not a binding") };
    let ExprKind::Interpolated(parts) = &value.kind else { panic!("not interpolated") };
    let StrPart::Expr(inner) = &parts[1] else { panic!("not an expression") };
    let places = (parsed.module.body[0].span.of(source), value.span.of(source), inner.span.of(source));
    assert_eq!(places, (source, "\"é ${a.b} c\"", "a.b"));
}
