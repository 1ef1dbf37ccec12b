//! A test kit: it judges Harn against the public Agents Protocol document, and plays the providers of models. Only
//! ever a dependency of tests and of `xtask`.
//!
//! Three judges and one set of eyes: [`PublicApi`] checks single answers, [`compare`] checks our whole
//! OpenAPI document, [`Api`] is an HTTP client that lets no answer pass unchecked. [`allowed`] is the
//! one place where a departure from the document is written down. [`providers`] are servers that stand in for those
//! of model providers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

pub mod allowed;
mod client;
mod compare;
mod contract;
pub mod providers;
mod shared;

pub use client::{
    Answer, Api, Call, EventStream, PROTOCOL_VERSION, SseFrame, SseParser, VERSION_HEADER, http,
};
pub use compare::{Difference, Kind, compare, unexplained};
pub use contract::{PublicApi, Violation};
pub use shared::shared_data;

/// What is wrong with an instance, one line each.
pub fn validate(schema: &serde_json::Value, instance: &serde_json::Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).expect("the schema is a schema");
    validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
