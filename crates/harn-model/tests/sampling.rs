//! What a call says about how to answer, in the words of every provider: exactly what it adds to a plain request.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_core::chat::{ChatMessage, ModelRequest, Sampling, SearchVariant, Thinking, ToolChoice, ToolSearch};
use harn_core::tool::{Class, SideEffect, ToolSpec};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::providers::gemini::GeminiCodec;
use harn_model::providers::ollama::OllamaCodec;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Capabilities, Codec, Target, ThinkingKind};
use serde_json::{Map, Value, json};
use support::request;

fn target(dialect: Option<&str>, thinking: ThinkingKind) -> Target {
    let mut target = Target::new("p", "m", "https://a.example", Auth::Bearer);
    target.capabilities = Capabilities { thinking, ..Capabilities::default() };
    target.options.extend(dialect.map(|dialect| ("dialect".to_owned(), dialect.into())));
    target
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Looks.".into(),
        input_schema: json!({"type": "object", "properties": {}}),
        output_schema: Value::Null,
        class: Class::Read,
        side_effect: SideEffect::ReadOnly,
        annotations: Default::default(),
    }
}

/// What the sampling adds to the body of the same request without it. Nested objects are compared by their fields.
fn added(codec: &dyn Codec, target: &Target, request: &ModelRequest) -> Value {
    let plain = ModelRequest { sampling: Sampling::default(), ..request.clone() };
    let body = |request: &ModelRequest| codec.call(request, target).unwrap().body;
    more(&body(request), &body(&plain))
}

fn more(new: &Value, old: &Value) -> Value {
    let (Value::Object(new), Value::Object(old)) = (new, old) else { return new.clone() };
    let nothing = Value::Object(Map::new());
    let fields = new.iter().filter(|(name, value)| old.get(*name) != Some(value));
    let mut added: Map<String, Value> =
        fields.map(|(name, value)| (name.clone(), more(value, old.get(name).unwrap_or(&nothing)))).collect();
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    added.extend(gone.map(|name| (name.clone(), "gone".into())));
    Value::Object(added)
}

fn everything() -> ModelRequest {
    let stop = Arc::from(["END".to_owned()]);
    let (temperature, top_p, seed) = (Some(0.5), Some(0.9), Some(7));
    let sampling = Sampling { temperature, top_p, stop, seed, ..Sampling::default() };
    ModelRequest { sampling, ..request(vec![ChatMessage::user("hello")]) }
}

fn effort() -> ThinkingKind {
    ThinkingKind::Effort { levels: vec![Thinking::Off, Thinking::Low, Thinking::High] }
}

#[test]
fn numbers_and_words_to_stop_at_go_to_those_who_take_them() {
    let old = ThinkingKind::Budget { least: 1024 };
    let adaptive = ThinkingKind::Adaptive { levels: vec![Thinking::Low, Thinking::High] };
    let all = json!({"temperature": 0.5, "top_p": 0.9, "stop": ["END"], "seed": 7});
    let mistral = json!({"temperature": 0.5, "top_p": 0.9, "stop": ["END"], "random_seed": 7});
    let numbers = json!({"temperature": 0.5, "top_p": 0.9});
    let options = json!({"options": all.clone()});
    let config = json!({"temperature": 0.5, "topP": 0.9, "stopSequences": ["END"], "seed": 7});
    let stops = json!({"stop_sequences": ["END"]});
    use Thinking::{Auto, High, Off};
    let unknown = || ThinkingKind::Unknown;
    let chat: &dyn Codec = &OpenAiChatCodec;
    type Case<'a> = (&'a dyn Codec, Option<&'a str>, ThinkingKind, Thinking, Value);
    let cases: [Case<'_>; 15] = [
        (&AnthropicCodec, None, old.clone(), Auto, json!({"temperature": 0.5, "stop_sequences": ["END"]})),
        (&AnthropicCodec, None, old.clone(), High, json!({"temperature": 0.5, "stop_sequences": ["END"]})),
        (&AnthropicCodec, None, adaptive, Auto, stops.clone()),
        (&AnthropicCodec, None, unknown(), Auto, stops),
        (&OpenAiResponsesCodec, None, unknown(), Auto, numbers.clone()),
        (&OpenAiResponsesCodec, None, effort(), High, json!({})),
        (&OpenAiResponsesCodec, None, effort(), Off, numbers),
        (chat, Some("openai"), unknown(), Auto, all.clone()),
        (chat, Some("openai"), effort(), Auto, json!({"seed": 7})),
        (chat, Some("openai"), effort(), Off, all.clone()),
        (chat, Some("vllm"), effort(), High, all),
        (chat, Some("mistral"), unknown(), Auto, mistral),
        (&GeminiCodec, None, unknown(), Auto, json!({ "generationConfig": config })),
        (&OllamaCodec, None, unknown(), Auto, options.clone()),
        (&OllamaCodec, None, effort(), High, options),
    ];
    for (at, (codec, dialect, kind, thinking, expected)) in cases.into_iter().enumerate() {
        let request = ModelRequest { thinking, ..everything() };
        assert_eq!(added(codec, &target(dialect, kind), &request), expected, "case {at}");
    }
}

