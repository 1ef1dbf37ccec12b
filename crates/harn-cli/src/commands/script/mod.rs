//! Scripts from the command line: `harn run`, `check`, `fmt`, `test`, `repl` and `new`.

mod check;
mod diagnostic;
mod files;
mod format;
mod host;
mod machine;
mod new;
mod packages;
mod repl;
mod run;
mod templates;
mod test;

pub use check::check;
pub use format::format;
pub use new::new;
pub use repl::repl;
pub use run::run;
pub use test::{conformance, test};
