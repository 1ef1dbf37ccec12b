//! Answers of the Responses API: what each stream of events means.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ModelRequest, OutputSchema, StopReason, Thought, Usage};
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Chunk, Framing, StructuredOutput};
use serde_json::{Value, json};
use support::chunks::{call, stop, text, used};
use support::responses::{added, completed, done, event, events, piece, streamed, target};
use support::{decoded, request};

fn call_item(id: &str, name: &str, arguments: Value) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments})
}

fn message(part: Value) -> Value {
    json!({"type": "message", "id": "m", "role": "assistant", "content": [part]})
}

#[test]
fn items_are_read_once_wherever_they_are_told() {
    let item = || message(json!({"type": "output_text", "text": "hi"}));
    let delta = || event("output_text.delta", 0, json!({"item_id": "m", "delta": "hi"}));
    let done = || event("output_item.done", 0, json!({"item": item()}));
    let unplaced = |mut event: Value| {
        event.as_object_mut().unwrap().remove("output_index");
        event
    };
    let cases = [
        vec![delta(), done(), completed(json!([item()]))],
        vec![delta(), done(), done(), completed(json!([]))],
        vec![delta(), completed(json!([item()]))],
        vec![done(), completed(Value::Null)],
        vec![unplaced(delta()), unplaced(done()), completed(json!([item()]))],
        vec![completed(json!([item()]))],
    ];
    for frames in cases {
        let expected = (vec![text("hi"), stop(StopReason::EndTurn)], None);
        assert_eq!(streamed(&frames), expected, "{frames:?}");
    }
}

#[test]
fn calls_are_put_together_from_whatever_the_server_tells() {
    let a = || json!({"a": 1});
    let cases = [
        (
            vec![
                added(0, call_item("x", "m", json!(""))),
                added(1, call_item("y", "n", json!(""))),
                piece(1, "{}"),
                piece(0, "{\"a\":"),
                piece(0, "1}"),
                done(0, call_item("x", "m", json!("{\"a\":1}"))),
                done(1, call_item("y", "n", json!("{}"))),
                completed(json!([])),
            ],
            vec![call("x", "m", a()), call("y", "n", json!({}))],
        ),
        (
            vec![added(0, call_item("x", "m", json!(""))), piece(0, "{\"a\":1}"), completed(json!([]))],
            vec![call("x", "m", a())],
        ),
        (
            vec![
                added(0, call_item("x", "m", json!(""))),
                piece(0, "{\"a"),
                event("function_call_arguments.done", 0, json!({"arguments": "{\"a\":1}"})),
                done(0, json!({"type": "function_call", "id": "fc_x"})),
                completed(json!([])),
            ],
            vec![call("fc_x", "m", a())],
        ),
        (
            vec![done(0, call_item("x", "m", json!({"a": 1}))), completed(json!([]))],
            vec![call("x", "m", a())],
        ),
        (
            vec![completed(json!([call_item("x", "m", json!("{}")), call_item("x", "n", json!(""))]))],
            vec![call("x", "m", json!({})), call("x", "n", json!({}))],
        ),
    ];
    for (frames, mut expected) in cases {
        expected.push(stop(StopReason::ToolUse));
        assert_eq!(streamed(&frames), (expected, None), "{frames:?}");
    }
}

#[test]
fn reasoning_is_shown_and_kept_only_with_its_encrypted_content() {
    let item = |encrypted: Value| {
        json!({"type": "reasoning", "id": "rs", "encrypted_content": encrypted,
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]})
    };
    let delta = |kind: &str, delta: &str| event(kind, 0, json!({ "delta": delta }));
    let done = |encrypted: Value| event("output_item.done", 0, json!({"item": item(encrypted)}));
    let think = |words: &str| Chunk::Thinking(words.into());
    let kept =
        || Chunk::Thought(Thought { provider: "p".into(), text: "a\n\nb".into(), opaque: item(json!("g")) });
    let cases = [
        (
            vec![
                event("reasoning_summary_part.added", 0, json!({"summary_index": 0})),
                delta("reasoning_summary_text.delta", "a"),
                event("reasoning_summary_part.added", 0, json!({"summary_index": 1})),
                delta("reasoning_summary_text.delta", "b"),
                done(json!("g")),
            ],
            vec![think("a"), think("\n\n"), think("b"), kept()],
        ),
        (vec![delta("reasoning_text.delta", "raw"), done(Value::Null)], vec![think("raw")]),
        (vec![done(json!("g"))], vec![think("a\n\nb"), kept()]),
        (vec![done(json!(""))], vec![think("a\n\nb")]),
    ];
    for (mut frames, mut expected) in cases {
        frames.push(completed(json!([])));
        expected.push(stop(StopReason::EndTurn));
        assert_eq!(streamed(&frames), (expected, None), "{frames:?}");
    }
}

