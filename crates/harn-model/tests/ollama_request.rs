//! Requests to Ollama, as whole JSON values.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest, OutputSchema, Thinking, Thought};
use harn_core::tool::{Annotations, Class, SideEffect, ToolOutcome, ToolSpec};
use harn_model::providers::ollama::OllamaCodec;
use harn_model::{Auth, Codec, Delivery, Framing, HttpCall, StructuredOutput, Target, ThinkingKind};
use serde_json::{Value, json};
use support::request;

fn target(model: &str) -> Target {
    Target::new("ollama", model, "http://example.invalid", Auth::None)
}

fn body(request: &ModelRequest, target: &Target) -> Value {
    OllamaCodec.call(request, target).unwrap().body
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hi")])
}

fn look() -> ToolSpec {
    ToolSpec {
        name: "look".into(),
        description: "Looks.".into(),
        input_schema: json!({"type": "object"}),
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::None,
        annotations: Annotations::default(),
    }
}

fn function(name: &str, description: &str, parameters: &Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

#[test]
fn a_request_holds_the_settings_of_its_target() {
    let mut target = target("llama3.2");
    let mut expected = json!({
        "model": "llama3.2",
        "messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": "hi"}],
        "stream": true,
        "options": {"num_predict": 1000},
    });
    let call = |body: &Value, framing| HttpCall {
        path: "/api/chat".into(),
        headers: vec![],
        body: body.clone(),
        framing,
    };
    assert_eq!(OllamaCodec.call(&hello(), &target).unwrap(), call(&expected, Framing::Lines));

    target.delivery = Delivery::Whole;
    let options =
        json!({"num_ctx": 32768, "keep_alive": "10m", "options": {"temperature": 0, "num_predict": 5}});
    target.options = options.as_object().unwrap().clone();
    expected["stream"] = json!(false);
    expected["keep_alive"] = json!("10m");
    expected["options"] = json!({"num_predict": 5, "num_ctx": 32768, "temperature": 0});
    expected["tools"] = json!([function("look", "Looks.", &json!({"type": "object"}))]);
    let with_tool = ModelRequest { tools: [look()].into(), ..hello() };
    assert_eq!(OllamaCodec.call(&with_tool, &target).unwrap(), call(&expected, Framing::Whole));

    target.capabilities.tools = false;
    expected.as_object_mut().unwrap().remove("tools");
    assert_eq!(body(&with_tool, &target), expected);
}

#[test]
fn the_window_is_the_one_of_the_settings_else_the_one_that_the_model_is_known_to_have() {
    let cases = [
        (None, json!({}), json!({"num_predict": 1000})),
        (Some(40_960), json!({}), json!({"num_predict": 1000, "num_ctx": 40_960})),
        (Some(40_960), json!({"num_ctx": 8192}), json!({"num_predict": 1000, "num_ctx": 8192})),
    ];
    for (known, settings, expected) in cases {
        let mut target = target("qwen3");
        target.capabilities.context_window = known;
        target.options = settings.as_object().unwrap().clone();
        assert_eq!(body(&hello(), &target)["options"], expected);
    }
}

#[test]
fn images_go_beside_the_text_and_the_rest_is_told_as_missing() {
    let media = |mime_type: &str, source| Media { mime_type: mime_type.into(), source };
    let all = vec![
        media("image/png", MediaSource::Data("AAAA".into())),
        media("image/png", MediaSource::Url("https://a/b.png".into())),
        media("application/pdf", MediaSource::Data("BBBB".into())),
        media("image/jpeg", MediaSource::Data("CCCC".into())),
    ];
    let foreign = Thought { provider: "other".into(), text: "x".into(), opaque: json!({"thinking": "x"}) };
    let broken = Thought { provider: "ollama".into(), text: "x".into(), opaque: json!([1]) };
    let messages = vec![
        ChatMessage::System { text: "First.".into() },
        ChatMessage::User { text: String::new(), media: all.clone() },
        ChatMessage::Assistant { text: "Seen.".into(), tool_calls: vec![], thoughts: vec![foreign, broken] },
        ChatMessage::Tool {
            call_id: "lost".into(),
            name: "look".into(),
            outcome: ToolOutcome::Ok,
            output: "o".into(),
            media: all[..1].to_vec(),
        },
    ];
    let url = "[image/png at https://a/b.png: left out, because Ollama fetches nothing]";
    let pdf = "[application/pdf: left out, because the model does not take it]";
    let expected = json!([
        {"role": "system", "content": "Be good."},
        {"role": "system", "content": "First."},
        {"role": "user", "content": format!("{url}\n{pdf}"), "images": ["AAAA", "CCCC"]},
        {"role": "assistant", "content": "Seen."},
        {"role": "tool", "content": "o", "tool_name": "look", "images": ["AAAA"]},
    ]);
    let mut target = target("llava");
    assert_eq!(body(&request(messages.clone()), &target)["messages"], expected);

    target.capabilities.images = false;
    let png = "[image/png: left out, because the model does not take it]";
    let found = body(&request(messages), &target)["messages"][4].clone();
    assert_eq!(found, json!({"role": "tool", "content": format!("o\n{png}"), "tool_name": "look"}));
}

