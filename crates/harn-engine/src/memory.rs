//! Waitpoints and the event log of a run that leaves nothing behind.

use std::collections::BTreeMap;
use std::time::Duration;

use harn_core::errand::{Errand, Query, Recorded, Wait, Waitpoint};
use harn_core::{Clock, SystemClock, Timestamp, WaitpointId};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// Entries beyond this many push out the oldest.
const MOST_ENTRIES: usize = 100_000;

#[derive(Default)]
struct Kept {
    waitpoints: BTreeMap<String, Waitpoint>,
    /// With their numbers, the oldest first.
    entries: std::collections::VecDeque<(u64, Timestamp, Recorded)>,
    count: u64,
}

pub(crate) struct Memory {
    kept: Mutex<Kept>,
    changed: watch::Sender<()>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { kept: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Memory {
    /// What came of it; none for a wait that is not over.
    pub fn run(&self, errand: Errand) -> Option<Value> {
        let now = SystemClock.now();
        let mut kept = self.kept.lock();
        let done = match errand {
            Errand::CreateWaitpoint { id, metadata } => {
                let id = id.unwrap_or_else(|| WaitpointId::generate().to_string());
                Some(json!(kept.waitpoint(&id, metadata, now)))
            }
            Errand::CompleteWaitpoint { id, value, said } => {
                let waitpoint = kept.waitpoint(&id, Map::new(), now);
                waitpoint.complete(value, said, "script", now);
                Some(json!(waitpoint))
            }
            Errand::CancelWaitpoint { id, said } => {
                let waitpoint = kept.waitpoint(&id, Map::new(), now);
                waitpoint.cancel(said, "script", now);
                Some(json!(waitpoint))
            }
            Errand::Wait(wait) => wait.outcome(&kept.all_of(&wait, now)),
            Errand::Record(recorded) => {
                kept.count += 1;
                let number = kept.count;
                kept.entries.push_back((number, now, recorded));
                if kept.entries.len() > MOST_ENTRIES {
                    kept.entries.pop_front();
                }
                Some(number.into())
            }
        };
        drop(kept);
        self.changed.send_replace(());
        done
    }

    /// Waits until what is waited for has happened.
    pub async fn wait(&self, wait: &Wait) -> Value {
        let over = self.until(|kept| wait.outcome(&kept.all_of(wait, SystemClock.now())));
        match wait.timeout_ms {
            None => over.await,
            Some(ms) => match tokio::time::timeout(Duration::from_millis(ms), over).await {
                Ok(outcome) => outcome,
                Err(_) => Wait::timed_out(&self.kept.lock().all_of(wait, SystemClock.now())),
            },
        }
    }

    pub async fn tell(&self, query: Query) -> Value {
        match query {
            // Whoever is asked here is asked at once.
            Query::Requests { .. } => json!([]),
            Query::Latest { topic } => {
                let kept = self.kept.lock();
                let is_of = |entry: &&(u64, Timestamp, Recorded)| {
                    topic.as_deref().is_none_or(|topic| entry.2.topic == topic)
                };
                json!(kept.entries.iter().rev().find(is_of).map(|entry| entry.0))
            }
            Query::Events { topic, after, limit, wait_ms } => {
                let found = |kept: &mut Kept| Some(kept.entries_of(&topic, after, limit));
                let some = |kept: &mut Kept| found(kept).filter(|found| *found != json!([]));
                match wait_ms {
                    None => found(&mut self.kept.lock()).unwrap_or_default(),
                    Some(ms) => tokio::time::timeout(Duration::from_millis(ms), self.until(some))
                        .await
                        .unwrap_or_else(|_| json!([])),
                }
            }
        }
    }

    async fn until(&self, look: impl Fn(&mut Kept) -> Option<Value>) -> Value {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            let seen = look(&mut self.kept.lock());
            if let Some(seen) = seen {
                return seen;
            }
            // The sender lives as long as we do.
            let _ = changed.changed().await;
        }
    }
}

impl Kept {
    fn waitpoint(&mut self, id: &str, metadata: Map<String, Value>, now: Timestamp) -> &mut Waitpoint {
        self.waitpoints.entry(id.to_owned()).or_insert_with(|| Waitpoint::new(id.to_owned(), metadata, now))
    }

    fn all_of(&mut self, wait: &Wait, now: Timestamp) -> Vec<Waitpoint> {
        wait.ids.iter().map(|id| self.waitpoint(id, Map::new(), now).clone()).collect()
    }

    fn entries_of(&self, topic: &str, after: u64, limit: usize) -> Value {
        let start = self.entries.partition_point(|(number, ..)| *number <= after);
        let of_topic = self.entries.range(start..).filter(|(_, _, recorded)| recorded.topic == topic);
        of_topic.take(limit).map(|(number, at, recorded)| recorded.told(*number, *at)).collect()
    }
}
