//! Subscribers see every matching event once and in order, however they come, go and lag behind.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use harn_log::sqlite::SqliteLog;
use harn_log::{NewRow, Row, RowFilter, RowKind, Subscription};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::{Body, Random, append, event, open, row_of};

const RING_ROWS: usize = 4096;
const WORKSPACES: u64 = 3;
const SESSIONS: u64 = 4;

/// How a subscriber behaves between one batch and the next.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Steady,
    /// Drops its subscription after every batch, or in the midst of it, and resumes from the last id it took.
    Resuming,
    /// Takes one batch and then nothing until the writers are done.
    Slow,
}

fn random_row(random: &mut Random) -> NewRow {
    let kind = match random.below(5) {
        0 => RowKind::Journal,
        1 => RowKind::Fact,
        _ => RowKind::Event,
    };
    let session = format!("s{}", random.below(SESSIONS));
    let workspace = format!("w{}", random.below(WORKSPACES));
    NewRow { workspace: Some(workspace), ..row_of(kind, &session, &Body::default()) }
}

/// One event at the end that every filter of these tests lets through.
fn end_rows() -> Vec<NewRow> {
    let places = (0..WORKSPACES).flat_map(|w| (0..SESSIONS).map(move |s| (w, s)));
    let end = |(w, s)| NewRow {
        name: "end".into(),
        workspace: Some(format!("w{w}")),
        ..event(&format!("s{s}"), 0)
    };
    places.map(end).collect()
}

async fn write_randomly(log: Arc<SqliteLog>, seed: u64, commands: usize) -> Vec<Row> {
    let mut random = Random(seed);
    let mut written = Vec::new();
    for _ in 0..commands {
        let rows = (0..=random.below(24)).map(|_| random_row(&mut random)).collect();
        written.extend(append(&log, rows).await.unwrap());
    }
    written
}

/// Reads up to the first event named `end`.
async fn follow(
    log: Arc<SqliteLog>,
    filter: RowFilter,
    after: u64,
    manner: Manner,
    mut writers_done: watch::Receiver<bool>,
) -> Vec<Row> {
    let mut random = Random(after);
    let mut seen: Vec<Row> = Vec::new();
    let mut subscription = Subscription::new(log.clone(), filter.clone(), after);
    loop {
        let mut batch = subscription.next().await.unwrap();
        assert!(!batch.is_empty());
        match manner {
            Manner::Steady => {}
            Manner::Slow => {
                writers_done.wait_for(|done| *done).await.unwrap();
            }
            Manner::Resuming => {
                batch.truncate(1 + random.below(batch.len() as u64) as usize);
                let last = batch.last().unwrap().row.id;
                subscription = Subscription::new(log.clone(), filter.clone(), last);
            }
        }
        for entry in batch {
            seen.push(entry.row.clone());
            if entry.row.name == "end" {
                return seen;
            }
        }
    }
}

