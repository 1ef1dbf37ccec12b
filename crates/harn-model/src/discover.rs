//! What the local servers of the catalog have: asked over the network only when somebody wants to know.
//!
//! Every server is asked at its own address, all side by side, each for a bounded time and a bounded answer. A redirect
//! is not followed, and a key goes along only where one is configured for the provider.

mod read;

use std::time::Duration;

use futures::future::join_all;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::Transport;
use crate::catalog::{Catalog, Dialect, Env, Location, Provider, Wire};

/// For everything that one server is asked.
const PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_ELSEWHERE: Duration = Duration::from_secs(10);
const LARGEST_ANSWER: usize = 1 << 20;

/// A model that a local server has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Discovered {
    pub provider: String,
    /// `provider:id` is its selector.
    pub id: String,
    /// Tokens, as the server runs it if it tells, otherwise as it was trained.
    pub context_window: Option<u64>,
    pub size_bytes: Option<u64>,
}

/// A local server of the catalog, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub provider: String,
    pub base_url: Option<String>,
    pub models: Result<Vec<Discovered>, NoList>,
    /// What to do where there is no list.
    pub advice: Option<String>,
}

/// Why a server gave no list of its models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoList {
    #[error("it has no address")]
    NoAddress,
    #[error("it is not asked, because its wire format has no such question")]
    NoQuestion,
    #[error("not running at {url}")]
    NotRunning { url: String },
    #[error("no answer from {url} in time")]
    Silent { url: String },
    #[error("{url} answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("{url} answered with more than {LARGEST_ANSWER} bytes")]
    TooLarge { url: String },
    #[error("{url} did not answer with a list of models")]
    NotAList { url: String },
}

/// Asks every local server of the catalog, or only that of the provider with this id, in the order of their ids.
pub fn discover(
    catalog: &Catalog,
    only: Option<&str>,
    env: Env<'_>,
    transport: &Transport,
) -> impl Future<Output = Vec<LocalServer>> + Send + use<> {
    let wanted = |provider: &&Provider| {
        provider.location == Location::Local && only.is_none_or(|id| provider.id == id)
    };
    let servers: Vec<Server> =
        catalog.providers().filter(wanted).map(|provider| Server::of(provider, env, transport)).collect();
    join_all(servers.into_iter().map(Server::ask))
}

/// What came of asking a provider whether it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub provider: String,
    pub base_url: Option<String>,
    /// How many models it lists.
    pub models: Result<usize, NoList>,
    /// What to do where it is not there.
    pub advice: Option<String>,
}

/// Asks one provider, here or elsewhere, for the list of its models: the smallest question that needs a key.
pub fn check(
    provider: &Provider,
    env: Env<'_>,
    transport: &Transport,
) -> impl Future<Output = Checked> + Send + use<> {
    let mut server = Server::of(provider, env, transport);
    if provider.location == Location::Cloud {
        server.until = Instant::now() + PATIENCE_ELSEWHERE;
    }
    server.check()
}

/// A server that is about to be asked.
struct Server {
    provider: Provider,
    base_url: Option<String>,
    key: Option<(HeaderName, HeaderValue)>,
    transport: Transport,
    until: Instant,
}

impl Server {
    fn of(provider: &Provider, env: Env<'_>, transport: &Transport) -> Self {
        Self {
            provider: provider.clone(),
            base_url: provider.base_url(env),
            key: key(provider, env),
            transport: transport.clone(),
            until: Instant::now() + PATIENCE,
        }
    }

    async fn ask(self) -> LocalServer {
        let models = match (&self.base_url, self.provider.wire) {
            (None, _) => Err(NoList::NoAddress),
            (Some(url), Wire::Ollama) => self.ollama(url).await,
            (Some(url), Wire::OpenaiChat | Wire::OpenaiResponses) => self.openai(url).await,
            (Some(_), Wire::AnthropicMessages | Wire::Gemini) => Err(NoList::NoQuestion),
        };
        let advice = models.as_ref().err().and_then(|why| advice(&self.provider, why));
        LocalServer { provider: self.provider.id, base_url: self.base_url, models, advice }
    }

    async fn check(self) -> Checked {
        let models = match &self.base_url {
            None => Err(NoList::NoAddress),
            Some(base) => self.get(&self.question(base)).await.map(|list| {
                let lists = ["data", "models"].iter().find_map(|name| list[*name].as_array());
                lists.map_or(0, Vec::len)
            }),
        };
        let advice = models.as_ref().err().and_then(|why| advice(&self.provider, why));
        Checked { provider: self.provider.id, base_url: self.base_url, models, advice }
    }

