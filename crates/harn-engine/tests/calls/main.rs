//! What scripts can ask for, through real scripts in runs that leave nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod environment;
mod events;
mod files;
mod judged;
mod kit;
mod planned;
mod process;
mod secrets;
mod server;
mod sockets;
mod stores;
mod templates;
mod watch;
