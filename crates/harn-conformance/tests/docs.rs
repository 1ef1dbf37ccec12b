//! The table in docs/conformance.md is the table of the code. `UPDATE_DOCS=1` writes it anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

const BEGIN: &str = "<!-- checks: made by the test `docs` -->\n";
const END: &str = "<!-- end of checks -->";

fn table() -> String {
    let mut table = String::from("\n| category | check | sentence |\n|---|---|---|\n");
    for check in harn_conformance::checks() {
        table.push_str(&format!("| {} | `{}` | {} |\n", check.category, check.name, check.sentence));
    }
    table + "\n"
}

#[test]
fn every_check_stands_in_the_manual() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page marks where the table begins");
    let (found, after) = rest.split_once(END).expect("the page marks where the table ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(found, table(), "run UPDATE_DOCS=1 cargo test -p harn-conformance --test docs");
}

#[test]
fn check_names_are_unique_and_sentences_say_where_they_come_from() {
    let mut names = std::collections::BTreeSet::new();
    for check in harn_conformance::checks() {
        assert!(names.insert((check.category, check.name)), "{check:?} twice");
        let source = check.sentence.starts_with("spec 001, ") || check.sentence.starts_with("OpenAPI, ");
        assert!(source && !check.sentence.contains('|'), "{check:?}: {}", check.sentence);
        assert!(check.remedy.ends_with('.'), "{check:?}: {}", check.remedy);
    }
}
