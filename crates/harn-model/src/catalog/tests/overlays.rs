//! What overlays change, and what they leave.

use super::super::{
    Auth, AuthHeader, AuthKind, Catalog, Dialect, LongPrompt, ModelEntry, OverlayFile, OverlayKind, Prices,
    Provider, RateLimits, Rates, Status, Wire,
};
use super::super::{Location, Tier};
use super::{overlaid, with};

#[test]
fn a_field_of_a_row_is_replaced_and_the_others_stay() {
    let before = Catalog::builtin();
    let after = with(
        "[[providers]]\nid = \"openai\"\nbase_url = \"https://gateway.example/v1\"\n\
         rate_limits = { concurrency = 8 }\n\n\
         [[models]]\nprovider = \"openai\"\nid = \"gpt-6-luna\"\ncontext_window = 200_000\ntier = \"mid\"",
    );
    let provider = before.provider("openai").unwrap();
    let expected = Provider {
        base_url: Some("https://gateway.example/v1".into()),
        rate_limits: RateLimits { concurrency: Some(8), ..RateLimits::default() },
        ..provider.clone()
    };
    assert_eq!(after.provider("openai"), Some(&expected));
    let model = before.model("openai", "gpt-6-luna").unwrap();
    let expected = ModelEntry { context_window: Some(200_000), tier: Some(Tier::Mid), ..model.clone() };
    assert_eq!(after.model("openai", "gpt-6-luna"), Some(&expected));
    let untouched = |catalog: &Catalog| catalog.models().filter(|row| row.id != "gpt-6-luna").count();
    assert_eq!(untouched(&after), untouched(&before));
}

#[test]
fn a_price_is_merged_class_by_class_and_loses_the_source_of_the_old_one() {
    let after = with(
        "[[models]]\nprovider = \"openai\"\nid = \"gpt-6-luna\"\n\
         prices = { input = 7, long_prompt = { output = 9 } }",
    );
    let row = after.model("openai", "gpt-6-luna").unwrap();
    let rates = Rates {
        input: 7,
        output: 500_000,
        cached_input: Some(10_000),
        cache_write: Some(125_000),
        cache_write_long: None,
        thinking: None,
    };
    let long =
        Rates { input: 200_000, output: 9, cached_input: Some(20_000), cache_write: Some(250_000), ..rates };
    let expected =
        Prices { rates, up_to: None, long_prompt: Some(LongPrompt { above: 272_000, rates: long }) };
    assert_eq!((row.prices, &row.source, &row.verified), (Some(expected), &None, &None));
}

#[test]
fn a_price_for_long_prompts_stays_when_another_price_changes_and_a_new_source_is_kept() {
    let after = with(
        "[[models]]\nprovider = 'openai'\nid = 'gpt-6-luna'\nprices = { input = 7 }\n\
         source = 'https://example.com/contract'",
    );
    let row = after.model("openai", "gpt-6-luna").unwrap();
    let long = row.prices.and_then(|prices| prices.long_prompt).map(|long| (long.above, long.rates.input));
    assert_eq!(
        (long, row.source.as_deref()),
        (Some((272_000, 200_000)), Some("https://example.com/contract"))
    );
}

#[test]
fn a_provider_and_a_model_can_be_added() {
    let catalog = with(
        "[[providers]]\nid = \"ours\"\nwire = \"openai_chat\"\ndialect = \"vllm\"\nlocation = \"local\"\n\
         base_url = \"http://gpu.lan:8000/v1\"\n\n\
         [[models]]\nprovider = \"ours\"\nid = \"big\"\naliases = [\"mine\"]",
    );
    let provider = Provider {
        id: "ours".into(),
        name: "ours".into(),
        aliases: vec![],
        wire: Wire::OpenaiChat,
        dialect: Dialect::Vllm,
        location: Location::Local,
        base_url: Some("http://gpu.lan:8000/v1".into()),
        base_url_env: vec![],
        auth: Auth { kind: AuthKind::None, env: vec![], header: AuthHeader::Bearer },
        rate_limits: RateLimits::default(),
        preference: None,
        default_model: None,
        docs: None,
    };
    let model = ModelEntry {
        provider: "ours".into(),
        id: "big".into(),
        name: "big".into(),
        aliases: vec!["mine".into()],
        tier: None,
        status: Status::Active,
        context_window: None,
        max_output: None,
        input: None,
        output: None,
        tools: None,
        parallel_tools: None,
        structured_output: None,
        thinking: None,
        prompt_caching: None,
        prices: None,
        source: None,
        verified: None,
        note: None,
    };
    let resolved = catalog.resolve("mine").unwrap().unwrap();
    assert_eq!((resolved.provider, resolved.entry), (&provider, Some(&model)));
}

#[test]
fn of_two_files_the_later_one_counts() {
    let file = |text| OverlayFile { kind: OverlayKind::Llm, path: "llm.toml", text };
    let first = "[llm]\nmodel = \"opus\"\n[[models]]\nprovider = \"openai\"\nid = \"new\"\nmax_output = 1\ntools = true";
    let second = "[llm]\nmodel = \"haiku\"\n[[models]]\nprovider = \"openai\"\nid = \"new\"\nmax_output = 2";
    let catalog = Catalog::builtin().overlaid(&[file(first), file(second)]).unwrap();
    let row = catalog.model("openai", "new").unwrap();
    assert_eq!((row.max_output, row.tools), (Some(2), Some(true)));
    let model = catalog.default_for(&|_| None).unwrap().unwrap().model;
    assert_eq!(model.model, "claude-haiku-5-5");
}

#[test]
fn harn_toml_may_have_tables_of_others_and_the_other_files_may_not() {
    let text = "[permissions]\nauto_deny = []\n\n[llm]\nmodel = \"opus\"";
    assert!(overlaid(OverlayKind::Harn, text).is_ok());
    for kind in [OverlayKind::Providers, OverlayKind::Llm] {
        let error = overlaid(kind, text).unwrap_err().to_string();
        let expected =
            "conf/file.toml:1: unknown field `permissions`, expected one of `llm`, `providers`, `models`";
        assert_eq!(error, expected);
    }
}

#[test]
fn a_row_is_found_under_the_other_names_of_its_provider_and_in_any_case() {
    let catalog = with(
        "[[providers]]\nid = \"gemini\"\nname = \"Ours\"\n\n\
         [[models]]\nprovider = \"Gemini\"\nid = \"Gemini-3.8-Flash\"\nmax_output = 9_000",
    );
    let counts = (catalog.providers().count(), catalog.models().count());
    assert_eq!(counts, (Catalog::builtin().providers().count(), Catalog::builtin().models().count()));
    assert_eq!(catalog.provider("google").unwrap().name, "Ours");
    assert_eq!(catalog.model("google", "gemini-3.8-flash").unwrap().max_output, Some(9_000));
}
