//! The language as programs see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Session, Settings};
use harn_lang::vm::{Limits, State, Vm};
use support::{fails, prints, run_with};

#[test]
fn values_and_operators() {
    prints(&[
        ("println(1 + 2 * 3)", "7\n"),
        ("println(7 / 2); println(7.0 / 2); println(-7 % 3)", "3\n3.5\n-1\n"),
        ("println(2 ** 10); println(-2 ** 2); println(2 ** -1)", "1024\n4\n0.5\n"),
        ("println(\"a\" + \"b\" * 3)", "abbb\n"),
        ("println([1] + [2, 3]); println({a: 1} + {b: 2, a: 3})", "[1, 2, 3]\n{a: 3, b: 2}\n"),
        ("println(1 < 2 && 2 < 1 || !nil)", "true\n"),
        ("println(nil ?? 5); println(1 + nil ?? 2)", "5\n3\n"),
        ("println(1 == 1.0); println([1, {a: 2}] == [1, {a: 2}]); println(5s == 5s)", "true\ntrue\nfalse\n"),
        (
            "println(3 in [1, 2, 3]); println(\"b\" not in \"abc\"); println(2 in (1 to 3))",
            "true\nfalse\ntrue\n",
        ),
        ("println(true ? \"y\" : \"n\")", "y\n"),
        ("let x = 3\nprintln(\"x is ${x} and ${x * 2}\")", "x is 3 and 6\n"),
        ("println([1, 2, 3][-1]); println([1][5]); println(\"h\u{e9}llo\"[1])", "3\nnil\n\u{e9}\n"),
        ("println([1, 2, 3, 4][1:3]); println(\"hello\"[:-2])", "[2, 3]\nhel\n"),
        ("println(1 to 3); println((0 to 3 exclusive).to_list())", "1 to 3\n[0, 1, 2]\n"),
        ("println([1, 2].map({ x -> x + 1 }) |> len)", "2\n"),
        ("println(5 |> { x -> x * 2 }); println(10 |> max(_, 3))", "10\n10\n"),
        (
            "println([...[1, 2], 3]); println({...{a: 1}, b: 2, [\"c\" + \"d\"]: 3})",
            "[1, 2, 3]\n{a: 1, b: 2, cd: 3}\n",
        ),
        ("println(9223372036854775807 + 1)", "-9223372036854775808\n"),
    ]);
    fails(&[
        ("println(1 / 0)", "Division by zero"),
        ("fn f(a, b) { return a + b }\nprintln(f(1, \"a\"))", "Type error: Cannot add int and string"),
        ("println(-\"a\")", "Runtime error: Cannot negate value of type string"),
        ("let x = nil\nprintln(x.y)", "Type error: cannot access property `y` on nil"),
        ("println(undefined_thing)", "Undefined variable: undefined_thing"),
        ("var xs = [1, 2, 3]\nxs[10] = 1", "Index 10 out of bounds for list of length 3"),
        ("println((1 to 3)[7])", "range index out of range: index 7 for range of length 3"),
        ("throw \"fatal\"", "Thrown: fatal"),
    ]);
}

#[test]
fn variables_scopes_and_assignment() {
    prints(&[
        ("var x = 1\nx = x + 1\nx += 3\nprintln(x)", "5\n"),
        ("let x = 1\nif true {\n let x = 2\n println(x)\n}\nprintln(x)", "2\n1\n"),
        (
            "var d = {a: {b: [1, 2]}}\nd.a.b[1] = 9\nd.c = 3\nd[\"e\"] = 4\nprintln(d)",
            "{a: {b: [1, 9]}, c: 3, e: 4}\n",
        ),
        ("var a = [1]\nlet b = a\na[0] = 2\nprintln(a); println(b)", "[2]\n[1]\n"),
        ("var g = [[0, 0], [0, 0]]\ng[1][0] = 5\ng[0][1] += 2\nprintln(g)", "[[0, 2], [5, 0]]\n"),
        (
            "let {a, b: c, d = 4, ...rest} = {a: 1, b: 2, e: 5}\nprintln([a, c, d, rest])",
            "[1, 2, 4, {e: 5}]\n",
        ),
        ("let [x, y = 9, ...more] = [1, nil, 3, 4]\nprintln([x, y, more])", "[1, 9, [3, 4]]\n"),
        ("let _ = 5\nprintln(\"ok\")", "ok\n"),
        ("let card = 1\nlet card = 2\nprintln(card)", "2\n"),
    ]);
    fails(&[
        ("let x = 1\nx = 2", "Cannot assign to immutable binding: x"),
        (
            "pipeline p() {\n let x = 1\n let x = 2\n}",
            "Cannot redeclare immutable variable 'x' in the same scope",
        ),
        ("let [a] = {b: 1}", "cannot destructure dict with [...] pattern"),
        ("let {a} = 5", "cannot destructure int with {...} pattern"),
        ("println(respnse)\nlet response = 1", "did you mean `response`"),
    ]);
}

