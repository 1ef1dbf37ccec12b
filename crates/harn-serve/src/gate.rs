//! What every request passes: an id of its own, then the protocol version, the key and the rate limit.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use harn_core::{Actor, Code, Error, PROTOCOL_VERSION, Result};
use tracing::Instrument;
use ulid::Ulid;

use crate::edge::Edge;
use crate::failure::{self, Failure};
use crate::intake::discard;
use crate::{ServeOptions, Trust};

pub const VERSION_HEADER: &str = "harn-agents-protocol-version";
pub const REQUEST_ID_HEADER: &str = "x-request-id";

/// Names a request in the answer, in error bodies and in our own log.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

/// Gives the request an id, and its failure, if any, the envelope.
pub async fn identify(mut request: Request, next: Next) -> Response {
    let id: Arc<str> = format!("req_{}", Ulid::generate()).into();
    request.extensions_mut().insert(RequestId(Arc::clone(&id)));
    // Path only: a query may hold what is nobody else's business, and headers hold keys.
    let span = tracing::debug_span!("request", %id, method = %request.method(), path = request.uri().path());
    let response = async move {
        let response = next.run(request).await;
        tracing::debug!(status = response.status().as_u16(), "answered");
        response
    };
    let mut response = failure::render(response.instrument(span).await, &id);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, value);
    }
    response
}

/// Lets a request through to its handler once version, caller and rate are in order.
pub async fn guard(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let actor = match admit(&edge, request.headers()).await {
        Ok(actor) => actor,
        Err(error) => {
            discard(request.into_body()).await;
            return Failure::from(error).into_response();
        }
    };
    if let Some(wait) = excess(&edge, &actor) {
        return slow_down(wait, &edge.options);
    }
    request.extensions_mut().insert(actor);
    next.run(request).await
}

async fn admit(edge: &Edge, headers: &HeaderMap) -> Result<Actor> {
    check_version(headers)?;
    match edge.trust {
        Trust::LocalSocket => Ok(Actor::owner("local")),
        Trust::Bearer => edge.harness.authenticate(bearer(headers)?).await,
    }
}

fn check_version(headers: &HeaderMap) -> Result<()> {
    let problem = match headers.get(VERSION_HEADER) {
        Some(version) if version == PROTOCOL_VERSION => return Ok(()),
        Some(_) => "is not one that this harness speaks",
        None => "is missing",
    };
    let message = format!(
        "The header `Harn-Agents-Protocol-Version` {problem}. Send `Harn-Agents-Protocol-Version: {PROTOCOL_VERSION}`."
    );
    Err(Error::new(Code::UnsupportedProtocolVersion, message)
        .param("Harn-Agents-Protocol-Version")
        .detail("supported_versions", vec![PROTOCOL_VERSION]))
}

fn bearer(headers: &HeaderMap) -> Result<&str> {
    let absent = || {
        let message = "This needs an API key. Send it as `Authorization: Bearer <api key>`.";
        Error::new(Code::Unauthenticated, message)
    };
    let value = headers.get(header::AUTHORIZATION).ok_or_else(absent)?;
    let (scheme, key) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(absent)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(key.trim()) } else { Err(absent()) }
}

/// How long this actor has to wait, if it asks too much.
fn excess(edge: &Edge, actor: &Actor) -> Option<Duration> {
    let refusal = edge.limiter.as_ref()?.check_key(&actor.id).err()?;
    Some(refusal.wait_time_from(DefaultClock::default().now()))
}

fn slow_down(wait: Duration, options: &ServeOptions) -> Response {
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    let rate = options.rate_limit.map_or(0, |rate| rate.get());
    let message = format!("More than {rate} requests per second. Try again in {seconds} s.");
    let error = Error::new(Code::RateLimited, message).detail("retry_after_seconds", seconds);
    let mut response = Failure::from(error).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}
