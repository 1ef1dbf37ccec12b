//! Pure decisions: may an effect happen, must a person agree, and when have enough people agreed.

mod quorum;
mod tier;

pub use quorum::{Resolution, Vote, resolve};
pub use tier::decide;
