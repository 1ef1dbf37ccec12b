//! Requests to Gemini, as whole JSON values.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest, OutputSchema, Thought};
use harn_core::tool::{Annotations, Class, SideEffect, ToolCall, ToolOutcome, ToolSpec};
use harn_model::providers::gemini::GeminiCodec;
use harn_model::{Auth, Codec, Delivery, Framing, HttpCall, StructuredOutput, Target};
use serde_json::{Map, Value, json};
use support::request;

fn target(model: &str) -> Target {
    Target::new("google", model, "https://example.invalid", Auth::Header("x-goog-api-key".into()))
}

fn body(request: &ModelRequest, target: &Target) -> Value {
    GeminiCodec.call(request, target).unwrap().body
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hi")])
}

fn contents(messages: Vec<ChatMessage>, target: &Target) -> Value {
    body(&request(messages), target)["contents"].clone()
}

fn tool(name: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        input_schema,
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::None,
        annotations: Annotations::default(),
    }
}

fn options(json: Value) -> Map<String, Value> {
    json.as_object().unwrap().clone()
}

#[test]
fn the_address_depends_on_the_model_and_the_delivery() {
    let plain = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be good."}]},
        "generationConfig": {"maxOutputTokens": 1000},
    });
    let cases = [
        ("gemini-2.0-flash", Delivery::Whole, "/v1beta/models/gemini-2.0-flash:generateContent"),
        (
            "gemini-2.0-flash",
            Delivery::Streamed,
            "/v1beta/models/gemini-2.0-flash:streamGenerateContent?alt=sse",
        ),
        ("models/gemini-2.0-flash", Delivery::Whole, "/v1beta/models/gemini-2.0-flash:generateContent"),
        ("tunedModels/mine", Delivery::Whole, "/v1beta/tunedModels/mine:generateContent"),
        ("a?b#c d%", Delivery::Whole, "/v1beta/models/a%3Fb%23c%20d%25:generateContent"),
    ];
    for (model, delivery, path) in cases {
        let mut target = target(model);
        target.delivery = delivery;
        let framing = if delivery == Delivery::Whole { Framing::Whole } else { Framing::Events };
        let expected = HttpCall { path: path.into(), headers: vec![], body: plain.clone(), framing };
        assert_eq!(GeminiCodec.call(&hello(), &target).unwrap(), expected);
    }
}

#[test]
fn instructions_media_and_empty_messages_find_their_places() {
    let media = |mime_type: &str, source| Media { mime_type: mime_type.into(), source };
    let messages = vec![
        ChatMessage::System { text: "First.".into() },
        ChatMessage::User {
            text: "look".into(),
            media: vec![
                media("image/png", MediaSource::Data("AAAA".into())),
                media("image/jpeg", MediaSource::Url("https://a/b.jpg".into())),
                media("application/pdf", MediaSource::Data("BBBB".into())),
            ],
        },
        ChatMessage::assistant("", vec![]),
        ChatMessage::user(""),
        ChatMessage::assistant("Seen.", vec![]),
        ChatMessage::System { text: "Later.".into() },
    ];
    let expected = |pdf: Value| {
        json!({
            "contents": [
                {"role": "user", "parts": [
                    {"text": "look"},
                    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                    {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://a/b.jpg"}},
                    pdf,
                ]},
                {"role": "model", "parts": [{"text": "Seen."}]},
                {"role": "user", "parts": [{"text": "Later."}]},
            ],
            "systemInstruction": {"parts": [{"text": "Be good."}, {"text": "First."}]},
            "generationConfig": {"maxOutputTokens": 1000},
        })
    };
    let mut target = target("gemini-2.0-flash");
    let missing = json!({"text": "[application/pdf: left out, because the model does not take it]"});
    assert_eq!(body(&request(messages.clone()), &target), expected(missing));
    target.capabilities.documents = true;
    let pdf = json!({"inlineData": {"mimeType": "application/pdf", "data": "BBBB"}});
    assert_eq!(body(&request(messages), &target), expected(pdf));
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "look".into(), args: options(json!({"at": id})) }
}

fn result(call_id: &str, outcome: ToolOutcome, media: Vec<Media>) -> ChatMessage {
    ChatMessage::Tool { call_id: call_id.into(), name: "look".into(), outcome, output: "o".into(), media }
}

