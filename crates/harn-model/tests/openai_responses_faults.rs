//! Answers of the Responses API that are broken, odd, or cut off.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::StopReason;
use harn_model::{Chunk, Framing};
use serde_json::{Value, json};
use support::chunks::{distorted, partial, said, text};
use support::responses::{added, done, ended, events, piece, read, says};

fn function(name: &str, arguments: Value, status: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": "x", "name": name, "arguments": arguments, "status": status})
}

#[test]
fn what_is_broken_is_said_to_be_broken() {
    let open = || added(0, function("m", json!(""), "in_progress"));
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let cases: Vec<(Vec<Value>, &str, Vec<Chunk>, &str)> = vec![
        (vec![], "", vec![], "cut_stream"),
        (vec![], "data: [DONE]\n\n", vec![], "cut_stream"),
        (vec![says(1, "hi")], "", vec![text("hi")], "cut_stream"),
        (vec![says(1, "hi")], "data: {\"type\n\n", vec![text("hi")], "malformed"),
        (vec![open(), piece(0, "{\"a")], "", vec![partial("x", "m", "{\"a")], "cut_stream"),
        (vec![open(), piece(0, "{\"a")], "data: ?\n\n", vec![partial("x", "m", "{\"a")], "malformed"),
        (
            vec![open(), piece(0, "{\"a"), ended("completed")],
            "",
            vec![partial("x", "m", "{\"a")],
            "malformed",
        ),
        (
            vec![done(0, function("m", json!("{\"a"), "completed"))],
            "",
            vec![partial("x", "m", "{\"a")],
            "malformed",
        ),
        (
            vec![done(0, function("m", json!([1]), "completed"))],
            "",
            vec![partial("x", "m", "[1]")],
            "malformed",
        ),
        (
            vec![done(0, function("", json!("{}"), "completed"))],
            "",
            vec![partial("x", "", "{}")],
            "malformed",
        ),
        (
            vec![done(0, function("m", json!("{}"), "incomplete")), ended("completed")],
            "",
            vec![partial("x", "m", "{}")],
            "malformed",
        ),
        (vec![failed(json!({"code": "server_error", "message": "m"}))], "", vec![], "overloaded"),
        (vec![failed(json!({"code": "rate_limit_exceeded", "message": "m"}))], "", vec![], "rate_limited"),
        (
            vec![failed(json!({"code": "context_length_exceeded", "message": "m"}))],
            "",
            vec![],
            "context_too_long",
        ),
        (vec![failed(json!({"code": "invalid_prompt", "message": "m"}))], "", vec![], "invalid_request"),
        (vec![failed(Value::Null)], "", vec![], "overloaded"),
        (
            vec![json!({"type": "error", "code": "insufficient_quota", "message": "m"})],
            "",
            vec![],
            "permission_denied",
        ),
        (
            vec![json!({"type": "error", "error": {"code": "server_error", "message": "m"}})],
            "",
            vec![],
            "overloaded",
        ),
        (vec![json!({"type": "error"})], "", vec![], "overloaded"),
        (vec![], "event: error\ndata: {\"code\":\"invalid_api_key\",\"message\":\"m\"}\n\n", vec![], "auth"),
        (vec![json!({"error": {"code": 429, "message": "m"}})], "", vec![], "rate_limited"),
        (
            vec![],
            "event: message\ndata: {\"error\":{\"code\":503,\"message\":\"m\"}}\n\n",
            vec![],
            "overloaded",
        ),
    ];
    for (frames, end, expected, code) in cases {
        let (chunks, error) = read(Framing::Events, (events(&frames) + end).as_bytes());
        assert_eq!((chunks, error.map(|error| error.code())), (expected, Some(code)), "{frames:?} {end:?}");
    }
}

#[test]
fn a_call_that_ran_out_of_tokens_is_partial_and_no_error() {
    let end = json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}});
    let streams = [
        vec![added(0, function("m", json!(""), "in_progress")), piece(0, "{\"a"), end.clone()],
        vec![done(0, function("m", json!("{\"a"), "incomplete")), end],
    ];
    for frames in streams {
        let expected = vec![partial("x", "m", "{\"a"), Chunk::Stop(StopReason::MaxTokens)];
        assert_eq!(read(Framing::Events, events(&frames).as_bytes()), (expected, None));
    }
}

