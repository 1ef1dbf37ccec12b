//! The report's arithmetic and its two renderings.

use serde_json::json;

use super::*;

fn check(name: &str, status: Status, duration_ms: f64) -> CheckReport {
    CheckReport {
        name: name.into(),
        status,
        duration_ms,
        error: (status == Status::Failed).then(|| "expected 200, got 500: {}".into()),
        reason: (status == Status::Skipped).then(|| "not implemented (501)".into()),
        sentence: "spec 001, Somewhere: a sentence".into(),
        remedy: (status == Status::Failed).then(|| "Answer 200.".into()),
    }
}

fn report() -> Report {
    let core = vec![
        check("one", Status::Passed, 10.0),
        check("two", Status::Failed, 30.0),
        check("three", Status::Passed, 20.0),
    ];
    let vaults = vec![check("four", Status::Skipped, 1.0)];
    let results = vec![(Category::Core, core), (Category::Vaults, vaults)];
    let mut report =
        Report::new("http://there".into(), json!({ "sse": true }), results, Duration::from_millis(70));
    report.generated_at = "2026-04-25T19:00:00Z".into();
    report
}

#[test]
fn a_report_has_the_public_form() {
    let percentiles = json!({ "avg": 20.0, "p50": 20.0, "p95": 30.0, "p99": 30.0 });
    let sentence = "spec 001, Somewhere: a sentence";
    let expected = json!({
        "schema": "harn-agents-conformance-2026-04-25",
        "target": "http://there",
        "protocol_version": "agents-protocol-2026-04-25",
        "generated_at": "2026-04-25T19:00:00Z",
        "summary": {
            "status": "failed", "score": 2.0 / 3.0, "passed": 2, "failed": 1, "skipped": 1, "total": 4,
            "categories_passed": 0, "categories_failed": 1, "categories_skipped": 1, "categories_total": 2,
            "duration_ms": 70.0,
        },
        "percentiles_ms": percentiles,
        "capabilities": { "sse": true },
        "categories": [
            {
                "name": "core", "status": "failed", "passed": 2, "failed": 1, "skipped": 0,
                "duration_ms": 60.0, "percentiles_ms": percentiles,
                "tests": [
                    { "name": "one", "status": "passed", "duration_ms": 10.0, "sentence": sentence },
                    {
                        "name": "two", "status": "failed", "duration_ms": 30.0, "sentence": sentence,
                        "error": "expected 200, got 500: {}", "remedy": "Answer 200.",
                    },
                    { "name": "three", "status": "passed", "duration_ms": 20.0, "sentence": sentence },
                ],
            },
            {
                "name": "vaults", "status": "skipped", "passed": 0, "failed": 0, "skipped": 1,
                "duration_ms": 1.0,
                "percentiles_ms": { "avg": 0.0, "p50": 0.0, "p95": 0.0, "p99": 0.0 },
                "tests": [{
                    "name": "four", "status": "skipped", "duration_ms": 1.0, "sentence": sentence,
                    "reason": "not implemented (501)",
                }],
            },
        ],
    });
    let json: Value = serde_json::from_str(&report().to_json()).unwrap();
    assert_eq!(json, expected);
}

#[test]
fn a_person_reads_what_failed_and_what_to_do() {
    let expected = "\
agents-protocol-2026-04-25 against http://there

category         passed failed skipped        ms
core                  2      1       0        60
vaults                0      0       1         1

FAILED core/two
  says   spec 001, Somewhere: a sentence
  seen   expected 200, got 500: {}
  to do  Answer 200.

skipped vaults/four: not implemented (501)

2 passed, 1 failed, 1 skipped; score 0.667
";
    assert_eq!(report().to_text(), expected);
    assert_eq!(report().exit_code(), 1);
}

#[test]
fn nothing_that_ran_is_no_failure_and_no_score() {
    let skipped = vec![(Category::Vaults, vec![check("four", Status::Skipped, 1.0)])];
    let report = Report::new("http://there".into(), Value::Null, skipped, Duration::ZERO);
    assert_eq!((report.summary.status, report.exit_code()), (Status::Skipped, 0));
    assert!(report.summary.score.abs() < f64::EPSILON);
}
