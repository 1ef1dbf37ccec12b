//! Finds files below a workspace root, and nowhere else.
//!
//! A path is walked one component at a time through open directory handles. The kernel never follows a symbolic
//! link for us: a link is read and its target walked by the same rules. So the check and the use are the same
//! step, and a directory that is swapped for a link in between is an error, not a way out.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

/// The most bytes that a tool writes to a file, or replaces in one: the replaced bytes are kept for undo.
pub const MAX_CONTENT: u64 = 8 * 1024 * 1024;

/// The harness's own folder, wherever it is.
const CLOSED: &str = ".harn";

/// A walk holds one file descriptor per component, so that `..` needs no help from the kernel.
pub(crate) const MAX_DEPTH: usize = 128;
pub(crate) const MAX_LINKS: usize = 40;
pub(crate) const MAX_PATH: usize = 4096;

/// Why a path was refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("The workspace root `{root}` cannot be used: {why}. Check that it exists and is a folder.")]
    Root { root: String, why: String },
    #[error("`{path}` is not a usable path: {why}. Give a path relative to the workspace root.")]
    Invalid { path: String, why: &'static str },
    #[error("`{path}` leads out of the workspace. Use a path that stays inside it.")]
    Escapes { path: String },
    #[error("`{path}` is in `.harn`, which belongs to the harness and is closed. Use another path.")]
    Closed { path: String },
    #[error("`{path}` does not exist. List its folder to see what is there.")]
    NotFound { path: String },
    #[error("`{path}` is {found}, not {wanted}. Choose another path.")]
    WrongKind { path: String, found: &'static str, wanted: &'static str },
    #[error("`{path}` is a symbolic link to `{target}`. Write to the file that it points to instead.")]
    Link { path: String, target: String },
    #[error("`{path}` is not UTF-8 text, and other content cannot be shown or edited.")]
    NotText { path: String },
    #[error("`{path}` has more than {limit} {unit}, which is the limit.")]
    TooLarge { path: String, limit: u64, unit: &'static str },
    #[error(
        "`{path}` has changed since the write was planned; nothing was written. Read it again and retry."
    )]
    Stale { path: String },
    #[error("`{path}` could not be used: {source}.")]
    Io { path: String, source: io::Error },
}

impl Refusal {
    pub(crate) fn io(path: &str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, source },
        }
    }
}

/// What to do about a symbolic link in the last place of a path; in the other places links are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    /// A write names the file that it changes, so that policy and receipts see the true path.
    Refuse,
}

/// Where a path leads. `path` is the true path: relative to the root, without links, `.` for the root itself.
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) spot: Spot,
}

pub(crate) enum Spot {
    Directory(Dir),
    /// Something else than a directory or a link, when it was looked at.
    Entry {
        parent: Dir,
        name: String,
    },
    /// Nothing yet: `names` are the components below `parent` that do not exist, at least one.
    Missing {
        parent: Dir,
        names: Vec<String>,
    },
}

/// An open workspace root.
pub(crate) struct Confined {
    root: PathBuf,
    dir: Dir,
}

impl Confined {
    /// Opens a root. This is the only use of ambient authority.
    pub(crate) fn open(root: &Path) -> Result<Self, Refusal> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|error| Refusal::Root { root: root.display().to_string(), why: error.to_string() })?;
        Ok(Self { root: root.to_owned(), dir })
    }

    /// The folder itself. Whoever uses it must not let the kernel follow links.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn resolve(&self, path: &str, last: LastLink) -> Result<Place, Refusal> {
        let mut walk =
            Walk { confined: self, asked: path, open: Vec::new(), ahead: VecDeque::new(), links: 0 };
        walk.ahead.extend(first_steps(path)?);
        walk.run(last)
    }

    /// Opens a regular file for reading, without ever waiting for the other end of a pipe.
    pub(crate) fn open_file(&self, path: &str) -> Result<(String, File), Refusal> {
        let place = self.resolve(path, LastLink::Follow)?;
        match place.spot {
            Spot::Entry { parent, name } => {
                let (file, _) = open_regular(&parent, &name, &place.path)?;
                Ok((place.path, file))
            }
            Spot::Directory(_) => Err(wrong_kind(&place.path, "a folder", "a file")),
            Spot::Missing { .. } => Err(Refusal::NotFound { path: place.path }),
        }
    }
}

/// Opens `name` in `parent` if it is a regular file. It may have been swapped since it was looked at, so the open
/// file is asked again.
pub(crate) fn open_regular(parent: &Dir, name: &str, path: &str) -> Result<(File, Metadata), Refusal> {
    must_be_regular(&parent.symlink_metadata(name).map_err(Refusal::io(path))?, path)?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = parent.open_with(name, &options).map_err(Refusal::io(path))?;
    let metadata = file.metadata().map_err(Refusal::io(path))?;
    must_be_regular(&metadata, path)?;
    Ok((file, metadata))
}

/// All bytes of a file, if there are at most `limit`.
pub(crate) fn read_whole(file: File, path: &str, limit: u64) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(Refusal::io(path))?;
    if bytes.len() as u64 > limit {
        return Err(Refusal::TooLarge { path: path.to_owned(), limit, unit: "bytes" });
    }
    Ok(bytes)
}

/// At any depth: a folder above a project may be a workspace too.
pub(crate) fn is_closed(name: &str) -> bool {
    name == CLOSED
}

pub(crate) fn wrong_kind(path: &str, found: &'static str, wanted: &'static str) -> Refusal {
    Refusal::WrongKind { path: path.to_owned(), found, wanted }
}

