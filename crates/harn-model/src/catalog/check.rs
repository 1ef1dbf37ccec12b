//! What must hold of a catalog, whoever wrote its rows.

use std::collections::HashMap;
use std::fmt;

use harn_core::route::MOST_FALLBACKS;

use super::Catalog;
use super::entry::{AuthKind, Location, ModelEntry, Provider};
use super::select::{INHERIT, LONGEST};

/// A thing that a file may say something about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Row {
    Provider(String),
    Model(String, String),
    Alias(String),
    Default,
    Fallbacks,
    /// By its place in the list.
    Fallback(usize),
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(id) => write!(f, "the provider `{id}`"),
            Self::Model(provider, id) => write!(f, "the model `{provider}:{id}`"),
            Self::Alias(name) => write!(f, "the alias `{name}`"),
            Self::Default => write!(f, "the default model"),
            Self::Fallbacks => write!(f, "the list of fallbacks"),
            Self::Fallback(nth) => write!(f, "fallback {}", nth + 1),
        }
    }
}

pub(super) struct Problem {
    pub rows: Vec<Row>,
    pub what: String,
}

pub(super) fn first_problem(catalog: &Catalog) -> Option<Problem> {
    catalog
        .providers()
        .find_map(|row| provider(row).map(|what| Problem { rows: vec![Row::Provider(row.id.clone())], what }))
        .or_else(|| {
            catalog.models().find_map(|row| {
                model(catalog, row)
                    .map(|what| Problem { rows: vec![key(row)], what: format!("{}: {what}", key(row)) })
            })
        })
        .or_else(|| provider_names(catalog))
        .or_else(|| model_names(catalog))
        .or_else(|| selectors(catalog))
}

fn key(row: &ModelEntry) -> Row {
    Row::Model(row.provider.clone(), row.id.clone())
}

fn provider(row: &Provider) -> Option<String> {
    let id = &row.id;
    let names = std::iter::once(id).chain(&row.aliases);
    if let Some(name) = names.into_iter().find(|name| !plain_provider(name)) {
        return Some(format!(
            "`{name}` is no name for a provider: use lower-case letters, digits, `.`, `_` and `-`"
        ));
    }
    if let Some(name) = row.auth.env.iter().chain(&row.base_url_env).find(|name| !variable(name)) {
        return Some(format!("the provider `{id}` names `{name}`, which is no name of a variable"));
    }
    if row.auth.kind == AuthKind::ApiKey && row.auth.env.is_empty() {
        return Some(format!("the provider `{id}` needs a key; say in `auth.env` which variable has it"));
    }
    if row.name.trim().is_empty() {
        return Some(format!("the provider `{id}` has an empty `name`"));
    }
    if row.docs.as_ref().is_some_and(|docs| !docs.starts_with("https://")) {
        return Some(format!("the `docs` of `{id}` must be an https address"));
    }
    let limits = row.rate_limits;
    let per_minute = [limits.requests_per_minute, limits.tokens_per_minute];
    if per_minute.contains(&Some(0)) || limits.concurrency == Some(0) {
        return Some(format!("a rate limit of 0 would stop `{id}` for good; leave it out if it is unknown"));
    }
    match &row.base_url {
        Some(url) => address(url, row.location).map(|what| format!("the `base_url` of `{id}` {what}")),
        None if row.base_url_env.is_empty() => Some(format!(
            "the provider `{id}` needs `base_url`, or `base_url_env` with a variable that has it"
        )),
        None => None,
    }
}

fn model(catalog: &Catalog, row: &ModelEntry) -> Option<String> {
    if !catalog.providers.contains_key(&row.provider) {
        return Some(format!("there is no provider `{}`; add it with [[providers]]", row.provider));
    }
    if !plain(&row.id) {
        return Some("the id must be a word of at most 256 bytes".into());
    }
    if let Some(alias) = row.aliases.iter().find(|alias| !plain_alias(alias)) {
        return Some(format!("`{alias}` cannot be an alias: it must be a word without `:`, `/` and `@`"));
    }
    if row.context_window == Some(0) || row.max_output == Some(0) {
        return Some(
            "a limit of 0 tokens means that nothing could be said; leave it out if it is unknown".into(),
        );
    }
    if row.context_window.zip(row.max_output).is_some_and(|(window, output)| output > window) {
        return Some("`max_output` is more than `context_window`".into());
    }
    if row.name.trim().is_empty() {
        return Some("`name` is empty".into());
    }
    let lengths = row.prices.map(|prices| [prices.up_to, prices.long_prompt.map(|long| long.above)]);
    if lengths.is_some_and(|lengths| lengths.contains(&Some(0))) {
        return Some(
            "`prices.up_to` and `prices.long_prompt.above` are lengths of prompts, at least 1".into(),
        );
    }
    if row.source.as_ref().is_some_and(|source| !source.starts_with("https://")) {
        return Some("`source` must be an https address".into());
    }
    if row.verified.as_ref().is_some_and(|day| !is_day(day)) {
        return Some("`verified` must be a day, as in 2026-11-16".into());
    }
    None
}

