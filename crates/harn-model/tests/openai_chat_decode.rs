//! Answers of Chat Completions: what each stream of frames means.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ModelRequest, OutputSchema, StopReason, Thought, Usage};
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::{Chunk, Framing, StructuredOutput, Target};
use serde_json::{Value, json};
use support::chat::{DONE, delta, events, finish, pieces, streamed, streamed_as, target};
use support::chunks::{call, partial, stop, text, think, used};
use support::{decoded, request};

#[test]
fn calls_are_put_together_whatever_their_pieces_leave_out() {
    let f = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let (a, b) = (json!({"a": 1}), json!({"b": "}{"}));
    let whole = |id: &str, name: &str, args: &Value| call(id, name, args.clone());
    let cases: Vec<(&str, Vec<Value>, Vec<Chunk>)> = vec![
        (
            "interleaved pieces by index",
            vec![
                json!([{"index": 0, "id": "x", "function": f("m", json!(""))}]),
                json!([{"index": 1, "id": "y", "function": f("n", json!("{\"b\":"))}, {"index": 0, "function": {"arguments": "{\"a\""}}]),
                json!([{"index": 0, "function": {"arguments": ":1}"}}]),
                json!([{"index": 1, "function": {"arguments": "\"}{\"}"}}]),
            ],
            vec![whole("x", "m", &a), whole("y", "n", &b)],
        ),
        (
            "whole calls without an index",
            vec![
                json!([{"id": "x", "function": f("m", json!("{\"a\":1}"))}, {"id": "y", "function": f("n", json!("{\"b\":\"}{\"}"))}]),
            ],
            vec![whole("x", "m", &a), whole("y", "n", &b)],
        ),
        (
            "the same index for all",
            vec![
                json!([{"index": 0, "id": "x", "function": f("m", json!("{\"a\":1}"))}]),
                json!([{"index": 0, "id": "y", "function": f("m", json!("{\"a\":1}"))}]),
            ],
            vec![whole("x", "m", &a), whole("y", "m", &a)],
        ),
        (
            "the same index and no id at all",
            vec![
                json!([{"index": 0, "function": f("m", json!("{\"a\":1}"))}]),
                json!([{"index": 0, "function": f("m", json!("{\"a\":1}"))}]),
            ],
            vec![whole("", "m", &a), whole("", "m", &a)],
        ),
        (
            "neither index nor id, in pieces",
            vec![
                json!([{"function": f("m", json!("{\"a\""))}]),
                json!([{"function": {"arguments": ":1}"}}]),
                json!([{"function": f("m", json!(""))}]),
                json!([{"function": {"arguments": "{\"a\":1}"}}]),
            ],
            vec![whole("", "m", &a), whole("", "m", &a)],
        ),
        (
            "id and name with every piece",
            vec![
                json!([{"index": 0, "id": "x", "function": f("m", json!("{\"a\""))}]),
                json!([{"index": 0, "id": "x", "function": f("m", json!(":1}"))}]),
                json!([{"index": 0, "id": "x", "function": f("m", json!(""))}]),
            ],
            vec![whole("x", "m", &a)],
        ),
        (
            "arguments as an object, as null, and not at all",
            vec![json!([
                {"index": 0, "id": "x", "function": f("m", json!({"a": 1}))},
                {"index": 1, "id": "y", "function": f("n", Value::Null)},
                {"index": 2, "id": "z", "function": {"name": "o"}}
            ])],
            vec![whole("x", "m", &a), whole("y", "n", &json!({})), whole("z", "o", &json!({}))],
        ),
        (
            "two indexes with one id",
            vec![
                json!([{"index": 0, "id": "x", "function": f("m", json!("{}"))}, {"index": 1, "id": "x", "function": f("n", json!("{}"))}]),
            ],
            vec![whole("x", "m", &json!({})), whole("x", "n", &json!({}))],
        ),
    ];
    for (what, lists, mut expected) in cases {
        for reason in ["tool_calls", "stop"] {
            let mut frames: Vec<Value> = lists.iter().cloned().map(pieces).collect();
            frames.push(finish(reason));
            expected.push(stop(StopReason::ToolUse));
            assert_eq!(streamed(&frames, DONE), (expected.clone(), None), "{what}");
            expected.pop();
        }
    }
}

