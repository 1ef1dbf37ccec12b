//! `harn run`, `harn check` and `harn fmt`: scripts from the command line.

mod check;
mod diagnostic;
mod files;
mod format;
mod host;
mod run;

pub use check::check;
pub use format::format;
pub use run::run;
