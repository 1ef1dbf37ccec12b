//! `harn check`: what is wrong with scripts, before they run.

use std::process::ExitCode;

use anyhow::Result;
use harn_lang::compile::{Settings, check as check_program};
use serde_json::json;

use super::diagnostic::Diagnostic;
use super::files::{Beside, read, scripts};
use super::host;
use crate::args::ScriptsArgs;
use crate::commands::{say, say_json};
use crate::output::counted;

pub fn check(args: &ScriptsArgs) -> Result<ExitCode> {
    let files = scripts(&args.paths)?;
    let mut found = Vec::new();
    let mut has_errors = false;
    for file in &files {
        let settings = Settings { host_names: host::names(), pipeline: None };
        let problems = check_program(read(file)?, &Beside, &settings);
        for problem in &problems.all {
            has_errors |= problem.is_error();
            let diagnostic = Diagnostic::of(problem, &problems.sources);
            if args.json {
                found.push(diagnostic.as_json(problem));
            } else {
                diagnostic.say();
            }
        }
    }
    if args.json {
        say_json(&json!(found));
    } else if !has_errors {
        say(format_args!("{} without errors", counted(files.len() as u64, "script")));
    }
    Ok(if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
