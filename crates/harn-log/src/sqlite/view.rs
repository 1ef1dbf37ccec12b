//! Reading rows, documents and blobs, the same for readers and for the writer's own transaction.

use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, params};

use harn_core::Timestamp;

use crate::blob::BlobFolder;
use crate::{Blob, Doc, DocQuery, Docs, LogError, Result, Row, RowFilter, RowKind, Subject, View};

const ROW: &str = "id, kind, name, at, workspace, session, task, object, subject, sequence, previous, key, actor, \
                   trace, span, body, crc";
const DOC: &str = "kind, id, position, workspace, session, task, tag, body";

/// A connection seen as a [`View`].
pub struct SqliteView<'a> {
    pub conn: &'a Connection,
    pub blobs: &'a BlobFolder,
}

impl View for SqliteView<'_> {
    fn head(&self) -> Result<u64> {
        head(self.conn)
    }

    fn row(&self, id: u64) -> Result<Option<Row>> {
        let sql = format!("SELECT {ROW} FROM log WHERE id = ?1");
        let mut statement = self.conn.prepare_cached(&sql)?;
        let mut rows = statement.query([clamp(id)])?;
        rows.next()?.map(read_row).transpose()
    }

    fn rows(&self, filter: &RowFilter, after: u64, limit: usize) -> Result<Vec<Row>> {
        let (condition, mut values) = row_condition(filter);
        let after = clamp(after);
        values.push(&after);
        let sql = format!("SELECT {ROW} FROM log WHERE {condition} id > ? ORDER BY id");
        let mut statement = self.conn.prepare_cached(&sql)?;
        let mut rows = statement.query(values.as_slice())?;
        let mut found = Vec::new();
        while found.len() < limit {
            let Some(raw) = rows.next()? else { break };
            let row = read_row(raw)?;
            if filter.allows(&row) {
                found.push(row);
            }
        }
        Ok(found)
    }

    fn last_row(&self, filter: &RowFilter) -> Result<Option<Row>> {
        let (condition, values) = row_condition(filter);
        let sql = format!("SELECT {ROW} FROM log WHERE {condition} id > 0 ORDER BY id DESC");
        let mut statement = self.conn.prepare_cached(&sql)?;
        let mut rows = statement.query(values.as_slice())?;
        while let Some(raw) = rows.next()? {
            let row = read_row(raw)?;
            if filter.allows(&row) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn doc(&self, kind: &str, id: &str) -> Result<Option<Doc>> {
        get_doc(self.conn, kind, id)
    }

    fn docs(&self, query: &DocQuery<'_>) -> Result<Vec<Doc>> {
        find_docs(self.conn, query)
    }

    fn count(&self, kind: &str) -> Result<u64> {
        let mut statement = self.conn.prepare_cached("SELECT count(*) FROM doc WHERE kind = ?1")?;
        Ok(statement.query_row([kind], |row| row.get(0))?)
    }

    fn blob(&self, hash: &str) -> Result<Option<Blob>> {
        let mut statement = self.conn.prepare_cached("SELECT size, content FROM blob WHERE hash = ?1")?;
        let found: Option<(u64, Option<Vec<u8>>)> =
            statement.query_row([hash], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(found.map(|(size, content)| match content {
            Some(bytes) => Blob::Inline(bytes.into()),
            None => Blob::File { path: self.blobs.path(hash), size },
        }))
    }
}

/// A connection seen as the documents of a projection.
pub struct SqliteDocs<'a> {
    pub conn: &'a Connection,
}

impl Docs for SqliteDocs<'_> {
    fn get(&self, kind: &str, id: &str) -> Result<Option<Doc>> {
        get_doc(self.conn, kind, id)
    }

    fn find(&self, query: &DocQuery<'_>) -> Result<Vec<Doc>> {
        find_docs(self.conn, query)
    }

    fn put(&mut self, doc: Doc) -> Result<()> {
        self.write(&doc, "position = excluded.position, ")
    }

    fn replace(&mut self, doc: Doc) -> Result<()> {
        // Most changes are to the body alone, and then no index has to be touched.
        let mut statement = self.conn.prepare_cached(
            "UPDATE doc SET body = ?1 WHERE kind = ?2 AND id = ?3
             AND workspace IS ?4 AND session IS ?5 AND task IS ?6 AND tag IS ?7",
        )?;
        let Doc { kind, id, workspace, session, task, tag, body, .. } = &doc;
        match statement.execute(params![body, kind, id, workspace, session, task, tag])? {
            0 => self.write(&doc, ""),
            _ => Ok(()),
        }
    }

    fn remove(&mut self, kind: &str, id: &str) -> Result<()> {
        self.conn.prepare_cached("DELETE FROM doc WHERE kind = ?1 AND id = ?2")?.execute([kind, id])?;
        Ok(())
    }
}

