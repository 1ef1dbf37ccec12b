//! The one writer: a thread that takes whatever commands are waiting, gives each its savepoint, flushes them
//! together and only then answers them.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::schema;
use super::view::{self, SqliteDocs, SqliteView};
use crate::blob::BlobFolder;
use crate::{
    Blob, Doc, DocQuery, LogError, NewRow, Projection, Result, Row, RowFilter, RowKind, StagedBlob, Tail,
    Txn, Verdict, View, WriteJob,
};

/// Commands that share one flush at most.
const BATCH: usize = 512;
/// How long the writer looks out for the next command before it sleeps.
const LOOKOUT: Duration = Duration::from_micros(50);
/// Subjects whose last sequence is remembered; the memory is dropped whole when it is full.
const REMEMBERED_SUBJECTS: usize = 16 << 10;

pub struct Command {
    pub job: WriteJob,
    pub answer: oneshot::Sender<Result<()>>,
}

/// Where in a flush a test may stop the log, as a crash would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushPoint {
    Before,
    After,
}

/// Told of every flush by number; gives true to stop the log there.
pub type FaultHook = Arc<dyn Fn(FlushPoint, u64) -> bool + Send + Sync>;
/// Called when a flush failed: what is durable is unknown, so the process must not go on.
pub type FatalHook = Arc<dyn Fn(&LogError) + Send + Sync>;

pub struct Writer {
    pub conn: Connection,
    pub blobs: BlobFolder,
    pub projection: Arc<dyn Projection>,
    pub tail: Arc<Tail>,
    pub epoch: u64,
    pub head: u64,
    pub fault: Option<FaultHook>,
    pub fatal: Option<FatalHook>,
    pub subjects: HashMap<String, (u64, u64)>,
    pub flushes: u64,
}

impl Writer {
    pub fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        while let Some(first) = next(&mut commands) {
            let mut batch = vec![first];
            while batch.len() < BATCH {
                match commands.try_recv() {
                    Ok(command) => batch.push(command),
                    Err(_) => break,
                }
            }
            if let Err(error) = self.commit(batch) {
                tracing::error!(%error, "the log stopped");
                if let Some(fatal) = &self.fatal {
                    fatal(&error);
                }
                return refuse_rest(commands, &error);
            }
        }
        // Leaves a tidy database: readers of a backup need no write-ahead log.
        let _ = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// `Err` means that the log must stop; a batch that only failed has been answered so.
    fn commit(&mut self, batch: Vec<Command>) -> Result<()> {
        let (jobs, answers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|command| (command.job, command.answer)).unzip();
        let head = self.head;
        let outcome = self.execute(jobs);
        match outcome {
            Ok((results, events)) => {
                self.tail.publish(events, self.head);
                for (answer, result) in answers.into_iter().zip(results) {
                    // A caller that has gone away does not undo its command.
                    let _ = answer.send(result);
                }
                Ok(())
            }
            Err(error) => {
                self.head = head;
                self.subjects.clear();
                for answer in answers {
                    let _ = answer.send(Err(error.clone()));
                }
                match error {
                    LogError::Full => Ok(()),
                    fatal => Err(fatal),
                }
            }
        }
    }

