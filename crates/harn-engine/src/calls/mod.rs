//! What scripts can ask for: one executor per call, in the shape of tools, under the same policy.

mod args;
mod catalog;
mod clock;
mod environment;
mod files;
mod handles;
mod hosts;
mod input;
mod keeper;
mod keys;
mod metadata;
pub(crate) mod network;
mod pieces;
mod place;
mod process;
mod secret;
mod simple;
mod skills;
mod store;
mod templates;
mod watch;

use std::sync::Arc;

pub(crate) use catalog::added_provider;
pub use handles::Handles;
pub use pieces::Pieces;
pub use place::{Input, Place};
pub(crate) use process::command_line;
pub use simple::Simple;
pub(crate) use skills::listed as skills;
pub(crate) use templates::find as find_template;

use crate::tools::{Registry, Tool};

/// Every call there is.
pub fn all() -> Registry {
    let groups: Vec<Vec<Arc<dyn Tool>>> = vec![
        catalog::calls(),
        clock::calls(),
        environment::calls(),
        files::calls(),
        hosts::calls(),
        input::calls(),
        keeper::calls(),
        keys::calls(),
        metadata::calls(),
        network::calls(),
        pieces::calls(),
        process::calls(),
        secret::calls(),
        skills::calls(),
        store::calls(),
        templates::calls(),
        watch::calls(),
    ];
    Registry::of_calls(groups.into_iter().flatten().collect())
}
