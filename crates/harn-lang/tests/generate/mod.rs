//! Random programs, each with the tree that it must have.

use proptest::prelude::*;

/// A piece of a program and how its tree is printed.
#[derive(Clone, Debug)]
pub struct Piece {
    pub text: String,
    pub tree: String,
}

fn piece(text: impl Into<String>, tree: impl Into<String>) -> Piece {
    Piece { text: text.into(), tree: tree.into() }
}

fn same(text: &str) -> Piece {
    piece(text, text)
}

fn texts(pieces: &[Piece], separator: &str) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(separator)
}

fn trees(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.tree.as_str()).collect::<Vec<_>>().join(" ")
}

/// What may stand after a comma or an operator without changing anything.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => Just(" "), 1 => Just("\n  "), 1 => Just(" // note\n"), 1 => Just(" /* note */ "), 1 => Just("\n\n/* a\n b */\n")]
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "count", "long_name_of_a_thing", "é", "each", "description", "not"])
}

fn leaf() -> BoxedStrategy<Piece> {
    prop_oneof![
        3 => name().prop_map(same),
        2 => (0..1000i64).prop_map(|int| same(&int.to_string())),
        1 => Just(piece("5s", "5000ms")),
        1 => Just(same("nil")),
        1 => Just(same("true")),
        1 => Just(same("1.5")),
        1 => Just(same("\"text // no { comment\"")),
        1 => Just(piece("r\"\\d\"", "\"\\\\d\"")),
        1 => Just(piece("\"\"\"\n  x\n    y ${a}\n  \"\"\"", "(str \"x\\n  y \" a)")),
        1 => Just(piece("{}", "(dict)")),
        1 => Just(same("[]")),
    ]
    .boxed()
}

const LEVELS: [&[&str]; 7] =
    [&["||"], &["&&"], &["==", "!="], &["<=", ">=", "in", "not in"], &["+", "-"], &["??"], &["*", "/", "%"]];

/// Operands that bind more tightly than any binary operator.
fn operand(inner: BoxedStrategy<Piece>) -> BoxedStrategy<Piece> {
    let list = prop::collection::vec(inner.clone(), 0..5);
    let close = prop::sample::select(vec!["", ",", "\n", ", // last\n"]);
    prop_oneof![
        3 => leaf(),
        2 => inner.clone().prop_map(|it| piece(format!("({})", it.text), format!("(paren {})", it.tree))),
        2 => (list.clone(), space(), close).prop_map(|(items, space, close)| {
            let close = if items.is_empty() { "" } else { close };
            piece(format!("[{}{close}]", texts(&items, &format!(",{space}"))), format!("[{}]", trees(&items)))
        }),
        2 => (name(), list.clone(), space()).prop_map(|(name, items, space)| {
            let tree = if items.is_empty() { format!("(call {name})") } else { format!("(call {name} {})", trees(&items)) };
            piece(format!("{name}({})", texts(&items, &format!(",{space}"))), tree)
        }),
        1 => (inner.clone(), space()).prop_map(|(value, space)| {
            piece(format!("{{a:{space}{0}, if: {0}}}", value.text).replace("// note\n}", "}"), format!("(dict a:{0} if:{0})", value.tree))
        }),
        1 => inner.clone().prop_map(|it| piece(format!("{{ x -> {} }}", it.text), format!("(closure [x] {{{}}})", it.tree))),
        1 => (inner.clone(), inner.clone()).prop_map(|(first, second)| {
            piece(format!("fn(x) {{ let y = {}; {} }}", first.text, second.text), format!("(lambda [x] {{(let y {}); {}}})", first.tree, second.tree))
        }),
        1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| piece(
            format!("if ({}) {{ {} }}\nelse {{\n{} }}", c.text, a.text, b.text),
            format!("(if (paren {}) {{{}}} {{{}}})", c.tree, a.tree, b.tree),
        )),
        1 => (inner.clone(), inner.clone()).prop_map(|(subject, body)| piece(
            format!("match ({}) {{\n  1 | 2 -> {{ {} }}\n _ -> {{}} }}", subject.text, body.text),
            format!("(match (paren {}) (arm 1|2 {{{}}}) (arm _ {{}}))", subject.tree, body.tree),
        )),
    ]
    .boxed()
}

