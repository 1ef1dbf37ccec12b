//! Undo: puts the paths of a workspace back to what they were before a series of changes.
//!
//! A path is touched only if it is still as the last of the changes left it. Every state that an interrupted attempt
//! may leave is recognised, so that a second attempt finishes the job.

mod hands;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use cap_std::fs::Dir;
use harn_core::change::ANY_MODE;
use harn_core::ports::{Kept, Restored};
use harn_core::run::{Change, Node};
use parking_lot::Mutex;

use super::atomic::{REPLACE, hash, sync};
use super::confined::Confined;
use super::stash::{Kind, Seen, Stamp, Steps, usable};

/// What the owner needs to work in a folder.
const OWNER: u32 = 0o700;

/// Two attempts at once would take each other's work for somebody else's.
static ALONE: Mutex<()> = Mutex::new(());

/// Puts back what the changes did, which are given in the order in which they happened. One answer per path, by path.
pub(super) fn restore(workspace: &Confined, changes: &[Change], kept: Kept<'_>) -> Vec<(String, Restored)> {
    let _alone = ALONE.lock();
    let mut restoring = Restoring { workspace, kept, touched: BTreeSet::new() };
    let mut wishes = wishes(changes);
    restoring.inspect(&mut wishes);
    // What is in a folder goes before the folder, and comes after it.
    for wish in wishes.iter_mut().rev().filter(|wish| wish.target.is_none()) {
        restoring.settle(wish, Restoring::take_away);
    }
    for wish in wishes.iter_mut().filter(|wish| wish.target.is_some()) {
        restoring.settle(wish, Restoring::put);
    }
    for wish in wishes.iter_mut().rev() {
        restoring.close(wish);
    }
    restoring.sync();
    wishes.into_iter().map(Wish::answer).collect()
}

/// What is to become of one path.
struct Wish<'a> {
    path: &'a str,
    /// Before the first change.
    target: Option<&'a Node>,
    /// After the last one.
    left: Option<&'a Node>,
    progress: Progress,
    /// The mode of a folder that may be made accessible for the work, in case the work comes to nothing.
    back_to: Option<u32>,
}

enum Progress {
    /// To be done, as long as this is what is there.
    Open(Option<Stamp>),
    Settled(Restored),
}

impl Wish<'_> {
    fn answer(self) -> (String, Restored) {
        let restored = match self.progress {
            Progress::Settled(restored) => restored,
            Progress::Open(_) => Restored::Refused("it was not reached; undo again".into()),
        };
        (self.path.to_owned(), restored)
    }
}

/// Sorted by path, so that a folder comes before what is in it.
fn wishes(changes: &[Change]) -> Vec<Wish<'_>> {
    let mut wishes = BTreeMap::<&str, Wish<'_>>::new();
    for Change { path, before, after } in changes {
        let wish = wishes.entry(path).or_insert_with(|| Wish {
            path,
            target: before.as_ref(),
            left: None,
            progress: Progress::Open(None),
            back_to: None,
        });
        wish.left = after.as_ref();
    }
    wishes.into_values().collect()
}

/// Why a path was left alone.
struct Refused(String);

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self(format!("it could not be put back: {error}"))
    }
}

struct Restoring<'a> {
    workspace: &'a Confined,
    kept: Kept<'a>,

    /// Folders whose entries have changed.
    touched: BTreeSet<String>,
}