#[test]
fn functions_closures_and_captures() {
    prints(&[
        (
            "fn add(a, b = 10, ...rest) { return a + b + len(rest) }\nprintln([add(1), add(1, 2), add(1, 2, 3, 4)])",
            "[11, 3, 5]\n",
        ),
        ("fn f() { 5 }\nprintln(f())\nlet g = { -> 5 }\nprintln(g())", "nil\n5\n"),
        ("var n = 1\nlet f = { -> n }\nn = 2\nprintln(f())", "1\n"),
        ("var n = 1\nlet f = { ->\n n = n + 1\n n\n}\nprintln(f()); println(f()); println(n)", "2\n2\n1\n"),
        (
            "fn fib(n) {\n if n < 2 { return n }\n return fib(n - 1) + fib(n - 2)\n}\nprintln(fib(15))",
            "610\n",
        ),
        (
            "fn even(n) { return n == 0 ? true : odd(n - 1) }\nfn odd(n) { return n == 0 ? false : even(n - 1) }\nprintln(even(100))",
            "true\n",
        ),
        (
            "fn down(n) {\n if n == 0 { return \"done\" }\n return down(n - 1)\n}\nprintln(down(10000))",
            "done\n",
        ),
        (
            "fn outer(k) {\n fn inner(n) { return n == 0 ? k : inner(n - 1) }\n return inner(3)\n}\nprintln(outer(7))",
            "7\n",
        ),
        (
            "pipeline main(task) {\n fn a() { return b() + base }\n let base = 10\n fn b() { return base }\n println(a())\n}",
            "20\n",
        ),
        ("var x = 1\nfn f() { return x }\nx = 2\nprintln(f())", "1\n"),
        ("let add = { a, b -> a + b }\nprintln([1, 2, 3].reduce(0, add))", "6\n"),
        ("fn make(n) { return { x -> x + n } }\nlet f = make(5)\nprintln(f(1)); println(f)", "6\n<fn(x)>\n"),
        (
            "let d = {f: { x -> x * 2 }}\nprintln(d.f(4)); println(nil?.f(1)); println([1].nothing())",
            "8\nnil\nnil\n",
        ),
        ("fn log(x) { println(\"mine \" + x) }\nlog(\"a\")", "mine a\n"),
        ("let f = fn(a) {\n return a + 1\n}\nprintln(f(1))", "2\n"),
        (
            "fn f(a, b) { return [a, b] }\nprintln(f(1)); println(f(1, 2, 3)); println(f(...[4, 5]))",
            "[1, nil]\n[1, 2]\n[4, 5]\n",
        ),
    ]);
    fails(&[
        ("fn f(n) { return 1 + f(n + 1) }\nf(0)", "Stack overflow: too many nested calls"),
        ("no_such_function(1)", "call target `no_such_function` is not defined or imported"),
        (
            "fn f(n: int) { return n }\nfn g(x) { return f(x) }\ng(\"a\")",
            "TypeError: parameter 'n' expected int, got string (a)",
        ),
        (
            "fn f(p: {a: int, b?: string}) { return p }\nfn g(x) { return f(x) }\ng({b: \"x\"})",
            "parameter 'p': missing field 'a' (int)",
        ),
    ]);
}

