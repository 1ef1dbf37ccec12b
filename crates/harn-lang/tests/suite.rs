//! Programs with what they print, or the error that they end with.
//!
//! `NAME.harn` has `NAME.expected` (all of its output) or `NAME.error` beside it: texts of which the error has to
//! contain one, each on a line of its own; one that begins with `re:` is a regular expression. Files that others import
//! are in folders named `modules`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod coverage;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use harn_lang::bytecode::Source;
use harn_lang::compile::Loader;
use harn_lang::vm::Limits;
use regex::Regex;
use support::{Ran, run_source};

/// Modules beside the file that imports them.
struct Beside;

impl Loader for Beside {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        let wanted = Path::new(from).parent().unwrap_or_else(|| Path::new(".")).join(path);
        let found = if wanted.extension().is_some() { wanted } else { wanted.with_extension("harn") };
        let found =
            found.canonicalize().map_err(|error| format!("Import error: cannot read '{path}': {error}"))?;
        Ok(read(&found))
    }
}

fn read(path: &Path) -> Source {
    let text = fs::read_to_string(path).expect("a readable program");
    Source { name: path.to_str().expect("a plain path").into(), text: text.into() }
}

/// All of them; with `SUITE=part` those whose path has that part.
fn programs() -> Vec<PathBuf> {
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite")];
    let mut found = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).expect("a folder of programs") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "modules") {
                waiting.push(path);
            } else if path.extension().is_some_and(|ending| ending == "harn") {
                found.push(path);
            }
        }
    }
    let wanted = std::env::var("SUITE").unwrap_or_default();
    found.retain(|path| path.to_str().is_some_and(|path| path.contains(&wanted)));
    found.sort();
    found
}

/// What is wrong with how a program ended.
fn judge(program: &Path, ran: Ran) -> Option<String> {
    let (expected, error) = (program.with_extension("expected"), program.with_extension("error"));
    if let Ok(expected) = fs::read_to_string(expected) {
        return match ran.result {
            Err(error) => Some(format!("error: {error}\nafter:\n{}", ran.output)),
            Ok(_) if ran.output.trim_end() == expected.trim_end() => None,
            Ok(_) => Some(difference(expected.trim_end(), ran.output.trim_end())),
        };
    }
    let wanted = fs::read_to_string(error).unwrap_or_default();
    match ran.result {
        Ok(_) => Some(format!("no error, but this output:\n{}", ran.output)),
        Err(error) if wanted.trim_end().lines().any(|line| is_found(line, &error)) => None,
        Err(error) => Some(format!("wanted: {wanted}got:    {error}")),
    }
}

fn is_found(wanted: &str, error: &str) -> bool {
    match wanted.strip_prefix("re:") {
        Some(pattern) => Regex::new(pattern).expect("a regular expression").is_match(error),
        None => error.contains(wanted),
    }
}

fn difference(expected: &str, got: &str) -> String {
    let (expected, got): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    let mut told = String::new();
    for at in 0..expected.len().max(got.len()) {
        let (wanted, found) = (expected.get(at), got.get(at));
        if wanted != found {
            told += &format!("line {}:\n  wanted {wanted:?}\n  got    {found:?}\n", at + 1);
        }
    }
    told
}

#[test]
fn programs_do_what_is_expected() {
    let all = programs();
    let wrong: Vec<String> = (all.iter())
        .filter_map(|path| {
            let found = judge(path, run_source(read(path), &Beside, Limits::default()))?;
            Some(format!("==== {}\n{found}", path.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} programs:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn every_program_has_one_expectation() {
    for path in programs() {
        let has = |ending: &str| path.with_extension(ending).is_file();
        assert!(has("expected") != has("error"), "{}", path.display());
    }
}

/// The formatter changes no meaning: a program in its usual form ends as it did.
#[test]
fn programs_in_their_usual_form_do_the_same() {
    for path in programs() {
        let source = read(&path);
        let Ok(formatted) = harn_lang::format::format(&source.text) else { continue };
        let found = judge(
            &path,
            run_source(Source { text: formatted.clone().into(), ..source }, &Beside, Limits::default()),
        );
        // The lines of errors move.
        let expectation = ["expected", "error"].map(|ending| fs::read_to_string(path.with_extension(ending)));
        let moves = expectation.into_iter().flatten().any(|text| text.contains("(line "));
        assert!(found.is_none() || moves, "{}\n{}\n{formatted}", path.display(), found.unwrap_or_default());
    }
}
