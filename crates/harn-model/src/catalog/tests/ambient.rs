//! What a user gets with which variables: the default model, and the providers that can be used.

use harn_core::route::FallbackOn;

use super::super::{Availability, Because, Catalog, Usability};
use super::{env, with};

#[track_caller]
fn default(catalog: &Catalog, variables: &[(&str, &str)]) -> Option<(String, String, Because)> {
    let chosen = catalog.default_for(&env(variables)).unwrap()?;
    let reference = chosen.model.reference();
    Some((reference.provider, reference.model, chosen.because))
}

#[test]
fn a_key_is_enough_and_the_first_provider_by_preference_that_has_one_gives_the_model() {
    // In the order of docs/models.md: each key beats all that come after it.
    let order = [
        ("ANTHROPIC_API_KEY", "anthropic", "claude-sonnet-5-5"),
        ("OPENAI_API_KEY", "openai", "gpt-6.1-sol"),
        ("GEMINI_API_KEY", "google", "gemini-3.8-flash"),
        ("OPENROUTER_API_KEY", "openrouter", "openrouter/auto"),
        ("DEEPSEEK_API_KEY", "deepseek", "deepseek-v4-pro"),
        ("MISTRAL_API_KEY", "mistral", "mistral-medium-3-5"),
        ("XAI_API_KEY", "xai", "grok-4.5"),
        ("GROQ_API_KEY", "groq", "openai/gpt-oss-120b"),
        ("TOGETHER_API_KEY", "together", "openai/gpt-oss-120b"),
    ];
    let catalog = Catalog::builtin();
    for (place, (key, provider, model)) in order.iter().enumerate() {
        let variables: Vec<(&str, &str)> =
            order.iter().skip(place).map(|(name, _, _)| (*name, "secret")).collect();
        let expected = (provider.to_string(), model.to_string(), Because::Key(key.to_string()));
        assert_eq!(default(&catalog, &variables), Some(expected));
    }
}

#[test]
fn what_was_asked_for_comes_before_keys() {
    let asked = with("[llm]\nmodel = \"opus\"");
    let key = ("OPENAI_API_KEY", "secret");
    let chosen =
        |variables: &[(&str, &str)]| default(&asked, variables).map(|(_, model, because)| (model, because));
    let by_file = Some(("claude-opus-5-5".to_owned(), Because::Configuration));
    let cases = [
        (vec![key], by_file.clone()),
        (vec![key, ("HARN_LLM_MODEL", "")], by_file.clone()),
        (vec![key, ("HARN_LLM_MODEL", "@inherit")], by_file),
        (vec![key, ("HARN_LLM_MODEL", " luna ")], Some(("gpt-6-luna".to_owned(), Because::Variable))),
        (vec![("HARN_LLM_MODEL", "vllm:ours")], Some(("ours".to_owned(), Because::Variable))),
    ];
    for (variables, expected) in cases {
        assert_eq!(chosen(&variables), expected, "{variables:?}");
    }
}

#[test]
fn fallbacks_come_from_the_variable_or_else_from_the_files() {
    let catalog = with("[llm]\nfallbacks = ['opus', 'vllm:ours']\nfallback_on = ['rate_limit', 'network']");
    let named = |variables: &[(&str, &str)]| -> Result<Vec<String>, String> {
        let found = catalog.fallbacks_for(&env(variables)).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|model| format!("{}:{}", model.provider.id, model.model)).collect())
    };
    let by_file = || Ok(vec!["anthropic:claude-opus-5-5".to_owned(), "vllm:ours".to_owned()]);
    let nine = ["luna"; 9].join(",");
    let cases = [
        (vec![], by_file()),
        (vec![("HARN_LLM_FALLBACKS", " ")], by_file()),
        (vec![("HARN_LLM_FALLBACKS", "luna , opus")], Ok(vec!["openai:gpt-6-luna".into(), "anthropic:claude-opus-5-5".into()])),
        (
            vec![("HARN_LLM_FALLBACKS", "luna,sonet")],
            Err("HARN_LLM_FALLBACKS: there is no model `sonet`, did you mean `sonnet`; `harn models list` shows all, \
                 and `provider:model` works for any model"
                .into()),
        ),
        (
            vec![("HARN_LLM_FALLBACKS", nine.as_str())],
            Err("HARN_LLM_FALLBACKS: at most 8 models can stand in a list of fallbacks; leave some out".into()),
        ),
    ];
    for (variables, expected) in cases {
        assert_eq!(named(&variables), expected, "{variables:?}");
    }
    assert_eq!(catalog.fallback_on(), [FallbackOn::RateLimited, FallbackOn::Network]);
    assert_eq!(Catalog::builtin().fallback_on(), FallbackOn::ALL);
}

