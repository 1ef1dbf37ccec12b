//! The command line as people and scripts use it: the real binary, its output and its exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answering;
mod connect;
mod docs;
mod doctor;
mod empty;
mod explain;
mod fake;
mod help;
mod kit;
mod language_docs;
mod language_spec;
mod local;
mod mistakes;
mod modules;
mod new;
mod own_provider;
mod reading;
mod record;
mod remote;
mod repl;
mod rules;
mod script_fixtures;
mod script_host;
mod script_skills;
mod script_tests;
mod script_watch;
mod scripts;
mod terminal;
mod web;