#[test]
fn control_flow() {
    prints(&[
        ("for i in 1 to 3 { print(i) }\nprintln(\"\")", "123\n"),
        (
            "for x in [1, 2, 3, 4] {\n if x == 2 { continue }\n if x == 4 { break }\n print(x)\n}\nprintln(\"\")",
            "13\n",
        ),
        ("for {key, value} in {b: 2, a: 1} { print(key + to_string(value)) }\nprintln(\"\")", "a1b2\n"),
        ("for (a, b) in [1, 2].iter().enumerate() { print(a * 10 + b) }\nprintln(\"\")", "112\n"),
        ("for c in \"abc\" { print(c) }\nfor x in nil { print(x) }\nprintln(\"none\")", "none\n"),
        ("var i = 0\nwhile i < 3 { i = i + 1 }\nprintln(i)", "3\n"),
        ("println(if 1 > 2 { \"a\" } else if 2 > 1 { \"b\" } else { \"c\" })", "b\n"),
        (
            "let v = match 5 {\n 1 | 2 -> { \"low\" }\n n if n > 4 -> { \"high ${n}\" }\n _ -> { \"mid\" }\n}\nprintln(v)",
            "high 5\n",
        ),
        (
            "println(match {kind: \"a\", n: 3} {\n {kind: \"b\"} -> { 1 }\n {kind: \"a\", n: x} -> { x }\n})",
            "3\n",
        ),
        ("println(match [1, 2, 3] {\n [9, x] -> { x }\n [1, y] -> { y }\n})", "2\n"),
        (
            "enum E { A, B(x), C(p: int, q: int) }\nlet e = E.C(1, 2)\nprintln(match e {\n E.A -> { 0 }\n E.B(x) -> { x }\n E.C(p, q) -> { p + q }\n})\nprintln(e)",
            "3\nE.C(1, 2)\n",
        ),
        (
            "fn f(x) {\n guard x > 0 else { return \"neg\" }\n return \"pos\"\n}\nprintln(f(1) + f(-1))",
            "posneg\n",
        ),
        ("var n = 0\nretry 3 {\n n = n + 1\n if n < 3 { throw \"again\" }\n}\nprintln(n)", "3\n"),
    ]);
    fails(&[
        ("match 5 { 1 -> { 2 } }", "No match arm matched the value"),
        ("require 1 > 2, \"math broke\"", "math broke"),
        ("break", "break outside of loop"),
        ("retry 2 { throw \"always\" }", "Thrown: always"),
    ]);
}

#[test]
fn errors_results_finally_and_defer() {
    prints(&[
        ("let r = try { throw \"x\" } catch (e) { \"caught ${e}\" }\nprintln(r)", "caught x\n"),
        ("println(try { 1 / 0 }); println(try { 5 })", "Result.Err(Division by zero)\nResult.Ok(5)\n"),
        ("fn f() {\n try { return 1 } finally { println(\"f\") }\n}\nprintln(f())", "f\n1\n"),
        (
            "try {\n try { throw \"a\" } finally { println(\"in\") }\n} catch (e) { println(\"out \" + e) }",
            "in\nout a\n",
        ),
        (
            "fn f() {\n defer { println(\"d1\") }\n defer { println(\"d2\") }\n println(\"body\")\n return 7\n}\nprintln(f())",
            "body\nd2\nd1\n7\n",
        ),
        (
            "fn g() { throw \"deep\" }\nfn f() {\n defer { println(\"cleanup\") }\n g()\n}\ntry { f() } catch (e) { println(e) }",
            "cleanup\ndeep\n",
        ),
        (
            "fn half(n) { return n % 2 == 0 ? Ok(n / 2) : Err(\"odd\") }\nfn f(n) {\n let h = half(n)?\n return Ok(h + 1)\n}\nprintln(f(4)); println(f(3))",
            "Result.Ok(3)\nResult.Err(odd)\n",
        ),
        (
            "enum AppError { Bad(m) }\ntry {\n try { throw \"text\" } catch (e: AppError) { println(\"no\") }\n} catch (e) { println(\"outer \" + e) }\ntry { throw AppError.Bad(\"x\") } catch (e: AppError) { println(e) }",
            "outer text\nAppError.Bad(x)\n",
        ),
        (
            "for i in 1 to 3 {\n try {\n  if i == 2 { continue }\n  println(i)\n } finally { println(\"f${i}\") }\n}",
            "1\nf1\nf2\n3\nf3\n",
        ),
        ("let r = try { nope } catch (e) { e }\nprintln(r)", "Undefined variable: nope\n"),
        (
            "println(try { [1].map({ x -> x.y.z }) } catch (e) { e })",
            "Type error: cannot access property `y` on int (line 1)\n",
        ),
    ]);
}

