//! Which tests there are: pipelines named `test_…` or marked `@test`, in files that mention either.

use std::path::{Path, PathBuf};

use anyhow::Result;
use harn_lang::bytecode::Source;
use harn_lang::syntax::ast::{DeclKind, StmtKind};
use harn_lang::syntax::parse;

use super::super::files::{read, scripts};
use crate::output::plain;
use crate::problem::Problem;

/// A test, or a file that cannot be read as one.
pub struct Test {
    pub file: PathBuf,
    pub source: Source,
    /// The pipeline; none if the file has errors, which then are the failure.
    pub pipeline: Option<String>,
}

impl Test {
    pub fn label(&self) -> String {
        match &self.pipeline {
            Some(pipeline) => format!("{}::{pipeline}", self.file.display()),
            None => self.file.display().to_string(),
        }
    }
}

pub fn find(path: &Path, filter: Option<&str>) -> Result<Vec<Test>> {
    if !path.exists() {
        let hint = "name a file or a folder, or put tests into `tests/`; `harn new --list` shows a template";
        return Err(Problem::new(format!("there are no tests at {}", plain(&path.display().to_string())))
            .hint(hint)
            .into());
    }
    let mut found = Vec::new();
    for file in scripts(&[path.to_path_buf()])? {
        let source = read(&file)?;
        if !source.text.contains("test_") && !source.text.contains("@test") {
            continue;
        }
        let parsed = parse(&source.text);
        if !parsed.errors.is_empty() {
            found.push(Test { file, source, pipeline: None });
            continue;
        }
        for stmt in &parsed.module.body {
            let StmtKind::Decl(decl) = &stmt.kind else { continue };
            let DeclKind::Pipeline(pipeline) = &decl.kind else { continue };
            let is_marked = decl.attributes.iter().any(|attribute| &*attribute.name.name == "test");
            if is_marked || pipeline.name.name.starts_with("test_") {
                let pipeline = Some(pipeline.name.name.to_string());
                found.push(Test { file: file.clone(), source: source.clone(), pipeline });
            }
        }
    }
    found.retain(|test| filter.is_none_or(|filter| test.label().contains(filter)));
    Ok(found)
}
