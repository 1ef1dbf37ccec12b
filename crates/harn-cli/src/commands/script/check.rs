//! `harn check`: what is wrong with scripts, before they run.

use std::process::ExitCode;

use anyhow::Result;
use harn_lang::compile::{Settings, compile};
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
    let mut count = 0;
    for file in &files {
        let settings = Settings { host_names: host::names(), pipeline: None };
        let Err(failed) = compile(read(file)?, &Beside, &settings) else { continue };
        for error in &failed.errors {
            let Some(source) = failed.sources.get(usize::from(error.module)) else { continue };
            let diagnostic =
                Diagnostic { message: &error.message, source, span: error.span, notes: Vec::new() };
            count += 1;
            if args.json {
                let at = diagnostic.position();
                found.push(json!({ "file": &*source.name, "line": at.line, "column": at.column,
                                   "severity": "error", "message": error.message }));
            } else {
                diagnostic.say();
            }
        }
    }
    if args.json {
        say_json(&json!(found));
    } else if count == 0 {
        say(format_args!("{} without errors", counted(files.len() as u64, "script")));
    }
    Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