#[test]
fn structs_enums_and_methods() {
    prints(&[
        (
            "struct P { x: int, y: int }\nimpl P {\n fn sum(self, more) { return self.x + self.y + more }\n}\nvar p = P {x: 1, y: 2}\nprintln(p.sum(3)); p.x = 10; println(p); println(P({x: 5}).x)",
            "6\nP {x: 10, y: 2}\n5\n",
        ),
        (
            "enum E { A, B(v) }\nprintln(E.A); println(E.B(3).variant); println(E.B(3).fields); println(E.A == E.A)",
            "E.A\nB\n[3]\ntrue\n",
        ),
        ("println(Ok(1)); println(unwrap_or(Err(\"x\"), 2))", "Result.Ok(1)\n2\n"),
    ]);
}

#[test]
fn generators_iterators_and_streams() {
    prints(&[
        (
            "fn count(n) {\n var i = 0\n while i < n {\n  yield i\n  i = i + 1\n }\n}\nfor x in count(3) { print(x) }\nprintln(\"\")",
            "012\n",
        ),
        (
            "fn g() { yield 1\n yield 2 }\nlet it = g()\nprintln(it.next()); println(it.next()); println(it.next()); println(it)",
            "{done: false, value: 1}\n{done: false, value: 2}\n{done: true, value: nil}\n<generator (done)>\n",
        ),
        (
            "gen fn s() {\n emit 1\n emit 2\n}\nprintln(type_of(s())); for x in s() { print(x) }\nprintln(\"\")",
            "stream\n12\n",
        ),
        (
            "println(iter([1, 2, 3, 4]).map({ x -> x * x }).filter({ x -> x % 2 == 0 }).to_list())",
            "[4, 16]\n",
        ),
        ("println((1 to 1000000000).map({ x -> x * 2 }).take(3).to_list())", "[2, 4, 6]\n"),
        (
            "println(iter([1, 2, 3]).zip([\"a\", \"b\"]).to_list()); println([1, 2].iter())",
            "[(1, a), (2, b)]\n<iter>\n",
        ),
        (
            "println(iter([1, 2, 3, 4, 5]).chunks(2).to_list()); println(iter([1, 2, 3]).windows(2).to_list())",
            "[[1, 2], [3, 4], [5]]\n[[1, 2], [2, 3]]\n",
        ),
        (
            "println([3, 1, 2].sort_by({ x -> -x })); println([1, 2, 3].group_by({ x -> x % 2 }))",
            "[3, 2, 1]\n{0: [2], 1: [1, 3]}\n",
        ),
    ]);
}

#[test]
fn tasks_channels_and_time() {
    prints(&[
        (
            "let h = spawn {\n println(\"in task\")\n 5\n}\nprintln(\"before\")\nprintln(await(h))",
            "before\nin task\n5\n",
        ),
        ("println(parallel 3 { i -> i * 10 })", "[0, 10, 20]\n"),
        ("println(parallel each [3, 1, 2] { x ->\n sleep(x * 10)\n x * 2\n})", "[6, 2, 4]\n"),
        (
            "let r = parallel settle [1, 2] { x ->\n if x == 2 { throw \"boom\" }\n x\n}\nprintln(r)",
            "{failed: 1, results: [Result.Ok(1), Result.Err(Thrown: boom)], succeeded: 1}\n",
        ),
        (
            "let ch = channel(\"c\", 2)\nspawn {\n for i in 1 to 4 { send(ch, i) }\n close_channel(ch)\n}\nfor x in ch { print(x) }\nprintln(\"\")",
            "1234\n",
        ),
        ("let a = atomic(0)\nparallel 5 { i -> atomic_add(a, i) }\nprintln(atomic_get(a))", "10\n"),
        (
            "let r = try {\n deadline 50ms {\n  sleep(100ms)\n  println(\"never\")\n }\n} catch (e) { e }\nprintln(r)",
            "Deadline exceeded\n",
        ),
        ("println(deadline 50ms {\n sleep(10ms)\n \"in time\"\n})", "in time\n"),
        ("let r = try { deadline 5ms { while true {} } } catch (e) { e }\nprintln(r)", "Deadline exceeded\n"),
        (
            "let a = channel(\"a\")\nlet b = channel(\"b\")\nsend(b, 7)\nselect {\n x from a { println(\"a\") }\n y from b { println(y) }\n}\nselect {\n x from a { println(\"a\") }\n timeout 10ms { println(\"late\") }\n}\nselect {\n x from a { println(\"a\") }\n default { println(\"none\") }\n}",
            "7\nlate\nnone\n",
        ),
        ("let h = spawn { println(\"lost\") }\ncancel(h)\nprintln(\"end\")", "end\n"),
        (
            "let n = atomic(0)\nparallel 3 { i ->\n mutex {\n  let v = atomic_get(n)\n  sleep(1ms)\n  atomic_set(n, v + 1)\n }\n}\nprintln(atomic_get(n))",
            "3\n",
        ),
    ]);
}

