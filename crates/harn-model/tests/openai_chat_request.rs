//! Requests of Chat Completions, compared whole: conversation, dialects, tools, shapes of answers, options.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest, OutputSchema, Thinking, Thought};
use harn_core::tool::{Class, SideEffect, ToolCall, ToolOutcome, ToolSpec};
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::{Auth, Codec, Delivery, Framing, StructuredOutput, Target, ThinkingKind};
use serde_json::{Value, json};
use support::request;

fn target(dialect: &str) -> Target {
    let mut target = Target::new("p", "m", "https://a.example", Auth::Bearer);
    target.options.insert("dialect".into(), dialect.into());
    target
}

fn body(request: &ModelRequest, target: &Target) -> Value {
    OpenAiChatCodec.call(request, target).unwrap().body
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn tool(name: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Reads.".into(),
        input_schema,
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::ReadOnly,
        annotations: Default::default(),
    }
}

fn image(source: MediaSource) -> Media {
    Media { mime_type: "image/png".into(), source }
}

fn shown(id: &str, media: Vec<Media>) -> ChatMessage {
    let (call_id, output) = (id.to_owned(), "see".to_owned());
    ChatMessage::Tool { call_id, name: "look".into(), outcome: ToolOutcome::Ok, output, media }
}

#[test]
fn each_dialect_has_its_plain_request() {
    let messages = json!([{"role": "system", "content": "Be good."}, {"role": "user", "content": "hello"}]);
    let expected = |field: &str| {
        json!({"model": "m", "messages": messages, field: 1000, "stream": true,
               "stream_options": {"include_usage": true}})
    };
    let cases = [
        ("openai", "max_completion_tokens"),
        ("azure", "max_completion_tokens"),
        ("groq", "max_completion_tokens"),
        ("vllm", "max_tokens"),
        ("llama.cpp", "max_tokens"),
        ("lmstudio", "max_tokens"),
        ("openrouter", "max_tokens"),
        ("deepseek", "max_tokens"),
        ("generic", "max_tokens"),
    ];
    for (dialect, field) in cases {
        assert_eq!(body(&hello(), &target(dialect)), expected(field), "{dialect}");
    }
    let mut strict = expected("max_tokens");
    strict.as_object_mut().unwrap().remove("stream_options");
    assert_eq!(body(&hello(), &target("mistral")), strict, "it refuses fields that it does not know");
}

#[test]
fn reasoning_is_asked_for_in_its_own_field_where_it_would_be_text() {
    let cases = [
        ("groq", "qwen/qwen3-32b", ThinkingKind::Unknown, json!("parsed")),
        ("groq", "qwen/qwen3-32b", ThinkingKind::Never, Value::Null),
        ("groq", "openai/gpt-oss-120b", ThinkingKind::Unknown, Value::Null),
        ("vllm", "qwen/qwen3-32b", ThinkingKind::Unknown, Value::Null),
    ];
    for (dialect, model, kind, expected) in cases {
        let mut target = Target { model: model.into(), ..target(dialect) };
        target.capabilities.thinking = kind;
        assert_eq!(body(&hello(), &target)["reasoning_format"], expected, "{dialect} {model}");
    }
}

#[test]
fn a_local_model_is_told_to_think_in_the_way_of_its_family_and_server() {
    let request = ModelRequest { thinking: Thinking::Off, ..hello() };
    let cases = [
        ("vllm", "Qwen/Qwen3-8B", json!({"chat_template_kwargs": {"enable_thinking": false}}), "hello"),
        ("llama.cpp", "qwen3-8b", json!({"chat_template_kwargs": {"enable_thinking": false}}), "hello"),
        ("lmstudio", "qwen3-8b", json!({}), "hello /no_think"),
        ("lmstudio", "gpt-oss-20b", json!({"reasoning_effort": "low"}), "hello"),
        ("openrouter", "some/model", json!({"reasoning": {"effort": "none"}}), "hello"),
        ("vllm", "llama", json!({}), "hello"),
    ];
    for (dialect, model, said, words) in cases {
        let target = Target { model: model.into(), ..target(dialect) };
        let mut found = body(&request, &target);
        let content = found["messages"][1]["content"].take();
        let plain = ["model", "messages", "max_tokens", "stream", "stream_options"];
        found.as_object_mut().unwrap().retain(|name, _| !plain.contains(&name.as_str()));
        assert_eq!((found, content), (said, json!(words)), "{dialect} {model}");
    }
}

