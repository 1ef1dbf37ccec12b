//! How a task is run: the tools that a run may call, and the guardian that keeps their commands from outliving us.

pub mod guard;
pub mod tools;
