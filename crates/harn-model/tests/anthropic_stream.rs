//! Answers in Anthropic's form, read without any socket: what each event means, and every way in which they go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use futures::stream;
use harn_core::chat::{
    ChatMessage, ModelAnswer, ModelRequest, OutputSchema, PartialCall, ProviderToolUse, StopReason, Thought,
    Usage,
};
use harn_core::tool::ToolCall;
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{Auth, Chunk, Framing, ModelError, Target, collect};
use harn_testkit::providers::anthropic as fake;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{decoded, request};

fn target() -> Target {
    Target::new("anthropic", "claude-x", "https://api.anthropic.com", Auth::None)
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn sse(events: &[Value]) -> Vec<u8> {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("none"));
    events.iter().map(event).collect::<String>().into_bytes()
}

fn read(request: &ModelRequest, events: &[Value]) -> (Vec<Chunk>, Option<ModelError>) {
    decoded(&AnthropicCodec, request, &target(), Framing::Events, &sse(events))
}

fn read_whole(request: &ModelRequest, message: &Value) -> (Vec<Chunk>, Option<ModelError>) {
    decoded(&AnthropicCodec, request, &target(), Framing::Whole, message.to_string().as_bytes())
}

async fn answer((chunks, error): (Vec<Chunk>, Option<ModelError>)) -> Result<ModelAnswer, ModelError> {
    collect(stream::iter(chunks.into_iter().map(Ok).chain(error.map(Err)))).await
}

fn message(content: Value, stop_reason: &str) -> Value {
    json!({"type": "message", "content": content, "stop_reason": stop_reason,
           "usage": {"input_tokens": 10, "output_tokens": 25}})
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), args: args.as_object().unwrap().clone() }
}

fn thought(block: &Value, text: &str, after_text: usize, after_calls: usize) -> Thought {
    let opaque = json!({"block": block, "after_text": after_text, "after_calls": after_calls});
    Thought { provider: "anthropic".into(), text: text.into(), opaque }
}

/// An answer with everything in it.
fn rich() -> (Value, ModelAnswer) {
    let thinking = json!({"type": "thinking", "thinking": "Let me see.", "signature": "sig=="});
    let hidden = json!({"type": "redacted_thinking", "data": "encrypted"});
    let searching =
        json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "rust"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srv_1",
                       "content": [{"type": "web_search_result", "encrypted_content": "xyz"}]});
    let mut message = message(
        json!([
            thinking, hidden,
            {"type": "text", "text": "Grüße, I look: "},
            searching, found,
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt", "deep": {"n": [1, 2.5]}}},
            {"type": "tool_use", "id": "toolu_2", "name": "list_dir", "input": {}},
        ]),
        "tool_use",
    );
    message["usage"] = json!({"input_tokens": 10, "cache_creation_input_tokens": 300,
                              "cache_read_input_tokens": 2000, "output_tokens": 25});
    let text = "Grüße, I look: ";
    let used = ProviderToolUse {
        name: "web_search".into(),
        input: json!({"query": "rust"}),
        output: Some(found["content"].clone()),
    };
    let expected = ModelAnswer {
        text: text.into(),
        thinking: "Let me see.".into(),
        thoughts: vec![
            thought(&thinking, "Let me see.", 0, 0),
            thought(&hidden, "", 0, 0),
            thought(&searching, "", text.len(), 0),
            thought(&found, "", text.len(), 0),
        ],
        tool_calls: vec![
            call("toolu_1", "read_file", json!({"path": "a.txt", "deep": {"n": [1, 2.5]}})),
            call("toolu_2", "list_dir", json!({})),
        ],
        provider_tools: vec![used],
        usage: Usage { cached_tokens: 2000, cache_write_tokens: 300, ..Usage::new(2310, 25) },
        ..ModelAnswer::stopped(StopReason::ToolUse)
    };
    (message, expected)
}

#[tokio::test]
async fn a_streamed_answer_and_a_whole_one_are_the_same() {
    let (message, expected) = rich();
    assert_eq!(answer(read_whole(&hello(), &message)).await, Ok(expected.clone()));
    assert_eq!(answer(read(&hello(), &fake::events(&message))).await, Ok(expected));
}

