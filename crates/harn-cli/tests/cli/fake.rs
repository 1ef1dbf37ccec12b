//! Answers that a server may give, and what is shown of them: a server that says whatever a test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::kit::Project;

/// A server that gives the same answer to everything, on loopback, for as long as the test runs.
fn server(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = reply(stream, &answer);
        }
    });
    url
}

fn reply(mut stream: TcpStream, answer: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len())
}

/// Exit code, standard output and standard error of a command against a server that says this.
fn told(answer: &str, args: &[&str]) -> (i32, String, String) {
    let url = server(answer.to_owned());
    let output = Project::new().run(&[args, &["--url", &url, "--api-key", "some-key"]].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn undo_tells_what_is_back_and_what_is_not() {
    let result = |paths: Value, notes: Value| {
        json!({ "object": "task.undo_result", "task_id": "task_1", "paths": paths, "notes": notes })
            .to_string()
    };
    let done = json!({ "path": "a.txt", "result": "done" });
    let same = json!({ "path": "dir/b.txt", "result": "unchanged" });
    let left = json!({ "path": "c.txt", "result": { "refused": "it has changed since" } });
    let cases = [
        (result(json!([]), json!([])), 0, "The task changed no files.\n"),
        (
            result(json!([done, same]), json!([])),
            0,
            "  a.txt      put back\n  dir/b.txt  already as before\n",
        ),
        (
            result(json!([done, left]), json!(["target/ was not kept"])),
            1,
            "  a.txt  put back\n  c.txt  not put back: it has changed since\nnote: target/ was not kept\n",
        ),
    ];
    for (answer, code, shown) in cases {
        assert_eq!(told(&answer, &["undo", "task_1"]), (code, shown.to_owned(), String::new()));
        let (_, printed, _) = told(&answer, &["undo", "task_1", "--json"]);
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed, serde_json::from_str::<Value>(&answer).unwrap());
    }
}

fn decided_by(source: &str, id: &str) -> String {
    let decision = json!({
        "type": "harn.permission_policy_decision.v1", "action": "deny", "reason": "No.",
        "matched_rule": { "source": source, "action": "deny", "id": id, "index": 0 },
        "risk_labels": ["destructive"],
        "context": { "effect": "tool", "tool_name": "run_command", "tool_kind": "execute",
                     "side_effect": "process_exec", "tier": "act_auto",
                     "commands": [{ "identity": "rm", "text": "rm -rf x" }] },
    });
    let votes = json!([{ "reviewer": "ann", "approved": false, "reason": "no way" }]);
    let request = json!({ "request": { "policy_decision": decision }, "response": { "votes": votes } });
    json!({ "event": "tool.denied", "payload": { "request": request } }).to_string()
}

#[test]
fn explaining_a_decision_says_where_its_rule_can_be_changed() {
    let cases = [
        ("tier", "tier.suggest", "use a persona of another autonomy tier"),
        ("builtin", "builtin.sensitive_path", "waives = \"builtin.sensitive_path\""),
        ("rules", "no-rm", "edit the rule `no-rm` in harn.toml"),
        ("approval_policy", "auto_deny", "edit `auto_deny` in [permissions]"),
        ("policy", "policy.exec", "/v1/permissions/policy"),
        ("remembered", "rule_1", "harn policy forget rule_1"),
        ("budget", "budget.usd", "raise [budget]"),
    ];
    for (source, id, wanted) in cases {
        let (code, shown, _) = told(&decided_by(source, id), &["policy", "explain", "7"]);
        assert_eq!(code, 0);
        for piece in [wanted, "deny run_command", "rm -rf x", "destructive", "ann: no, no way"] {
            assert!(shown.contains(piece), "{piece} is not in: {shown}");
        }
    }
}

#[test]
fn answers_that_are_not_the_protocol_s_are_told_and_end_nothing_but_the_command() {
    let endless = json!({ "data": [], "page": { "has_more": true, "next_cursor": "again" } }).to_string();
    assert_eq!(told(&endless, &["tasks", "list"]).0, 0);
    let cases: [(&str, &[&str], &str); 3] = [
        ("<html>", &["tasks", "show", "x"], "not the expected JSON"),
        ("{\"data\": [{\"id\": 3}]}", &["tasks", "list"], "not what the protocol says"),
        ("[]", &["policy", "explain", "1"], "tells of no decision"),
    ];
    for (answer, args, wanted) in cases {
        let (code, shown, error) = told(answer, args);
        assert_eq!((code, shown.as_str()), (1, ""));
        assert!(error.starts_with("error: ") && error.contains(wanted), "{error}");
    }
}

#[test]
fn what_a_server_says_does_not_steer_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{202e}";
    let error = json!({ "object": "api_key", "id": evil, "actor": evil, "scopes": [evil], "workspace_ids": [evil],
                        "created_at": "2026-01-01T00:00:00Z", "revoked_at": null });
    let (code, shown, _) = told(&json!({ "data": [error] }).to_string(), &["keys", "list"]);
    assert_eq!(code, 0);
    assert!(shown.contains("\\x1b]0;owned\\x07\\u{202e}"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']));
}
