//! What durable scripts write: several at once into one file, and a great deal.

use std::process::Output;

use crate::common::folder;
use crate::crash::harn;

fn run(folder: &std::path::Path, script: &str) -> Output {
    harn(folder, &["run", "--durable", script]).output().unwrap()
}

#[test]
fn writes_to_one_file_take_turns() {
    let script = "let all = parallel settle (1 to 20) { i -> append_file(\"ap.txt\", \"${i}\\n\") }\n\
                  println(all.succeeded)\n";
    let folder = folder(&[("a.harn", script)]);
    let ran = run(folder.path(), "a.harn");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "20\n", "{ran:?}");
    let text = std::fs::read_to_string(folder.path().join("work/ap.txt")).unwrap();
    let mut lines: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_script_that_prints_or_writes_a_great_deal_is_followed_to_its_end() {
    let folder = folder(&[
        ("print.harn", "println(\"x\".repeat(20000000))\nprintln(\"end\")\n7\n"),
        ("write.harn", "write_file(\"big.txt\", \"x\".repeat(30000000))\nprintln(\"end\")\n"),
    ]);
    let printed = run(folder.path(), "print.harn");
    assert_eq!(printed.status.code(), Some(7), "{}", String::from_utf8_lossy(&printed.stderr));
    assert!(printed.stdout.ends_with(b"\nend\n"), "the end is missing");
    assert_eq!(printed.stdout.len(), 20_000_005);
    let wrote = run(folder.path(), "write.harn");
    assert_eq!((wrote.status.code(), &*wrote.stdout), (Some(0), &b"end\n"[..]), "{wrote:?}");
    assert_eq!(std::fs::metadata(folder.path().join("work/big.txt")).unwrap().len(), 30_000_000);
}
