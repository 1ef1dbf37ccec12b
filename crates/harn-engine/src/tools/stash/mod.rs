//! The workspace as it was before a command, kept so that what the command did can be seen and undone.
//!
//! A stash is a listing of everything that is not ignored, and the contents behind it. Contents are read once: as long
//! as the file system says that a file is the same, its hash is known. That knowledge is in memory only; after a
//! restart everything is read again, and keeping content twice does no harm.

mod compare;
mod left_out;
mod seen;
mod survey;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::mem;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use harn_core::run::{Change, Node, Stash};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::atomic::hash;
use super::confined::{Confined, Refusal};
use super::{ToolContext, ToolFailure};
use compare::{Knowledge, compare};
pub(super) use seen::{Kind, Seen, Stamp, Steps, usable};
use survey::{Known, Listing, Survey, survey};

/// The most entries of a stash.
const MAX_ENTRIES: usize = 100_000;
/// The most bytes of all files of a stash together.
const MAX_TOTAL: u64 = 256 * 1024 * 1024;
/// The most changes that are told of one command.
const MAX_CHANGES: usize = 10_000;
/// Content is handed over to be kept in portions of this size.
const MAX_BATCH: usize = 8 * 1024 * 1024;
const MAX_ROOTS: usize = 32;

/// What is known of each root since the last stash. Shared by all runs of an engine.
#[derive(Debug, Default)]
pub struct Stashes {
    /// The root that was used last comes first.
    roots: Mutex<VecDeque<(PathBuf, Arc<tokio::sync::Mutex<Known>>)>>,
}

/// A stash that was taken, with its listing at hand for the comparison afterwards.
#[derive(Clone, Debug)]
pub struct Taken {
    pub stash: Stash,
    before: Arc<Listing>,
}

impl std::ops::Deref for Taken {
    type Target = Stash;

    fn deref(&self) -> &Stash {
        &self.stash
    }
}

impl PartialEq for Taken {
    fn eq(&self, other: &Self) -> bool {
        self.stash == other.stash
    }
}

impl Eq for Taken {}

impl Stashes {
    /// The memory of one root. Whoever locks it is alone with it, so that stashes of one root come one after another.
    fn of(&self, root: &Path) -> Arc<tokio::sync::Mutex<Known>> {
        let mut roots = self.roots.lock();
        let found = roots.iter().position(|(known, _)| known == root).and_then(|at| roots.remove(at));
        let entry = found.unwrap_or_else(|| (root.to_owned(), Arc::default()));
        let memory = Arc::clone(&entry.1);
        roots.push_front(entry);
        roots.truncate(MAX_ROOTS);
        memory
    }
}

/// Stashes the workspace. When it returns, everything that the stash refers to is kept.
pub async fn take(ctx: &ToolContext) -> Result<Taken, ToolFailure> {
    let root = ctx.root.clone().ok_or_else(|| {
        ToolFailure::new("This workspace has no files, so commands cannot be run in it. Go on without them.")
    })?;
    let known = ctx.stashes.of(&root).lock_owned().await;
    let (batches, mut to_keep) = mpsc::channel(1);
    let cancel = ctx.cancel.clone();
    let surveying = spawn_blocking(move || {
        let surveyed = survey_and_send(&root, &known, batches, cancel);
        (known, surveyed)
    });
    while let Some(batch) = to_keep.recv().await {
        ctx.keep.keep(batch).await?;
    }
    let (mut known, surveyed) = surveying.await.map_err(|error| stopped(&error))?;
    let (survey, listing) = surveyed?;
    let stash =
        Stash { listing, entries: survey.listing.nodes.len() as u64, left_out: survey.left_out.in_words() };
    // Only now: what is known is also kept.
    *known = survey.known;
    Ok(Taken { stash, before: Arc::new(survey.listing) })
}

