//! Answers of the Responses API that are broken, odd, or cut off.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{PartialCall, StopReason};
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Chunk, Framing, ModelError, Target};
use serde_json::{Value, json};
use support::{decoded, request};

fn read(framing: Framing, bytes: &[u8]) -> (Vec<Chunk>, Option<ModelError>) {
    let target = Target::new("p", "m", "https://a.example", Auth::Bearer);
    decoded(&OpenAiResponsesCodec, &request(vec![]), &target, framing, bytes)
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn added(item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": 0, "item": item})
}

fn done(item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": 0, "item": item})
}

fn function(name: &str, arguments: Value, status: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": "x", "name": name, "arguments": arguments, "status": status})
}

fn piece(delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": delta})
}

fn said(delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": 1, "delta": delta})
}

fn ended(status: &str) -> Value {
    json!({"type": format!("response.{status}"), "response": {"status": status}})
}

fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

fn partial(name: &str, raw: &str) -> Chunk {
    Chunk::PartialCall(PartialCall { id: "x".into(), name: name.into(), raw: raw.into() })
}

#[test]
fn what_is_broken_is_said_to_be_broken() {
    let open = || added(function("m", json!(""), "in_progress"));
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let cases: Vec<(Vec<Value>, &str, Vec<Chunk>, &str)> = vec![
        (vec![], "", vec![], "cut_stream"),
        (vec![], "data: [DONE]\n\n", vec![], "cut_stream"),
        (vec![said("hi")], "", vec![text("hi")], "cut_stream"),
        (vec![said("hi")], "data: {\"type\n\n", vec![text("hi")], "malformed"),
        (vec![open(), piece("{\"a")], "", vec![partial("m", "{\"a")], "cut_stream"),
        (vec![open(), piece("{\"a")], "data: ?\n\n", vec![partial("m", "{\"a")], "malformed"),
        (vec![open(), piece("{\"a"), ended("completed")], "", vec![partial("m", "{\"a")], "malformed"),
        (vec![done(function("m", json!("{\"a"), "completed"))], "", vec![partial("m", "{\"a")], "malformed"),
        (vec![done(function("m", json!([1]), "completed"))], "", vec![partial("m", "[1]")], "malformed"),
        (vec![done(function("", json!("{}"), "completed"))], "", vec![partial("", "{}")], "malformed"),
        (
            vec![done(function("m", json!("{}"), "incomplete")), ended("completed")],
            "",
            vec![partial("m", "{}")],
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
        vec![added(function("m", json!(""), "in_progress")), piece("{\"a"), end.clone()],
        vec![done(function("m", json!("{\"a"), "incomplete")), end],
    ];
    for frames in streams {
        let expected = vec![partial("m", "{\"a"), Chunk::Stop(StopReason::MaxTokens)];
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
        said("hi"),
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
        said("Grüße 🙂 "),
        said("you"),
        added(function("m", json!(""), "in_progress")),
        piece("{\"a\":"),
        piece("1}"),
        done(function("m", json!("{\"a\":1}"), "completed")),
        ended("completed"),
    ];
    let bytes = events(&frames);
    let called = events(&frames[..8]).len();
    let args = json!({"a": 1}).as_object().unwrap().clone();
    let call = Chunk::ToolCall { id: "x".into(), name: "m".into(), args };
    for cut in 0..=bytes.len() {
        let (chunks, error) = read(Framing::Events, &bytes.as_bytes()[..cut]);
        let said: String = chunks
            .iter()
            .filter_map(|chunk| if let Chunk::Text(text) = chunk { Some(text.as_str()) } else { None })
            .collect();
        assert!("Grüße 🙂 you".starts_with(&said), "{cut}: {said}");
        let is_whole = chunks.last() == Some(&Chunk::Stop(StopReason::ToolUse));
        let code = error.map(|error| error.code());
        let expected =
            if cut < bytes.len() { (cut >= called, false, Some("cut_stream")) } else { (true, true, None) };
        assert_eq!((chunks.contains(&call), is_whole, code), expected, "{cut}");
    }
}

/// Every place in a value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places(value, &format!("{at}/{name}"), found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| places(value, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// The frames with one value of one frame replaced, in all ways.
fn distorted(frames: &[Value]) -> Vec<Vec<Value>> {
    let odd = [
        json!(null),
        json!(0),
        json!(-1.5),
        json!(""),
        json!("x"),
        json!([]),
        json!([null]),
        json!({}),
        json!(true),
    ];
    let mut all = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        let mut found = Vec::new();
        places(frame, "", &mut found);
        for (place, value) in found.iter().flat_map(|place| odd.iter().map(move |value| (place, value))) {
            let mut frames = frames.to_vec();
            *frames[index].pointer_mut(place).unwrap() = value.clone();
            all.push(frames);
        }
    }
    all
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
        said("hi"),
        added(function("m", json!(""), "in_progress")),
        piece("{}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{}"}),
        done(function("m", json!("{}"), "completed")),
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
