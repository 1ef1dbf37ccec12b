//! What is at a path right now, found without following a link, and whether it is what a [`Node`] says.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use harn_core::change::ANY_MODE;
use harn_core::run::Node;

use super::super::atomic::hash;
use super::super::confined::{
    MAX_CONTENT, MAX_DEPTH, MAX_PATH, Refusal, is_closed, open_regular, read_whole,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    File,
    Symlink,
    Folder,
    /// A pipe, a socket or a device.
    Other,
}

/// What the file system says of an entry without opening it. As long as it is the same, so is the entry, unless it
/// was changed within the resolution of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Stamp {
    pub(in super::super) kind: Kind,
    /// `rwx` bits; of folders also the special ones, since those say how a folder is shared.
    pub(in super::super) mode: u32,
    pub(in super::super) size: u64,
    pub(in super::super) modified_ns: i64,
    pub(super) changed_ns: i64,
    inode: u64,
}

impl Stamp {
    pub(in super::super) fn of(found: &Metadata) -> Self {
        // Enough until the year 2262; beyond that, times look alike and sizes must tell.
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let (kind, bits) = match found.file_type() {
            kind if kind.is_file() => (Kind::File, 0o777),
            kind if kind.is_dir() => (Kind::Folder, 0o7777),
            kind if kind.is_symlink() => (Kind::Symlink, 0o777),
            _ => (Kind::Other, 0o777),
        };
        Self {
            kind,
            mode: found.mode() & bits,
            size: found.len(),
            modified_ns: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed_ns: nanoseconds(found.ctime(), found.ctime_nsec()),
            inode: found.ino(),
        }
    }

    pub(super) fn not_kept(&self, why: impl Into<String>) -> Node {
        Node::NotKept { why: why.into(), mode: self.mode, size: self.size, modified_ns: self.modified_ns }
    }
}

/// An entry that was found in an open folder.
pub(in super::super) struct Seen<'a> {
    pub(in super::super) parent: &'a Dir,
    pub(in super::super) name: &'a str,
    pub(in super::super) path: &'a str,
    pub(in super::super) stamp: Stamp,
}

impl Seen<'_> {
    /// The bytes of a regular file, and what the file system said of it when they were read. The stamp is none when
    /// the file was written to meanwhile.
    pub(super) fn read(&self) -> Result<(Vec<u8>, Option<Stamp>), Refusal> {
        let (file, metadata) = open_regular(self.parent, self.name, self.path)?;
        let again = file.try_clone().map_err(Refusal::io(self.path))?;
        let bytes = read_whole(file, self.path, MAX_CONTENT)?;
        let stamp = Stamp::of(&metadata);
        let steady = again.metadata().is_ok_and(|after| Stamp::of(&after) == stamp);
        Ok((bytes, steady.then_some(stamp)))
    }

    pub(super) fn target(&self) -> io::Result<Option<String>> {
        let target = self.parent.read_link_contents(self.name)?;
        Ok(target.into_os_string().into_string().ok())
    }

    /// Whether it is what the node says. What cannot be read is not.
    pub(in super::super) fn is(&self, node: &Node) -> bool {
        self.is_with(node, || self.read().ok().map(|(bytes, _)| hash(&bytes)))
    }

    /// [`Seen::is`] for those who may know the hash without reading.
    pub(super) fn is_with(&self, node: &Node, hash: impl FnOnce() -> Option<String>) -> bool {
        let Stamp { kind, mode: has, size: length, modified_ns: written, .. } = &self.stamp;
        let same_mode = |mode: u32| mode == ANY_MODE || mode == *has;
        match node {
            Node::File { hash: wanted, mode, .. } => {
                *kind == Kind::File
                    && same_mode(*mode)
                    && *length <= MAX_CONTENT
                    && hash().is_some_and(|hash| hash == *wanted)
            }
            Node::Symlink { target } => {
                *kind == Kind::Symlink
                    && self.target().is_ok_and(|found| found.as_deref() == Some(target.as_str()))
            }
            Node::Folder { mode } => *kind == Kind::Folder && same_mode(*mode),
            Node::NotKept { mode, size, modified_ns, .. } => {
                (mode, size, modified_ns) == (has, length, written)
            }
        }
    }
}

/// Goes from path to path below a folder. Never follows a link: what lies behind one has another path. Folders stay
/// open as long as the next path needs them too, so paths in order are found quickly.
pub(in super::super) struct Steps<'a> {
    root: &'a Dir,
    open: Vec<(String, Dir)>,
}

impl<'a> Steps<'a> {
    pub(in super::super) fn from(root: &'a Dir) -> Self {
        Self { root, open: Vec::new() }
    }

    /// What is at a path; none if nothing is, or if a folder on the way is missing or not a folder.
    pub(in super::super) fn see<'s>(&'s mut self, path: &'s str) -> io::Result<Option<Seen<'s>>> {
        let Some((parent, name)) = self.parent_of(path)? else { return Ok(None) };
        match parent.symlink_metadata(name) {
            Ok(found) => Ok(Some(Seen { parent, name, path, stamp: Stamp::of(&found) })),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The open folder of a path, and the last name of the path.
    pub(in super::super) fn parent_of<'s, 'p>(
        &'s mut self,
        path: &'p str,
    ) -> io::Result<Option<(&'s Dir, &'p str)>> {
        usable(path).map_err(io::Error::other)?;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folders = above.split('/').filter(|folder| !folder.is_empty());
        let common = folders.clone().zip(&self.open).take_while(|(folder, (open, _))| folder == open).count();
        self.open.truncate(common);
        for folder in folders.skip(common) {
            if self.open.len() == MAX_DEPTH {
                return Err(io::Error::other("it is nested too deeply"));
            }
            match self.here().open_dir_nofollow(folder) {
                Ok(dir) => self.open.push((folder.to_owned(), dir)),
                Err(error) if is_absence(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some((self.here(), name)))
    }

    fn here(&self) -> &Dir {
        self.open.last().map_or(self.root, |(_, dir)| dir)
    }
}

/// A folder that is not there, or is something else (a link that is not followed is reported as a loop).
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}

/// Listings and journals are read back from a store, so their paths are checked like those of anybody else.
pub(in super::super) fn usable(path: &str) -> Result<(), &'static str> {
    match path {
        "" => Err("its path is empty"),
        _ if path.len() > MAX_PATH => Err("its path is too long"),
        _ if path.contains('\0') => Err("its path has a NUL character"),
        _ if path.split('/').any(|name| matches!(name, "" | "." | "..")) => {
            Err("its path is not a plain path below the workspace root")
        }
        _ if path.split('/').any(is_closed) => Err("it is in `.harn`, which belongs to the harness"),
        _ => Ok(()),
    }
}
