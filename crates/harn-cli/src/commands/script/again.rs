//! Running scripts or tests again whenever a script changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::files::scripts;
use crate::commands::say;
use crate::output::{Tone, paint};

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(300);

/// Runs until Ctrl-C.
pub fn watch(path: &Path, mut run: impl FnMut() -> Result<ExitCode>) -> Result<ExitCode> {
    loop {
        let seen = times(path);
        if let Err(error) = run() {
            crate::problem::say(&error);
        }
        say(paint(Tone::Dim, "waiting for a change; Ctrl-C ends this"));
        while times(path) == seen {
            std::thread::sleep(PAUSE);
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
