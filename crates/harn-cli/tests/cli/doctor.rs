//! What `harn doctor` finds wrong, and what it says to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::kit::Project;

/// The findings that are not in order, as `name: state: what to do`.
fn complaints(project: &Project, more: &[&str]) -> (Option<i32>, Vec<String>) {
    let output = project.run(&[&["doctor", "--json"], more].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let bad = findings.filter(|finding| finding["state"] != "ok" && finding["name"] != "sandbox");
    let told = bad.map(|finding| {
        format!("{}: {}: {}", text(&finding["name"]), text(&finding["state"]), text(&finding["to_do"]))
    });
    (output.status.code(), told.collect())
}

#[test]
fn a_used_project_is_in_order() {
    let project = Project::new();
    project.used();
    assert_eq!(complaints(&project, &[]), (Some(0), vec![]));
    let findings = project.json(&["doctor", "--json"])["findings"].clone();
    let log = findings.as_array().unwrap().iter().find(|finding| finding["name"] == "log").unwrap();
    assert!(log["found"].as_str().unwrap().starts_with("whole, "), "{log}");
}

#[test]
fn problems_are_found_without_changing_anything() {
    let project = Project::new();
    project.used();
    let data = project.path().join(".harn");

    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let told = |what: &str| (Some(1), vec![what.to_owned()]);
    assert_eq!(complaints(&project, &[]), told("data: problem: chmod 700 .harn"));
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o755);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();

    assert_eq!(
        complaints(&project, &["--root", "absent"]),
        told("workspace: problem: give a folder with --root")
    );
    assert_eq!(
        complaints(&project, &["--scripted-model", "absent.json"]),
        told("model: problem: mend it, or choose another model with HARN_LLM_MODEL")
    );
    let database = data.join("harn.db");
    fs::write(&database, "no database at all, but long enough to be taken for one, perhaps").unwrap();
    assert_eq!(complaints(&project, &[]), told("log: problem: restore a backup"));
}

#[test]
fn a_server_out_of_reach_and_a_missing_key_are_problems() {
    let project = Project::new();
    let (code, told) = complaints(&project, &["--url", "http://127.0.0.1:9"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        json!(told),
        json!([
            "key: problem: give one with --api-key or HARN_API_KEY",
            "url: problem: check the address, the key, and that the server runs"
        ])
    );
}
