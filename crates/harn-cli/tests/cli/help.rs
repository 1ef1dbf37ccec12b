//! What `--help` says of every command, shells and `man` included.

use crate::kit::Project;

#[test]
fn every_command_explains_itself() {
    let project = Project::new();
    let commands: &[&[&str]] = &[
        &["--help"],
        &["serve", "--help"],
        &["run", "--help"],
        &["runs", "--help"],
        &["check", "--help"],
        &["test", "--help"],
        &["test", "conformance", "--help"],
        &["repl", "--help"],
        &["new", "--help"],
        &["tasks", "--help"],
        &["tasks", "list", "--help"],
        &["tasks", "answer", "--help"],
        &["sessions", "--help"],
        &["workspaces", "--help"],
        &["keys", "--help"],
        &["keys", "create", "--help"],
        &["connect", "--help"],
        &["connect", "api-key", "--help"],
        &["undo", "--help"],
        &["policy", "--help"],
        &["policy", "check", "--help"],
        &["log", "--help"],
        &["doctor", "--help"],
        &["test", "agents-conformance", "--help"],
    ];
    insta::assert_snapshot!("help", project.transcript(commands));
}

#[test]
fn shells_and_man_know_the_commands() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = project.out(&["completions", shell]);
        assert!(script.contains("agents-conformance"), "{shell}");
        assert!(!script.contains("The guardian of one subprocess") || shell != "bash", "{shell}");
    }
    let page = project.out(&["man"]);
    assert!(page.contains(".TH harn 1") && page.contains("policy"), "{page}");
    project.out(&["man", "--out", "pages"]);
    for page in ["harn.1", "harn-tasks-answer.1", "harn-policy-check.1"] {
        assert!(project.path().join("pages").join(page).is_file(), "{page}");
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let project = Project::new();
    let coloured = |args: &[&str]| project.run(args).stdout.contains(&0x1b);
    assert!(!coloured(&["explain", "conflict"]));
    assert!(coloured(&["explain", "conflict", "--color", "always"]));
    assert!(!coloured(&["explain", "conflict", "--color", "never"]));
}
