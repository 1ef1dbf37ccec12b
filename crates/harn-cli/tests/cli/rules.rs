//! The tests that rules of `harn.toml` carry, run by `harn policy test`.

use serde_json::json;

use crate::kit::Project;

const RULES: &str = r#"
[[permissions.rules]]
id = "push"
ask = { command_identity = "git push" }
tests = [
  { tool = "run_command", args = { command = "git push" }, tier = "act_auto", expect = "ask", rule = "push" },
  { tool = "run_command", args = { command = "git push" }, tier = "act_auto", expect = "deny" },
]
"#;

#[test]
fn failed_tests_are_shown_and_end_with_one() {
    let project = Project::new();
    std::fs::write(project.path().join("harn.toml"), RULES).unwrap();
    let told = project.transcript(&[&["policy", "test"]]);
    assert!(told.starts_with("$ harn policy test\nexit 1\n"), "{told}");
    for line in ["ok  push#1  run_command", "FAILED  push#2  run_command", "2 tests, 1 failed."] {
        assert!(told.contains(line), "{line} is not in: {told}");
    }
    let output = project.run(&["policy", "test", "harn.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["failed"], &report["tests"][1]["got"]), (&json!(1), &json!("ask")));
}

#[test]
fn a_file_without_tests_or_without_itself_is_told() {
    let project = Project::new();
    std::fs::write(project.path().join("other.toml"), "[budget]\nusd = 1\n").unwrap();
    assert_eq!(project.out(&["policy", "test", "other.toml"]), "No rule in other.toml carries a test.\n");
    let absent = project.run(&["policy", "test"]);
    assert_eq!(absent.status.code(), Some(1));
    let told = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert!(told.starts_with("error: the configuration file harn.toml cannot be read\n"), "{told}");
}
