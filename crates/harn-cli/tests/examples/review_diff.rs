//! A review with tools of the harness; the findings do not fit at first.

use serde_json::{Value, json};

use crate::kit::{Stage, calls, last, results, says, tools};

const DIFF: &str = "\
diff --git a/src/price.py b/src/price.py
--- a/src/price.py
+++ b/src/price.py
@@ -1,2 +1,2 @@
 def total(items):
-    return sum(item.price for item in items)
+    return sum(item.price for item in items) / len(items)
";

const FILES: &[(&str, &str)] = &[
    ("change.diff", DIFF),
    ("src/price.py", "def total(items):\n    return sum(item.price for item in items) / len(items)\n"),
    ("src/cart.py", "from price import total\n\ndef pay(cart):\n    charge(total(cart.items))\n"),
];

fn findings(severity: &str) -> Value {
    json!({ "summary": "The total became a mean.", "findings": [
        { "file": "src/price.py", "line": 2, "severity": "note", "message": "The name says total." },
        { "file": "src/cart.py", "line": 4, "severity": "note", "message": "It has no test." },
        { "file": "src/price.py", "line": 2, "severity": severity, "message": "An empty cart divides by zero." },
    ] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_reviewed_and_findings_that_do_not_fit_are_repaired() {
    let turns = vec![
        calls(&[("grep", json!({ "pattern": "total\\(" }))]),
        calls(&[("read_file", json!({ "path": "src/cart.py" }))]),
        says("src/price.py:2 divides by zero for an empty cart, and customers pay the mean."),
        says(&findings("critical").to_string()),
        says(&findings("blocker").to_string()),
    ];
    let stage = Stage::new("review_diff.harn", FILES, turns).await;
    let ran = stage.run(&["change.diff"]);
    let expected = "\
Reviewing src/price.py
  grep {\"pattern\":\"total\\\\(\"}
  read_file {\"path\":\"src/cart.py\"}
  (the findings took 2 attempts)
The total became a mean.
blocker  src/price.py:2 An empty cart divides by zero.
note     src/price.py:2 The name says total.
1 more about other files
";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (expected, "", Some(2)));
    let written: Value = serde_json::from_str(&stage.read("review.json")).unwrap();
    assert_eq!(written["findings"][0], findings("blocker")["findings"][2]);
    assert_eq!(written["findings"].as_array().unwrap().len(), 2);

    let asked = stage.asked();
    assert_eq!(asked.len(), 5);
    assert_eq!(tools(&asked[0]), ["read_file", "grep"]);
    assert!(last(&asked[0]).contains("/ len(items)"));
    let found = &results(&asked[1])[0];
    assert!(found.text.contains("src/cart.py"), "{found:?}");
    let read = &results(&asked[2])[0];
    assert!(read.text.contains("charge(total(cart.items))"), "{read:?}");
    assert!(last(&asked[3]).contains("customers pay the mean"));
    let told = last(&asked[4]);
    assert!(told.contains("findings[2]") && told.contains("severity"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_change_no_model_is_asked() {
    let stage = Stage::new("review_diff.harn", &[("change.diff", "")], Vec::new()).await;
    let ran = stage.run(&["change.diff"]);
    assert_eq!((ran.out.as_str(), ran.code), ("There is nothing to review.\n", Some(0)));
    assert!(stage.asked().is_empty());
}
