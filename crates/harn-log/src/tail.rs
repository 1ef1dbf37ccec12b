//! The live end of the log: a ring of recent events in memory, and subscriptions that read up to the head
//! from the log and then wait. A slow reader falls back to the log; it loses nothing and holds up nobody.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::{Log, Result, Row, RowFilter, RowKind, read};

const RING_ROWS: usize = 4096;
const RING_BYTES: usize = 16 << 20;
const BATCH: usize = 256;

/// An event with its renderings, each made once and shared by all subscribers of that visibility.
pub struct TailRow {
    pub row: Row,
    rendered: [OnceLock<Bytes>; 2],
}

impl TailRow {
    pub fn new(row: Row) -> Self {
        Self { row, rendered: Default::default() }
    }

    /// The bytes for one of the two visibilities that are ever streamed.
    pub fn rendered(&self, internal: bool, render: impl FnOnce(&Row) -> Bytes) -> Bytes {
        self.rendered[usize::from(internal)].get_or_init(|| render(&self.row)).clone()
    }
}

struct Ring {
    rows: VecDeque<Arc<TailRow>>,
    bytes: usize,
    /// Every event with an id above this is in the ring.
    floor: u64,
    head: u64,
}

/// Recent events, and word of every commit.
pub struct Tail {
    ring: RwLock<Ring>,
    head: watch::Sender<u64>,
}

impl Tail {
    pub(crate) fn new(head: u64) -> Self {
        let ring = Ring { rows: VecDeque::new(), bytes: 0, floor: head, head };
        Self { ring: RwLock::new(ring), head: watch::Sender::new(head) }
    }

    /// Called by the writer after each flush, with the events of that batch in order.
    pub(crate) fn publish(&self, events: Vec<Row>, head: u64) {
        {
            let mut ring = self.ring.write();
            for row in events {
                ring.bytes += row.body.len();
                ring.rows.push_back(Arc::new(TailRow::new(row)));
            }
            while ring.rows.len() > RING_ROWS || ring.bytes > RING_BYTES {
                let Some(oldest) = ring.rows.pop_front() else { break };
                ring.bytes -= oldest.row.body.len();
                ring.floor = oldest.row.id;
            }
            ring.head = head;
        }
        self.head.send_replace(head);
    }

    pub fn head(&self) -> u64 {
        *self.head.borrow()
    }

    /// Changes with every commit, whatever was in it.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    /// Matching events above `after` and the id up to which the answer is complete; none when the ring
    /// does not reach back that far.
    fn since(&self, after: u64, filter: &RowFilter) -> Option<(Vec<Arc<TailRow>>, u64)> {
        let ring = self.ring.read();
        if after < ring.floor {
            return None;
        }
        let start = ring.rows.partition_point(|entry| entry.row.id <= after);
        let mut found = Vec::new();
        for entry in ring.rows.range(start..) {
            if filter.matches(&entry.row) {
                found.push(Arc::clone(entry));
                if found.len() == BATCH {
                    return Some((found, entry.row.id));
                }
            }
        }
        Some((found, ring.head))
    }
}

/// Reads matching events in order, each once, from a cursor to the end of time.
pub struct Subscription {
    log: Arc<dyn Log>,
    filter: RowFilter,
    cursor: u64,
    head: watch::Receiver<u64>,
}

impl Subscription {
    /// Whatever the filter says, only events are given: journal entries and facts are never streamed.
    pub fn new(log: Arc<dyn Log>, filter: RowFilter, after: u64) -> Self {
        let filter = RowFilter { kind: Some(RowKind::Event), ..filter };
        let head = log.tail().head.subscribe();
        Self { log, filter, cursor: after, head }
    }

    /// The next events, at least one. Waits at the head of the log. Cancel-safe: the cursor moves only
    /// when events are given out or known not to match.
    pub async fn next(&mut self) -> Result<Vec<Arc<TailRow>>> {
        loop {
            let head = *self.head.borrow_and_update();
            if self.cursor >= head {
                // The sender lives as long as the log, which we hold.
                let _ = self.head.changed().await;
                continue;
            }
            let (rows, complete_to) = match self.log.tail().since(self.cursor, &self.filter) {
                Some(found) => found,
                None => self.read_back().await?,
            };
            self.cursor = self.cursor.max(complete_to);
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
    }

    async fn read_back(&self) -> Result<(Vec<Arc<TailRow>>, u64)> {
        let (filter, after) = (self.filter.clone(), self.cursor);
        read(&*self.log, move |view| {
            let head = view.head()?;
            let rows = view.rows(&filter, after, BATCH)?;
            let complete_to = match rows.last() {
                Some(last) if rows.len() == BATCH => last.id,
                _ => head,
            };
            Ok((rows.into_iter().map(|row| Arc::new(TailRow::new(row))).collect(), complete_to))
        })
        .await
    }
}