#[test]
fn openrouter_gets_marks_for_the_cache_where_the_model_wants_them() {
    let image = image(MediaSource::Url("https://i.example/x".into()));
    let messages = vec![
        ChatMessage::user("one"),
        ChatMessage::assistant("1", vec![]),
        ChatMessage::User { text: "two".into(), media: vec![image] },
    ];
    let mut target = target("openrouter");
    target.capabilities.prompt_caching = true;
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let shown = json!({"type": "image_url", "image_url": {"url": "https://i.example/x"}});
    let expected = json!([
        {"role": "system", "content": [marked("Be good.")]},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": [marked("two"), shown]},
    ]);
    assert_eq!(body(&request(messages.clone()), &target)["messages"], expected);
    target.options.insert("dialect".into(), "generic".into());
    assert!(!body(&request(messages), &target).to_string().contains("cache_control"));
}

#[test]
fn options_change_field_usage_delivery_and_path() {
    let mut target = target("vllm");
    target.options.insert("max_tokens_field".into(), "max_completion_tokens".into());
    target.options.insert("stream_usage".into(), false.into());
    target.options.insert("path".into(), "/chat/completions".into());
    let call = OpenAiChatCodec.call(&hello(), &target).unwrap();
    let messages = json!([{"role": "system", "content": "Be good."}, {"role": "user", "content": "hello"}]);
    let expected = json!({"model": "m", "messages": messages, "max_completion_tokens": 1000, "stream": true});
    assert_eq!(
        (call.path.as_str(), call.framing, call.body),
        ("/chat/completions", Framing::Events, expected)
    );

    target.delivery = Delivery::Whole;
    let unlimited = ModelRequest { max_output_tokens: 0, system: "".into(), ..hello() };
    let call = OpenAiChatCodec.call(&unlimited, &target).unwrap();
    let expected = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": false});
    assert_eq!((call.framing, call.body), (Framing::Whole, expected));
}

#[test]
fn options_that_mean_nothing_are_refused_with_their_name() {
    let cases = [
        ("dialect", json!("klingon")),
        ("dialect", json!(7)),
        ("max_tokens_field", json!("tokens")),
        ("stream_usage", json!("yes")),
        ("strict_schema", json!(1)),
        ("reasoning_back", json!("sometimes")),
        ("path", json!("chat")),
    ];
    for (name, value) in cases {
        let mut target = target("openai");
        target.options.insert(name.into(), value);
        let error = OpenAiChatCodec.call(&hello(), &target).unwrap_err();
        assert_eq!(error.code(), "invalid_request");
        assert!(error.message().starts_with(&format!("the option `{name}` cannot be")), "{error}");
        drop(OpenAiChatCodec.decoder(&hello(), &target));
    }
}

#[test]
fn azure_is_addressed_by_base_url_and_version() {
    let dated = "/deployments/m/chat/completions?api-version=2024-10-21";
    let cases = [
        ("https://r.example", Some("2024-10-21"), format!("https://r.example/openai{dated}")),
        ("https://r.example/openai/", Some("2024-10-21"), format!("https://r.example/openai{dated}")),
        ("https://r.example", None, "https://r.example/openai/v1/chat/completions".into()),
        ("https://r.example/openai", None, "https://r.example/openai/v1/chat/completions".into()),
        ("https://r.example/openai/v1/", None, "https://r.example/openai/v1/chat/completions".into()),
    ];
    for (base, version, expected) in cases {
        let mut target = target("azure");
        target.base_url = base.into();
        target.options.extend(version.map(|version| ("api_version".to_owned(), Value::from(version))));
        let path = OpenAiChatCodec.call(&hello(), &target).unwrap().path;
        assert_eq!(target.url(&path), expected);
    }
}