#[test]
fn tools_of_the_provider_are_told_and_go_back_unless_they_wait_for_us() {
    let back = |item: &Value| {
        Chunk::Thought(Thought { provider: "p".into(), text: String::new(), opaque: item.clone() })
    };
    let search =
        json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "q"}});
    let files = json!({"type": "file_search_call", "id": "fs", "status": "completed", "queries": ["q"], "results": [{"file_id": "f"}]});
    let mcp = json!({"type": "mcp_call", "id": "mcp", "name": "roll", "arguments": "{}", "output": "6", "error": null});
    let tools = json!({"type": "tool_search_call", "id": "ts", "execution": "server", "arguments": {"paths": ["crm"]}});
    let loaded = json!({"type": "tool_search_output", "id": "to", "tools": []});
    let ours = json!({"type": "computer_call", "id": "cc", "action": {"type": "click"}});
    let client = json!({"type": "tool_search_call", "id": "ts", "execution": "client", "arguments": {}});
    let code = json!({"type": "code_interpreter_call", "id": "ci", "status": "completed", "code": "1+1", "container_id": "c", "outputs": [{"logs": "2"}]});
    let image = json!({"type": "image_generation_call", "id": "ig", "status": "completed", "revised_prompt": "a cat", "result": "AAAA"});
    let unknown = json!({"type": "divination_call", "id": "d", "orb": 1});
    let shell = json!({"type": "shell_call", "id": "sh", "call_id": "c", "environment": {"type": "container_reference"}});
    let shown = json!({"type": "shell_call_output", "id": "so", "call_id": "c", "output": []});
    let local = json!({"type": "shell_call", "id": "sh", "call_id": "c", "environment": {"type": "local"}});
    let cases = [
        (
            &search,
            vec![used("web_search", json!({"action": {"query": "q"}}), None), back(&search)],
            StopReason::EndTurn,
        ),
        (
            &files,
            vec![
                used("file_search", json!({"queries": ["q"]}), Some(json!({"results": [{"file_id": "f"}]}))),
                back(&files),
            ],
            StopReason::EndTurn,
        ),
        (
            &mcp,
            vec![
                used("mcp", json!({"name": "roll", "arguments": "{}"}), Some(json!({"output": "6"}))),
                back(&mcp),
            ],
            StopReason::EndTurn,
        ),
        (
            &tools,
            vec![
                used("tool_search", json!({"execution": "server", "arguments": {"paths": ["crm"]}}), None),
                back(&tools),
            ],
            StopReason::EndTurn,
        ),
        (&loaded, vec![back(&loaded)], StopReason::EndTurn),
        (
            &code,
            vec![
                used(
                    "code_interpreter",
                    json!({"code": "1+1", "container_id": "c"}),
                    Some(json!({"outputs": [{"logs": "2"}]})),
                ),
                back(&code),
            ],
            StopReason::EndTurn,
        ),
        (
            &image,
            vec![
                used("image_generation", json!({"revised_prompt": "a cat"}), Some(json!({"result": "AAAA"}))),
                back(&image),
            ],
            StopReason::EndTurn,
        ),
        (&unknown, vec![used("divination", json!({"orb": 1}), None), back(&unknown)], StopReason::EndTurn),
        (
            &shell,
            vec![
                used("shell", json!({"call_id": "c", "environment": {"type": "container_reference"}}), None),
                back(&shell),
            ],
            StopReason::EndTurn,
        ),
        (&shown, vec![back(&shown)], StopReason::EndTurn),
        (
            &local,
            vec![used("shell", json!({"call_id": "c", "environment": {"type": "local"}}), None)],
            StopReason::Other("shell_call".into()),
        ),
        (
            &ours,
            vec![used("computer", json!({"action": {"type": "click"}}), None)],
            StopReason::Other("computer_call".into()),
        ),
        (
            &client,
            vec![used("tool_search", json!({"execution": "client", "arguments": {}}), None)],
            StopReason::Other("tool_search_call".into()),
        ),
    ];
    for (item, mut expected, reason) in cases {
        let frames = [event("output_item.done", 0, json!({ "item": item })), completed(json!([item]))];
        expected.push(stop(reason));
        assert_eq!(streamed(&frames), (expected, None), "{item}");
    }
}

