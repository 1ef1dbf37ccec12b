//! Tables, settings and the few facts that the database keeps about itself.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{LogError, Result};

/// Raised when the tables change in a way that an older binary could not read.
pub const FORMAT: u64 = 1;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    workspace TEXT,
    session TEXT,
    task TEXT,
    object TEXT,
    subject TEXT,
    sequence INTEGER,
    previous INTEGER,
    key TEXT,
    actor TEXT,
    trace TEXT,
    span TEXT,
    body TEXT NOT NULL,
    crc INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS log_workspace ON log (workspace, id) WHERE kind = 0 AND workspace IS NOT NULL;
CREATE INDEX IF NOT EXISTS log_session ON log (session, id) WHERE kind = 0 AND session IS NOT NULL;
CREATE INDEX IF NOT EXISTS log_task ON log (task, kind, id) WHERE task IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS log_subject ON log (subject, sequence) WHERE subject IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS log_key ON log (task, key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS blob (hash TEXT PRIMARY KEY, size INTEGER NOT NULL, content BLOB) STRICT;
";

const DOCS: &str = "
CREATE TABLE IF NOT EXISTS doc (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    position INTEGER NOT NULL,
    workspace TEXT,
    session TEXT,
    task TEXT,
    tag TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX IF NOT EXISTS doc_position ON doc (kind, position);
CREATE INDEX IF NOT EXISTS doc_workspace ON doc (kind, workspace, position) WHERE workspace IS NOT NULL;
CREATE INDEX IF NOT EXISTS doc_session ON doc (kind, session, position) WHERE session IS NOT NULL;
CREATE INDEX IF NOT EXISTS doc_task ON doc (kind, task, position) WHERE task IS NOT NULL;
CREATE INDEX IF NOT EXISTS doc_tag ON doc (kind, tag, position) WHERE tag IS NOT NULL;
";

/// Settings of every connection that may write.
pub fn configure_writer(conn: &Connection, max_bytes: Option<u64>) -> Result<()> {
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    // A write-ahead log that a burst has made large is given back to the disk.
    conn.pragma_update(None, "journal_size_limit", 64 << 20)?;
    conn.pragma_update(None, "wal_autocheckpoint", 4000)?;
    configure_reader(conn)?;
    if let Some(limit) = max_bytes {
        let page_size: u64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        conn.pragma_update(None, "max_page_count", (limit / page_size.max(1)).max(1))?;
    }
    Ok(())
}

pub fn configure_reader(conn: &Connection) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(128);
    // Otherwise every new value bound to a statement that could use a partial index plans the statement again.
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A savepoint's own journal needs no disk: it never outlives its transaction.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", -2048)?;
    conn.busy_timeout(std::time::Duration::from_secs(10))?;
    Ok(())
}

/// All tables but that of the documents: whether that one is missing is a question for the projections.
pub fn create_tables(conn: &Connection) -> Result<()> {
    conn.execute_batch(TABLES)?;
    if meta(conn, "format")?.is_none() {
        set_meta(conn, "format", FORMAT)?;
    }
    check_format(conn)
}

pub fn check_format(conn: &Connection) -> Result<()> {
    match meta(conn, "format")? {
        Some(other) if other != FORMAT => Err(LogError::Corrupt(format!(
            "it was written in format {other}, and this binary reads format {FORMAT}; use the newer binary"
        ))),
        _ => Ok(()),
    }
}

/// Empties the projections, whatever state they are in.
pub fn recreate_docs(conn: &Connection) -> Result<()> {
    conn.execute_batch("DROP TABLE IF EXISTS doc;")?;
    conn.execute_batch(DOCS)?;
    Ok(())
}

pub fn create_docs(conn: &Connection) -> Result<()> {
    Ok(conn.execute_batch(DOCS)?)
}

pub fn meta(conn: &Connection, name: &str) -> Result<Option<u64>> {
    let mut statement = conn.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

pub fn set_meta(conn: &Connection, name: &str, value: u64) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )?;
    statement.execute(params![name, value])?;
    Ok(())
}
