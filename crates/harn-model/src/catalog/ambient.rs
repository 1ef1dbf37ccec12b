//! What the environment makes of the catalog: which providers can be used, and which model is the default.

use harn_core::route::{FallbackOn, MOST_FALLBACKS};
use serde::Serialize;

use super::Catalog;
use super::entry::{AuthKind, Location, Provider};
use super::select::{Resolved, SelectorError};

/// The variable with the selector of the model that is used when nobody chose one.
pub const MODEL_VARIABLE: &str = "HARN_LLM_MODEL";

/// The variable with the selectors of the models that are asked when the default fails, with commas between them.
pub const FALLBACKS_VARIABLE: &str = "HARN_LLM_FALLBACKS";

/// The value of a variable of the environment.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether a provider can be used, and what to do if not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usability {
    pub provider: String,
    pub status: Availability,
    /// The variable that has the key.
    pub key_env: Option<String>,
    pub base_url: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// A key and an address are there. Whether the key is right shows with the first call.
    Available,
    MissingKey,
    MissingBaseUrl,
    /// A local server, which may or may not be running.
    NotProbed,
    /// Nobody looked at the environment.
    Unknown,
}

/// The model that is used when nobody chose one.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultModel<'a> {
    pub model: Resolved<'a>,
    pub because: Because,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// [`MODEL_VARIABLE`] says so.
    Variable,
    /// `model` under `[llm]` says so.
    Configuration,
    /// This variable has a key, and no provider with a higher preference has one.
    Key(String),
}

/// The default that somebody asked for does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {error}")]
pub struct DefaultError {
    /// The variable or the key of the configuration.
    pub place: String,
    #[source]
    pub error: SelectorError,
}

impl Catalog {
    /// [`MODEL_VARIABLE`] first, then the configuration, then the first provider by preference that has a key.
    pub fn default_for(&self, env: Env<'_>) -> Result<Option<DefaultModel<'_>>, DefaultError> {
        let asked = [
            (Because::Variable, MODEL_VARIABLE, set(env, MODEL_VARIABLE)),
            (Because::Configuration, "model under [llm]", self.default_selector.clone()),
        ];
        for (because, place, selector) in asked {
            let model = self
                .resolve(selector.as_deref().unwrap_or_default())
                .map_err(|error| DefaultError { place: place.to_owned(), error })?;
            if let Some(model) = model {
                return Ok(Some(DefaultModel { model, because }));
            }
        }
        Ok(self.by_key(env))
    }

    /// The models that are asked when the default fails: those of [`FALLBACKS_VARIABLE`], otherwise those of the
    /// configuration.
    pub fn fallbacks_for(&self, env: Env<'_>) -> Result<Vec<Resolved<'_>>, DefaultError> {
        let named = set(env, FALLBACKS_VARIABLE);
        let (place, selectors): (_, Vec<&str>) = match &named {
            Some(list) => (FALLBACKS_VARIABLE, list.split(',').map(str::trim).collect()),
            None => ("fallbacks under [llm]", self.fallbacks.iter().map(String::as_str).collect()),
        };
        let wrong = |error| DefaultError { place: place.to_owned(), error };
        if selectors.len() > MOST_FALLBACKS {
            return Err(wrong(SelectorError::TooMany { most: MOST_FALLBACKS }));
        }
        let resolve = |selector: &str| {
            self.resolve(selector).map_err(wrong)?.ok_or_else(|| wrong(SelectorError::Malformed))
        };
        selectors.into_iter().map(resolve).collect()
    }

    /// The failures of a model with which a fallback is asked.
    pub fn fallback_on(&self) -> Vec<FallbackOn> {
        self.fallback_on.clone().unwrap_or_else(|| FallbackOn::ALL.to_vec())
    }

    fn by_key(&self, env: Env<'_>) -> Option<DefaultModel<'_>> {
        let mut ranked: Vec<&Provider> = self.providers().filter(|row| row.preference.is_some()).collect();
        ranked.sort_by_key(|provider| provider.preference);
        ranked.into_iter().find_map(|provider| {
            let key = provider.key_env(env)?;
            provider.base_url(env)?;
            let id = provider.default_model.as_deref()?;
            let entry = self.models().find(|entry| entry.provider == provider.id && entry.answers_to(id));
            let model = entry.map_or(id, |entry| &entry.id).to_owned();
            let because = Because::Key(key.to_owned());
            Some(DefaultModel { model: Resolved { provider, model, entry }, because })
        })
    }

    /// For every provider, in the order of their ids.
    pub fn usable(&self, env: Env<'_>) -> Vec<Usability> {
        self.providers().map(|provider| provider.usability(env)).collect()
    }
}

impl Provider {
    /// The variable that has the key. The value stays where it is.
    pub fn key_env(&self, env: Env<'_>) -> Option<&str> {
        let mut names = self.auth.env.iter().filter(|_| self.auth.kind != AuthKind::None);
        names.find(|name| set(env, name).is_some()).map(String::as_str)
    }

    /// The address that a variable gives, otherwise the one of the catalog. Without a slash at its end.
    ///
    /// `OLLAMA_HOST` is often only a host, or a host and a port; the rest is then taken from the catalog.
    pub fn base_url(&self, env: Env<'_>) -> Option<String> {
        let given = self.base_url_env.iter().find_map(|name| set(env, name));
        let url = match (given, &self.base_url) {
            (Some(given), _) if given.contains("://") => given,
            (Some(given), Some(usual)) => completed(&given, usual),
            (Some(given), None) => format!("https://{given}"),
            (None, usual) => usual.clone()?,
        };
        Some(url.trim_end_matches('/').to_owned())
    }

    pub fn usability(&self, env: Env<'_>) -> Usability {
        let key_env = self.key_env(env).map(str::to_owned);
        let base_url = self.base_url(env);
        let (status, hint) = match (&base_url, &key_env, self.auth.kind) {
            (None, ..) => (Availability::MissingBaseUrl, Some(self.say_address())),
            (_, None, AuthKind::ApiKey) => (Availability::MissingKey, Some(self.say_key())),
            (Some(url), ..) if self.location == Location::Local => {
                (Availability::NotProbed, Some(self.say_server(url)))
            }
            _ => (Availability::Available, None),
        };
        Usability { provider: self.id.clone(), status, key_env, base_url, hint }
    }

    fn say_address(&self) -> String {
        format!("set {} to the address of your {} resource", any_of(&self.base_url_env), self.name)
    }

    fn say_key(&self) -> String {
        let docs = self.docs.as_ref().map(|docs| format!(" (see {docs})")).unwrap_or_default();
        format!("set {} to a key of {}{docs}", any_of(&self.auth.env), self.name)
    }

    fn say_server(&self, url: &str) -> String {
        let other = match self.base_url_env.as_slice() {
            [] => String::new(),
            names => format!(", or set {} to where it listens", any_of(names)),
        };
        format!("start {} so that it listens at {url}{other}", self.name)
    }
}

/// An empty variable is as good as none.
fn set(env: Env<'_>, name: &str) -> Option<String> {
    env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn any_of(names: &[String]) -> String {
    names.join(" or ")
}

/// `host` or `host:port` with the scheme, and if need be the port, of the usual address.
fn completed(given: &str, usual: &str) -> String {
    let (scheme, rest) = usual.split_once("://").unwrap_or(("http", usual));
    let authority = rest.split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let host = given.split('/').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    match port {
        Some(port) if !has_port && host == given => format!("{scheme}://{given}:{port}"),
        _ => format!("{scheme}://{given}"),
    }
}
