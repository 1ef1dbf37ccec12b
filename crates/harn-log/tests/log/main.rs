//! The log's behaviour through its public surface, on real SQLite files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backup;
mod blobs;
mod commit;
mod crash;
mod damage;
mod full;
mod owner;
mod queries;
mod rebuild;
mod subscriptions;
#[path = "../support/mod.rs"]
mod support;