#[test]
fn the_older_function_call_is_a_call_too() {
    let frames = [
        delta(json!({"function_call": {"name": "m", "arguments": "{\"a\""}})),
        delta(json!({"function_call": {"arguments": ":1}"}})),
        finish("function_call"),
    ];
    assert_eq!(
        streamed(&frames, DONE),
        (vec![call("", "m", json!({"a": 1})), stop(StopReason::ToolUse)], None)
    );
}

#[test]
fn reasons_to_stop_are_told_apart_and_unknown_ones_are_no_success() {
    let cases = [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("tool_calls", StopReason::ToolUse),
        ("error", StopReason::Other("error".into())),
        ("eos_token", StopReason::Other("eos_token".into())),
        ("", StopReason::Other(String::new())),
    ];
    for (reason, expected) in cases {
        let frames = [delta(json!({"content": "hi"})), finish(reason)];
        let expected = (vec![text("hi"), stop(expected)], None);
        assert_eq!(streamed(&frames, DONE), expected, "{reason}");
        assert_eq!(streamed(&frames, ""), expected, "{reason} without an end mark");
    }
    let (_, error) = streamed(&[finish("insufficient_system_resource")], DONE);
    assert_eq!(error.unwrap().code(), "overloaded");
    let refused = [delta(json!({"refusal": "No."})), finish("stop")];
    assert_eq!(streamed(&refused, DONE), (vec![text("No."), stop(StopReason::Refusal)], None));
}

#[test]
fn calls_of_an_answer_that_was_cut_short_are_whole_or_partial() {
    let calls = json!([
        {"index": 0, "id": "x", "function": {"name": "m", "arguments": "{\"a\":1}"}},
        {"index": 1, "id": "y", "function": {"name": "n", "arguments": "{\"b"}},
        {"index": 2, "id": "z", "function": {"name": "o", "arguments": ""}}
    ]);
    let expected = vec![
        call("x", "m", json!({"a": 1})),
        partial("y", "n", "{\"b"),
        partial("z", "o", ""),
        stop(StopReason::MaxTokens),
    ];
    assert_eq!(streamed(&[pieces(calls), finish("length")], DONE), (expected, None));
}

#[test]
fn usage_comes_before_the_stop_and_its_last_word_counts() {
    let frame = |usage: Value| json!({"choices": [], "usage": usage});
    let cases = [
        (
            vec![
                frame(json!({"prompt_tokens": 5, "completion_tokens": 1})),
                frame(json!({"prompt_tokens": 5, "completion_tokens": 7})),
            ],
            Usage::new(5, 7),
        ),
        (
            vec![frame(
                json!({"prompt_tokens": 9, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
                              "completion_tokens_details": {"reasoning_tokens": 4}}),
            )],
            Usage { cached_tokens: 3, cache_write_tokens: 2, thinking_tokens: 4, ..Usage::new(9, 8) },
        ),
        (
            vec![frame(
                json!({"prompt_tokens": 9, "prompt_cache_hit_tokens": 6, "prompt_tokens_details": null}),
            )],
            Usage { cached_tokens: 6, ..Usage::new(9, 0) },
        ),
        (
            vec![json!({"choices": [], "x_groq": {"usage": {"prompt_tokens": 2, "completion_tokens": 3}}})],
            Usage::new(2, 3),
        ),
        (
            vec![frame(
                json!({"prompt_tokens": 1, "completion_tokens": -4, "prompt_tokens_details": {"cached_tokens": 99}}),
            )],
            Usage { cached_tokens: 1, ..Usage::new(1, 0) },
        ),
    ];
    for (after, usage) in cases {
        let mut frames = vec![finish("stop")];
        frames.extend(after);
        let expected = vec![Chunk::Usage(usage), stop(StopReason::EndTurn)];
        assert_eq!(streamed(&frames, DONE), (expected, None), "{frames:?}");
    }
}

