//! A small projection, and short words for what every test does: open a log, append to it, look at it.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use harn_core::Timestamp;
use harn_log::sqlite::{Options, SqliteLog};
use harn_log::{
    Doc, DocQuery, Docs, LogError, NewRow, Projection, Result, Row, RowFilter, RowKind, Txn, read,
};
use serde::{Deserialize, Serialize};

/// Counts rows per session, and keeps the last value written to each note.
pub struct Tally {
    pub version: u32,
}

#[derive(Serialize, Deserialize)]
struct Count {
    rows: u64,
    sum: u64,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Body {
    pub value: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filler: String,
}

impl Projection for Tally {
    fn version(&self) -> u32 {
        self.version
    }

    fn apply(&self, docs: &mut dyn Docs, row: &Row) -> Result<()> {
        assert_ne!(row.name, "poison", "the projection panics on poison");
        let body: Body = row.parse()?;
        if let Some(session) = &row.session {
            let before = docs.get("tally", session)?;
            let position = before.as_ref().map_or(row.id, |doc| doc.position);
            let count: Count = before.map_or(Ok(Count { rows: 0, sum: 0 }), |doc| doc.parse())?;
            let count = Count { rows: count.rows + 1, sum: count.sum + body.value };
            docs.put(doc("tally", session, position, row, None, serde_json::to_string(&count)?))?;
        }
        if let Some(note) = &body.note {
            let tag = if body.value.is_multiple_of(2) { "even" } else { "odd" };
            docs.put(doc("note", note, row.id, row, Some(tag), body.value.to_string()))?;
        }
        match &body.forget {
            Some(note) => docs.remove("note", note),
            None => Ok(()),
        }
    }
}

fn doc(kind: &str, id: &str, position: u64, row: &Row, tag: Option<&str>, body: String) -> Doc {
    Doc {
        kind: kind.into(),
        id: id.into(),
        position,
        workspace: row.workspace.clone(),
        session: row.session.clone(),
        task: row.task.clone(),
        tag: tag.map(Into::into),
        body,
    }
}

pub const TALLY: Tally = Tally { version: 1 };

pub fn open(data: &Path) -> Arc<SqliteLog> {
    open_with(data, Options::default())
}

pub fn open_with(data: &Path, options: Options) -> Arc<SqliteLog> {
    try_open(data, options).expect("the log opens")
}

pub fn try_open(data: &Path, options: Options) -> Result<Arc<SqliteLog>> {
    SqliteLog::open(data, Arc::new(TALLY), options).map(Arc::new)
}

pub fn row_of(kind: RowKind, session: &str, body: &Body) -> NewRow {
    let text = serde_json::to_string(body).unwrap();
    NewRow { session: Some(session.into()), ..NewRow::new(kind, "counted", Timestamp::from_millis(7), text) }
}

pub fn event(session: &str, value: u64) -> NewRow {
    row_of(RowKind::Event, session, &Body { value, ..Body::default() })
}

/// One command that appends these rows.
pub async fn append(log: &SqliteLog, rows: Vec<NewRow>) -> Result<Vec<Row>> {
    harn_log::write(log, move |txn| append_all(txn, rows)).await
}

pub fn append_all(txn: &mut dyn Txn, rows: Vec<NewRow>) -> Result<Vec<Row>> {
    rows.into_iter().map(|row| txn.append(row)).collect()
}

pub async fn all_rows(log: &SqliteLog) -> Result<Vec<Row>> {
    read(log, |view| view.rows(&RowFilter::default(), 0, usize::MAX)).await
}

pub async fn all_docs(log: &SqliteLog) -> Vec<Doc> {
    let found: Result<_> = read(log, |view| {
        let mut docs = view.docs(&DocQuery::of("tally"))?;
        docs.extend(view.docs(&DocQuery::of("note"))?);
        Ok(docs)
    })
    .await;
    found.unwrap()
}

pub async fn head(log: &SqliteLog) -> u64 {
    let found: Result<u64> = read(log, |view| view.head()).await;
    found.unwrap()
}

/// What verify finds wrong.
pub fn problems(data: &Path) -> Vec<String> {
    harn_log::sqlite::verify(data, &TALLY).expect("the log can be verified").problems
}

pub type Pending<'a, T, E = LogError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// Holds the writer in a command of its own while `queue` hands in others, so that those share one flush.
pub async fn in_one_batch<'a, T, E>(
    log: &'a SqliteLog,
    queue: impl FnOnce() -> Vec<Pending<'a, T, E>>,
) -> Vec<Result<T, E>> {
    let (entered, writer_is_held) = tokio::sync::oneshot::channel();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let mut gate: Pending<'_, ()> = Box::pin(harn_log::write(log, move |_| {
        let _ = entered.send(());
        let _ = held.recv();
        Ok(())
    }));
    start(&mut gate);
    writer_is_held.await.unwrap();
    let mut pending = queue();
    pending.iter_mut().for_each(start);
    drop(release);
    gate.await.unwrap();
    let mut results = Vec::new();
    for one in pending {
        results.push(one.await);
    }
    results
}

/// Polls once, which is enough to put a command into the writer's queue.
pub fn start<F: Future + ?Sized>(pending: &mut Pin<Box<F>>) {
    let ready = pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    assert!(!ready, "a command cannot be answered before its flush");
}

/// Small repeatable randomness (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