    fn execute(&mut self, jobs: Vec<WriteJob>) -> Result<(Vec<Result<()>>, Vec<Row>)> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let outcome = self.run_jobs(jobs).and_then(|done| self.flush().map(|()| done));
        if outcome.is_err() && !self.conn.is_autocommit() {
            // Nothing of the batch stays. If even this fails, the open transaction dies with the connection.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        if outcome.is_ok() && self.fault_strikes(FlushPoint::After) {
            return Err(LogError::Stopped("stopped after a flush".into()));
        }
        outcome
    }

    fn run_jobs(&mut self, jobs: Vec<WriteJob>) -> Result<(Vec<Result<()>>, Vec<Row>)> {
        let found = schema::meta(&self.conn, "epoch")?.unwrap_or(0);
        if found != self.epoch {
            return Err(LogError::Stale { ours: self.epoch, found });
        }
        let mut events = Vec::new();
        let mut results = Vec::with_capacity(jobs.len());
        let scope = if jobs.len() == 1 { Scope::Transaction } else { Scope::Savepoint };
        for job in jobs {
            results.push(self.run_job(job, scope, &mut events)?);
        }
        Ok((results, events))
    }

    fn run_job(&mut self, job: WriteJob, scope: Scope, events: &mut Vec<Row>) -> Result<Result<()>> {
        self.execute_all(scope.begin())?;
        let mut txn = SqliteTxn { writer: self, rows: Vec::new(), failed: None, unprojected: None };
        let verdict = catch_unwind(AssertUnwindSafe(|| job(&mut txn)));
        let SqliteTxn { rows, failed, unprojected, .. } = txn;
        // A full disk may have rolled back the whole transaction beneath us.
        if let Some(error) = failed {
            return Err(error);
        }
        if matches!(verdict, Ok(Verdict::Keep)) && unprojected.is_none() {
            self.execute_all(scope.keep())?;
            events.extend(rows.into_iter().filter(|row| row.kind == RowKind::Event));
            return Ok(Ok(()));
        }
        self.execute_all(scope.undo())?;
        for subject in rows.iter().filter_map(|row| row.subject.as_ref()) {
            self.subjects.remove(&subject.id);
        }
        self.head -= rows.len() as u64;
        Ok(match (verdict, unprojected) {
            (Err(_), _) => Err(LogError::Stopped("the command panicked and was undone".into())),
            (Ok(Verdict::Keep), Some(error)) => Err(error),
            (Ok(_), _) => Ok(()),
        })
    }

    fn execute_all(&self, statements: &[&str]) -> Result<()> {
        for statement in statements {
            self.conn.prepare_cached(statement)?.execute([])?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.flushes += 1;
        if self.fault_strikes(FlushPoint::Before) {
            return Err(LogError::Stopped("stopped before a flush".into()));
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn fault_strikes(&self, point: FlushPoint) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault(point, self.flushes))
    }
}

/// What a command's writes are undone with: a savepoint of its own, or the whole transaction when it is alone.
#[derive(Clone, Copy)]
enum Scope {
    Savepoint,
    Transaction,
}

impl Scope {
    fn begin(self) -> &'static [&'static str] {
        match self {
            Self::Savepoint => &["SAVEPOINT command"],
            Self::Transaction => &[],
        }
    }

    fn keep(self) -> &'static [&'static str] {
        match self {
            Self::Savepoint => &["RELEASE command"],
            Self::Transaction => &[],
        }
    }

    fn undo(self) -> &'static [&'static str] {
        match self {
            Self::Savepoint => &["ROLLBACK TO command", "RELEASE command"],
            Self::Transaction => &["ROLLBACK", "BEGIN IMMEDIATE"],
        }
    }
}

/// The next command. A caller that has just been answered often comes back at once, and looking out for it a moment
/// longer is cheaper than going to sleep and being woken.
fn next(commands: &mut mpsc::Receiver<Command>) -> Option<Command> {
    let start = Instant::now();
    while start.elapsed() < LOOKOUT {
        match commands.try_recv() {
            Ok(command) => return Some(command),
            Err(mpsc::error::TryRecvError::Disconnected) => return None,
            Err(mpsc::error::TryRecvError::Empty) => std::thread::yield_now(),
        }
    }
    commands.blocking_recv()
}

fn refuse_rest(mut commands: mpsc::Receiver<Command>, error: &LogError) {
    commands.close();
    while let Some(command) = commands.blocking_recv() {
        let _ = command.answer.send(Err(LogError::Stopped(error.to_string())));
    }
}

struct SqliteTxn<'a> {
    writer: &'a mut Writer,
    rows: Vec<Row>,
    /// A failure of the storage itself, as opposed to one of the command: it ends the batch.
    failed: Option<LogError>,
    /// A row of this command that the projections could not take: the command cannot stay, or no rebuild
    /// would ever get past that row.
    unprojected: Option<LogError>,
}