fn provider_names(catalog: &Catalog) -> Option<Problem> {
    let mut owners: HashMap<String, &Provider> = HashMap::new();
    for row in catalog.providers() {
        for name in std::iter::once(&row.id).chain(&row.aliases) {
            if let Some(other) = owners.insert(name.to_ascii_lowercase(), row) {
                return Some(Problem {
                    rows: vec![Row::Provider(row.id.clone()), Row::Provider(other.id.clone())],
                    what: format!("`{name}` names two providers, `{}` and `{}`", other.id, row.id),
                });
            }
        }
    }
    None
}

fn model_names(catalog: &Catalog) -> Option<Problem> {
    let mut owners: HashMap<String, &ModelEntry> = HashMap::new();
    let mut ids: HashMap<String, &ModelEntry> = HashMap::new();
    for row in catalog.models() {
        ids.insert(row.id.to_ascii_lowercase(), row);
    }
    for row in catalog.models() {
        for alias in &row.aliases {
            let name = alias.to_ascii_lowercase();
            let other = ids.get(&name).copied().or_else(|| owners.insert(name, row));
            if let Some(other) = other {
                return Some(Problem {
                    rows: vec![key(row), key(other)],
                    what: format!(
                        "the alias `{alias}` of `{}` already names `{}`; a name of your own under \
                         [llm.aliases] wins over both",
                        row.selector(),
                        other.selector()
                    ),
                });
            }
        }
    }
    None
}

fn selectors(catalog: &Catalog) -> Option<Problem> {
    for (name, target) in &catalog.aliases {
        let row = Row::Alias(name.clone());
        if !plain_alias(name) {
            let what = format!("`{name}` cannot be an alias: it must be a word without `:`, `/` and `@`");
            return Some(Problem { rows: vec![row], what });
        }
        let Err(error) = catalog.direct(target) else { continue };
        let what = if catalog.aliases.contains_key(target) {
            format!("the alias `{name}` stands for the alias `{target}`; write the model instead")
        } else {
            format!("the alias `{name}`: {error}")
        };
        return Some(Problem { rows: vec![row], what });
    }
    if let Some(error) = catalog.default_selector.as_deref().and_then(|name| catalog.resolve(name).err()) {
        return Some(Problem { rows: vec![Row::Default], what: format!("the default model: {error}") });
    }
    fallbacks(catalog)
}

fn fallbacks(catalog: &Catalog) -> Option<Problem> {
    let count = catalog.fallbacks.len();
    if count > MOST_FALLBACKS {
        let what =
            format!("there are {count} fallbacks, and at most {MOST_FALLBACKS} are used; leave some out");
        return Some(Problem { rows: vec![Row::Fallbacks], what });
    }
    catalog.fallbacks.iter().enumerate().find_map(|(nth, selector)| {
        let row = Row::Fallback(nth);
        let what = match catalog.resolve(selector) {
            Ok(Some(_)) => return None,
            Ok(None) => format!("{row} names no model"),
            Err(error) => format!("{row}: {error}"),
        };
        Some(Problem { rows: vec![row], what })
    })
}

fn plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn plain_alias(name: &str) -> bool {
    plain(name) && name != INHERIT && !name.contains([':', '/', '@'])
}

fn plain_provider(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed)
}

fn variable(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') && name.chars().all(allowed)
}

/// What is wrong with the address, if anything.
fn address(url: &str, location: Location) -> Option<String> {
    let (secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Some("must begin with https:// or http://".into()),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || !plain(url) {
        return Some("is no address".into());
    }
    if authority.contains('@') {
        return Some("has a user or a key in it; put the key in a variable and name it in `auth.env`".into());
    }
    let open = !secure && !is_loopback(url) && location == Location::Cloud;
    open.then(|| "would send the key in the clear; use https://, or `location = \"local\"`".into())
}

/// Whether an address is one of this machine.
pub fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|host| authority.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}

fn is_day(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let part = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u8>().ok());
    shape
        && part(5..7).is_some_and(|month| (1..=12).contains(&month))
        && part(8..10).is_some_and(|day| (1..=31).contains(&day))
}
