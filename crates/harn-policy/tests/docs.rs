//! `docs/policy.md` says what is: its example works, and its tables are complete.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use harn_core::decision::RiskLabel;
use harn_policy::{Match, PermissionsFile};

const PAGE: &str = include_str!("../../../docs/policy.md");

#[test]
fn the_example_is_read_and_its_tests_pass() {
    let example = PAGE.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = PermissionsFile::parse(example).unwrap();
    let reports = file.run_tests();
    assert_eq!(reports.len(), 4);
    let failed: Vec<_> = reports.iter().filter(|report| !report.passed()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_label_and_dimension_has_its_line() {
    for label in RiskLabel::ALL {
        let line = format!("| `{}` | {} |", label.as_str(), label.meaning().trim());
        assert!(PAGE.contains(&line), "{line}");
    }
    let table = PAGE.split("## What a rule can match").nth(1).unwrap().split("## Built-in").next().unwrap();
    for key in Match::KEYS {
        assert!(table.contains(&format!("`{key}`")), "{key}");
    }
}
