//! Every built-in row is well-formed, and every figure has a source.

use std::collections::BTreeSet;

use super::super::{AuthKind, Catalog, Location, Rates, ThinkingKind, Wire};

#[test]
fn the_embedded_files_are_read_without_a_problem() {
    let read = Catalog::embedded().map(|catalog| (catalog.providers.len(), catalog.models.len()));
    assert_eq!(read, Ok((14, 57)));
}

#[test]
fn ids_and_aliases_are_unique_in_the_whole_catalog() {
    let catalog = Catalog::builtin();
    let selectors: Vec<String> = catalog.models().map(|row| row.selector()).collect();
    let aliases: Vec<String> = catalog.models().flat_map(|row| row.aliases.clone()).collect();
    for names in [selectors, aliases] {
        let unique: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }
}

#[test]
fn a_price_is_positive_and_a_discount_is_one() {
    for row in Catalog::builtin().models() {
        let Some(prices) = row.prices else { continue };
        let long = prices.long_prompt.map(|long| long.rates);
        for rates in [Some(prices.rates), long].into_iter().flatten() {
            let Rates { input, output, cached_input, cache_write, cache_write_long, thinking } = rates;
            let every = [Some(input), Some(output), cached_input, cache_write, cache_write_long, thinking];
            assert!(!every.contains(&Some(0)), "{}", row.selector());
            assert!(input <= output, "{}", row.selector());
            assert!(cached_input.is_none_or(|cached| cached < input), "{}", row.selector());
            assert!(cache_write.is_none_or(|write| write >= input), "{}", row.selector());
        }
        assert!(long.is_none_or(|long| long.input > prices.rates.input), "{}", row.selector());
        // A price of a dollar per token is a slip of the pen.
        assert!(prices.rates.output < 1_000_000_000, "{}", row.selector());
    }
}

#[test]
fn a_row_with_figures_says_where_they_come_from_and_when_they_were_read() {
    for row in Catalog::builtin().models() {
        let figures = row.prices.is_some() || row.context_window.is_some() || row.max_output.is_some();
        assert_eq!(row.source.is_some(), row.verified.is_some(), "{}", row.selector());
        assert!(!figures || row.source.is_some(), "{}", row.selector());
    }
}

#[test]
fn limits_are_of_a_size_that_models_have() {
    for row in Catalog::builtin().models() {
        let plausible = |limit: Option<u64>| limit.is_none_or(|limit| (4_096..=4_000_000).contains(&limit));
        assert!(plausible(row.context_window) && plausible(row.max_output), "{}", row.selector());
    }
}

#[test]
fn how_a_model_thinks_fits_with_its_kind() {
    for row in Catalog::builtin().models() {
        let Some(thinking) = &row.thinking else { continue };
        let (levels, budget) = match thinking.kind {
            ThinkingKind::None => (false, false),
            ThinkingKind::Effort | ThinkingKind::Adaptive | ThinkingKind::Toggle => (true, false),
            ThinkingKind::Budget => (false, true),
        };
        assert!(levels || thinking.levels.is_empty(), "{}", row.selector());
        assert!(budget || thinking.budget_min.or(thinking.budget_max).is_none(), "{}", row.selector());
    }
}

#[test]
fn a_provider_in_the_cloud_needs_a_key_and_https_and_a_local_one_neither() {
    for row in Catalog::builtin().providers() {
        let url = row.base_url.as_deref().unwrap_or("https://nowhere");
        match row.location {
            Location::Cloud => {
                assert_eq!(row.auth.kind, AuthKind::ApiKey, "{}", row.id);
                assert!(row.auth.env.iter().all(|name| name.ends_with("_API_KEY")), "{}", row.id);
                assert!(url.starts_with("https://"), "{}", row.id);
            }
            Location::Local => {
                assert_ne!(row.auth.kind, AuthKind::ApiKey, "{}", row.id);
                assert!(url.starts_with("http://localhost:"), "{}", row.id);
                assert_eq!(row.preference, None, "{}", row.id);
            }
        }
    }
}

#[test]
fn every_wire_format_has_a_provider_and_every_default_model_a_row() {
    let catalog = Catalog::builtin();
    for wire in [Wire::AnthropicMessages, Wire::OpenaiResponses, Wire::OpenaiChat, Wire::Gemini, Wire::Ollama]
    {
        assert!(catalog.providers().any(|row| row.wire == wire), "{wire:?}");
    }
    for provider in catalog.providers() {
        assert_eq!(provider.preference.is_some(), provider.default_model.is_some(), "{}", provider.id);
        let Some(model) = &provider.default_model else { continue };
        assert!(catalog.model(&provider.id, model).is_some(), "{}:{model}", provider.id);
    }
    let places: BTreeSet<u32> = catalog.providers().filter_map(|row| row.preference).collect();
    assert_eq!(places, (1..=9).collect::<BTreeSet<u32>>());
}
