//! Damaged files: what is wrong is named, nothing panics, nothing is made worse.

use std::fs;
use std::path::{Path, PathBuf};

use harn_log::sqlite::{Options, rebuild, verify};
use harn_log::{Log, LogError, Result, RowFilter, read, write};
use rusqlite::Connection;

use crate::support::{Random, TALLY, all_rows, append, append_all, event, open, problems, try_open};

fn database(data: &Path) -> PathBuf {
    data.join("harn.db")
}

/// A closed log of 60 rows.
async fn sixty_rows() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    for value in 0..20 {
        append(&log, (0..3).map(|n| event(&format!("session {n}"), value)).collect()).await.unwrap();
    }
    log.close();
    data
}

fn is_corrupt<T: std::fmt::Debug>(result: Result<T>) -> bool {
    matches!(&result, Err(LogError::Corrupt(_)))
}

#[tokio::test]
async fn a_foreign_or_cut_database_is_refused_and_left_as_it_is() {
    let data = sixty_rows().await;
    let whole = fs::read(database(data.path())).unwrap();
    let mut random = Random(1);
    let garbage: Vec<u8> = (0..whole.len()).map(|_| random.below(256) as u8).collect();
    let mut garbage_after_header = garbage.clone();
    garbage_after_header[..16].copy_from_slice(&whole[..16]);
    let mut unknown_page_size = whole.clone();
    unknown_page_size[16..18].copy_from_slice(&[0, 0]);

    let damaged: [(&str, &[u8]); 9] = [
        ("garbage", &garbage),
        ("garbage after the header", &garbage_after_header),
        ("a text", b"not a database, and not short either: more than thirty-two bytes"),
        ("an unknown page size", &unknown_page_size),
        ("half", &whole[..whole.len() / 2]),
        ("all but the last byte", &whole[..whole.len() - 1]),
        ("one page", &whole[..4096]),
        ("a cut header", &whole[..50]),
        ("a few bytes", &whole[..7]),
    ];
    for (what, bytes) in damaged {
        fs::write(database(data.path()), bytes).unwrap();
        let opened = try_open(data.path(), Options::default()).map(|_| ());
        let Err(LogError::Corrupt(message)) = &opened else { panic!("{what}: {opened:?}") };
        assert!(message.contains("harn.db") && message.contains("backup"), "{what}: {message}");
        assert!(is_corrupt(verify(data.path(), &TALLY)), "{what}");
        assert!(is_corrupt(rebuild(data.path(), &TALLY)), "{what}");
        assert!(fs::read(database(data.path())).unwrap() == bytes, "{what}: the file was changed");
    }
}

#[tokio::test]
async fn tools_say_so_when_there_is_no_log() {
    let data = tempfile::tempdir().unwrap();
    let Err(LogError::Absent(message)) = verify(data.path(), &TALLY) else {
        panic!("there is nothing to verify")
    };
    assert!(message.contains("there is no log in"), "{message}");
    assert!(rebuild(data.path(), &TALLY).is_err());
    assert!(!database(data.path()).exists());
}

/// Changes one byte of row 31's body in the file itself, and gives what verify says.
async fn flip_in_row_31(replacement: u8) -> (tempfile::TempDir, Vec<String>) {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    append(&log, (1..=60).map(|value| event("s", 1000 + value)).collect()).await.unwrap();
    log.close();
    let mut bytes = fs::read(database(data.path())).unwrap();
    let body = br#"{"value":1031}"#;
    let places: Vec<usize> =
        (0..bytes.len() - body.len()).filter(|at| &bytes[*at..*at + body.len()] == body).collect();
    assert_eq!(places.len(), 1, "the body is stored once");
    bytes[places[0] + 9] = replacement;
    fs::write(database(data.path()), bytes).unwrap();
    let found = problems(data.path());
    (data, found)
}

#[tokio::test]
async fn a_flipped_byte_is_named_by_verify_and_refused_when_read() {
    // A digit that still gives JSON, and a byte that is not even UTF-8.
    for replacement in [b'7', 0xff] {
        let (data, named) = flip_in_row_31(replacement).await;
        assert_eq!(named.len(), 1, "{named:?}");
        assert!(named[0].contains("row 31 "), "{named:?}");

        let log = open(data.path());
        let damaged: Result<_> = read(&*log, |view| view.row(31)).await;
        assert!(is_corrupt(damaged));
        assert!(is_corrupt(all_rows(&log).await));
        let beside: Result<_> = read(&*log, |view| Ok((view.row(30)?, view.row(32)?))).await;
        assert!(matches!(beside, Ok((Some(_), Some(_)))));
        // A command that meets the damage fails; others go on.
        let met: Result<()> = write(&*log, |txn| {
            append_all(txn, vec![event("s", 1)])?;
            txn.rows(&RowFilter::events(), 0, 1000).map(|_| ())
        })
        .await;
        assert!(is_corrupt(met));
        assert_eq!(append(&log, vec![event("s", 1)]).await.unwrap()[0].id, 61);
    }
}

