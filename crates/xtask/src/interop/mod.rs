//! Harn against programs that others wrote: what is installed, what is checked, and how it is told.

mod adapter;
mod aimock;
mod cases;
mod clients;
mod conversations;
mod install;
mod process;
mod report;
mod requests;
mod scenes;
mod told;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use report::Report;
use tokio::signal::unix::{SignalKind, signal};

/// A hang in one of the programs must not become one of ours.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// The checks of the model adapters.
pub async fn models() -> anyhow::Result<ExitCode> {
    let checks = async {
        let peers = install::peers().await?;
        let mut report = Report::default();
        aimock::check(&peers, &mut report).await?;
        clients::check(&peers, &mut report).await?;
        requests::check(&peers, &mut report).await?;
        report.finish()
    };
    let limited = async {
        let all = tokio::time::timeout(LONGEST, checks).await;
        all.with_context(|| format!("the checks did not end within {LONGEST:?}"))?
    };
    // Whichever comes first drops the other, and with the checks the programs that they started.
    tokio::select! {
        code = limited => code,
        ended = interrupted() => ended,
    }
}

async fn interrupted() -> anyhow::Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    bail!("interrupted")
}

/// The files that the programs need, beside this crate's sources.
fn material() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interop")
}

/// The folder of builds.
fn target() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