#[test]
fn what_a_channel_has_reaches_somebody_who_waits_for_it() {
    prints(&[
        // The one that was called for it is gone before it comes.
        (
            "let c = channel(\"c\", 4)\nlet first = spawn { receive(c) }\nlet second = spawn { receive(c) }\nspawn {\n send(c, 1)\n cancel(first)\n}\nprintln(await(second))",
            "1\n",
        ),
        // The one that was called for it takes something else.
        (
            "let a = channel(\"a\", 4)\nlet b = channel(\"b\", 4)\nlet both = spawn { channel_select([a, b]).value }\nlet other = spawn { receive(b) }\nspawn {\n send(b, 1)\n send(a, 2)\n}\nprintln(await(both))\nprintln(await(other))",
            "2\n1\n",
        ),
        // The time of the one that was called for it is over.
        (
            "let c = channel(\"c\", 4)\nlet first = spawn { try { deadline 10ms { receive(c) } } catch (e) { e } }\nlet second = spawn { receive(c) }\nsleep(20ms)\nsend(c, 1)\nprintln(await(first))\nprintln(await(second))",
            "Deadline exceeded\n1\n",
        ),
        // Many who give and many who take, with room for one.
        (
            "let c = channel(\"c\", 1)\nvar takers = []\nfor i in 1 to 50 { takers = takers.push(spawn { receive(c) }) }\nfor i in 1 to 50 { spawn { send(c, i) } }\nvar total = 0\nfor t in takers { total = total + await(t) }\nprintln(total)",
            "1275\n",
        ),
        (
            "let c = channel(\"c\", 1)\nlet takers = spawn { receive(c) }\nlet more = spawn { receive(c) }\nspawn { close_channel(c) }\nprintln(await(takers))\nprintln(await(more))",
            "nil\nnil\n",
        ),
    ]);
}

#[test]
fn what_is_done_in_place_looks_as_if_it_were_not() {
    prints(&[
        (
            "var xs = [1]\nlet before = xs\nxs = xs.push(2)\nxs = xs.push(xs)\nprintln(before); println(xs)",
            "[1]\n[1, 2, [1, 2]]\n",
        ),
        (
            "var xs = [1, 2]\nlet before = xs\nxs[0] = 5\nxs[-1] = 6\nprintln(before); println(xs)",
            "[1, 2]\n[5, 6]\n",
        ),
        ("var x = 3\nx = x - x * 2\nx = 10 - x - 1\nx -= 2\nx %= 4\nprintln(x)", "2\n"),
        ("var s = \"ab\"\ns = s + s\nlet t = s\ns += \"c\"\nprintln(t + s)", "ababababc\n"),
        (
            "var d = {b: 1}\nlet before = d\nd.a = 2\nd[\"b\"] = 3\nd.c.d[\"e\"] = 4\nprintln(before); println(d)",
            "{b: 1}\n{a: 2, b: 3, c: {d: {e: 4}}}\n",
        ),
        (
            "fn f(n) {\n if n > 2 { return n }\n if n == 1 { return \"one\" }\n}\nprintln(f(3)); println(f(1)); println(f(2))",
            "3\none\nnil\n",
        ),
        ("let xs = [3, \"a\", 2.5, nil, \"b\", 1].sort_by({ x -> x })\nprintln(len(xs))", "6\n"),
    ]);
}

