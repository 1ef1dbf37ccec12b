//! What all handlers share: the harness, the options, the rate limiter and the rendered documents.

use bytes::Bytes;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use harn_harness::Harness;

use crate::{ServeOptions, Trust};

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub struct Edge {
    pub harness: Harness,
    pub options: ServeOptions,
    pub trust: Trust,
    /// One bucket per actor, so that several keys of one actor do not multiply its share.
    pub limiter: Option<DefaultKeyedRateLimiter<String>>,
    pub openapi: Bytes,
}

impl Edge {
    pub fn new(harness: Harness, options: ServeOptions, trust: Trust, document: serde_json::Value) -> Self {
        let limiter = options.rate_limit.map(|rate| RateLimiter::keyed(Quota::per_second(rate)));
        let openapi = document.to_string().into();
        Self { harness, options, trust, limiter, openapi }
    }
}
