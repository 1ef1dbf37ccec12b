//! Models over HTTP: a wire format, a target and a credential make a `Model`. All I/O with providers is in here.

mod answer;
mod limiter;
mod model;
mod refusal;
mod retry;
mod transport;
mod turn;

pub use limiter::{Limiter, RateLimits};
pub use model::{HttpModel, HttpOptions};
pub use retry::{AfterContent, RetryPolicy};
pub use transport::{Proxy, Transport, TransportError, TransportOptions, Versions};