#[test]
fn text_and_thinking_arrive_in_pieces() {
    let content = json!([{"type": "thinking", "thinking": "a thought", "signature": "s"},
                         {"type": "text", "text": "some text"}]);
    let (chunks, error) = read(&hello(), &fake::events(&message(content.clone(), "end_turn")));
    let expected = vec![
        Chunk::Usage(Usage::new(10, 1)),
        Chunk::Thinking("a thoug".into()),
        Chunk::Thinking("ht".into()),
        Chunk::Thought(thought(&content[0], "a thought", 0, 0)),
        Chunk::Text("some te".into()),
        Chunk::Text("xt".into()),
        Chunk::Usage(Usage::new(0, 24)),
        Chunk::Stop(StopReason::EndTurn),
    ];
    assert_eq!((chunks, error), (expected, None));
}

#[test]
fn stop_reasons_are_put_into_our_words_and_unknown_ones_are_no_success() {
    let cases = [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Other("pause_turn".into())),
        ("a_novelty", StopReason::Other("a_novelty".into())),
    ];
    for (word, expected) in cases {
        let message = message(json!([{"type": "text", "text": "a"}]), word);
        for (chunks, error) in [read(&hello(), &fake::events(&message)), read_whole(&hello(), &message)] {
            assert_eq!((chunks.last(), error), (Some(&Chunk::Stop(expected.clone())), None), "{word}");
        }
    }
}

#[test]
fn a_cut_at_any_byte_is_a_cut_and_never_half_a_success() {
    let (message, _) = rich();
    let bytes = sse(&fake::events(&message));
    let request = hello();
    let cut = |at: usize| decoded(&AnthropicCodec, &request, &target(), Framing::Events, &bytes[..at]);
    let (whole, none) = cut(bytes.len());
    assert_eq!(none, None);
    for at in 0..bytes.len() {
        let (chunks, error) = cut(at);
        assert_eq!(error.as_ref().map(ModelError::code), Some("cut_stream"), "cut at {at}");
        let arrived: Vec<_> = chunks.iter().filter(|chunk| !matches!(chunk, Chunk::PartialCall(_))).collect();
        assert!(whole.iter().zip(&arrived).all(|(a, b)| a == *b), "cut at {at}: {arrived:?}");
    }
}

#[tokio::test]
async fn a_call_that_was_cut_is_told_as_far_as_it_came() {
    let events = fake::events(&message(
        json!([{"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": {"path": "a.txt"}}]),
        "tool_use",
    ));
    let read = read(&hello(), &events[..3]);
    let partial = PartialCall { id: "toolu_1".into(), name: "write_file".into(), raw: "{\"path\"".into() };
    assert_eq!(read.0.last(), Some(&Chunk::PartialCall(partial)));
    let error = answer(read).await.unwrap_err();
    assert_eq!(error.code(), "cut_stream");
    assert!(error.message().ends_with("the call of `write_file` got as far as `{\"path\"`"), "{error}");
}

#[test]
fn arguments_that_are_no_object_are_kept_and_refused_unless_the_limit_cut_them() {
    let partial =
        |raw: &str| Chunk::PartialCall(PartialCall { id: "t".into(), name: "n".into(), raw: raw.into() });
    let cases = [
        ("{\"a\": ", "tool_use", Some("malformed")),
        ("[1]", "tool_use", Some("malformed")),
        ("{\"a\": ", "end_turn", Some("malformed")),
        ("{\"a\": ", "max_tokens", None),
    ];
    for (raw, stop, code) in cases {
        let content = json!([{"type": "tool_use", "id": "t", "name": "n", "input": raw}]);
        let (chunks, error) = read(&hello(), &fake::events(&message(content, stop)));
        assert_eq!(error.as_ref().map(ModelError::code), code, "{raw} {stop}");
        assert!(chunks.contains(&partial(raw)), "{chunks:?}");
        assert_eq!(matches!(chunks.last(), Some(Chunk::Stop(_))), code.is_none());
    }
}

#[tokio::test]
async fn ids_that_are_missing_or_doubled_become_unique() {
    let tool = |id: Value| json!({"type": "tool_use", "id": id, "name": "n", "input": {}});
    let content = json!([tool(json!("t")), tool(json!("t")), tool(Value::Null), tool(json!(7))]);
    let answer = answer(read(&hello(), &fake::events(&message(content, "tool_use")))).await.unwrap();
    let ids: Vec<_> = answer.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["t", "t_2", "call", "call_2"]);
}

