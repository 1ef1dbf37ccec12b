//! Looking at rows and documents.

use std::sync::Arc;
use std::time::Duration;

use harn_log::{DocQuery, NewRow, Result, RowFilter, RowKind, View, read};

use crate::support::{Body, append, event, open, row_of};

fn placed(kind: RowKind, workspace: &str, session: &str, task: &str) -> NewRow {
    NewRow {
        workspace: Some(workspace.into()),
        task: Some(task.into()),
        ..row_of(kind, session, &Body::default())
    }
}

fn ids(view: &dyn View, filter: &RowFilter, after: u64, limit: usize) -> Result<Vec<u64>> {
    Ok(view.rows(filter, after, limit)?.into_iter().map(|row| row.id).collect())
}

#[tokio::test]
async fn filters_give_the_rows_for_which_everything_holds() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let rows = vec![
        placed(RowKind::Event, "w1", "s1", "t1"),
        placed(RowKind::Journal, "w1", "s1", "t1"),
        placed(RowKind::Event, "w2", "s1", "t2"),
        placed(RowKind::Fact, "w2", "s2", "t2"),
        event("s2", 1),
        placed(RowKind::Event, "w3", "s2", "t2"),
    ];
    append(&log, rows).await.unwrap();
    let within: RowFilter =
        RowFilter { within: Some(["w1".to_owned(), "w2".to_owned()].into()), ..RowFilter::default() };
    let cases = [
        (RowFilter::default(), vec![1, 2, 3, 4, 5, 6]),
        (RowFilter::events(), vec![1, 3, 5, 6]),
        (RowFilter::journal("t1"), vec![2]),
        (RowFilter { task: Some("t2".into()), ..RowFilter::default() }, vec![3, 4, 6]),
        (RowFilter { session: Some("s1".into()), ..RowFilter::events() }, vec![1, 3]),
        (RowFilter { workspace: Some("w2".into()), ..RowFilter::default() }, vec![3, 4]),
        (RowFilter { workspace: Some("nowhere".into()), ..RowFilter::default() }, vec![]),
        (within.clone(), vec![1, 2, 3, 4]),
        (RowFilter { session: Some("s2".into()), ..within }, vec![4]),
    ];
    for (filter, expected) in cases {
        let wanted = filter.clone();
        let found: Result<_> = read(&*log, move |view| {
            let all = ids(view, &wanted, 0, 100)?;
            let matching: Vec<u64> = view
                .rows(&RowFilter::default(), 0, 100)?
                .iter()
                .filter(|row| wanted.matches(row))
                .map(|row| row.id)
                .collect();
            assert_eq!(all, matching, "the database and `matches` agree");
            let last = view.last_row(&wanted)?.map(|row| row.id);
            Ok((
                all,
                last,
                ids(view, &wanted, 1, 1)?,
                ids(view, &wanted, 0, 0)?,
                ids(view, &wanted, u64::MAX, 9)?,
            ))
        })
        .await;
        let second = expected.iter().copied().find(|id| *id > 1).into_iter().collect();
        let last = expected.last().copied();
        assert_eq!(found, Ok((expected, last, second, vec![], vec![])), "{filter:?}");
    }
}

#[tokio::test]
async fn documents_are_found_by_column_and_listed_by_position() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for (note, value) in [("c", 1), ("a", 2), ("b", 3), ("c", 4)] {
        let body = Body { value, note: Some(note.into()), ..Body::default() };
        let session = if value < 3 { "early" } else { "late" };
        append(&log, vec![NewRow { workspace: Some("w".into()), ..row_of(RowKind::Fact, session, &body) }])
            .await
            .unwrap();
    }
    let notes = DocQuery::of("note");
    let cases = [
        (notes, "abc"),
        (DocQuery { tag: Some("even"), ..notes }, "ac"),
        (DocQuery { session: Some("late"), ..notes }, "bc"),
        (DocQuery { session: Some("late"), tag: Some("odd"), ..notes }, "b"),
        (DocQuery { workspace: Some("w"), after: 2, ..notes }, "bc"),
        (DocQuery { task: Some("t"), ..notes }, ""),
        (DocQuery { limit: 2, ..notes }, "ab"),
        (DocQuery { after: u64::MAX, ..notes }, ""),
        (DocQuery::of("nothing"), ""),
    ];
    for (query, expected) in cases {
        let found: Result<String> =
            read(&*log, move |view| Ok(view.docs(&query)?.into_iter().map(|doc| doc.id).collect())).await;
        assert_eq!(found.as_deref(), Ok(expected), "{query:?}");
    }
    let counts: Result<_> = read(&*log, |view| Ok((view.count("note")?, view.count("tally")?))).await;
    assert_eq!(counts, Ok((3, 2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_sees_one_state_while_others_write() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    append(&log, vec![event("s", 1)]).await.unwrap();
    let (runtime, writer) = (tokio::runtime::Handle::current(), Arc::clone(&log));
    let seen: Result<_> = read(&*log, move |view| {
        let before = view.head()?;
        runtime.block_on(append(&writer, vec![event("s", 1)]))?;
        Ok((before, view.head()?, view.row(2)?, view.doc("tally", "s")?.unwrap().body))
    })
    .await;
    assert_eq!(seen, Ok((1, 1, None, r#"{"rows":1,"sum":1}"#.to_owned())));
}

/// Reads that were given up still run; they must not let more and more run beside them.
#[tokio::test]
async fn at_most_eight_reads_run_even_when_their_callers_go_away() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let (shut, gate) = std::sync::mpsc::channel::<()>();
    let gate = Arc::new(parking_lot::Mutex::new(gate));
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let begin_read = || {
        let (log, gate, started) = (log.clone(), gate.clone(), started.clone());
        tokio::spawn(async move {
            let done: Result<()> = read(&*log, move |_| {
                let _ = started.send(());
                let _ = gate.lock().recv();
                Ok(())
            })
            .await;
            done
        })
    };
    for _ in 0..8 {
        let given_up = begin_read();
        starts.recv().await.unwrap();
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
    }

    let ninth = begin_read();
    let early = tokio::time::timeout(Duration::from_millis(100), starts.recv()).await;
    drop(shut);

    assert!(early.is_err(), "a ninth read ran beside eight");
    ninth.await.unwrap().unwrap();
}
