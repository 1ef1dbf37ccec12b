//! The agent loop as a table: what it asks for after each completion, and that the same completions in the same
//! order always give the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelAnswer, ModelRef, StopReason, Usage};
use harn_core::message::{Message, MessageInput};
use harn_core::run::{Completion, Effect, EffectKey, Limits, Manifest, Program, Request, RunRecord, Step};
use harn_core::tool::{ToolCall, ToolOutcome, ToolResult};
use harn_core::{AutonomyTier, Failure, MessageTag, Timestamp};
use harn_engine::agent::{AgentLoop, PROGRAM, SEMANTICS};
use harn_engine::tools::Registry;
use serde_json::{Map, json};

fn record(max_model_calls: u32, history: Vec<Message>) -> RunRecord {
    let manifest = Manifest {
        program: PROGRAM.into(),
        semantics: SEMANTICS,
        model: ModelRef { provider: "test".into(), model: "m".into() },
        tier: AutonomyTier::ActAuto,
        limits: Limits { max_model_calls, max_output_tokens: 100 },
        seed: 1,
        root: None,
        system_prompt: String::new(),
        tools: String::new(),
        history_up_to: 0,
    };
    let tools = Registry::builtin().specs();
    let (task_id, session_id) = ("task_1".into(), "session_1".into());
    RunRecord {
        task_id,
        session_id,
        manifest,
        system_prompt: Arc::from("s"),
        tools,
        history,
        journal: Vec::new(),
    }
}

fn message(input: MessageInput) -> Message {
    Message {
        id: "message_1".into(),
        object: MessageTag::Tag,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
        metadata: Map::new(),
        session_id: None,
        task_id: None,
        role: input.role,
        parts: input.parts,
    }
}

fn said(text: &str) -> Message {
    message(MessageInput::user(text))
}

fn answer(text: &str, calls: &[(&str, &str)], stop: StopReason) -> Completion {
    let call =
        |(id, name): &(&str, &str)| ToolCall { id: (*id).into(), name: (*name).into(), args: args(name) };
    let tool_calls = calls.iter().map(call).collect();
    let usage = Usage { input_tokens: 10, output_tokens: 1 };
    Completion::Model {
        answer: ModelAnswer { text: text.into(), thinking: "secret".into(), tool_calls, stop, usage },
    }
}

fn args(name: &str) -> Map<String, serde_json::Value> {
    match name {
        "ask_user" => json!({ "question": "why?" }),
        _ => json!({}),
    }
    .as_object()
    .cloned()
    .unwrap_or_default()
}

fn result(call_id: &str, name: &str) -> Completion {
    let (outcome, output) = (ToolOutcome::Ok, json!(format!("result of {call_id}")));
    Completion::Tool { result: ToolResult { call_id: call_id.into(), name: name.into(), outcome, output } }
}

fn inbox(texts: &[&str]) -> Completion {
    Completion::Inbox { messages: texts.iter().map(|text| said(text)).collect() }
}

fn shown(step: &Step) -> String {
    match step {
        Step::Waiting(effects) => effects.iter().map(effect).collect::<Vec<_>>().join(" "),
        Step::Done(end) => match &end.result {
            Ok(text) => format!(
                "done({text}) calls={} tools={} in={}",
                end.model_calls, end.tool_calls, end.usage.input_tokens
            ),
            Err(failure) => format!("failed({})", failure.code),
        },
    }
}

fn effect(effect: &Effect) -> String {
    match &effect.request {
        Request::Inbox(_) | Request::Model(_) => effect.key.to_string(),
        Request::Tool(call) => format!("{}={}", effect.key, call.id),
        Request::Question { prompt, .. } => format!("{}?{prompt}", effect.key),
    }
}

/// Plays completions to a fresh loop and compares everything that it asked for.
fn check(limit: u32, completions: &[(&str, Completion)], expected: &[&str]) {
    for _ in 0..2 {
        let mut program = AgentLoop::new(&record(limit, vec![said("hello")]));
        let mut steps = vec![shown(&program.start())];
        for (key, completion) in completions {
            let (kind, rest) = key.split_once(':').unwrap();
            let (scope, n) = rest.split_once(':').unwrap();
            steps.push(shown(&program.resume(&EffectKey::new(kind, scope, n.parse().unwrap()), completion)));
        }
        assert_eq!(steps, expected);
    }
}

use StopReason::{EndTurn, MaxTokens, Other, Refusal, ToolUse};

#[test]
fn a_plain_answer_ends_the_run() {
    check(
        9,
        &[
            ("inbox:before_model:1", inbox(&[])),
            ("llm:main:1", answer("hi", &[], EndTurn)),
            ("inbox:loop_exit:1", inbox(&[])),
        ],
        &["inbox:before_model:1", "llm:main:1", "inbox:loop_exit:1", "done(hi) calls=1 tools=0 in=10"],
    );
}

