//! Care of a log: verify, rebuild, export, backup. All but rebuild only read, beside a running owner too.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::schema;
use super::view::{self, SqliteDocs};
use super::{FILE, check_file, explain};
use crate::blob::{BlobFolder, hash_reader};
use crate::{LogError, Projection, Result, Row, RowKind};

/// What `verify` found. An empty list of problems means that the log is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub rows: u64,
    pub documents: u64,
    pub blobs: u64,
    pub problems: Vec<String>,
}

/// What `backup` wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    pub head: u64,
    pub blob_files: u64,
}

/// Rebuilds the projections when they are of another version, or gone. Says why if it did. That they reach the end
/// of the log needs no check: rows and documents are written by the same commit.
pub(super) fn mend_projection(
    conn: &Connection,
    projection: &dyn Projection,
    head: u64,
) -> Result<Option<String>> {
    let version = u64::from(projection.version());
    let reason = match schema::meta(conn, "projection")? {
        None if head == 0 => {
            schema::recreate_docs(conn)?;
            schema::set_meta(conn, "projection", version)?;
            return Ok(None);
        }
        Some(found) if found != version => format!("they were of version {found}, now it is {version}"),
        _ if conn
            .prepare("SELECT kind, id, position, workspace, session, task, tag, body FROM doc")
            .is_err() =>
        {
            "their table was damaged".to_owned()
        }
        _ => {
            schema::create_docs(conn)?;
            return Ok(None);
        }
    };
    replay_into(conn, conn, projection)?;
    schema::set_meta(conn, "projection", version)?;
    Ok(Some(reason))
}

/// Makes the projections anew from the rows alone.
fn replay_into(source: &Connection, target: &Connection, projection: &dyn Projection) -> Result<()> {
    schema::recreate_docs(target)?;
    let mut docs = SqliteDocs { conn: target };
    view::for_each_row(source, |row| projection.apply(&mut docs, &row))
}

/// Rebuilds the projections of a log that nobody owns. The caller holds the owner's lock.
pub fn rebuild(data: &Path, projection: &dyn Projection) -> Result<u64> {
    let path = data.join(FILE);
    check_file(&path)?;
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::configure_writer(&conn, None)?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    schema::check_format(&conn)?;
    replay_into(&conn, &conn, projection)?;
    let head = view::head(&conn)?;
    schema::set_meta(&conn, "projection", u64::from(projection.version()))?;
    conn.execute_batch("COMMIT")?;
    Ok(head)
}

/// Checks everything that can be checked: pages, checksums, order, sequences, projections, blobs.
pub fn verify(data: &Path, projection: &dyn Projection) -> Result<Report> {
    let conn = open_existing(data)?;
    conn.execute_batch("BEGIN")?;
    let mut report = Report::default();
    check_pages(&conn, &mut report)?;
    check_rows(&conn, &mut report)?;
    check_version(&conn, projection, &mut report)?;
    if report.problems.is_empty() {
        check_documents(&conn, projection, &mut report)?;
    }
    check_blobs(&conn, data, &mut report)?;
    Ok(report)
}

fn check_pages(conn: &Connection, report: &mut Report) -> Result<()> {
    let mut statement = conn.prepare("PRAGMA integrity_check(20)")?;
    let mut lines = statement.query([])?;
    while let Some(line) = lines.next()? {
        let text: String = line.get(0)?;
        if text != "ok" {
            report.problems.push(format!("the database's pages: {text}"));
        }
    }
    Ok(())
}

fn check_rows(conn: &Connection, report: &mut Report) -> Result<()> {
    let mut sequences: HashMap<String, u64> = HashMap::new();
    let mut last = 0;
    let walked = view::for_each_row(conn, |row| {
        report.rows += 1;
        if row.id != last + 1 {
            report.problems.push(format!("rows {} to {} are missing", last + 1, row.id - 1));
        }
        last = row.id;
        if serde_json::from_str::<serde_json::Value>(&row.body).is_err() {
            report.problems.push(format!("row {} is not JSON", row.id));
        }
        if let (Some(subject), Some(sequence)) = (&row.subject, row.sequence) {
            let seen = sequences.entry(subject.id.clone()).or_default();
            if sequence != *seen + 1 {
                report.problems.push(format!("row {}: sequence {sequence} follows {seen}", row.id));
            }
            *seen = sequence;
        }
        Ok(())
    });
    if let Err(error) = walked {
        report.problems.push(format!("after row {last}: {error}"));
    }
    Ok(())
}

fn check_version(conn: &Connection, projection: &dyn Projection, report: &mut Report) -> Result<()> {
    let version = u64::from(projection.version());
    match schema::meta(conn, "projection")? {
        Some(found) if found != version => report
            .problems
            .push(format!("the projections are of version {found}, and this binary makes version {version}")),
        _ => {}
    }
    Ok(())
}