#[test]
fn without_a_key_there_is_no_default_and_a_wrong_wish_is_an_error() {
    let catalog = Catalog::builtin();
    let nothing = [("ANTHROPIC_API_KEY", "  "), ("OLLAMA_HOST", "localhost"), ("AZURE_OPENAI_API_KEY", "x")];
    assert_eq!(default(&catalog, &nothing), None);
    let error = catalog.default_for(&env(&[("HARN_LLM_MODEL", "sonet")])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "HARN_LLM_MODEL: there is no model `sonet`, did you mean `sonnet`; `harn models list` shows all, \
         and `provider:model` works for any model"
    );
}

#[test]
fn a_provider_without_an_address_is_not_the_default_whatever_its_preference() {
    let catalog = with("[[providers]]\nid = 'azure'\npreference = 0\ndefault_model = 'deployed'");
    let keys = [("AZURE_OPENAI_API_KEY", "secret"), ("GROQ_API_KEY", "secret")];
    let endpoint = ("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com");
    let provider = |variables: &[(&str, &str)]| default(&catalog, variables).map(|(provider, _, _)| provider);
    assert_eq!(provider(&keys).as_deref(), Some("groq"));
    assert_eq!(provider(&[keys[0], keys[1], endpoint]).as_deref(), Some("azure"));
}

#[test]
fn every_provider_says_whether_it_can_be_used_and_what_to_do() {
    let usable = Catalog::builtin().usable(&env(&[
        ("OPENAI_API_KEY", "secret"),
        ("OPENAI_BASE_URL", "https://proxy.example/v1/"),
        ("GOOGLE_API_KEY", "secret"),
        ("AZURE_OPENAI_API_KEY", "secret"),
        ("VLLM_API_KEY", "secret"),
    ]));
    let row = |id: &str| usable.iter().find(|row| row.provider == id).unwrap().clone();
    let expect =
        |provider: &str, status, key_env: Option<&str>, base_url: Option<&str>, hint: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let wanted = Usability {
                provider: provider.to_owned(),
                status,
                key_env: owned(key_env),
                base_url: owned(base_url),
                hint: owned(hint),
            };
            assert_eq!(row(provider), wanted);
        };
    expect("openai", Availability::Available, Some("OPENAI_API_KEY"), Some("https://proxy.example/v1"), None);
    expect(
        "google",
        Availability::Available,
        Some("GOOGLE_API_KEY"),
        Some("https://generativelanguage.googleapis.com/v1beta"),
        None,
    );
    expect(
        "anthropic",
        Availability::MissingKey,
        None,
        Some("https://api.anthropic.com"),
        Some("set ANTHROPIC_API_KEY to a key of Anthropic (see https://platform.claude.com/docs)"),
    );
    expect(
        "azure",
        Availability::MissingBaseUrl,
        Some("AZURE_OPENAI_API_KEY"),
        None,
        Some("set AZURE_OPENAI_ENDPOINT to the address of your Azure OpenAI resource"),
    );
    expect(
        "vllm",
        Availability::NotProbed,
        Some("VLLM_API_KEY"),
        Some("http://localhost:8000/v1"),
        Some(
            "start vLLM so that it listens at http://localhost:8000/v1, \
             or set VLLM_BASE_URL to where it listens",
        ),
    );
    assert_eq!(usable.len(), 14);
}

#[test]
fn an_address_may_be_a_host_only() {
    let catalog = Catalog::builtin();
    let cases = [
        ("ollama", "OLLAMA_HOST", "", "http://localhost:11434"),
        ("ollama", "OLLAMA_HOST", "gpu.lan", "http://gpu.lan:11434"),
        ("ollama", "OLLAMA_HOST", "0.0.0.0:9999", "http://0.0.0.0:9999"),
        ("ollama", "OLLAMA_HOST", "[::1]", "http://[::1]:11434"),
        ("ollama", "OLLAMA_HOST", "https://gpu.lan/ollama/", "https://gpu.lan/ollama"),
        ("ollama", "OLLAMA_HOST", "gpu.lan/ollama", "http://gpu.lan/ollama"),
        ("openai", "OPENAI_BASE_URL", "proxy.example/v1", "https://proxy.example/v1"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "me.openai.azure.com/", "https://me.openai.azure.com"),
    ];
    for (provider, variable, value, expected) in cases {
        let provider = catalog.provider(provider).unwrap();
        let url = provider.base_url(&env(&[(variable, value)]));
        assert_eq!(url.as_deref(), Some(expected), "{value}");
    }
}