#[test]
fn events_out_of_order_or_form_are_errors_and_unknown_ones_are_not() {
    let start =
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}});
    let stop = json!({"type": "message_stop"});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let fail = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "why"}});
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let begin = |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let cases = [
        (vec![start.clone(), end.clone(), stop.clone()], None),
        (vec![end.clone(), stop.clone()], None),
        (vec![stop.clone()], Some("malformed")),
        (vec![start.clone(), stop.clone()], Some("malformed")),
        (vec![end.clone()], Some("cut_stream")),
        (vec![fail("overloaded_error")], Some("overloaded")),
        (vec![start, fail("api_error"), end.clone(), stop.clone()], Some("overloaded")),
        (vec![fail("rate_limit_error")], Some("rate_limited")),
        (vec![fail("invalid_request_error")], Some("invalid_request")),
        (vec![fail("a_novelty")], Some("overloaded")),
        (vec![json!({"type": "error"})], Some("overloaded")),
        (vec![delta(json!({"type": "input_json_delta", "partial_json": "{"}))], Some("malformed")),
        (vec![delta(json!({"type": "text_delta", "text": 5}))], Some("malformed")),
        (vec![json!({"type": "message_start", "message": "none"})], Some("malformed")),
        (vec![json!([1, 2])], Some("malformed")),
        (vec![json!({"type": "novelty", "delta": 5}), end.clone(), stop.clone()], None),
        (
            vec![
                begin(json!({"type": "novelty"})),
                delta(json!({"type": "novel_delta"})),
                end.clone(),
                stop.clone(),
            ],
            None,
        ),
        (vec![begin(json!({})), delta(json!({"type": "citations_delta", "citation": {}})), end, stop], None),
    ];
    for (events, code) in cases {
        let (_, error) = read(&hello(), &events);
        assert_eq!(error.as_ref().map(ModelError::code), code, "{events:?}");
    }
}

#[test]
fn bodies_that_are_no_message_are_errors() {
    let cases = [
        ("", "malformed"),
        ("{}", "malformed"),
        ("{\"content\": 5}", "malformed"),
        ("{\"content\": [5], \"stop_reason\": \"end_turn\"}", "malformed"),
        (
            "{\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"x\"}}",
            "overloaded",
        ),
    ];
    for (body, code) in cases {
        let (_, error) = decoded(&AnthropicCodec, &hello(), &target(), Framing::Whole, body.as_bytes());
        assert_eq!(error.map(|error| error.code()), Some(code), "{body}");
    }
}

#[tokio::test]
async fn an_answer_of_a_given_shape_comes_as_text() {
    let mut request = hello();
    request.output_schema = Some(OutputSchema { name: "number".into(), schema: json!({"type": "object"}) });
    let tool =
        |name: &str, input: Value| json!({"type": "tool_use", "id": "t", "name": name, "input": input});
    let number = || tool("number", json!({"n": 5}));
    let cases = [
        (json!([number()]), "{\"n\":5}", 0, StopReason::EndTurn),
        (json!([tool("other", json!({}))]), "", 1, StopReason::ToolUse),
        (json!([number(), tool("other", json!({}))]), "{\"n\":5}", 1, StopReason::ToolUse),
    ];
    for (content, text, calls, stop) in cases {
        let got = answer(read(&request, &fake::events(&message(content, "tool_use")))).await.unwrap();
        assert_eq!((got.text.as_str(), got.tool_calls.len(), got.stop), (text, calls, stop));
    }
    let broken = message(json!([tool("number", json!("{\"n\": "))]), "tool_use");
    assert_eq!(answer(read(&request, &fake::events(&broken))).await.unwrap_err().code(), "malformed");
}

