//! The embedded log: SQLite with a write-ahead log, `synchronous=FULL`, one writer thread, pooled readers.

mod maintain;
mod schema;
mod view;
mod writer;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::blob::BlobFolder;
use crate::{Log, LogError, Projection, ReadJob, Result, StagedBlob, Tail, WriteJob};
use view::SqliteView;
use writer::{Command, Writer};

pub use maintain::{Backup, Export, Report, backup, export, rebuild, verify};
pub use writer::{FatalHook, FaultHook, FlushPoint};

const FILE: &str = "harn.db";
const QUEUE: usize = 1024;
const READERS: usize = 8;

/// How a log is opened.
#[derive(Clone, Default)]
pub struct Options {
    /// The database grows to this size at most; beyond it, writes are refused as on a full disk.
    pub max_bytes: Option<u64>,
    pub fault: Option<FaultHook>,
    pub fatal: Option<FatalHook>,
}

/// The log of one data directory. Opening it makes this process the owner of the newest epoch.
pub struct SqliteLog {
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
    readers: Arc<Readers>,
    tail: Arc<Tail>,
    blobs: BlobFolder,
    /// Whether the projections had to be rebuilt when the log was opened, and why.
    pub rebuilt: Option<String>,
}

impl SqliteLog {
    pub fn open(data: &Path, projection: Arc<dyn Projection>, options: Options) -> Result<Self> {
        fs::create_dir_all(data)?;
        let path = data.join(FILE);
        check_file(&path)?;
        let conn = Connection::open(&path).map_err(|error| explain(&path, error.into()))?;
        let opened = prepare(&conn, &*projection, &options).map_err(|error| explain(&path, error))?;
        let blobs = BlobFolder::open(data.join("blobs"))?;
        let tail = Arc::new(Tail::new(opened.head));
        let writer = Writer {
            conn,
            blobs: blobs.clone(),
            projection,
            tail: Arc::clone(&tail),
            epoch: opened.epoch,
            head: opened.head,
            fault: options.fault,
            fatal: options.fatal,
            subjects: HashMap::new(),
            flushes: 0,
        };
        let (sender, receiver) = mpsc::channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("harn-log".into()).spawn(move || writer.run(receiver))?;
        Ok(Self {
            commands: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(thread)),
            readers: Arc::new(Readers::new(path, blobs.clone())),
            tail,
            blobs,
            rebuilt: opened.rebuilt,
        })
    }

    /// Finishes what is queued, checkpoints, and refuses everything later. Blocking.
    pub fn close(&self) {
        self.commands.lock().take();
        // The last connection to go removes the write-ahead log; let that be the writer's.
        self.readers.idle.lock().clear();
        // A job that held the last reference drops it on the writer's own thread, which ends by itself.
        let thread = self.writer.lock().take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.close();
    }
}

#[async_trait]
impl Log for SqliteLog {
    async fn submit(&self, job: WriteJob) -> Result<()> {
        let closed = || LogError::Stopped("it is closed".into());
        let sender = self.commands.lock().clone().ok_or_else(closed)?;
        let (answer, answered) = oneshot::channel();
        sender.send(Command { job, answer }).await.map_err(|_| closed())?;
        // The writer ends with the last sender: one that only waits for its answer must not keep it.
        drop(sender);
        answered.await.map_err(|_| closed())?
    }

    async fn inspect(&self, job: ReadJob) -> Result<()> {
        let readers = Arc::clone(&self.readers);
        let permit = Arc::clone(&self.readers.places).acquire_owned().await;
        let permit = permit.map_err(|_| LogError::Stopped("it is closed".into()))?;
        blocking(move || {
            // Goes with the read and not with its caller, who may have left.
            let _permit = permit;
            readers.inspect(job)
        })
        .await
    }

    fn glance(&self, job: ReadJob) -> Result<()> {
        self.readers.inspect(job)
    }

    fn tail(&self) -> &Tail {
        &self.tail
    }

    async fn stage(&self, content: Bytes) -> Result<StagedBlob> {
        if let Some(small) = StagedBlob::small(content.clone()) {
            return Ok(small);
        }
        let blobs = self.blobs.clone();
        blocking(move || blobs.stage(content)).await
    }

    async fn stage_file(&self, file: PathBuf) -> Result<StagedBlob> {
        let blobs = self.blobs.clone();
        blocking(move || blobs.stage_file(&file)).await
    }

    fn scratch(&self) -> PathBuf {
        self.blobs.scratch()
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(LogError::Stopped("a blocking task was dropped".into())),
    }
}

struct Readers {
    path: PathBuf,
    blobs: BlobFolder,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Readers {
    fn new(path: PathBuf, blobs: BlobFolder) -> Self {
        Self { path, blobs, idle: Mutex::new(Vec::new()), places: Arc::new(Semaphore::new(READERS)) }
    }

    fn inspect(&self, job: ReadJob) -> Result<()> {
        let idle = self.idle.lock().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => open_reader(&self.path)?,
        };
        conn.prepare_cached("BEGIN")?.execute([])?;
        job(&SqliteView { conn: &conn, blobs: &self.blobs });
        conn.prepare_cached("COMMIT")?.execute([])?;
        self.idle.lock().push(conn);
        Ok(())
    }
}

fn open_reader(path: &Path) -> Result<Connection> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::configure_reader(&conn)?;
    Ok(conn)
}

struct Opened {
    epoch: u64,
    head: u64,
    rebuilt: Option<String>,
}

fn prepare(conn: &Connection, projection: &dyn Projection, options: &Options) -> Result<Opened> {
    schema::configure_writer(conn, options.max_bytes)?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    schema::create_tables(conn)?;
    let epoch = schema::meta(conn, "epoch")?.unwrap_or(0) + 1;
    schema::set_meta(conn, "epoch", epoch)?;
    let head = view::head(conn)?;
    let rebuilt = maintain::mend_projection(conn, projection, head)?;
    conn.execute_batch("COMMIT")?;
    Ok(Opened { epoch, head, rebuilt })
}

/// A cheap look before SQLite touches the file: a foreign or truncated file is refused, never repaired.
fn check_file(path: &Path) -> Result<()> {
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let size = file.metadata()?.len();
    if size == 0 {
        return Ok(());
    }
    let shown = path.display();
    let mut header = [0; 32];
    if file.read_exact(&mut header).is_err() || &header[..16] != b"SQLite format 3\0" {
        return Err(LogError::Corrupt(format!("{shown} is not a Harn log. {}", advice())));
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65536,
        bytes => u64::from(bytes),
    };
    let pages = u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    // A crash in the midst of a checkpoint leaves the new header before the new pages. The write-ahead log
    // still has these pages then, and SQLite writes them again.
    if size < page * pages && !has_write_ahead_log(path) {
        return Err(LogError::Corrupt(format!(
            "{shown} is truncated: it has {size} bytes and should have {}. {}",
            page * pages,
            advice()
        )));
    }
    Ok(())
}

fn has_write_ahead_log(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    fs::metadata(PathBuf::from(name)).is_ok_and(|file| file.len() > 0)
}

fn explain(path: &Path, error: LogError) -> LogError {
    match error {
        LogError::Corrupt(cause) => {
            LogError::Corrupt(format!("{} cannot be read ({cause}). {}", path.display(), advice()))
        }
        other => other,
    }
}

fn advice() -> &'static str {
    "Nothing was changed. Restore the data directory from a backup, or move it away to start afresh; \
     `harn log verify` tells what is readable."
}
