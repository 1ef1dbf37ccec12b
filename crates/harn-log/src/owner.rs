//! One owner per data directory: a lock that the system releases when the owner dies, and a note beside it
//! that tells everyone else who the owner is and where it listens.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{LogError, Result};

/// Who owns a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerNote {
    pub pid: u32,
    /// Where the owner serves HTTP, once it does.
    pub url: Option<String>,
    /// The local socket with the same API, where the file's rights are the authentication.
    pub socket: Option<PathBuf>,
}

/// Held for as long as the process owns the directory.
#[derive(Debug)]
pub struct OwnerLock {
    _lock: File,
    note: PathBuf,
}

impl OwnerLock {
    /// Creates the directory when needed, readable by its owner only, and takes the lock.
    pub fn acquire(data: &Path) -> Result<Self> {
        fs::create_dir_all(data)?;
        fs::set_permissions(data, fs::Permissions::from_mode(0o700))?;
        let note = data.join("owner.json");
        let lock = File::options().create(true).truncate(false).write(true).open(data.join("owner.lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Owned(refusal(data))),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let owner = Self { _lock: lock, note };
        owner.announce(None, None)?;
        let ignore = data.join(".gitignore");
        if !ignore.exists() {
            // A data directory inside a repository is nobody's commit.
            fs::write(ignore, "*\n")?;
        }
        Ok(owner)
    }

    /// Tells other processes where this one listens.
    pub fn announce(&self, url: Option<String>, socket: Option<PathBuf>) -> Result<()> {
        let text = serde_json::to_string(&OwnerNote { pid: std::process::id(), url, socket })?;
        let temporary = self.note.with_extension("json.tmp");
        fs::write(&temporary, text)?;
        fs::rename(&temporary, &self.note)?;
        Ok(())
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // The lock itself goes with the file handle; a stale note would only mislead.
        let _ = fs::remove_file(&self.note);
    }
}

/// The note of the current owner, if a directory has one.
pub fn current_owner(data: &Path) -> Option<OwnerNote> {
    serde_json::from_str(&fs::read_to_string(data.join("owner.json")).ok()?).ok()
}

fn refusal(data: &Path) -> String {
    let shown = data.display();
    match current_owner(data) {
        Some(OwnerNote { pid, url: Some(url), .. }) => {
            format!("{shown} is in use by process {pid}, which serves {url}. Use that one, or stop it first.")
        }
        Some(OwnerNote { pid, .. }) => {
            format!("{shown} is in use by process {pid}. Wait for it to end, or stop it first.")
        }
        None => format!("{shown} is in use by another process. Wait for it to end, or stop it first."),
    }
}
