//! The Harn language: from text to a program, and a VM that runs it and never does I/O.

pub mod builtins;
pub mod bytecode;
pub mod compile;
pub mod exports;
pub mod fault;
pub mod format;
pub mod methods;
mod modules;
mod near;
mod prelude;
pub mod problem;
pub mod stdlib;
pub mod syntax;
pub mod template;
mod types;
pub mod value;
pub mod vm;
