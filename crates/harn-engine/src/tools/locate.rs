//! Finds out where a path leads, link by link, without opening anything on the way.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use harn_core::ports::Located;

use super::confined::{MAX_LINKS, MAX_PATH};

/// Follows `path` from `root`, which is canonical. What does not exist, or cannot be looked at, is taken as it is
/// spelled.
pub(crate) fn locate(root: &Path, path: &str) -> Located {
    let mut way = Way { at: root.to_owned(), ahead: VecDeque::new(), links: 0 };
    let led = usable(path).and_then(from_home).and_then(|path| way.follow(&path));
    let through_link = way.links > 0;
    let inside = |path: &Path| match path.to_str()? {
        "" => Some(".".to_owned()),
        path => Some(path.to_owned()),
    };
    let (workspace_path, host_path) = match led.as_deref().map(|led| (led, led.strip_prefix(root))) {
        None => (None, None),
        Some((_, Ok(below))) => (inside(below), None),
        Some((led, Err(_))) => (None, led.to_str().map(str::to_owned)),
    };
    Located { workspace_path, host_path, through_link }
}

fn usable(path: &str) -> Option<&str> {
    (!path.is_empty() && path.len() <= MAX_PATH && !path.contains('\0')).then_some(path)
}

/// `~` and `~/x` are about the home of this process; `~name` is a name like any other.
fn from_home(path: &str) -> Option<PathBuf> {
    let Some(below) = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
        return Some(path.into());
    };
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    Some(home.join(below.trim_start_matches('/')))
}

/// A path on its way: what is behind is free of links.
struct Way {
    at: PathBuf,
    ahead: VecDeque<Step>,
    links: usize,
}

enum Step {
    Up,
    Down(OsString),
}

impl Way {
    /// Where the path leads; none when it leads in a circle or is too long.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        self.put_ahead(path);
        while let Some(step) = self.ahead.pop_front() {
            match step {
                Step::Up => {
                    self.at.pop();
                }
                Step::Down(name) => self.step_down(&name)?,
            }
        }
        Some(self.at.clone())
    }

    fn step_down(&mut self, name: &OsString) -> Option<()> {
        self.at.push(name);
        if self.at.as_os_str().len() > MAX_PATH {
            return None;
        }
        match fs::symlink_metadata(&self.at) {
            Ok(found) if found.is_symlink() => {
                self.links += 1;
                let target = fs::read_link(&self.at).ok().filter(|_| self.links <= MAX_LINKS)?;
                self.at.pop();
                self.put_ahead(&target);
                Some(())
            }
            Ok(_) => Some(()),
            Err(error) => matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
            )
            .then_some(()),
        }
    }

    fn put_ahead(&mut self, path: &Path) {
        if path.is_absolute() {
            self.at = PathBuf::from("/");
        }
        let steps = path.components().filter_map(|component| match component {
            Component::ParentDir => Some(Step::Up),
            Component::Normal(name) => Some(Step::Down(name.to_owned())),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        steps.rev().for_each(|step| self.ahead.push_front(step));
    }
}
