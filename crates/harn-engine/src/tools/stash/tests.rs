//! What is read again and what is not, with the clock held still.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use harn_core::run::Node;
use tempfile::TempDir;

use super::super::atomic::hash;
use super::super::confined::Confined;
use super::now_ns;
use super::survey::{Known, Survey, survey};

const HOUR_NS: i64 = 3600 * 1_000_000_000;

/// The survey of a root, and the contents that it read.
fn surveyed(root: &Path, known: &Known, now_ns: i64) -> (Survey, Vec<String>) {
    let workspace = Confined::open(root).unwrap();
    let mut read = Vec::new();
    let mut sink = |content: bytes::Bytes| {
        read.push(String::from_utf8(content.to_vec()).unwrap());
        ControlFlow::Continue(())
    };
    let made = survey(workspace.dir(), known, now_ns, &mut sink).unwrap().unwrap();
    (made, read)
}

fn hash_at(survey: &Survey, path: &str) -> String {
    match &survey.listing.nodes[path] {
        Node::File { hash, .. } => hash.clone(),
        other => panic!("{path} is {other:?}"),
    }
}

#[test]
fn a_file_is_read_again_only_when_it_may_have_changed() {
    let root = TempDir::new().unwrap();
    let at = |path: &str| root.path().join(path);
    for name in ["edited", "same", "touched"] {
        fs::write(at(name), name).unwrap();
    }
    let later = now_ns() + HOUR_NS;
    let (first, read) = surveyed(root.path(), &Known::new(), later);
    assert_eq!(read, ["edited", "same", "touched"]);
    let (second, read) = surveyed(root.path(), &first.known, later);
    assert_eq!(read, [""; 0]);
    assert_eq!(second.listing.nodes, first.listing.nodes);

    fs::write(at("edited"), "EDITED").unwrap();
    fs::File::open(at("touched")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    fs::write(at("new"), "new").unwrap();
    let (third, read) = surveyed(root.path(), &second.known, later);
    assert_eq!(read, ["EDITED", "new", "touched"]);
    assert_eq!(hash_at(&third, "edited"), hash(b"EDITED"));
}

#[test]
fn a_file_that_was_written_just_before_is_read_again() {
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("file"), "one").unwrap();
    let (first, _) = surveyed(root.path(), &Known::new(), now_ns());
    assert!(first.known.is_empty());
    let (_, read) = surveyed(root.path(), &first.known, now_ns());
    assert_eq!(read, ["one"]);
}

#[test]
fn equal_contents_are_handed_on_once_and_a_broken_sink_ends_the_survey() {
    let root = TempDir::new().unwrap();
    for name in ["a", "b", "c"] {
        fs::write(root.path().join(name), "equal").unwrap();
    }
    assert_eq!(surveyed(root.path(), &Known::new(), now_ns()).1, ["equal"]);
    let workspace = Confined::open(root.path()).unwrap();
    let broken = survey(workspace.dir(), &Known::new(), 0, &mut |_| ControlFlow::Break(()));
    assert!(broken.unwrap().is_none());
}
