//! How a task is run: a driver performs what a program asks for, under policy and with a journal.
//!
//! The program ([`agent::AgentLoop`]) is deterministic and does no I/O; the driver ([`driver`]) does all of it.

pub mod agent;
mod authorise;
pub mod calls;
mod choose;
mod compact;
mod driver;
pub mod ephemeral;
pub mod fixture;
pub mod guard;
mod large;
mod media;
mod memory;
pub mod people;
mod perform;
mod prompt;
mod runner;
pub mod sandbox;
pub mod script;
pub mod secrets;
mod tokens;
pub mod tools;
mod transcript;
mod turns;

pub use driver::drive;
pub use runner::{Engine, EngineOptions};
