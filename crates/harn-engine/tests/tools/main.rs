//! The built-in tools and the guardian, with real files and real processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod background;
mod command;
mod confinement;
mod edits;
mod files;
mod guardian;
mod kit;
mod locate;
mod port;
mod registry;
mod runaway;
mod sandbox;
mod search;
mod shown;
mod stash;
mod undo;
