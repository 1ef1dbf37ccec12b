//! Requests of the Responses API, compared whole: input items, tools, shapes of answers, options.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest, OutputSchema, Thinking, Thought};
use harn_core::tool::{Class, SideEffect, ToolOutcome, ToolSpec};
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Codec, Delivery, Framing, StructuredOutput, Target, ThinkingKind};
use serde_json::{Value, json};
use support::request;

fn target() -> Target {
    Target::new("p", "m", "https://a.example", Auth::Bearer)
}

fn body(request: &ModelRequest, target: &Target) -> Value {
    OpenAiResponsesCodec.call(request, target).unwrap().body
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn said(role: &str, content: Value) -> Value {
    json!({"type": "message", "role": role, "content": content})
}

fn words(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn option(name: &str, value: Value) -> Target {
    let mut target = target();
    target.options.insert(name.into(), value);
    target
}

#[test]
fn a_request_keeps_nothing_on_the_other_side() {
    let plain = json!({
        "model": "m", "instructions": "Be good.", "input": [said("user", json!([words("hello")]))],
        "stream": true, "store": false, "max_output_tokens": 1000
    });
    let call = OpenAiResponsesCodec.call(&hello(), &target()).unwrap();
    assert_eq!((call.path.as_str(), call.framing, &call.body), ("/v1/responses", Framing::Events, &plain));

    let mut thinking = target();
    thinking.capabilities.thinking = ThinkingKind::Effort { levels: vec![Thinking::Low, Thinking::High] };
    let mut expected = plain.clone();
    expected["include"] = json!(["reasoning.encrypted_content"]);
    expected["reasoning"] = json!({"effort": "high", "summary": "auto"});
    let request = ModelRequest { thinking: Thinking::High, ..hello() };
    assert_eq!(body(&request, &thinking), expected);

    let mut bare = plain;
    bare["stream"] = false.into();
    for field in ["instructions", "max_output_tokens"] {
        bare.as_object_mut().unwrap().remove(field);
    }
    let request = ModelRequest { system: "".into(), max_output_tokens: 0, ..hello() };
    let call =
        OpenAiResponsesCodec.call(&request, &Target { delivery: Delivery::Whole, ..target() }).unwrap();
    assert_eq!((call.framing, call.body), (Framing::Whole, bare));
}

#[test]
fn azure_is_addressed_by_base_url_and_version() {
    let cases = [
        (
            "https://r.example",
            Some("2025-04-01-preview"),
            "https://r.example/openai/responses?api-version=2025-04-01-preview",
        ),
        ("https://r.example/openai", None, "https://r.example/openai/v1/responses"),
        ("https://r.example/openai/v1", None, "https://r.example/openai/v1/responses"),
    ];
    for (base, version, expected) in cases {
        let mut target = option("dialect", "azure".into());
        target.base_url = base.into();
        target.options.extend(version.map(|version| ("api_version".to_owned(), Value::from(version))));
        let path = OpenAiResponsesCodec.call(&hello(), &target).unwrap().path;
        assert_eq!(target.url(&path), expected);
    }
    let call = OpenAiResponsesCodec.call(&hello(), &option("path", "/responses".into())).unwrap();
    assert_eq!(call.path, "/responses");
}

#[test]
fn options_that_mean_nothing_are_refused_with_their_name() {
    let cases = [
        ("dialect", json!("vllm")),
        ("path", json!("responses")),
        ("summary", json!("long")),
        ("encrypted_reasoning", json!("yes")),
        ("strict_schema", json!(0)),
        ("tools", json!({"type": "web_search"})),
    ];
    for (name, value) in cases {
        let target = option(name, value);
        let error = OpenAiResponsesCodec.call(&hello(), &target).unwrap_err();
        assert_eq!(error.code(), "invalid_request");
        assert!(error.message().starts_with(&format!("the option `{name}` ")), "{error}");
        drop(OpenAiResponsesCodec.decoder(&hello(), &target));
    }
}

#[test]
fn messages_media_and_thoughts_become_items() {
    let medium = |mime_type: &str, source| Media { mime_type: mime_type.into(), source };
    let picture = || medium("image/png", MediaSource::Data("AAAA".into()));
    let own = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "g"});
    let thought = |provider: &str, opaque: &Value| Thought {
        provider: provider.into(),
        text: String::new(),
        opaque: opaque.clone(),
    };
    let messages = vec![
        ChatMessage::User {
            text: "".into(),
            media: vec![
                picture(),
                medium("application/pdf", MediaSource::Data("BBBB".into())),
                medium("application/pdf", MediaSource::Url("https://d.example/x".into())),
            ],
        },
        ChatMessage::Assistant {
            text: "".into(),
            tool_calls: vec![],
            thoughts: vec![
                thought("q", &json!({"type": "thinking"})),
                thought("p", &own),
                thought("p", &json!("odd")),
            ],
        },
        ChatMessage::System { text: "Go on.".into() },
        ChatMessage::Tool {
            call_id: "c".into(),
            name: "look".into(),
            outcome: ToolOutcome::Ok,
            output: "see".into(),
            media: vec![picture()],
        },
    ];
    let mut target = target();
    target.capabilities.documents = true;
    target.capabilities.developer_role = true;
    let image = json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"});
    let expected = json!([
        said("user", json!([
            image,
            {"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,BBBB"},
            {"type": "input_file", "file_url": "https://d.example/x"}])),
        own,
        said("developer", json!([words("Go on.")])),
        {"type": "function_call_output", "call_id": "c", "output": [words("see"), image]},
    ]);
    assert_eq!(body(&request(messages.clone()), &target)["input"], expected);

    target.capabilities.images = false;
    target.capabilities.documents = false;
    let left_out = |kind: &str| words(&format!("[{kind} left out: this model cannot take it]"));
    let expected = json!([left_out("image/png"), left_out("application/pdf"), left_out("application/pdf")]);
    assert_eq!(body(&request(messages), &target)["input"][0]["content"], expected);
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Reads.".into(),
        input_schema: json!({}),
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::ReadOnly,
        annotations: Default::default(),
    }
}

