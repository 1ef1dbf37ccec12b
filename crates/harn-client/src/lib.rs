//! A client of the Harn Agents Protocol over any stream of bytes: local socket, TCP, TLS, memory.
//!
//! ```no_run
//! # async fn example() -> Result<(), harn_client::ClientError> {
//! use harn_client::{Client, Method};
//!
//! let client = Client::to_url("http://127.0.0.1:8080", Some("the key"))?;
//! let sessions = client.request(Method::GET, "/v1/sessions").send().await?.ok()?;
//! let mut events = client.request(Method::GET, "/v1/events/stream").events().await?;
//! while let Some(frame) = events.next().await? { /* frame.event, frame.data */ }
//! # Ok(())
//! # }
//! ```

mod answer;
mod client;
mod connect;
mod error;
mod events;
mod request;
mod secret;
mod sse;

pub use answer::Answer;
pub use client::Client;
pub use error::ClientError;
pub use events::EventStream;
pub use hyper::Method;
pub use hyper::header::HeaderMap;
pub use request::RequestBuilder;
pub use sse::Frame;

/// The header that names the protocol version of a request.
pub const VERSION_HEADER: &str = "harn-agents-protocol-version";

/// The header that makes a write safe to repeat.
pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";

/// The header that names the last event a stream's reader has seen.
pub const LAST_EVENT_HEADER: &str = "last-event-id";
