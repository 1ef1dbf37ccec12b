//! The part of the language that is written in itself.

/// Compiled with every program; only what a program reaches is ever run.
pub const SOURCE: &str = include_str!("prelude.harn");
