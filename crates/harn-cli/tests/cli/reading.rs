//! What commands show of a data directory that has been used, with and without a server.

use serde_json::{Value, json};

use crate::kit::{KEY, Project, Steady};

#[test]
fn tasks_sessions_and_decisions_are_shown() {
    let project = Project::new();
    let [session, done, waiting] = project.used();
    let history = project.json(&["policy", "history", "--task", &waiting, "--json"]);
    let asked = history["data"].as_array().unwrap().iter().find(|entry| entry["decision"]["action"] == "ask");
    let event = asked.unwrap()["event_id"].as_str().unwrap().to_owned();
    let commands: &[&[&str]] = &[
        &["tasks", "list"],
        &["tasks", "list", "--status", "waiting", "--session", &session],
        &["tasks", "list", "--limit", "1"],
        &["tasks", "show", &done],
        &["tasks", "show", &waiting],
        &["sessions", "list"],
        &["sessions", "show", &session],
        &["policy", "history", "--task", &waiting],
        &["policy", "explain", &event],
        &["policy", "check", "write_file", "path=b.txt", "content=x"],
        &["policy", "check", "read_file", "path=b.txt"],
        &["policy", "check", "write_file", "{\"path\": \"b.txt\"}", "--tier", "suggest"],
    ];
    insta::assert_snapshot!("used", project.transcript(commands));
}

#[test]
fn the_same_is_shown_by_a_server_as_by_the_data_directory() {
    let project = Project::new();
    let [_, done, waiting] = project.used();
    let commands: Vec<Vec<&str>> =
        vec![vec!["tasks", "list"], vec!["tasks", "show", &done], vec!["tasks", "show", &waiting]];
    let told = |more: &[&str]| -> Vec<String> {
        let mut steady = Steady::new(project.path());
        let all = commands.iter().map(|args| [args.as_slice(), more].concat());
        all.map(|args| steady.told(&[], &project.run(&args))).collect()
    };
    let alone = told(&[]);
    let server = project.serve();
    assert_eq!(told(&[]), alone, "over the socket");
    assert_eq!(told(&["--url", &server.url, "--api-key", KEY]), alone, "over the URL");
}

#[test]
fn json_is_what_the_api_gives() {
    let project = Project::new();
    let [session, done, waiting] = project.used();
    let ids = |list: &Value| -> Vec<String> {
        let items = list["data"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let tasks = project.json(&["tasks", "list", "--json"]);
    assert_eq!(ids(&tasks), [done.clone(), waiting.clone()]);
    assert_eq!(tasks["page"], json!({ "has_more": false, "next_cursor": null }));
    let last = project.json(&["tasks", "list", "--json", "--limit", "1"]);
    assert_eq!((ids(&last), &last["page"]["has_more"]), (vec![waiting], &json!(true)));
    assert_eq!(project.json(&["tasks", "show", &done, "--json"]), tasks["data"][0]);
    assert_eq!(ids(&project.json(&["sessions", "list", "--json"])), [session.as_str()]);
    let fork = project.json(&["sessions", "fork", &session, "--json"]);
    assert_eq!((&fork["object"], &fork["parent_session_id"]), (&json!("session"), &json!(session)));
    assert_eq!(project.json(&["sessions", "close", &session, "--json"])["state"], "CLOSED");
    let decision = project.run(&["policy", "check", "write_file", "path=x", "--json"]);
    assert_eq!(decision.status.code(), Some(10));
    let decision: Value = serde_json::from_slice(&decision.stdout).unwrap();
    assert_eq!(
        (&decision["action"], &decision["context"]["paths"][0]["asked"]),
        (&json!("ask"), &json!("x"))
    );
}

#[test]
fn a_workspace_is_made_below_the_folder() {
    let project = Project::new();
    std::fs::create_dir(project.path().join("part")).unwrap();
    let commands: &[&[&str]] = &[
        &["workspaces", "create", "part", "part"],
        &["workspaces", "create", "notes", "harn://notes"],
        &["workspaces", "list"],
        &["workspaces", "create", "all", "/"],
    ];
    insta::assert_snapshot!("workspaces", project.transcript(commands));
    let id = project.json(&["workspaces", "list", "--json"])["data"][1]["id"].as_str().unwrap().to_owned();
    assert_eq!(project.json(&["workspaces", "show", &id, "--json"])["name"], "part");
}
