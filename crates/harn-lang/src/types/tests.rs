//! The modules of the language itself, which are not looked at when a program is compiled.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::{Extent, check_extent};
use crate::bytecode::Source;
use crate::compile::{NoModules, Settings};
use crate::modules::Modules;

#[test]
fn the_prelude_and_the_standard_modules_have_no_problems() {
    let prelude = Source { name: "prelude".into(), text: crate::prelude::SOURCE.into() };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stdlib");
    let mut imports = String::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|end| end == "harn") {
            imports +=
                &format!("import {{ Nothing }} from \"std/{}\"\n", path.file_stem().unwrap().display());
        }
    }
    let entry = Source { name: "test.harn".into(), text: imports.into() };
    let Modules { modules, problems } = Modules::read(prelude, entry, &NoModules);
    assert_eq!(problems, []);
    let found = check_extent(&modules, &Settings::default(), Extent::Everything);
    let told: Vec<String> = found
        .iter()
        .map(|problem| {
            let source = &modules[usize::from(problem.module)].source;
            let line = crate::syntax::span::LineIndex::new(&source.text).line(problem.span.start);
            format!("{}:{line}: {}", source.name, problem.message)
        })
        .collect();
    assert_eq!(told, Vec::<String>::new());
}

/// A program of so many lines that narrows, assigns and declares.
fn long_program(lines: usize) -> String {
    let mut program = String::from("fn need(s: string, n: int) -> int { return n }\nvar total = 0\n");
    for at in 0..lines / 10 {
        write!(
            program,
            "let a{at}: string | nil = env(\"A{at}\")\n\
             if a{at} != nil {{\n  total = total + need(a{at}, {at})\n}} else {{\n  total = 0\n}}\n\
             fn f{at}(x: {{kind: \"a\", v: int}} | {{kind: \"b\"}}) -> int {{\n  if x.kind == \"a\" {{ return x.v }}\n  return total\n}}\n"
        )
        .unwrap();
    }
    program
}

#[test]
fn the_time_grows_with_the_length() {
    let measure = |lines: usize| -> Duration {
        let prelude = Source { name: "prelude".into(), text: "".into() };
        let entry = Source { name: "test.harn".into(), text: long_program(lines).into() };
        let Modules { modules, .. } = Modules::read(prelude, entry, &NoModules);
        let start = Instant::now();
        assert_eq!(check_extent(&modules, &Settings::default(), Extent::Program), []);
        start.elapsed()
    };
    measure(1000);
    let (short, long) = (measure(2000), measure(20_000));
    // Ten times the length takes about ten times as long; a hundred times would be a bug.
    assert!(long < short * 40, "{short:?} and {long:?}");
}
