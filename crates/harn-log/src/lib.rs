//! The append-only log: one sequence of rows, the projections made of them, blobs, and subscriptions.
//!
//! The traits say nothing of SQLite; [`sqlite::SqliteLog`] is the embedded implementation. Everything that a
//! command writes goes through one [`Txn`]: rows get their ids in commit order, each row is applied to the
//! projections at once, and the command is answered only after the flush.

pub mod blob;
pub mod owner;
pub mod sqlite;
pub mod tail;

mod error;
mod row;

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

pub use blob::{Blob, StagedBlob};
pub use error::LogError;
pub use row::{Doc, DocQuery, NewRow, Row, RowFilter, RowKind, Subject};
pub use tail::{Subscription, Tail, TailRow};

pub type Result<T, E = LogError> = std::result::Result<T, E>;

/// A consistent look at rows and projections.
pub trait View {
    /// The id of the newest row; 0 when there is none.
    fn head(&self) -> Result<u64>;
    fn row(&self, id: u64) -> Result<Option<Row>>;
    /// Rows with an id above `after` that match, in order, `limit` at most.
    fn rows(&self, filter: &RowFilter, after: u64, limit: usize) -> Result<Vec<Row>>;
    /// The newest row that matches.
    fn last_row(&self, filter: &RowFilter) -> Result<Option<Row>>;
    fn doc(&self, kind: &str, id: &str) -> Result<Option<Doc>>;
    /// Documents in order of position.
    fn docs(&self, query: &DocQuery<'_>) -> Result<Vec<Doc>>;
    fn count(&self, kind: &str) -> Result<u64>;
    fn blob(&self, hash: &str) -> Result<Option<Blob>>;
}

/// One command's turn with the writer.
pub trait Txn: View {
    /// Appends a row and applies it to the projections.
    fn append(&mut self, row: NewRow) -> Result<Row>;
    /// Makes a staged blob part of this commit.
    fn keep_blob(&mut self, blob: &StagedBlob) -> Result<()>;
    /// The epoch of this owner: higher than that of every earlier one.
    fn epoch(&self) -> u64;
}

/// The documents that a projection keeps.
pub trait Docs {
    fn get(&self, kind: &str, id: &str) -> Result<Option<Doc>>;
    fn find(&self, query: &DocQuery<'_>) -> Result<Vec<Doc>>;
    /// Writes a document at the place that it says.
    fn put(&mut self, doc: Doc) -> Result<()>;
    /// The same, but a document that is there already keeps its place.
    fn replace(&mut self, doc: Doc) -> Result<()>;
    fn remove(&mut self, kind: &str, id: &str) -> Result<()>;
}

/// Turns rows into documents. Pure: the same rows give the same documents, live and when rebuilt.
pub trait Projection: Send + Sync {
    /// Raised whenever `apply` changes; a log written with another version is rebuilt when opened.
    fn version(&self) -> u32;
    fn apply(&self, docs: &mut dyn Docs, row: &Row) -> Result<()>;
}

/// Whether a command's savepoint stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Undo,
}

pub type WriteJob = Box<dyn FnOnce(&mut dyn Txn) -> Verdict + Send>;
pub type ReadJob = Box<dyn FnOnce(&dyn View) + Send>;

/// The log as the harness knows it.
#[async_trait]
pub trait Log: Send + Sync {
    /// Runs one command in its own savepoint and returns after the flush that made it durable.
    async fn submit(&self, job: WriteJob) -> Result<()>;
    async fn inspect(&self, job: ReadJob) -> Result<()>;
    /// A look that takes no longer than going to another thread would: a few documents by their ids.
    fn glance(&self, job: ReadJob) -> Result<()>;
    fn tail(&self) -> &Tail;
    /// Makes content ready to be kept by a later commit. Large content is on disk and synced when this returns.
    async fn stage(&self, content: bytes::Bytes) -> Result<StagedBlob>;
    /// The same for content that is already in a file below [`Log::scratch`]; the file is moved.
    async fn stage_file(&self, file: std::path::PathBuf) -> Result<StagedBlob>;
    /// A folder for uploads on the way in, emptied at every start.
    fn scratch(&self) -> std::path::PathBuf;
}

/// Runs a command that gives a typed result. An `Err` undoes everything that the command wrote.
pub async fn write<T, E, F>(log: &dyn Log, command: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<LogError> + Send + 'static,
    F: FnOnce(&mut dyn Txn) -> Result<T, E> + Send + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&slot);
    let job: WriteJob = Box::new(move |txn| {
        let result = command(txn);
        let verdict = if result.is_ok() { Verdict::Keep } else { Verdict::Undo };
        *inner.lock() = Some(result);
        verdict
    });
    log.submit(job).await?;
    let result = slot.lock().take();
    result.unwrap_or_else(|| Err(LogError::Stopped("the command did not run".into()).into()))
}

/// Looks at a few documents, here and now. For longer looks there is [`read`].
pub fn glance<T, E, F>(log: &dyn Log, look: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<LogError> + Send + 'static,
    F: FnOnce(&dyn View) -> Result<T, E> + Send + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&slot);
    log.glance(Box::new(move |view| *inner.lock() = Some(look(view))))?;
    let result = slot.lock().take();
    result.unwrap_or_else(|| Err(LogError::Stopped("the read did not run".into()).into()))
}

/// Looks at one consistent state of the log.
pub async fn read<T, E, F>(log: &dyn Log, look: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<LogError> + Send + 'static,
    F: FnOnce(&dyn View) -> Result<T, E> + Send + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&slot);
    log.inspect(Box::new(move |view| *inner.lock() = Some(look(view)))).await?;
    let result = slot.lock().take();
    result.unwrap_or_else(|| Err(LogError::Stopped("the read did not run".into()).into()))
}
