//! What the checker says about a program.

use std::collections::HashMap;

use harn_lang::bytecode::Source;
use harn_lang::compile::{Loader, NoModules, Settings, check};
use harn_lang::problem::Problem;

pub fn problems(text: &str) -> Vec<Problem> {
    problems_with(text, &NoModules, &Settings::default())
}

pub fn problems_with(text: &str, loader: &dyn Loader, settings: &Settings) -> Vec<Problem> {
    check(Source { name: "test.harn".into(), text: text.into() }, loader, settings).all
}

fn messages(text: &str, is_wanted: impl Fn(&Problem) -> bool) -> Vec<String> {
    problems(text).into_iter().filter(is_wanted).map(|problem| problem.message).collect()
}

pub fn errors(text: &str) -> Vec<String> {
    messages(text, Problem::is_error)
}

pub fn warnings(text: &str) -> Vec<String> {
    messages(text, |problem| !problem.is_error())
}

/// Each program has exactly this error, and no other.
pub fn refused(cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (program, expected) in cases {
        let found = errors(program);
        if found != [*expected] {
            wrong.push(format!("{program}\n  expected {expected:?}\n  got      {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing is wrong with any of them.
pub fn fine(programs: &[&str]) {
    let mut wrong = Vec::new();
    for program in programs {
        let found: Vec<String> = problems(program).into_iter().map(|problem| problem.message).collect();
        if !found.is_empty() {
            let shown: String = program.chars().take(2000).collect();
            wrong.push(format!("{shown}\n  got {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Modules by path.
pub struct Files(pub HashMap<&'static str, &'static str>);

impl Loader for Files {
    fn load(&self, path: &str, _from: &str) -> Result<Source, String> {
        match self.0.get(path) {
            Some(text) => Ok(Source { name: path.into(), text: (*text).into() }),
            None => Err(format!("Import error: cannot read '{path}'")),
        }
    }
}
