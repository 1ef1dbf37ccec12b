//! Answers of Chat Completions that are broken, odd, or cut off.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::StopReason;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::{Chunk, Framing};
use serde_json::{Value, json};
use support::chat::{DONE, delta, events, finish, pieces, streamed, target};
use support::chunks::{call, distorted, partial, said, stop, text};
use support::{decoded, request};

#[test]
fn what_is_broken_is_said_to_be_broken() {
    let no_json = "data: {\"choices\"\n\n";
    let calling = |arguments: Value| {
        pieces(json!([{"index": 0, "id": "x", "function": {"name": "m", "arguments": arguments}}]))
    };
    let cases: Vec<(Vec<Value>, &str, Vec<Chunk>, &str)> = vec![
        (vec![], "", vec![], "cut_stream"),
        (vec![], DONE, vec![], "cut_stream"),
        (vec![delta(json!({"content": "hi"}))], DONE, vec![text("hi")], "cut_stream"),
        (vec![delta(json!({"content": "hi"}))], no_json, vec![text("hi")], "malformed"),
        (vec![calling(json!("{\"a"))], "", vec![partial("x", "m", "{\"a")], "cut_stream"),
        (vec![calling(json!("{\"a"))], no_json, vec![partial("x", "m", "{\"a")], "malformed"),
        (
            vec![calling(json!("{\"a")), finish("tool_calls")],
            DONE,
            vec![partial("x", "m", "{\"a")],
            "malformed",
        ),
        (vec![calling(json!("{} {}")), finish("stop")], DONE, vec![partial("x", "m", "{} {}")], "malformed"),
        (vec![calling(json!([1])), finish("tool_calls")], DONE, vec![partial("x", "m", "[1]")], "malformed"),
        (
            vec![
                pieces(json!([{"index": 0, "id": "x", "function": {"arguments": "{}"}}])),
                finish("tool_calls"),
            ],
            DONE,
            vec![partial("x", "", "{}")],
            "malformed",
        ),
        (vec![json!({"error": {"message": "m", "code": 429}})], "", vec![], "rate_limited"),
        (
            vec![json!({"error": {"message": "m", "code": "context_length_exceeded"}})],
            "",
            vec![],
            "context_too_long",
        ),
        (
            vec![json!({"error": {"message": "m", "type": "invalid_request_error"}})],
            "",
            vec![],
            "invalid_request",
        ),
        (vec![json!({"error": "plain"})], "", vec![], "overloaded"),
        (vec![json!({"object": "error", "message": "m", "code": 400})], "", vec![], "invalid_request"),
        (
            vec![
                json!({"choices": [{"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "m"}}]}),
            ],
            DONE,
            vec![],
            "overloaded",
        ),
        (vec![finish("stop"), json!({"error": {"message": "m", "code": 500}})], DONE, vec![], "overloaded"),
    ];
    for (frames, end, expected, code) in cases {
        let (chunks, error) = streamed(&frames, end);
        assert_eq!((chunks, error.map(|error| error.code())), (expected, Some(code)), "{frames:?} {end:?}");
    }
}

#[test]
fn what_is_odd_and_harmless_is_passed_over() {
    let frames = [
        json!({"choices": [], "prompt_filter_results": [{}]}),
        json!({"choices": null}),
        json!([]),
        json!("?"),
        json!({"choices": [{"index": 1, "delta": {"content": "another answer"}}]}),
        json!({"choices": [{"delta": {"content": [{"type": "text", "text": "h"}, {"type": "x"}]}}]}),
        delta(json!({"content": "i", "tool_calls": null, "function_call": null, "reasoning": 7})),
        delta(json!({"content": null, "tool_calls": []})),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": 3}]}),
        finish("stop"),
    ];
    let bytes =
        format!(": OPENROUTER PROCESSING\n\n{}event: ping\ndata: {{}}\n\ndata: \n\n{DONE}", events(&frames));
    let outcome =
        decoded(&OpenAiChatCodec, &request(vec![]), &target("generic"), Framing::Events, bytes.as_bytes());
    assert_eq!(outcome, (vec![text("h"), text("i"), stop(StopReason::EndTurn)], None));
}

#[test]
fn a_flood_of_calls_is_refused() {
    let flood: Vec<Value> =
        (0..600).map(|index| json!({"index": index, "function": {"name": "m"}})).collect();
    let (_, error) = streamed(&[pieces(flood.into()), finish("stop")], DONE);
    assert_eq!(error.unwrap().code(), "malformed");
}

#[test]
fn an_answer_cut_at_any_byte_is_a_beginning_and_never_taken_for_whole_too_early() {
    let frames = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "grübeln"})),
        delta(json!({"content": "Grüße 🙂 "})),
        delta(json!({"content": "you"})),
        pieces(json!([{"index": 0, "id": "x", "function": {"name": "m", "arguments": "{\"a\":"}}])),
        pieces(json!([{"index": 0, "function": {"arguments": "1}"}}])),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
    ];
    let bytes = events(&frames) + DONE;
    let finished = events(&frames[..7]).len();
    for cut in 0..=bytes.len() {
        let (chunks, error) = decoded(
            &OpenAiChatCodec,
            &request(vec![]),
            &target("generic"),
            Framing::Events,
            &bytes.as_bytes()[..cut],
        );
        let said = said(&chunks);
        assert!("Grüße 🙂 you".starts_with(&said), "{cut}: {said}");
        let is_called = chunks.contains(&call("x", "m", json!({"a": 1})));
        let is_whole = chunks.last() == Some(&stop(StopReason::ToolUse));
        let code = error.map(|error| error.code());
        let expected = if cut < finished { (false, false, Some("cut_stream")) } else { (true, true, None) };
        assert_eq!((is_called, is_whole, code), expected, "{cut}");
    }
}

#[test]
fn a_value_of_any_wrong_kind_anywhere_ends_in_a_stop_or_an_error() {
    let details = json!([{"type": "reasoning.text", "index": 0, "text": "t", "signature": "s"}]);
    let frames = [
        delta(
            json!({"role": "assistant", "content": "hi", "refusal": null, "reasoning": "r", "reasoning_details": details}),
        ),
        delta(
            json!({"content": [{"type": "text", "text": "x"}], "reasoning_content": "r", "reasoning_details": details}),
        ),
        pieces(
            json!([{"index": 0, "id": "x", "type": "function", "function": {"name": "m", "arguments": "{"}}]),
        ),
        pieces(json!([{"index": 0, "function": {"arguments": "}"}}])),
        delta(json!({"function_call": {"name": "n", "arguments": {}}})),
        finish("tool_calls"),
        json!({"choices": [], "error": null, "x_groq": {"usage": {}}, "usage": {"prompt_tokens": 1, "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 1}}}),
    ];
    for frames in distorted(&frames) {
        let (chunks, error) = streamed(&frames, DONE);
        let stops = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Stop(_))).count();
        let is_last = matches!(chunks.last(), Some(Chunk::Stop(_)));
        assert_eq!((stops == 1, is_last), (error.is_none(), error.is_none()), "{frames:?}");
    }
}
