//! How a task is run: a driver performs what a program asks for, under policy and with a journal.
//!
//! The program ([`agent::AgentLoop`]) is deterministic and does no I/O; the driver ([`driver`]) does all of it.

pub mod agent;
mod authorise;
mod compact;
mod driver;
pub mod guard;
mod large;
mod media;
mod perform;
mod prompt;
mod runner;
pub mod sandbox;
mod tokens;
pub mod tools;
mod transcript;

pub use runner::{Engine, EngineOptions};