#[test]
fn reasoning_is_shown_and_kept_in_the_field_in_which_it_came() {
    let kept = |text: &str, opaque: Value| {
        Chunk::Thought(Thought { provider: "p".into(), text: text.into(), opaque })
    };
    let detail = |text: &str, signature: Value| json!({"type": "reasoning.text", "index": 0, "text": text, "signature": signature});
    let cases = [
        (
            vec![json!({"reasoning_content": "a"}), json!({"reasoning_content": "b"})],
            vec![think("a"), think("b"), kept("ab", json!({"reasoning_content": "ab"}))],
        ),
        (
            vec![json!({"reasoning": "a", "reasoning_content": "a"}), json!({"reasoning": "b"})],
            vec![think("a"), think("b"), kept("ab", json!({"reasoning_content": "ab"}))],
        ),
        (vec![json!({"reasoning": "a"})], vec![think("a"), kept("a", json!({"reasoning": "a"}))]),
        (
            vec![
                json!({"reasoning": "a", "reasoning_details": [detail("a", Value::Null)]}),
                json!({"reasoning": "b", "reasoning_details": [detail("b", Value::Null)]}),
                json!({"reasoning_details": [detail("", json!("sig"))]}),
            ],
            vec![
                think("a"),
                think("b"),
                kept("ab", json!({"reasoning_details": [detail("ab", json!("sig"))]})),
            ],
        ),
        (
            vec![
                json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "s"}, {"type": "reasoning.encrypted", "data": "x"}]}),
            ],
            vec![
                think("s"),
                kept(
                    "",
                    json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "s"}, {"type": "reasoning.encrypted", "data": "x"}]}),
                ),
            ],
        ),
        (vec![json!({"reasoning": null, "reasoning_content": ""})], vec![]),
    ];
    for (deltas, mut expected) in cases {
        let mut frames: Vec<Value> = deltas.into_iter().map(delta).collect();
        frames.push(finish("stop"));
        let kept = expected.clone();
        expected.push(stop(StopReason::EndTurn));
        assert_eq!(streamed(&frames, DONE), (expected, None));
        let bytes = events(&frames) + DONE;
        let (chunks, _) =
            decoded(&OpenAiChatCodec, &request(vec![]), &target("openai"), Framing::Events, bytes.as_bytes());
        let mut unkept: Vec<Chunk> =
            kept.into_iter().filter(|chunk| !matches!(chunk, Chunk::Thought(_))).collect();
        unkept.push(stop(StopReason::EndTurn));
        assert_eq!(chunks, unkept, "where reasoning does not go back");
    }
}

#[test]
fn an_answer_that_comes_at_once_is_read_even_where_a_stream_was_asked_for() {
    let whole = |body: &str| {
        decoded(&OpenAiChatCodec, &request(vec![]), &target("openai"), Framing::Whole, body.as_bytes())
    };
    let message = json!({"content": "hi", "tool_calls": [{"id": "x", "function": {"name": "m", "arguments": {"a": 1}}}]});
    let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let expected = vec![
        text("hi"),
        Chunk::Usage(Usage::new(1, 2)),
        call("x", "m", json!({"a": 1})),
        stop(StopReason::ToolUse),
    ];
    assert_eq!(whole(&body.to_string()), (expected, None));
    let cases = [
        ("", "malformed"),
        ("{}", "malformed"),
        ("{\"choices\":[]}", "malformed"),
        ("{\"choices\":[{}]}", "cut_stream"),
        ("{\"error\":{\"message\":\"m\",\"code\":401}}", "auth"),
    ];
    for (body, code) in cases {
        assert_eq!(whole(body).1.unwrap().code(), code, "{body}");
    }
}

fn wanting(how: StructuredOutput) -> (ModelRequest, Target) {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}, "required": ["a"]});
    let request = ModelRequest {
        output_schema: Some(OutputSchema { name: "reply".into(), schema }),
        ..request(vec![])
    };
    let mut target = target("openai");
    target.capabilities.structured_output = how;
    (request, target)
}

