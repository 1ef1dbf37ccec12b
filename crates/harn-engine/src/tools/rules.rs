//! What the ignore files of the folders on the way to an entry say about it.
//!
//! Ignore files come from the workspace, so they may be pipes, links, or made to be expensive. They are read through
//! the same handles as everything else, and one that is too large does not count.

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::confined::{Refusal, open_regular, read_whole};

const MAX_FILE: u64 = 64 * 1024;
const MAX_LINES: usize = 2000;

/// Globs nest, and the nesting of a longer line could exhaust the stack.
const MAX_LINE: usize = 1000;

/// The ignore files from the workspace root down to a folder, outermost first.
#[derive(Default)]
pub(super) struct Rules {
    levels: Vec<Level>,
    /// How many files did not count because of their size.
    pub(super) left_out: usize,
}

struct Level {
    /// Where, in the path of an entry, the part below this folder begins.
    from: usize,
    ignore: Gitignore,
    git: Gitignore,
    /// A repository does not obey the `.gitignore` of the folders around it.
    repository: bool,
}

impl Rules {
    /// Goes down into a folder; `path` is its path from the root, `.` for the root itself.
    pub(super) fn enter(&mut self, dir: &Dir, path: &str) {
        let level = Level {
            from: if path == "." { 0 } else { path.len() + 1 },
            ignore: self.read(dir, ".ignore"),
            git: self.read(dir, ".gitignore"),
            repository: dir.symlink_metadata(".git").is_ok(),
        };
        self.levels.push(level);
    }

    /// Goes back up.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether an entry is left out. The deepest folder with an opinion decides, and `.ignore` before `.gitignore`.
    pub(super) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let said = |rules: &Gitignore, level: &Level| match rules.matched(&path[level.from..], is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        };
        let innermost = || self.levels.iter().rev();
        let repository = innermost().position(|level| level.repository).map_or(usize::MAX, |at| at + 1);
        let by_ignore = innermost().find_map(|level| said(&level.ignore, level));
        by_ignore
            .or_else(|| innermost().take(repository).find_map(|level| said(&level.git, level)))
            .unwrap_or(false)
    }

    fn read(&mut self, dir: &Dir, name: &str) -> Gitignore {
        let bytes = open_regular(dir, name, name).and_then(|(file, _)| read_whole(file, name, MAX_FILE));
        match bytes {
            Ok(bytes) => parse(&String::from_utf8_lossy(&bytes)).unwrap_or_else(|| self.without()),
            Err(Refusal::TooLarge { .. }) => self.without(),
            Err(_) => Gitignore::empty(),
        }
    }

    fn without(&mut self) -> Gitignore {
        self.left_out += 1;
        Gitignore::empty()
    }
}

/// A line that is not a glob is skipped, as git does.
fn parse(text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (n, line) in text.lines().enumerate() {
        if n == MAX_LINES {
            return None;
        }
        if line.len() <= MAX_LINE {
            let _ = builder.add_line(None, line);
        }
    }
    builder.build().ok()
}
