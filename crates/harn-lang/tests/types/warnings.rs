//! What is worth a word, and does not stop a program.

use harn_lang::problem::Severity;

use super::support::{errors, fine, problems, warnings};

fn warned(cases: &[(&str, &str, &str)]) {
    for (program, code, message) in cases {
        let found: Vec<(&str, String)> =
            problems(program).into_iter().map(|problem| (problem.code.id(), problem.message)).collect();
        assert_eq!(found, [(*code, (*message).to_owned())], "{program}");
        assert!(errors(program).is_empty());
    }
}

#[test]
fn each_has_its_code() {
    warned(&[
        ("println(undefined_var)", "unknown-variable", "Undefined variable: undefined_var"),
        ("if true { let inner = 1 }\nprintln(inner)", "unknown-variable", "Undefined variable: inner"),
        ("println(_)", "unknown-variable", "Undefined variable: _"),
        ("let x: Foo = 1", "unknown-type", "unknown type `Foo`"),
        ("fn f(a: strng) { return a }", "unknown-type", "unknown type `strng`"),
        ("fn f(a, b) { return a }\nf(1)", "arity", "'f' takes 2 arguments, got 1; missing arguments are nil"),
        ("fn f(a) { return a }\nf(1, 2)", "arity", "'f' takes 1 argument, got 2; the others are not used"),
        (
            "fn f(a, b = 1) { return a }\nf()",
            "arity",
            "'f' takes at least 1 argument, got 0; missing arguments are nil",
        ),
        ("enum E { A(n: int) }\nprintln(E.A())", "arity", "E.A takes 1 value, got 0"),
        (
            "fn f() {\n  return 1\n  println(2)\n  println(3)\n}",
            "unreachable-code",
            "unreachable code: what precedes it always leaves the block",
        ),
        (
            "fn f(x) {\n  if x { return 1 } else { throw 2 }\n  println(3)\n}",
            "unreachable-code",
            "unreachable code: what precedes it always leaves the block",
        ),
        ("struct P { x: int }\nlet p = P {x: 1, z: 2}", "unknown-field", "struct 'P' has no field 'z'"),
        (
            "struct P { x: int }\nlet p = P {x: 1}\nprintln(p.y)",
            "unknown-field",
            "struct 'P' has no field 'y'",
        ),
        ("struct P { x: int, y?: int }\nlet p = P {}", "missing-field", "struct 'P' is made without 'x'"),
        ("enum E { A }\nprintln(E.B)", "unknown-variant", "enum 'E' has no variant 'B'"),
        (
            "enum E { A }\nlet e = E.A\nmatch e {\n  E.C -> { 1 }\n  _ -> { 2 }\n}",
            "unknown-variant",
            "enum 'E' has no variant 'C'",
        ),
        ("@depreciated\nfn f() { return 1 }", "unknown-attribute", "unknown attribute `@depreciated`"),
        (
            "@deprecated(since: \"0.8\", use: \"g()\")\nfn f() { return 1 }\nf()",
            "deprecated",
            "`f` is deprecated (since 0.8): use g()",
        ),
        ("@deprecated\nfn f() { return 1 }\nf()", "deprecated", "`f` is deprecated"),
        (
            "pub pipeline report(task) { 1 }",
            "pipeline-return-type",
            "public pipeline 'report' has no return type",
        ),
    ]);
}

#[test]
fn help_suggests_what_was_meant() {
    let cases = [
        ("let response = 1\nprintln(respnse)", "did you mean `response`?"),
        ("struct P { name: int }\nlet p = P {name: 1}\nprintln(p.nme)", "did you mean `name`?"),
        ("enum E { Start }\nprintln(E.Strt)", "did you mean `E.Start`?"),
        ("let x: strin = 1", "did you mean `string`?"),
        ("@tst\nfn f() { return 1 }", "did you mean `@test`?"),
    ];
    for (program, expected) in cases {
        let found = problems(program);
        assert_eq!(found[0].help.as_deref(), Some(expected), "{program}");
        assert_eq!(found[0].code.severity(), Severity::Warning);
    }
}

#[test]
fn well_known_and_private_pipelines_need_no_return_type() {
    fine(&[
        "pub pipeline default(task) { 1 }\npub pipeline main(task) { 1 }\npub pipeline auto(task) { 1 }\npub pipeline test(task) { 1 }",
        "pipeline report(task) { 1 }",
        "pub pipeline report(task) -> int { return 1 }",
    ]);
}

#[test]
fn a_name_is_known_wherever_it_is_bound() {
    let fine_programs = [
        "let {a, b: c, ...d} = {a: 1}\nlet [e, f = 1, ...g] = [1]\nprintln([a, c, d, e, f, g])",
        "for (a, b) in [1].iter().enumerate() { println([a, b]) }\nfor {key, value} in {a: 1} { println([key, value]) }",
        "match [1, 2] {\n  [a, b] -> { println([a, b]) }\n}\nmatch {k: 1} {\n  {k: v} -> { println(v) }\n}",
        "match 5 {\n  n if n > 3 -> { println(n) }\n  _ -> { 0 }\n}",
        "try { throw 1 } catch (e) { println(e) }",
        "let ch = channel(\"a\")\nselect {\n  v from ch { println(v) }\n  default { println(0) }\n}",
        "parallel 3 { i -> println(i) }\nprintln([1].map({ x, y = 2 -> x + y }))",
        "println(5 |> max(_, 3))",
        "println(pi + e)\nprintln(\"${pi}\")",
        "fn show() { return config }\nlet config = 1\nprintln(show())",
        "pipeline default(task) {\n  println(task)\n  fn f() { return later }\n  let later = 1\n  println(f())\n}",
        "tool t(a: string) { a }\nskill s { description \"x\" }\nprintln(t)\nprintln(s)",
        "eval_pack p \"id\" {\n  threshold: 1\n  println(threshold + version)\n}",
        "type A = {x: int}\nprintln(schema_of(A))\nprintln(schema_check({x: 1}, A))",
        "let f = len\nprintln(f(\"a\"))",
    ];
    for program in fine_programs {
        assert_eq!(warnings(program), Vec::<String>::new(), "{program}");
    }
}
