//! Lays a program out. Only blanks, ends of lines, separators and the place of comments change: every other token is
//! written as it stands in the source, in its order, so the program stays the same.

mod control;
mod cursor;
mod declarations;
mod expressions;
mod layout;
mod lists;
mod statements;
mod types;

use crate::syntax::ast::Module;
use crate::syntax::lexer;
use crate::syntax::token::{Token, TokenKind};
use crate::syntax::{Comment, SyntaxError, parse};
use layout::{Op, Printer};

/// The source in the customary layout, or what is wrong with it.
///
/// Formatting what is formatted changes nothing. Every comment is kept; one in the middle of an expression moves
/// before the statement or item that it is in.
pub fn format(source: &str) -> Result<String, Vec<SyntaxError>> {
    let parsed = parse(source);
    if !parsed.errors.is_empty() {
        return Err(parsed.errors);
    }
    let mut tokens = lexer::lex(source).tokens;
    tokens.retain(|token| token.kind != TokenKind::Newline);
    let mut formatter = Formatter {
        source,
        tokens,
        at: 0,
        comments: parsed.comments,
        next_comment: 0,
        end: 0,
        ops: Vec::new(),
        hoisted: Vec::new(),
        printer: Printer::new(source),
    };
    formatter.module(&parsed.module);
    Ok(formatter.printer.finish())
}

/// Walks the tree and the tokens side by side: the tree says where lines may break, the tokens are what is written.
struct Formatter<'a> {
    source: &'a str,
    /// Without ends of lines.
    tokens: Vec<Token>,
    at: usize,
    comments: Vec<Comment>,
    next_comment: usize,
    /// Where in the source the last thing ended that has been written or left out.
    end: u32,
    ops: Vec<Op>,
    /// Comments met in the middle of the current item, to be written before it.
    hoisted: Vec<Comment>,
    printer: Printer<'a>,
}

impl Formatter<'_> {
    fn module(&mut self, module: &Module) {
        self.first_line();
        for (at, statement) in module.body.iter().enumerate() {
            self.nth_statement(at, statement);
            self.print();
        }
        self.comments_before_end(!module.body.is_empty());
        self.print();
    }

    /// Prints what has been laid out so far, so that a long program needs no more room than its longest statement.
    fn print(&mut self) {
        self.printer.print(&self.ops);
        self.ops.clear();
    }

    /// A `#!` line, before which nothing may stand.
    fn first_line(&mut self) {
        if let Some(first) = self.pending().filter(|first| first.span.of(self.source).starts_with("#!")) {
            self.comment(first);
            self.line_as_written();
        }
    }
}
