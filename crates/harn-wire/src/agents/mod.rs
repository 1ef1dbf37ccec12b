//! The Harn Agents Protocol v1 (spec 001), beside the resources that `harn-core` defines.

mod card;
mod error;
mod event;
mod later;
mod permissions;
mod request;
mod response;
mod waitpoints;

pub use card::*;
pub use error::{ErrorBody, ErrorResponse, ErrorType, http_status};
pub use event::{Event, EventWire};
pub use later::*;
pub use permissions::*;
pub use request::*;
pub use response::*;
pub use waitpoints::*;
