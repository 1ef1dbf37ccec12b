//! The private folder of one command: its temporary files, gone when it is over.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use crate::sandbox::Rooms;

/// Removed with everything in it when it is dropped.
pub(super) struct PrivateFolder {
    path: PathBuf,
}

impl PrivateFolder {
    /// Where temporary files are kept, or in `/tmp` if nothing can be made there.
    pub(super) fn make() -> io::Result<Self> {
        let usual = env::temp_dir();
        let usual = usual.canonicalize().ok().filter(|folder| folder.to_str().is_some());
        let made = usual.map(|folder| make_in(&folder)).and_then(Result::ok);
        let path = made.map_or_else(|| make_in(Path::new("/tmp")), Ok)?;
        let folder = Self { path };
        let rooms = folder.rooms();
        for room in [&rooms.tmp, &rooms.run] {
            DirBuilder::new().mode(0o700).create(room)?;
        }
        Ok(folder)
    }

    pub(super) fn rooms(&self) -> Rooms {
        Rooms { tmp: self.path.join("tmp"), run: self.path.join("run") }
    }
}

/// A name that exists is somebody else's, so another is tried.
fn make_in(parent: &Path) -> io::Result<PathBuf> {
    let mut tries = 0;
    loop {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let path = parent.join(format!("harn-{}-{:x}", process::id(), now.as_nanos()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            Err(error) => {
                let path = path.display();
                return Err(io::Error::new(
                    error.kind(),
                    format!("the folder `{path}` could not be made: {error}"),
                ));
            }
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // A folder that its owner may not list is one that the command has closed; root may still remove it.
        if fs::remove_dir_all(&self.path).is_err() {
            open_up(&self.path);
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Makes folders writable for us again, so that what is in them can be removed.
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut next = vec![folder.to_owned()];
    while let Some(folder) = next.pop() {
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        // A link is not a folder here, so we never leave our own.
        next.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}
