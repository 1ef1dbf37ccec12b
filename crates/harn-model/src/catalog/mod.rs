//! The provider catalog: which providers and models there are, what is known of each, and how a model is chosen.
//!
//! Everything here is data and pure functions. Files and the environment are read by the caller.

mod ambient;
mod check;
mod entry;
mod export;
mod nearest;
mod overlay;
mod patch;
mod select;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use harn_core::route::FallbackOn;

pub use ambient::{
    Availability, Because, DefaultError, DefaultModel, Env, FALLBACKS_VARIABLE, MODEL_VARIABLE, Usability,
};
pub use check::is_loopback;
pub use entry::{
    Auth, AuthHeader, AuthKind, Caching, Dialect, Location, Modality, ModelEntry, Provider, RateLimits,
    Status, Thinking, ThinkingKind, Tier, Wire,
};
pub use export::{PRICE_UNIT, SCHEMA, SCHEMA_VERSION};
pub use harn_core::price::{LongPrompt, Prices, Rates};
pub use overlay::{OverlayError, OverlayFile, OverlayKind};
pub use select::{INHERIT, Resolved, SelectorError};

/// Providers and models, with the overlays of the user applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    providers: BTreeMap<String, Provider>,
    /// By provider and id, so that every listing has the same order.
    models: BTreeMap<(String, String), ModelEntry>,
    /// Names of the user's own, each for a selector. They win over the aliases of models.
    aliases: BTreeMap<String, String>,
    /// The selector of the configuration, for when nobody chose a model.
    default_selector: Option<String>,
    /// The selectors of the configuration for when that model fails.
    fallbacks: Vec<String>,
    /// With which failures they are used; none for all for which another model may help.
    fallback_on: Option<Vec<FallbackOn>>,
}

const DATA: [(&str, &str); 5] = [
    ("providers.toml", include_str!("data/providers.toml")),
    ("anthropic.toml", include_str!("data/anthropic.toml")),
    ("openai.toml", include_str!("data/openai.toml")),
    ("google.toml", include_str!("data/google.toml")),
    ("others.toml", include_str!("data/others.toml")),
];

static BUILTIN: LazyLock<Catalog> = LazyLock::new(|| {
    // The tests read every row, so that a file with a mistake is never built into a release.
    Catalog::embedded().unwrap_or_default()
});

impl Catalog {
    /// What Harn knows without any configuration.
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    fn embedded() -> Result<Self, OverlayError> {
        let files = DATA.map(|(path, text)| OverlayFile { kind: OverlayKind::Providers, path, text });
        Self::default().overlaid(&files)
    }

    /// The catalog with one provider more. The error says what is wrong with it.
    pub fn with_provider(mut self, row: Provider) -> Result<Self, String> {
        if let Some(known) = self.provider(&row.id).filter(|known| **known != row) {
            return Err(format!("there is a provider `{}` already; choose another name", known.id));
        }
        self.providers.insert(row.id.clone(), row);
        match check::first_problem(&self) {
            None => Ok(self),
            Some(problem) => Err(problem.what),
        }
    }

    /// In the order of their ids.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    /// In the order of provider and id.
    pub fn models(&self) -> impl Iterator<Item = &ModelEntry> {
        self.models.values()
    }

    /// By id or by another name of the provider; upper and lower case are the same.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers().find(|provider| provider.answers_to(name))
    }

    /// What is known of a model of a provider.
    pub fn model(&self, provider: &str, id: &str) -> Option<&ModelEntry> {
        self.models.get(&(provider.to_owned(), id.to_owned()))
    }
}
