//! Writes a file so that it is seen either as before or as after, never in between, and tells afterwards which.

use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use harn_core::hash::Sha256Hash;
use harn_core::run::WritePlan;
use parking_lot::Mutex;

use super::confined::{
    Confined, LastLink, MAX_CONTENT, Place, Refusal, Spot, open_regular, read_whole, wrong_kind,
};

/// Makes "still as planned, so replace it" one step among the writers of this process.
pub(crate) static REPLACE: Mutex<()> = Mutex::new(());

/// Tells the temporary files of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What a plan's file looks like now.
pub(crate) enum Now {
    AsBefore,
    AsAfter { bytes: u64 },
    Different,
}

/// A file before it is written: its true path, and what is there now.
pub(crate) struct PreImage {
    pub(crate) path: String,
    pub(crate) bytes: Option<Bytes>,
    pub(crate) mode: Option<u32>,
    pub(crate) new_folders: Vec<String>,
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256Hash::of(bytes).prefixed()
}

impl Confined {
    /// What a write to this path would replace or create.
    pub(crate) fn pre_image(&self, path: &str) -> Result<PreImage, Refusal> {
        let Place { path, spot } = self.resolve(path, LastLink::Refuse)?;
        let (found, new_folders) = match &spot {
            Spot::Directory(_) => return Err(wrong_kind(&path, "a folder", "a file")),
            Spot::Missing { names, .. } => (None, folders_above(&path, names.len() - 1)),
            Spot::Entry { parent, name } => (present(parent, name, &path)?, Vec::new()),
        };
        let mode = found.as_ref().map(|found| found.mode);
        Ok(PreImage { path, bytes: found.map(|found| found.bytes.into()), mode, new_folders })
    }

    /// Carries out a plan, unless the file is no longer as the plan found it.
    ///
    /// The bits of `rwx` stay as they were; owner, other links to the old file and special bits do not.
    pub(crate) fn carry_out(&self, plan: &WritePlan, content: &[u8]) -> Result<(), Refusal> {
        let (parent, name) = self.parent_for(plan)?;
        let mode = present(&parent, &name, &plan.path)?.map(|found| found.mode);
        let temporary = write_temporary(&parent, plan, content, mode).map_err(Refusal::io(&plan.path))?;
        let replaced = replace(&parent, &name, &temporary, plan);
        if replaced.is_err() {
            // The first error is the one to report; what is left behind is harmless and swept by `compare`.
            let _ = parent.remove_file(&temporary);
        }
        replaced?;
        sync(&parent).map_err(Refusal::io(&plan.path))
    }

    /// Compares a plan with the world, and removes what an interrupted attempt left behind.
    pub(crate) fn compare(&self, plan: &WritePlan) -> Result<Now, Refusal> {
        let Place { path, spot } = self.resolve(&plan.path, LastLink::Refuse)?;
        let found = match &spot {
            _ if path != plan.path => return Ok(Now::Different),
            Spot::Directory(_) => return Ok(Now::Different),
            Spot::Entry { parent, name } => {
                sweep(parent, plan);
                present(parent, name, &path)?
            }
            Spot::Missing { parent, names } => {
                if names.len() == 1 {
                    sweep(parent, plan);
                }
                None
            }
        };
        Ok(match found {
            Some(found) if hash(&found.bytes) == plan.after => {
                Now::AsAfter { bytes: found.bytes.len() as u64 }
            }
            found if found.as_ref().map(|found| hash(&found.bytes)) == plan.before => Now::AsBefore,
            _ => Now::Different,
        })
    }

    /// The directory of a plan's file, created where it is missing, and the file's name in it.
    fn parent_for(&self, plan: &WritePlan) -> Result<(Dir, String), Refusal> {
        let Place { path, spot } = self.resolve(&plan.path, LastLink::Refuse)?;
        let stale = || Refusal::Stale { path: plan.path.clone() };
        if path != plan.path {
            return Err(stale());
        }
        match spot {
            Spot::Directory(_) => Err(stale()),
            Spot::Entry { parent, name } => Ok((parent, name)),
            Spot::Missing { .. } if plan.before.is_some() => Err(stale()),
            Spot::Missing { parent, mut names } => {
                let name = names.pop().ok_or_else(stale)?;
                let parent = names
                    .iter()
                    .try_fold(parent, |dir, below| make_dir(&dir, below))
                    .map_err(Refusal::io(&path))?;
                Ok((parent, name))
            }
        }
    }
}

