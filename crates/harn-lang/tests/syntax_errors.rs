//! What is said about sources that cannot be read, and what is still read of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod tree;

use harn_lang::syntax::parse;

fn errors(source: &str) -> Vec<String> {
    parse(source).errors.into_iter().map(|error| error.message).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    for (source, expected) in cases {
        assert_eq!(errors(source), *expected, "source: {source}");
    }
}

#[test]
fn tokens_that_cannot_be_read() {
    check(&[
        ("x\nlet y = `", &["Unexpected character '`' at 2:9"]),
        ("# no", &["Unexpected character '#' at 1:1"]),
        ("a & b", &["Unexpected character '&' at 1:3"]),
        ("let é = \"abc\nlet x = 1", &["Unterminated string at 1:9"]),
        ("let a = \"${b\"\nlet c = 1", &["Unterminated string at 1:9"]),
        ("r\"abc", &["Unterminated string at 1:1"]),
        ("\"\"\"abc", &["Unterminated string at 1:1"]),
        ("a /* b /* c */", &["Unterminated block comment at 1:3"]),
        ("\"${}\"", &["Empty interpolation `${}` at 1:2"]),
        ("99999999999999999999w", &["Duration literal is too large at 1:1"]),
    ]);
}

#[test]
fn names_of_tokens() {
    check(&[
        ("let x = )", &["Expected expression, got ) at 1:9"]),
        ("let = 1", &["Expected identifier, got = at 1:5"]),
        ("let tool = 1", &["Expected identifier, got 'tool' (reserved keyword) at 1:5"]),
        ("let x y", &["Expected =, got id(y) at 1:7"]),
        ("let x 5", &["Expected =, got int(5) at 1:7"]),
        ("let x 5.5", &["Expected =, got float(5.5) at 1:7"]),
        ("let x 5s", &["Expected =, got duration(5s) at 1:7"]),
        ("let x \"t\"", &["Expected =, got str(t) at 1:7"]),
        ("let x\n", &["Expected =, got \\n at 1:6"]),
        ("let x = <<TAG", &["Expected expression, got < at 1:9"]),
    ]);
}

#[test]
fn ends_of_files() {
    check(&[
        ("pipeline p(t) {\n  let x = 1\n", &["Unexpected end of file, expected }"]),
        ("let x =", &["Unexpected end of file, expected expression"]),
        ("f(1", &["Unexpected end of file, expected )"]),
        ("f(", &["Unexpected end of file, expected expression"]),
        ("[1, 2\n", &["Unexpected end of file, expected ]"]),
        ("match x {", &["Unexpected end of file, expected }"]),
        ("select {", &["Unexpected end of file, expected }"]),
        ("skill s {", &["Unexpected end of file, expected }"]),
        ("fn f(a", &["Unexpected end of file, expected )"]),
        ("type A = list<int", &["Unexpected end of file, expected >"]),
    ]);
}

#[test]
fn separators() {
    check(&[
        ("a b", &["Expected top-level item separator (`;` or newline), got id(b) at 1:3"]),
        ("fn f() { a b }", &["Expected statement separator (`;` or newline), got id(b) at 1:12"]),
        ("skill s { a 1 b 2 }", &["Expected skill field separator (`;` or newline), got id(b) at 1:15"]),
        ("fn f() { a;; b }", &["Expected expression, got ; at 1:12"]),
        (
            "if a { b }; else { c }",
            &["Expected statement separator (`;` or newline), got 'else' (reserved keyword) at 1:13"],
        ),
        (
            "try { b }; catch { c }",
            &["Expected statement separator (`;` or newline), got 'catch' (reserved keyword) at 1:12"],
        ),
        ("f(x)(y)", &["Expected top-level item separator (`;` or newline), got ( at 1:5"]),
        ("[1 2]", &["Expected ], got int(2) at 1:4"]),
        ("f(a b)", &["Expected ), got id(b) at 1:5"]),
        ("a ? b : c ? d : e", &["Expected top-level item separator (`;` or newline), got ? at 1:11"]),
    ]);
}

