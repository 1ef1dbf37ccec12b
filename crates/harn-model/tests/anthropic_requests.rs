//! Requests in Anthropic's form.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest, OutputSchema, Thinking, Thought};
use harn_core::tool::{Class, SideEffect, ToolCall, ToolOutcome, ToolSpec};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{
    Auth, Capabilities, Codec, Delivery, Framing, HttpCall, StructuredOutput, Target, ThinkingKind,
};
use serde_json::{Value, json};
use support::request;

fn target(capabilities: Capabilities) -> Target {
    let url = "https://api.anthropic.com";
    Target { capabilities, ..Target::new("anthropic", "claude-x", url, Auth::Header("x-api-key".into())) }
}

fn body(request: &ModelRequest, capabilities: Capabilities) -> Value {
    AnthropicCodec.call(request, &target(capabilities)).unwrap().body
}

fn tool(name: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        annotations: Default::default(),
        name: name.into(),
        description: format!("The tool {name}."),
        input_schema,
        output_schema: Value::Null,
        class: Class::Read,
        side_effect: SideEffect::ReadOnly,
    }
}

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), args: json!({"path": "a"}).as_object().unwrap().clone() }
}

fn result(id: &str, outcome: ToolOutcome, output: &str, media: Vec<Media>) -> ChatMessage {
    ChatMessage::Tool { call_id: id.into(), name: "read_file".into(), outcome, output: output.into(), media }
}

fn medium(mime_type: &str, source: MediaSource) -> Media {
    Media { mime_type: mime_type.into(), source }
}

fn data(mime_type: &str) -> Media {
    medium(mime_type, MediaSource::Data("AAAA".into()))
}

fn words(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn said(role: &str, content: Vec<Value>) -> Value {
    json!({"role": role, "content": content})
}

fn used(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {"path": "a"}})
}

fn got(id: &str, output: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [words(output)]})
}

#[test]
fn a_call_is_a_post_with_the_version_and_without_a_key() {
    let mut target = target(Capabilities::default());
    let request = request(vec![ChatMessage::user("hello")]);
    let mut expected = HttpCall {
        path: "/v1/messages".into(),
        headers: vec![("anthropic-version".into(), "2023-06-01".into())],
        body: json!({
            "model": "claude-x",
            "max_tokens": 1000,
            "system": [words("Be good.")],
            "messages": [said("user", vec![words("hello")])],
            "stream": true,
        }),
        framing: Framing::Events,
    };
    assert_eq!(AnthropicCodec.call(&request, &target).unwrap(), expected);

    target.delivery = Delivery::Whole;
    target.options = json!({"betas": ["one", "two"], "version": "2026-10-21"}).as_object().unwrap().clone();
    expected.body.as_object_mut().unwrap().remove("stream");
    expected.headers = vec![("anthropic-version".into(), "2026-10-21".into())];
    expected.headers.push(("anthropic-beta".into(), "one,two".into()));
    expected.framing = Framing::Whole;
    assert_eq!(AnthropicCodec.call(&request, &target).unwrap(), expected);
}

#[test]
fn messages_become_turns_that_alternate() {
    let user = ChatMessage::user;
    let system = |text: &str| ChatMessage::System { text: text.into() };
    let says = |text: &str| ChatMessage::assistant(text, vec![]);
    let calls = |ids: &[&str]| {
        ChatMessage::assistant("I look.", ids.iter().map(|id| call(id, "read_file")).collect())
    };
    let ok = |id: &str| result(id, ToolOutcome::Ok, "done", vec![]);
    let cases = [
        (vec![user("a"), user("b")], vec![said("user", vec![words("a"), words("b")])]),
        (
            vec![user("a"), says("b"), user("c")],
            vec![
                said("user", vec![words("a")]),
                said("assistant", vec![words("b")]),
                said("user", vec![words("c")]),
            ],
        ),
        // Blank text is refused by the API, so it is not sent.
        (vec![user("a"), says(" \n"), user(""), user("c")], vec![said("user", vec![words("a"), words("c")])]),
        (vec![], vec![said("user", vec![words("Go on.")])]),
        (
            vec![says("a")],
            vec![
                said("user", vec![words("Go on.")]),
                said("assistant", vec![words("a")]),
                said("user", vec![words("Go on.")]),
            ],
        ),
        (
            vec![user("a"), calls(&["1", "2"]), ok("1"), ok("2"), user("b")],
            vec![
                said("user", vec![words("a")]),
                said("assistant", vec![words("I look."), used("1", "read_file"), used("2", "read_file")]),
                said("user", vec![got("1", "done"), got("2", "done"), words("b")]),
            ],
        ),
        // Results come first, whatever was said in between.
        (
            vec![user("a"), calls(&["1"]), system("note"), ok("1")],
            vec![
                said("user", vec![words("a")]),
                said("assistant", vec![words("I look."), used("1", "read_file")]),
                said("user", vec![got("1", "done"), words("<system_note>\nnote\n</system_note>")]),
            ],
        ),
        // A result that nobody asked for is only text; ids of other providers are brought into form.
        (
            vec![ok("lost"), calls(&["call:1"]), ok("call:1")],
            vec![
                said("user", vec![words("done")]),
                said("assistant", vec![words("I look."), used("call_1", "read_file")]),
                said("user", vec![got("call_1", "done")]),
            ],
        ),
    ];
    for (messages, expected) in cases {
        let body = body(&request(messages.clone()), Capabilities::default());
        assert_eq!(body["messages"], Value::Array(expected), "{messages:?}");
    }
}

