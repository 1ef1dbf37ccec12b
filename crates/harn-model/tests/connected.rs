//! Rows of the catalog as requests: what a row says about a model is what its provider is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, ModelRequest, Thinking};
use harn_model::catalog::{Catalog, OverlayFile, OverlayKind};
use harn_model::connect;
use serde_json::{Value, json};
use support::{Reply, Server, request, run, transport};

/// The body that a model of this catalog file gets; BASE stands for the server's address.
async fn body(file: &str, selector: &str, request: ModelRequest) -> Value {
    let server = Server::start(vec![Reply::json(400, &json!({}))]).await;
    let text = file.replace("BASE", &server.url);
    let file = OverlayFile { kind: OverlayKind::Providers, path: "providers.toml", text: &text };
    let catalog = Catalog::builtin().overlaid(&[file]).unwrap();
    let env = |name: &str| name.ends_with("_KEY").then(|| "sk-test".to_owned());
    let model = connect(&catalog.resolve(selector).unwrap().unwrap(), &env, &transport()).unwrap();
    run(&model, request).await;
    server.seen().remove(0).body
}

#[tokio::test]
async fn ollama_is_told_the_window_that_a_row_knows() {
    let known = "[[providers]]\nid = \"ollama\"\nbase_url = \"BASE\"\n[[models]]\nprovider = \"ollama\"\n\
                 id = \"mine\"\ncontext_window = 40_960\n";
    let hello = || request(vec![ChatMessage::user("hello")]);
    let options = |body: Value| body["options"].clone();
    assert_eq!(
        options(body(known, "ollama:mine", hello()).await),
        json!({"num_predict": 1000, "num_ctx": 40_960})
    );
    assert_eq!(options(body(known, "ollama:unknown", hello()).await), json!({"num_predict": 1000}));
}

#[tokio::test]
async fn a_toggle_is_lowered_to_what_each_server_has() {
    let request = || ModelRequest { thinking: Thinking::Off, ..request(vec![ChatMessage::user("hello")]) };
    let cases = [
        ("vllm", "/chat_template_kwargs", json!({"enable_thinking": false})),
        ("llama.cpp", "/chat_template_kwargs", json!({"enable_thinking": false})),
        ("lmstudio", "/messages/1/content", json!("hello /no_think")),
        ("deepseek", "/thinking", json!({"type": "disabled"})),
        ("groq", "/reasoning_effort", json!("none")),
        ("openrouter", "/reasoning", json!({"enabled": false})),
        ("ollama", "/think", json!(false)),
    ];
    for (provider, place, expected) in cases {
        let file = format!(
            "[[providers]]\nid = \"{provider}\"\nbase_url = \"BASE\"\n[[models]]\nprovider = \"{provider}\"\n\
             id = \"mine\"\nthinking = {{ kind = \"toggle\", can_disable = true }}\n"
        );
        let body = body(&file, &format!("{provider}:mine"), request()).await;
        assert_eq!(body.pointer(place), Some(&expected), "{provider}: {body}");
    }
}

#[tokio::test]
async fn notes_to_openai_have_the_role_of_a_developer() {
    let file = "[[providers]]\nid = \"openai\"\nbase_url = \"BASE\"\n[[models]]\nprovider = \"openai\"\nid = \"mine\"\n";
    let messages = vec![ChatMessage::user("hello"), ChatMessage::System { text: "Be brief.".into() }];
    let body = body(file, "openai:mine", request(messages)).await;
    assert_eq!(body["input"][1]["role"], "developer");
}