#[test]
fn bombs_end_with_the_name_of_a_limit() {
    let limits = Limits { fuel: 5_000_000, memory: 32 << 20, output: 1 << 20, tasks: 1000 };
    let doubled = "var x = [1]\nfor i in 1 to 60 { x = [x, x] }\n";
    let cases = [
        ("while true {}".to_owned(), "Fuel limit exceeded"),
        ("fn f(n) { return f(n + 1) }\nf(0)".to_owned(), "Fuel limit exceeded"),
        ("fn f(n) { return 1 + f(n + 1) }\nf(0)".to_owned(), "Stack overflow: too many nested calls"),
        ("var s = \"ab\"\nwhile true { s = s + s }".to_owned(), "Memory limit exceeded"),
        ("let s = \"ab\" * 1000000000000".to_owned(), "Memory limit exceeded"),
        (
            "var xs = []\nwhile true { xs = xs.push(\"some text\" + to_string(len(xs))) }".to_owned(),
            "limit exceeded",
        ),
        ("var x = []\nfor i in 1 to 1000 { x = [x] }".to_owned(), "Nesting limit exceeded"),
        ("for i in 1 to 100000 { spawn { sleep(1s) } }".to_owned(), "Task limit exceeded"),
        (
            "for i in 1 to 100000 { println(\"0123456789012345678901234567890123456789\") }".to_owned(),
            "Output limit exceeded",
        ),
        (format!("{doubled}println(x)"), "Output limit exceeded"),
        (format!("{doubled}let t = \"${{x}}\""), "Memory limit exceeded"),
        (
            format!("{doubled}var y = [1]\nfor i in 1 to 60 {{ y = [y, y] }}\nprintln(x == y)"),
            "Comparison limit exceeded",
        ),
        (format!("{doubled}let d = {{[x]: 1}}"), "Key limit exceeded"),
        ("println(regex_match(\"(a*)*b\", \"a\" * 30000))".to_owned(), ""),
    ];
    for (program, expected) in cases {
        let ran = run_with(&program, limits);
        match ran.result {
            Err(error) => {
                assert!(!expected.is_empty() && error.contains(expected), "{program}\n---\n{error}")
            }
            Ok(_) => assert!(expected.is_empty(), "no error: {program}"),
        }
    }
    // A limit cannot be caught.
    let ran = run_with("try { while true {} } catch (e) { println(e) }", limits);
    assert_eq!((ran.output.as_str(), ran.result.is_err()), ("", true));
}

/// What a session makes of its entries: the value of each, or its error.
fn session(entries: &[&str]) -> Vec<String> {
    let mut session = Session::new(Settings::default());
    let mut vm: Option<Vm> = None;
    let mut results = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let source = Source { name: format!("entry {at}").into(), text: (*entry).into() };
        let step = match session.compile(source, &NoModules) {
            Ok(step) => step,
            Err(problems) => {
                results.push(problems.all[0].message.clone());
                continue;
            }
        };
        match &mut vm {
            Some(vm) => vm.enter(step.program),
            None => {
                vm = Some(Vm::new(step.program, Vec::new(), Limits::default(), 1));
                vm.as_mut().unwrap().keep_tasks();
            }
        }
        results.push(match vm.as_mut().unwrap().run(u64::MAX).state {
            State::Done(value) if step.has_value => value.display(),
            State::Done(_) => "-".to_owned(),
            State::Failed(failure) => failure.fault.to_string(),
            other => format!("{other:?}"),
        });
    }
    results
}

#[test]
fn entries_of_a_session_go_on_from_what_is_there() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["let a = 1", "var b = a + 1", "b += 5", "a + b"], &["-", "-", "-", "8"]),
        (
            &[
                "fn f(x) { return x + 1 }",
                "let g = { x -> f(x) * 2 }",
                "fn f(x) { return 0 }",
                "[f(1), g(1)]",
            ],
            &["-", "-", "-", "[0, 4]"],
        ),
        (
            &["let a = 1", "let b = (", "throw \"no\"", "a = 2", "a"],
            &[
                "-",
                "Unexpected end of file, expected expression",
                "Thrown: no",
                "Cannot assign to immutable binding: a",
                "1",
            ],
        ),
        (
            &["type Id = int", "fn f(x: Id) { return x }", "f(\"a\")", "f(3)"],
            &["-", "-", "Runtime error: TypeError: parameter 'x' expected int, got string (a)", "3"],
        ),
        (
            &["enum E { A, B(int) }", "let e = E.B(2)", "match e { E.A -> { 0 } E.B(n) -> { n } }"],
            &["-", "-", "2"],
        ),
        (
            &[
                "struct P { a: int }",
                "impl P { fn get(self) { return self.a } }",
                "let p = P { a: 5 }",
                "p.get()",
            ],
            &["-", "-", "-", "5"],
        ),
        (
            &[
                "let total = atomic(0)",
                "let task = spawn { atomic_add(total, 1); \"done\" }",
                "atomic_add(total, 2)",
                "await(task)",
                "atomic_get(total)",
            ],
            &["-", "-", "1", "done", "3"],
        ),
        (
            &["let xs = [1, 2]", "for x in xs { let y = x }", "y", "xs.map({ x -> x * 2 })"],
            &["-", "-", "Undefined variable: y", "[2, 4]"],
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(session(entries), *expected, "{entries:?}");
    }
}