#[tokio::test]
async fn rebuild_of_a_damaged_log_keeps_the_documents_that_it_has() {
    let (data, _) = flip_in_row_31(b'7').await;
    assert!(is_corrupt(rebuild(data.path(), &TALLY)));
    let log = open(data.path());
    let tally: Result<_> = read(&*log, |view| view.doc("tally", "s")).await;
    assert!(tally.unwrap().unwrap().body.starts_with(r#"{"rows":60,"#));
}

#[tokio::test]
async fn verify_names_rows_that_are_missing_out_of_order_or_not_json() {
    for (sql, problem) in [
        ("DELETE FROM log WHERE id BETWEEN 4 AND 6", "rows 4 to 6 are missing"),
        // Rows cut off the end are missed by the documents that they had changed.
        ("DELETE FROM log WHERE id > 58", "tally session 1 differs from what the log says"),
        (
            "UPDATE log SET kind = 8 WHERE id = 5",
            "after row 4: the log is damaged: row 5 is of an unknown kind",
        ),
        // The checksum of `{` fits, the text is still no JSON.
        ("UPDATE log SET body = '{', crc = 366298937 WHERE id = 5", "row 5 is not JSON"),
        (
            "UPDATE log SET object = 'task', subject = 't', sequence = 2 WHERE id = 7",
            "row 7: sequence 2 follows 0",
        ),
    ] {
        let data = sixty_rows().await;
        Connection::open(database(data.path())).unwrap().execute_batch(sql).unwrap();
        assert!(problems(data.path()).contains(&problem.to_owned()), "{sql}: {:?}", problems(data.path()));
    }
}

#[tokio::test]
async fn no_damage_to_a_page_makes_anything_panic() {
    let data = sixty_rows().await;
    let whole = fs::read(database(data.path())).unwrap();
    let mut random = Random(11);
    for round in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(20) {
            let at = 100 + random.below(whole.len() as u64 - 100) as usize;
            bytes[at] = random.below(256) as u8;
        }
        let image = tempfile::tempdir().unwrap();
        fs::write(database(image.path()), &bytes).unwrap();
        let _ = verify(image.path(), &TALLY);
        if let Ok(log) = try_open(image.path(), Options::default()) {
            let _ = all_rows(&log).await;
            let written = append(&log, vec![event("session 1", 1)]).await;
            let stopped = matches!(&written, Err(LogError::Stopped(text)) if text.contains("panicked"));
            assert!(!stopped, "round {round}: {written:?}");
        }
    }
}

#[tokio::test]
async fn verify_names_blobs_that_are_altered_or_gone() {
    let data = tempfile::tempdir().unwrap();
    let log = open(data.path());
    let small = log.stage("small".into()).await.unwrap();
    let large = log.stage(vec![b'l'; 100 << 10].into()).await.unwrap();
    let (small_hash, large_hash) = (small.hash.to_string(), large.hash.to_string());
    let kept: Result<()> = write(&*log, move |txn| {
        txn.keep_blob(&small)?;
        txn.keep_blob(&large)
    })
    .await;
    kept.unwrap();
    log.close();
    let file = data.path().join("blobs").join(&large_hash[..2]).join(&large_hash[2..]);
    assert_eq!(problems(data.path()), [""; 0]);

    let inline = "UPDATE blob SET content = CAST('smell' AS BLOB) WHERE content IS NOT NULL";
    Connection::open(database(data.path())).unwrap().execute_batch(inline).unwrap();
    let altered = |hash: &str| format!("blob {hash} has other content than its name says");
    assert_eq!(problems(data.path()), [altered(&small_hash)]);

    fs::write(&file, vec![b'L'; 100 << 10]).unwrap();
    let mut both = [altered(&small_hash), altered(&large_hash)];
    let mut found = problems(data.path());
    both.sort();
    found.sort();
    assert_eq!(found, both);

    fs::remove_file(&file).unwrap();
    let found = problems(data.path());
    assert!(found.iter().any(|problem| problem.starts_with(&format!("blob {large_hash}: "))), "{found:?}");
    let log = open(data.path());
    let content: Result<_> = read(&*log, move |view| view.blob(&large_hash)?.unwrap().bytes()).await;
    assert!(matches!(content, Err(LogError::Io(_))), "{content:?}");
}
