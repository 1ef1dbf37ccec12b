//! What conditions tell about variables.

use super::support::{fine, refused};

/// A function with a parameter that may be nil, and this in it.
fn with(body: &str) -> String {
    format!(
        "fn need(s: string) {{ return s }}\nfn f(x: string | nil, y: string | nil) {{\n{body}\n}}\nprintln(f(nil, nil))"
    )
}

#[test]
fn conditions_narrow_where_they_hold() {
    let bodies = [
        "if x != nil { need(x) }",
        "if nil != x { need(x) }",
        "if x == nil { return 1 } else { need(x) }",
        "if x { need(x) }",
        "if !x { return 1 }\nneed(x)",
        "if x == nil { return 1 }\nneed(x)",
        "if x == nil { throw \"no\" }\nneed(x)",
        "if x == nil { exit(1) }\nneed(x)",
        "if x != nil && y != nil {\n  need(x)\n  need(y)\n}",
        "if x == nil || y == nil { return 1 }\nneed(x)\nneed(y)",
        "if !(x == nil || y == nil) {\n  need(x)\n  need(y)\n}",
        "let ok = x != nil && need(x) == \"a\"\nreturn ok",
        "let ok = x == nil || need(x) == \"a\"\nreturn ok",
        "guard x != nil else { return 1 }\nneed(x)",
        "require x != nil, \"needed\"\nneed(x)",
        "assert(x != nil)\nneed(x)",
        "return x != nil ? need(x) : \"\"",
        "return x == nil ? \"\" : need(x)",
        "while x != nil { return need(x) }",
        "while x == nil { println(1) }\nneed(x)",
        "need(x ?? \"\")",
        "if type_of(x) == \"string\" { need(x) }",
        "if type_of(x) != \"nil\" { need(x) }",
        "if type_of(x) == \"nil\" { return 1 }\nneed(x)",
        "match x {\n  nil -> { 1 }\n  _ -> { need(x) }\n}",
        "match x {\n  nil -> { 1 }\n  text -> { need(text) }\n}",
        "for i in 1 to 3 {\n  if x == nil { continue }\n  need(x)\n}",
        "if x == nil {\n  return 1\n} else if y == nil {\n  need(x)\n} else {\n  need(x)\n  need(y)\n}",
        "if x != nil {\n  let g = { -> need(x) }\n  g()\n}",
        "try {\n  if x == nil { throw \"a\" }\n  need(x)\n} catch (e) { println(e) }",
        "if x == nil { return 1 }\nfor i in 1 to 3 { need(x) }",
        "if x == nil { unreachable() }\nneed(x)",
    ];
    let programs: Vec<String> = bodies.iter().map(|body| with(body)).collect();
    fine(&programs.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn what_is_not_known_is_not_narrowed() {
    let message = "Argument 1 ('s'): expected string, got string | nil";
    let bodies = [
        "need(x)",
        "if x == nil { println(1) }\nneed(x)",
        "if x != nil { println(1) }\nneed(x)",
        "if x != nil || y != nil { need(x) }",
        "if x == nil && y == nil { return 1 }\nneed(x)",
        "if x != nil { println(1) } else { println(2) }\nneed(x)",
        "while x != nil { break }\nneed(x)",
        "fn inner() { return need(x) }\nif x == nil { return 1 }\ninner()",
    ];
    for body in bodies {
        refused(&[(&with(body), message)]);
    }
    refused(&[
        (&with("if x == nil { need(x) }"), "Argument 1 ('s'): expected string, got nil"),
        (&with("if type_of(x) == \"nil\" { need(x) }"), "Argument 1 ('s'): expected string, got nil"),
    ]);
}

#[test]
fn an_assignment_resets() {
    let need = "fn need(s: string) { return s }\nfn get() -> string | nil { return nil }\n";
    let error = "Argument 1 ('s'): expected string, got string | nil";
    let stopped = [
        "var x: string | nil = get()\nif x != nil {\n  x = get()\n  need(x)\n}",
        "var x: string | nil = get()\nif x != nil {\n  x = nil\n  need(x)\n}",
        "var x: string | nil = \"a\"\nif x == nil { x = \"b\" } else { x = nil }\nneed(x)",
        "var x: string | nil = get()\nif x != nil {\n  while true {\n    need(x)\n    x = get()\n  }\n}",
        "var x: string | nil = \"a\"\nx = \"b\"\nfor i in 1 to 3 {\n  need(x)\n  x = nil\n}",
        "var x = nil\nif get() == nil { x = \"a\" }\nneed(x)",
    ];
    for program in stopped {
        refused(&[(&format!("{need}{program}"), error)]);
    }
    let silent = [
        "var x: string | nil = get()\nif x == nil { x = \"b\" }\nneed(x)",
        "var x: string | nil = get()\nif x == nil { x = \"b\" } else { x = \"c\" }\nneed(x)",
        "var x = nil\nif get() == nil { x = \"a\" } else { x = \"b\" }\nneed(x)",
        "var x = nil\nx = \"a\"\nneed(x)",
        "var x = nil\nfor i in 1 to 3 {\n  if i > 1 { need(x) }\n  x = \"a\"\n}",
        "var x: string | nil = nil\nwhile x == nil { x = get() }\nneed(x)",
        "var x: string | nil = nil\nx = x ?? \"d\"\nneed(x)",
        "var x: string | nil = nil\nlet f = { -> x = nil }\nx = \"a\"\nf()\nneed(x)",
    ];
    let programs: Vec<String> = silent.iter().map(|program| format!("{need}{program}")).collect();
    fine(&programs.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn tags_tell_shapes_apart() {
    let types = "type Msg = {kind: \"text\", body: string} | {kind: \"count\", n: int} | {kind: \"end\"}\n\
                 fn text(s: string) { return s }\nfn count(n: int) { return n }\n";
    let silent = [
        "fn f(m: Msg) {\n  if m.kind == \"text\" { text(m.body) }\n  if m.kind == \"count\" { count(m.n) }\n}",
        "fn f(m: Msg) {\n  if m.kind == \"end\" { return }\n  if m.kind != \"text\" { count(m.n) } else { text(m.body) }\n}",
        "fn f(m: Msg) {\n  match m.kind {\n    \"text\" -> { text(m.body) }\n    \"count\" -> { count(m.n) }\n    \"end\" -> { 0 }\n  }\n}",
        "fn f(m: Msg) {\n  match m {\n    {kind: \"text\", body: b} -> { text(b) }\n    {kind: \"count\", n: n} -> { count(n) }\n    {kind: \"end\"} -> { 0 }\n  }\n}",
        "fn f(ms: list<Msg>) {\n  for m in ms {\n    match m.kind {\n      \"text\" -> { text(m.body) }\n      \"count\" | \"end\" -> { 0 }\n    }\n  }\n}",
        "fn f(m: Msg) {\n  match m.kind {\n    \"text\" | \"count\" -> { 1 }\n    \"end\" -> { 2 }\n    _ -> { unreachable(m) }\n  }\n}",
        "fn f(m: Msg) {\n  if m.kind == \"text\" || m.kind == \"count\" { return 1 }\n  if m.kind == \"end\" { return 2 }\n  unreachable(m)\n}",
        "fn f(m: {kind: \"a\", v?: int} | {kind: \"b\"}) {\n  if m.kind == \"a\" && m.v != nil { count(m.v) }\n}",
    ];
    let programs: Vec<String> = silent.iter().map(|program| format!("{types}{program}")).collect();
    fine(&programs.iter().map(String::as_str).collect::<Vec<_>>());
    refused(&[
        (
            &format!("{types}fn f(m: Msg) {{\n  if m.kind == \"count\" {{ text(m.n) }}\n}}"),
            "Argument 1 ('s'): expected string, got int",
        ),
        (
            &format!(
                "{types}fn f(m: Msg) {{\n  match m.kind {{\n    \"text\" -> {{ count(m.body) }}\n    _ -> {{ 0 }}\n  }}\n}}"
            ),
            "Argument 1 ('n'): expected int, got string",
        ),
        (
            &format!("{types}fn f(m: Msg) {{\n  if m.kind == \"text\" {{ return 1 }}\n  unreachable(m)\n}}"),
            "unreachable() argument has type `{kind: \"count\", n: int} | {kind: \"end\"}` \u{2014} not all cases are handled",
        ),
    ]);
}

#[test]
fn fields_keys_types_and_schemas() {
    fine(&[
        "fn need(s: string) { return s }\nfn f(u: {name: string | nil}) {\n  if u.name != nil { need(u.name) }\n  if u.name == nil { return }\n  need(u.name)\n}",
        "fn need(s: string) { return s }\nfn f(u: {a: {b: string | nil}}) {\n  guard u.a.b else { return }\n  need(u.a.b)\n}",
        "fn need(s: string) { return s }\nfn f(u: {nick?: string}) {\n  if u.has(\"nick\") { need(u.nick) }\n  need(u.nick ?? \"\")\n}",
        "fn need(s: string) { return s }\nfn f(u: {a: string} | {b: int}) {\n  if u.has(\"a\") { need(u.a) }\n}",
        "fn need(s: string) { return s }\nfn f(v: unknown) {\n  if type_of(v) == \"string\" { need(v) }\n}",
        "type User = {name: string}\nfn need(u: User) { return u }\nfn f(v: unknown) {\n  if schema_is(v, User) { need(v) }\n  guard is_type(v, User) else { return }\n  need(v)\n}",
        "fn n(i: int) { return i }\nfn f(v: int | string | list<int>) {\n  if type_of(v) == \"int\" { n(v) } else if type_of(v) == \"list\" { n(v[0]) } else { println(v.trim()) }\n}",
        "type T = \"a\" | \"b\" | \"c\"\nfn g(t: \"b\" | \"c\") { return t }\nfn f(t: T) {\n  if t == \"a\" { return }\n  g(t)\n}",
    ]);
    refused(&[
        (
            "fn n(i: int) { return i }\nfn f(v: unknown) {\n  if type_of(v) == \"string\" { n(v) }\n}",
            "Argument 1 ('i'): expected int, got string",
        ),
        (
            "type T = \"a\" | \"b\"\nfn g(t: \"b\") { return t }\nfn f(t: T) { g(t) }",
            "Argument 1 ('t'): expected \"b\", got \"a\" | \"b\"",
        ),
        (
            "fn need(s: string) { return s }\nfn f(u: {name: string | nil}) {\n  if u.name != nil {\n    u.name = nil\n    need(u.name)\n  }\n}",
            "Argument 1 ('s'): expected string, got string | nil",
        ),
    ]);
}