fn function(name: &str, description: &str) -> Value {
    json!({"type": "function", "name": name, "description": description, "strict": false,
           "parameters": {"type": "object", "properties": {}}})
}

#[test]
fn tools_are_flat_and_stand_beside_those_of_the_provider() {
    let request = ModelRequest { tools: [tool("read")].into(), ..hello() };
    let mut target = option("tools", json!([{"type": "web_search"}]));
    let builtin = json!({"type": "web_search"});
    assert_eq!(body(&request, &target)["tools"], json!([function("read", "Reads."), builtin]));
    target.capabilities.tools = false;
    assert_eq!(body(&request, &target)["tools"], json!([builtin]));
}

#[test]
fn a_shape_is_asked_for_in_the_way_that_the_model_has() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let loose = json!({"type": "object"});
    let asked = |how: StructuredOutput, schema: &Value, tools: Vec<ToolSpec>, mut target: Target| {
        target.capabilities.structured_output = how;
        let output_schema = Some(OutputSchema { name: "reply".into(), schema: schema.clone() });
        let body = body(&ModelRequest { output_schema, tools: tools.into(), ..hello() }, &target);
        (body["text"].clone(), body["tool_choice"].clone(), body["tools"].clone())
    };
    let native = |schema: &Value, strict: bool| json!({"format": {"type": "json_schema", "name": "reply", "schema": schema, "strict": strict}});
    let strict = json!({"type": "object", "additionalProperties": false, "required": ["a"],
                        "properties": {"a": {"type": ["string", "null"]}}});
    let null = || Value::Null;
    let answer = function("reply", "Gives the answer.");
    let cases = [
        (StructuredOutput::Native, &schema, vec![], target(), (native(&strict, true), null(), null())),
        (StructuredOutput::Native, &loose, vec![], target(), (native(&loose, false), null(), null())),
        (
            StructuredOutput::Native,
            &schema,
            vec![],
            option("strict_schema", false.into()),
            (json!({"format": {"type": "json_schema", "name": "reply", "schema": schema}}), null(), null()),
        ),
        (
            StructuredOutput::JsonMode,
            &loose,
            vec![],
            target(),
            (json!({"format": {"type": "json_object"}}), null(), null()),
        ),
        (
            StructuredOutput::ByTool,
            &loose,
            vec![],
            target(),
            (null(), json!({"type": "function", "name": "reply"}), json!([answer])),
        ),
        (
            StructuredOutput::ByTool,
            &loose,
            vec![tool("read")],
            target(),
            (null(), json!("required"), json!([function("read", "Reads."), answer])),
        ),
        (StructuredOutput::ByPrompt, &loose, vec![], target(), (null(), null(), null())),
    ];
    for (how, schema, tools, target, expected) in cases {
        assert_eq!(asked(how, schema, tools, target), expected, "{how:?}");
    }
}
