//! An HTTP client for tests that lets no answer pass without a look at the public contract.

mod answer;
mod call;
mod sse;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

pub use self::answer::Answer;
pub use self::call::Call;
pub use self::sse::{EventStream, SseFrame, SseParser};
use crate::PublicApi;

pub const VERSION_HEADER: &str = "Harn-Agents-Protocol-Version";
pub const PROTOCOL_VERSION: &str = "agents-protocol-2026-04-25";

/// Longer than any answer may take; a test that hangs is worse than one that fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server under test. Requests carry the protocol version and the key unless a call says otherwise.
#[derive(Clone)]
pub struct Api {
    /// Where the server listens, without a trailing slash: `http://127.0.0.1:4711`.
    pub base: String,
    pub key: Option<String>,
    /// `None` where the public document is not on this machine: answers are then only judged for
    /// being an error envelope when they are errors.
    pub contract: Option<Arc<PublicApi>>,
    http: reqwest::Client,
}

/// An HTTP client to build upon, without proxies of the environment.
pub fn http() -> reqwest::ClientBuilder {
    // Clients are built with TLS in this workspace, and then want to know whose; the first word counts.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}

impl Api {
    pub fn new(base: impl Into<String>) -> Self {
        let http =
            http().redirect(reqwest::redirect::Policy::none()).build().expect("an HTTP client can be made");
        let base = base.into().trim_end_matches('/').to_owned();
        Self { base, key: None, contract: PublicApi::shared(), http }
    }

    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.request(Method::POST, path).json(&body).send().await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.request(Method::PATCH, path).json(&body).send().await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.request(Method::PUT, path).json(&body).send().await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path).send().await
    }

    /// A request to be shaped before it is sent.
    pub fn request(&self, method: Method, path: &str) -> Call<'_> {
        Call::new(self, method, path)
    }

    /// Opens a stream of server-sent events.
    ///
    /// # Panics
    /// When the answer is not a stream; ask with [`Api::get`] for an answer that is to be an error.
    pub async fn events(&self, path: &str, last_event_id: Option<&str>) -> EventStream {
        let mut call = self.request(Method::GET, path).header("Accept", "text/event-stream");
        if let Some(id) = last_event_id {
            call = call.header("Last-Event-ID", id);
        }
        call.open().await
    }
}
