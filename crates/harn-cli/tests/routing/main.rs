//! Which model a run asks, what it costs, and what happens when it fails: over the real server, with two providers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fallbacks;
mod pins;
mod stage;
#[path = "../support/mod.rs"]
mod support;