/// An operand with something behind it.
fn postfix(inner: BoxedStrategy<Piece>) -> BoxedStrategy<Piece> {
    let link = (name(), inner.clone(), 0..5usize, prop::bool::ANY);
    (operand(inner), prop::collection::vec(link, 0..4))
        .prop_map(|(head, links)| {
            let simple = head.text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '(' | '['));
            let mut it = if simple {
                head
            } else {
                piece(format!("({})", head.text), format!("(paren {})", head.tree))
            };
            for (name, arg, kind, broken) in links {
                let line = if broken { "\n  " } else { "" };
                it = match kind {
                    0 => piece(format!("{}{line}.{name}", it.text), format!("(. {} {name})", it.tree)),
                    1 => {
                        piece(format!("{}{line}?.{name}()", it.text), format!("(?method {} {name})", it.tree))
                    }
                    2 => piece(
                        format!("{}[{}]", it.text, arg.text),
                        format!("(index {} {})", it.tree, arg.tree),
                    ),
                    3 => piece(
                        format!("{}[{}:]", it.text, arg.text),
                        format!("(slice {} {} _)", it.tree, arg.tree),
                    ),
                    _ => piece(
                        format!("{}{line}.{name}({})", it.text, arg.text),
                        format!("(method {} {name} {})", it.tree, arg.tree),
                    ),
                };
            }
            it
        })
        .boxed()
}

/// Operators of one level; looser ones inside are in parentheses.
fn expression(inner: BoxedStrategy<Piece>) -> BoxedStrategy<Piece> {
    let operand = postfix(inner.clone());
    let chain = (
        0..LEVELS.len(),
        operand.clone(),
        prop::collection::vec((0..4usize, operand.clone(), space()), 1..4),
    );
    prop_oneof![
        4 => operand.clone(),
        1 => (prop::sample::select(vec![("!", "!"), ("-", "neg")]), operand.clone())
            .prop_map(|((sign, tree), it)| piece(format!("{sign}{}", it.text), format!("({tree} {})", it.tree))),
        3 => chain.prop_map(|(level, first, rest)| {
            let (mut text, mut tree) = (first.text, format!("({}", first.tree));
            for (op, it, space) in rest {
                let op = LEVELS[level][op % LEVELS[level].len()];
                text.push_str(&format!(" {op}{space}{}", it.text));
                tree.push_str(&format!(" {op} {}", it.tree));
            }
            piece(text, tree + ")")
        }),
        1 => (operand.clone(), operand.clone(), prop::bool::ANY).prop_map(|(a, b, broken)| {
            let line = if broken { "\n  // note\n  " } else { " " };
            piece(format!("{}{line}|> {}", a.text, b.text), format!("({} |> {})", a.tree, b.tree))
        }),
        1 => (operand.clone(), operand).prop_map(|(a, b)| {
            piece(format!("{} to {} exclusive", a.text, b.text), format!("(to-exclusive {} {})", a.tree, b.tree))
        }),
        1 => (postfix(inner.clone()), postfix(inner)).prop_map(|(a, b)| {
            piece(format!("(cond) ? ({}) : {}", a.text, b.text), format!("(?: (paren cond) (paren {}) {})", a.tree, b.tree))
        }),
    ]
    .boxed()
}

fn statement() -> BoxedStrategy<Piece> {
    let value = leaf().prop_recursive(4, 40, 4, |inner| expression(inner.boxed())).boxed();
    let paren = value.clone().prop_map(|it| piece(format!("({})", it.text), format!("(paren {})", it.tree)));
    prop_oneof![
        3 => value.clone().prop_map(|it| piece(format!("let x = {}", it.text), format!("(let x {})", it.tree))),
        1 => value.clone().prop_map(|it| piece(format!("var {{a, b: c}} =\n {}", it.text), format!("(var ({{}} a b:c) {})", it.tree))),
        2 => paren.prop_map(|it| it),
        1 => value.clone().prop_map(|it| piece(format!("return {}", it.text), format!("(return {})", it.tree))),
        1 => value.clone().prop_map(|it| piece(format!("a.b[0] += {}", it.text), format!("(+= (index (. a b) 0) {})", it.tree))),
        1 => (value.clone(), value.clone()).prop_map(|(source, body)| piece(
            format!("for x in ({}) {{ f({}) }}", source.text, body.text),
            format!("(for x (paren {}) {{(call f {})}})", source.tree, body.tree),
        )),
        1 => (value.clone(), value).prop_map(|(default, body)| piece(
            format!("/// Doc.\npub fn f<T>(a: int, b: list<T> | nil = {}) -> {{k: int}} {{\n// in\n\n\nreturn {} // end\n}}", default.text, body.text),
            format!("doc \"Doc.\" pub (fn f <T> [a:int b:list<T>|nil={}] ->{{k:int}} {{(return {})}})", default.tree, body.tree),
        )),
    ]
    .boxed()
}

/// A whole program.
pub fn program() -> BoxedStrategy<Piece> {
    let end = prop::sample::select(vec![
        "\n",
        "\n",
        ";\n",
        "\n\n\n",
        " // end\n",
        "\n// own\n",
        " /* in */\n",
        "\n/* a\n  b */\n\n",
    ]);
    prop::collection::vec((statement(), end), 1..6)
        .prop_map(|statements| {
            let text = statements.iter().map(|(it, end)| format!("{}{end}", it.text)).collect::<String>();
            let tree = statements.iter().map(|(it, _)| it.tree.as_str()).collect::<Vec<_>>().join("\n");
            piece(text, tree)
        })
        .boxed()
}
