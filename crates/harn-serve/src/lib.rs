//! The edges of Harn. So far one: REST and SSE of the Harn Agents Protocol, as a thin view of the harness.
//!
//! An edge parses a request into a command and renders what comes back. Nothing is decided here: scopes,
//! visibility and lifecycle are the harness's, so that every protocol behaves the same.

mod agents;
mod cors;
mod document;
mod download;
mod edge;
mod failure;
mod gate;
mod intake;
mod kin;
mod listen;
mod sse;
mod tls;
mod upload;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use harn_harness::Harness;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

pub use listen::{serve_in_process, serve_tcp, serve_tls, serve_unix};
pub use tls::{TlsIdentity, TlsProblem};

use edge::Edge;

/// How an edge is set up.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where clients reach this server, without a slash at the end.
    pub public_url: String,
    /// Requests per second and actor; none means no limit.
    pub rate_limit: Option<NonZeroU32>,
    /// The largest JSON body, in bytes.
    pub json_limit: usize,
    /// The largest artifact, in bytes.
    pub upload_limit: u64,
    /// How long a stream may be silent before a comment shows that it is alive.
    pub heartbeat: Duration,
    /// Origins whose pages may call us; empty means pages served from this machine only.
    pub cors_origins: Vec<String>,
    /// Cancelled when the server goes down: streams end, and the listeners stop accepting.
    pub shutdown: CancellationToken,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            public_url: "http://127.0.0.1:8787".into(),
            rate_limit: None,
            json_limit: 4 << 20,
            upload_limit: 256 << 20,
            heartbeat: Duration::from_secs(15),
            cors_origins: Vec::new(),
            shutdown: CancellationToken::new(),
        }
    }
}

/// How callers prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// By an API key in every request.
    Bearer,
    /// By having got here: the rights of the socket's file are the authentication.
    LocalSocket,
}

/// All routes of the agents protocol over one harness.
pub fn router(harness: Harness, options: ServeOptions, trust: Trust) -> Router {
    let (public, guarded, document) = agents::routes();
    let cors = cors::layer(&options.cors_origins);
    let edge = Arc::new(Edge::new(harness, options, trust, document));
    let guarded = guarded.route_layer(axum::middleware::from_fn_with_state(Arc::clone(&edge), gate::guard));
    public
        .merge(guarded)
        .fallback(failure::unknown_path)
        .with_state(edge)
        .layer(cors)
        .layer(CatchPanicLayer::custom(failure::panicked))
        .layer(axum::middleware::from_fn(gate::identify))
}

/// The document that `GET /openapi.json` serves.
pub fn openapi() -> serde_json::Value {
    agents::routes().2
}