#[test]
fn reads_go_side_by_side_and_everything_else_alone() {
    let calls = [
        ("a", "read_file"),
        ("b", "list_dir"),
        ("c", "write_file"),
        ("d", "run_command"),
        ("e", "read_file"),
        ("f", "ask_user"),
    ];
    check(
        9,
        &[
            ("inbox:before_model:1", inbox(&[])),
            ("llm:main:1", answer("", &calls, ToolUse)),
            ("tool:main:2", result("b", "list_dir")),
            ("tool:main:1", result("a", "read_file")),
            ("tool:main:3", result("c", "write_file")),
            ("tool:main:4", result("d", "run_command")),
            ("tool:main:5", result("e", "read_file")),
            ("tool:main:6", result("f", "ask_user")),
            ("inbox:before_model:2", inbox(&[])),
        ],
        &[
            "inbox:before_model:1",
            "llm:main:1",
            "tool:main:1=a tool:main:2=b",
            "",
            "tool:main:3=c",
            "tool:main:4=d",
            "tool:main:5=e",
            "tool:main:6?why?",
            "inbox:before_model:2",
            "llm:main:2",
        ],
    );
}

#[test]
fn results_are_joined_in_call_order_whatever_order_they_came_in() {
    let mut program = AgentLoop::new(&record(9, vec![said("hello")]));
    program.start();
    let calls = [("a", "read_file"), ("b", "read_file"), ("c", "read_file")];
    program.resume(&EffectKey::new("inbox", "before_model", 1), &inbox(&[]));
    program.resume(&EffectKey::new("llm", "main", 1), &answer("", &calls, ToolUse));
    for (n, id) in [(3, "c"), (1, "a"), (2, "b")] {
        program.resume(&EffectKey::new("tool", "main", n), &result(id, "read_file"));
    }
    let step = program.resume(&EffectKey::new("inbox", "before_model", 2), &inbox(&["steer"]));
    let Step::Waiting(effects) = step else { panic!("it is not done") };
    let Request::Model(request) = &effects[0].request else { panic!("it asks the model") };
    let order: Vec<String> = request
        .messages
        .iter()
        .map(|message| match message {
            ChatMessage::Tool { call_id, .. } => call_id.clone(),
            ChatMessage::User { text } => text.clone(),
            other => format!("{other:?}").chars().take(9).collect(),
        })
        .collect();
    assert_eq!(order, ["hello", "Assistant", "a", "b", "c", "steer"]);
}

#[test]
fn what_is_in_the_inbox_at_the_end_opens_another_turn() {
    check(
        9,
        &[
            ("inbox:before_model:1", inbox(&[])),
            ("llm:main:1", answer("one", &[], EndTurn)),
            ("inbox:loop_exit:1", inbox(&["more"])),
            ("inbox:before_model:2", inbox(&[])),
            ("llm:main:2", answer("two", &[], EndTurn)),
            ("inbox:loop_exit:2", inbox(&[])),
        ],
        &[
            "inbox:before_model:1",
            "llm:main:1",
            "inbox:loop_exit:1",
            "inbox:before_model:2",
            "llm:main:2",
            "inbox:loop_exit:2",
            "done(two) calls=2 tools=0 in=20",
        ],
    );
}

#[test]
fn a_run_that_cannot_go_on_fails_by_name() {
    let model_failed = Completion::ModelFailed { failure: Failure::new("overloaded", "busy") };
    let table = [
        (answer("cut", &[], MaxTokens), "failed(output_limit)"),
        (answer("no", &[], Refusal), "failed(refusal)"),
        (answer("?", &[], Other("new_word".into())), "failed(unknown_stop_reason)"),
        (answer("", &[], ToolUse), "failed(malformed_answer)"),
        (answer("", &[("a", "read_file")], MaxTokens), "failed(output_limit)"),
        (model_failed, "failed(overloaded)"),
        (inbox(&[]), "failed(journal_mismatch)"),
    ];
    for (completion, expected) in table {
        let steps = [("inbox:before_model:1", inbox(&[])), ("llm:main:1", completion)];
        check(9, &steps, &["inbox:before_model:1", "llm:main:1", expected]);
    }
    let call = answer("", &[("a", "read_file")], ToolUse);
    let steps = [
        ("inbox:before_model:1", inbox(&[])),
        ("llm:main:1", call),
        ("tool:main:1", result("a", "read_file")),
        ("inbox:before_model:2", inbox(&[])),
    ];
    let expected = [
        "inbox:before_model:1",
        "llm:main:1",
        "tool:main:1=a",
        "inbox:before_model:2",
        "failed(iteration_limit)",
    ];
    check(1, &steps, &expected);
}

#[test]
fn a_cancelled_call_in_the_history_gets_a_result_that_says_so() {
    let asked = json!({ "role": "assistant", "parts": [
        { "type": "tool_call", "tool_call_id": "x", "name": "run_command", "input": {}, "visibility": "public" },
        { "type": "tool_call", "tool_call_id": "y", "name": "read_file", "input": {}, "visibility": "public" },
    ] });
    let answered = json!({ "role": "tool", "parts": [
        { "type": "tool_result", "tool_call_id": "y", "output": "text", "status": "ok", "visibility": "public" },
    ] });
    let history = [asked, answered].map(|input| message(serde_json::from_value(input).unwrap()));
    let mut program = AgentLoop::new(&record(9, [history.to_vec(), vec![said("go on")]].concat()));
    program.start();
    let step = program.resume(&EffectKey::new("inbox", "before_model", 1), &inbox(&[]));
    let Step::Waiting(effects) = step else { panic!("it is not done") };
    let Request::Model(request) = &effects[0].request else { panic!("it asks the model") };
    let outcomes: Vec<_> = request
        .messages
        .iter()
        .filter_map(|message| match message {
            ChatMessage::Tool { call_id, outcome, .. } => Some((call_id.as_str(), *outcome)),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [("x", ToolOutcome::Interrupted), ("y", ToolOutcome::Ok)]);
}
