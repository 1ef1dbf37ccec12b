//! A folder in which nothing has happened yet.

use crate::kit::Project;

#[test]
fn commands_that_would_find_nothing_say_how_to_start_and_make_nothing() {
    let project = Project::new();
    let commands: &[&[&str]] = &[
        &["tasks", "list"],
        &["sessions", "list"],
        &["workspaces", "list"],
        &["keys", "list"],
        &["undo", "task_x"],
        &["policy", "history"],
        &["policy", "rules"],
        &["doctor"],
    ];
    let told = project.transcript(commands);
    let (steady, disk) = told.split_once("disk  ").unwrap();
    let (_, rest) = disk.split_once('\n').unwrap();
    // What the sandbox can do is up to the kernel, and comes last.
    let (rest, _) = rest.split_once("sandbox  ").unwrap();
    let rest = rest.trim_end_matches(|c: char| c != '\n');
    insta::assert_snapshot!("empty", format!("{steady}disk  [SPACE]\n{rest}"));
    assert_eq!(std::fs::read_dir(project.path()).unwrap().count(), 0);
}

#[test]
fn a_data_directory_without_tasks_has_empty_lists() {
    let project = Project::new();
    project.out(&["keys", "create", "first"]);
    let commands: &[&[&str]] = &[
        &["tasks", "list"],
        &["sessions", "list"],
        &["workspaces", "list"],
        &["keys", "list"],
        &["policy", "rules"],
        &["policy", "history"],
        &["tasks", "list", "--json"],
    ];
    insta::assert_snapshot!("no_tasks", project.transcript(commands));
}

#[test]
fn a_key_s_secret_is_alone_on_standard_output_and_is_accepted_until_it_is_revoked() {
    let project = Project::new();
    let made = project.run(&["keys", "create", "ci", "--scope", "workspaces:read"]);
    let secret = String::from_utf8(made.stdout).unwrap();
    let secret = secret.strip_suffix('\n').unwrap();
    assert!(secret.starts_with("harn_") && !secret.contains(char::is_whitespace), "{secret}");
    let key = project.json(&["keys", "list", "--json"])["data"][0].clone();
    assert!(!key.to_string().contains(secret));

    let server = project.serve();
    let ask =
        || project.run(&["workspaces", "list", "--url", &server.url, "--api-key", secret]).status.code();
    assert_eq!(ask(), Some(0));
    project.out(&["keys", "revoke", key["id"].as_str().unwrap()]);
    assert_eq!(ask(), Some(1));
}