#[test]
fn results_go_by_order_where_there_are_no_ids() {
    let image = || vec![Media { mime_type: "image/png".into(), source: MediaSource::Data("AAAA".into()) }];
    let messages = vec![
        result("lost", ToolOutcome::Ok, vec![]),
        ChatMessage::assistant("t", vec![call("a"), call("b"), call("c")]),
        result("c", ToolOutcome::Denied, vec![]),
        result("a", ToolOutcome::Ok, image()),
        result("b", ToolOutcome::Error, vec![]),
    ];
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let response = |response: Value| json!({"functionResponse": {"name": "look", "response": response}});
    let called = |at: &str| json!({"functionCall": {"name": "look", "args": {"at": at}}});
    let lost = json!({"role": "user", "parts": [{"text": "Result of an earlier call of `look`:\no"}]});
    let failed = response(json!({"error": "o"}));
    let expected = json!([
        lost,
        {"role": "model", "parts": [{"text": "t"}, called("a"), called("b"), called("c")]},
        {"role": "user", "parts": [response(json!({"output": "o"})), failed, failed, inline]},
    ]);
    assert_eq!(contents(messages.clone(), &target("gemini-2.5-pro")), expected);

    let mut signed = called("a");
    signed["thoughtSignature"] = json!("skip_thought_signature_validator");
    let with_image =
        json!({"functionResponse": {"name": "look", "response": {"output": "o"}, "parts": [inline]}});
    let expected = json!([
        lost,
        {"role": "model", "parts": [{"text": "t"}, signed, called("b"), called("c")]},
        {"role": "user", "parts": [with_image, failed, failed]},
    ]);
    for model in ["gemini-3-pro-preview", "gemini-flash-latest", "models/gemini-3.5-flash"] {
        assert_eq!(contents(messages.clone(), &target(model)), expected, "{model}");
    }
}

#[test]
fn a_layout_is_used_only_where_it_is_ours_and_fits() {
    let signed = |text: &str| json!({"text": text, "thoughtSignature": "s"});
    let plain = json!([{"text": "äb"}, {"functionCall": {"name": "look", "args": {"at": "a"}}}]);
    let call_part = |id: &str| json!({"functionCall": {"name": "look", "args": {"at": "a"}, "id": id}});
    let cases = [
        (json!([{"call": {"id": "x"}}, {"text": {"bytes": 3}}]), json!([call_part("x"), {"text": "äb"}])),
        (
            json!([{"text": {"bytes": 2, "signature": "s"}}, {"text": {"bytes": 1}}, {"call": {"id": "x"}}]),
            json!([signed("ä"), {"text": "b"}, call_part("x")]),
        ),
        (
            json!([{"part": {"executableCode": {"code": "1"}}}, {"text": {"bytes": 3}}, {"call": {"id": "x"}}]),
            json!([{"executableCode": {"code": "1"}}, {"text": "äb"}, call_part("x")]),
        ),
        // Within a letter, too short, too long, another number of calls, no layout at all.
        (json!([{"text": {"bytes": 1}}, {"text": {"bytes": 2}}, {"call": {}}]), plain.clone()),
        (json!([{"text": {"bytes": 2, "signature": "s"}}, {"call": {}}]), plain.clone()),
        (json!([{"text": {"bytes": u64::MAX}}, {"text": {"bytes": 4}}, {"call": {}}]), plain.clone()),
        (json!([{"text": {"bytes": 3, "signature": "s"}}]), plain.clone()),
        (json!([{"text": {"bytes": 3}}, {"call": {}}, {"call": {}}]), plain.clone()),
        (json!([{"text": {"bytes": 3}}, {"call": {}}, {"part": 5}]), plain.clone()),
        (json!([{"text": {"bytes": -3}}]), plain.clone()),
        (json!([[], 5, "x"]), plain.clone()),
        (json!("x"), plain.clone()),
    ];
    let message = |provider: &str, parts: &Value| ChatMessage::Assistant {
        text: "äb".into(),
        tool_calls: vec![call("a")],
        thoughts: vec![Thought {
            provider: provider.into(),
            text: String::new(),
            opaque: json!({ "parts": parts }),
        }],
    };
    for (layout, expected) in cases {
        let target = target("gemini-2.5-pro");
        let own = contents(vec![message("google", &layout)], &target);
        assert_eq!(own, json!([{"role": "model", "parts": expected}]), "{layout}");
        let foreign = contents(vec![message("other", &layout)], &target);
        assert_eq!(foreign, json!([{"role": "model", "parts": plain}]), "{layout}");
    }
}

