//! Answers of Gemini as chunks: every kind of part, every way to end, every cut, every fault.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{
    ChatMessage, ModelRequest, OutputSchema, PartialCall, ProviderToolUse, StopReason, Thought, Usage,
};
use harn_model::providers::gemini::GeminiCodec;
use harn_model::{Auth, Chunk, Framing, ModelError, Target};
use serde_json::{Value, json};
use support::{decoded, request};

type Decoded = (Vec<Chunk>, Option<ModelError>);

fn target() -> Target {
    Target::new("google", "gemini-3-pro-preview", "https://example.invalid", Auth::None)
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hi")])
}

fn events(responses: &[Value]) -> String {
    responses.iter().map(|one| format!("data: {one}\n\n")).collect()
}

fn decode(bytes: &[u8]) -> Decoded {
    decoded(&GeminiCodec, &hello(), &target(), Framing::Events, bytes)
}

fn stream(responses: &[Value]) -> Decoded {
    decode(events(responses).as_bytes())
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts}}]})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}]})
}

fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

fn stop(reason: StopReason) -> Chunk {
    Chunk::Stop(reason)
}

fn call(id: &str) -> Chunk {
    Chunk::ToolCall { id: id.into(), name: "look".into(), args: json!({"a": 1}).as_object().unwrap().clone() }
}

fn layout(text: &str, parts: Value) -> Chunk {
    Chunk::Thought(Thought {
        provider: "google".into(),
        text: text.into(),
        opaque: json!({ "parts": parts }),
    })
}

fn other(word: &str) -> StopReason {
    StopReason::Other(word.into())
}

fn cut() -> Option<ModelError> {
    Some(ModelError::CutStream { message: "the answer ended without a finish reason".into() })
}

#[test]
fn an_answer_ends_as_its_finish_reason_says() {
    let called = json!([{"functionCall": {"name": "look", "args": {"a": 1}}}]);
    let said = json!([{"text": "t"}]);
    let cases = [
        ("STOP", &said, StopReason::EndTurn),
        ("STOP", &called, StopReason::ToolUse),
        ("MAX_TOKENS", &said, StopReason::MaxTokens),
        ("MAX_TOKENS", &called, StopReason::MaxTokens),
        ("SAFETY", &said, StopReason::Refusal),
        ("SAFETY", &called, StopReason::Refusal),
        ("RECITATION", &said, StopReason::Refusal),
        ("BLOCKLIST", &said, StopReason::Refusal),
        ("PROHIBITED_CONTENT", &said, StopReason::Refusal),
        ("SPII", &said, StopReason::Refusal),
        ("IMAGE_SAFETY", &said, StopReason::Refusal),
        ("MALFORMED_FUNCTION_CALL", &said, other("MALFORMED_FUNCTION_CALL")),
        ("UNEXPECTED_TOOL_CALL", &called, other("UNEXPECTED_TOOL_CALL")),
        ("FINISH_REASON_UNSPECIFIED", &said, other("FINISH_REASON_UNSPECIFIED")),
        ("stop", &said, other("stop")),
        ("", &said, other("")),
    ];
    for (reason, all, expected) in cases {
        let content = if all == &called { call("") } else { text("t") };
        assert_eq!(
            stream(&[parts(all.clone()), finish(reason)]),
            (vec![content, stop(expected)], None),
            "{reason}"
        );
    }
    let broken =
        json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "look(a=)"}]});
    let partial = PartialCall { id: String::new(), name: String::new(), raw: "look(a=)".into() };
    let expected = vec![Chunk::PartialCall(partial), stop(other("MALFORMED_FUNCTION_CALL"))];
    assert_eq!(stream(&[broken]), (expected, None));
}