#[test]
fn a_model_of_anthropic_that_thinks_by_a_budget_is_told_nothing_of_chance() {
    let target = target(None, ThinkingKind::Budget { least: 1024 });
    let mut request = ModelRequest { thinking: Thinking::High, max_output_tokens: 8000, ..everything() };
    assert_eq!(added(&AnthropicCodec, &target, &request), json!({"stop_sequences": ["END"]}));
    request.thinking = Thinking::Off;
    request.sampling.temperature = None;
    assert_eq!(added(&AnthropicCodec, &target, &request), json!({"top_p": 0.9, "stop_sequences": ["END"]}));
}

#[test]
fn a_choice_of_tools_has_the_words_of_each_provider() {
    use ToolChoice::{Auto, Never, Required, Tool};
    let look = || Tool("look".into());
    let mode = |config: Value| json!({"toolConfig": {"functionCallingConfig": config}});
    let chat: &dyn Codec = &OpenAiChatCodec;
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "look"}}});
    let cases: [(&dyn Codec, Option<&str>, ToolChoice, Value); 18] = [
        (&AnthropicCodec, None, Auto, json!({"tool_choice": {"type": "auto"}})),
        (&AnthropicCodec, None, Never, json!({"tool_choice": {"type": "none"}})),
        (&AnthropicCodec, None, Required, json!({"tool_choice": {"type": "any"}})),
        (&AnthropicCodec, None, look(), json!({"tool_choice": {"type": "tool", "name": "look"}})),
        (&OpenAiResponsesCodec, None, Auto, json!({"tool_choice": "auto"})),
        (&OpenAiResponsesCodec, None, Never, json!({"tool_choice": "none"})),
        (&OpenAiResponsesCodec, None, Required, json!({"tool_choice": "required"})),
        (&OpenAiResponsesCodec, None, look(), json!({"tool_choice": {"type": "function", "name": "look"}})),
        (chat, None, Auto, json!({"tool_choice": "auto"})),
        (chat, None, Never, json!({"tool_choice": "none"})),
        (chat, None, look(), named),
        (chat, Some("lmstudio"), look(), json!({"tool_choice": "required"})),
        (&GeminiCodec, None, Auto, mode(json!({"mode": "AUTO"}))),
        (&GeminiCodec, None, Never, mode(json!({"mode": "NONE"}))),
        (&GeminiCodec, None, Required, mode(json!({"mode": "ANY"}))),
        (&GeminiCodec, None, look(), mode(json!({"mode": "ANY", "allowedFunctionNames": ["look"]}))),
        (&OllamaCodec, None, Required, json!({})),
        (&OllamaCodec, None, Never, json!({"tools": "gone"})),
    ];
    for (codec, dialect, choice, expected) in cases {
        let sampling = Sampling { tool_choice: Some(choice.clone()), ..Sampling::default() };
        let hello = request(vec![ChatMessage::user("hello")]);
        let request = ModelRequest { sampling, tools: [tool("look")].into(), ..hello };
        let target = target(dialect, ThinkingKind::Unknown);
        assert_eq!(added(codec, &target, &request), expected, "{choice:?} {dialect:?}");
        // Without tools there is nothing to choose.
        let none = ModelRequest { tools: [].into(), ..request };
        assert_eq!(added(codec, &target, &none), json!({}), "{choice:?} {dialect:?}");
    }
}

#[test]
fn a_choice_that_is_forced_rules_out_thinking() {
    let adaptive = ThinkingKind::Adaptive { levels: vec![Thinking::Low, Thinking::High] };
    let sampling = Sampling { tool_choice: Some(ToolChoice::Required), ..Sampling::default() };
    let hello = request(vec![ChatMessage::user("hello")]);
    let request = ModelRequest { sampling, tools: [tool("look")].into(), ..hello };
    let expected = json!({"tool_choice": {"type": "any"}, "thinking": "gone"});
    assert_eq!(added(&AnthropicCodec, &target(None, adaptive), &request), expected);
}

#[test]
fn tools_that_are_searched_for_come_after_the_search_and_are_not_marked_for_the_cache() {
    let deferred = Arc::from(["rare".to_owned()]);
    let search = ToolSearch { variant: SearchVariant::Bm25, deferred };
    let sampling = Sampling { tool_search: Some(search), ..Sampling::default() };
    let hello = request(vec![ChatMessage::user("hello")]);
    let request = ModelRequest { sampling, tools: [tool("look"), tool("rare")].into(), ..hello };
    let mut target = target(None, ThinkingKind::Unknown);
    target.capabilities.prompt_caching = true;
    let body = AnthropicCodec.call(&request, &target).unwrap().body;
    let schema = json!({"type": "object", "properties": {}});
    let mark = json!({"type": "ephemeral"});
    let expected = json!([
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        {"name": "look", "description": "Looks.", "input_schema": schema, "cache_control": mark},
        {"name": "rare", "description": "Looks.", "input_schema": schema, "defer_loading": true},
    ]);
    assert_eq!(body["tools"], expected);
    // Providers without such a search see every tool.
    assert_eq!(added(&OpenAiChatCodec, &target, &request), json!({}));
}