fn check_documents(conn: &Connection, projection: &dyn Projection, report: &mut Report) -> Result<()> {
    let fresh = Connection::open_in_memory()?;
    schema::create_docs(&fresh)?;
    replay_into(conn, &fresh, projection)?;
    let expected = all_docs(&fresh)?;
    let found = match all_docs(conn) {
        Ok(found) => found,
        Err(error) => {
            report.problems.push(format!("the projections cannot be read: {error}"));
            return Ok(());
        }
    };
    report.documents = found.len() as u64;
    for (name, body) in &expected {
        match found.get(name) {
            None => report.problems.push(format!("{name} is missing from the projections")),
            Some(other) if other != body => {
                report.problems.push(format!("{name} differs from what the log says"))
            }
            Some(_) => {}
        }
    }
    for name in found.keys().filter(|name| !expected.contains_key(*name)) {
        report.problems.push(format!("{name} is in the projections, but the log does not know it"));
    }
    Ok(())
}

fn all_docs(conn: &Connection) -> Result<std::collections::BTreeMap<String, String>> {
    let mut docs = std::collections::BTreeMap::new();
    view::for_each_doc(conn, |doc| {
        let name = format!("{} {}", doc.kind, doc.id);
        docs.insert(name, serde_json::to_string(&doc)?);
        Ok(())
    })?;
    Ok(docs)
}

fn check_blobs(conn: &Connection, data: &Path, report: &mut Report) -> Result<()> {
    let folder = BlobFolder::existing(data.join("blobs"));
    let mut statement = conn.prepare("SELECT hash, content FROM blob")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        report.blobs += 1;
        let hash: String = row.get(0)?;
        let content: Option<Vec<u8>> = row.get(1)?;
        let found = match content {
            Some(bytes) => hash_reader(&mut bytes.as_slice()),
            None => File::open(folder.path(&hash))
                .map_err(LogError::from)
                .and_then(|mut file| hash_reader(&mut file)),
        };
        match found {
            Ok(actual) if actual.to_string() == hash => {}
            Ok(_) => report.problems.push(format!("blob {hash} has other content than its name says")),
            Err(error) => report.problems.push(format!("blob {hash}: {error}")),
        }
    }
    Ok(())
}

/// Which rows `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    Events,
    Everything,
}

/// Writes rows as JSON lines, in order; gives their number.
pub fn export(data: &Path, what: Export, out: &mut dyn Write) -> Result<u64> {
    let conn = open_existing(data)?;
    let mut written = 0;
    view::for_each_row(&conn, |row| {
        if what == Export::Events && row.kind != RowKind::Event {
            return Ok(());
        }
        write_line(out, &row)?;
        written += 1;
        Ok(())
    })?;
    out.flush()?;
    Ok(written)
}

fn write_line(out: &mut dyn Write, row: &Row) -> Result<()> {
    let mut line = serde_json::to_value(row)?;
    // The body is stored as text; people and tools want the object.
    line["body"] = serde_json::from_str(&row.body)?;
    writeln!(out, "{line}")?;
    Ok(())
}

/// Copies a consistent state of the log to a new directory, beside a running owner too.
pub fn backup(data: &Path, target: &Path) -> Result<Backup> {
    let conn = open_existing(data)?;
    fs::create_dir_all(target)?;
    let database = target.join(FILE);
    if database.exists() {
        return Err(LogError::Io(format!("{} already exists; choose an empty folder", database.display())));
    }
    conn.execute("VACUUM INTO ?1", [database.to_string_lossy()])?;
    let copy = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let blob_files = copy_blobs(&copy, data, target)?;
    File::open(&database)?.sync_all()?;
    Ok(Backup { head: view::head(&copy)?, blob_files })
}

fn copy_blobs(copy: &Connection, data: &Path, target: &Path) -> Result<u64> {
    let from = BlobFolder::existing(data.join("blobs"));
    let to = BlobFolder::open(target.join("blobs"))?;
    let mut statement = copy.prepare("SELECT hash FROM blob WHERE content IS NULL")?;
    let hashes = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut copied = 0;
    for hash in hashes {
        let hash = hash?;
        let destination = to.path(&hash);
        if let Some(parent) = destination.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from.path(&hash), &destination)?;
        File::open(&destination)?.sync_all()?;
        copied += 1;
    }
    Ok(copied)
}

fn open_existing(data: &Path) -> Result<Connection> {
    let path = data.join(FILE);
    if !path.exists() {
        return Err(LogError::Absent(format!(
            "there is no log in {}; give its data directory with --data",
            data.display()
        )));
    }
    check_file(&path)?;
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| explain(&path, error.into()))?;
    schema::configure_reader(&conn)?;
    Ok(conn)
}