#[test]
fn declarations_that_make_no_sense() {
    check(&[
        ("fn f(a = 1, b) {}", &["Required parameter cannot follow a parameter with a default value at 1:13"]),
        ("fn f(...a, b) {}", &["Rest parameter must be the last parameter at 1:9"]),
        (
            "@test\nlet x = 1",
            &[
                "Expected fn/tool/skill/eval_pack/pipeline/struct/enum/type/interface/impl declaration after `@attr`, \
               got non-declaration statement at 2:1",
            ],
        ),
        (
            "pub type A = int",
            &["Expected fn, gen fn, tool, skill, eval_pack, struct, enum, pipeline or import after pub, \
               got 'type' (reserved keyword) at 1:5"],
        ),
        ("fn f() {\n  import \"m\"\n}", &["Expected expression, got 'import' (reserved keyword) at 2:3"]),
        ("1 + 2 = 3", &["Invalid assignment target at 1:1"]),
        ("a?.b = 3", &["Invalid assignment target at 1:1"]),
        ("import \"${x}\"", &["Interpolation is not allowed here at 1:8"]),
        ("parallel 3 { 1 } as stream", &["`as stream` is only allowed after `parallel each` at 1:18"]),
        ("impl A { let x = 1 }", &["Expected fn, got 'let' (reserved keyword) at 1:10"]),
        ("let {a}: int = b", &["Expected =, got : at 1:8"]),
        ("type A = 99999999999999999999", &["Integer literal is too large at 1:10"]),
        ("}", &["Expected expression, got } at 1:1"]),
    ]);
}

#[test]
fn one_pass_reports_several_errors_and_keeps_the_rest() {
    let source =
        "let a = )\nfn f() {\n  let b = ]\n  return 1\n}\nif x ) {\n  let c = 2\n}\nlet d = 3\nlet e =\n";
    let parsed = parse(source);
    let errors: Vec<&str> = parsed.errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(
        (tree::module(&parsed.module), errors),
        (
            "(fn f [] {(return 1)})\n(let d 3)".to_owned(),
            vec![
                "Expected expression, got ) at 1:9",
                "Expected expression, got ] at 3:11",
                "Expected {, got ) at 6:6",
                "Unexpected end of file, expected expression",
            ]
        )
    );
}

#[test]
fn a_forgotten_bracket_does_not_hide_what_follows() {
    check(&[
        (
            "log(\"a\"\nlet x = 1\nlet y = )",
            &[
                "Expected expression, got 'let' (reserved keyword) at 2:1",
                "Expected expression, got ) at 3:9",
            ],
        ),
        (
            "let x = [1, 2\nreturn ]",
            &[
                "Expected expression, got 'return' (reserved keyword) at 2:1",
                "Expected expression, got ] at 2:8",
            ],
        ),
    ]);
}

#[test]
fn hints_say_what_to_write_instead() {
    let cases = [
        ("let x = <<TAG", "text over several lines is written in \"\"\"...\"\"\""),
        ("if a { b }; else { c }", "`else` follows the `}` of its `if`, without `;`"),
        ("fn f() {\n  import \"m\"\n}", "imports belong at the top level of the file"),
        ("a ? b : c ? d : e", "put the inner `? :` in parentheses"),
        ("f() = 1", "only a name, a field (`a.b`) or an element (`a[i]`) can be assigned to"),
    ];
    for (source, help) in cases {
        assert_eq!(parse(source).errors[0].help.as_deref(), Some(help), "source: {source}");
    }
}

