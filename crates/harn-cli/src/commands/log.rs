//! `harn log`: care of the data directory.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use harn_harness::HarnessProjection;
use harn_log::owner::OwnerLock;
use harn_log::sqlite::{self, Export};

use super::say;
use crate::args::LogCommand;

pub fn run(command: LogCommand) -> Result<ExitCode> {
    match command {
        LogCommand::Verify { data } => verify(&data.data),
        LogCommand::Rebuild { data } => {
            // Taking the lock would make the directory that is to be looked after.
            if !data.data.is_dir() {
                anyhow::bail!(
                    "there is no log in {}; give its data directory with --data",
                    data.data.display()
                );
            }
            let _owner =
                OwnerLock::acquire(&data.data).context("the log cannot be rebuilt while it is in use")?;
            let head = sqlite::rebuild(&data.data, &HarnessProjection)?;
            say(format_args!("Rebuilt the projections from {head} rows."));
            Ok(ExitCode::SUCCESS)
        }
        LogCommand::Export { data, everything } => {
            let what = if everything { Export::Everything } else { Export::Events };
            let mut out = BufWriter::new(std::io::stdout().lock());
            sqlite::export(&data.data, what, &mut out)?;
            out.flush()?;
            Ok(ExitCode::SUCCESS)
        }
        LogCommand::Backup { data, target } => {
            let done = sqlite::backup(&data.data, &target)?;
            let shown = target.display();
            say(format_args!(
                "Copied the log up to row {} and {} blob files to {shown}.",
                done.head, done.blob_files
            ));
            say(format_args!("To use it: harn serve --data {shown}"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn verify(data: &std::path::Path) -> Result<ExitCode> {
    let report = sqlite::verify(data, &HarnessProjection)?;
    say(format_args!("{} rows, {} documents, {} blobs", report.rows, report.documents, report.blobs));
    for problem in &report.problems {
        say(format_args!("problem: {problem}"));
    }
    if report.problems.is_empty() {
        say("The log is whole.");
        return Ok(ExitCode::SUCCESS);
    }
    say("If only projections are named, `harn log rebuild` mends them; otherwise restore a backup.");
    Ok(ExitCode::FAILURE)
}
