//! Choosing among models: by tier, by what is cheap, and by how a name looks.

use harn_model::catalog::{Catalog, ModelEntry, Status, Tier};

const TIERS: [(Tier, &str); 4] =
    [(Tier::Small, "small"), (Tier::Mid, "mid"), (Tier::Large, "large"), (Tier::Frontier, "frontier")];

pub fn tier_word(tier: Tier) -> &'static str {
    TIERS.iter().find(|(known, _)| *known == tier).map_or("mid", |(_, word)| word)
}

/// The model of a tier that is first by the preference of its provider, one that can be used before all others. None
/// for a word that is no tier.
pub fn of_tier<'a>(
    catalog: &'a Catalog,
    word: &str,
    provider: Option<&str>,
    available: &[String],
) -> Option<&'a ModelEntry> {
    let (wanted, _) = TIERS.iter().find(|(_, known)| *known == word)?;
    let provider = provider.map(|name| catalog.provider(name).map_or(name, |row| &row.id));
    let rank = |entry: &&ModelEntry| {
        let tier = entry.tier.unwrap_or(Tier::Mid);
        let preference = catalog.provider(&entry.provider).and_then(|row| row.preference);
        (
            !available.contains(&entry.provider),
            distance(tier, *wanted),
            preference.unwrap_or(u32::MAX),
            entry.status != Status::Active,
            price(entry),
        )
    };
    let known = catalog.models().filter(|entry| entry.tier.is_some());
    known.filter(|entry| provider.is_none_or(|id| entry.provider == id)).min_by_key(rank)
}

fn distance(tier: Tier, wanted: Tier) -> u8 {
    (tier as u8).abs_diff(wanted as u8)
}

/// What is not known counts as dear.
fn price(entry: &ModelEntry) -> u64 {
    entry.prices.map_or(u64::MAX, |prices| prices.rates.output)
}

/// The smallest model of a provider, for checks that need no great mind.
pub fn smallest(catalog: &Catalog, provider: &str) -> Option<String> {
    let id = &catalog.provider(provider)?.id;
    let offered = catalog.models().filter(|entry| entry.provider == *id && entry.status == Status::Active);
    let least = offered.min_by_key(|entry| (entry.tier.unwrap_or(Tier::Mid), price(entry)))?;
    Some(least.id.clone())
}

/// Whose model a name most likely is. A guess, for names that the catalog does not know.
pub fn provider_by_name(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    Some(if begins(&["claude"]) {
        "anthropic"
    } else if begins(&["gpt-", "chatgpt", "o1", "o3", "o4"]) {
        "openai"
    } else if begins(&["gemini"]) {
        "google"
    } else if begins(&["deepseek-"]) {
        "deepseek"
    } else if begins(&["grok"]) {
        "xai"
    } else if name.contains('/') {
        "openrouter"
    } else if name.contains(':') {
        "ollama"
    } else {
        return None;
    })
}
