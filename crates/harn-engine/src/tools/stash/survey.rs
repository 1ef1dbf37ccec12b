//! Lists a workspace before a command, and hands on the contents that are not kept yet.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use cap_std::fs::Dir;
use harn_core::run::Node;

use super::super::atomic::hash;
use super::super::confined::{MAX_CONTENT, Refusal};
use super::left_out::{LeftOut, Why};
use super::seen::{Kind, Seen, Stamp};
use super::walk::{Met, Visitor, walk};
use super::{MAX_ENTRIES, MAX_TOTAL};

/// Some file systems tell times only to two seconds. A file that was touched so shortly before it was read may be
/// written again without a trace in its stamp, so it is read again next time.
const RACY_NS: i64 = 2_000_000_000;

/// Files whose content is kept: as long as the stamp is the same, so is the hash.
pub(super) type Known = HashMap<String, (Stamp, String)>;

/// A workspace as it was at a stash.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) nodes: BTreeMap<String, Node>,
    /// The ignore files that were in force, by hash.
    pub(super) rules: HashMap<String, Arc<[u8]>>,
}

/// Takes content to be kept. Breaks when nobody takes it any more.
pub(super) type Sink<'a> = &'a mut dyn FnMut(Bytes) -> ControlFlow<()>;

pub(super) struct Survey {
    pub(super) listing: Listing,
    pub(super) known: Known,
    pub(super) left_out: LeftOut,
}

/// Surveys the folder `root` at the time `now_ns`. Gives none when the sink broke off.
pub(super) fn survey(root: &Dir, known: &Known, now_ns: i64, sink: Sink<'_>) -> io::Result<Option<Survey>> {
    let mut surveyor = Surveyor {
        before: known,
        now_ns,
        sink,
        handed_on: HashSet::new(),
        bytes: 0,
        stopped: false,
        made: Survey { listing: Listing::default(), known: HashMap::new(), left_out: LeftOut::default() },
    };
    walk(root, &mut surveyor)?;
    Ok((!surveyor.stopped).then_some(surveyor.made))
}

struct Surveyor<'a> {
    before: &'a Known,
    now_ns: i64,
    sink: Sink<'a>,
    handed_on: HashSet<String>,
    /// Of all files that are kept.
    bytes: u64,
    stopped: bool,
    made: Survey,
}

impl Visitor for Surveyor<'_> {
    fn earlier(&mut self, _path: &str, _now: Option<&[u8]>) -> Option<Arc<[u8]>> {
        None
    }

    fn visit(&mut self, met: Met<'_>) -> ControlFlow<()> {
        if self.made.listing.nodes.len() == MAX_ENTRIES {
            self.made.left_out.add(Why::TooMany, met.seen.path);
            return ControlFlow::Break(());
        }
        let node = match met.seen.stamp.kind {
            Kind::File => self.file(&met.seen, met.rules),
            Kind::Symlink => match met.seen.target() {
                Ok(Some(target)) => Node::Symlink { target },
                Ok(None) => self.leave_out(Why::TargetNotText, &met.seen, "its target is not UTF-8"),
                Err(error) => self.unread(&met.seen, &error.to_string()),
            },
            Kind::Folder => match met.closed {
                None => Node::Folder { mode: met.seen.stamp.mode },
                Some(why) => self.leave_out(Why::Unread, &met.seen, why),
            },
            Kind::Other => self.leave_out(Why::Special, &met.seen, "it is a pipe, socket or device"),
        };
        self.made.listing.nodes.insert(met.seen.path.to_owned(), node);
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn unnamed(&mut self, folder: &str) {
        self.made.left_out.add(Why::NameNotText, if folder.is_empty() { "." } else { folder });
    }
}

impl Surveyor<'_> {
    fn file(&mut self, seen: &Seen<'_>, rules: Option<&[u8]>) -> Node {
        if let Some(rules) = rules {
            let rules: Arc<[u8]> = rules.into();
            let hash = hash(&rules);
            self.made.listing.rules.insert(hash.clone(), Arc::clone(&rules));
            // Which rules were in force must be known whatever else is left out, so no limit applies.
            return self.keep(seen, Bytes::from_owner(rules), hash, None);
        }
        if seen.stamp.size > MAX_CONTENT {
            return self.leave_out(Why::Large, seen, "it is larger than 8 MiB");
        }
        if self.bytes + seen.stamp.size > MAX_TOTAL {
            return self.leave_out(Why::Total, seen, "the workspace has more than 256 MiB");
        }
        if let Some((stamp, hash)) = self.before.get(seen.path)
            && *stamp == seen.stamp
        {
            self.made.known.insert(seen.path.to_owned(), (stamp.clone(), hash.clone()));
            return self.kept_file(seen, hash.clone(), seen.stamp.size);
        }
        match seen.read() {
            Ok((bytes, stamp)) => {
                let hash = hash(&bytes);
                self.keep(seen, bytes.into(), hash, stamp)
            }
            Err(Refusal::TooLarge { .. }) => self.leave_out(Why::Large, seen, "it is larger than 8 MiB"),
            Err(Refusal::Io { source, .. }) => self.unread(seen, &source.to_string()),
            Err(_) => self.unread(seen, "it was replaced while it was looked at"),
        }
    }

    fn keep(&mut self, seen: &Seen<'_>, bytes: Bytes, hash: String, stamp: Option<Stamp>) -> Node {
        let size = bytes.len() as u64;
        if self.handed_on.insert(hash.clone()) {
            self.stopped |= (self.sink)(bytes).is_break();
        }
        let is_settled =
            |stamp: &Stamp| stamp.modified_ns.max(stamp.changed_ns).saturating_add(RACY_NS) < self.now_ns;
        if let Some(stamp) = stamp.filter(is_settled) {
            self.made.known.insert(seen.path.to_owned(), (stamp, hash.clone()));
        }
        self.kept_file(seen, hash, size)
    }

    fn kept_file(&mut self, seen: &Seen<'_>, hash: String, size: u64) -> Node {
        self.bytes += size;
        Node::File { hash, mode: seen.stamp.mode, size }
    }

    fn unread(&mut self, seen: &Seen<'_>, error: &str) -> Node {
        self.leave_out(Why::Unread, seen, format!("it could not be read: {error}"))
    }

    fn leave_out(&mut self, why: Why, seen: &Seen<'_>, words: impl Into<String>) -> Node {
        self.made.left_out.add(why, seen.path);
        seen.stamp.not_kept(words)
    }
}
