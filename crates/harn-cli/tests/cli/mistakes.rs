//! Likely mistakes, and what is said about them.

use crate::kit::{KEY, Project};

#[test]
fn mistakes_of_usage_are_told_with_a_way_out() {
    let project = Project::new();
    let commands: &[&[&str]] = &[
        &["taks"],
        &["tasks", "list", "--status", "sleeping"],
        &["policy", "check", "write_file", "path"],
        &["policy", "check", "write_file", "path=a", "path=b"],
        &["policy", "check", "write_file", "{\"path\": }"],
        &["tasks", "answer", "request_x", "--approve", "--deny"],
        &["test", "agents-conformance", "--target", "http://127.0.0.1:1", "--category", "everything"],
        &["explain", "budget_exhaused"],
        &["explain", "130"],
        &["tasks", "list", "--url", "ftp://example.org"],
        &["serve", "--bind", "0.0.0.0:0"],
        &["serve", "--bind", "nowhere"],
        &["serve", "--api-key", "short"],
    ];
    insta::assert_snapshot!("usage", project.transcript(commands));
}

#[test]
fn unknown_ids_are_told_whatever_they_hold() {
    let project = Project::new();
    project.used();
    let commands: &[&[&str]] = &[
        &["tasks", "show", "task_none"],
        &["tasks", "show", "../keys"],
        &["tasks", "answer", "request_none", "--approve"],
        &["sessions", "show", "session_none"],
        &["sessions", "close", "a b?c=d"],
        &["workspaces", "show", "workspace_none"],
        &["keys", "revoke", "key_none"],
        &["policy", "explain", "999999"],
        &["policy", "explain", "1"],
        &["policy", "forget", "rule_none"],
        &["undo", "task_none"],
    ];
    insta::assert_snapshot!("unknown_ids", project.transcript(commands));
}

#[test]
fn a_server_that_is_not_there_or_does_not_know_the_key() {
    let project = Project::new();
    let server = project.serve();
    let list = |more: &[&str]| project.transcript(&[&[&["tasks", "list"], more].concat()]);
    let told = [
        list(&["--url", &server.url]),
        list(&["--url", &server.url, "--api-key", "wrong-key-0123"]),
        list(&["--url", &server.url, "--api-key", KEY]),
        // Nobody listens on the discard port of loopback.
        list(&["--url", "http://127.0.0.1:9"]),
    ];
    insta::assert_snapshot!("server", told.concat());
    let limited = project.out(&["keys", "create", "reader", "--scope", "tasks:read"]);
    let refused = project.run(&["sessions", "list", "--url", &server.url, "--api-key", limited.trim()]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("`harn keys create NAME --scope sessions:read`"), "{told}");
    assert!(!told.contains(limited.trim()));
}

#[test]
fn a_second_owner_is_refused_and_names_the_first() {
    let project = Project::new();
    let server = project.serve();
    let second = project.run(&["serve", "--bind", "127.0.0.1:0"]);
    let told = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(told.contains("is in use by process") && told.contains(&server.url), "{told}");
}

#[test]
fn a_note_of_a_killed_server_does_not_mislead() {
    let project = Project::new();
    let [_, done, _] = project.used();
    let server = project.serve();
    drop(server);
    assert!(project.path().join(".harn/owner.json").exists());
    assert!(project.out(&["doctor"]).contains("left a note and does not listen"));
    assert!(project.out(&["tasks", "list"]).contains(&done));
}

#[test]
fn a_broken_configuration_is_named_with_its_line_wherever_it_is_read() {
    let project = Project::new();
    let file = project.path().join("harn.toml");
    let broken =
        ["[budget]\nusd = \n", "[budget]\nusd = \"much\"\n", "\n[budget]\neuros = 3\n", "budget = 1\n"];
    let mut told = String::new();
    for text in broken {
        std::fs::write(&file, text).unwrap();
        told += &project.transcript(&[&["keys", "create", "x"], &["serve", "--bind", "127.0.0.1:0"]]);
        let doctor = project.out_of_doctor();
        assert!(doctor.contains("problem  config  ./harn.toml, line "), "{doctor}");
    }
    std::fs::remove_file(&file).unwrap();
    told += &project.transcript(&[&["keys", "create", "x", "--config", "absent.toml"]]);
    insta::assert_snapshot!("broken_config", told);
    std::fs::write(&file, "[theme]\ndark = true\n[budget]\nusd = 2.5\nseconds = 60\n").unwrap();
    let doctor = project.out(&["doctor"]);
    assert!(
        doctor.contains("$2.50, 60 s for each task") && doctor.contains("`theme` is unknown"),
        "{doctor}"
    );
    let made = project.run(&["keys", "create", "x"]);
    assert!(String::from_utf8_lossy(&made.stderr).starts_with("warning: ./harn.toml, line 1: `theme`"));
}

impl Project {
    /// `harn doctor` with a problem, its columns one or two blanks apart.
    fn out_of_doctor(&self) -> String {
        let told = self.transcript(&[&["doctor"]]);
        assert!(told.starts_with("$ harn doctor\nexit 1\n"), "{told}");
        told
    }
}

#[test]
fn a_budget_of_the_configuration_ends_a_task() {
    let project = Project::new();
    std::fs::write(project.path().join("harn.toml"), "[budget]\ntokens = 1\n").unwrap();
    let server = project.serve();
    let task = server.submit(&server.session(), "list files");
    server.until(&task, "task.failed");
    let shown = project.out(&["tasks", "show", &task]);
    assert!(shown.contains("budget_exhausted (`harn explain budget_exhausted` says more)"), "{shown}");
}
