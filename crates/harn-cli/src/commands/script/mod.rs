//! Scripts from the command line: `harn run`, `check`, `fmt`, `test`, `repl` and `new`.

mod again;
mod check;
mod diagnostic;
mod durable;
mod files;
mod format;
pub mod host;
mod limits;
mod machine;
mod new;
mod repl;
mod run;
mod test;

pub use check::check;
pub use durable::{exports, follow};
pub use format::format;
pub use new::new;
pub use repl::repl;
pub use run::{run, watch};
pub use test::{conformance, test};
