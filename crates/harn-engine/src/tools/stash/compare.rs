//! Finds what differs now from a listing that was made before a command.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use cap_std::fs::Dir;
use harn_core::run::{Change, Node};

use super::super::atomic::hash;
use super::super::confined::MAX_CONTENT;
use super::seen::{Kind, Seen, Steps};
use super::survey::Known;
use super::walk::{MAX_IGNORE_FILE, Met, Visitor, walk};
use super::{MAX_CHANGES, MAX_ENTRIES, MAX_TOTAL};

/// How many entries are visited in search of new ones.
const MAX_VISITED: usize = 2 * MAX_ENTRIES;

/// What the comparison may know besides the listing; nothing of it is needed.
pub(super) struct Knowledge<'a> {
    pub(super) known: &'a Known,
    /// What an ignore file said, by its hash.
    pub(super) rules: &'a dyn Fn(&str) -> Option<Arc<[u8]>>,
}

/// What differs, sorted by path, and whether there was more than is given.
pub(super) struct Differences {
    pub(super) changes: Vec<Change>,
    pub(super) cut: bool,
}

pub(super) fn compare(
    root: &Dir,
    before: &BTreeMap<String, Node>,
    knowledge: Knowledge<'_>,
) -> io::Result<Differences> {
    let mut comparison = Comparison {
        before,
        knowledge,
        changes: Vec::new(),
        cut: false,
        bytes: 0,
        visited: 0,
        doubt: Vec::new(),
    };
    // What is listed comes first: if there is more than can be told, it is the new entries that go untold.
    comparison.look_at_listed(root);
    walk(root, &mut comparison)?;
    let Comparison { mut changes, cut, .. } = comparison;
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Differences { changes, cut })
}

struct Comparison<'a> {
    before: &'a BTreeMap<String, Node>,
    knowledge: Knowledge<'a>,
    changes: Vec<Change>,
    cut: bool,
    /// Of new and changed files, so far.
    bytes: u64,
    visited: usize,
    /// Folders for which nobody knows any more what was ignored in them.
    doubt: Vec<String>,
}

impl Comparison<'_> {
    /// Every listed path is looked up by itself, so that one that is ignored now does not pass for deleted.
    fn look_at_listed(&mut self, root: &Dir) {
        let mut steps = Steps::from(root);
        for (path, node) in self.before {
            let after = match steps.see(path) {
                Ok(None) => None,
                Ok(Some(seen)) => match self.changed(&seen, node) {
                    Some(after) => Some(after),
                    None => continue,
                },
                // Behind a folder that was closed to us, nothing can be told and nothing put back.
                Err(_) => continue,
            };
            self.add(Change { path: path.clone(), before: Some(node.clone()), after });
        }
    }

    /// What is there now, if it is not what the node says.
    fn changed(&mut self, seen: &Seen<'_>, node: &Node) -> Option<Node> {
        let mut read = None;
        let known = self.known_hash(seen);
        let size_differs = matches!(node, Node::File { size, .. } if *size != seen.stamp.size);
        if !size_differs {
            let hash_now = || match known.clone() {
                Some(known) => Some(known),
                None => {
                    read = seen.read().ok().map(|(bytes, _)| (hash(&bytes), bytes.len() as u64));
                    read.as_ref().map(|(hash, _)| hash.clone())
                }
            };
            if seen.is_with(node, hash_now) {
                return None;
            }
        }
        Some(match (read, known) {
            (Some((hash, size)), _) => Node::File { hash, mode: seen.stamp.mode, size },
            (None, Some(hash)) => Node::File { hash, mode: seen.stamp.mode, size: seen.stamp.size },
            (None, None) => self.node_of(seen),
        })
    }

    fn known_hash(&self, seen: &Seen<'_>) -> Option<String> {
        let (stamp, hash) = self.knowledge.known.get(seen.path)?;
        (*stamp == seen.stamp).then(|| hash.clone())
    }

    /// Describes what is there, so that undo can tell whether it is still the same.
    fn node_of(&mut self, seen: &Seen<'_>) -> Node {
        let stamp = &seen.stamp;
        match stamp.kind {
            Kind::Folder => Node::Folder { mode: stamp.mode },
            Kind::Symlink => match seen.target() {
                Ok(Some(target)) => Node::Symlink { target },
                _ => stamp.not_kept("its target could not be read"),
            },
            Kind::Other => stamp.not_kept("it is a pipe, socket or device"),
            Kind::File if stamp.size > MAX_CONTENT => stamp.not_kept("it is larger than 8 MiB"),
            Kind::File if self.bytes + stamp.size > MAX_TOTAL => {
                stamp.not_kept("more than 256 MiB had changed")
            }
            Kind::File => match seen.read() {
                Ok((bytes, _)) => {
                    self.bytes += bytes.len() as u64;
                    Node::File { hash: hash(&bytes), mode: stamp.mode, size: bytes.len() as u64 }
                }
                Err(_) => stamp.not_kept("it could not be read"),
            },
        }
    }

    /// Why it cannot be told whether a path that is not listed was there before.
    fn doubt(&self, path: &str) -> Option<String> {
        if self.before.len() >= MAX_ENTRIES {
            return Some("the workspace has too many entries, so it may have been there before".into());
        }
        let above = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        if self.doubt.iter().any(|folder| folder.is_empty() || above(folder)) {
            return Some("what was ignored before is not known, so it may have been there before".into());
        }
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        let closed = folders.filter_map(|folder| Some((folder, self.before.get(folder)?)));
        closed
            .filter(|(_, node)| matches!(node, Node::NotKept { .. }))
            .map(|(folder, _)| folder)
            .next()
            .map(|folder| format!("`{folder}` could not be looked into, so it may have been there before"))
    }

    fn add(&mut self, change: Change) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(change);
        } else {
            self.cut = true;
        }
    }
}

impl Visitor for Comparison<'_> {
    /// The rules from before hold too: what they left out was not listed, but it was there.
    fn earlier(&mut self, path: &str, now: Option<&[u8]>) -> Option<Arc<[u8]>> {
        let Some(Node::File { hash: earlier, size, .. }) = self.before.get(path) else { return None };
        if *size > MAX_IGNORE_FILE {
            return None;
        }
        if let Some(now) = now.filter(|now| hash(now) == *earlier) {
            return Some(now.into());
        }
        let known = (self.knowledge.rules)(earlier);
        if known.is_none() {
            self.doubt.push(path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned());
        }
        known
    }

    fn visit(&mut self, met: Met<'_>) -> ControlFlow<()> {
        self.visited += 1;
        if self.changes.len() >= MAX_CHANGES || self.visited > MAX_VISITED {
            self.cut = true;
            return ControlFlow::Break(());
        }
        if self.before.contains_key(met.seen.path) {
            return ControlFlow::Continue(());
        }
        let after = self.node_of(&met.seen);
        // Without a stamp, so that it never passes for what was there before.
        let before =
            self.doubt(met.seen.path).map(|why| Node::NotKept { why, mode: 0, size: 0, modified_ns: 0 });
        self.add(Change { path: met.seen.path.to_owned(), before, after: Some(after) });
        ControlFlow::Continue(())
    }

    fn unnamed(&mut self, _folder: &str) {}
}
