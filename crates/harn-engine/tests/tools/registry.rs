//! The registry's list of tools, and the precise words about wrong arguments.

use harn_core::tool::{Class, SideEffect};
use harn_engine::tools::Registry;
use serde_json::json;

use crate::kit::Workspace;

#[test]
fn the_tools_are_listed_in_order_with_the_question_last() {
    let registry = Registry::builtin();
    let specs = registry.specs();
    let listed = specs.iter().map(|spec| (spec.name.as_str(), spec.class, spec.side_effect));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        [
            ("read_file", Class::Read, SideEffect::ReadOnly),
            ("list_dir", Class::Read, SideEffect::ReadOnly),
            ("glob", Class::Read, SideEffect::ReadOnly),
            ("grep", Class::Read, SideEffect::ReadOnly),
            ("write_file", Class::Checkable, SideEffect::WorkspaceWrite),
            ("edit_file", Class::Checkable, SideEffect::WorkspaceWrite),
            ("run_command", Class::Once, SideEffect::ProcessExec),
            ("command_output", Class::Read, SideEffect::ReadOnly),
            ("stop_command", Class::Read, SideEffect::None),
            ("ask_user", Class::Local, SideEffect::None),
        ]
    );
    assert!(registry.get("read_file").is_some());
    assert!(registry.get("ask_user").is_none());
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let workspace = Workspace::new();
    let cases = [
        ("read_file", json!({}), "read_file needs the argument `path`, a string, which is missing."),
        (
            "read_file",
            json!({ "path": 3 }),
            "The argument `path` of read_file must be a string, not the number 3.",
        ),
        (
            "read_file",
            json!({ "path": "a", "offset": 0 }),
            "The argument `offset` of read_file must be an integer of at least 1, not the number 0.",
        ),
        (
            "read_file",
            json!({ "path": "a", "file": "b" }),
            "read_file has no argument `file`. Its arguments are `path`, `offset`, `limit`, `line_numbers`.",
        ),
        ("list_dir", json!({ "path": null }), "The argument `path` of list_dir must be a string, not null."),
        (
            "write_file",
            json!({ "path": "a", "content": {} }),
            "The argument `content` of write_file must be a string, not an object.",
        ),
        (
            "edit_file",
            json!({ "path": "a", "old_text": "b" }),
            "edit_file needs the argument `new_text`, a string, which is missing.",
        ),
        (
            "run_command",
            json!({ "command": "true", "timeout_ms": 600_001 }),
            "The argument `timeout_ms` of run_command must be an integer from 1 to 600000, not the number 600001.",
        ),
        (
            "run_command",
            json!({ "command": "true", "network": "yes" }),
            "The argument `network` of run_command must be true or false.",
        ),
        (
            "command_output",
            json!({ "handle": "cmd_1", "wait_ms": 60_001 }),
            "The argument `wait_ms` of command_output must be an integer from 0 to 60000, not the number 60001.",
        ),
        ("stop_command", json!({}), "stop_command needs the argument `handle`, a string, which is missing."),
        ("run_command", json!({ "command": " " }), "The argument `command` of run_command is empty."),
    ];
    for (tool, args, message) in cases {
        assert_eq!(workspace.prepare(tool, args).await, Err(message.to_owned()));
    }
}

#[tokio::test]
async fn a_workspace_without_files_refuses_in_words() {
    let mut workspace = Workspace::new();
    workspace.ctx.root = None;
    for (tool, args) in [
        ("read_file", json!({ "path": "a" })),
        ("list_dir", json!({})),
        ("write_file", json!({ "path": "a", "content": "" })),
        ("edit_file", json!({ "path": "a", "old_text": "b", "new_text": "c" })),
        ("run_command", json!({ "command": "true" })),
        ("glob", json!({ "pattern": "*" })),
        ("grep", json!({ "pattern": "x" })),
    ] {
        let message = workspace.call(tool, args).await.unwrap_err();
        assert!(message.starts_with("This workspace has no files"), "{tool}: {message}");
    }
}
