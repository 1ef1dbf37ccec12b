//! A full disk refuses writes and nothing else.

use harn_log::sqlite::Options;
use harn_log::{LogError, NewRow, RowKind, Subject};

use crate::support::{
    Body, Pending, all_docs, all_rows, append, event, in_one_batch, open, open_with, problems, row_of,
};

fn limited(bytes: u64) -> Options {
    Options { max_bytes: Some(bytes), ..Options::default() }
}

fn counted() -> NewRow {
    NewRow { subject: Some(Subject { object: "task".into(), id: "t".into() }), ..event("s", 1) }
}

fn large(session: &str) -> NewRow {
    row_of(RowKind::Event, session, &Body { filler: "x".repeat(20 << 10), ..Body::default() })
}

#[tokio::test]
async fn a_full_log_refuses_writes_keeps_what_it_has_and_takes_more_once_there_is_room() {
    let data = tempfile::tempdir().unwrap();
    let log = open_with(data.path(), limited(400 << 10));
    let mut written = Vec::new();
    let refused = loop {
        match append(&log, vec![event("s", 1), large("s"), event("s", 1)]).await {
            Ok(rows) => written.extend(rows),
            Err(error) => break error,
        }
        assert!(written.len() < 1000, "the limit holds");
    };
    assert_eq!(refused, LogError::Full);
    assert!(written.len() > 10);

    // Still full, still readable, nothing half-written.
    let docs = all_docs(&log).await;
    for _ in 0..3 {
        assert_eq!(append(&log, vec![event("t", 1), large("t")]).await, Err(LogError::Full));
        assert_eq!(all_rows(&log).await.as_ref(), Ok(&written));
        assert_eq!(all_docs(&log).await, docs);
    }
    log.close();
    assert_eq!(problems(data.path()), [""; 0]);

    let log = open_with(data.path(), limited(1 << 20));
    assert_eq!(all_rows(&log).await.as_ref(), Ok(&written));
    let next = append(&log, vec![event("s", 1), large("s")]).await.unwrap();
    assert_eq!(next[0].id, written.len() as u64 + 1);
    log.close();
    assert_eq!(problems(data.path()), [""; 0]);
}

#[tokio::test]
async fn a_log_that_was_full_takes_what_still_fits() {
    let data = tempfile::tempdir().unwrap();
    let log = open_with(data.path(), limited(400 << 10));
    let mut rows = 0;
    while append(&log, vec![large("s")]).await.is_ok() {
        rows += 1;
        assert!(rows < 100, "the limit holds");
    }
    let small = append(&log, vec![event("s", 1)]).await.unwrap();
    assert_eq!(all_rows(&log).await.unwrap().last(), small.last());
}

#[tokio::test]
async fn a_batch_that_does_not_fit_is_refused_whole() {
    let data = tempfile::tempdir().unwrap();
    let log = open_with(data.path(), limited(400 << 10));
    let results = in_one_batch(&log, || {
        let huge = (0..30).map(|_| large("s")).collect();
        vec![
            Box::pin(append(&log, vec![counted()])) as Pending<'_, _>,
            Box::pin(append(&log, huge)),
            Box::pin(append(&log, vec![counted()])),
        ]
    })
    .await;
    assert_eq!(results, [Err(LogError::Full), Err(LogError::Full), Err(LogError::Full)]);
    assert_eq!(all_rows(&log).await.unwrap(), []);
    let next = append(&log, vec![counted()]).await.unwrap().remove(0);
    assert_eq!((next.id, next.sequence, next.previous), (1, Some(1), None));
}

#[tokio::test]
async fn a_limit_below_what_is_there_refuses_writes_only() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    append(&log, (0..20).map(|_| large("s")).collect()).await.unwrap();
    log.close();
    let log = open_with(data.path(), limited(1));
    assert_eq!(append(&log, (0..20).map(|_| large("s")).collect()).await, Err(LogError::Full));
    assert_eq!(all_rows(&log).await.unwrap().len(), 20);
}