#[test]
fn an_answer_gets_its_shape_by_a_format_unless_tools_are_there() {
    use StructuredOutput::{ByPrompt, ByTool, JsonMode, Native};
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let rule = format!(
        "Be good.\n\nAnswer with one JSON value and nothing around it. It has to fit this JSON Schema:\n{schema}"
    );
    let by_tool = "Be good.\n\nGive the final answer by a call of the tool `look_`.";
    let purpose = "Gives the final answer. Call it once, when the answer is complete.";
    let plain = json!([function("look", "Looks.", &json!({"type": "object"}))]);
    let both = json!([plain[0], function("look_", purpose, &schema)]);
    let (null, word) = (Value::Null, json!("json"));
    let cases = [
        (Native, false, "Be good.", &null, &schema),
        (ByTool, false, "Be good.", &null, &schema),
        (JsonMode, false, rule.as_str(), &null, &word),
        (ByPrompt, false, rule.as_str(), &null, &null),
        (Native, true, by_tool, &both, &null),
        (ByTool, true, by_tool, &both, &null),
        (JsonMode, true, rule.as_str(), &plain, &null),
        (ByPrompt, true, rule.as_str(), &plain, &null),
    ];
    for (way, with_tools, system, tools, format) in cases {
        let mut target = target("llama3.2");
        target.capabilities.structured_output = way;
        let wanted = OutputSchema { name: "look".into(), schema: schema.clone() };
        let mut request = ModelRequest { output_schema: Some(wanted), ..hello() };
        if with_tools {
            request.tools = [look()].into();
        }
        let body = body(&request, &target);
        let found = (&body["messages"][0]["content"], &body["tools"], &body["format"]);
        assert_eq!(found, (&json!(system), tools, format), "{way:?} {with_tools}");
    }
}

#[test]
fn thinking_is_a_boolean_or_a_level() {
    use Thinking::{Low, Medium, Minimal, Off, Xhigh};
    let effort = |levels: &[Thinking]| ThinkingKind::Effort { levels: levels.to_vec() };
    let (null, yes, no) = (Value::Null, json!(true), json!(false));
    let (low, medium, high) = (json!("low"), json!("medium"), json!("high"));
    let nothing = [&null; 7];
    let levels = [&null, &low, &low, &low, &medium, &high, &high];
    let switch = [&null, &no, &yes, &yes, &yes, &yes, &yes];
    // Per case what is said for auto, off, minimal, low, medium, high, xhigh.
    let cases = [
        ("llama3.2", ThinkingKind::Unknown, [&null, &no, &null, &null, &null, &null, &null]),
        ("gpt-oss:20b", ThinkingKind::Unknown, levels),
        ("team/gpt-oss", ThinkingKind::Unknown, levels),
        ("qwen3", ThinkingKind::Switch, switch),
        ("qwen3", ThinkingKind::Budget { least: 1 }, switch),
        ("qwen3", ThinkingKind::Never, nothing),
        ("deepseek-r1", ThinkingKind::Always, nothing),
        ("qwen3", ThinkingKind::PromptTag, nothing),
        ("qwen3", ThinkingKind::TemplateSwitch, nothing),
        ("x", effort(&[Off, Minimal, Medium, Xhigh]), [&null, &no, &low, &low, &medium, &medium, &high]),
        ("x", ThinkingKind::Adaptive { levels: vec![Low] }, [&null, &low, &low, &low, &low, &low, &low]),
    ];
    for (model, kind, expected) in cases {
        let mut target = target(model);
        target.capabilities.thinking = kind.clone();
        for (wanted, expected) in Thinking::ALL.into_iter().zip(expected) {
            let request = ModelRequest { thinking: wanted, ..hello() };
            assert_eq!(&body(&request, &target)["think"], expected, "{model} {kind:?} {wanted}");
        }
    }
}
