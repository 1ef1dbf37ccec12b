//! HTTP, event streams and WebSockets: one exchange at a time. Redirects, retries and sessions are the program's.
//!
//! A request that only asks for something may be made again after a crash; any other is never repeated.

mod client;
mod events;
mod exchange;
mod socket;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use harn_core::tool::{Class, SideEffect, ToolKind};
use serde_json::Value;

use super::args::Args;
use super::simple::{Simple, Waits};
use crate::tools::Tool;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let calls = [
        asking("http_read", "A request that only asks for something.", Class::Read, exchange::exchange),
        asking("http_send", "A request that may change something.", Class::Once, exchange::exchange),
        asking("http_open_read", "A request whose response is read in pieces.", Class::Read, stream::open),
        asking("http_open_send", "A request that may change something.", Class::Once, stream::open),
        going_on("http_read_piece", "The next piece of a response.", Class::Local, stream::read),
        asking("sse_open", "Opens a stream of events.", Class::Read, events::open),
        going_on("sse_next", "The next event of a stream.", Class::Local, events::next),
        asking("socket_open", "Opens a WebSocket.", Class::Read, socket::open),
        going_on("socket_send", "Sends a message.", Class::Once, socket::send),
        going_on("socket_next", "The next message of a socket.", Class::Local, socket::next),
        going_on("http_close", "Stops reading a response.", Class::Read, stream::close),
        going_on("close", "Closes what a script has opened.", Class::Read, socket::close),
    ];
    calls.into_iter().map(Simple::call).collect()
}

/// Whether a request with this method changes nothing at the other end.
pub fn only_reads(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// A call that reaches another machine with a request, by the address in its argument `url`.
fn asking(name: &str, description: &str, class: Class, work: impl Waits) -> Simple {
    Simple::waiting(name, description, class, SideEffect::Network, work)
        .kind(ToolKind::Fetch)
        .url("url")
        .checked(|ctx, args| client::request(&ctx.secrets, args).map(drop))
}

/// A call that goes on with what a run has opened. Policy has decided about that when it was.
fn going_on(name: &str, description: &str, class: Class, work: impl Waits) -> Simple {
    Simple::waiting(name, description, class, SideEffect::None, work)
}

/// What comes within `timeout_ms`, or whenever it comes if that is not said. What was half received stays.
async fn in_time<T>(args: &Args, next: impl Future<Output = T>) -> Option<T> {
    match args.get("timeout_ms").and_then(Value::as_u64) {
        Some(ms) => tokio::time::timeout(Duration::from_millis(ms), next).await.ok(),
        None => Some(next.await),
    }
}
