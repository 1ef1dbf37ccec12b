//! HTTP, event streams and WebSockets: one exchange at a time. Redirects, retries and sessions are the program's.
//!
//! A request that only asks for something may be made again after a crash; any other is never repeated.

mod client;
mod events;
mod exchange;
mod socket;
mod stream;

use std::sync::Arc;

use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Value, json};

use crate::tools::Tool;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(exchange::Exchange::reading()),
        Arc::new(exchange::Exchange::sending()),
        Arc::new(stream::Open::reading()),
        Arc::new(stream::Open::sending()),
        Arc::new(stream::Read),
        Arc::new(events::Open),
        Arc::new(events::Next),
        Arc::new(socket::Open),
        Arc::new(socket::Send),
        Arc::new(socket::Next),
        Arc::new(stream::Close("http_close")),
        Arc::new(stream::Close("close")),
    ]
}

/// Whether a request with this method changes nothing at the other end.
pub fn only_reads(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// A call that reaches another machine, by the address in its argument `url`.
fn reaching(name: &str, description: &str, class: Class) -> ToolSpec {
    let annotations =
        Annotations { kind: ToolKind::Fetch, urls: vec!["url".into()], ..Annotations::default() };
    ToolSpec { annotations, ..plain(name, description, class, SideEffect::Network) }
}

/// A call that goes on with what a run has opened. Policy has decided about that when it was.
fn going_on(name: &str, description: &str, class: Class) -> ToolSpec {
    plain(name, description, class, SideEffect::None)
}

fn plain(name: &str, description: &str, class: Class, side_effect: SideEffect) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: Value::Null,
        class,
        side_effect,
        annotations: Annotations::default(),
    }
}
