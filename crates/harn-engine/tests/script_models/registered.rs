//! `provider_register`: a provider of the script's own, called like any other and under the same rules.

use std::sync::Arc;

use harn_core::run::Trust;
use harn_policy::{PermissionsFile, Policy};
use harn_testkit::providers::{anthropic, openai_chat};
use serde_json::json;

use super::kit::{Stage, chat_at, said};

/// Registers a provider, or says why not.
const TRIES: &str = r#"
    fn register(config) {
        try {
            println(provider_register(config))
        } catch (error) {
            println(error_category(error) + ": " + to_string(error))
        }
    }
"#;

#[tokio::test]
async fn what_was_registered_is_called_with_its_key_in_its_own_wire_format() {
    let chat =
        openai_chat::Fake::start(vec![said("by provider"), said("by selector"), said("streamed")]).await;
    let claude = anthropic::Fake::start(vec![anthropic::Turn::Answer(json!({
        "content": [{"type": "text", "text": "by another wire"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }))])
    .await;
    let code = format!(
        r#"
        println(provider_register({{
            name: "own", base_url: "{}", key_env: "OWN_KEY", default_model: "small",
        }}))
        println(llm_providers().contains("own"))
        println(llm_config("own").key_env)
        println(llm_call("hi", nil, {{provider: "own", max_tokens: 9}}).text)
        let answer = llm_call("hi", nil, {{model: "own:big", max_tokens: 9}})
        println(answer.text + " " + answer.provider + " " + to_string(answer.cost_usd))
        var all = ""
        for piece in llm_stream("hi", nil, {{model: "own:big", max_tokens: 9}}) {{ all = all + to_string(piece) }}
        println(all)
        provider_register({{name: "claudish", base_url: "{}", wire: "anthropic_messages", key_env: "OTHER_KEY"}})
        println(llm_call("hi", nil, {{model: "claudish:x", max_tokens: 9}}).text)
        "#,
        chat.url, claude.url
    );
    let printed = Stage::with(chat_at("http://127.0.0.1:9")).play(&code).await;
    let expected =
        ["true", "true", "OWN_KEY", "by provider", "by selector own 0.0", "streamed", "by another wire"];
    assert_eq!(printed, expected);
    let models: Vec<_> = chat.asked().into_iter().map(|asked| asked.body["model"].clone()).collect();
    assert_eq!(models, ["small", "big", "big"]);
}

#[tokio::test]
async fn what_cannot_be_registered_is_told_by_name() {
    let code = format!(
        r#"{TRIES}
        register({{name: "own", base_url: "https://own.test", api_key: "sk-1"}})
        register({{name: "own", base_url: "https://own.test", color: "red"}})
        register({{name: "own", base_url: "https://own.test", wire: "smoke"}})
        register({{name: "own", base_url: "http://own.test"}})
        register({{name: "own", base_url: "https://me:secret@own.test"}})
        register({{name: "openai", base_url: "https://own.test"}})
        register({{name: "own", base_url: "https://own.test", key_env: "ANTHROPIC_API_KEY"}})
        register({{name: "own", base_url: "https://own.test", key_env: 1}})
        register({{name: "own", base_url: "https://own.test"}})
        register({{name: "own", base_url: "https://own.test"}})
        register({{name: "own", base_url: "https://other.test"}})
        egress_policy({{deny: ["*.bad.test"]}})
        register({{name: "bad", base_url: "https://api.bad.test"}})
        egress_policy({{deny: ["own.test"]}})
        println(llm_call_safe("hi", nil, {{model: "own:m"}}).error.category)
        "#
    );
    let printed = Stage::with(chat_at("http://127.0.0.1:9")).play(&code).await;
    let told: Vec<&str> = printed
        .iter()
        .map(|line| line.split("provider_register: ").last().unwrap().trim_end_matches('}'))
        .collect();
    let has = "; a provider has name, base_url, wire, dialect, key_env, auth_header, default_model, and its key is in the \
               variable that `key_env` names";
    let expected = [
        &format!("there is no `api_key`{has}"),
        &format!("there is no `color`{has}"),
        "`wire`: unknown variant `smoke`, expected one of `anthropic_messages`, `openai_responses`, `openai_chat`, \
         `gemini`, `ollama`",
        "`base_url`: an address without https:// is one of this machine; others go into providers.toml",
        &format!("`base_url` has a user or a key in it{has}"),
        "there is a provider `openai` already; choose another name",
        "ANTHROPIC_API_KEY is the key of `anthropic` and goes nowhere else; use another variable",
        "`key_env` has to be a text, not 1",
        "true",
        "true",
        "there is a provider `own` already; choose another name",
    ];
    assert_eq!(told[..11], expected);
    assert!(printed[11].starts_with("egress_blocked: "), "{}", printed[11]);
    assert_eq!(printed[12..], ["egress_blocked"]);
}

#[tokio::test]
async fn policy_decides_where_a_script_may_go_and_which_models_it_may_call() {
    let rules = |what: &str| {
        let text = format!("[[permissions.rules]]\nid = \"no\"\naction = \"deny\"\nmatch = {{ {what} }}\n");
        Arc::new(Policy::compile(PermissionsFile::parse(&text).unwrap().layers()).unwrap())
    };
    let code = format!(
        r#"{TRIES}
        register({{name: "own", base_url: "http://localhost:9"}})
        println(llm_call_safe("hi", nil, {{model: "own:m"}}).error.category)
        "#
    );
    let cases = [
        ("url = \"http://localhost:9*\"", ["permission_denied", "not_found"]),
        ("tool = \"provider_register\"", ["permission_denied", "not_found"]),
        ("effect = \"model\"", ["true", "permission_denied"]),
    ];
    for (what, expected) in cases {
        let stage = Stage { policy: rules(what), ..Stage::with(chat_at("http://127.0.0.1:9")) };
        let printed = stage.play(&code).await;
        let words: Vec<&str> = printed.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(words, expected, "{what}");
    }

    // Who gets a key is for its owner to say.
    let code =
        format!("{TRIES}\nregister({{name: \"own\", base_url: \"https://own.test\", key_env: \"OWN_KEY\"}})");
    let stage = Stage { trust: Trust::Judged, ..Stage::with(chat_at("http://127.0.0.1:9")) };
    let printed = stage.play(&code).await;
    let refused = "permission_denied: Error [permission_denied]: provider_register: only a script that its owner runs \
                   may name a key; put this provider into providers.toml";
    assert_eq!(printed, [refused]);
}
