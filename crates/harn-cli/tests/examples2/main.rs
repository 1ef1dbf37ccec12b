//! The programs in examples/agents, run by the real binary against a provider that speaks the real wire format.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod stage;

mod code_search;
mod data_report;
mod fix_tests;
mod release_notes;
mod summarise_feed;
mod support_bot;
