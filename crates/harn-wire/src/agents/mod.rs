//! The Harn Agents Protocol v1 (spec 001), beside the resources that `harn-core` defines.

mod error;
mod event;
mod request;
mod response;

pub use error::{ErrorBody, ErrorResponse, ErrorType, http_status};
pub use event::EventWire;
pub use request::*;
pub use response::*;
