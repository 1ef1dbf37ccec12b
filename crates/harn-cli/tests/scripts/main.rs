//! Harn scripts as durable tasks, through the harness as the binary wires it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod common;
mod crash;
mod files;
mod flags;
mod skills;
mod surroundings;
mod task;
mod waitpoints;