fn must_be_regular(metadata: &Metadata, path: &str) -> Result<(), Refusal> {
    match metadata {
        found if found.is_file() => Ok(()),
        found if found.is_dir() => Err(wrong_kind(path, "a folder", "a file")),
        found if found.is_symlink() => Err(wrong_kind(path, "a symbolic link", "a file")),
        _ => Err(wrong_kind(path, "a pipe, socket or device", "a file")),
    }
}

enum StepTo {
    Up,
    Down(String),
}

fn first_steps(path: &str) -> Result<Vec<StepTo>, Refusal> {
    let invalid = |why| Refusal::Invalid { path: path.chars().take(200).collect(), why };
    if path.is_empty() {
        return Err(invalid("it is empty"));
    }
    if path.contains('\0') {
        return Err(invalid("it contains a NUL character"));
    }
    if path.len() > MAX_PATH {
        return Err(invalid("it is too long"));
    }
    if Path::new(path).is_absolute() {
        return Err(invalid("it is absolute"));
    }
    steps(Path::new(path)).ok_or_else(|| invalid("it is not a relative path"))
}

/// The steps of a relative path whose names are UTF-8.
fn steps(path: &Path) -> Option<Vec<StepTo>> {
    path.components()
        .filter(|component| *component != Component::CurDir)
        .map(|component| match component {
            Component::ParentDir => Some(StepTo::Up),
            Component::Normal(name) => Some(StepTo::Down(name.to_str()?.to_owned())),
            _ => None,
        })
        .collect()
}

/// A path on its way: the directories that are open, outermost first, and the steps that lie ahead.
struct Walk<'a> {
    confined: &'a Confined,
    asked: &'a str,
    open: Vec<(String, Dir)>,
    ahead: VecDeque<StepTo>,
    links: usize,
}

impl Walk<'_> {
    fn run(mut self, last: LastLink) -> Result<Place, Refusal> {
        while let Some(step) = self.ahead.pop_front() {
            let name = match step {
                StepTo::Up => {
                    self.open.pop().ok_or_else(|| self.escapes())?;
                    continue;
                }
                StepTo::Down(name) => name,
            };
            if is_closed(&name) {
                return Err(Refusal::Closed { path: self.asked.to_owned() });
            }
            match self.here().symlink_metadata(&name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return self.missing(name),
                Err(error) => return Err(self.io(error)),
                Ok(found) if found.is_symlink() => self.follow(&name, last)?,
                Ok(found) if found.is_dir() => self.enter(name)?,
                Ok(_) if self.ahead.is_empty() => {
                    let path = self.path_of([name.as_str()]);
                    return Ok(Place { path, spot: Spot::Entry { parent: self.take_here()?, name } });
                }
                Ok(_) => return Err(wrong_kind(&self.path_of([name.as_str()]), "a file", "a folder")),
            }
        }
        let path = self.path_of([]);
        Ok(Place { path, spot: Spot::Directory(self.take_here()?) })
    }

    fn here(&self) -> &Dir {
        self.open.last().map_or(&self.confined.dir, |(_, dir)| dir)
    }

    fn take_here(&mut self) -> Result<Dir, Refusal> {
        match self.open.pop() {
            Some((_, dir)) => Ok(dir),
            None => self.confined.dir.try_clone().map_err(|error| self.io(error)),
        }
    }

    fn enter(&mut self, name: String) -> Result<(), Refusal> {
        if self.open.len() == MAX_DEPTH {
            return Err(Refusal::Invalid { path: self.asked.to_owned(), why: "it is nested too deeply" });
        }
        let dir = self.here().open_dir_nofollow(&name).map_err(|error| self.io(error))?;
        self.open.push((name, dir));
        Ok(())
    }

    /// Puts the target of a link in front of the steps ahead. An absolute target below the root starts there again.
    fn follow(&mut self, name: &str, last: LastLink) -> Result<(), Refusal> {
        let target = self.here().read_link_contents(name).map_err(|error| self.io(error))?;
        if last == LastLink::Refuse && self.ahead.is_empty() {
            let (path, target) = (self.path_of([name]), target.to_string_lossy().into_owned());
            return Err(Refusal::Link { path, target });
        }
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Refusal::Invalid { path: self.asked.to_owned(), why: "it has too many links" });
        }
        let target = if target.is_absolute() {
            self.open.clear();
            target.strip_prefix(&self.confined.root).map_err(|_| self.escapes())?
        } else {
            &target
        };
        let target = steps(target).ok_or_else(|| self.escapes())?;
        target.into_iter().rev().for_each(|step| self.ahead.push_front(step));
        Ok(())
    }

    /// Below something that does not exist there is nothing to step up from.
    fn missing(mut self, first: String) -> Result<Place, Refusal> {
        let mut names = vec![first];
        while let Some(step) = self.ahead.pop_front() {
            match step {
                StepTo::Down(name) => names.push(name),
                StepTo::Up => return Err(Refusal::NotFound { path: self.asked.to_owned() }),
            }
        }
        let path = self.path_of(names.iter().map(String::as_str));
        Ok(Place { path, spot: Spot::Missing { parent: self.take_here()?, names } })
    }

    fn path_of<'n>(&'n self, below: impl IntoIterator<Item = &'n str>) -> String {
        let open = self.open.iter().map(|(name, _)| name.as_str());
        match open.chain(below).collect::<Vec<_>>() {
            names if names.is_empty() => ".".to_owned(),
            names => names.join("/"),
        }
    }

    fn escapes(&self) -> Refusal {
        Refusal::Escapes { path: self.asked.to_owned() }
    }

    fn io(&self, error: io::Error) -> Refusal {
        Refusal::io(self.asked)(error)
    }
}
