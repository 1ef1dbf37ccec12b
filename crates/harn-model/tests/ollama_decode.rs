//! Answers of Ollama as chunks: every way to end, every cut, every fault.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, ModelRequest, OutputSchema, PartialCall, StopReason, Thought, Usage};
use harn_core::tool::{Annotations, Class, SideEffect, ToolSpec};
use harn_model::providers::ollama::OllamaCodec;
use harn_model::{Auth, Chunk, Framing, ModelError, Target};
use serde_json::{Value, json};
use support::{decoded, request};

fn target() -> Target {
    Target::new("ollama", "qwen3", "http://example.invalid", Auth::None)
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hi")])
}

fn decode(bytes: &[u8]) -> (Vec<Chunk>, Option<ModelError>) {
    decoded(&OllamaCodec, &hello(), &target(), Framing::Lines, bytes)
}

fn lines(all: &[Value]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

fn stream(all: &[Value]) -> (Vec<Chunk>, Option<ModelError>) {
    decode(lines(all).as_bytes())
}

fn said(message: Value) -> Value {
    json!({"message": message, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"done": true, "done_reason": reason})
}

fn look(call: Value) -> Value {
    said(json!({"content": "", "tool_calls": [call]}))
}

fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

fn call(id: &str, args: Value) -> Chunk {
    Chunk::ToolCall { id: id.into(), name: "look".into(), args: args.as_object().unwrap().clone() }
}

fn cut() -> Option<ModelError> {
    let message = "the answer ended before Ollama said that it is done".into();
    Some(ModelError::CutStream { message })
}

#[test]
fn an_answer_ends_as_its_reason_says() {
    let called = look(json!({"function": {"name": "look", "arguments": {}}}));
    let words = said(json!({"content": "t"}));
    let other = |word: &str| StopReason::Other(word.into());
    let cases = [
        (done("stop"), &words, StopReason::EndTurn),
        (done("stop"), &called, StopReason::ToolUse),
        (json!({"done": true}), &words, StopReason::EndTurn),
        (json!({"done": true, "done_reason": null}), &called, StopReason::ToolUse),
        (done("length"), &words, StopReason::MaxTokens),
        (done("length"), &called, StopReason::MaxTokens),
        (done("load"), &words, other("load")),
        (done("unload"), &words, other("unload")),
        (done("a new one"), &called, other("a new one")),
    ];
    for (end, content, stop) in cases {
        let chunk = if content == &called { call("", json!({})) } else { text("t") };
        assert_eq!(stream(&[content.clone(), end.clone()]), (vec![chunk, Chunk::Stop(stop)], None), "{end}");
    }
}

#[test]
fn pieces_of_every_kind_are_read() {
    let function =
        |arguments: Value| json!({"function": {"index": 0, "name": "look", "arguments": arguments}});
    let mut with_id = function(json!({"a": {"b": [1]}}));
    with_id["id"] = json!("x");
    let all = [
        said(json!({"role": "assistant", "content": "", "thinking": "h"})),
        said(json!({"role": "assistant", "content": null, "thinking": "m"})),
        said(json!({"role": "assistant", "content": "a", "thinking": ""})),
        said(json!({"content": "b", "tool_calls": [with_id, with_id, function(Value::Null)]})),
        said(json!({"content": "", "tool_calls": [function(json!("{\"a\":2}"))], "images": null, "new": 1})),
        json!({"message": {"content": "c"}, "done": true, "done_reason": "stop", "prompt_eval_count": 9,
               "eval_count": 4, "eval_duration": 1, "new": {}}),
    ];
    let nested = || json!({"a": {"b": [1]}});
    let expected = vec![
        Chunk::Thinking("h".into()),
        Chunk::Thinking("m".into()),
        text("a"),
        text("b"),
        call("x", nested()),
        call("x", nested()),
        call("", json!({})),
        call("", json!({"a": 2})),
        text("c"),
        Chunk::Usage(Usage::new(9, 4)),
        Chunk::Thought(Thought {
            provider: "ollama".into(),
            text: "hm".into(),
            opaque: json!({"thinking": "hm"}),
        }),
        Chunk::Stop(StopReason::ToolUse),
    ];
    assert_eq!(stream(&all), (expected, None));
    let odd =
        json!({"message": null, "done": true, "prompt_eval_count": -1, "eval_count": "x", "error": null});
    assert_eq!(stream(&[odd]), (vec![Chunk::Stop(StopReason::EndTurn)], None));
}

#[test]
fn a_think_block_in_the_text_is_thinking_where_there_is_no_field_for_it() {
    let words = |content: &str| said(json!({ "content": content }));
    let think = |words: &str| Chunk::Thinking(words.into());
    let thought = |words: &str| {
        let opaque = json!({ "thinking": words });
        Chunk::Thought(Thought { provider: "ollama".into(), text: words.into(), opaque })
    };
    let field = said(json!({"thinking": "hm", "content": "<think>x</think>"}));
    let cases = [
        (
            vec![words("<thi"), words("nk>\nhm</think>"), words("\n\nYes.")],
            vec![think("hm"), text("Yes."), thought("hm")],
        ),
        (vec![words("<think>never closed")], vec![think("never closed"), thought("never closed")]),
        (vec![words("a <think>b</think>")], vec![text("a <think>b</think>")]),
        (vec![words("<th")], vec![text("<th")]),
        (vec![field], vec![think("hm"), text("<think>x</think>"), thought("hm")]),
    ];
    for (mut frames, mut expected) in cases {
        frames.push(done("stop"));
        expected.push(Chunk::Stop(StopReason::EndTurn));
        assert_eq!(stream(&frames), (expected, None), "{frames:?}");
    }
    assert_eq!(stream(&[words("<think>hm</")]), (vec![think("hm"), think("</")], cut()));
}

#[test]
fn an_answer_by_a_tool_is_text() {
    let tool = ToolSpec {
        name: "look".into(),
        description: String::new(),
        input_schema: json!({}),
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::None,
        annotations: Annotations::default(),
    };
    let form = OutputSchema { name: "form".into(), schema: json!({"type": "object"}) };
    let asked = ModelRequest { tools: [tool].into(), output_schema: Some(form), ..hello() };
    let answer = look(json!({"function": {"name": "form", "arguments": {"n": 1}}}));
    let bytes = lines(&[answer, done("stop")]);
    let found = decoded(&OllamaCodec, &asked, &target(), Framing::Lines, bytes.as_bytes());
    assert_eq!(found, (vec![text("{\"n\":1}"), Chunk::Stop(StopReason::EndTurn)], None));
}

#[test]
fn a_cut_at_any_byte_is_never_a_whole_answer_and_loses_nothing_before_it() {
    let all = [
        said(json!({"content": "ä€"})),
        look(json!({"function": {"name": "look", "arguments": {}}})),
        json!({"done": true, "done_reason": "stop", "prompt_eval_count": 3}),
    ];
    let bytes = lines(&all).into_bytes();
    // A line that misses nothing but its end is whole.
    let ends: Vec<usize> = (1..=3).map(|count| lines(&all[..count]).len() - 1).collect();
    let whole =
        [text("ä€"), call("", json!({})), Chunk::Usage(Usage::new(3, 0)), Chunk::Stop(StopReason::ToolUse)];
    for at in 0..=bytes.len() {
        let expected = match ends.iter().filter(|end| **end <= at).count() {
            3 => (whole.to_vec(), None),
            count => (whole[..count].to_vec(), cut()),
        };
        assert_eq!(decode(&bytes[..at]), expected, "{at} of {}", bytes.len());
    }
    let body = all[2].to_string();
    for at in 0..body.len() {
        let (chunks, error) =
            decoded(&OllamaCodec, &hello(), &target(), Framing::Whole, &body.as_bytes()[..at]);
        assert_eq!((chunks, error.unwrap().code()), (vec![], "malformed"), "{at}");
    }
    let found = decoded(&OllamaCodec, &hello(), &target(), Framing::Whole, body.as_bytes());
    assert_eq!(
        found,
        (whole[2..3].iter().cloned().chain([Chunk::Stop(StopReason::EndTurn)]).collect(), None)
    );
}

#[test]
fn what_cannot_be_understood_is_an_error() {
    let function = |function: Value| look(json!({ "function": function }));
    let partial = |raw: &str| {
        vec![Chunk::PartialCall(PartialCall { id: String::new(), name: "look".into(), raw: raw.into() })]
    };
    let missing = "model \"x\" not found, try pulling it first";
    let cases = [
        (json!("words"), vec![], "malformed"),
        (json!(5), vec![], "malformed"),
        (json!({"message": "words"}), vec![], "malformed"),
        (json!({"message": {"content": 5}}), vec![], "malformed"),
        (json!({"message": {"tool_calls": {}}}), vec![], "malformed"),
        (json!({"done": "yes"}), vec![], "malformed"),
        (look(json!("x")), vec![], "malformed"),
        (function(json!({"arguments": {}})), vec![], "malformed"),
        (function(json!({"name": "look", "arguments": [1]})), partial("[1]"), "malformed"),
        (function(json!({"name": "look", "arguments": "{\"a\""})), partial("{\"a\""), "malformed"),
        (json!({"error": "llama runner process no longer running"}), vec![], "overloaded"),
        (json!({"error": "unexpected", "done": true, "done_reason": "stop"}), vec![], "overloaded"),
        (json!({"error": {"message": "exceeds the available context size"}}), vec![], "context_too_long"),
        (json!({"error": missing}), vec![], "not_found"),
    ];
    for (fault, expected, code) in cases {
        let first = said(json!({"content": "t"}));
        let (chunks, error) = stream(&[first, fault.clone(), done("stop")]);
        assert_eq!((chunks, error.unwrap().code()), ([vec![text("t")], expected].concat(), code), "{fault}");
    }
    assert_eq!(decode(b"{\"done\": tru\n").1.unwrap().code(), "malformed");
    assert_eq!(decode(format!("{}\n", "[".repeat(100_000)).as_bytes()).1.unwrap().code(), "malformed");
    assert_eq!(stream(&[json!({})]), (vec![], cut()));
}
