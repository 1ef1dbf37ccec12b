//! Imports: what they bring, what they hide, and what is wrong with them.

use harn_lang::bytecode::Source;
use harn_lang::compile::Loader;

use crate::host::run;

/// Modules by name; all of them are in one folder.
struct Files<'a>(&'a [(&'a str, &'a str)]);

impl Loader for Files<'_> {
    fn load(&self, path: &str, _from: &str) -> Result<Source, String> {
        let found = self.0.iter().find(|(name, _)| *name == path);
        match found {
            Some((name, text)) => Ok(Source { name: (*name).into(), text: (*text).into() }),
            None => Err(format!("Import error: cannot read '{path}': there is no such file")),
        }
    }
}

const FILES: Files<'static> = Files(&[
    (
        "shapes",
        "pub fn area(r) { return helper(r) }\nfn helper(r) { return r * r }\npub fn side(a) { return a }",
    ),
    ("open", "fn one() { return 1 }\nfn two() { return one() + one() }"),
    ("more", "pub fn area(r) { return 0 }"),
    ("counter", "var count = 0\nlet step = 2\npub fn next() {\n  count = count + step\n  return count\n}"),
    ("again", "import { next } from \"counter\"\npub fn twice() {\n  next()\n  return next()\n}"),
    ("all", "pub import \"shapes\"\npub import { two } from \"open\"\npub fn own() { return area(3) }"),
    ("clash", "pub import \"shapes\"\npub import \"more\""),
    ("both", "pub import \"shapes\"\npub fn area(r) { return 1 }"),
    ("hidden", "import \"shapes\"\npub fn visible() { return side(1) }"),
    ("ping", "import \"pong\"\npub fn ping(n) { return n }\nprintln(\"ping is set up\")"),
    ("pong", "import \"ping\"\npub fn pong(n) { return n + 1 }\nprintln(\"pong is set up\")"),
    ("stats", "pub fn median(items) { return \"mine\" }"),
    ("things", "struct P { x: int }\nlet hidden = 1\ntype T = int\npub fn make() { return P {x: hidden} }"),
    ("shows", "pub fn show() { return render(\"a.txt\") }\npub fn all() { return [\"b.txt\"].map(render) }"),
    ("broken", "let = 3"),
]);

fn check(cases: &[(&str, &str)]) {
    for (program, expected) in cases {
        assert_eq!(run(program, &FILES), *expected, "{program}");
    }
}

#[test]
fn what_an_import_brings() {
    check(&[
        ("import \"shapes\"\nprintln(area(3))", "9\n"),
        ("import \"shapes\"\nprintln(helper(3))", "call target `helper` is not defined or imported"),
        ("import { helper } from \"shapes\"\nprintln(helper(3))", "9\n"),
        ("import \"open\"\nprintln(one() + two())", "3\n"),
        ("import \"all\"\nprintln([area(2), side(1), two(), own()])", "[4, 1, 2, 9]\n"),
        ("import { area } from \"all\"\nprintln(area(2))", "4\n"),
        ("import \"hidden\"\nprintln(visible())", "1\n"),
        ("import \"shapes\"\nfn area(r) { return side(r) + 1 }\nprintln([area(3), side(2)])", "[4, 2]\n"),
        ("import \"shapes\"\nlet area = 5\nprintln([area, side(2)])", "[5, 2]\n"),
        ("import \"shapes\"\nvar area = 5\narea = 6\nprintln(area)", "6\n"),
        ("import \"shapes\"\nfn f(area) { return area }\nprintln(f(7))", "7\n"),
        ("import \"things\"\nprintln(make())", "P {x: 1}\n"),
        ("import { make, T } from \"things\"\nprintln(make().x)", "1\n"),
        ("import \"shapes\"\nlet f = area\nprintln([1, 2].map(f))", "[1, 4]\n"),
        ("import \"std/json\"\nimport \"std/json\"\nprintln(pick({a: 1, b: 2}, [\"a\"]))", "{a: 1}\n"),
        ("import \"std/json.harn\"\nprintln(omit({a: 1}, [\"a\"]))", "{}\n"),
    ]);
}

#[test]
fn imported_names_hide_builtins() {
    check(&[
        ("println(median([1, 2]))", "1.5\n"),
        ("import \"stats\"\nprintln(median([1, 2]))", "mine\n"),
        ("import \"stats\"\nprintln([1, 2] |> median)", "mine\n"),
        ("import \"stats\"\nfn f() { return median([1]) }\nprintln(f())", "mine\n"),
        (
            "import \"std/math\"\nprintln(try { median([]) } catch (e) { e })",
            "median: items must not be empty\n",
        ),
        ("import { cancel } from \"std/waitpoint\"\nprintln(cancel(\"w\", nil).status)", "cancelled\n"),
        (
            "type T = {a: int}\nimport \"std/schema\"\nprintln([is_type({a: 1}, T), is_type({}, T)])",
            "[true, false]\n",
        ),
    ]);
}

#[test]
fn modules_are_set_up_once_and_share_their_variables() {
    check(&[
        ("import \"counter\"\nprintln([next(), next()])", "[2, 4]\n"),
        ("import \"counter\"\nimport \"again\"\nprintln([next(), twice(), next()])", "[2, 6, 8]\n"),
        (
            "import \"ping\"\nimport \"pong\"\nprintln([ping(1), pong(1)])",
            "pong is set up\nping is set up\n[1, 2]\n",
        ),
    ]);
}

#[test]
fn templates_are_asked_for_with_the_module_that_asks() {
    check(&[
        ("import \"shows\"\nprintln(show())", "{asked: render, with: [a.txt, nil, shows]}\n"),
        ("import \"shows\"\nprintln(all())", "[{asked: render, with: [b.txt, nil, shows]}]\n"),
        ("println(render(\"c.txt\", {n: 1}))", "{asked: render, with: [c.txt, {n: 1}, main.harn]}\n"),
        ("println(source_dir())", "{asked: source_dir, with: [main.harn]}\n"),
    ]);
}

#[test]
fn what_is_wrong_with_an_import() {
    check(&[
        ("import \"nowhere\"", "Import error: cannot read 'nowhere': there is no such file"),
        ("import { area, gone } from \"shapes\"", "Import error: 'gone' is not defined in shapes"),
        (
            "import \"shapes\"\nimport \"more\"",
            "Import collision: 'area' is already defined when importing more. Use selective imports to disambiguate: \
             import { area } from \"...\"",
        ),
        (
            "import \"std/async\"\nimport \"std/monitors\"",
            "Import collision: 'wait_for' is already defined when importing std/monitors. Use selective imports to \
             disambiguate: import { wait_for } from \"...\"",
        ),
        ("import { side } from \"shapes\"\nimport \"more\"\nprintln([side(4), area(9)])", "[4, 0]\n"),
        (
            "import \"clash\"",
            "Import collision: 'area' is already defined when importing more. Use selective imports to disambiguate: \
             import { area } from \"...\"",
        ),
        ("import \"both\"", "Re-export collision: 'area' is defined here and in shapes, which is passed on"),
        ("import \"broken\"", "Expected identifier, got = at 1:5"),
        ("import \"std/nothing\"", "Unknown stdlib module: std/nothing"),
        ("import \"std/jsn\"", "Unknown stdlib module: std/jsn (did you mean `std/json`?)"),
        (
            "import \"std/vision\"",
            "Unknown stdlib module: std/vision (reading text in images is not offered; give the image to a model)",
        ),
        (
            "import \"std/connectors/github\"",
            "Unknown stdlib module: std/connectors/github (connectors are not offered; call the service over HTTP or MCP)",
        ),
    ]);
}
