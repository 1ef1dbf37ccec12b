//! `harn fmt`: scripts in their usual form.

use std::process::ExitCode;

use anyhow::{Context, Result};
use harn_lang::problem::Severity;

use super::diagnostic::Diagnostic;
use super::files::{read, replace, scripts};
use crate::args::FormatArgs;
use crate::commands::say;

pub fn format(args: &FormatArgs) -> Result<ExitCode> {
    let mut is_fine = true;
    for file in scripts(&args.paths)? {
        let source = read(&file)?;
        match harn_lang::format::format(&source.text) {
            Ok(formatted) if formatted == *source.text => {}
            Ok(_) if args.check => {
                is_fine = false;
                say(format_args!("{} would change", file.display()));
            }
            Ok(formatted) => {
                replace(&file, &formatted)
                    .with_context(|| format!("{} cannot be written", file.display()))?;
            }
            Err(errors) => {
                is_fine = false;
                for error in errors {
                    let mut notes: Vec<String> =
                        error.help.iter().map(|help| format!("help: {help}")).collect();
                    notes.push("see: harn explain syntax".to_owned());
                    Diagnostic {
                        severity: Severity::Error,
                        message: &error.message,
                        source: &source,
                        span: error.span,
                        notes,
                    }
                    .say();
                }
            }
        }
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
