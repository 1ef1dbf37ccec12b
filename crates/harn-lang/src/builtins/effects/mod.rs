//! What the host does for a program: declared here, carried out elsewhere. Some of it is known and not offered.

pub mod agents;
pub mod files;
pub mod host;
pub mod http;
pub mod inner;
pub mod models;
pub mod work;
