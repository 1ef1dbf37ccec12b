//! What a task is: sessions, tasks, journal, approvals, recovery. Owns the log; every protocol is a view of it.
//!
//! A command is one commit: it checks, appends events and journal entries, and is answered once they are durable.
//! What has to happen outside the log afterwards (a run started, woken or dropped) follows the commit.

mod approval;
mod artifacts;
mod asks;
mod call;
mod clip;
mod events;
mod in_flight;
mod keys;
mod law;
mod lifecycle;
mod manifest;
mod page;
mod permissions;
mod pins;
mod plan;
mod projection;
mod recovery;
mod remember;
mod requests;
mod run_commit;
mod runs;
mod scheduler;
mod script_tells;
mod scripts;
mod sessions;
mod skills;
mod tasks;
mod tx;
mod undo;
mod waitpoints;
mod workspaces;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use harn_core::budget::Budget;
use harn_core::ports::{Directory, Runner, WorkspaceFiles};
use harn_core::{Clock, Code, Error, Result, SystemClock, Timestamp};
use harn_log::{Log, LogError, View};
use harn_policy::PermissionsFile;

pub use artifacts::ArtifactFilter;
pub use call::{Call, Idempotency};
pub use events::{EventFeed, EventFilter, EventPage, FeedItem};
pub use harn_log::Blob;
pub use keys::{Secret, StoredKey};
pub use page::PageQuery;
pub use projection::HarnessProjection;
pub use tasks::TaskFilter;

use law::Law;
use plan::RunPlan;
use scheduler::Scheduler;
use tx::Tx;

/// How a harness is set up.
#[derive(Clone)]
pub struct Options {
    /// The folder of the default workspace, canonical. Other roots must be below it or an allowed one.
    pub root: PathBuf,
    pub allowed_roots: Vec<PathBuf>,
    pub clock: Arc<dyn Clock>,
    /// The `[permissions]` of the configuration file.
    pub permissions: PermissionsFile,
    /// What every run may spend.
    pub budget: Budget,
}

impl Options {
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            allowed_roots: Vec::new(),
            clock: Arc::new(SystemClock),
            permissions: PermissionsFile::default(),
            budget: Budget::default(),
        }
    }
}

/// Counts for people who look at a running harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    pub sessions: u64,
    pub tasks: u64,
    pub active_runs: usize,
}

/// The harness. Cheap to clone; all clones are the same one.
#[derive(Clone)]
pub struct Harness {
    log: Arc<dyn Log>,
    runner: Arc<dyn Runner>,
    files: Arc<dyn WorkspaceFiles>,
    options: Options,
    plan: Arc<RunPlan>,
    law: Arc<Law>,
    scheduler: Arc<Scheduler>,
    started_at: Timestamp,
}

impl Harness {
    pub fn new(
        log: Arc<dyn Log>,
        runner: Arc<dyn Runner>,
        files: Arc<dyn WorkspaceFiles>,
        options: Options,
    ) -> Self {
        let plan = Arc::new(RunPlan::new(Arc::clone(&runner), &options));
        let law = Arc::new(Law::new(Arc::clone(&runner), options.permissions.clone()));
        let started_at = options.clock.now();
        Self { log, runner, files, options, plan, law, scheduler: Arc::default(), started_at }
    }

    /// What there is to be used and called.
    pub fn directory(&self) -> &dyn Directory {
        &*self.runner
    }

    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// The model of runs that ask for none.
    pub fn model(&self) -> harn_core::chat::ModelRef {
        self.runner.model()
    }

    pub fn root(&self) -> &std::path::Path {
        &self.options.root
    }

    /// For actors that see everything; others would learn of what is not theirs.
    pub async fn census(&self, actor: &harn_core::Actor) -> Result<Option<Census>> {
        actor.require("workspaces:read")?;
        if actor.workspaces != harn_core::WorkspaceAccess::All {
            return Ok(None);
        }
        let active_runs = self.scheduler.active();
        self.look(move |view| {
            let sessions = view.count(tx::kind::SESSION).map_err(fault)?;
            let tasks = view.count(tx::kind::TASK).map_err(fault)?;
            Ok(Some(Census { sessions, tasks, active_runs }))
        })
        .await
    }

    /// Stops accepting, lets running effects finish or leaves them as begun.
    pub async fn drain(&self, grace: Duration) {
        self.scheduler.drain(grace).await;
    }

    pub fn is_draining(&self) -> bool {
        self.scheduler.is_draining()
    }

    /// Runs a command for a caller, unless the harness is going down.
    pub(crate) async fn command<T, F>(&self, call: &Call, command: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        if self.scheduler.is_draining() {
            return Err(Error::new(
                Code::ServiceUnavailable,
                "The harness is shutting down. Try again shortly.",
            ));
        }
        self.command_always(call, command).await
    }

    /// Runs a command and then does what it asked for. Running effects may still report while draining.
    pub(crate) async fn command_always<T, F>(&self, call: &Call, command: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (call, now) = (call.clone(), self.options.clock.now());
        let committed = harn_log::write(&*self.log, move |txn| {
            let mut tx = Tx { txn, call: &call, now, wakes: Vec::new() };
            let result = command(&mut tx)?;
            Ok::<_, Failure>((result, tx.wakes))
        });
        let (result, wakes) = committed.await.map_err(|failure| failure.0)?;
        self.wake(wakes);
        Ok(result)
    }

    /// Looks at a few documents by their ids, without leaving this thread.
    pub(crate) fn glance<T, F>(&self, look: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&dyn View) -> Result<T> + Send + 'static,
    {
        harn_log::glance(&*self.log, move |view| look(view).map_err(Failure)).map_err(|failure| failure.0)
    }

    /// Looks at one consistent state of the log, for as long as it takes.
    pub(crate) async fn look<T, F>(&self, look: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&dyn View) -> Result<T> + Send + 'static,
    {
        harn_log::read(&*self.log, move |view| look(view).map_err(Failure)).await.map_err(|failure| failure.0)
    }
}

/// Carries our error through the log's own.
struct Failure(Error);

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self(fault(error))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

/// What a failure of the log means to a caller. The cause is logged here and goes no further.
pub(crate) fn fault(error: LogError) -> Error {
    match error {
        LogError::Full => {
            tracing::warn!("the disk or the log's size limit is full");
            Error::new(
                Code::ServiceUnavailable,
                "The harness's storage is full; nothing was written. Free some space.",
            )
        }
        LogError::Stopped(_) | LogError::Stale { .. } | LogError::Owned(_) => {
            tracing::warn!(%error, "the log refused");
            Error::new(
                Code::ServiceUnavailable,
                "The harness's log has stopped. Nothing was written; try again later.",
            )
        }
        LogError::DuplicateKey(key) => Error::conflict(format!("The effect `{key}` is already completed.")),
        LogError::Corrupt(_) | LogError::Io(_) | LogError::Absent(_) => {
            tracing::error!(%error, "the log failed");
            Error::internal(
                "The harness could not read or write its log. The server's own log has the cause.",
            )
        }
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Error::internal("The work was dropped.")))
}