#[test]
fn the_end_is_success_only_where_it_says_so() {
    let ended =
        |kind: &str, response: Value| json!({"type": format!("response.{kind}"), "response": response});
    let reason = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    let cases = [
        (ended("completed", json!({"status": "completed"})), StopReason::EndTurn),
        (ended("completed", json!({})), StopReason::EndTurn),
        (ended("completed", Value::Null), StopReason::EndTurn),
        (ended("incomplete", reason("max_output_tokens")), StopReason::MaxTokens),
        (ended("incomplete", reason("content_filter")), StopReason::Refusal),
        (ended("incomplete", reason("boredom")), StopReason::Other("boredom".into())),
        (ended("incomplete", json!({})), StopReason::Other("incomplete".into())),
        (ended("completed", reason("max_output_tokens")), StopReason::MaxTokens),
        (ended("completed", json!({"status": "in_progress"})), StopReason::Other("in_progress".into())),
        (ended("cancelled", json!({"status": "cancelled"})), StopReason::Other("cancelled".into())),
    ];
    for (frame, expected) in cases {
        assert_eq!(streamed(std::slice::from_ref(&frame)), (vec![stop(expected)], None), "{frame}");
    }
    let refusal = || message(json!({"type": "refusal", "refusal": "No."}));
    let streams = [
        vec![
            event("refusal.delta", 0, json!({"delta": "No."})),
            event("output_item.done", 0, json!({"item": refusal()})),
        ],
        vec![event("output_item.done", 0, json!({"item": refusal()}))],
    ];
    for mut frames in streams {
        frames.push(completed(json!([])));
        assert_eq!(streamed(&frames), (vec![text("No."), stop(StopReason::Refusal)], None));
    }
}

#[test]
fn usage_has_its_classes() {
    let usage = json!({"input_tokens": 9, "output_tokens": 8, "input_tokens_details": {"cached_tokens": 3},
                       "output_tokens_details": {"reasoning_tokens": 99}});
    let frames = [json!({"type": "response.completed", "response": {"usage": usage}})];
    let usage = Usage { cached_tokens: 3, thinking_tokens: 8, ..Usage::new(9, 8) };
    assert_eq!(streamed(&frames), (vec![Chunk::Usage(usage), stop(StopReason::EndTurn)], None));
}

#[test]
fn an_answer_of_a_given_shape_is_its_json_and_nothing_else() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}, "required": ["a"]});
    let request = ModelRequest {
        output_schema: Some(OutputSchema { name: "reply".into(), schema }),
        ..request(vec![])
    };
    let said = |text: &str| message(json!({"type": "output_text", "text": text}));
    let answer = || call_item("x", "reply", json!("{\"a\":\"x\"}"));
    let cases = [
        (
            StructuredOutput::Native,
            json!([said("{\"a\":\"x\",\"n\":null}")]),
            vec![text("{\"a\":\"x\"}"), stop(StopReason::EndTurn)],
        ),
        (
            StructuredOutput::ByTool,
            json!([said("Here:"), answer(), said("!")]),
            vec![text("{\"a\":\"x\"}"), stop(StopReason::EndTurn)],
        ),
        (
            StructuredOutput::ByTool,
            json!([call_item("y", "read", json!("{}"))]),
            vec![call("y", "read", json!({})), stop(StopReason::ToolUse)],
        ),
    ];
    for (how, output, expected) in cases {
        let mut target = target();
        target.capabilities.structured_output = how;
        let bytes = events(&[completed(output)]);
        let outcome = decoded(&OpenAiResponsesCodec, &request, &target, Framing::Events, bytes.as_bytes());
        assert_eq!(outcome, (expected, None), "{how:?}");
    }
}