#[test]
fn notes_at_the_beginning_are_instructions() {
    let messages = vec![ChatMessage::System { text: "note".into() }, ChatMessage::user("a")];
    let mut request = request(messages);
    let with_prompt = body(&request, Capabilities::default());
    assert_eq!(with_prompt["system"], json!([words("Be good."), words("note")]));
    assert_eq!(with_prompt["messages"], json!([said("user", vec![words("a")])]));
    request.system = "".into();
    request.messages = vec![ChatMessage::user("a")].into();
    assert_eq!(body(&request, Capabilities::default()).get("system"), None);
}

#[test]
fn results_say_whether_they_are_errors_and_carry_images() {
    let cases = [
        (ToolOutcome::Ok, "fine", vec![], json!({"content": [words("fine")]})),
        (ToolOutcome::Ok, "", vec![], json!({})),
        (ToolOutcome::Error, "bad", vec![], json!({"content": [words("bad")], "is_error": true})),
        (ToolOutcome::Denied, "no", vec![], json!({"content": [words("no")], "is_error": true})),
        (
            ToolOutcome::Ok,
            "seen",
            vec![data("image/png")],
            json!({"content": [words("seen"), {"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}),
        ),
    ];
    for (outcome, output, media, mut expected) in cases {
        let messages = vec![
            ChatMessage::user("a"),
            ChatMessage::assistant("", vec![call("1", "read_file")]),
            result("1", outcome, output, media),
        ];
        expected["type"] = json!("tool_result");
        expected["tool_use_id"] = json!("1");
        let body = body(&request(messages), Capabilities::default());
        assert_eq!(body["messages"][2]["content"], json!([expected]));
    }
}

#[test]
fn media_go_where_the_model_takes_them() {
    let all = || Capabilities { images: true, documents: true, ..Capabilities::default() };
    let none = || Capabilities { images: false, documents: false, ..Capabilities::default() };
    let base64 = |kind: &str| json!({"type": "base64", "media_type": kind, "data": "AAAA"});
    let left_out = |kind: &str| words(&format!("[{kind} left out: the model does not take it]"));
    let cases = [
        (data("image/png"), all(), json!({"type": "image", "source": base64("image/png")})),
        (
            medium("image/webp", MediaSource::Url("https://a/b".into())),
            all(),
            json!({"type": "image", "source": {"type": "url", "url": "https://a/b"}}),
        ),
        (data("application/pdf"), all(), json!({"type": "document", "source": base64("application/pdf")})),
        (data("image/png"), none(), left_out("image/png")),
        (data("application/pdf"), none(), left_out("application/pdf")),
        (data("video/mp4"), all(), left_out("video/mp4")),
    ];
    for (medium, capabilities, expected) in cases {
        let message = ChatMessage::User { text: "look".into(), media: vec![medium] };
        let body = body(&request(vec![message]), capabilities);
        assert_eq!(body["messages"][0]["content"], json!([expected, words("look")]));
    }
}

#[test]
fn tools_are_described_with_names_that_the_api_takes() {
    let mut request = request(vec![
        ChatMessage::user("a"),
        ChatMessage::assistant("", vec![call("1", "mcp.files/read")]),
        result("1", ToolOutcome::Ok, "done", vec![]),
    ]);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    request.tools = [tool("mcp.files/read", schema.clone()), tool("mcp_files_read", Value::Null)].into();
    let mut target = target(Capabilities::default());
    let search = json!({"type": "web_search_20250305", "name": "web_search"});
    target.options = json!({"server_tools": [search, "nonsense"]}).as_object().unwrap().clone();
    let body = AnthropicCodec.call(&request, &target).unwrap().body;
    let described = |wire: &str, name: &str, schema: Value| json!({"name": wire, "description": format!("The tool {name}."), "input_schema": schema});
    let expected = json!([
        described("mcp_files_read_2", "mcp.files/read", schema),
        described("mcp_files_read", "mcp_files_read", json!({"type": "object"})),
        search,
    ]);
    assert_eq!(body["tools"], expected);
    assert_eq!(body["messages"][1]["content"], json!([used("1", "mcp_files_read_2")]));

    target.capabilities.tools = false;
    assert_eq!(AnthropicCodec.call(&request, &target).unwrap().body["tools"], json!([search]));
}

#[test]
fn thoughts_return_to_their_provider_at_the_place_where_they_were_had() {
    let block =
        |n: u32| json!({"type": "thinking", "thinking": format!("{n}"), "signature": format!("s{n}")});
    let thought = |provider: &str, n: u32, text: u64, calls: u64| Thought {
        provider: provider.into(),
        text: String::new(),
        opaque: json!({"block": block(n), "after_text": text, "after_calls": calls}),
    };
    let mine = |n, text, calls| thought("anthropic", n, text, calls);
    let calls = || vec![used("1", "read_file"), used("2", "read_file")];
    let cases = [
        (vec![], [vec![words("Grüße")], calls()].concat()),
        (vec![mine(1, 0, 0)], [vec![block(1), words("Grüße")], calls()].concat()),
        (vec![thought("openai", 1, 0, 0)], [vec![words("Grüße")], calls()].concat()),
        (
            vec![mine(1, 0, 0), mine(2, 2, 0), mine(3, 7, 1)],
            vec![
                block(1),
                words("Gr"),
                block(2),
                words("üße"),
                used("1", "read_file"),
                block(3),
                used("2", "read_file"),
            ],
        ),
        // Places that cannot be are brought to the next one that can.
        (
            vec![mine(1, 3, 0), mine(2, 1, 0), mine(3, u64::MAX, u64::MAX)],
            [vec![words("Gr"), block(1), block(2), words("üße")], calls(), vec![block(3)]].concat(),
        ),
    ];
    for (thoughts, expected) in cases {
        let tool_calls = vec![call("1", "read_file"), call("2", "read_file")];
        let request = request(vec![
            ChatMessage::user("a"),
            ChatMessage::Assistant { text: "Grüße".into(), tool_calls, thoughts: thoughts.clone() },
            result("1", ToolOutcome::Ok, "x", vec![]),
            result("2", ToolOutcome::Ok, "x", vec![]),
        ]);
        let body = body(&request, Capabilities::default());
        assert_eq!(body["messages"][1]["content"], Value::Array(expected), "{thoughts:?}");
    }
}

#[test]
fn what_stays_the_same_is_marked_for_the_cache() {
    let mark = json!({"type": "ephemeral"});
    let mut request = request(vec![
        ChatMessage::user("a"),
        ChatMessage::user("b"),
        ChatMessage::assistant("", vec![call("1", "read_file")]),
        result("1", ToolOutcome::Ok, "x", vec![]),
    ]);
    request.tools = [tool("one", Value::Null), tool("two", Value::Null)].into();
    let marked = body(&request, Capabilities { prompt_caching: true, ..Capabilities::default() });
    let places = [
        "/system/0/cache_control",
        "/tools/1/cache_control",
        "/messages/0/content/1/cache_control",
        "/messages/2/content/0/cache_control",
    ];
    for place in places {
        assert_eq!(marked.pointer(place), Some(&mark), "{place}");
    }
    assert_eq!(marked.to_string().matches("cache_control").count(), places.len());
    assert!(!body(&request, Capabilities::default()).to_string().contains("cache_control"));
}

#[test]
fn thinking_and_the_shape_of_an_answer_go_together_as_the_api_wants() {
    let adaptive = ThinkingKind::Adaptive { levels: vec![Thinking::Off, Thinking::Low, Thinking::High] };
    let can = |structured_output| Capabilities {
        thinking: adaptive.clone(),
        structured_output,
        ..Capabilities::default()
    };
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let shape = OutputSchema { name: "number".into(), schema: schema.clone() };
    let answer = json!({"name": "number", "description": "Gives the final answer.", "input_schema": schema});
    let format = json!({"type": "json_schema", "schema": schema});
    let native = StructuredOutput::Native;
    let by_tool = StructuredOutput::ByTool;
    let cases = [
        (
            native,
            None,
            vec![],
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ),
        (
            native,
            Some(&shape),
            vec![],
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high", "format": format}}),
        ),
        (
            by_tool,
            Some(&shape),
            vec![],
            json!({"output_config": {"effort": "high"}, "tools": [answer],
                   "tool_choice": {"type": "tool", "name": "number"}}),
        ),
        (
            by_tool,
            Some(&shape),
            vec![tool("other", json!({"type": "object"}))],
            json!({"output_config": {"effort": "high"}, "tool_choice": {"type": "any"},
                   "tools": [{"name": "other", "description": "The tool other.",
                              "input_schema": {"type": "object"}}, answer]}),
        ),
    ];
    for (structured, shape, tools, expected) in cases {
        let mut request = request(vec![ChatMessage::user("a")]);
        request.thinking = Thinking::High;
        request.output_schema = shape.cloned();
        request.tools = tools.into();
        let mut body = body(&request, can(structured));
        for common in ["model", "max_tokens", "system", "messages", "stream"] {
            body.as_object_mut().unwrap().remove(common);
        }
        assert_eq!(body, expected);
    }
    let mut clash = request(vec![ChatMessage::user("a")]);
    clash.output_schema = Some(shape);
    clash.tools = [tool("number", Value::Null)].into();
    let error = AnthropicCodec.call(&clash, &target(can(by_tool))).unwrap_err();
    assert_eq!(error.code(), "invalid_request");
}
