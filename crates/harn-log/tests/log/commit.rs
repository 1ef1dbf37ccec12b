//! What one command does to the log, alone and beside others.

use std::sync::Arc;

use bytes::Bytes;
use harn_log::{LogError, NewRow, Result, Row, RowKind, StagedBlob, Subject, read, write};
use tokio::task::JoinSet;

use crate::support::{
    Body, Pending, Random, all_docs, all_rows, append, append_all, event, head, in_one_batch, open, problems,
    row_of, start,
};

#[derive(Debug, PartialEq)]
enum Refusal {
    Log(LogError),
    ByTheCommand,
}

impl From<LogError> for Refusal {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

fn about(subject: &str, value: u64) -> NewRow {
    let subject = Subject { object: "task".into(), id: subject.into() };
    NewRow { subject: Some(subject), ..event("s", value) }
}

fn keyed(task: &str, key: &str) -> NewRow {
    NewRow { task: Some(task.into()), key: Some(key.into()), ..event(task, 1) }
}

fn noted(note: &str, value: u64) -> NewRow {
    row_of(RowKind::Fact, "s", &Body { value, note: Some(note.into()), ..Body::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_are_consecutive_in_commit_order_across_concurrent_callers() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());

    let mut callers = JoinSet::new();
    for caller in 0..8 {
        let log = Arc::clone(&log);
        callers.spawn(async move {
            let mut random = Random(caller);
            let mut mine = Vec::new();
            for value in 0..40 {
                let rows = (0..=random.below(3)).map(|_| event(&format!("s{caller}"), value)).collect();
                mine.push(append(&log, rows).await.unwrap());
            }
            mine
        });
    }
    let per_caller = callers.join_all().await;

    for commands in &per_caller {
        let ids: Vec<u64> = commands.iter().flatten().map(|row| row.id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "a caller's later command comes later in the log");
        for command in commands {
            let first = command[0].id;
            assert!(
                command.iter().zip(first..).all(|(row, id)| row.id == id),
                "a command's rows are together"
            );
        }
    }
    let mut answered: Vec<_> = per_caller.into_iter().flatten().flatten().collect();
    answered.sort_by_key(|row| row.id);
    assert!(answered.iter().zip(1..).all(|(row, id)| row.id == id), "ids start at 1 and have no gap");
    assert_eq!(all_rows(&log).await.unwrap(), answered);
    assert_eq!(log_head(&log), answered.len() as u64);
}

fn log_head(log: &harn_log::sqlite::SqliteLog) -> u64 {
    harn_log::Log::tail(log).head()
}

#[tokio::test]
async fn a_command_that_fails_leaves_nothing_while_its_batch_mates_stay() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let blob = StagedBlob::small(Bytes::from_static(b"never seen")).unwrap();
    let hash = blob.hash.to_string();

    let results = in_one_batch(&log, || {
        let kept = |rows| -> Pending<'_, Vec<u64>, Refusal> {
            Box::pin(write(&*log, move |txn| {
                Ok(append_all(txn, rows)?.into_iter().map(|row| row.id).collect())
            }))
        };
        let refused: Pending<'_, Vec<u64>, Refusal> = Box::pin(write(&*log, move |txn| {
            append_all(txn, vec![about("t", 100), noted("n", 100), about("u", 100)])?;
            txn.keep_blob(&blob)?;
            Err(Refusal::ByTheCommand)
        }));
        vec![kept(vec![about("t", 1)]), refused, kept(vec![about("t", 2), about("u", 3)])]
    })
    .await;

    assert_eq!(results, [Ok(vec![1]), Err(Refusal::ByTheCommand), Ok(vec![2, 3])]);
    let rows = all_rows(&log).await.unwrap();
    let places: Vec<_> = rows.iter().map(|row| (row.id, row.sequence, row.previous)).collect();
    assert_eq!(places, [(1, Some(1), None), (2, Some(2), Some(1)), (3, Some(1), None)]);
    let docs: Vec<_> = all_docs(&log).await.into_iter().map(|doc| (doc.id, doc.body)).collect();
    assert_eq!(docs, [("s".to_owned(), r#"{"rows":3,"sum":6}"#.to_owned())]);
    let found: Result<bool> = read(&*log, move |view| Ok(view.blob(&hash)?.is_some())).await;
    assert_eq!(found, Ok(false));
}

#[tokio::test]
async fn a_command_that_panics_is_undone_and_the_log_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());

    let results = in_one_batch(&log, || {
        let panics: Pending<'_, u64> = Box::pin(write(&*log, |txn| {
            txn.append(about("t", 100))?;
            panic!("the command panics");
        }));
        let poisons: Pending<'_, u64> = Box::pin(write(&*log, |txn| {
            Ok(txn.append(NewRow { name: "poison".into(), ..about("t", 100) })?.id)
        }));
        let fine: Pending<'_, u64> = Box::pin(write(&*log, |txn| Ok(txn.append(about("t", 1))?.id)));
        vec![panics, poisons, fine]
    })
    .await;

    let undone = Err(LogError::Stopped("the command panicked and was undone".into()));
    assert_eq!(results, [undone.clone(), undone, Ok(1)]);
    let next = append(&log, vec![about("t", 2)]).await.unwrap();
    assert_eq!((next[0].id, next[0].sequence, next[0].previous), (2, Some(2), Some(1)));
    log.close();
    assert_eq!(problems(data.path()), [""; 0]);
}