#[test]
fn an_answer_gets_its_shape_in_the_way_that_the_model_offers() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false});
    let wanted = || Some(OutputSchema { name: "look".into(), schema: schema.clone() });
    let system = |more: Option<String>| {
        let parts = ["Be good.".to_owned()].into_iter().chain(more);
        json!({"parts": parts.map(|text| json!({ "text": text })).collect::<Vec<_>>()})
    };
    let rule = format!(
        "Answer with one JSON value and nothing around it. It has to fit this JSON Schema:\n{schema}"
    );
    let declared = |name: &str, description: &str, schema: &Value| json!({"name": name, "description": description, "parametersJsonSchema": schema});
    let purpose = "Gives the final answer. Call it once, when the answer is complete.";
    let look = declared("look", "Does look.", &json!({"type": "object"}));
    let native = json!({"maxOutputTokens": 1000, "responseMimeType": "application/json", "responseJsonSchema": schema});
    let mime = json!({"maxOutputTokens": 1000, "responseMimeType": "application/json"});
    let free = json!({"maxOutputTokens": 1000});
    let forced = |config: Value| json!({ "functionCallingConfig": config });
    let only = forced(json!({"mode": "ANY", "allowedFunctionNames": ["look"]}));
    let any = forced(json!({"mode": "ANY"}));
    let null = Value::Null;
    let own = json!([{"functionDeclarations": [declared("look", purpose, &schema)]}]);
    let both = json!([{"functionDeclarations": [look, declared("look_", purpose, &schema)]}]);
    let plain = json!([{"functionDeclarations": [look]}]);
    use StructuredOutput::{ByPrompt, ByTool, JsonMode, Native};
    // The second generation has either tools or JSON; `x-9` stands for a model of which nothing is known.
    let cases = [
        ("gemini-2.0-flash", Native, false, system(None), &null, &null, &native),
        ("gemini-2.0-flash", Native, true, system(None), &both, &any, &free),
        ("x-9", Native, true, system(None), &plain, &null, &native),
        ("gemini-2.0-flash", JsonMode, false, system(Some(rule.clone())), &null, &null, &mime),
        ("gemini-2.0-flash", JsonMode, true, system(Some(rule.clone())), &plain, &null, &free),
        ("x-9", ByTool, false, system(None), &own, &only, &free),
        ("x-9", ByTool, true, system(None), &both, &any, &free),
        ("x-9", ByPrompt, true, system(Some(rule.clone())), &plain, &null, &free),
    ];
    for (model, way, with_tools, system, tools, config, generation) in cases {
        let mut target = target(model);
        target.capabilities.structured_output = way;
        let mut request = hello();
        request.output_schema = wanted();
        if with_tools {
            request.tools = [tool("look", json!({"type": "object", "$schema": "x"}))].into();
        }
        let body = body(&request, &target);
        let found =
            (&body["systemInstruction"], &body["tools"], &body["toolConfig"], &body["generationConfig"]);
        assert_eq!(found, (&system, tools, config, generation), "{model} {way:?} {with_tools}");
    }
}

#[test]
fn functions_beside_tools_of_google_ask_for_what_those_did() {
    let cases = [
        ("gemini-3-flash-preview", true, json!({"includeServerSideToolInvocations": true})),
        ("gemini-3-flash-preview", false, Value::Null),
        ("gemini-2.5-flash", true, Value::Null),
    ];
    for (model, with_tools, expected) in cases {
        let mut target = target(model);
        target.options = options(json!({"tools": [{"googleSearch": {}}]}));
        let mut request = hello();
        if with_tools {
            request.tools = [tool("look", json!({}))].into();
        }
        assert_eq!(body(&request, &target)["toolConfig"], expected, "{model} {with_tools}");
    }
}