#[test]
fn media_go_along_where_the_model_takes_them_and_are_named_where_not() {
    let data = || image(MediaSource::Data("AAAA".into()));
    let pdf = || Media { mime_type: "application/pdf".into(), source: MediaSource::Data("BBBB".into()) };
    let user = ChatMessage::User {
        text: "look".into(),
        media: vec![data(), image(MediaSource::Url("https://i.example/x".into())), pdf()],
    };
    let call = |id: &str| ToolCall { id: id.into(), name: "look".into(), args: Default::default() };
    let messages = vec![
        user,
        ChatMessage::assistant("", vec![call("a"), call("b")]),
        shown("a", vec![data()]),
        shown("b", vec![]),
        ChatMessage::System { text: "Go on.".into() },
        ChatMessage::assistant("", vec![call("c")]),
        shown("c", vec![data()]),
    ];
    let request = ModelRequest { system: "".into(), ..request(messages) };
    let mut target = target("openai");
    target.capabilities.developer_role = true;
    target.capabilities.documents = true;
    let text = |text: &str| json!({"type": "text", "text": text});
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let calls = |ids: &[&str]| -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
    };
    let besides =
        json!({"role": "user", "content": [text("What the tools returned besides words:"), picture]});
    let expected = json!([
        {"role": "user", "content": [
            text("look"), picture,
            {"type": "image_url", "image_url": {"url": "https://i.example/x"}},
            {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,BBBB"}}]},
        calls(&["a", "b"]),
        {"role": "tool", "tool_call_id": "a", "content": "see"},
        {"role": "tool", "tool_call_id": "b", "content": "see"},
        besides,
        {"role": "developer", "content": "Go on."},
        calls(&["c"]),
        {"role": "tool", "tool_call_id": "c", "content": "see"},
        besides,
    ]);
    assert_eq!(body(&request, &target)["messages"], expected);

    target.capabilities.images = false;
    target.capabilities.documents = false;
    let left_out = |kind: &str| text(&format!("[{kind} left out: this model cannot take it]"));
    let expected =
        json!([text("look"), left_out("image/png"), left_out("image/png"), left_out("application/pdf")]);
    assert_eq!(body(&request, &target)["messages"][0]["content"], expected);
}

#[test]
fn tools_go_along_where_the_model_takes_them() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let request =
        ModelRequest { tools: [tool("read", schema.clone()), tool("now", json!({}))].into(), ..hello() };
    let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "description": "Reads.", "parameters": parameters}});
    let expected =
        json!([function("read", schema), function("now", json!({"type": "object", "properties": {}}))]);
    let mut target = target("openai");
    assert_eq!(body(&request, &target)["tools"], expected);
    target.capabilities.tools = false;
    assert_eq!(body(&request, &target).get("tools"), None);
}

#[test]
fn a_shape_is_asked_for_in_the_way_that_the_model_has() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer", "minimum": 1}}, "required": ["a"]});
    let loose = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let strict = |n: Value| {
        json!({"type": "object", "additionalProperties": false, "required": ["a", "n"],
                                   "properties": {"a": {"type": "string"}, "n": n}})
    };
    let wanting = |schema: &Value| ModelRequest {
        output_schema: Some(OutputSchema { name: "reply".into(), schema: schema.clone() }),
        ..hello()
    };
    let native = |schema: Value, strict: Option<bool>| {
        let mut format = json!({"name": "reply", "schema": schema});
        if let Some(strict) = strict {
            format["strict"] = strict.into();
        }
        json!({"type": "json_schema", "json_schema": format})
    };
    let cases = [
        ("openai", &schema, native(strict(json!({"type": ["integer", "null"], "minimum": 1})), Some(true))),
        ("azure", &schema, native(strict(json!({"type": ["integer", "null"]})), Some(true))),
        ("openai", &loose, native(loose.clone(), Some(false))),
        ("vllm", &schema, native(schema.clone(), None)),
    ];
    for (dialect, schema, expected) in cases {
        let mut target = target(dialect);
        target.capabilities.structured_output = StructuredOutput::Native;
        assert_eq!(body(&wanting(schema), &target)["response_format"], expected, "{dialect}");
    }

    let asked = |how: StructuredOutput, tools: bool| {
        let mut target = target("openai");
        target.capabilities.structured_output = how;
        target.capabilities.tools = tools;
        let body = body(&wanting(&loose), &target);
        let system = body["messages"][0]["content"].as_str().unwrap().to_owned();
        (system, body["response_format"].clone(), body["tool_choice"].clone(), body["tools"].clone())
    };
    let words = format!(
        "Be good.\n\nAnswer with one JSON object and nothing else. It has to match this JSON Schema:\n{loose}"
    );
    let none = || Value::Null;
    assert_eq!(
        asked(StructuredOutput::JsonMode, true),
        (words.clone(), json!({"type": "json_object"}), none(), none())
    );
    assert_eq!(asked(StructuredOutput::ByPrompt, true), (words.clone(), none(), none(), none()));
    assert_eq!(asked(StructuredOutput::ByTool, false), (words, none(), none(), none()));
    let mut parameters = loose.clone();
    parameters["properties"] = json!({});
    let function = json!({"name": "reply", "description": "Gives the answer.", "parameters": parameters});
    let expected = (
        "Be good.".to_owned(),
        none(),
        json!({"type": "function", "function": {"name": "reply"}}),
        json!([{"type": "function", "function": function}]),
    );
    assert_eq!(asked(StructuredOutput::ByTool, true), expected);
}

