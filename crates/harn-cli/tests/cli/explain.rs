//! The table of codes, held against the sources that give them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harn_cli::explain::{Kind, all, of};

use crate::kit::Project;

fn explained(kind: Kind) -> BTreeSet<String> {
    all().into_iter().filter(|entry| entry.kind == kind).map(|entry| entry.code.to_owned()).collect()
}

#[test]
fn every_error_code_of_the_api_is_explained_and_no_other() {
    let document = harn_serve::openapi();
    let codes = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    let codes: BTreeSet<String> = codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect();
    assert_eq!(explained(Kind::Error), codes);
}

#[test]
fn every_failure_that_the_sources_give_is_explained() {
    let explained = explained(Kind::Failure);
    let mut given = BTreeSet::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).unwrap();
        given.extend(named_after(&text, "Failure::new("));
        given.extend(named_after(&text, "failure_end("));
        if let Some((_, body)) = text.split_once("fn unfinished(") {
            given.extend(named_after(body, "("));
        }
        if let Some((_, body)) = text.split_once("impl ModelError {") {
            given.extend(named_after(body.split_once("pub fn retryable").unwrap().0, "=> "));
        }
    }
    for known in ["budget_exhausted", "journal_mismatch", "output_limit", "cut_stream"] {
        assert!(given.contains(known), "the sources are not read as they are written: {given:?}");
    }
    let silent: Vec<&String> = given.difference(&explained).collect();
    assert!(silent.is_empty(), "given and not explained: {silent:?}");
}

/// Codes that stand as text right after some words, but not after a longer name that ends with them.
fn named_after(text: &str, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(words) {
        let before = text[..at].chars().last().unwrap_or(' ');
        let Some(rest) = text[at + words.len()..].trim_start().strip_prefix('"') else { continue };
        let code = rest.split('"').next().unwrap_or_default();
        let is_code = !code.is_empty() && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if is_code && !before.is_alphanumeric() {
            found.push(code.to_owned());
        }
    }
    found
}

fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["harn-engine", "harn-harness", "harn-model"] {
        collect(&crates.join(name).join("src"), &mut files);
    }
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn entries_are_complete_and_told() {
    let project = Project::new();
    let mut seen = BTreeSet::new();
    for entry in all() {
        assert!(seen.insert((entry.kind, entry.code)), "{} twice", entry.code);
        for text in [entry.meaning, entry.causes, entry.to_do] {
            assert!(!text.trim().is_empty(), "{}", entry.code);
        }
    }
    let listed = project.out(&["explain"]);
    assert_eq!(listed.lines().count(), all().len() + 1);
    for code in ["rate_limited", "destructive", "20"] {
        let told = project.out(&["explain", code]);
        assert_eq!(told.matches("  means ").count(), of(code).len(), "{told}");
    }
}

#[test]
fn examples_of_problems_have_the_problem_and_their_mended_form_has_none() {
    let project = Project::new();
    let codes_in = |text: &str| -> Vec<String> {
        std::fs::write(project.path().join("example.harn"), text).unwrap();
        let found = project.run(&["check", "--json", "example.harn"]);
        let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
        found.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    };
    let mut count = 0;
    for entry in all().into_iter().filter(|entry| entry.kind == Kind::Script) {
        let Some(example) = harn_cli::explain::example(entry.code) else { continue };
        let found = codes_in(example.wrong);
        // What is not found before a script runs is found when it does.
        let fails = !project.run(&["run", "example.harn"]).status.success();
        assert!(found == [entry.code] || (found.is_empty() && fails), "{found:?}: {}", example.wrong);
        assert_eq!(codes_in(example.right), [""; 0], "{}", example.right);
        count += 1;
    }
    assert!(count >= 4);
    insta::assert_snapshot!(project.transcript(&[&["explain", "immutable"]]));
}