fn filters() -> Vec<RowFilter> {
    vec![
        RowFilter::events(),
        RowFilter::default(),
        RowFilter { workspace: Some("w1".into()), ..RowFilter::events() },
        RowFilter { session: Some("s2".into()), ..RowFilter::events() },
        RowFilter { session: Some("s0".into()), workspace: Some("w0".into()), ..RowFilter::events() },
        RowFilter { within: Some(["w0".to_owned(), "w2".to_owned()].into()), ..RowFilter::events() },
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_subscriber_sees_each_matching_event_once_and_in_order() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut written = write_randomly(Arc::clone(&log), 100, 20).await;
    let (done, writers_done) = watch::channel(false);
    let mut random = Random(9);
    let mut subscribers = JoinSet::new();
    for filter in filters() {
        for manner in [Manner::Steady, Manner::Resuming, Manner::Slow] {
            for after in [0, random.below(150), 400 + random.below(2000)] {
                let (filter, log, writers_done) = (filter.clone(), Arc::clone(&log), writers_done.clone());
                subscribers.spawn(async move {
                    let seen = follow(log, filter.clone(), after, manner, writers_done).await;
                    (filter, after, manner, seen)
                });
            }
        }
    }

    let mut writers = JoinSet::new();
    for seed in 0..4 {
        writers.spawn(write_randomly(Arc::clone(&log), seed, 160));
    }
    written.extend(writers.join_all().await.into_iter().flatten());
    written.extend(append(&log, end_rows()).await.unwrap());
    written.sort_by_key(|row| row.id);
    let events: Vec<Row> = written.into_iter().filter(|row| row.kind == RowKind::Event).collect();
    assert!(events.len() > RING_ROWS + 500, "the slow ones must fall off the ring: {} events", events.len());
    done.send_replace(true);

    let all =
        tokio::time::timeout(Duration::from_secs(60), subscribers.join_all()).await.expect("no one hangs");
    for (filter, after, manner, seen) in all {
        let end = seen.last().unwrap().id;
        let wanted = |row: &&Row| row.id > after && row.id <= end && filter.matches(row);
        let expected: Vec<&Row> = events.iter().filter(wanted).collect();
        assert!(seen.iter().eq(expected), "{manner:?} from {after} with {filter:?}");
    }
}

#[tokio::test]
async fn a_subscriber_falls_back_to_the_log_when_large_events_push_it_off_the_ring() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut subscription = Subscription::new(log.clone(), RowFilter::events(), 0);
    let large = Body { filler: "x".repeat(1 << 20), ..Body::default() };
    for _ in 0..20 {
        append(&log, vec![row_of(RowKind::Event, "s", &large)]).await.unwrap();
    }

    let mut seen = Vec::new();
    while seen.len() < 20 {
        seen.extend(subscription.next().await.unwrap().into_iter().map(|entry| entry.row.id));
    }
    assert_eq!(seen, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn no_event_falls_between_the_log_and_the_ring() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let overflow = 10;
    append(&log, (0..RING_ROWS as u64 + overflow).map(|value| event("s", value)).collect()).await.unwrap();
    for after in 0..2 * overflow {
        let next = Subscription::new(log.clone(), RowFilter::events(), after).next().await.unwrap();
        assert!(next.iter().zip(after + 1..).all(|(entry, id)| entry.row.id == id), "after {after}");
    }
}

#[tokio::test]
async fn a_subscription_waits_at_the_head_and_can_be_cancelled_while_it_waits() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    append(&log, vec![event("s", 1)]).await.unwrap();
    let mut subscription = Subscription::new(log.clone(), RowFilter::events(), 1);

    for id in 2..10 {
        // Nothing of the filter's kind comes, so the wait is given up; then something does.
        append(&log, vec![row_of(RowKind::Journal, "s", &Body::default())]).await.unwrap();
        assert!(tokio::time::timeout(Duration::ZERO, subscription.next()).await.is_err());
        append(&log, vec![event("s", id)]).await.unwrap();
        let next = subscription.next().await.unwrap();
        assert_eq!(next.iter().map(|entry| entry.row.id).collect::<Vec<_>>(), [2 * id - 1]);
    }
}

#[tokio::test]
async fn an_event_is_rendered_once_per_visibility_for_all_subscribers() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut subscribers: Vec<_> =
        (0..3).map(|_| Subscription::new(log.clone(), RowFilter::events(), 0)).collect();
    append(&log, vec![event("s", 1)]).await.unwrap();

    let mut renderings = 0;
    for subscriber in &mut subscribers {
        let entry = subscriber.next().await.unwrap().remove(0);
        for (internal, text) in [(false, "public"), (true, "internal")] {
            let bytes = entry.rendered(internal, |_| {
                renderings += 1;
                Bytes::from_static(text.as_bytes())
            });
            assert_eq!(bytes, text);
        }
    }
    assert_eq!(renderings, 2);
}

#[tokio::test]
async fn a_cursor_from_the_future_waits_until_the_log_has_passed_it() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut subscription = Subscription::new(log.clone(), RowFilter::events(), 3);
    let mut forever = Subscription::new(log.clone(), RowFilter::events(), u64::MAX);
    append(&log, (0..5).map(|value| event("s", value)).collect()).await.unwrap();
    let ids: Vec<_> = subscription.next().await.unwrap().iter().map(|entry| entry.row.id).collect();
    assert_eq!(ids, [4, 5]);
    assert!(tokio::time::timeout(Duration::ZERO, forever.next()).await.is_err());
}
