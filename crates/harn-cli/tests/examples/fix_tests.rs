//! A test that fails is repaired: the first fix does not help, the second does.

use serde_json::json;

use crate::kit::{Stage, calls, last, says, text, tools};

const PROGRAM: &str = "add() { echo $(($1 - $2)); }\n";
const TEST: &str = ". ./add.sh\ngot=$(add 2 3)\nif [ \"$got\" = 5 ]; then echo ok; else echo \"add 2 3 gave $got\"; exit 1; fi\n";

async fn stage(turns: Vec<harn_testkit::providers::anthropic::Turn>) -> Stage {
    let stage = Stage::new("fix_tests.harn", &[], turns).await;
    stage.write("add.sh", PROGRAM);
    stage.write("test.sh", TEST);
    stage
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_round_mends_what_the_first_did_not() {
    let edit = |old: &str, new: &str| {
        calls(&[("replace_text", json!({ "path": "add.sh", "old": old, "new": new }))])
    };
    let stage = stage(vec![
        calls(&[("view_file", json!({ "path": "add.sh" })), ("view_file", json!({ "path": "../secret" }))]),
        edit("$1 - $2", "$1 * $2"),
        says("I multiply now."),
        edit("no such text", "x"),
        edit("$1 * $2", "$1 + $2"),
        says("It has to add."),
    ])
    .await;
    let ran = stage.run(&["sh test.sh"]);
    let expected = "round 1: 3 calls, 1 edits\n  edited add.sh\n  I multiply now.\n\
                    round 2: 2 calls, 1 edits\n  failed to edit add.sh\n  edited add.sh\n  It has to add.\n\
                    green after 2 rounds\n";
    assert_eq!((ran.out.as_str(), ran.code), (expected, Some(0)), "{ran:?}");
    assert_eq!(stage.read("add.sh"), "add() { echo $(($1 + $2)); }\n");
    assert_eq!(stage.read("test.sh"), TEST);

    let asked = stage.asked();
    assert_eq!(asked.len(), 6);
    assert_eq!(tools(&asked[0]), ["list_files", "view_file", "replace_text"]);
    assert!(last(&asked[0]).contains("add 2 3 gave -1"));
    assert!(last(&asked[1]).contains("1\tadd() {"), "{}", last(&asked[1]));
    assert!(last(&asked[1]).contains("../secret is outside of the project"), "{}", last(&asked[1]));
    // The second round is part of the same conversation.
    assert!(last(&asked[3]).contains("It still fails.") && last(&asked[3]).contains("add 2 3 gave 6"));
    assert!(text(&asked[3]["messages"][0]).contains("add 2 3 gave -1"));
    assert!(last(&asked[4]).contains("occurs 0 times"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_three_rounds_it_gives_up() {
    let stage = stage(vec![says("No idea."), says("None."), says("Sorry.")]).await;
    let ran = stage.run(&["sh test.sh"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.ends_with("still red after 3 rounds:\nadd 2 3 gave -1\n"), "{ran:?}");
    assert_eq!((stage.asked().len(), stage.read("add.sh").as_str()), (3, PROGRAM));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_green_is_left_alone() {
    let stage = stage(vec![]).await;
    let ran = stage.run(&["true"]);
    assert_eq!(
        (ran.out.as_str(), ran.code, stage.asked().len()),
        ("nothing to fix\n", Some(0), 0),
        "{ran:?}"
    );
}
