//! The commands, one file each.

pub mod log;
pub mod serve;

use std::io::Write;

/// Writes to standard output; a closed pipe is the reader's choice and no error.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// An error with its causes, one to a line.
pub fn say_error(error: &anyhow::Error) {
    let mut err = std::io::stderr();
    let _ = writeln!(err, "error: {error}");
    for cause in error.chain().skip(1) {
        let _ = writeln!(err, "  cause: {cause}");
    }
}
