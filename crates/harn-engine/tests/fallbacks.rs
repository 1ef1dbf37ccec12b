//! What the agent loop does when a model fails: which failures another model may help with, which one is asked, and
//! that it stays with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod records;

use std::sync::Arc;

use harn_core::Failure;
use harn_core::chat::{ModelAnswer, ModelRef, StopReason, Thinking, Usage};
use harn_core::message::MessageInput;
use harn_core::route::{FallbackOn, Route};
use harn_core::run::{Completion, EffectKey, Program, Request, RunRecord, Step};
use harn_engine::agent::AgentLoop;

fn model(name: &str) -> ModelRef {
    ModelRef { provider: "test".into(), model: name.into() }
}

fn route((name, context_window): (&str, u64)) -> Route {
    Route { model: model(name), prices: None, context_window, max_output_tokens: 7 }
}

/// A run of the model `first`, whose window has 100,000 tokens, with these fallbacks.
fn record(fallbacks: &[(&str, u64)], text: &str) -> RunRecord {
    let history = [text, text, "and now?"].map(|text| records::message(MessageInput::user(text)));
    let mut record = records::record(3, 100_000, history.into());
    record.tools = Arc::from([]);
    let manifest = &mut record.manifest;
    (manifest.model, manifest.thinking) = (model("first"), Thinking::High);
    manifest.fallbacks = fallbacks.iter().copied().map(route).collect();
    manifest.fallback_on = FallbackOn::ALL.to_vec();
    record
}

fn failed(code: &str) -> Completion {
    Completion::model_failed(Failure::new(code, "a cause"))
}

fn said(text: &str) -> Completion {
    let usage = Usage::new(10, 1);
    Completion::Model {
        answer: ModelAnswer { text: text.into(), usage, ..ModelAnswer::stopped(StopReason::EndTurn) },
    }
}

fn shown(step: &Step) -> String {
    match step {
        Step::Done(end) => match &end.result {
            Ok(text) => format!("done({text}) calls={}", end.model_calls),
            Err(failure) => format!("failed({})", failure.code),
        },
        Step::Busy(_) => panic!("the loop is never busy"),
        Step::Waiting(effects) => match &effects[0].request {
            Request::Model(call) => {
                assert_eq!(call.thinking, Thinking::High);
                format!("{} {} {}", effects[0].key, call.model.model, call.max_output_tokens)
            }
            _ => effects[0].key.to_string(),
        },
    }
}

/// Plays completions, each to the effect that is open, and gives what the loop asked for after each.
fn play(record: &RunRecord, completions: Vec<Completion>) -> Vec<String> {
    let mut program = AgentLoop::new(record);
    let mut step = program.start();
    let mut steps = Vec::new();
    let inbox = Completion::Inbox { messages: Vec::new() };
    for completion in [inbox].into_iter().chain(completions) {
        let Step::Waiting(effects) = &step else { panic!("over after {steps:?}") };
        let key: EffectKey = effects[0].key.clone();
        step = program.resume(&key, &completion);
        steps.push(shown(&step));
    }
    steps
}

#[test]
fn only_failures_with_which_another_model_may_help_lead_to_one() {
    let helps = [
        "rate_limited",
        "overloaded",
        "timeout",
        "network",
        "cut_stream",
        "malformed",
        "auth",
        "permission_denied",
        "not_found",
        "context_too_long",
        "model_unavailable",
    ];
    let never = [
        "invalid_request",
        "content_filter",
        "budget_exhausted",
        "denied",
        "internal_error",
        "canceled",
        "a_new_word",
    ];
    let cases = helps.map(|code| (code, true)).into_iter().chain(never.map(|code| (code, false)));
    for (code, helps) in cases {
        let next = if helps { "llm:main:2 second 7".to_owned() } else { format!("failed({code})") };
        let steps = play(&record(&[("second", 200_000)], "hello"), vec![failed(code)]);
        assert_eq!(steps, ["llm:main:1 first 100".to_owned(), next], "{code}");
        // Without a fallback, every failure ends the run.
        let steps = play(&record(&[], "hello"), vec![failed(code)]);
        assert_eq!(steps[1], format!("failed({code})"));
        // Nor does one help that the configuration does not name.
        let mut narrow = record(&[("second", 200_000)], "hello");
        narrow.manifest.fallback_on = vec![FallbackOn::RateLimited];
        let steps = play(&narrow, vec![failed(code)]);
        assert_eq!(steps[1].starts_with("failed"), code != "rate_limited", "{code}: {steps:?}");
    }
}

#[test]
fn a_conversation_that_is_too_long_goes_to_a_model_that_takes_in_more() {
    let too_long = || vec![failed("context_too_long")];
    let cases: [(&[(&str, u64)], &str); 4] = [
        (&[("small", 50_000)], "failed(context_too_long)"),
        (&[("same", 100_000)], "failed(context_too_long)"),
        (&[("same", 100_000), ("large", 100_001)], "llm:main:2 large 7"),
        (&[("large", 200_000), ("larger", 300_000)], "llm:main:2 large 7"),
    ];
    for (fallbacks, expected) in cases {
        assert_eq!(play(&record(fallbacks, "hello"), too_long())[1], expected, "{fallbacks:?}");
    }
}

#[test]
fn a_run_stays_with_the_model_that_answered_and_every_call_counts() {
    let fallbacks = [("second", 100_000), ("third", 100_000), ("fourth", 100_000)];
    let inbox = || Completion::Inbox { messages: Vec::new() };
    let more = Completion::Inbox { messages: record(&[], "more").history };
    let steps = play(
        &record(&fallbacks, "hello"),
        vec![failed("overloaded"), said("one"), more, inbox(), said("two"), inbox()],
    );
    let expected = [
        "llm:main:1 first 100",
        "llm:main:2 second 7",
        "inbox:loop_exit:1",
        "inbox:before_model:2",
        "llm:main:3 second 7",
        "inbox:loop_exit:2",
        "done(two) calls=3",
    ];
    assert_eq!(steps, expected);
    // The fourth call is one too many, whichever model it would ask.
    let steps =
        play(&record(&fallbacks, "hello"), vec![failed("network"), failed("timeout"), failed("auth")]);
    let expected =
        ["llm:main:1 first 100", "llm:main:2 second 7", "llm:main:3 third 7", "failed(iteration_limit)"];
    assert_eq!(steps, expected);
}

#[test]
fn a_model_that_takes_in_less_gets_the_conversation_in_short() {
    let long = "word ".repeat(8_000);
    let steps = play(&record(&[("small", 12_000)], &long), vec![failed("overloaded"), said("In short.")]);
    assert_eq!(steps, ["llm:main:1 first 100", "llm:compact:1 small 7", "compact:main:1"]);
}

#[test]
fn a_summary_that_fails_is_asked_of_the_next_model() {
    let long = "word ".repeat(8_000);
    let mut record = record(&[("second", 12_000)], &long);
    record.manifest.limits.context_window = 12_000;
    let steps = play(&record, vec![failed("overloaded"), failed("overloaded")]);
    assert_eq!(steps, ["llm:compact:1 first 100", "llm:compact:2 second 7", "compact:main:1"]);
}
