//! Scripts that call models, through the whole engine: against servers that speak the formats of providers, and against
//! everything that may stand in the way of a call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;
mod registered;
mod search;
mod streams;

use std::sync::Arc;

use harn_core::run::Budget;
use harn_model::{MockFile, MockRecording, Model, Models, OfflineModel, ScriptedModel};
use harn_testkit::providers::{anthropic, openai_chat};
use kit::{Stage, chat_at, claude_at, said};
use serde_json::{Value, json};

#[tokio::test]
async fn a_conversation_with_blocks_tools_and_thoughts_passes_the_providers_checks() {
    let mut thinking = json!({"type": "thinking", "thinking": "I look."});
    thinking["signature"] = anthropic::signature(&thinking);
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": {"$ref": "x"}}});
    let first = json!({
        "content": [thinking, {"type": "text", "text": "Let me see."}, call],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 100, "output_tokens": 50},
    });
    let second = json!({
        "content": [{"type": "text", "text": "A cat."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 200, "output_tokens": 5},
    });
    let turns = vec![anthropic::Turn::Answer(first), anthropic::Turn::Answer(second)];
    let fake = anthropic::Fake::start(turns).await;
    let code = r##"
        fn shown(answer) {
            var shown = {}
            for key in answer.keys() {
                if key != "_thoughts" { shown[key] = answer[key] }
            }
            return shown
        }
        let tools = [
            {name: "look", description: "Looks.", input_schema: {type: "object", properties: {at: {"$ref": "#/x"}}}},
            {name: "rare", description: "Rare.", defer_loading: true},
        ]
        let asked = {role: "user", content: [
            {type: "text", text: "What is it?"},
            {type: "image", data: "iVBORw0KGgo="},
        ]}
        let request = {
            provider: "claude-like", model: "the-big-one", system: "Be good.", messages: [asked], tools: tools,
            stop: "END", tool_choice: "auto", tool_search: {native: true, variant: "regex"},
        }
        let first = __llm(request)
        println(json_stringify(shown(first)))
        let said = {role: "assistant", content: first.text, tool_calls: first.tool_calls, _thoughts: first._thoughts}
        let seen = {role: "tool", tool_call_id: "toolu_1", content: "fur"}
        let second = __llm({model: "claude-like:big", messages: [asked, said, seen], tools: tools, max_tokens: 77})
        println(second.text + " " + second.stop_reason + " " + to_string(second.cost_usd))
    "##;
    let printed = Stage::with(claude_at(&fake.url)).play(code).await;
    let answer: Value = serde_json::from_str(&printed[0]).unwrap_or_else(|_| panic!("{printed:#?}"));
    assert_eq!(
        answer,
        json!({
            "text": "Let me see.",
            "thinking": "I look.",
            "tool_calls": [{"id": "toolu_1", "name": "look", "arguments": {"at": {"$ref": "x"}}}],
            "stop_reason": "tool_use",
            "model": "big",
            "provider": "claude-like",
            "input_tokens": 100,
            "output_tokens": 50,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "cost_usd": 0.0002,
        })
    );
    assert_eq!(printed[1..], ["A cat. end_turn 0.00021"]);

    let asked = fake.asked();
    let look = json!({
        "name": "look", "description": "Looks.",
        "input_schema": {"type": "object", "properties": {"at": {"$ref": "#/x"}}},
    });
    let rare = json!({
        "name": "rare", "description": "Rare.", "input_schema": {"type": "object", "properties": {}},
    });
    let mut deferred = rare.clone();
    deferred["defer_loading"] = json!(true);
    let image = json!({
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    });
    let question = json!({"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]});
    assert_eq!(
        asked[0].body,
        json!({
            "model": "big",
            "max_tokens": 2000,
            "system": [{"type": "text", "text": "Be good."}],
            "messages": [question],
            "tools": [
                {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
                look,
                deferred,
            ],
            "tool_choice": {"type": "auto"},
            "stop_sequences": ["END"],
            "stream": true,
        })
    );
    let result = json!({
        "type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "fur"}],
    });
    assert_eq!(
        asked[1].body,
        json!({
            "model": "big",
            "max_tokens": 77,
            "messages": [
                question,
                {"role": "assistant", "content": [thinking, {"type": "text", "text": "Let me see."}, call]},
                {"role": "user", "content": [result]},
            ],
            "tools": [look, rare],
            "stream": true,
        })
    );
}

#[tokio::test]
async fn what_is_said_about_chance_goes_along() {
    let fake = openai_chat::Fake::start(vec![said("Hello there, friend.")]).await;
    let code = r#"
        let answer = __llm({
            model: "chat-like:big", messages: [{role: "user", content: "hi"}], max_tokens: 50,
            temperature: 0.25, top_p: 0.5, stop: ["A", "B"], seed: 7,
        })
        println(answer.text)
    "#;
    let printed = Stage::with(chat_at(&fake.url)).play(code).await;
    assert_eq!(printed, ["Hello there, friend."]);
    assert_eq!(
        fake.asked()[0].body,
        json!({
            "model": "big",
            "messages": [{"role": "user", "content": "hi"}],
            "max_tokens": 50,
            "temperature": 0.25,
            "top_p": 0.5,
            "stop": ["A", "B"],
            "seed": 7,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

/// A call that fails, and what the script can know of it.
const FAILS: &str = r#"
    fn attempt(request) {
        try {
            println(__llm(request).text)
        } catch (error) {
            println(error_category(error) + ": " + to_string(error))
        }
    }
"#;

#[tokio::test]
async fn a_name_means_a_model_or_fails_with_the_nearest_names() {
    let fake = openai_chat::Fake::start(vec![said("by provider"), said("by any name")]).await;
    let code = format!(
        r#"{FAILS}
        let messages = [{{role: "user", content: "hi"}}]
        attempt({{provider: "chat-like", messages: messages}})
        attempt({{provider: "chat-like", model: "never-heard-of", messages: messages}})
        attempt({{model: "sonet", messages: messages}})
        attempt({{model: "big", messages: "no list"}})
        println(__llm({{messages: messages}}).provider)
        "#
    );
    let printed = Stage::with(chat_at(&fake.url)).play(&code).await;
    assert_eq!(
        printed,
        [
            "by provider",
            "by any name",
            "not_found: Error [not_found]: there is no model `sonet`, did you mean `sonnet`; `harn models list` \
             shows all, and `provider:model` works for any model",
            "invalid_request: Error [invalid_request]: `messages` has to be a list, not \"no list\".",
            "offline",
        ]
    );
    let asked: Vec<Value> = fake.asked().into_iter().map(|asked| asked.body["model"].clone()).collect();
    assert_eq!(asked, ["big", "never-heard-of"]);
}

#[tokio::test]
async fn a_refusal_of_the_provider_has_a_category() {
    let refuse = |status| openai_chat::Turn::Refuse(status, json!({"error": {"message": "no"}}));
    let fake = openai_chat::Fake::start(vec![refuse(401), refuse(403), refuse(404), refuse(400)]).await;
    let code = format!(
        r#"{FAILS}
        for i in 0 to 4 exclusive {{
            attempt({{model: "chat-like:big", messages: [{{role: "user", content: "hi"}}]}})
        }}
        "#
    );
    let printed = Stage::with(chat_at(&fake.url)).play(&code).await;
    let categories: Vec<&str> = printed.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(categories, ["auth", "permission_denied", "not_found", "invalid_request"]);
}

#[tokio::test]
async fn a_call_over_the_budget_is_not_made() {
    let fake = openai_chat::Fake::start(vec![said("cheap enough")]).await;
    let code = format!(
        r#"{FAILS}
        let messages = [{{role: "user", content: "hi"}}]
        attempt({{model: "chat-like:big", messages: messages, max_tokens: 100}})
        attempt({{model: "chat-like:big", messages: messages, max_tokens: 5000}})
        attempt({{model: "openai:unheard", messages: messages, max_tokens: 1}})
        "#
    );
    let budget = Budget { micro_usd: Some(1000), ..Budget::default() };
    let printed = Stage { budget, ..Stage::with(chat_at(&fake.url)) }.play(&code).await;
    assert_eq!(printed[0], "cheap enough");
    let start = "budget_exceeded: Error [budget_exceeded]: This run may cost $0.001; $";
    assert!(printed[1].starts_with(start), "{}", printed[1]);
    assert!(printed[1].ends_with(" is spent or set aside, and this call could cost $0.010017 more."));
    let unknown = "budget_exceeded: Error [budget_exceeded]: The price of openai:unheard is not known, so a budget in \
                   money cannot be kept; add `prices` for it in llm.toml, or give the run a budget in tokens.";
    assert_eq!(printed[2], unknown);
    assert_eq!(fake.asked().len(), 1);

    let budget = Budget { tokens: Some(150), ..Budget::default() };
    let fake = openai_chat::Fake::start(vec![said("short enough")]).await;
    let printed = Stage { budget, ..Stage::with(chat_at(&fake.url)) }.play(&code).await;
    assert_eq!(printed[0], "short enough");
    let start = "budget_exceeded: Error [budget_exceeded]: This run may use 150 tokens; ";
    assert!(printed[1].starts_with(start), "{}", printed[1]);
}

#[tokio::test]
async fn disabled_calls_reach_nobody_and_recorded_answers_are_still_given() {
    let code = format!(
        r#"{FAILS}
        attempt({{messages: [{{role: "user", content: "hi"}}]}})
        "#
    );
    let disabled = || vec![("HARN_LLM_CALLS_DISABLED".to_owned(), "1".to_owned())];
    let models = Models::new(vec![Arc::new(OfflineModel)]);
    let printed = Stage { variables: disabled(), ..Stage::with(models.clone()) }.play(&code).await;
    assert_eq!(
        printed,
        [
            "permission_denied: Error [permission_denied]: LLM calls are disabled: HARN_LLM_CALLS_DISABLED is set. \
          Answer this one with llm_mock(), or unset the variable; for a test, `harn test --record` keeps the answer, \
          and --network allows the call."
        ]
    );
    let file = MockFile::parse("a.jsonl", r#"{"text": "from a file"}"#).unwrap();
    let mocked = models.with_mock(Arc::new(file));
    let printed = Stage { variables: disabled(), ..Stage::with(mocked) }.play(&code).await;
    assert_eq!(printed, ["from a file"]);
}

#[tokio::test]
async fn recorded_answers_are_played_as_they_came_to_whatever_model_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("answers.jsonl");
    let fake = openai_chat::Fake::start(vec![said("one"), said("two")]).await;
    let code = |provider: &str| {
        format!(
            r#"{FAILS}
            for word in ["first", "second"] {{
                attempt({{provider: "{provider}", model: "big", messages: [{{role: "user", content: word}}]}})
            }}
            "#
        )
    };
    let recording = MockRecording::create(&path, Arc::new(str::to_owned)).unwrap();
    let recorded = chat_at(&fake.url).with_mock_recording(recording);
    assert_eq!(Stage::with(recorded).play(&code("chat-like")).await, ["one", "two"]);

    let played = Models::new(vec![]).with_mock(Arc::new(MockFile::open(&path).unwrap()));
    assert_eq!(Stage::with(played).play(&code("another")).await, ["one", "two"]);
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_over() {
    let silent = ScriptedModel::from_json(r#"{"responses": [{"hang": true}]}"#).unwrap();
    let model = silent.reference();
    let code = format!(
        r#"{FAILS}
        attempt({{messages: [{{role: "user", content: "hi"}}], timeout_ms: 10}})
        "#
    );
    let printed = Stage { model, ..Stage::with(Models::new(vec![Arc::new(silent)])) }.play(&code).await;
    let expected = "timeout: Error [timeout]: the model did not answer in time: the call was given 10 ms";
    assert_eq!(printed, [expected]);
}

#[tokio::test]
async fn the_catalog_answers_what_is_known_and_says_what_it_cannot_be_asked() {
    let code = r#"
        println(__catalog("providers", nil).contains("chat-like"))
        println(__catalog("available", nil).contains("openai"))
        println(__catalog("config", {provider: "chat-like"}).key_env)
        println(__catalog("model", {model: "the-big-one"}).context_window)
        println(__catalog("resolve", {alias: "the-big-one"}).provider)
        println(__catalog("resolve", {alias: "what-is-this"}).known)
        println(__catalog("infer", {model_id: "claude-99"}))
        println(__catalog("tier", {model: "sonnet"}))
        println(__catalog("prices", {model: "the-big-one"}).output)
        println(__catalog("capabilities", {provider: "anthropic", model: "sonnet"}).tool_search.join(" "))
        println(__catalog("capabilities", {provider: "chat-like", model: "big"}).defer_loading)
        println(__catalog("qc_model", {provider: "chat-like"}))
        println(__catalog("pick", {target: "small", options: {provider: "anthropic"}}).tier)
        println(__catalog("tool", {name: "read_file"}).input_schema.type)
        println(__catalog("tool", {name: "no_such_tool"}))
        println(len(__catalog("models", {provider: "chat-like"})))
        println(__catalog("catalog", nil).schema_version)
        try { __catalog("model", {model: "sonet"}) } catch (error) { println(error_category(error)) }
        try { __catalog("weather", nil) } catch (error) { println(to_string(error)) }
    "#;
    let printed = Stage::with(chat_at("http://127.0.0.1:9")).play(code).await;
    let expected = [
        "true",
        "false",
        "CHAT_KEY",
        "8000",
        "chat-like",
        "false",
        "anthropic",
        "large",
        "2.0",
        "bm25 regex",
        "false",
        "big",
        "small",
        "object",
        "nil",
        "1",
        "2",
        "not_found",
        "Error [invalid_request]: The catalog cannot be asked for `weather`; ask for one of providers, available, \
         config, models, model, resolve, infer, tier, catalog, capabilities, prices, qc_model, pick, tool.",
    ];
    assert_eq!(printed, expected);
}

#[tokio::test]
async fn a_check_asks_the_provider_and_says_what_is_wrong() {
    let code = r#"
        println(llm_healthcheck("offline").valid)
        println(__catalog_check("nobody", nil).message)
        println(__catalog_check("chat-like", nil).valid)
    "#;
    let printed = Stage::with(chat_at("http://127.0.0.1:9")).play(code).await;
    assert_eq!(printed, ["true", "There is no provider `nobody`; `harn providers list` shows all.", "false"]);
}

#[test]
fn only_the_check_of_a_provider_leaves_the_machine() {
    let calls = harn_engine::calls::all();
    assert!(calls.spec("catalog").is_some_and(|spec| spec.only_looks()));
    assert!(calls.spec("catalog_check").is_some_and(|spec| !spec.only_looks()));
}
