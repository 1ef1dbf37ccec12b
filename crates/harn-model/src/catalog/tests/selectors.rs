//! What each form of a selector means, and what is said of one that means nothing.

use proptest::prelude::*;

use super::super::{Catalog, SelectorError};
use super::with;

/// The model as `provider model`, with a `?` behind one that the catalog does not know.
fn meaning(catalog: &Catalog, selector: &str) -> Result<Option<String>, SelectorError> {
    let resolved = catalog.resolve(selector)?;
    Ok(resolved.map(|resolved| {
        let mark = if resolved.entry.is_some() { "" } else { "?" };
        let reference = resolved.reference();
        format!("{} {}{mark}", reference.provider, reference.model)
    }))
}

#[track_caller]
fn means(catalog: &Catalog, cases: &[(&str, Option<&str>)]) {
    for (selector, expected) in cases {
        assert_eq!(meaning(catalog, selector), Ok(expected.map(str::to_owned)), "{selector}");
    }
}

#[track_caller]
fn refused(catalog: &Catalog, cases: &[(&str, &str)]) {
    for (selector, expected) in cases {
        let error = meaning(catalog, selector).map_err(|error| error.to_string());
        assert_eq!(error, Err((*expected).to_owned()), "{selector}");
    }
}

#[test]
fn every_form_of_a_selector_finds_its_model() {
    means(
        &Catalog::builtin(),
        &[
            ("", None),
            ("  ", None),
            ("@inherit", None),
            ("sonnet", Some("anthropic claude-sonnet-5-5")),
            ("Sonnet", Some("anthropic claude-sonnet-5-5")),
            (" haiku ", Some("anthropic claude-haiku-5-5")),
            ("claude-sonnet-4-6", Some("anthropic claude-sonnet-4-6")),
            ("claude-sonnet-4-5", Some("anthropic claude-sonnet-4-5-20250929")),
            ("anthropic:claude-opus-5-5", Some("anthropic claude-opus-5-5")),
            ("anthropic/claude-opus-5-5", Some("anthropic claude-opus-5-5")),
            ("anthropic:opus", Some("anthropic claude-opus-5-5")),
            ("gemini:gemini-3.8-flash", Some("google gemini-3.8-flash")),
            ("groq:openai/gpt-oss-120b", Some("groq openai/gpt-oss-120b")),
            ("groq/openai/gpt-oss-120b", Some("groq openai/gpt-oss-120b")),
            ("gpt-oss:20b", Some("ollama gpt-oss:20b")),
            ("ollama:gpt-oss:20b", Some("ollama gpt-oss:20b")),
            ("ollama/gpt-oss:20b", Some("ollama gpt-oss:20b")),
            ("openrouter/auto", Some("openrouter openrouter/auto")),
            ("openrouter:openrouter/auto", Some("openrouter openrouter/auto")),
        ],
    );
}

#[test]
fn a_model_that_the_catalog_does_not_know_works_with_a_provider_that_it_knows() {
    means(
        &Catalog::builtin(),
        &[
            ("anthropic:claude-tomorrow", Some("anthropic claude-tomorrow?")),
            ("openai/gpt-9", Some("openai gpt-9?")),
            ("ollama:Llama9:70b-Q4", Some("ollama Llama9:70b-Q4?")),
            ("openrouter:some/model:free", Some("openrouter some/model:free?")),
            ("azure:my-deployment", Some("azure my-deployment?")),
            ("llama.cpp:whatever", Some("llama.cpp whatever?")),
            // A colon says which part is the provider, although Groq and Together have this id.
            ("openai:gpt-oss-120b", Some("openai gpt-oss-120b?")),
        ],
    );
}

#[test]
fn a_selector_that_could_be_several_models_is_refused_with_all_of_them() {
    refused(
        &Catalog::builtin(),
        &[(
            "openai/gpt-oss-120b",
            "`openai/gpt-oss-120b` could be `groq:openai/gpt-oss-120b` or `openai:gpt-oss-120b` or \
             `together:openai/gpt-oss-120b`; write the one that you mean",
        )],
    );
    let twice = with("[[models]]\nprovider = \"vllm\"\nid = \"claude-opus-5\"");
    refused(
        &twice,
        &[(
            "claude-opus-5",
            "`claude-opus-5` could be `anthropic:claude-opus-5` or `vllm:claude-opus-5`; \
             write the one that you mean",
        )],
    );
}

#[test]
fn a_selector_that_means_nothing_is_refused_with_the_nearest_names() {
    let malformed =
        "a model selector is one word of at most 256 bytes, such as `sonnet` or `openai:gpt-6.1-sol`";
    let long = "x".repeat(257);
    refused(
        &Catalog::builtin(),
        &[
            (
                "sonet",
                "there is no model `sonet`, did you mean `sonnet`; `harn models list` shows all, \
                 and `provider:model` works for any model",
            ),
            (
                "claude-opus-55",
                "there is no model `claude-opus-55`, did you mean `claude-opus-5` or `claude-opus-5-5` or \
                 `claude-opus-4-5`; `harn models list` shows all, and `provider:model` works for any model",
            ),
            (
                "zzzzzzzz",
                "there is no model `zzzzzzzz`; `harn models list` shows all, \
                 and `provider:model` works for any model",
            ),
            (
                "antropic:claude-opus-9-plus",
                "there is no provider `antropic`, which `antropic:claude-opus-9-plus` asks for, \
                 did you mean `anthropic`; `harn providers list` shows all, \
                 and [[providers]] in providers.toml adds one",
            ),
            (
                "anthropic:",
                "`anthropic:` names the provider `anthropic` but no model; write `anthropic:MODEL`",
            ),
            ("two words", malformed),
            ("tab\there", malformed),
            (&long, malformed),
            (
                "@other",
                "there is no model `@other`; `harn models list` shows all, \
                 and `provider:model` works for any model",
            ),
            (
                ":model",
                "there is no model `:model`; `harn models list` shows all, \
                 and `provider:model` works for any model",
            ),
        ],
    );
}

#[test]
fn a_name_of_the_users_own_wins_over_the_alias_of_a_model() {
    let catalog = with(
        "[llm.aliases]\nsonnet = \"openai:gpt-6-luna\"\nwork = \"vllm:our-model\"\nopus = \"claude-opus-5\"",
    );
    means(
        &catalog,
        &[
            ("sonnet", Some("openai gpt-6-luna")),
            ("WORK", Some("vllm our-model?")),
            ("opus", Some("anthropic claude-opus-5")),
            ("anthropic:sonnet", Some("anthropic claude-sonnet-5-5")),
        ],
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_resolver_fail_otherwise_than_with_an_error(text in ".{0,300}") {
        let catalog = Catalog::builtin();
        if let Ok(Some(resolved)) = catalog.resolve(&text) {
            let again = format!("{}:{}", resolved.provider.id, resolved.model);
            let reference = catalog.resolve(&again).unwrap().unwrap().reference();
            prop_assert_eq!(reference, resolved.reference());
        }
    }
}