#[test]
fn an_answer_of_a_given_shape_is_its_json_and_nothing_else() {
    let tool = |name: &str, arguments: &str| json!([{"index": 0, "id": "x", "function": {"name": name, "arguments": arguments}}]);
    let said = |words: &str| delta(json!({ "content": words }));
    let cases = [
        (
            StructuredOutput::Native,
            vec![said("{\"a\":\"x\","), said("\"n\":null}"), finish("stop")],
            vec![text("{\"a\":\"x\"}"), stop(StopReason::EndTurn)],
        ),
        (
            StructuredOutput::Native,
            vec![said("{\"a\":\"x"), finish("length")],
            vec![text("{\"a\":\"x"), stop(StopReason::MaxTokens)],
        ),
        (
            StructuredOutput::ByTool,
            vec![said("Here:"), pieces(tool("reply", "{\"a\":\"x\"}")), finish("tool_calls")],
            vec![text("{\"a\":\"x\"}"), stop(StopReason::EndTurn)],
        ),
        (
            StructuredOutput::ByTool,
            vec![said("Hm."), pieces(tool("read", "{}")), finish("tool_calls")],
            vec![text("Hm."), call("x", "read", json!({})), stop(StopReason::ToolUse)],
        ),
        (
            StructuredOutput::ByTool,
            vec![said("No."), finish("stop")],
            vec![text("No."), stop(StopReason::EndTurn)],
        ),
        (
            StructuredOutput::ByPrompt,
            vec![said("{}"), finish("stop")],
            vec![text("{}"), stop(StopReason::EndTurn)],
        ),
    ];
    for (how, frames, expected) in cases {
        let (request, target) = wanting(how);
        let bytes = events(&frames) + DONE;
        let outcome = decoded(&OpenAiChatCodec, &request, &target, Framing::Events, bytes.as_bytes());
        assert_eq!(outcome, (expected, None), "{how:?}");
    }
}

#[test]
fn a_think_block_in_the_text_of_a_local_server_is_thinking() {
    let said = |words: &str| delta(json!({ "content": words }));
    let kept = |words: &str| {
        let opaque = json!({ "reasoning_content": words });
        Chunk::Thought(Thought { provider: "p".into(), text: words.into(), opaque })
    };
    let frames =
        [said("\n<th"), said("ink>h"), said("m</thi"), said("nk>\n\nYes"), said("."), finish("stop")];
    let end = || stop(StopReason::EndTurn);
    let apart = vec![think("h"), think("m"), text("Yes"), text(".")];
    for dialect in ["vllm", "llama.cpp"] {
        let expected = [apart.clone(), vec![kept("hm"), end()]].concat();
        assert_eq!(streamed_as(dialect, &frames, DONE), (expected, None), "{dialect}");
    }
    let unkept = [apart, vec![end()]].concat();
    assert_eq!(streamed_as("lmstudio", &frames, DONE), (unkept, None));
    for dialect in ["openai", "azure", "openrouter", "deepseek", "groq", "mistral", "generic"] {
        let (chunks, _) = streamed_as(dialect, &frames, DONE);
        assert_eq!(chunks[0], text("\n<th"), "{dialect} has a field for reasoning");
    }
    let cases = [
        (
            vec![said("<think>never closed"), finish("length")],
            vec![think("never closed")],
            Some("never closed"),
        ),
        (vec![said("<thi"), finish("length")], vec![text("<thi")], None),
        (
            vec![delta(json!({"reasoning_content": "r", "content": "<think>"})), finish("length")],
            vec![think("r"), text("<think>")],
            Some("r"),
        ),
    ];
    for (frames, mut expected, thought) in cases {
        expected.extend(thought.map(kept));
        expected.push(stop(StopReason::MaxTokens));
        assert_eq!(streamed(&frames, DONE), (expected, None), "{frames:?}");
    }
    let (cut, error) = streamed(&[said("<think>hm</th")], "");
    assert_eq!((cut, error.unwrap().code()), (vec![think("hm"), think("</th")], "cut_stream"));
}

#[test]
fn thinking_among_the_parts_of_a_content_is_shown_as_such() {
    let parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes."}]);
    let frames = [delta(json!({ "content": parts })), finish("stop")];
    let expected = vec![think("hm"), text("Yes."), stop(StopReason::EndTurn)];
    assert_eq!(streamed_as("mistral", &frames, DONE), (expected, None));
}

#[test]
fn tools_that_the_server_ran_are_told_once() {
    let ran = |tool: Value| delta(json!({ "executed_tools": [tool] }));
    let frames = [
        ran(json!({"index": 0, "type": "search", "arguments": "{\"query\":\"rust\"}"})),
        ran(json!({"index": 0, "type": "search", "arguments": null, "output": "found"})),
        ran(json!({"index": 1, "type": "python", "arguments": "1+1"})),
        ran(json!("odd")),
        delta(json!({"content": "Yes.", "executed_tools": null})),
        finish("stop"),
    ];
    let expected = vec![
        text("Yes."),
        used("search", json!({"query": "rust"}), Some(json!("found"))),
        used("python", json!("1+1"), None),
        stop(StopReason::EndTurn),
    ];
    assert_eq!(streamed_as("groq", &frames, DONE), (expected, None));
}