/// What a command did to the workspace since its stash, sorted by path. Gives what can be found out.
pub async fn changes(ctx: &ToolContext, taken: &Taken) -> Vec<Change> {
    let Some(root) = ctx.root.clone() else { return Vec::new() };
    let known = ctx.stashes.of(&root).lock_owned().await;
    let listing = Arc::clone(&taken.before);
    let comparing = spawn_blocking(move || {
        let rules = |hash: &str| listing.rules.get(hash).cloned();
        let knowledge = Knowledge { known: &known, rules: &rules };
        let workspace = Confined::open(&root).map_err(|refusal| refusal.to_string())?;
        compared(&workspace, &listing.nodes, knowledge).map_err(|error| error.to_string())
    });
    let compared = comparing.await.unwrap_or_else(|error| Err(error.to_string()));
    compared.unwrap_or_else(|why| {
        tracing::warn!(why, "the workspace could not be compared with its stash");
        Vec::new()
    })
}

/// What differs from a listing of which nothing else is remembered.
pub(super) fn changes_since(
    workspace: &Confined,
    before: &BTreeMap<String, Node>,
) -> io::Result<Vec<Change>> {
    compared(workspace, before, Knowledge { known: &HashMap::new(), rules: &|_| None })
}

/// The listing of a workspace, and the contents behind it.
#[cfg(test)]
pub(super) fn listed(workspace: &Confined) -> (BTreeMap<String, Node>, BTreeMap<String, Bytes>) {
    let mut contents = BTreeMap::new();
    let mut sink = |content: Bytes| {
        contents.insert(hash(&content), content);
        ControlFlow::Continue(())
    };
    let survey = survey(workspace.dir(), &HashMap::new(), now_ns(), &mut sink).unwrap().unwrap();
    (survey.listing.nodes, contents)
}

fn compared(
    workspace: &Confined,
    before: &BTreeMap<String, Node>,
    knowledge: Knowledge<'_>,
) -> io::Result<Vec<Change>> {
    let differences = compare(workspace.dir(), before, knowledge)?;
    if differences.cut {
        tracing::warn!(
            told = differences.changes.len(),
            "a command changed more than can be told and undone"
        );
    }
    Ok(differences.changes)
}

fn stopped(error: &JoinError) -> ToolFailure {
    ToolFailure::new(format!(
        "The workspace could not be kept for undo ({error}), so nothing was done. Try again."
    ))
}

/// Surveys a root and sends contents and listing to be kept, the listing last. Gives the listing's hash too.
fn survey_and_send(
    root: &Path,
    known: &Known,
    send: mpsc::Sender<Vec<Bytes>>,
    cancel: CancellationToken,
) -> Result<(Survey, String), ToolFailure> {
    let broken_off =
        || ToolFailure::new("The call was stopped before the workspace was kept for undo; nothing was done.");
    let workspace = Confined::open(root)?;
    let mut batches = Batches { send, cancel, pending: Vec::new(), bytes: 0 };
    let surveyed = survey(workspace.dir(), known, now_ns(), &mut |content| batches.add(content));
    let survey = surveyed.map_err(Refusal::io("."))?.ok_or_else(broken_off)?;
    let listing = serde_json::to_vec(&survey.listing.nodes)
        .map_err(|error| ToolFailure::new(format!("The workspace could not be listed: {error}.")))?;
    let name = hash(&listing);
    let sent = [batches.add(listing.into()), batches.send()];
    if sent.iter().any(ControlFlow::is_break) {
        return Err(broken_off());
    }
    Ok((survey, name))
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// Contents on their way to be kept.
struct Batches {
    send: mpsc::Sender<Vec<Bytes>>,
    cancel: CancellationToken,
    pending: Vec<Bytes>,
    bytes: usize,
}

impl Batches {
    fn add(&mut self, content: Bytes) -> ControlFlow<()> {
        if self.bytes + content.len() > MAX_BATCH {
            self.send()?;
        }
        self.bytes += content.len();
        self.pending.push(content);
        ControlFlow::Continue(())
    }

    fn send(&mut self) -> ControlFlow<()> {
        self.bytes = 0;
        let batch = mem::take(&mut self.pending);
        let sent =
            !self.cancel.is_cancelled() && (batch.is_empty() || self.send.blocking_send(batch).is_ok());
        if sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
