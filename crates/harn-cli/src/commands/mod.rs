//! The commands, one file each.

pub mod answer;
pub mod conformance;
pub mod doctor;
pub mod explain;
pub mod keys;
pub mod log;
pub mod models;
pub mod policy;
pub mod runs;
pub mod script;
pub mod secrets;
pub mod serve;
pub mod sessions;
pub mod shell;
pub mod show;
pub mod task;
pub mod tasks;
pub mod undo;
pub mod waitpoints;
pub mod watch;
pub mod workspaces;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::args::TargetArgs;
use crate::connect::{Connection, check_existing, connect, connect_briefly};

pub use crate::output::say;

/// As shells have it: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// What a command needs to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A data directory that has been used.
    Existing,
    /// A data directory, made when it is absent.
    Any,
}

impl Need {
    fn check(self, target: &TargetArgs) -> Result<()> {
        match self {
            Self::Existing => check_existing(target),
            Self::Any => Ok(()),
        }
    }
}

/// Connects, makes a few requests, and closes the connection. Ctrl-C ends it.
pub fn speak(
    target: &TargetArgs,
    need: Need,
    work: impl AsyncFnOnce(&Connection) -> Result<ExitCode>,
) -> Result<ExitCode> {
    need.check(target)?;
    wait_for(async {
        let connection = connect_briefly(target).await?;
        let result = interruptible(work(&connection)).await;
        connection.close().await;
        result
    })
}

/// The same for work that takes long, and decides by itself what Ctrl-C means.
pub fn attach(
    target: &TargetArgs,
    need: Need,
    work: impl AsyncFnOnce(&Connection) -> Result<ExitCode>,
) -> Result<ExitCode> {
    need.check(target)?;
    wait_for(async {
        let connection = connect(target).await?;
        let result = work(&connection).await;
        connection.close().await;
        result
    })
}

/// Ctrl-C ends it.
pub async fn interruptible(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    tokio::select! {
        // First, so that it is heeded before anything is sent.
        biased;
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(INTERRUPTED)),
        result = work => result,
    }
}

pub fn wait_for(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(work);
    // Whatever is still running has been left as begun.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// A list with nothing in it, which is told in these words.
pub fn listed_none(json: bool, words: &str) -> ExitCode {
    match json {
        true => say_json(&crate::api::Newest::default().to_json()),
        false => say(words),
    }
    ExitCode::SUCCESS
}

/// What a script reads.
pub fn say_json(value: &Value) {
    say(format_args!("{value:#}"));
}
