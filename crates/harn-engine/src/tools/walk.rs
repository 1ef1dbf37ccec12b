//! Walks a folder of the workspace for the search tools: in the order of paths, obeying ignore files, within bounds.
//!
//! Folders are entered through open handles and links never, so that a folder which is swapped for a link during the
//! walk is an error and not a way out.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use std::vec;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

use super::ToolFailure;
use super::confined::{Confined, LastLink, Place, Refusal, Spot, is_closed};
use super::rules::Rules;
use super::text::counted;

/// Every level of folders keeps a file descriptor open.
const MAX_DEPTH: usize = 128;
const MAX_VISITED: usize = 200_000;
const MAX_TIME: Duration = Duration::from_secs(30);

/// What ends a walk early.
pub(super) struct Bounds {
    entries: usize,
    until: Instant,
    cancel: CancellationToken,
}

impl Bounds {
    pub(super) fn new(cancel: CancellationToken) -> Self {
        Self { entries: MAX_VISITED, until: Instant::now() + MAX_TIME, cancel }
    }

    pub(super) fn check(&self) -> Result<(), Over> {
        match () {
            () if self.cancel.is_cancelled() => Err(Over::Cancelled),
            () if Instant::now() >= self.until => Err(Over::Time),
            () => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Entries,
    Time,
    Cancelled,
}

/// Whether names that begin with a dot are seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Seen,
    Unseen,
}

impl From<bool> for Hidden {
    fn from(seen: bool) -> Self {
        if seen { Self::Seen } else { Self::Unseen }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    Link,
}

/// A file or a link on the way.
pub(super) struct Found<'a> {
    pub(super) parent: &'a Dir,
    pub(super) name: &'a str,
    /// From the workspace root.
    pub(super) path: &'a str,
    /// From the folder where the walk began.
    pub(super) below: &'a str,
    pub(super) kind: Kind,
}

/// How a walk went.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) over: Option<Over>,
    visited: usize,
    unread_folders: usize,
    left_out_rules: usize,
}

impl Walked {
    /// The search of a single file.
    pub(super) fn ended(over: Option<Over>) -> Self {
        Self { over, ..Self::default() }
    }

    /// Why there may be more than was seen, if the walk ended early.
    pub(super) fn cut_short(&self) -> Option<String> {
        let why = match self.over? {
            Over::Entries => format!("after {} entries", self.visited),
            Over::Time => format!("after {} seconds", MAX_TIME.as_secs()),
            Over::Cancelled => "before its end".into(),
        };
        Some(format!("The search stopped {why}, so there may be more. Search in a smaller folder."))
    }

    /// What was passed over, in words.
    pub(super) fn skipped(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unread_folders > 0 {
            let folders = counted(self.unread_folders, "folder");
            notes.push(format!("{folders} could not be read, or nested too deeply."));
        }
        if self.left_out_rules > 0 {
            let files = counted(self.left_out_rules, "ignore file");
            notes.push(format!("{files} too large or too complex to be obeyed."));
        }
        notes
    }
}

/// Where a search begins. `.git` is no place to search: what it holds is for git to read.
pub(super) fn begin(workspace: &Confined, path: &str) -> Result<Place, ToolFailure> {
    let place = workspace.resolve(path, LastLink::Follow)?;
    if place.path.split('/').any(|name| name == ".git") {
        return Err(ToolFailure::new(format!(
            "`{}` belongs to git and is not searched. Use git itself, or read_file for a single file.",
            place.path
        )));
    }
    match place.spot {
        Spot::Missing { .. } => Err(Refusal::NotFound { path: place.path }.into()),
        _ => Ok(place),
    }
}

/// Shows every file and link below a folder to `visit`, until that breaks off or a bound is reached.
pub(super) fn walk(
    workspace: &Confined,
    (path, dir): (&str, Dir),
    hidden: Hidden,
    bounds: &Bounds,
    visit: impl FnMut(&Found<'_>) -> ControlFlow<()>,
) -> Walked {
    let mut rules = Rules::default();
    for folder in folders_above(path) {
        if let Ok(Place { spot: Spot::Directory(dir), .. }) = workspace.resolve(folder, LastLink::Follow) {
            rules.enter(&dir, folder);
        }
    }
    let below = if path == "." { 0 } else { path.len() + 1 };
    let mut walk = Walk { bounds, hidden, rules, below, open: Vec::new(), walked: Walked::default() };
    walk.enter(path.to_owned(), dir);
    walk.run(visit);
    walk.walked.left_out_rules = walk.rules.left_out;
    walk.walked
}

/// The folders on the way to a folder, without itself.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    let root = (path != ".").then_some(".");
    root.into_iter().chain(path.match_indices('/').map(|(at, _)| &path[..at]))
}

