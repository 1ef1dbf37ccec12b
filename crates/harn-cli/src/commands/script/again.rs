//! Running scripts or tests again whenever a script changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::files::scripts;
use crate::commands::{INTERRUPTED, say};
use crate::output::{Tone, paint};

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(300);

/// What hears Ctrl-C beside the runs, which hear it themselves and put their things in order first.
pub struct Interrupts {
    runtime: Runtime,
    signals: Signal,
}

impl Interrupts {
    pub fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            signal(SignalKind::interrupt()).context("Ctrl-C cannot be watched for")?
        };
        Ok(Self { runtime, signals })
    }

    /// Whether Ctrl-C was pressed since the last time, or is within this time.
    fn within(&mut self, time: Duration) -> bool {
        let Self { runtime, signals } = self;
        runtime.block_on(async { tokio::time::timeout(time, signals.recv()).await.is_ok() })
    }
}

/// Runs until Ctrl-C, which ends the process at once where nothing else hears it.
pub fn watch(
    path: &Path,
    mut interrupts: Option<Interrupts>,
    mut run: impl FnMut() -> Result<ExitCode>,
) -> Result<ExitCode> {
    let mut is_interrupted = |time: Duration| match &mut interrupts {
        Some(interrupts) => interrupts.within(time),
        None => {
            std::thread::sleep(time);
            false
        }
    };
    loop {
        // Before the run, so that what changes meanwhile is seen after it.
        let seen = times(path);
        if let Err(error) = run() {
            crate::problem::say(&error);
        }
        if is_interrupted(Duration::ZERO) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        say(paint(Tone::Dim, "waiting for a change; Ctrl-C ends this"));
        while times(path) == seen {
            if is_interrupted(PAUSE) {
                return Ok(ExitCode::from(INTERRUPTED));
            }
        }
        say("");
    }
}

/// When which script was changed: those at the path, and those of the project around them.
fn times(path: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let places = [path.to_path_buf(), PathBuf::from(".")];
    let files = scripts(&places).unwrap_or_default();
    files
        .into_iter()
        .filter_map(|file| Some((file.clone(), std::fs::metadata(&file).ok()?.modified().ok()?)))
        .collect()
}
