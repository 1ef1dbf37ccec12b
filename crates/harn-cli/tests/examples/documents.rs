//! Questions about a folder of documents; the model gets the arguments of a tool wrong once.

use serde_json::json;

use crate::kit::{Stage, calls, result, results, says, tools};

const FILES: &[(&str, &str)] = &[
    (
        "docs/backups.md",
        "# Backups\n\nBackups are made every night and kept for 35 days.\n\nOnly an owner may delete a backup.\n",
    ),
    ("docs/team/people.md", "# People\n\nOwners are named in the contract.\n"),
    ("docs/notes.txt", "Backups are kept for a year.\n"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_cite_what_was_read_and_wrong_arguments_are_corrected() {
    let turns = vec![
        calls(&[("search", json!({ "query": "backups kept", "limit": "three" }))]),
        calls(&[("search", json!({ "query": "backups kept" }))]),
        calls(&[
            ("open", json!({ "place": "docs/backups.md:3" })),
            ("open", json!({ "place": "docs/backups.md:4" })),
        ]),
        says("They are kept for 35 days [docs/backups.md:3]."),
        calls(&[("search", json!({ "query": "owner delete", "limit": 1 }))]),
        says("An owner [docs/backups.md:5]."),
    ];
    let stage = Stage::new("answer_from_documents.harn", FILES, turns).await;
    let ran = stage.run(&["docs", "How long are backups kept?", "Who may delete one?"]);
    let expected = "\
Q: How long are backups kept?
A: They are kept for 35 days [docs/backups.md:3].
   sources: docs/backups.md:3
Q: Who may delete one?
A: An owner [docs/backups.md:5].
   sources: docs/backups.md:5
   cited without being read: docs/backups.md:5
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (expected, "", Some(1)));

    let asked = stage.asked();
    assert_eq!(asked.len(), 6);
    assert_eq!(tools(&asked[0]), ["search", "open"]);
    let wrong = &results(&asked[1])[0];
    assert!(wrong.is_error && wrong.text.contains("limit"), "{wrong:?}");
    let found = &results(&asked[2])[0];
    let hits: serde_json::Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(hits[0]["place"], "docs/backups.md:3", "{hits}");
    let opened = results(&asked[3]);
    assert_eq!(opened[0], result("Backups are made every night and kept for 35 days."));
    assert!(
        opened[1].is_error && opened[1].text.contains("there is no passage docs/backups.md:4"),
        "{opened:?}"
    );
    // The second question begins a conversation of its own.
    assert_eq!(asked[4]["messages"].as_array().unwrap().len(), 1);
    let found = &results(&asked[5])[0];
    assert_eq!(
        found.text,
        r#"[{"begins":"Only an owner may delete a backup.","place":"docs/backups.md:5"}]"#
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_without_documents_is_an_error() {
    let stage = Stage::new("answer_from_documents.harn", &[("docs/a.txt", "x")], Vec::new()).await;
    let ran = stage.run(&["docs", "Why?"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(1)));
    assert!(ran.err.contains("there are no documents (*.md) in docs"), "{ran:?}");
    assert!(stage.asked().is_empty());
}