#[test]
fn settings_of_the_target_are_put_in() {
    let mut target = target("gemini-2.5-flash");
    target.capabilities.tools = false;
    target.options = options(json!({
        "tools": [{"googleSearch": {}}],
        "generation_config": {"temperature": 0.5, "maxOutputTokens": 5},
        "include_thoughts": false,
    }));
    let mut request = hello();
    request.tools = [tool("look", json!({}))].into();
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be good."}]},
        "tools": [{"googleSearch": {}}],
        "generationConfig": {"maxOutputTokens": 5, "temperature": 0.5},
    });
    assert_eq!(body(&request, &target), expected);
    // Beside a tool of Google, this generation takes neither a function nor a schema.
    let mut shaped = request.clone();
    shaped.output_schema = Some(OutputSchema { name: "n".into(), schema: json!({"type": "object"}) });
    let mut rule = expected.clone();
    let words = "Answer with one JSON value and nothing around it. It has to fit this JSON Schema:\n{\"type\":\"object\"}";
    rule["systemInstruction"]["parts"] = json!([{"text": "Be good."}, {"text": words}]);
    assert_eq!(body(&shaped, &target), rule);
    target.options = options(json!({"schema": "yaml"}));
    let error = GeminiCodec.call(&request, &target).unwrap_err();
    assert_eq!(error.code(), "invalid_request");
}

#[test]
fn schemas_are_translated_to_the_older_subset_where_that_is_asked_for() {
    let string = json!({"type": "string"});
    let cases = [
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "default": "x", "format": "uri"}},
                "required": ["a", "b"], "additionalProperties": false, "$schema": "s", "$id": "i"}),
            json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]}),
        ),
        (
            json!({"properties": {"a": {"type": ["string", "null"]}, "b": {"type": ["string", "integer"]},
                "c": {"const": "x"}, "d": {"enum": ["x", null]}, "e": {"enum": [1, 2], "type": "integer"},
                "f": {"type": "array"}, "g": {"type": "array", "items": {"type": "string", "multipleOf": 2}},
                "h": true, "i": {"type": "integer", "format": "int64", "exclusiveMinimum": 0, "minimum": 1}}}),
            json!({"properties": {"a": {"type": "string", "nullable": true},
                "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "c": {"type": "string", "enum": ["x"]}, "d": {"type": "string", "enum": ["x"], "nullable": true},
                "e": {"type": "integer"}, "f": {"type": "array", "items": string},
                "g": {"type": "array", "items": string}, "h": {},
                "i": {"type": "integer", "format": "int64", "minimum": 1}}}),
        ),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/n", "description": "d"}, "b": {"oneOf": [string, {"type": "null"}]},
                "c": {"anyOf": [string, {"type": "number"}]}, "d": {"$ref": "#/$defs/none"}},
                "allOf": [{"properties": {"x": string}, "required": ["x"]}, {"required": ["x"]}],
                "$defs": {"n": {"type": "object", "properties": {"k": string}}}}),
            json!({"properties": {"a": {"type": "object", "properties": {"k": string}, "description": "d"},
                "b": {"type": "string", "nullable": true}, "c": {"anyOf": [string, {"type": "number"}]}, "d": {},
                "x": string}, "required": ["x"]}),
        ),
    ];
    let mut target = target("x-9");
    target.options = options(json!({"schema": "openapi"}));
    for (given, expected) in cases {
        let mut request = hello();
        request.tools =
            [tool("look", given.clone()), tool("idle", json!({"type": "object", "properties": {}}))].into();
        let declared = json!([{"functionDeclarations": [
            {"name": "look", "description": "Does look.", "parameters": expected},
            {"name": "idle", "description": "Does idle."},
        ]}]);
        assert_eq!(body(&request, &target)["tools"], declared);

        target.capabilities.structured_output = StructuredOutput::Native;
        request.output_schema = Some(OutputSchema { name: "n".into(), schema: given });
        assert_eq!(body(&request, &target)["generationConfig"]["responseSchema"], expected);
    }
}

#[test]
fn a_schema_that_refers_to_itself_comes_to_an_end() {
    let own = json!({"$ref": "#/$defs/t"});
    let branches: Vec<&Value> = vec![&own; 20];
    let endless =
        json!({"properties": {"a": own}, "$defs": {"t": {"properties": {"b": own}, "anyOf": branches}}});
    let mut target = target("x-9");
    target.options = options(json!({"schema": "openapi"}));
    let mut request = hello();
    request.tools = [tool("look", endless)].into();
    assert!(body(&request, &target).to_string().len() < 100_000);
}
