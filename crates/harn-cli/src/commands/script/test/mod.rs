//! `harn test`: the tests of a project, each in a machine of its own.

mod case;
mod find;
mod fixtures;
mod junit;
mod programs;
mod report;

use std::process::ExitCode;

use anyhow::Result;

use super::again;
use crate::args::TestArgs;
use find::find;
use report::{Jobs, Report};

pub use programs::conformance;

pub fn test(args: &TestArgs) -> Result<ExitCode> {
    if args.watch {
        return again::watch(&args.path(), None, || once(args));
    }
    once(args)
}

fn once(args: &TestArgs) -> Result<ExitCode> {
    let found = find(&args.path(), args.filter.as_deref())?;
    let mut report = Report::new(args.verbose, args.timing);
    let jobs = Jobs::of(args.parallel);
    jobs.each(&found, |test| case::run(test, args), |outcome| report.add(outcome))?;
    if let Some(file) = &args.junit {
        junit::write(file, report.outcomes())?;
    }
    Ok(report.end())
}
