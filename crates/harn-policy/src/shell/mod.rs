//! Reads shell scripts well enough to say which simple commands they run and which of their words are known.
//!
//! Written by hand rather than taken from a crate: it has to end in linear time and bounded depth on hostile
//! input, it has to know for every word whether it is literal, and it has to admit what it does not understand
//! (`Unparsed`) instead of guessing. The language is POSIX sh with the common parts of bash.

mod compound;
mod lex;
mod parse;
#[cfg(test)]
mod tests;
mod word;

pub use word::{UNKNOWN, Word};

/// Longer scripts are not read.
pub const MAX_BYTES: usize = 100 * 1024;
/// Deeper nesting is not followed.
pub const MAX_DEPTH: u32 = 32;
/// More simple commands in one script are not looked at.
pub const MAX_COMMANDS: usize = 1000;

/// Where reading stopped, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unparsed {
    /// Byte offset into the script.
    pub at: usize,
    pub why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `>&file`, `<>`
    Write,
    /// `<<` and `<<-`
    Heredoc,
    /// `<<<`
    HereString,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub kind: RedirectKind,
    /// The file, or the text of a here-string; empty for a heredoc.
    pub target: Word,
    /// Which of `Script::heredocs`.
    pub heredoc: Option<usize>,
}

/// `NAME=value` before a command, or alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: Word,
}

/// One simple command as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Its input comes from another command.
    pub piped: bool,
    /// It is left running.
    pub background: bool,
    /// What it prints becomes part of another command's words.
    pub substituted: bool,
    /// The function in whose body it stands.
    pub within: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heredoc {
    pub text: String,
    /// Something in it is filled in when it runs.
    pub dynamic: bool,
}

/// What a script runs. Commands inside substitutions come before the command that they stand in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub commands: Vec<Simple>,
    pub heredocs: Vec<Heredoc>,
    pub functions: Vec<String>,
    pub unparsed: Option<Unparsed>,
}

/// Reads a script. What stands before the part that is not understood is there all the same.
pub fn parse(script: &str) -> Script {
    let mut read = Script::default();
    if script.len() > MAX_BYTES {
        read.unparsed = Some(Unparsed { at: MAX_BYTES, why: "it is longer than 100 KiB" });
        return read;
    }
    if let Err(unparsed) = parse::Parser::new(script, &mut read).script() {
        read.unparsed = Some(unparsed);
    }
    read
}
