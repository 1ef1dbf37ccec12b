//! A Harn script as a program of the engine: its host calls are effects, like those of the agent loop.

mod files;
pub mod image;
mod input;
mod messages;
mod model;
mod origin;
pub mod packages;
mod program;
mod start;
mod wire;

pub use input::Given;
pub use origin::Origin;
pub use program::{Ending, Left, ScriptProgram};
pub use start::{limits, mocked, start};
pub use wire::{decode, encode, escape};

pub const PROGRAM: &str = "script";
/// Raised when the machine or the prelude would answer an old journal with other effects.
pub const SEMANTICS: u32 = 1;