/// What is nested, how an error about it starts, and that a little of it is allowed.
#[test]
fn nesting_is_limited() {
    let shapes = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{a: ", "1", "}"),
        ("{ x -> ", "1", "}"),
        ("f(", "1", ")"),
        ("!", "x", ""),
        ("-", "x", ""),
        ("", "x", ".y"),
        ("", "x", " ?"),
        ("2 ** ", "2", ""),
        ("if a { ", "1", " }"),
        ("if a { } else ", "if b { }", ""),
        ("try* ", "x", ""),
        ("spawn { match x { _ -> { ", "1", "} } }"),
        ("fn f() { ", "1", " }"),
        ("tool t() { description \"d\"; ", "1", " }"),
        ("impl A { pub fn f() { ", "1", " } }"),
        ("eval_pack e { ", "1", " }"),
        ("for x in y { ", "1", " }"),
        ("try { } catch e { ", "1", " }"),
        ("1 + f(2, { y -> [", "1", "] })"),
        ("parallel each xs { x -> ", "1", " }"),
        ("a ? (", "1", ") : b"),
        ("P {x: ", "1", "}"),
        ("a[", "1", "]"),
    ];
    for (open, inside, close) in shapes {
        let nested = |depth: usize| format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(errors(&nested(30)), Vec::<String>::new(), "{open}{close}");
        let deepest = (30..=200).rev().find(|depth| errors(&nested(*depth)).is_empty()).unwrap();
        let formatted = harn_lang::format::format(&nested(deepest)).unwrap();
        assert_eq!(tree::module(&parse(&formatted).module), tree::module(&parse(&nested(deepest)).module));
        for depth in [201, 10_000] {
            let found = errors(&nested(depth));
            assert_eq!(found.len(), 1, "{open}{close} {depth}: {found:?}");
            assert!(
                found[0].starts_with("Nesting limit exceeded: expressions may be nested 200 deep at 1:"),
                "{found:?}"
            );
        }
    }
    let types = |depth: usize| format!("type A = {}int{}", "list<".repeat(depth), ">".repeat(depth));
    assert_eq!(errors(&types(100)), Vec::<String>::new());
    assert!(errors(&types(1000))[0].starts_with("Nesting limit exceeded"));
    let strings = |depth: usize| format!("{}1{}", "\"${".repeat(depth), "}\"".repeat(depth));
    assert_eq!(errors(&strings(16)), Vec::<String>::new());
    assert_eq!(errors(&strings(17)), ["Nesting limit exceeded: strings may be nested 16 deep at 1:52"]);
}

/// Wide is not deep.
#[test]
fn length_is_not_limited() {
    for (first, next) in
        [("1", " + 1"), ("x", " |> f"), ("1 to 2", " |> 1 to 2"), ("f(", "1,"), ("1", "; -1 ? 2 : 3")]
    {
        let close = if first == "f(" { ")" } else { "" };
        let source = format!("{first}{}{close}", next.repeat(10_000));
        assert_eq!(errors(&source), Vec::<String>::new(), "{first}{next}");
    }
}

/// Depth that comes from several sides is added up, so that whoever walks the tree may recurse.
#[test]
fn depth_is_added_up() {
    let chain = ".a".repeat(150);
    let source = format!("{}x{}", "(".repeat(150), format!("){chain}").repeat(150));
    assert!(errors(&source)[0].starts_with("Nesting limit exceeded"));
}

#[test]
fn hostile_sources_end_with_few_errors() {
    let long = 300_000;
    let sources = [
        "!".repeat(long),
        "-".repeat(long),
        "(".repeat(long),
        "{".repeat(long),
        "[{(".repeat(long / 3),
        "}".repeat(long),
        ")]}".repeat(long / 3),
        "((((]]]]".repeat(long / 8),
        "a<".repeat(long / 2),
        format!("{}{}", "a<".repeat(long / 4), ">()".repeat(long / 4)),
        format!("{}1+2{}", "a<{k: ".repeat(long / 10), "}>(x)".repeat(long / 10)),
        format!("if a {{}}{}", " else if a {}".repeat(long / 13)),
        "/*".repeat(long / 2),
        "\"${".repeat(long / 3),
        format!("\"\"\"{}", "${".repeat(long / 2)),
        format!("\"\"\"{}\"\"\"", "${".repeat(long / 2)),
        "\"\n".repeat(long / 2),
        "#".repeat(long),
        "@a ".repeat(long / 3),
        "{ a -> ".repeat(long / 7),
        "\u{e9}\u{1f600}".repeat(long / 6),
        "let x = ) ".repeat(long / 10),
        "let x = )\n".repeat(long / 10),
        "fn f() {\n".repeat(long / 9),
        "x".repeat(30 * long),
        "1".repeat(long),
        "match x { ".repeat(long / 10),
        "/* a */".repeat(long / 7),
        format!("f({})", "/* a */ 1, // b\n".repeat(long / 17)),
        format!("x{}", " /* a */\n/* b */".repeat(long / 17)),
        format!("x{}", " + // a\n 1".repeat(long / 10)),
    ];
    for source in sources {
        let count = harn_lang::format::format(&source).err().unwrap_or_default().len();
        assert!(count <= 50, "{}: {count} errors", source.chars().take(20).collect::<String>());
    }
}
