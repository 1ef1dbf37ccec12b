//! The single steps of an undo. Nothing else in undo changes a file.

use std::io::{self, Write};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use harn_core::hash::Sha256Hash;

use super::OWNER;

/// One name per path, so that the next attempt finds what an interrupted one left behind.
pub(super) fn temporary_name(path: &str) -> String {
    format!(".harn-undo-{}", &Sha256Hash::of(path.as_bytes()).to_string()[..16])
}

/// Does something in a folder; if the folder is closed to its owner, it is open for just so long.
pub(super) fn in_folder(folder: &Dir, work: impl Fn() -> io::Result<()>) -> io::Result<()> {
    match work() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mode = folder.dir_metadata()?.permissions().mode() & 0o7777;
            if mode & OWNER == OWNER {
                return Err(error);
            }
            set_mode(folder, ".", mode | OWNER)?;
            let done = work();
            set_mode(folder, ".", mode)?;
            done
        }
        done => done,
    }
}

pub(super) fn set_mode(parent: &Dir, name: &str, mode: u32) -> io::Result<()> {
    step()?;
    parent.set_permissions(name, Permissions::from_mode(mode))
}

/// The folder is its owner's alone until it gets its mode.
pub(super) fn make_folder(parent: &Dir, name: &str) -> io::Result<()> {
    step()?;
    let mut builder = DirBuilder::new();
    builder.mode(OWNER);
    parent.create_dir_with(name, &builder)
}

pub(super) fn make_file(parent: &Dir, name: &str, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    step()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if mode.is_some() {
        // Nobody else sees the content before it has its mode.
        options.mode(0o600);
    }
    let mut file = parent.open_with(name, &options)?;
    step()?;
    file.write_all(content)?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}

pub(super) fn make_link(parent: &Dir, name: &str, target: &str) -> io::Result<()> {
    step()?;
    parent.symlink_contents(target, name)
}

pub(super) fn rename(parent: &Dir, from: &str, to: &str) -> io::Result<()> {
    step()?;
    parent.rename(from, parent, to)
}

pub(super) fn remove_file(parent: &Dir, name: &str) -> io::Result<()> {
    step()?;
    parent.remove_file(name)
}

pub(super) fn remove_folder(parent: &Dir, name: &str) -> io::Result<()> {
    step()?;
    parent.remove_dir(name)
}

/// Removes what an interrupted attempt left behind beside this path.
pub(super) fn sweep(parent: &Dir, path: &str) {
    let name = temporary_name(path);
    if parent.symlink_metadata(&name).is_ok() {
        // What stays is untidy, and in the way of the next attempt, which then says so.
        let _ = in_folder(parent, || remove_file(parent, &name));
    }
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "tests stop an undo between any two steps")]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// How many steps there are until this thread's undo is dead.
    pub(super) static STEPS_LEFT: std::cell::Cell<u64> = const { std::cell::Cell::new(u64::MAX) };
}

#[cfg(test)]
fn step() -> io::Result<()> {
    let left = STEPS_LEFT.get();
    STEPS_LEFT.set(left.saturating_sub(1));
    if left == 0 { Err(io::Error::other("killed")) } else { Ok(()) }
}
