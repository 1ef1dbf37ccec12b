//! Files that come into a folder; one is gone before it is read.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use harn_testkit::providers::anthropic::Fake;
use serde_json::json;

use crate::kit::{Stage, calls, last, results, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_files_are_summarised_and_one_that_vanishes_is_passed_over() {
    // While the model thinks about the first file, the second one goes away.
    let folder = tempfile::tempdir().unwrap();
    let vanishing = folder.path().join("inbox/batch/b.txt");
    let mut turn = 0;
    let fake = Fake::by_rule(move |_| {
        turn += 1;
        match turn {
            1 => {
                fs::remove_file(&vanishing).unwrap();
                Some(calls(&[("read_on", json!({ "line": 41 }))]))
            }
            2 => Some(says("Fifty numbers.")),
            3 => Some(says("A greeting.\n")),
            _ => None,
        }
    })
    .await;
    let stage = Stage::within(folder, "watch_folder.harn", &[], fake);
    let mut child = stage.program(&["inbox", "out.md", "3"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "watching inbox for 3 files\n");

    // All three come at once, since a folder is renamed in one step.
    let lines: Vec<String> = (1..=50).map(|number| format!("number {number}")).collect();
    stage.write("coming/a.txt", &lines.join("\n"));
    stage.write("coming/b.txt", "soon gone");
    stage.write("coming/c.txt", "hello");
    stage.write("coming/.hidden", "x");
    fs::rename(stage.path("coming"), stage.path("inbox/batch")).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let expected = "\
inbox/batch/a.txt: summarised
inbox/batch/b.txt: gone
inbox/batch/c.txt: summarised
2 of 3 files summarised, see out.md
";
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), (expected, Some(0)));
    let written = "- inbox/batch/a.txt: Fifty numbers.\n- inbox/batch/c.txt: A greeting.\n";
    assert_eq!(stage.read("out.md"), written);

    let asked = stage.asked();
    assert_eq!(asked.len(), 3);
    let shown = last(&asked[0]);
    assert!(shown.contains("number 40\n(10 more lines, from line 41 on)"), "{shown}");
    let read = &results(&asked[1])[0];
    assert!(read.text.starts_with("number 41\n") && read.text.ends_with("number 50"), "{read:?}");
    assert!(last(&asked[2]).contains("<file name=\"c.txt\">\nhello\n</file>"));
}