impl Restoring<'_> {
    /// Decides about each path, and makes folders accessible that there is work to do in.
    fn inspect(&self, wishes: &mut [Wish<'_>]) {
        let mut steps = Steps::from(self.workspace.dir());
        for wish in wishes {
            wish.progress = decide(&mut steps, wish)
                .unwrap_or_else(|Refused(why)| Progress::Settled(Restored::Refused(why)));
        }
    }

    fn settle(
        &mut self,
        wish: &mut Wish<'_>,
        work: fn(&mut Self, &Wish<'_>, Option<&Stamp>) -> Result<(), Refused>,
    ) {
        let Progress::Open(stamp) = &wish.progress else { return };
        let restored = match work(self, wish, stamp.as_ref()) {
            // A folder gets its mode when everything in it is done.
            Ok(()) if matches!(wish.target, Some(Node::Folder { .. })) => return,
            Ok(()) => Restored::Done,
            Err(Refused(why)) => Restored::Refused(why),
        };
        wish.progress = Progress::Settled(restored);
    }

    fn take_away(&mut self, wish: &Wish<'_>, stamp: Option<&Stamp>) -> Result<(), Refused> {
        let mut steps = Steps::from(self.workspace.dir());
        let _alone = REPLACE.lock();
        let Some(seen) = still(&mut steps, wish.path, stamp)? else { return Ok(()) };
        self.touched.insert(folder_of(wish.path).to_owned());
        remove(&seen)
    }

    fn put(&mut self, wish: &Wish<'_>, stamp: Option<&Stamp>) -> Result<(), Refused> {
        match wish.target {
            Some(Node::File { hash, mode, .. }) => self.put_file(wish, stamp, hash, *mode),
            Some(Node::Symlink { target }) => self
                .put_in_place(wish, stamp, |parent, temporary| hands::make_link(parent, temporary, target)),
            Some(Node::Folder { mode }) => self.put_folder(wish, stamp, *mode),
            Some(Node::NotKept { .. }) | None => Ok(()),
        }
    }

    fn put_file(
        &mut self,
        wish: &Wish<'_>,
        stamp: Option<&Stamp>,
        wanted: &str,
        mode: u32,
    ) -> Result<(), Refused> {
        let has = stamp.filter(|stamp| stamp.kind == Kind::File).map(|stamp| stamp.mode);
        if has.is_some() && matches!(wish.left, Some(Node::File { hash, .. }) if hash == wanted) {
            let mut steps = Steps::from(self.workspace.dir());
            let _alone = REPLACE.lock();
            let Some(seen) = still(&mut steps, wish.path, stamp)? else { return Ok(()) };
            return Ok(hands::set_mode(seen.parent, seen.name, mode)?);
        }
        let bytes = (self.kept)(wanted).filter(|bytes| hash(bytes) == wanted);
        let bytes = bytes.ok_or_else(|| Refused("its content from before is no longer kept".into()))?;
        let mode = if mode == ANY_MODE { has } else { Some(mode) };
        self.put_in_place(wish, stamp, |parent, temporary| hands::make_file(parent, temporary, &bytes, mode))
    }

    /// Makes the new thing beside its place, then moves it there.
    fn put_in_place(
        &mut self,
        wish: &Wish<'_>,
        stamp: Option<&Stamp>,
        make: impl Fn(&Dir, &str) -> io::Result<()>,
    ) -> Result<(), Refused> {
        let root = self.workspace.dir();
        let mut steps = Steps::from(root);
        let (parent, name) = steps.parent_of(wish.path)?.ok_or_else(|| no_folder(wish.path))?;
        let temporary = hands::temporary_name(wish.path);
        let make_and_move = || -> Result<(), Refused> {
            hands::in_folder(parent, || make(parent, &temporary))?;
            let mut again = Steps::from(root);
            let _alone = REPLACE.lock();
            if let Some(seen) = still(&mut again, wish.path, stamp)?
                && seen.stamp.kind == Kind::Folder
            {
                remove(&seen)?;
            }
            Ok(hands::in_folder(parent, || hands::rename(parent, &temporary, name))?)
        };
        let moved = make_and_move();
        if moved.is_err() {
            hands::sweep(parent, wish.path);
        }
        self.touched.insert(folder_of(wish.path).to_owned());
        moved
    }

    fn put_folder(&mut self, wish: &Wish<'_>, stamp: Option<&Stamp>, mode: u32) -> Result<(), Refused> {
        let mut steps = Steps::from(self.workspace.dir());
        let _alone = REPLACE.lock();
        match still(&mut steps, wish.path, stamp)? {
            Some(seen) if seen.stamp.kind == Kind::Folder => return Ok(()),
            Some(seen) => remove(&seen)?,
            None => {}
        }
        let (parent, name) = steps.parent_of(wish.path)?.ok_or_else(|| no_folder(wish.path))?;
        hands::in_folder(parent, || hands::make_folder(parent, name))?;
        self.touched.insert(folder_of(wish.path).to_owned());
        let mode = if mode == ANY_MODE { 0o755 } else { mode };
        Ok(hands::set_mode(parent, name, mode | OWNER)?)
    }

    /// Gives a folder the mode that it keeps.
    fn close(&mut self, wish: &mut Wish<'_>) {
        let mode = match (&wish.progress, wish.target, wish.back_to) {
            (Progress::Open(_), Some(Node::Folder { mode }), _) => *mode,
            (Progress::Settled(Restored::Refused(_)), _, Some(mode)) => mode,
            _ => return,
        };
        let mut steps = Steps::from(self.workspace.dir());
        let closed = match steps.see(wish.path) {
            Ok(Some(Seen { parent, name, stamp, .. })) if stamp.kind == Kind::Folder => {
                if mode == ANY_MODE || stamp.mode == mode {
                    Ok(())
                } else {
                    hands::set_mode(parent, name, mode)
                }
            }
            Ok(_) => Err(io::Error::other("the folder was removed meanwhile")),
            Err(error) => Err(error),
        };
        if let Progress::Open(_) = wish.progress {
            wish.progress = Progress::Settled(match closed {
                Ok(()) => Restored::Done,
                Err(error) => Restored::Refused(Refused::from(error).0),
            });
        }
    }

    /// Makes the changes of the folders themselves durable. Whatever a power failure leaves is finished by the next
    /// attempt, so one pass at the end is enough.
    fn sync(&self) {
        let mut steps = Steps::from(self.workspace.dir());
        for folder in &self.touched {
            let inside = if folder.is_empty() { "x".to_owned() } else { format!("{folder}/x") };
            if let Ok(Some((dir, _))) = steps.parent_of(&inside)
                && let Err(error) = sync(dir)
            {
                tracing::warn!(folder, %error, "a folder could not be synced after undo");
            }
        }
    }
}

fn remove(seen: &Seen<'_>) -> Result<(), Refused> {
    let removed = hands::in_folder(seen.parent, || match seen.stamp.kind {
        Kind::Folder => hands::remove_folder(seen.parent, seen.name),
        _ => hands::remove_file(seen.parent, seen.name),
    });
    removed.map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => {
            Refused("it holds what is not part of the undo, so it was left".into())
        }
        _ => error.into(),
    })
}

