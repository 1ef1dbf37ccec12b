//! The functions of the fuzzer with examples, mutations of examples and random bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fuzzing;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

/// Every program that this crate has as an example.
fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<String> = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    assert!(texts.len() > 5, "there are examples");
    texts
}

/// An example in which a few pieces were taken away, doubled, or replaced by pieces of another one.
fn mutated() -> impl Strategy<Value = String> {
    let examples = examples();
    let count = examples.len();
    let edits = prop::collection::vec((0usize..4, any::<u16>(), any::<u16>(), 1usize..30), 1..6);
    (0..count, 0..count, edits).prop_map(move |(first, second, edits)| {
        let mut text: Vec<char> = examples[first].chars().collect();
        let other: Vec<char> = examples[second].chars().collect();
        for (kind, to, from, length) in edits {
            let to = usize::from(to) % (text.len() + 1);
            let piece = |of: &[char]| {
                let from = usize::from(from) % of.len().max(1);
                of[from..(from + length).min(of.len())].to_vec()
            };
            let end = (to + length).min(text.len());
            match kind {
                0 => drop(text.drain(to..end)),
                1 => drop(text.splice(to..to, piece(&other))),
                2 => drop(text.splice(to..end, piece(&other))),
                _ => {
                    let own = piece(&text);
                    text.splice(to..to, own);
                }
            }
        }
        text.into_iter().collect()
    })
}

/// What the fuzzer has found.
const FOUND: &[&str] = &[
    // A generator inside a function that both use a variable of the script.
    "var v = 5\nfn f() {\n  fn g() { yield v }\n  println(iter(g()).to_list())\n}\nf()",
    "var v = 5\nfn f() {\n  fn g() {\n    fn h() { return v }\n    return h()\n  }\n  return g()\n}\nv = 6\nprintln(f())",
];

#[test]
fn what_was_found_stays_mended() {
    for text in FOUND {
        fuzzing::parser(text);
        fuzzing::formatter(text);
        fuzzing::runner(text);
    }
}

#[test]
fn examples_are_read_laid_out_and_run() {
    for text in examples() {
        fuzzing::parser(&text);
        fuzzing::formatter(&text);
        fuzzing::runner(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn mutated_examples_are_read_laid_out_and_run(text in mutated()) {
        fuzzing::parser(&text);
        fuzzing::formatter(&text);
        fuzzing::runner(&text);
    }

    #[test]
    fn bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        fuzzing::parser(&text);
        fuzzing::formatter(&text);
    }

    #[test]
    fn programs_do_the_same_however_their_time_is_cut(bytes in prop::collection::vec(any::<u8>(), 1..400)) {
        fuzzing::machine(&bytes);
    }
}
