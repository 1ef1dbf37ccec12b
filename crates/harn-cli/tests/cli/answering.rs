//! Answers that people give: by flags, at a terminal, in a process of their own or through a server.

use crate::kit::Project;
use crate::terminal::converse;

#[test]
fn an_approval_lets_the_task_end_in_this_process() {
    let project = Project::new();
    let [_, done, waiting] = project.used();
    let commands: &[&[&str]] = &[
        &["tasks", "answer", &waiting],
        &["tasks", "answer", &waiting, "--approve", "--args", "[]"],
        &["tasks", "answer", &waiting, "--approve", "--remember", "session", "--expires", "soon"],
        &[
            "tasks",
            "answer",
            &waiting,
            "--approve",
            "--remember",
            "session",
            "--expires",
            "8h",
            "--reason",
            "fine",
        ],
        &["tasks", "answer", &waiting, "--approve"],
        &["tasks", "show", &waiting],
        &["tasks", "cancel", &done],
        &["policy", "rules"],
    ];
    insta::assert_snapshot!("approved", project.transcript(commands));
    assert_eq!(std::fs::read_to_string(project.path().join("note.txt")).unwrap(), "hello\nthere");
    let rule = project.json(&["policy", "rules", "--json"])["data"][0]["id"].as_str().unwrap().to_owned();
    project.out(&["policy", "forget", &rule]);
    assert_eq!(project.json(&["policy", "rules", "--json"])["data"], serde_json::json!([]));
}

#[test]
fn other_arguments_are_used_instead_and_a_denial_is_told() {
    let project = Project::new();
    let [.., waiting] = project.used();
    let args = r#"{"path": "other.txt", "content": "changed"}"#;
    project.out(&["tasks", "answer", &waiting, "--approve", "--args", args]);
    assert_eq!(std::fs::read_to_string(project.path().join("other.txt")).unwrap(), "changed");
    assert!(!project.path().join("note.txt").exists());

    let server = project.serve();
    let session = server.session();
    let task = server.submit(&session, "write no.txt: x");
    server.until(&task, "task.auth_required");
    let request = project.json(&["tasks", "answer", &task, "--deny", "--reason", "not now", "--json"]);
    assert_eq!(request["status"], "denied");
    server.until(&task, "task.completed");
    assert!(!project.path().join("no.txt").exists());
}

#[test]
fn a_question_is_replied_to() {
    let project = Project::new();
    let server = project.serve();
    let task = server.submit(&server.session(), "ask Which colour?");
    server.until(&task, "task.input_required");
    let asked = project.transcript(&[&["tasks", "show", &task]]);
    assert!(asked.contains("request_1 asks: Which colour?"), "{asked}");
    assert!(asked.contains("harn tasks answer request_1 --reply TEXT"), "{asked}");
    project.out(&["tasks", "answer", &task, "--reply", "blue"]);
    server.until(&task, "task.completed");
    assert!(project.out(&["tasks", "show", &task]).contains("blue"));
}

#[test]
fn at_a_terminal_the_request_is_shown_and_asked_about() {
    let project = Project::new();
    let [.., waiting] = project.used();
    let mut seen = String::new();
    for (typed, wanted) in [("later\n", "Nothing was answered."), ("y\n", "is COMPLETED")] {
        seen = converse(&project, &["tasks", "answer", &waiting], &[], "leaves it open:", typed).screen;
        assert!(seen.contains("wants to call write_file"), "{seen}");
        assert!(seen.replace("\u{1b}[32m", "").contains(wanted), "{seen}");
    }
    assert!(seen.contains("Approved"), "{seen}");
}