impl SqliteDocs<'_> {
    fn write(&self, doc: &Doc, place: &str) -> Result<()> {
        let mut statement = self.conn.prepare_cached(&format!(
            "INSERT INTO doc (kind, id, position, workspace, session, task, tag, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (kind, id) DO UPDATE SET {place}workspace = excluded.workspace,
             session = excluded.session, task = excluded.task, tag = excluded.tag, body = excluded.body",
        ))?;
        let Doc { kind, id, position, workspace, session, task, tag, body } = doc;
        statement.execute(params![kind, id, position, workspace, session, task, tag, body])?;
        Ok(())
    }
}

pub fn head(conn: &Connection) -> Result<u64> {
    let mut statement = conn.prepare_cached("SELECT coalesce(max(id), 0) FROM log")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Calls `each` for every row, in order.
pub fn for_each_row(conn: &Connection, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
    let mut statement = conn.prepare(&format!("SELECT {ROW} FROM log ORDER BY id"))?;
    let mut rows = statement.query([])?;
    while let Some(raw) = rows.next()? {
        each(read_row(raw)?)?;
    }
    Ok(())
}

/// All documents in one fixed order, to compare projections with.
pub fn for_each_doc(conn: &Connection, mut each: impl FnMut(Doc) -> Result<()>) -> Result<()> {
    let mut statement = conn.prepare(&format!("SELECT {DOC} FROM doc ORDER BY kind, id"))?;
    let mut rows = statement.query([])?;
    while let Some(raw) = rows.next()? {
        each(read_doc(raw)?)?;
    }
    Ok(())
}

/// The newest sequence and row of a subject.
pub fn last_of_subject(conn: &Connection, subject: &str) -> Result<Option<(u64, u64)>> {
    let mut statement = conn
        .prepare_cached("SELECT sequence, id FROM log WHERE subject = ?1 ORDER BY sequence DESC LIMIT 1")?;
    Ok(statement.query_row([subject], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

pub fn insert_row(conn: &Connection, row: &Row) -> Result<()> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO log (id, kind, name, at, workspace, session, task, object, subject, sequence, previous, key,
         actor, trace, span, body, crc)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?;
    let inserted = statement.execute(params![
        row.id,
        row.kind as i64,
        row.name,
        row.at.millis(),
        row.workspace,
        row.session,
        row.task,
        row.subject.as_ref().map(|subject| &subject.object),
        row.subject.as_ref().map(|subject| &subject.id),
        row.sequence,
        row.previous,
        row.key,
        row.actor,
        row.trace,
        row.span,
        row.body,
        crc32fast::hash(row.body.as_bytes()),
    ]);
    match (inserted, &row.key) {
        (Ok(_), _) => Ok(()),
        (Err(error), Some(key))
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            Err(LogError::DuplicateKey(key.clone()))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Ids come from clients; SQLite's integers are signed.
fn clamp(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

fn row_condition(filter: &RowFilter) -> (String, Vec<&dyn ToSql>) {
    let mut condition = String::new();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    match filter.kind {
        // Spelled out, so that the partial indexes apply.
        Some(RowKind::Event) => condition.push_str("kind = 0 AND "),
        Some(RowKind::Journal) => condition.push_str("kind = 1 AND "),
        Some(RowKind::Fact) => condition.push_str("kind = 2 AND "),
        None => {}
    }
    for (column, value) in
        [("task", &filter.task), ("session", &filter.session), ("workspace", &filter.workspace)]
    {
        if let Some(value) = value {
            condition.push_str(column);
            condition.push_str(" = ? AND ");
            values.push(value);
        }
    }
    (condition, values)
}

fn read_row(raw: &rusqlite::Row<'_>) -> Result<Row> {
    let id: u64 = raw.get(0)?;
    let unreadable = |error| LogError::Corrupt(format!("row {id} cannot be read: {error}"));
    let kind = RowKind::from_code(raw.get(1).map_err(unreadable)?)
        .ok_or_else(|| LogError::Corrupt(format!("row {id} is of an unknown kind")))?;
    let row = read_columns(raw, id, kind).map_err(unreadable)?;
    if crc32fast::hash(row.body.as_bytes()) != raw.get::<_, u32>(16).map_err(unreadable)? {
        return Err(LogError::Corrupt(format!("row {id} does not match its checksum")));
    }
    Ok(row)
}

fn read_columns(raw: &rusqlite::Row<'_>, id: u64, kind: RowKind) -> rusqlite::Result<Row> {
    let object: Option<String> = raw.get(7)?;
    let subject: Option<String> = raw.get(8)?;
    Ok(Row {
        id,
        kind,
        name: raw.get(2)?,
        at: Timestamp::from_millis(raw.get(3)?),
        workspace: raw.get(4)?,
        session: raw.get(5)?,
        task: raw.get(6)?,
        subject: object.zip(subject).map(|(object, id)| Subject { object, id }),
        sequence: raw.get(9)?,
        previous: raw.get(10)?,
        key: raw.get(11)?,
        actor: raw.get(12)?,
        trace: raw.get(13)?,
        span: raw.get(14)?,
        body: raw.get(15)?,
    })
}

fn read_doc(raw: &rusqlite::Row<'_>) -> Result<Doc> {
    Ok(Doc {
        kind: raw.get(0)?,
        id: raw.get(1)?,
        position: raw.get(2)?,
        workspace: raw.get(3)?,
        session: raw.get(4)?,
        task: raw.get(5)?,
        tag: raw.get(6)?,
        body: raw.get(7)?,
    })
}

fn get_doc(conn: &Connection, kind: &str, id: &str) -> Result<Option<Doc>> {
    let mut statement = conn.prepare_cached(&format!("SELECT {DOC} FROM doc WHERE kind = ?1 AND id = ?2"))?;
    let mut rows = statement.query([kind, id])?;
    rows.next()?.map(read_doc).transpose()
}

fn find_docs(conn: &Connection, query: &DocQuery<'_>) -> Result<Vec<Doc>> {
    let mut condition = String::from("kind = ?");
    let mut values: Vec<&dyn ToSql> = vec![&query.kind];
    let columns = [
        ("workspace", &query.workspace),
        ("session", &query.session),
        ("task", &query.task),
        ("tag", &query.tag),
    ];
    for (column, value) in columns {
        if let Some(value) = value {
            condition.push_str(&format!(" AND {column} = ?"));
            values.push(value);
        }
    }
    let after = clamp(query.after);
    values.push(&after);
    let limit = if query.limit == 0 { i64::MAX } else { i64::try_from(query.limit).unwrap_or(i64::MAX) };
    values.push(&limit);
    let sql = format!("SELECT {DOC} FROM doc WHERE {condition} AND position > ? ORDER BY position LIMIT ?");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(values.as_slice())?;
    let mut found = Vec::new();
    while let Some(raw) = rows.next()? {
        found.push(read_doc(raw)?);
    }
    Ok(found)
}
