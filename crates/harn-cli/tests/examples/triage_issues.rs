//! Issues that are sorted side by side; the provider refuses one call for a while.

use harn_testkit::providers::Asked;
use harn_testkit::providers::anthropic::{Fake, Turn};
use serde_json::json;

use crate::kit::{Stage, last, says, text};

const ISSUES: &str = r#"[
  {"number": 7, "title": "Saving loses the last line", "body": "Every time."},
  {"number": 9, "title": "Dark mode", "body": "Please."},
  {"number": 12, "title": "Crash on start", "body": "Since 2.1."},
  {"number": 15, "title": "How do I export?", "body": null}
]"#;

const REPORT: &str = "\
# Triage

3 issues sorted, 1 not.

## Bugs

- P1 #7 Saving loses the last line (editor): Data is lost.
- P2 #12 Crash on start (startup): Nothing works.

## Questions

- P3 #15 How do I export? (docs): It is not described.

## Not sorted

- #9 Dark mode: ";

/// The model by the number of the issue. The first question about 12 comes at a bad time, and 9 is never sorted.
fn model(asked: &Asked, refused: &mut bool) -> Option<Turn> {
    let text = text(&asked.body["messages"][0]);
    let sorted = |kind: &str, priority: i64, area: &str, reason: &str| {
        says(&json!({ "kind": kind, "priority": priority, "area": area, "reason": reason }).to_string())
    };
    if text.contains("number=\"7\"") {
        return Some(sorted("bug", 0, "Editor", "Data is lost."));
    }
    if text.contains("number=\"9\"") {
        return Some(sorted("wish", 4, "ui", "It is pretty."));
    }
    if text.contains("number=\"15\"") {
        return Some(sorted("question", 3, "docs", "It is not described."));
    }
    if !std::mem::replace(refused, true) {
        let error = json!({ "type": "rate_limit_error", "message": "too many requests" });
        return Some(Turn::Refuse(429, json!({ "type": "error", "error": error })));
    }
    Some(sorted("bug", 2, "startup", "Nothing works."))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issues_are_sorted_although_the_provider_is_busy() {
    let mut refused = false;
    let fake = Fake::by_rule(move |asked| model(asked, &mut refused)).await;
    let stage = Stage::with("triage_issues.harn", &[("issues.json", ISSUES)], fake);
    let ran = stage.run(&["issues.json", "report.md"]);
    let expected = "\
3 of 4 issues sorted, see report.md
areas: {docs: 1, editor: 1, startup: 1}
answers of the model: 5
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (expected, "", Some(1)));
    let report = stage.read("report.md");
    assert!(report.starts_with(REPORT), "{report}");
    assert!(report.contains("schema_validation") && report.contains("kind"), "{report}");

    let asked = stage.asked();
    let about = |number: u32| {
        let mark = format!("number=\"{number}\"");
        asked.iter().filter(|asked| text(&asked["messages"][0]).contains(&mark)).count()
    };
    assert_eq!([about(7), about(9), about(12), about(15)], [1, 2, 2, 1]);
    let corrected = asked.iter().map(last).filter(|text| text.contains("Answer again"));
    assert_eq!(corrected.count(), 1);
}