struct Walk<'a> {
    bounds: &'a Bounds,
    hidden: Hidden,
    rules: Rules,
    below: usize,
    /// The folder where the walk began, and those below it down to where it is now.
    open: Vec<Folder>,
    walked: Walked,
}

struct Folder {
    path: String,
    dir: Dir,
    ahead: vec::IntoIter<(String, Kind)>,
}

impl Walk<'_> {
    fn run(&mut self, mut visit: impl FnMut(&Found<'_>) -> ControlFlow<()>) {
        while let Some(folder) = self.open.last_mut() {
            let Some((name, kind)) = folder.ahead.next() else {
                self.open.pop();
                self.rules.leave();
                continue;
            };
            if let Err(over) = self.bounds.check() {
                self.walked.over = Some(over);
                return;
            }
            let path = if folder.path == "." { name.clone() } else { format!("{}/{name}", folder.path) };
            if self.rules.leave_out(&path, kind == Kind::Folder) {
                continue;
            }
            if kind == Kind::Folder {
                match folder.dir.open_dir_nofollow(&name) {
                    Ok(dir) if self.open.len() < MAX_DEPTH => self.enter(path, dir),
                    _ => self.walked.unread_folders += 1,
                }
                continue;
            }
            let (parent, below) = (&folder.dir, &path[self.below..]);
            if visit(&Found { parent, name: &name, path: &path, below, kind }).is_break() {
                return;
            }
        }
    }

    fn enter(&mut self, path: String, dir: Dir) {
        let mut names = self.names(&dir);
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.rules.enter(&dir, &path);
        self.open.push(Folder { path, dir, ahead: names.into_iter() });
    }

    /// What is in a folder and may be seen. A name that is not UTF-8 is not: no tool could be told to open it.
    fn names(&mut self, dir: &Dir) -> Vec<(String, Kind)> {
        let mut names = Vec::new();
        let Ok(entries) = dir.entries() else {
            self.walked.unread_folders += 1;
            return names;
        };
        for entry in entries.flatten() {
            if self.walked.visited == self.bounds.entries {
                self.walked.over = Some(Over::Entries);
                break;
            }
            self.walked.visited += 1;
            let (Ok(name), Ok(found)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let kind = match found {
                found if found.is_dir() => Kind::Folder,
                found if found.is_file() => Kind::File,
                found if found.is_symlink() => Kind::Link,
                _ => continue,
            };
            if !self.is_unseen(&name) {
                names.push((name, kind));
            }
        }
        names
    }

    fn is_unseen(&self, name: &str) -> bool {
        is_closed(name) || name == ".git" || (self.hidden == Hidden::Unseen && name.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(entries: usize, until: Instant, cancel: CancellationToken) -> (Vec<String>, Option<String>) {
        let root = tempfile::tempdir().unwrap();
        for folder in ["a", "b"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
            std::fs::write(root.path().join(folder).join("file"), "").unwrap();
        }
        let workspace = Confined::open(root.path()).unwrap();
        let Spot::Directory(dir) = begin(&workspace, ".").unwrap().spot else { panic!("a folder") };
        let bounds = Bounds { entries, until, cancel };
        let mut seen = Vec::new();
        let walked = walk(&workspace, (".", dir), Hidden::Unseen, &bounds, |found| {
            seen.push(found.path.to_owned());
            ControlFlow::Continue(())
        });
        (seen, walked.cut_short())
    }

    #[test]
    fn every_bound_ends_a_walk() {
        let (now, later) = (Instant::now(), Instant::now() + MAX_TIME);
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let running = CancellationToken::new;
        let both = || vec!["a/file".to_owned(), "b/file".to_owned()];
        assert_eq!(walked(9, later, running()), (both(), None));
        assert_eq!(walked(4, later, running()), (both(), None));
        let note = |why| {
            Some(format!("The search stopped {why}, so there may be more. Search in a smaller folder."))
        };
        assert_eq!(walked(3, later, running()), (vec!["a/file".into()], note("after 3 entries")));
        assert_eq!(walked(9, now, running()), (vec![], note("after 30 seconds")));
        assert_eq!(walked(9, later, cancelled), (vec![], note("before its end")));
    }
}