#[test]
fn what_is_odd_and_harmless_is_passed_over() {
    let frames = [
        json!({"type": "response.created", "response": {}}),
        json!({"type": "response.something.new", "delta": "x"}),
        json!({"type": "response.web_search_call.searching", "output_index": 7}),
        json!({"type": "response.output_item.added"}),
        json!({"type": "response.output_item.done", "item": {"type": "hologram"}}),
        json!({"type": "response.output_item.done", "item": 5}),
        json!({"type": "response.function_call_arguments.done"}),
        json!({"type": "keepalive"}),
        json!({"no": "type"}),
        json!([]),
        says(1, "hi"),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": 9}),
        ended("completed"),
    ];
    let bytes = format!(": comment\n\ndata: [DONE]\n\n{}", events(&frames));
    let expected = vec![text("hi"), Chunk::Stop(StopReason::EndTurn)];
    assert_eq!(read(Framing::Events, bytes.as_bytes()), (expected, None));
}

#[test]
fn a_flood_of_items_is_refused() {
    let flood: Vec<Value> = (0..1100).map(|index| json!({"type": "response.output_item.done", "output_index": index, "item": {"type": "x"}})).collect();
    assert_eq!(read(Framing::Events, events(&flood).as_bytes()).1.unwrap().code(), "malformed");
}

#[test]
fn a_whole_body_is_an_answer_or_an_error() {
    let cases = [
        ("", "malformed"),
        ("{}", "malformed"),
        ("[]", "malformed"),
        ("{\"error\":{\"code\":\"invalid_api_key\",\"message\":\"m\"}}", "auth"),
        (
            "{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"m\"},\"output\":[]}",
            "overloaded",
        ),
    ];
    for (body, code) in cases {
        assert_eq!(read(Framing::Whole, body.as_bytes()).1.map(|error| error.code()), Some(code), "{body}");
    }
    let statusless = read(Framing::Whole, b"{\"output\":[]}");
    assert_eq!(statusless, (vec![Chunk::Stop(StopReason::Other("without a status".into()))], None));
    let queued = read(Framing::Whole, b"{\"status\":\"queued\",\"output\":[]}");
    assert_eq!(queued, (vec![Chunk::Stop(StopReason::Other("queued".into()))], None));
}

#[test]
fn an_answer_cut_at_any_byte_is_a_beginning_and_never_taken_for_whole() {
    let frames = [
        json!({"type": "response.created", "response": {}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 2, "delta": "grübeln"}),
        says(1, "Grüße 🙂 "),
        says(1, "you"),
        added(0, function("m", json!(""), "in_progress")),
        piece(0, "{\"a\":"),
        piece(0, "1}"),
        done(0, function("m", json!("{\"a\":1}"), "completed")),
        ended("completed"),
    ];
    let bytes = events(&frames);
    let called = events(&frames[..8]).len();
    let args = json!({"a": 1}).as_object().unwrap().clone();
    let call = Chunk::ToolCall { id: "x".into(), name: "m".into(), args };
    for cut in 0..=bytes.len() {
        let (chunks, error) = read(Framing::Events, &bytes.as_bytes()[..cut]);
        let said = said(&chunks);
        assert!("Grüße 🙂 you".starts_with(&said), "{cut}: {said}");
        let is_whole = chunks.last() == Some(&Chunk::Stop(StopReason::ToolUse));
        let code = error.map(|error| error.code());
        let expected =
            if cut < bytes.len() { (cut >= called, false, Some("cut_stream")) } else { (true, true, None) };
        assert_eq!((chunks.contains(&call), is_whole, code), expected, "{cut}");
    }
}

#[test]
fn a_value_of_any_wrong_kind_anywhere_ends_in_a_stop_or_an_error() {
    let reasoning = json!({"type": "reasoning", "id": "rs", "encrypted_content": "g", "content": [{"text": "t"}],
                           "summary": [{"type": "summary_text", "text": "s"}]});
    let message = json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "t", "refusal": "r"}]});
    let search = json!({"type": "tool_search_call", "id": "ts", "execution": "server", "arguments": {}, "results": []});
    let frames = [
        json!({"type": "response.reasoning_summary_part.added", "output_index": 2, "summary_index": 1}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 2, "item_id": "rs", "delta": "s"}),
        says(1, "hi"),
        added(0, function("m", json!(""), "in_progress")),
        piece(0, "{}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{}"}),
        done(0, function("m", json!("{}"), "completed")),
        json!({"type": "response.completed", "response": {"status": "completed", "error": null,
            "incomplete_details": {"reason": "max_output_tokens"}, "output": [reasoning, message, search],
            "usage": {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}}}),
    ];
    for frames in distorted(&frames) {
        let (chunks, error) = read(Framing::Events, events(&frames).as_bytes());
        let stops = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Stop(_))).count();
        let is_last = matches!(chunks.last(), Some(Chunk::Stop(_)));
        assert_eq!((stops == 1, is_last), (error.is_none(), error.is_none()), "{frames:?}");
    }
}
