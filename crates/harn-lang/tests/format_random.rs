//! Random programs and random garbage, read and laid out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod generate;
mod laid_out;
mod tree;

use harn_lang::format::format;
use harn_lang::syntax::parse;
use proptest::prelude::*;

use laid_out::{checked, programs};

const WORDS: &[&str] = &[
    "a",
    "Foo",
    "_",
    "5",
    "1.5",
    "3s",
    "\"s\"",
    "\"${a}\"",
    "\"${\"",
    "r\"x\"",
    "\"\"\"\n t\n\"\"\"",
    "let",
    "var",
    "fn",
    "if",
    "else",
    "for",
    "in",
    "not",
    "match",
    "try",
    "catch",
    "pipeline",
    "pub",
    "import",
    "struct",
    "enum",
    "type",
    "tool",
    "skill",
    "select",
    "parallel",
    "each",
    "with",
    "as",
    "stream",
    "return",
    "yield",
    "gen",
    "guard",
    "true",
    "nil",
    "to",
    "exclusive",
    "eval_pack",
    "impl",
    "interface",
    "from",
    "extends",
    "where",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    ";",
    ".",
    "?.",
    "?",
    "=",
    "==",
    "!",
    "+",
    "-",
    "*",
    "**",
    "/",
    "%",
    "<",
    ">",
    "->",
    "|>",
    "|",
    "||",
    "&&",
    "??",
    "...",
    "@",
    "+=",
    "\n",
    "\n",
    "\n",
    " ",
    "// c\n",
    "/* b */",
    "/// d\n",
    "\\\n",
    "#",
    "\u{e9}",
    "\u{1f600}",
    "\"",
];

const NOTES: &[&str] = &[
    " // n\n",
    " /* n */ ",
    "/* n */",
    "\n/// n\n",
    "\n",
    "\n\n\n",
    "/* n\n  m */",
    "/** n */",
    "\n// n\n\n// m\n",
];

/// Whatever it is, reading it ends, and what can be read is laid out without a change.
fn survives(source: &str) {
    let parsed = parse(source);
    assert!(parsed.errors.len() <= 50);
    match format(source) {
        Ok(_) => drop(checked(source)),
        Err(errors) => assert_eq!(errors, parsed.errors),
    }
}

fn seed() -> impl Strategy<Value = String> {
    prop::sample::select(programs().into_iter().map(|(_, source)| source).collect::<Vec<_>>())
}

/// A place in a text, as a part of its length.
fn place(text: &str, part: f64) -> usize {
    let mut at = (text.len() as f64 * part) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_have_their_tree_in_any_layout(program in generate::program()) {
        let parsed = parse(&program.text);
        prop_assert_eq!(&parsed.errors, &vec![], "{}", program.text);
        prop_assert_eq!(tree::module(&parsed.module), program.tree, "{}", program.text);
        checked(&program.text);
    }

    #[test]
    fn words_in_any_order_are_survived(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        survives(&words.join(" "));
        survives(&words.concat());
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,80}") {
        survives(&text);
    }

    #[test]
    fn changed_programs_are_survived(
        source in seed(),
        changes in prop::collection::vec((0.0..1.0f64, 0.0..0.05f64, prop::sample::select(WORDS)), 1..4),
    ) {
        let mut text = source;
        for (part, length, word) in changes {
            let (start, end) = (place(&text, part), place(&text, (part + length).min(1.0)));
            text.replace_range(start..end, word);
        }
        survives(&text);
    }

    #[test]
    fn comments_anywhere_are_kept(
        source in prop_oneof![seed(), generate::program().prop_map(|program| program.text)],
        notes in prop::collection::vec((0.0..1.0f64, prop::sample::select(NOTES)), 1..8),
    ) {
        let mut text = source;
        for (part, note) in notes {
            let at = place(&text, part);
            let at = text[at..].find([' ', '\n', '(', ')', ',', '{', '}', '[', '.']).map_or(text.len(), |ahead| at + ahead);
            text.insert_str(at, note);
        }
        survives(&text);
    }
}