#[test]
fn a_server_with_a_grammar_is_given_the_schema_unless_tools_are_there() {
    let shape = OutputSchema { name: "reply".into(), schema: json!({"type": "object"}) };
    let asked = ModelRequest { output_schema: Some(shape), ..hello() };
    let beside = ModelRequest { tools: [tool("read", json!({}))].into(), ..asked.clone() };
    let named = json!({"type": "function", "function": {"name": "reply"}});
    let cases = [
        ("vllm", &asked, Value::Null, json!("json_schema")),
        ("llama.cpp", &asked, Value::Null, json!("json_schema")),
        ("lmstudio", &asked, Value::Null, json!("json_schema")),
        ("lmstudio", &beside, json!("required"), Value::Null),
        ("vllm", &beside, json!("required"), Value::Null),
        ("generic", &asked, named, Value::Null),
    ];
    for (dialect, request, choice, format) in cases {
        let body = body(request, &target(dialect));
        assert_eq!((&body["tool_choice"], &body["response_format"]["type"]), (&choice, &format), "{dialect}");
    }
}

#[test]
fn an_answer_by_tool_leaves_other_tools_usable_and_has_a_name_of_its_own() {
    let request = ModelRequest {
        tools: [tool("reply", json!({}))].into(),
        output_schema: Some(OutputSchema { name: "reply".into(), schema: json!({}) }),
        ..hello()
    };
    let body = body(&request, &target("generic"));
    let names: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["reply", "reply_answer"]);
    assert_eq!(body["tool_choice"], "required");
}

#[test]
fn thinking_is_asked_for_in_fields_or_in_the_last_words_of_the_user() {
    let messages =
        vec![ChatMessage::user("one"), ChatMessage::assistant("1", vec![]), ChatMessage::user("two")];
    let asked = |thinking: Thinking, kind: ThinkingKind, messages: Vec<ChatMessage>| {
        let mut target = target("vllm");
        target.capabilities.thinking = kind;
        body(&ModelRequest { thinking, ..request(messages) }, &target)
    };
    let texts = |body: &Value| -> Vec<String> {
        body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let off = asked(Thinking::Off, ThinkingKind::PromptTag, messages.clone());
    assert_eq!(texts(&off), ["Be good.", "one", "1", "two /no_think"]);
    let on = asked(Thinking::High, ThinkingKind::PromptTag, messages.clone());
    assert_eq!(texts(&on), ["Be good.", "one", "1", "two /think"]);
    let alone = asked(Thinking::Off, ThinkingKind::PromptTag, vec![]);
    assert_eq!(texts(&alone), ["Be good. /no_think"]);
    let switched = asked(Thinking::Off, ThinkingKind::TemplateSwitch, messages);
    assert_eq!(switched["chat_template_kwargs"], json!({"enable_thinking": false}));
}

#[test]
fn reasoning_goes_back_to_its_own_provider_where_the_dialect_wants_it() {
    let thought =
        |provider: &str, opaque: Value| Thought { provider: provider.into(), text: String::new(), opaque };
    let turn = |tool_calls: Vec<ToolCall>, thoughts: Vec<Thought>| ChatMessage::Assistant {
        text: "t".into(),
        tool_calls,
        thoughts,
    };
    let call = || vec![ToolCall { id: "a".into(), name: "n".into(), args: Default::default() }];
    let own = || vec![thought("p", json!({"reasoning_content": "hm", "evil": 1}))];
    let foreign = || vec![thought("q", json!({"reasoning_content": "hm"}))];
    let details =
        || vec![thought("p", json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}))];
    let cases = [
        ("deepseek", Thinking::Auto, turn(call(), own()), json!({"reasoning_content": "hm"})),
        ("deepseek", Thinking::Auto, turn(vec![], own()), json!({})),
        ("deepseek", Thinking::Auto, turn(call(), foreign()), json!({"reasoning_content": ""})),
        ("deepseek", Thinking::Off, turn(call(), vec![]), json!({})),
        ("vllm", Thinking::Auto, turn(call(), own()), json!({"reasoning_content": "hm"})),
        ("vllm", Thinking::Auto, turn(call(), foreign()), json!({})),
        (
            "openrouter",
            Thinking::Auto,
            turn(vec![], details()),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
        ),
        ("openai", Thinking::Auto, turn(call(), own()), json!({})),
        ("groq", Thinking::Auto, turn(call(), own()), json!({})),
    ];
    for (dialect, thinking, message, expected) in cases {
        let shown = format!("{dialect} {message:?}");
        let request = ModelRequest { thinking, ..request(vec![message]) };
        let mut message = body(&request, &target(dialect))["messages"][1].as_object().unwrap().clone();
        for field in ["role", "content", "tool_calls"] {
            message.remove(field);
        }
        assert_eq!(Value::from(message), expected, "{shown}");
    }
    let mut unthinking = target("deepseek");
    unthinking.capabilities.thinking = ThinkingKind::Never;
    let body = body(&request(vec![turn(call(), vec![])]), &unthinking);
    assert_eq!(body["messages"][1].get("reasoning_content"), None);
}
