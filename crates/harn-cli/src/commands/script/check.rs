//! `harn check`: what is wrong with scripts, before they run.

use std::process::ExitCode;

use anyhow::Result;
use harn_lang::compile::{Settings, check as check_program, skipped};
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
    let (mut errors, mut warnings) = (0, 0);
    for file in &files {
        let settings = Settings { host_names: host::names(), ..Settings::default() };
        let source = read(file)?;
        let skipped = skipped(&source.text);
        let mut problems = check_program(source, &Beside, &settings);
        problems.all.extend(skipped);
        for problem in &problems.all {
            let count = if problem.is_error() { &mut errors } else { &mut warnings };
            *count += 1;
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
    } else {
        say(summary(errors, warnings, files.len() as u64));
    }
    let is_fine = errors == 0 && (warnings == 0 || !args.strict);
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn summary(errors: u64, warnings: u64, scripts: u64) -> String {
    let scripts = counted(scripts, "script");
    match (errors, warnings) {
        (0, 0) => format!("no errors in {scripts}"),
        (errors, 0) => format!("{} in {scripts}", counted(errors, "error")),
        (0, warnings) => format!("no errors and {} in {scripts}", counted(warnings, "warning")),
        (errors, warnings) => {
            format!("{} and {} in {scripts}", counted(errors, "error"), counted(warnings, "warning"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn the_summary_counts_in_words() {
        let cases = [
            ((0, 0, 1), "no errors in 1 script"),
            ((1, 0, 2), "1 error in 2 scripts"),
            ((0, 2, 1), "no errors and 2 warnings in 1 script"),
            ((2, 1, 3), "2 errors and 1 warning in 3 scripts"),
        ];
        for ((errors, warnings, scripts), expected) in cases {
            assert_eq!(summary(errors, warnings, scripts), expected);
        }
    }
}