#[test]
fn every_kind_of_part_is_read() {
    let look = |id: Value| json!({"functionCall": {"name": "look", "args": {"a": 1}, "id": id}});
    let mut signed = look(Value::Null);
    signed["thoughtSignature"] = json!("s");
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1+1"}});
    let done = json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}});
    let ran = |input: Value, output: Option<Value>| {
        Chunk::ProviderTool(ProviderToolUse { name: "code_execution".into(), input, output })
    };
    let (ran_code, result) = (code["executableCode"].clone(), done["codeExecutionResult"].clone());
    let searching = json!({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "args": {"queries": ["q"]}}, "thoughtSignature": "s"});
    let found =
        json!({"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "response": {"hits": 2}}});
    let searched = |output: Option<Value>| {
        let (name, input) = ("google_search_web".into(), json!({"queries": ["q"]}));
        Chunk::ProviderTool(ProviderToolUse { name, input, output })
    };
    let cases = [
        (json!([{"text": "a"}, {"text": ""}, {"text": "b"}]), vec![text("a"), text("b")]),
        (
            json!([{"text": "h", "thought": true}, {"text": "m", "thought": true}, {"text": "a"}]),
            vec![
                Chunk::Thinking("h".into()),
                Chunk::Thinking("m".into()),
                text("a"),
                layout("hm", json!([{"part": {"text": "hm", "thought": true}}, {"text": {"bytes": 1}}])),
            ],
        ),
        (
            json!([{"text": "h", "thought": true, "thoughtSignature": "s"}, {"text": "m", "thought": true}]),
            vec![
                Chunk::Thinking("h".into()),
                Chunk::Thinking("m".into()),
                layout(
                    "hm",
                    json!([
                        {"part": {"text": "h", "thought": true, "thoughtSignature": "s"}},
                        {"part": {"text": "m", "thought": true}},
                    ]),
                ),
            ],
        ),
        (
            json!([{"text": "a"}, {"text": "b", "thoughtSignature": "s"}, {"text": "c"}, {"thoughtSignature": "t"}]),
            vec![
                text("a"),
                text("b"),
                text("c"),
                layout(
                    "",
                    json!([
                        {"text": {"bytes": 1}},
                        {"text": {"bytes": 1, "signature": "s"}},
                        {"text": {"bytes": 1}},
                        {"text": {"bytes": 0, "signature": "t"}},
                    ]),
                ),
            ],
        ),
        (json!([look(Value::Null), look(json!(""))]), vec![call(""), call("")]),
        (
            json!([signed, look(json!("x")), look(json!("x")), {"text": "after"}]),
            vec![
                call(""),
                call("x"),
                call("x"),
                text("after"),
                layout(
                    "",
                    json!([
                        {"call": {"signature": "s"}}, {"call": {"id": "x"}}, {"call": {}}, {"text": {"bytes": 5}},
                    ]),
                ),
            ],
        ),
        (
            json!([code, done, code, {"text": "a"}]),
            vec![
                ran(ran_code.clone(), Some(result.clone())),
                text("a"),
                ran(ran_code.clone(), None),
                layout("", json!([{"part": code}, {"part": done}, {"part": code}, {"text": {"bytes": 1}}])),
            ],
        ),
        (json!([done]), vec![ran(Value::Null, Some(result)), layout("", json!([{"part": done}]))]),
        (
            json!([searching, found, searching]),
            vec![
                searched(Some(json!({"hits": 2}))),
                searched(None),
                layout("", json!([{"part": searching}, {"part": found}, {"part": searching}])),
            ],
        ),
        (
            json!([{"divinationCall": {"orb": 1}}]),
            vec![
                Chunk::ProviderTool(ProviderToolUse {
                    name: "divinationCall".into(),
                    input: json!({"orb": 1}),
                    output: None,
                }),
                layout("", json!([{"part": {"divinationCall": {"orb": 1}}}])),
            ],
        ),
        (json!([{"newPart": {"x": 1}}]), vec![layout("", json!([{"part": {"newPart": {"x": 1}}}]))]),
        (json!([{}]), vec![]),
    ];
    for (all, mut expected) in cases {
        let is_called = expected.iter().any(|chunk| matches!(chunk, Chunk::ToolCall { .. }));
        expected.push(stop(if is_called { StopReason::ToolUse } else { StopReason::EndTurn }));
        assert_eq!(stream(&[parts(all.clone()), finish("STOP")]), (expected.clone(), None), "{all}");
        let mut whole = parts(all.clone());
        whole["candidates"][0]["finishReason"] = json!("STOP");
        let body = whole.to_string();
        let found = decoded(&GeminiCodec, &hello(), &target(), Framing::Whole, body.as_bytes());
        assert_eq!(found, (expected, None), "{all}");
    }
}

#[test]
fn grounding_and_counts_are_told_once_at_the_end() {
    let found = json!({"webSearchQueries": ["q"], "groundingChunks": []});
    let pages = json!({"urlMetadata": [{"retrievedUrl": "https://a"}]});
    let count = |counts: Value| json!({ "usageMetadata": counts });
    let tool = |name: &str, input: Value, output: &Value| {
        Chunk::ProviderTool(ProviderToolUse { name: name.into(), input, output: Some(output.clone()) })
    };
    let responses = [
        count(json!({"promptTokenCount": 10, "thoughtsTokenCount": 2})),
        json!({"candidates": [{"groundingMetadata": {}, "finishReason": "STOP"}]}),
        json!({"candidates": [{"groundingMetadata": found, "urlContextMetadata": pages}]}),
        count(json!({"promptTokenCount": 11, "candidatesTokenCount": 4, "thoughtsTokenCount": 3})),
        count(
            json!({"cachedContentTokenCount": 6, "toolUsePromptTokenCount": 5, "candidatesTokenCount": "x"}),
        ),
    ];
    let usage = Usage { cached_tokens: 6, thinking_tokens: 3, ..Usage::new(16, 3) };
    let expected = vec![
        tool("google_search", json!({"queries": ["q"]}), &found),
        tool("url_context", Value::Null, &pages),
        Chunk::Usage(usage),
        stop(StopReason::EndTurn),
    ];
    assert_eq!(stream(&responses), (expected, None));
    // What a part has told already is not told again.
    let call = parts(json!([{"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "args": {}}}]));
    let (chunks, _) = stream(&[vec![call], responses.to_vec()].concat());
    let told = |chunk: &&Chunk| matches!(chunk, Chunk::ProviderTool(_));
    assert_eq!(chunks.iter().filter(told).count(), 1, "{chunks:?}");
    let huge = count(
        json!({"promptTokenCount": u64::MAX, "toolUsePromptTokenCount": 1, "candidatesTokenCount": -1}),
    );
    let expected = vec![Chunk::Usage(Usage::new(u64::MAX, 0)), stop(StopReason::EndTurn)];
    assert_eq!(stream(&[finish("STOP"), huge]), (expected, None));
}

#[test]
fn an_answer_by_a_tool_is_text() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let asked = ModelRequest { output_schema: Some(OutputSchema { name: "form".into(), schema }), ..hello() };
    let form = json!({"functionCall": {"name": "form", "args": {"n": 1}}});
    let look = json!({"functionCall": {"name": "look", "args": {"a": 1}}});
    let cases = [
        (json!([form]), vec![text("{\"n\":1}"), stop(StopReason::EndTurn)]),
        (json!([form, look]), vec![text("{\"n\":1}"), call(""), stop(StopReason::ToolUse)]),
    ];
    for (all, expected) in cases {
        let bytes = events(&[parts(all), finish("STOP")]);
        let found = decoded(&GeminiCodec, &asked, &target(), Framing::Events, bytes.as_bytes());
        assert_eq!(found, (expected, None));
    }
}

#[test]
fn a_cut_at_any_byte_is_never_a_whole_answer_and_loses_nothing_before_it() {
    let responses = [
        parts(json!([{"text": "ä€"}])),
        parts(json!([{"functionCall": {"name": "look", "args": {"a": 1}}}])),
        json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}}),
    ];
    let bytes = events(&responses).into_bytes();
    let ends: Vec<usize> = (1..=3).map(|count| events(&responses[..count]).len()).collect();
    for at in 0..=bytes.len() {
        let expected = match ends.iter().filter(|end| **end <= at).count() {
            0 => (vec![], cut()),
            1 => (vec![text("ä€")], cut()),
            2 => (vec![text("ä€"), call("")], cut()),
            _ => {
                let usage = Chunk::Usage(Usage::new(3, 0));
                (vec![text("ä€"), call(""), usage, stop(StopReason::ToolUse)], None)
            }
        };
        assert_eq!(decode(&bytes[..at]), expected, "{at} of {}", bytes.len());
    }
    let whole = responses[2].to_string();
    for at in 0..whole.len() {
        let (chunks, error) =
            decoded(&GeminiCodec, &hello(), &target(), Framing::Whole, &whole.as_bytes()[..at]);
        assert_eq!((chunks, error.unwrap().code()), (vec![], "malformed"), "{at}");
    }
}

#[test]
fn what_cannot_be_understood_is_an_error_even_after_a_finish_reason() {
    let function = |call: Value| parts(json!([{ "functionCall": call }]));
    let partial = |raw: &str| {
        vec![Chunk::PartialCall(PartialCall { id: String::new(), name: "look".into(), raw: raw.into() })]
    };
    let cases = [
        (json!("words"), vec![], "malformed"),
        (json!([]), vec![], "malformed"),
        (json!({"candidates": 5}), vec![], "malformed"),
        (json!({"candidates": [{"content": {"parts": ["x"]}}]}), vec![], "malformed"),
        (json!({"candidates": [{"finishReason": 1}]}), vec![], "malformed"),
        (function(json!({"args": {}})), vec![], "malformed"),
        (function(json!("x")), vec![], "malformed"),
        (function(json!({"name": "look", "args": [1]})), partial("[1]"), "malformed"),
        (function(json!({"name": "look", "args": "{\"a\": "})), partial("{\"a\": "), "malformed"),
        (json!({"promptFeedback": {"blockReason": "SAFETY"}}), vec![], "content_filter"),
        (json!({"promptFeedback": {"blockReason": "A_NEW_ONE"}, "candidates": []}), vec![], "content_filter"),
        (json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}), vec![], "overloaded"),
        (json!({"error": {"code": 429, "message": "m"}}), vec![], "rate_limited"),
        (json!({"error": {"status": "RESOURCE_EXHAUSTED"}}), vec![], "rate_limited"),
        (json!({"error": {"status": "INVALID_ARGUMENT"}}), vec![], "invalid_request"),
        (json!({"error": {"code": 400, "message": "API key expired."}}), vec![], "auth"),
        (json!({"error": {"code": 70_000}}), vec![], "overloaded"),
        (json!({"error": "words"}), vec![], "overloaded"),
    ];
    for (fault, expected, code) in cases {
        for before in [vec![], vec![finish("STOP")]] {
            let (chunks, error) = stream(&[before, vec![fault.clone()]].concat());
            assert_eq!((chunks, error.unwrap().code()), (expected.clone(), code), "{fault}");
        }
    }
    assert_eq!(decode(b"data: {\"candidates\n\n").1.unwrap().code(), "malformed");
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    assert_eq!(decode(deep.as_bytes()).1.unwrap().code(), "malformed");
}

#[test]
fn what_is_unknown_or_empty_does_no_harm() {
    let responses = [
        json!({}),
        json!({"candidates": null, "usageMetadata": null, "error": null, "promptFeedback": null, "new": 1}),
        json!({"candidates": [], "promptFeedback": {"safetyRatings": []}}),
        json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "no"}]}, "finishReason": "SAFETY"}]}),
        json!({"candidates": [{"content": null}, {"content": {"role": "model"}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "yes", "videoMetadata": {}, "new": 1}]}, "avgLogprobs": 1}]}),
        finish("STOP"),
    ];
    let bytes = format!(": ping\n\nevent: x\nid: 5\n{}data: [DONE]\n\n", events(&responses));
    assert_eq!(decode(bytes.as_bytes()), (vec![text("yes"), stop(StopReason::EndTurn)], None));
    let nothing = decoded(&GeminiCodec, &hello(), &target(), Framing::Whole, b"{}");
    assert_eq!(nothing, (vec![], cut()));
}