#[tokio::test]
async fn a_tool_of_the_provider_without_a_result_is_told_too() {
    let block = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}});
    let answer = answer(read(&hello(), &fake::events(&message(json!([block]), "end_turn")))).await.unwrap();
    let used = ProviderToolUse { name: "web_search".into(), input: json!({"q": "x"}), output: None };
    let expected = ModelAnswer {
        provider_tools: vec![used],
        thoughts: vec![thought(&block, "", 0, 0)],
        usage: Usage::new(10, 25),
        ..ModelAnswer::stopped(StopReason::EndTurn)
    };
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn every_tool_of_the_provider_is_told_with_its_result() {
    let mcp =
        json!({"type": "mcp_tool_use", "id": "m", "name": "roll", "server_name": "dice", "input": {"n": 1}});
    let rolled =
        json!({"type": "mcp_tool_result", "tool_use_id": "m", "is_error": false, "content": [{"text": "6"}]});
    let looking = json!({"type": "server_tool_use", "id": "t", "name": "tool_search_tool_regex", "input": {"query": "x"}});
    let tools =
        json!({"type": "tool_search_tool_result", "tool_use_id": "t", "content": {"tool_references": []}});
    let novel = json!({"type": "divination_tool_use", "id": "d", "name": "orb", "input": {}});
    let stray = json!({"type": "web_fetch_tool_result", "tool_use_id": "gone", "content": "page"});
    let content = json!([mcp, rolled, looking, tools, novel, stray]);
    let got = answer(read(&hello(), &fake::events(&message(content.clone(), "end_turn")))).await.unwrap();
    let used = |name: &str, input: Value, output: Option<Value>| ProviderToolUse {
        name: name.into(),
        input,
        output,
    };
    let expected = [
        used("roll", json!({"n": 1}), Some(json!([{"text": "6"}]))),
        used("tool_search_tool_regex", json!({"query": "x"}), Some(json!({"tool_references": []}))),
        used("web_fetch", Value::Null, Some(json!("page"))),
        used("orb", json!({}), None),
    ];
    assert_eq!(got.provider_tools, expected);
    let back: Vec<Value> = got.thoughts.iter().map(|thought| thought.opaque["block"].clone()).collect();
    assert_eq!(Value::from(back), content);
}

#[tokio::test]
async fn a_result_that_comes_with_the_next_answer_finds_its_call() {
    let running =
        json!({"type": "server_tool_use", "id": "c", "name": "code_execution", "input": {"code": "x()"}});
    let ours = json!({"type": "tool_use", "id": "t", "name": "x", "input": {}});
    let first =
        answer(read(&hello(), &fake::events(&message(json!([running, ours]), "tool_use")))).await.unwrap();
    assert_eq!((first.provider_tools, &first.stop), (vec![], &StopReason::ToolUse));
    let said =
        ChatMessage::Assistant { text: first.text, tool_calls: first.tool_calls, thoughts: first.thoughts };
    let next = request(vec![ChatMessage::user("hello"), said]);
    let result =
        json!({"type": "code_execution_tool_result", "tool_use_id": "c", "content": {"stdout": "2"}});
    let second = answer(read(&next, &fake::events(&message(json!([result]), "end_turn")))).await.unwrap();
    let used = ProviderToolUse {
        name: "code_execution".into(),
        input: json!({"code": "x()"}),
        output: Some(json!({"stdout": "2"})),
    };
    assert_eq!(second.provider_tools, [used]);
}

#[tokio::test]
async fn counts_are_totals_however_often_they_are_told() {
    let delta = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}),
        delta(json!({"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}})),
        delta(json!({"output_tokens": 7, "input_tokens": 5, "cache_read_input_tokens": 100})),
        delta(json!({"output_tokens": 3, "cache_read_input_tokens": null})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": u64::MAX, "output_tokens_details": {"thinking_tokens": 4}}}),
        json!({"type": "message_stop"}),
    ];
    let usage = answer(read(&hello(), &events)).await.unwrap().usage;
    assert_eq!(usage, Usage { cached_tokens: 100, thinking_tokens: 4, ..Usage::new(105, u64::MAX) });
}

proptest! {
    /// Events mixed at random, and bytes changed at random.
    #[test]
    fn nothing_makes_the_decoder_panic(
        order in proptest::collection::vec(0_usize..60, 0..80),
        changes in proptest::collection::vec((0_usize..10_000, any::<u8>()), 0..6),
    ) {
        let events = fake::events(&rich().0);
        let mixed: Vec<Value> = order.iter().filter_map(|index| events.get(*index).cloned()).collect();
        let mut bytes = sse(&mixed);
        for (at, byte) in changes {
            let length = bytes.len().max(1);
            if let Some(place) = bytes.get_mut(at % length) {
                *place = byte;
            }
        }
        let request = hello();
        for framing in [Framing::Events, Framing::Whole] {
            let (chunks, error) = decoded(&AnthropicCodec, &request, &target(), framing, &bytes);
            let whole = matches!(chunks.last(), Some(Chunk::Stop(_)));
            prop_assert_eq!(whole, error.is_none());
        }
    }
}
