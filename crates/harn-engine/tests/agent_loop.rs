//! The agent loop as a table: what it asks for after each completion, and that the same completions in the same
//! order always give the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod records;

use harn_core::Failure;
use harn_core::chat::{ChatMessage, ModelAnswer, StopReason, Thought, Usage};
use harn_core::message::{Message, MessageInput};
use harn_core::run::{Completion, Effect, EffectKey, Program, Request, RunRecord, Step};
use harn_core::tool::{ToolCall, ToolOutcome, ToolResult};
use harn_engine::agent::AgentLoop;
use serde_json::{Map, json};

fn record(max_model_calls: u32, history: Vec<Message>) -> RunRecord {
    records::record(max_model_calls, 1_000_000, history)
}

fn said(text: &str) -> Message {
    records::message(MessageInput::user(text))
}

fn answer(text: &str, calls: &[(&str, &str)], stop: StopReason) -> Completion {
    let call =
        |(id, name): &(&str, &str)| ToolCall { id: (*id).into(), name: (*name).into(), args: args(name) };
    let tool_calls = calls.iter().map(call).collect();
    let usage = Usage::new(10, 1);
    Completion::Model {
        answer: ModelAnswer {
            text: text.into(),
            thinking: "secret".into(),
            tool_calls,
            usage,
            ..ModelAnswer::stopped(stop)
        },
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
    let (call_id, name, media) = (call_id.into(), name.into(), Vec::new());
    Completion::Tool { result: ToolResult { call_id, name, outcome, output, media } }
}

fn inbox(texts: &[&str]) -> Completion {
    Completion::Inbox { messages: texts.iter().map(|text| said(text)).collect() }
}

fn shown(step: &Step) -> String {
    match step {
        Step::Busy(_) => panic!("the loop is never busy"),
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
        Request::Call(_) | Request::Timer { .. } | Request::OwnTool(_) | Request::Errand(_) => {
            panic!("only scripts ask for this")
        }
        Request::Ask(ask) => format!("{}?{}", effect.key, ask.prompt),
        Request::Compact(compaction) => {
            format!("{}={}+{}", effect.key, compaction.dropped.len(), compaction.kept)
        }
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
fn the_thoughts_of_an_answer_go_back_to_the_model_with_it() {
    let thought = Thought {
        provider: "anthropic".into(),
        text: "secret".into(),
        opaque: json!({ "signature": "signed" }),
    };
    let mut program = AgentLoop::new(&record(9, vec![said("hello")]));
    program.start();
    program.resume(&EffectKey::new("inbox", "before_model", 1), &inbox(&[]));
    let Completion::Model { answer: mut thoughtful } = answer("I look.", &[("a", "read_file")], ToolUse)
    else {
        panic!("it is an answer");
    };
    thoughtful.thoughts = vec![thought.clone()];
    program.resume(&EffectKey::new("llm", "main", 1), &Completion::Model { answer: thoughtful.clone() });
    program.resume(&EffectKey::new("tool", "main", 1), &result("a", "read_file"));
    let step = program.resume(&EffectKey::new("inbox", "before_model", 2), &inbox(&[]));
    let Step::Waiting(effects) = step else { panic!("it is not done") };
    let Request::Model(request) = &effects[0].request else { panic!("it asks the model") };
    let expected = ChatMessage::Assistant {
        text: "I look.".into(),
        tool_calls: thoughtful.tool_calls,
        thoughts: vec![thought],
    };
    assert_eq!(request.messages[1], expected);
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
            ChatMessage::User { text, .. } => text.clone(),
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
    let model_failed = Completion::model_failed(Failure::new("overloaded", "busy"));
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
    let history = [asked, answered].map(|input| records::message(serde_json::from_value(input).unwrap()));
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

fn key(text: &str) -> EffectKey {
    let (kind, rest) = text.split_once(':').unwrap();
    let (scope, n) = rest.split_once(':').unwrap();
    EffectKey::new(kind, scope, n.parse().unwrap())
}

/// A long talk of which the last turn is short, in a window that it fills.
fn long_talk() -> RunRecord {
    let long = |n: usize| said(&format!("{n} see artifact_01JZ0123456789 {}", "word ".repeat(3000)));
    records::record(9, 24_000, vec![long(1), long(2), long(3), long(4), long(5), said("and now?")])
}

fn request_of(step: Step) -> Request {
    let Step::Waiting(mut effects) = step else { panic!("it is over") };
    effects.remove(0).request
}

/// Plays a compaction up to the point where the harness is asked to record it.
fn compacting(summary: Completion) -> (AgentLoop, harn_core::run::Compaction) {
    let mut program = AgentLoop::new(&long_talk());
    program.start();
    let step = program.resume(&key("inbox:before_model:1"), &inbox(&[]));
    assert_eq!(shown(&step), "llm:compact:1");
    let Request::Model(call) = request_of(step) else { panic!("it asks the model") };
    let ChatMessage::User { text, .. } = &call.messages[0] else { panic!("one message") };
    assert!(text.contains("person: 1 see") && call.tools.is_empty(), "{text}");
    let step = program.resume(&key("llm:compact:1"), &summary);
    let Request::Compact(compaction) = request_of(step) else { panic!("it compacts") };
    (program, compaction)
}

#[test]
fn a_conversation_that_fills_the_window_gives_way_to_a_summary() {
    let (mut program, compaction) = compacting(answer("They counted to five.", &[], EndTurn));
    assert_eq!((compaction.dropped.len(), compaction.kept), (4, 2));
    assert!(compaction.tokens_after * 2 < compaction.tokens_before, "{compaction:?}");
    assert!(compaction.summary.contains("They counted to five."));
    assert!(
        compaction.summary.contains("artifact_01JZ0123456789"),
        "references stay: {}",
        compaction.summary
    );
    let done = Completion::Compacted { artifact_id: Some("artifact_1".into()) };
    let step = program.resume(&key("compact:main:1"), &done);
    assert_eq!(shown(&step), "llm:main:1");
    let Request::Model(call) = request_of(step) else { panic!("it asks the model") };
    assert_eq!(call.messages[0], ChatMessage::user(compaction.summary.to_string()));
    assert_eq!(call.messages[2], ChatMessage::user("and now?"));
    assert_eq!(call.messages.len(), 3);
}

#[test]
fn a_summary_that_fails_is_replaced_by_a_plain_word_and_a_denied_compaction_changes_nothing() {
    let failed = Completion::model_failed(Failure::new("overloaded", "busy"));
    let (mut program, compaction) = compacting(failed);
    assert_eq!(compaction.strategy, harn_core::run::CompactionStrategy::Truncate);
    let step = program.resume(&key("compact:main:1"), &Completion::Compacted { artifact_id: None });
    let Request::Model(call) = request_of(step) else { panic!("it asks the model") };
    assert_eq!(call.messages.len(), 6, "the conversation stays as it was");
}

#[test]
fn a_call_is_never_parted_from_its_result() {
    let filler = "word ".repeat(12_000);
    let mut program = AgentLoop::new(&records::record(9, 24_000, vec![said("hello")]));
    program.start();
    program.resume(&key("inbox:before_model:1"), &inbox(&[]));
    program.resume(&key("llm:main:1"), &answer("", &[("a", "read_file")], ToolUse));
    let result = ToolResult {
        call_id: "a".into(),
        name: "read_file".into(),
        outcome: ToolOutcome::Ok,
        output: json!(filler),
        media: vec![],
    };
    program.resume(&key("tool:main:1"), &Completion::Tool { result });
    program.resume(&key("inbox:before_model:2"), &inbox(&[&filler]));
    let step = program.resume(&key("llm:compact:1"), &answer("short", &[], EndTurn));
    let Request::Compact(compaction) = request_of(step) else { panic!("it compacts") };
    // The person's first words, the call and its result go together.
    assert_eq!((compaction.dropped.len(), compaction.kept), (3, 1));
}

#[test]
fn a_call_that_keeps_failing_is_pointed_out_and_then_ends_the_run() {
    let mut program = AgentLoop::new(&record(50, vec![said("hello")]));
    program.start();
    let mut seen = Vec::new();
    for n in 1..=6 {
        let step = program.resume(&key(&format!("inbox:before_model:{n}")), &inbox(&[]));
        let Request::Model(call) = request_of(step) else { panic!("it asks the model") };
        seen.push(match call.messages.last() {
            Some(ChatMessage::Tool { output, .. }) => output.contains("has now failed"),
            _ => false,
        });
        let id = format!("call{n}");
        program.resume(&key(&format!("llm:main:{n}")), &answer("", &[(&id, "read_file")], ToolUse));
        let (call_id, name, outcome) = (id, "read_file".to_owned(), ToolOutcome::Error);
        let result = ToolResult { call_id, name, outcome, output: json!({ "error": "no" }), media: vec![] };
        let step = program.resume(&key(&format!("tool:main:{n}")), &Completion::Tool { result });
        if n == 6 {
            assert_eq!(shown(&step), "failed(repeated_failure)");
        }
    }
    assert_eq!(seen, [false, false, false, true, true, true]);
}
