//! From text to a tree.

pub mod ast;
mod brackets;
mod diagnostic;
pub(crate) mod lexer;
mod parser;
pub mod span;
pub(crate) mod token;

pub use diagnostic::{Comment, CommentKind, SyntaxError};
pub use parser::{Parsed, parse};