impl SqliteTxn<'_> {
    fn view(&self) -> SqliteView<'_> {
        SqliteView { conn: &self.writer.conn, blobs: &self.writer.blobs }
    }

    fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error @ (LogError::Full | LogError::Corrupt(_) | LogError::Io(_))) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    /// Gives the next sequence of a subject, and the row before.
    fn count(&mut self, subject: &str) -> Result<(u64, Option<u64>)> {
        let last = match self.writer.subjects.get(subject) {
            Some(last) => Some(*last),
            None => view::last_of_subject(&self.writer.conn, subject)?,
        };
        Ok((last.map_or(1, |(sequence, _)| sequence + 1), last.map(|(_, id)| id)))
    }

    fn place(&mut self, new: NewRow) -> Result<Row> {
        let (sequence, previous) = match &new.subject {
            Some(subject) => {
                let (sequence, previous) = self.count(&subject.id)?;
                (Some(sequence), previous)
            }
            None => (None, None),
        };
        Ok(Row {
            id: self.writer.head + 1,
            kind: new.kind,
            name: new.name,
            at: new.at,
            workspace: new.workspace,
            session: new.session,
            task: new.task,
            subject: new.subject,
            sequence,
            previous,
            key: new.key,
            actor: new.actor,
            trace: new.trace,
            span: new.span,
            body: new.body,
        })
    }

    fn insert(&mut self, new: NewRow) -> Result<Row> {
        let row = self.place(new)?;
        view::insert_row(&self.writer.conn, &row)?;
        self.writer.head = row.id;
        if let (Some(subject), Some(sequence)) = (&row.subject, row.sequence) {
            if self.writer.subjects.len() >= REMEMBERED_SUBJECTS {
                self.writer.subjects.clear();
            }
            match self.writer.subjects.get_mut(&subject.id) {
                Some(last) => *last = (sequence, row.id),
                None => {
                    self.writer.subjects.insert(subject.id.clone(), (sequence, row.id));
                }
            }
        }
        self.rows.push(row.clone());
        Ok(row)
    }

    fn project(&mut self, row: &Row) -> Result<()> {
        let writer = &mut *self.writer;
        let applied = writer.projection.apply(&mut SqliteDocs { conn: &writer.conn }, row);
        if let Err(error) = &applied {
            self.unprojected = Some(error.clone());
        }
        match applied {
            // A row that does not parse is the command's fault, not the storage's.
            Err(LogError::Corrupt(_)) => applied,
            other => self.note(other),
        }
    }
}

impl View for SqliteTxn<'_> {
    fn head(&self) -> Result<u64> {
        Ok(self.writer.head)
    }

    fn row(&self, id: u64) -> Result<Option<Row>> {
        self.view().row(id)
    }

    fn rows(&self, filter: &RowFilter, after: u64, limit: usize) -> Result<Vec<Row>> {
        self.view().rows(filter, after, limit)
    }

    fn last_row(&self, filter: &RowFilter) -> Result<Option<Row>> {
        self.view().last_row(filter)
    }

    fn doc(&self, kind: &str, id: &str) -> Result<Option<Doc>> {
        self.view().doc(kind, id)
    }

    fn docs(&self, query: &DocQuery<'_>) -> Result<Vec<Doc>> {
        self.view().docs(query)
    }

    fn count(&self, kind: &str) -> Result<u64> {
        self.view().count(kind)
    }

    fn blob(&self, hash: &str) -> Result<Option<Blob>> {
        self.view().blob(hash)
    }
}

impl Txn for SqliteTxn<'_> {
    fn append(&mut self, row: NewRow) -> Result<Row> {
        let inserted = self.insert(row);
        let row = self.note(inserted)?;
        self.project(&row)?;
        Ok(row)
    }

    fn keep_blob(&mut self, blob: &StagedBlob) -> Result<()> {
        let kept = (|| {
            let mut statement = self.writer.conn.prepare_cached(
                "INSERT INTO blob (hash, size, content) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING",
            )?;
            statement.execute(params![blob.hash.to_string(), blob.size, blob.inline.as_deref()])?;
            Ok(())
        })();
        self.note(kept)
    }

    fn epoch(&self) -> u64 {
        self.writer.epoch
    }
}
