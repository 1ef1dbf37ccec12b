//! The workspace files as the harness sees them: the same confinement as the tools, with the errors of spec 001.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use harn_core::ports::{
    FileContent, FileEntry, FileKind, FileWritten, Kept, Located, Restored, WorkspaceFiles,
};
use harn_core::run::{Change, Node};
use harn_core::{Code, Error, Result};

use super::confined::{Confined, LastLink, MAX_CONTENT, Refusal, Spot, read_whole};
use super::files::{EntryKind, Listed, Listing, plan_whole};
use super::locate::locate;
use super::restore::restore;
use super::stash::changes_since;

/// A listing for a client cannot say that it was cut, so a larger folder is an error.
const MAX_ENTRIES: usize = 10_000;

/// Files below a root, read and written under the rules of the tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfinedFiles;

impl WorkspaceFiles for ConfinedFiles {
    fn canonical_root(&self, root: &str) -> Result<String> {
        let refused = |why: String| Error::from(Refusal::Root { root: root.to_owned(), why });
        if !Path::new(root).is_absolute() {
            return Err(refused("it is not an absolute path".into()));
        }
        let canonical = Path::new(root).canonicalize().map_err(|error| refused(error.to_string()))?;
        Confined::open(&canonical).map_err(Error::from)?;
        canonical.into_os_string().into_string().map_err(|_| refused("its true path is not UTF-8".into()))
    }

    fn read(&self, root: &str, path: &str) -> Result<FileContent> {
        let workspace = Confined::open(Path::new(root))?;
        match workspace.resolve(path, LastLink::Follow)?.spot {
            Spot::Directory(_) => list(&workspace, path),
            Spot::Entry { .. } | Spot::Missing { .. } => text(&workspace, path),
        }
    }

    fn write(&self, root: &str, path: &str, content: &str) -> Result<FileWritten> {
        let workspace = Confined::open(Path::new(root))?;
        let write = plan_whole(&workspace, path, content.to_owned())?;
        workspace.carry_out(&write.plan, &write.content)?;
        Ok(FileWritten { path: write.plan.path, before: write.pre_image, bytes: write.content.len() as u64 })
    }

    fn locate(&self, root: &str, path: &str) -> Located {
        locate(Path::new(root), path)
    }

    fn restore(&self, root: &str, changes: &[Change], kept: Kept<'_>) -> Result<Vec<(String, Restored)>> {
        let workspace = Confined::open(Path::new(root))?;
        Ok(restore(&workspace, changes, kept))
    }

    fn changes_since(&self, root: &str, before: &BTreeMap<String, Node>) -> Result<Vec<Change>> {
        let workspace = Confined::open(Path::new(root))?;
        Ok(changes_since(&workspace, before).map_err(Refusal::io("."))?)
    }
}

fn text(workspace: &Confined, path: &str) -> Result<FileContent> {
    let (path, file) = workspace.open_file(path)?;
    let bytes = read_whole(file, &path, MAX_CONTENT)?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::NotText { path })?;
    Ok(FileContent::File { text })
}

fn list(workspace: &Confined, path: &str) -> Result<FileContent> {
    let Listing { path, entries, total } = workspace.list(path, MAX_ENTRIES)?;
    if total > MAX_ENTRIES {
        return Err(Refusal::TooLarge { path, limit: MAX_ENTRIES as u64, unit: "entries" }.into());
    }
    let entries = entries.into_iter().filter_map(|entry| client_entry(workspace, &path, entry));
    Ok(FileContent::Directory { entries: entries.collect() })
}

/// A link is shown as what it leads to. What cannot be opened anyway (links that lead out, pipes, devices) is left out.
fn client_entry(workspace: &Confined, folder: &str, entry: Listed) -> Option<FileEntry> {
    let Listed { name, kind, size } = entry;
    let path = if folder == "." { name.clone() } else { format!("{folder}/{name}") };
    let (kind, size) = match kind {
        EntryKind::File => (FileKind::File, size),
        EntryKind::Directory => (FileKind::Directory, 0),
        EntryKind::Symlink => match workspace.resolve(&path, LastLink::Follow).ok()?.spot {
            Spot::Directory(_) => (FileKind::Directory, 0),
            _ => (FileKind::File, workspace.open_file(&path).ok()?.1.metadata().ok()?.len()),
        },
        EntryKind::Other => return None,
    };
    Some(FileEntry { name, path, kind, size })
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Root { .. } => Self::invalid("root", message),
            Refusal::Invalid { .. }
            | Refusal::Escapes { .. }
            | Refusal::WrongKind { .. }
            | Refusal::Link { .. }
            | Refusal::NotText { .. } => Self::invalid("path", message),
            Refusal::Closed { .. } => Self::new(Code::PermissionDenied, message).param("path"),
            Refusal::NotFound { path } => Self::not_found("file", path).param("path"),
            Refusal::TooLarge { .. } => Self::new(Code::PayloadTooLarge, message).param("path"),
            Refusal::Stale { .. } => Self::conflict(message),
            Refusal::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                Self::new(Code::PermissionDenied, message).param("path")
            }
            Refusal::Io { .. } => Self::internal(message),
        }
    }
}