fn decide(steps: &mut Steps<'_>, wish: &mut Wish<'_>) -> Result<Progress, Refused> {
    usable(wish.path).map_err(|why| Refused(why.into()))?;
    let unseen = |error: io::Error| Refused(format!("it could not be looked at: {error}"));
    if let Some((parent, _)) = steps.parent_of(wish.path).map_err(unseen)? {
        hands::sweep(parent, wish.path);
    }
    let seen = steps.see(wish.path).map_err(unseen)?;
    if is(seen.as_ref(), wish.target) {
        return Ok(Progress::Settled(Restored::Unchanged));
    }
    if let Some(Node::NotKept { why, .. }) = wish.target {
        return Err(Refused(format!("it was not kept: {why}")));
    }
    let stamp = seen.as_ref().map(|seen| seen.stamp.clone());
    if !is(seen.as_ref(), wish.left) && !is_half_done(stamp.as_ref(), wish) {
        return Err(Refused(format!("it was changed since: {}", now(seen.as_ref(), wish.left))));
    }
    if let Some(Seen { parent, name, stamp, .. }) = &seen
        && stamp.kind == Kind::Folder
    {
        let left = folder_mode(wish.left).filter(|mode| *mode != ANY_MODE);
        wish.back_to = left.or(Some(stamp.mode));
        if stamp.mode & OWNER != OWNER {
            hands::set_mode(parent, name, stamp.mode | OWNER)?;
        }
    }
    Ok(Progress::Open(stamp))
}

fn is(seen: Option<&Seen<'_>>, node: Option<&Node>) -> bool {
    match (seen, node) {
        (None, None) => true,
        (Some(seen), Some(node)) => seen.is(node),
        _ => false,
    }
}

/// Whether this is what an attempt leaves that is interrupted between two steps: nothing, where a folder and something
/// else change places, or a folder with the mode that it has while there is work in it.
fn is_half_done(stamp: Option<&Stamp>, wish: &Wish<'_>) -> bool {
    let modes = [folder_mode(wish.target), folder_mode(wish.left)];
    match stamp {
        None => wish.target.is_some() && wish.left.is_some() && modes[0].is_some() != modes[1].is_some(),
        Some(stamp) if stamp.kind == Kind::Folder => {
            let just_made = stamp.mode & 0o777 == OWNER && modes[0].is_some();
            just_made || modes.into_iter().flatten().any(|mode| stamp.mode == mode | OWNER)
        }
        Some(_) => false,
    }
}

fn folder_mode(node: Option<&Node>) -> Option<u32> {
    match node {
        Some(Node::Folder { mode }) => Some(*mode),
        _ => None,
    }
}

/// What is at the path, if it is still what it was when it was decided about.
fn still<'s>(
    steps: &'s mut Steps<'_>,
    path: &'s str,
    stamp: Option<&Stamp>,
) -> Result<Option<Seen<'s>>, Refused> {
    let seen = steps.see(path)?;
    let same = match (&seen, stamp) {
        (None, None) => true,
        // What is in a folder changes under our own hands.
        (Some(seen), Some(stamp)) if stamp.kind == Kind::Folder => seen.stamp.kind == Kind::Folder,
        (Some(seen), Some(stamp)) => seen.stamp == *stamp,
        _ => false,
    };
    if same { Ok(seen) } else { Err(Refused("it was changed since: just now, by somebody else".into())) }
}

/// How it differs from what it was left as, in words.
fn now(seen: Option<&Seen<'_>>, left: Option<&Node>) -> String {
    let Some(Seen { stamp, .. }) = seen else { return "it is gone".into() };
    match (stamp.kind, left) {
        (_, None) => "it was made again".into(),
        (Kind::File, Some(Node::File { mode, .. })) if ![ANY_MODE, stamp.mode].contains(mode) => {
            format!("its mode is now {:o}", stamp.mode)
        }
        (Kind::File, Some(Node::File { .. } | Node::NotKept { .. })) => "it has other content".into(),
        (Kind::Folder, Some(Node::Folder { .. })) => format!("its mode is now {:o}", stamp.mode),
        (Kind::Symlink, Some(Node::Symlink { .. })) => "it leads elsewhere".into(),
        (Kind::File, _) => "it is now a file".into(),
        (Kind::Folder, _) => "it is now a folder".into(),
        (Kind::Symlink, _) => "it is now a symbolic link".into(),
        (Kind::Other, _) => "it is now a pipe, socket or device".into(),
    }
}

fn no_folder(path: &str) -> Refused {
    Refused(format!("its folder `{}` is not there", folder_of(path)))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
