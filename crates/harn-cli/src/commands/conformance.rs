//! `harn test agents-conformance`: checks a server against the protocol.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use harn_conformance::Options;

use super::{INTERRUPTED, say, wait_for};
use crate::args::ConformanceArgs;
use crate::connect::remote;
use crate::output::plain;

pub fn run(args: &ConformanceArgs) -> Result<ExitCode> {
    wait_for(check(args))
}

async fn check(args: &ConformanceArgs) -> Result<ExitCode> {
    let client = remote(&args.target, args.api_key.as_deref(), args.ca.as_deref())?;
    let mut options = Options::new(&args.target);
    options.api_key.clone_from(&args.api_key);
    options.categories.clone_from(&args.category);
    options.timeout = Duration::from_millis(args.timeout_ms);
    options.workspace_id.clone_from(&args.workspace_id);
    options.session_id.clone_from(&args.session_id);
    let report = tokio::select! {
        report = harn_conformance::run(client, options) => report,
        _ = tokio::signal::ctrl_c() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    if let Some(file) = &args.json_out {
        std::fs::write(file, report.to_json())
            .with_context(|| format!("the report cannot be written to {}", file.display()))?;
    }
    if args.json {
        say(report.to_json());
    } else {
        say(plain(report.to_text().trim_end()));
    }
    Ok(ExitCode::from(report.exit_code()))
}
