//! One answer that can be read in two ways: by a bare `reqwest`, and by our adapter.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use harn_core::chat::{ChatMessage, ModelRef, ModelRequest, StopReason};
use harn_model::{Auth, Chunk, Credential, HttpModel, Model, Proxy, Target, Transport, TransportOptions};
use reqwest::header::{ACCEPT, CONTENT_TYPE};

use super::wires::Wire;

const KEY: &str = "sk-bench";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Bare,
    Ours,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Bare, Self::Ours];

    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Ours => "ours",
        }
    }
}

/// Both ways share nothing, and have connections of their own.
pub struct Subject {
    client: reqwest::Client,
    url: String,
    body: Vec<u8>,
    model: HttpModel,
    request: ModelRequest,
}

impl Subject {
    pub fn new(wire: Wire, url: &str) -> Self {
        let options = TransportOptions { proxy: Proxy::None, ..TransportOptions::default() };
        let transport = Transport::new(&options).unwrap();
        let target = Target::new("bench", "model-x", url, Auth::Bearer);
        let request = ModelRequest {
            model: ModelRef { provider: "bench".into(), model: "model-x".into() },
            system: "Be good.".into(),
            messages: vec![ChatMessage::user("hello")].into(),
            tools: [].into(),
            max_output_tokens: 1000,
            thinking: Default::default(),
            output_schema: None,
            sampling: Default::default(),
        };
        let call = wire.codec().call(&request, &target).unwrap();
        Self {
            client: client(&options),
            url: target.url(&call.path),
            body: serde_json::to_vec(&call.body).unwrap(),
            model: HttpModel::new(wire.codec(), target, Credential::new(KEY, "BENCH_KEY"), transport),
            request,
        }
    }

    /// Reads a whole answer; awaits `begun` once its first piece has come.
    pub async fn read(&self, side: Side, begun: impl Future<Output = ()>) {
        match side {
            Side::Bare => self.bare(begun).await,
            Side::Ours => self.ours(begun).await,
        }
    }

    async fn bare(&self, begun: impl Future<Output = ()>) {
        let post = self.client.post(&self.url).bearer_auth(KEY).body(self.body.clone());
        let headers = post.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        let mut response = headers.send().await.unwrap();
        let mut length = response.chunk().await.unwrap().unwrap().len();
        begun.await;
        while let Some(bytes) = response.chunk().await.unwrap() {
            length += bytes.len();
        }
        std::hint::black_box(length);
    }

    async fn ours(&self, begun: impl Future<Output = ()>) {
        let mut stream = self.model.stream(self.request.clone());
        let mut last = stream.next().await.unwrap().unwrap();
        begun.await;
        while let Some(chunk) = stream.next().await {
            last = std::hint::black_box(chunk.unwrap());
        }
        assert!(matches!(last, Chunk::Stop(StopReason::EndTurn | StopReason::ToolUse)), "{last:?}");
    }
}

/// A client with the settings of ours.
fn client(options: &TransportOptions) -> reqwest::Client {
    reqwest::Client::builder()
        .user_agent("bare")
        .connect_timeout(options.connect_timeout)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(90))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .tls_certs_only([])
        .build()
        .unwrap()
}
