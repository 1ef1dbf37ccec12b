//! The provider catalog v2 artifact: what `harn providers export` and `_harn/providerCatalog` give out.

use std::collections::BTreeMap;

use harn_core::chat::ModelRef;
use serde::Serialize;
use serde_json::Value;

use super::Catalog;
use super::ambient::{Availability, Env, Usability};
use super::entry::{Location, ModelEntry, Provider};

/// What identifies the artifact.
pub const SCHEMA: &str = "https://harnlang.com/schemas/provider-catalog.v2.json";
pub const SCHEMA_VERSION: u32 = 2;
pub const PRICE_UNIT: &str = "micro_usd_per_million_tokens";

#[derive(Serialize)]
struct Artifact<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    schema_version: u32,
    price_unit: &'static str,
    default_model: Option<&'a str>,
    aliases: BTreeMap<&'a str, ModelRef>,
    providers: Vec<ProviderRow<'a>>,
    models: Vec<ModelRow<'a>>,
}

#[derive(Serialize)]
struct ProviderRow<'a> {
    #[serde(flatten)]
    provider: &'a Provider,
    availability: AvailabilityRow,
}

#[derive(Serialize)]
struct AvailabilityRow {
    status: Availability,
    hint: Option<String>,
}

#[derive(Serialize)]
struct ModelRow<'a> {
    selector: String,
    location: Location,
    #[serde(flatten)]
    entry: &'a ModelEntry,
}

impl Catalog {
    /// The artifact, the same whatever the environment.
    pub fn export(&self) -> Value {
        self.artifact(|_| AvailabilityRow { status: Availability::Unknown, hint: None })
    }

    /// The artifact as this environment makes it: with the availability of each provider.
    pub fn export_for(&self, env: Env<'_>) -> Value {
        self.artifact(|provider| {
            let Usability { status, hint, .. } = provider.usability(env);
            AvailabilityRow { status, hint }
        })
    }

    fn artifact(&self, availability: impl Fn(&Provider) -> AvailabilityRow) -> Value {
        let artifact = Artifact {
            schema: SCHEMA,
            schema_version: SCHEMA_VERSION,
            price_unit: PRICE_UNIT,
            default_model: self.default_selector.as_deref(),
            aliases: self.every_alias(),
            providers: self
                .providers()
                .map(|provider| ProviderRow { provider, availability: availability(provider) })
                .collect(),
            models: self.models().filter_map(|entry| self.row(entry)).collect(),
        };
        // Structs with keys of text are always values; there is nothing to report.
        serde_json::to_value(artifact).unwrap_or_default()
    }

    fn row<'a>(&'a self, entry: &'a ModelEntry) -> Option<ModelRow<'a>> {
        let location = self.providers.get(&entry.provider)?.location;
        Some(ModelRow { selector: entry.selector(), location, entry })
    }

    fn every_alias(&self) -> BTreeMap<&str, ModelRef> {
        let of_models = self.models().flat_map(|entry| {
            let reference = ModelRef { provider: entry.provider.clone(), model: entry.id.clone() };
            entry.aliases.iter().map(move |alias| (alias.as_str(), reference.clone()))
        });
        let own = self
            .aliases
            .iter()
            .filter_map(|(name, target)| Some((name.as_str(), self.direct(target).ok()?.reference())));
        of_models.chain(own).collect()
    }
}
