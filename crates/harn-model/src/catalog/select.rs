//! Selectors: the ways in which people and programs name a model.

use std::fmt;

use harn_core::chat::ModelRef;

use super::Catalog;
use super::entry::{ModelEntry, Provider};
use super::nearest::nearest;

/// The selector that says: whatever would be used without a choice.
pub const INHERIT: &str = "@inherit";

/// Longer than any name, and short enough for every error that repeats it.
pub(super) const LONGEST: usize = 256;

/// What a selector means.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved<'a> {
    pub provider: &'a Provider,
    /// What goes over the wire.
    pub model: String,
    /// None for a model that the catalog does not know. It works, and its limits and costs are unknown.
    pub entry: Option<&'a ModelEntry>,
}

impl Resolved<'_> {
    pub fn reference(&self) -> ModelRef {
        ModelRef { provider: self.provider.id.clone(), model: self.model.clone() }
    }
}

impl fmt::Display for Resolved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.id, self.model)
    }
}

/// A selector that means nothing, or too much.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error("a model selector is one word of at most 256 bytes, such as `sonnet` or `openai:gpt-6.1-sol`")]
    Malformed,
    #[error("`{selector}` names the provider `{provider}` but no model; write `{provider}:MODEL`")]
    NoModel { selector: String, provider: String },
    #[error(
        "there is no model `{selector}`{}; `harn models list` shows all, and `provider:model` works for any model",
        suggestion(nearest)
    )]
    Unknown { selector: String, nearest: Vec<String> },
    #[error(
        "there is no provider `{provider}`, which `{selector}` asks for{}; `harn providers list` shows all, \
         and [[providers]] in providers.toml adds one",
        suggestion(nearest)
    )]
    UnknownProvider { selector: String, provider: String, nearest: Vec<String> },
    #[error("`{selector}` could be {}; write the one that you mean", either(candidates))]
    Ambiguous { selector: String, candidates: Vec<String> },
    #[error("at most {most} models can stand in a list of fallbacks; leave some out")]
    TooMany { most: usize },
}

impl Catalog {
    /// What a selector means; None for [`INHERIT`] and for nothing at all.
    ///
    /// In this order: an alias of the user, an alias of a model, a provider with a model that it is known to have,
    /// an id of the catalog, a provider with any other model.
    pub fn resolve(&self, selector: &str) -> Result<Option<Resolved<'_>>, SelectorError> {
        let selector = selector.trim();
        if selector.is_empty() || selector == INHERIT {
            return Ok(None);
        }
        let own = self.aliases.iter().find(|(name, _)| name.eq_ignore_ascii_case(selector));
        self.direct(own.map_or(selector, |(_, target)| target)).map(Some)
    }

    /// As [`Catalog::resolve`], without the user's aliases, so that these cannot go round in circles.
    pub(super) fn direct(&self, selector: &str) -> Result<Resolved<'_>, SelectorError> {
        let broken = |c: char| c.is_whitespace() || c.is_control();
        if selector.is_empty() || selector.len() > LONGEST || selector.chars().any(broken) {
            return Err(SelectorError::Malformed);
        }
        if let Some(entry) = self.models().find(|entry| entry.has_alias(selector)) {
            return self.known(selector, entry);
        }
        let pair = self.pair(selector)?;
        if let Some(entry) = pair.as_ref().and_then(|pair| self.offered(pair)) {
            return self.known(selector, entry);
        }
        let rows: Vec<&ModelEntry> =
            self.models().filter(|entry| entry.id.eq_ignore_ascii_case(selector)).collect();
        match (pair, rows.as_slice()) {
            (Some(pair), []) => Ok(pair.unknown()),
            // A colon says which part is the provider. A slash is as common within ids.
            (Some(pair), _) if pair.separator == ':' => Ok(pair.unknown()),
            (None, [entry]) => self.known(selector, entry),
            // Some ids begin with the name of their own provider.
            (Some(pair), [entry]) if entry.provider == pair.provider.id => self.known(selector, entry),
            (None, []) => Err(self.not_found(selector)),
            (pair, rows) => {
                let mut candidates: Vec<String> = rows.iter().map(|entry| entry.selector()).collect();
                candidates.extend(pair.map(|pair| format!("{}:{}", pair.provider.id, pair.model)));
                candidates.sort();
                Err(SelectorError::Ambiguous { selector: selector.to_owned(), candidates })
            }
        }
    }

    fn known<'a>(&'a self, selector: &str, entry: &'a ModelEntry) -> Result<Resolved<'a>, SelectorError> {
        match self.providers.get(&entry.provider) {
            Some(provider) => Ok(Resolved { provider, model: entry.id.clone(), entry: Some(entry) }),
            None => Err(self.no_provider(selector, &entry.provider)),
        }
    }

    fn offered(&self, pair: &Pair<'_, '_>) -> Option<&ModelEntry> {
        self.models().find(|entry| entry.provider == pair.provider.id && entry.answers_to(pair.model))
    }

    /// The selector as provider and model, if it begins with the name of a provider.
    fn pair<'s>(&self, selector: &'s str) -> Result<Option<Pair<'_, 's>>, SelectorError> {
        let Some(at) = selector.find([':', '/']) else { return Ok(None) };
        let (name, rest) = selector.split_at(at);
        let Some(provider) = self.provider(name) else { return Ok(None) };
        let mut rest = rest.chars();
        let separator = rest.next().unwrap_or(':');
        match rest.as_str() {
            "" => {
                Err(SelectorError::NoModel { selector: selector.to_owned(), provider: provider.id.clone() })
            }
            model => Ok(Some(Pair { provider, model, separator })),
        }
    }

    fn not_found(&self, selector: &str) -> SelectorError {
        let named = selector.split_once([':', '/']).map(|(name, _)| name).filter(|name| !name.is_empty());
        let names = self.aliases.keys().map(String::as_str).chain(
            self.models()
                .flat_map(|entry| entry.aliases.iter().map(String::as_str).chain([entry.id.as_str()])),
        );
        let close = nearest(selector, names);
        match named {
            Some(name) if close.is_empty() => self.no_provider(selector, name),
            _ => SelectorError::Unknown { selector: selector.to_owned(), nearest: close },
        }
    }

    fn no_provider(&self, selector: &str, name: &str) -> SelectorError {
        let names = self
            .providers()
            .flat_map(|provider| provider.aliases.iter().map(String::as_str).chain([provider.id.as_str()]));
        SelectorError::UnknownProvider {
            selector: selector.to_owned(),
            provider: name.to_owned(),
            nearest: nearest(name, names),
        }
    }
}

struct Pair<'c, 's> {
    provider: &'c Provider,
    model: &'s str,
    separator: char,
}

impl<'c> Pair<'c, '_> {
    fn unknown(self) -> Resolved<'c> {
        Resolved { provider: self.provider, model: self.model.to_owned(), entry: None }
    }
}

fn suggestion(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", did you mean {}", either(names)) }
}

fn either(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" or ")
}