/// The last so many folders on the way to a file, outermost first.
fn folders_above(path: &str, count: usize) -> Vec<String> {
    let mut folders: Vec<String> =
        path.match_indices('/').rev().take(count).map(|(at, _)| path[..at].to_owned()).collect();
    folders.reverse();
    folders
}

struct Present {
    bytes: Vec<u8>,
    mode: u32,
}

fn present(parent: &Dir, name: &str, path: &str) -> Result<Option<Present>, Refusal> {
    match open_regular(parent, name, path) {
        Ok((file, metadata)) => {
            let mode = metadata.permissions().mode() & 0o777;
            Ok(Some(Present { bytes: read_whole(file, path, MAX_CONTENT)?, mode }))
        }
        Err(Refusal::NotFound { .. }) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

fn make_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    match parent.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => sync(parent)?,
    }
    parent.open_dir_nofollow(name)
}

/// A directory handle is for paths only and cannot be synced itself.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

/// Names of temporary files begin alike for one plan, so that reconciliation finds those of a crashed attempt.
fn temporary_prefix(plan: &WritePlan) -> String {
    let plan = Sha256Hash::of_pieces(&[plan.path.as_bytes(), plan.after.as_bytes()]).to_string();
    format!(".harn-write-{}-", &plan[..16])
}

fn write_temporary(parent: &Dir, plan: &WritePlan, content: &[u8], mode: Option<u32>) -> io::Result<String> {
    let (name, mut file) = create_temporary(parent, &temporary_prefix(plan), mode)?;
    let written = file
        .write_all(content)
        .and_then(|()| mode.map_or(Ok(()), |mode| file.set_permissions(Permissions::from_mode(mode))))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        // The first error is the one to report.
        let _ = parent.remove_file(&name);
        return Err(error);
    }
    Ok(name)
}

fn create_temporary(parent: &Dir, prefix: &str, mode: Option<u32>) -> io::Result<(String, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if mode.is_some() {
        // The content may be private, so nobody else sees it before it has the mode of the file it replaces.
        options.mode(0o600);
    }
    loop {
        let name = format!("{prefix}{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match parent.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((name, created?)),
        }
    }
}

fn replace(parent: &Dir, name: &str, temporary: &str, plan: &WritePlan) -> Result<(), Refusal> {
    let _alone = REPLACE.lock();
    let found = present(parent, name, &plan.path)?;
    if found.map(|found| hash(&found.bytes)) != plan.before {
        return Err(Refusal::Stale { path: plan.path.clone() });
    }
    parent.rename(temporary, parent, name).map_err(Refusal::io(&plan.path))
}

fn sweep(parent: &Dir, plan: &WritePlan) {
    let prefix = temporary_prefix(plan);
    let Ok(entries) = parent.entries() else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| name.starts_with(&prefix)) {
        // A file that stays is untidy, not wrong.
        let _ = parent.remove_file(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparing_removes_what_an_interrupted_attempt_left_behind() {
        let root = tempfile::tempdir().unwrap();
        let plan = WritePlan {
            path: "file".into(),
            before: None,
            after: hash(b"after"),
            mode: None,
            new_folders: vec![],
        };
        let workspace = Confined::open(root.path()).unwrap();
        let Place { spot: Spot::Directory(dir), .. } = workspace.resolve(".", LastLink::Follow).unwrap()
        else {
            panic!("the root is a folder");
        };
        write_temporary(&dir, &plan, b"aft", None).unwrap();
        dir.write("other", "stays").unwrap();

        assert!(matches!(workspace.compare(&plan), Ok(Now::AsBefore)));
        let names = dir.entries().unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["other"]);
    }
}
