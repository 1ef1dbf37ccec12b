//! A question about code: the provider finds tools on the way, one is denied, and what was read is dropped again.

use serde_json::{Value, json};

use crate::kit::{Stage, calls, finds, last, says, text, tools};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_are_found_and_denied_and_long_results_are_dropped() {
    let stage = Stage::new(
        "code_search.harn",
        &[],
        vec![
            calls(&[("view_file", json!({ "path": "src/big.py" }))]),
            finds("places that call a function", &["find_callers"], json!({ "name": "parse_config" })),
            finds("remove a file", &["remove_file", "largest_files"], json!({ "path": "src/big.py" })),
            calls(&[("search_text", json!({ "pattern": "def parse_config" }))]),
            says("Only src/app.py:2 calls parse_config."),
        ],
    )
    .await;
    let filler = "# a line that says nothing at all\n".repeat(200);
    stage.write("src/big.py", &format!("def parse_config(path):\n    return {{}}\n{filler}"));
    stage.write("src/app.py", "from big import parse_config\nsettings = parse_config('a.toml')\n");
    let ran = stage.run(&["Who calls parse_config?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[..2], ["Only src/app.py:2 calls parse_config.", ""], "{ran:?}");
    assert!(lines[2].starts_with("denied: remove_file: "), "{ran:?}");
    assert_eq!(lines[3..], ["done: 5 turns, shortened 1 times"], "{ran:?}");
    assert!(stage.has("src/big.py"));
    let log = stage.read("calls.log");
    let told: Vec<String> = log.lines().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect();
    assert_eq!(
        told,
        [
            "1 view_file {\"path\":\"src/big.py\"} ok",
            "2 find_callers {\"name\":\"parse_config\"} ok",
            "4 search_text {\"most\":40,\"pattern\":\"def parse_config\"} ok",
        ]
    );

    let asked = stage.asked();
    assert_eq!(asked.len(), 5);
    // All tools are sent, and the model is shown those that it does not have to look for.
    let is_shown = |tool: &&Value| tool["defer_loading"] != true;
    let shown =
        json!({ "tools": asked[0]["tools"].as_array().unwrap().iter().filter(is_shown).collect::<Vec<_>>() });
    assert_eq!(tools(&shown), ["tool_search_tool_bm25", "search_text", "view_file"]);
    assert!(asked.iter().all(|request| tools(request).len() == 8), "{asked:?}");
    assert_eq!(last(&asked[2]), "src/app.py:2: settings = parse_config('a.toml')");
    assert_eq!(last(&asked[4]), "src/big.py:1: def parse_config(path):");
    // The file is in the second question, and no longer in the last.
    assert!(text(&asked[1]["messages"][2]).contains("a line that says nothing at all\n# a line"));
    let kept = text(&asked[4]["messages"][2]);
    assert!(
        kept.starts_with("def parse_config(path): [") && kept.ends_with("characters of output left out]"),
        "{kept}"
    );
}
