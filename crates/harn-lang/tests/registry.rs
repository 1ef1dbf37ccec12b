//! The registry of builtins as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pages;

use std::collections::{BTreeMap, BTreeSet};

use harn_lang::builtins::{self, Body, Builtin, GROUPS};

const TESTS: &[&str] = &[
    include_str!("builtins_core.rs"),
    include_str!("builtins_data.rs"),
    include_str!("builtins_wire.rs"),
    include_str!("builtins_web.rs"),
    include_str!("builtins_vm.rs"),
];

/// What programs may call; the prelude has some of its own.
fn of_programs() -> impl Iterator<Item = &'static Builtin> {
    builtins::all().filter(|builtin| !builtin.name.starts_with("__"))
}

#[test]
fn every_builtin_is_there_once_and_is_found_by_its_name() {
    let names: BTreeSet<_> = of_programs().map(|builtin| builtin.name).collect();
    assert_eq!((names.len(), of_programs().count()), (824, 824));
    for name in names {
        let number = builtins::find(name).unwrap();
        assert_eq!(builtins::name_of(number), name);
    }
    assert!(builtins::find("no_such_builtin").is_none());
}

#[test]
fn the_kinds_of_builtins_are_as_many_as_expected() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for builtin in of_programs() {
        let kind = match builtin.body {
            Body::Pure(_) => "pure",
            Body::Prelude => "prelude",
            Body::Vm => "vm",
            Body::Effect => "effect",
            Body::Refused(_) => "refused",
        };
        *kinds.entry(kind).or_default() += 1;
    }
    insta::assert_snapshot!(format!("{kinds:?}"), @r#"{"effect": 63, "prelude": 255, "pure": 273, "refused": 153, "vm": 80}"#);
}

#[test]
fn every_builtin_is_documented_in_a_sentence() {
    for builtin in GROUPS.iter().flat_map(|group| group.builtins) {
        assert!(builtin.doc.ends_with('.') && builtin.doc.len() > 10, "{}: {}", builtin.name, builtin.doc);
        assert!(!builtin.returns.is_empty(), "{}", builtin.name);
        if let Body::Refused(why) = builtin.body {
            assert!(why.len() > 20, "{}: {why}", builtin.name);
        }
    }
}

#[test]
fn every_pure_builtin_has_a_test() {
    let untested: Vec<_> = of_programs()
        .filter(|builtin| matches!(builtin.body, Body::Pure(_)))
        .filter(|builtin| !TESTS.iter().any(|test| test.contains(&format!("{}(", builtin.name))))
        .map(|builtin| builtin.name)
        .collect();
    assert_eq!(untested, Vec::<&str>::new());
}
