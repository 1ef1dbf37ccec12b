//! Domain types and ports of Harn: what a session, a task, an effect and an actor are. No I/O.
//!
//! Resources serialise exactly as spec 001 shows them, so that one type serves the projections,
//! the event payloads and the REST surface. Everything else that a protocol needs lives in its edge.

pub mod actor;
pub mod ask;
pub mod budget;
pub mod change;
pub mod chat;
pub mod decision;
pub mod errand;
pub mod error;
pub mod event;
pub mod hash;
pub mod id;
pub mod message;
pub mod narrowing;
pub mod ports;
pub mod price;
pub mod resource;
pub mod route;
pub mod run;
mod sampling;
mod thinking;
pub mod time;
pub mod tool;

pub use actor::{Actor, Scope, WorkspaceAccess};
pub use decision::{Decision, EffectKind, Verdict};
pub use error::{Code, Error, Result};
pub use event::EventKind;
pub use id::*;
pub use message::{Message, MessageInput, Part, Role, Visibility};
pub use resource::*;
pub use time::{Clock, SystemClock, Timestamp};

/// The only version of the Harn Agents Protocol that this harness speaks.
pub const PROTOCOL_VERSION: &str = "agents-protocol-2026-04-25";