#[tokio::test]
async fn a_row_that_the_projection_cannot_take_fails_its_command_alone() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());

    let unreadable = NewRow { body: r#"{"value":"not a number"}"#.into(), ..event("s", 0) };
    let refused = append(&log, vec![event("s", 1), unreadable]).await;

    assert!(matches!(refused, Err(LogError::Corrupt(_))), "{refused:?}");
    // It may not stay even when its command would have it so: no rebuild would get past it.
    let ignored: Result<()> = write(&*log, |txn| {
        let _ = txn.append(NewRow { body: "{}".into(), ..event("s", 0) });
        Ok(())
    })
    .await;
    assert!(matches!(ignored, Err(LogError::Corrupt(_))), "{ignored:?}");
    assert_eq!(append(&log, vec![event("s", 2)]).await.unwrap()[0].id, 1);
}

#[tokio::test]
async fn a_command_sees_what_it_has_written_and_nobody_else_does_before_the_flush() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let runtime = tokio::runtime::Handle::current();
    let outside = Arc::clone(&log);

    let seen: Result<_> = write(&*log, move |txn| {
        let row = txn.append(noted("n", 4))?;
        assert_eq!(txn.row(row.id)?, Some(row));
        let outside = runtime.block_on(async { (head(&outside).await, all_docs(&outside).await.len()) });
        Ok((txn.head()?, txn.doc("note", "n")?.unwrap().body, txn.count("note")?, outside))
    })
    .await;

    assert_eq!(seen, Ok((1, "4".to_owned(), 1, (0, 0))));
    assert_eq!((head(&log).await, all_docs(&log).await.len()), (1, 2));
}

#[tokio::test]
async fn sequences_count_per_subject_across_restarts() {
    let data = tempfile::tempdir().unwrap();
    let mut places = Vec::new();
    for _ in 0..3 {
        let log = open(data.path());
        let rows =
            append(&log, vec![about("a", 1), event("s", 1), about("b", 1), about("a", 1)]).await.unwrap();
        places.extend(rows.into_iter().map(|row| (row.id, row.sequence, row.previous)));
    }
    assert_eq!(
        places,
        [
            (1, Some(1), None),
            (2, None, None),
            (3, Some(1), None),
            (4, Some(2), Some(1)),
            (5, Some(3), Some(4)),
            (6, None, None),
            (7, Some(2), Some(3)),
            (8, Some(4), Some(5)),
            (9, Some(5), Some(8)),
            (10, None, None),
            (11, Some(3), Some(7)),
            (12, Some(6), Some(9)),
        ]
    );
}

#[tokio::test]
async fn sequences_stay_right_when_there_are_more_subjects_than_the_writer_remembers() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let subjects = 17_000;

    append(&log, (0..subjects).map(|n| about(&format!("t{n}"), 1)).collect()).await.unwrap();
    let rows = append(&log, vec![about("t0", 2), about("t16999", 2), about("t0", 3)]).await.unwrap();

    let places: Vec<_> = rows.into_iter().map(|row| (row.sequence, row.previous)).collect();
    assert_eq!(places, [(Some(2), Some(1)), (Some(2), Some(subjects)), (Some(3), Some(subjects + 1))]);
}

#[tokio::test]
async fn a_key_is_taken_once_per_task() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    append(&log, vec![keyed("t1", "k")]).await.unwrap();

    let again = append(&log, vec![event("t1", 1), keyed("t1", "k"), event("t1", 1)]).await;
    let twice = append(&log, vec![keyed("t1", "new"), keyed("t1", "new")]).await;
    let elsewhere = append(&log, vec![keyed("t2", "k"), keyed("t1", "new")]).await;

    assert_eq!(again, Err(LogError::DuplicateKey("k".into())));
    assert_eq!(twice, Err(LogError::DuplicateKey("new".into())));
    assert_eq!(elsewhere.unwrap().iter().map(|row| row.id).collect::<Vec<_>>(), [2, 3]);
    drop(log);
    let log = open(data.path());
    assert_eq!(append(&log, vec![keyed("t2", "k")]).await, Err(LogError::DuplicateKey("k".into())));
    assert_eq!(head(&log).await, 3);
}

#[tokio::test]
async fn closing_finishes_what_is_queued_and_refuses_the_rest() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut queued: Vec<Pending<'_, Vec<Row>>> =
        (0..20).map(|value| Box::pin(append(&log, vec![event("s", value)])) as Pending<'_, _>).collect();
    queued.iter_mut().for_each(start);

    log.close();

    let late = append(&log, vec![event("s", 99)]).await;
    assert!(matches!(late, Err(LogError::Stopped(_))), "{late:?}");
    for (one, id) in queued.into_iter().zip(1..) {
        assert_eq!(one.await.unwrap()[0].id, id);
    }
    assert_eq!(head(&log).await, 20);
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_undo_its_command() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let mut abandoned = Box::pin(append(&log, vec![event("s", 1)]));
    start(&mut abandoned);
    drop(abandoned);
    let next = append(&log, vec![event("s", 2)]).await.unwrap();
    assert_eq!(next[0].id, 2);
}
