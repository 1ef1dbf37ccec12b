//! Several processes and one data directory, and a server seen from outside.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::kit::{KEY, Project};

#[test]
fn commands_at_the_same_time_wait_for_each_other() {
    let project = Project::new();
    project.out(&["keys", "create", "first"]);
    let children: Vec<_> = (0..6)
        .map(|n| {
            let mut command = project.command(&["keys", "create", &format!("actor-{n}")]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let keys = project.json(&["keys", "list", "--json"]);
    assert_eq!(keys["data"].as_array().unwrap().len(), 7);
}

#[test]
fn a_command_that_stays_open_is_reached_by_others() {
    let project = Project::new();
    let [session, done, _] = project.used();
    let mut watch = project.command(&["sessions", "watch", &session, "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(watch.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains(&session), "{first}");
    assert!(project.out(&["tasks", "list"]).contains(&done));
    assert!(
        project.out(&["doctor"]).contains(&format!("process {} serves the local socket only", watch.id()))
    );
    assert_eq!(watch.try_wait().unwrap(), None);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn the_environment_names_the_server_and_the_key() {
    let project = Project::new();
    let server = project.serve();
    let elsewhere = Project::new();
    let mut command = elsewhere.command(&["workspaces", "list", "--json"]);
    let output = command.env("HARN_URL", &server.url).env("HARN_API_KEY", KEY).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    let doctor =
        elsewhere.command(&["doctor"]).env("HARN_URL", &server.url).env("HARN_API_KEY", KEY).output();
    let doctor = String::from_utf8(doctor.unwrap().stdout).unwrap();
    assert!(doctor.contains(&format!("{} answers", server.url)), "{doctor}");
    let here = project.out(&["doctor"]);
    assert!(here.contains(&format!("serves {}, with 1 valid API key", server.url)), "{here}");
}

#[test]
fn ctrl_c_ends_a_command_that_waits() {
    let project = Project::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut child = project.command(&["tasks", "list", "--url", &url]).spawn().unwrap();
    let waiting = silent.accept().unwrap();
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(waiting);
}

#[test]
fn a_server_is_checked_against_the_protocol() {
    let project = Project::new();
    let server = project.serve();
    let args = ["test", "agents-conformance", "--target", &server.url, "--api-key", KEY];
    let picked =
        [&args[..], &["--category", "core,outcomes", "--json", "--json-out", "report.json"]].concat();
    let output = project.run(&picked);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        report["categories"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["core", "outcomes"]);
    let failed = report["summary"]["failed"].as_u64().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(failed > 0)), "{report:#}");
    let written = std::fs::read_to_string(project.path().join("report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), report);
    assert!(!written.contains(KEY));

    let absent = project.run(&["test", "agents-conformance", "--target", "http://127.0.0.1:9"]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&absent.stdout).contains("cannot reach http://127.0.0.1:9"));
}
