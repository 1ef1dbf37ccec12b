//! The built-in tools and the guardian, with real files and real processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod confinement;
mod edits;
mod files;
mod guardian;
mod kit;
mod locate;
mod port;
mod registry;
mod search;
mod stash;
mod undo;