    fn question(&self, base: &str) -> String {
        let versioned = |version: &str| match base.ends_with(&format!("/{version}")) {
            true => format!("{base}/models"),
            false => format!("{base}/{version}/models"),
        };
        match self.provider.wire {
            Wire::Ollama => format!("{base}/api/tags"),
            Wire::OpenaiChat | Wire::OpenaiResponses => format!("{base}/models"),
            Wire::AnthropicMessages => versioned("v1"),
            Wire::Gemini => versioned("v1beta"),
        }
    }

    async fn ollama(&self, base: &str) -> Result<Vec<Discovered>, NoList> {
        let mut models = self.list(&format!("{base}/api/tags"), read::ollama_tags).await?;
        // The window that a model runs with is known only while it is loaded.
        if let Ok(running) = self.get(&format!("{base}/api/ps")).await {
            read::add_ollama_windows(&mut models, &running);
        }
        Ok(models)
    }

    async fn openai(&self, base: &str) -> Result<Vec<Discovered>, NoList> {
        let root = base.strip_suffix("/v1").unwrap_or(base);
        // Its own list says more; older versions have only the other one.
        if self.provider.dialect == Dialect::LmStudio
            && let Ok(models) = self.list(&format!("{root}/api/v0/models"), read::openai_models).await
        {
            return Ok(models);
        }
        let mut models = self.list(&format!("{base}/models"), read::openai_models).await?;
        if let (Dialect::LlamaCpp, [only]) = (self.provider.dialect, models.as_mut_slice())
            && let Ok(props) = self.get(&format!("{root}/props")).await
        {
            only.context_window = read::llama_cpp_window(&props).or(only.context_window);
        }
        Ok(models)
    }

    async fn list(
        &self,
        url: &str,
        read: fn(&str, &Value) -> Option<Vec<Discovered>>,
    ) -> Result<Vec<Discovered>, NoList> {
        let answer = self.get(url).await?;
        read(&self.provider.id, &answer).ok_or_else(|| NoList::NotAList { url: url.to_owned() })
    }

    async fn get(&self, url: &str) -> Result<Value, NoList> {
        let silent = || NoList::Silent { url: url.to_owned() };
        timeout_at(self.until, self.get_patiently(url)).await.map_err(|_| silent())?
    }

    async fn get_patiently(&self, url: &str) -> Result<Value, NoList> {
        let not_running = |_| NoList::NotRunning { url: self.base_url.clone().unwrap_or_default() };
        let mut request = self.transport.client.get(url);
        if self.provider.wire == Wire::AnthropicMessages {
            request = request.header("anthropic-version", "2023-06-01");
        }
        if let Some((name, value)) = &self.key {
            request = request.header(name, value);
        }
        let mut answer = request.send().await.map_err(not_running)?;
        if !answer.status().is_success() {
            return Err(NoList::Status { url: url.to_owned(), status: answer.status().as_u16() });
        }
        let not_a_list = || NoList::NotAList { url: url.to_owned() };
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|_| not_a_list())? {
            if body.len() + piece.len() > LARGEST_ANSWER {
                return Err(NoList::TooLarge { url: url.to_owned() });
            }
            body.extend_from_slice(&piece);
        }
        serde_json::from_slice(&body).map_err(|_| not_a_list())
    }
}

fn key(provider: &Provider, env: Env<'_>) -> Option<(HeaderName, HeaderValue)> {
    let secret = env(provider.key_env(env)?)?;
    let header = provider.auth.header;
    let mut value = HeaderValue::from_str(&format!("{}{}", header.prefix(), secret.trim())).ok()?;
    value.set_sensitive(true);
    Some((HeaderName::from_static(header.name()), value))
}

fn advice(provider: &Provider, why: &NoList) -> Option<String> {
    let address = match provider.base_url_env.as_slice() {
        [] => "set its `base_url` in providers.toml".to_owned(),
        names => format!("set {}", names.join(" or ")),
    };
    let key =
        (!provider.auth.env.is_empty()).then(|| format!("set {} to its key", provider.auth.env.join(" or ")));
    match why {
        NoList::NoQuestion => None,
        NoList::NoAddress => Some(address),
        NoList::NotRunning { .. } => Some(format!("{} or {address}", start(provider))),
        NoList::Status { status: 401 | 403, .. } if key.is_some() => key,
        NoList::Silent { .. } | NoList::Status { .. } | NoList::TooLarge { .. } | NoList::NotAList { .. } => {
            Some(format!("if {} is elsewhere, {address}", provider.name))
        }
    }
}

fn start(provider: &Provider) -> String {
    let command = match (provider.wire, provider.dialect) {
        (Wire::Ollama, _) => "ollama serve",
        (_, Dialect::Vllm) => "vllm serve MODEL",
        (_, Dialect::LlamaCpp) => "llama-server -m FILE",
        (_, Dialect::LmStudio) => "lms server start",
        _ => return format!("start {}", provider.name),
    };
    format!("start it with `{command}`")
}
