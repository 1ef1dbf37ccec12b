//! Visits everything below a root that is not ignored, folder by folder through open handles, links not followed.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::super::confined::{MAX_DEPTH, Refusal, is_closed, open_regular, read_whole};
use super::seen::{Kind, Seen, Stamp};

/// The files that say what is ignored, strongest first.
const IGNORE_FILES: [&str; 2] = [".ignore", ".gitignore"];

/// A larger one is an ordinary file: it says nothing about others.
pub(super) const MAX_IGNORE_FILE: u64 = 256 * 1024;

/// A folder with more is not looked into: its names alone would fill the memory.
const MAX_NAMES: usize = 1_000_000;

/// How the walk is told what was and what is ignored.
pub(super) trait Visitor {
    /// What an ignore file said earlier, if that matters to this walk besides what it says now.
    fn earlier(&mut self, path: &str, now: Option<&[u8]>) -> Option<Arc<[u8]>>;

    /// One entry, folders before what is in them.
    fn visit(&mut self, met: Met<'_>) -> ControlFlow<()>;

    /// A name that cannot be spelled in a listing.
    fn unnamed(&mut self, folder: &str);
}

pub(super) struct Met<'a> {
    pub(super) seen: Seen<'a>,
    /// The bytes of an ignore file, as the walk itself obeys them.
    pub(super) rules: Option<&'a [u8]>,
    /// Why what is in this folder is not visited.
    pub(super) closed: Option<String>,
}

/// An open folder of the walk.
struct Frame {
    dir: Dir,
    path: String,
    names: vec::IntoIter<String>,
    rules: BTreeMap<&'static str, Vec<u8>>,
    /// Matchers of the ignore files as they are now, and as they were earlier.
    now: [Option<Arc<Gitignore>>; 2],
    earlier: [Option<Arc<Gitignore>>; 2],
}

/// Walks below `root`. An error is about the root itself; what is wrong further down is told to the visitor.
pub(super) fn walk(root: &Dir, visitor: &mut dyn Visitor) -> io::Result<()> {
    let mut frames = vec![enter(root.try_clone()?, String::new(), visitor)?];
    while let Some(frame) = frames.last_mut() {
        let Some(name) = frame.names.next() else {
            frames.pop();
            continue;
        };
        // Something that has vanished since its folder was read is simply not there.
        let Ok(found) = frame.dir.symlink_metadata(&name) else { continue };
        let stamp = Stamp::of(&found);
        let path = join(&frame.path, &name);
        let is_folder = stamp.kind == Kind::Folder;
        let frame = &frames[frames.len() - 1];
        let rules = frame.rules.get(name.as_str()).map(Vec::as_slice);
        // Ignore files are always listed: whoever compares later must know which rules were in force.
        if rules.is_none() && is_ignored(&frames, &path, is_folder) {
            continue;
        }
        let below = match is_folder {
            true if frames.len() > MAX_DEPTH => Some(Err("it is nested too deeply".to_owned())),
            true => {
                let opened = frame.dir.open_dir_nofollow(&name);
                Some(opened.and_then(|dir| enter(dir, path.clone(), visitor)).map_err(could_not_be_read))
            }
            false => None,
        };
        let closed = below.as_ref().and_then(|below| below.as_ref().err().cloned());
        let seen = Seen { parent: &frame.dir, name: &name, path: &path, stamp };
        if visitor.visit(Met { seen, rules, closed }).is_break() {
            break;
        }
        frames.extend(below.and_then(Result::ok));
    }
    Ok(())
}

fn could_not_be_read(error: io::Error) -> String {
    format!("it could not be read: {error}")
}

/// Reads the names in a folder, and what its ignore files say.
fn enter(dir: Dir, path: String, visitor: &mut dyn Visitor) -> io::Result<Frame> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        if names.len() == MAX_NAMES {
            return Err(io::Error::other("it holds too many entries"));
        }
        match entry?.file_name().into_string() {
            Ok(name) if is_closed(&name) || name == ".git" => {}
            Ok(name) => names.push(name),
            Err(_) => visitor.unnamed(&path),
        }
    }
    names.sort_unstable();
    let mut frame = Frame {
        names: names.into_iter(),
        rules: BTreeMap::new(),
        now: [None, None],
        earlier: [None, None],
        dir,
        path,
    };
    for (at, name) in IGNORE_FILES.into_iter().enumerate() {
        let path = join(&frame.path, name);
        let now = read_rules(&frame.dir, name, &path).ok();
        frame.now[at] = now.as_deref().and_then(matcher);
        frame.earlier[at] = match visitor.earlier(&path, now.as_deref()) {
            Some(earlier) if Some(&*earlier) == now.as_deref() => frame.now[at].clone(),
            Some(earlier) => matcher(&earlier),
            None => None,
        };
        frame.rules.extend(now.map(|now| (name, now)));
    }
    Ok(frame)
}

fn read_rules(dir: &Dir, name: &str, path: &str) -> Result<Vec<u8>, Refusal> {
    let (file, _) = open_regular(dir, name, path)?;
    read_whole(file, path, MAX_IGNORE_FILE)
}

/// Lines that are not patterns are passed over, as git does.
fn matcher(content: &[u8]) -> Option<Arc<Gitignore>> {
    let mut builder = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(content).lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty()).map(Arc::new)
}

/// Whether the rules of now, or those of earlier, leave a path out.
fn is_ignored(frames: &[Frame], path: &str, is_folder: bool) -> bool {
    is_ignored_by(frames, path, is_folder, |frame| &frame.now)
        || is_ignored_by(frames, path, is_folder, |frame| &frame.earlier)
}

/// An inner folder has more to say than an outer one, and any `.ignore` more than any `.gitignore`.
fn is_ignored_by(
    frames: &[Frame],
    path: &str,
    is_folder: bool,
    rules: impl Fn(&Frame) -> &[Option<Arc<Gitignore>>; 2],
) -> bool {
    for at in 0..IGNORE_FILES.len() {
        for frame in frames.iter().rev() {
            let Some(rules) = &rules(frame)[at] else { continue };
            let below = match frame.path.as_str() {
                "" => path,
                folder => path.get(folder.len() + 1..).unwrap_or(path),
            };
            match rules.matched(below, is_folder) {
                ignore::Match::None => {}
                found => return found.is_ignore(),
            }
        }
    }
    false
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
