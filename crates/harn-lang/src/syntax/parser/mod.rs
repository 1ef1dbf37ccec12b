//! From tokens to a tree, with recovery: one pass reports several errors and keeps what could be read.

mod control;
mod cursor;
mod declarations;
mod documentation;
mod entries;
mod expressions;
mod functions;
mod patterns;
mod postfix;
mod primary;
mod statements;
mod strings;
mod types;

use hashbrown::HashSet;

use super::ast::{Module, Name};
use super::brackets::{self, Angles};
use super::diagnostic::{self, Comment, Problem, SyntaxError};
use super::lexer;
use super::span::Span;
use super::token::{Token, TokenKind};

/// What a source says.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// What could be read; the whole program if there are no errors.
    pub module: Module,
    pub comments: Vec<Comment>,
    /// In the order of the source, at most 50.
    pub errors: Vec<SyntaxError>,
}

/// Reads a source. Takes time in proportion to its length, whatever it contains.
pub fn parse(source: &str) -> Parsed {
    if u32::try_from(source.len()).is_err() {
        let message = "Source is too long: it must be shorter than 4 GiB".to_owned();
        let error = SyntaxError { message, span: Span::default(), help: None };
        return Parsed { errors: vec![error], ..Parsed::default() };
    }
    let mut lexed = lexer::lex(source);
    let angles = brackets::mark(&mut lexed.tokens);
    let mut parser = Parser {
        source,
        input: Input { tokens: lexed.tokens, angles, at: 0 },
        comments: lexed.comments,
        names: HashSet::new(),
        problems: Vec::new(),
        depth: 0,
        reach: 0,
        strings: 0,
        types_failed_at: 0,
        stopped: false,
        stopped_at: 0,
    };
    let module = parser.module();
    let mut problems = lexed.problems;
    problems.append(&mut parser.problems);
    Parsed { module, comments: parser.comments, errors: diagnostic::finished(problems, source) }
}

/// How deep a tree may be. Whoever walks it may recurse.
const MAX_DEPTH: u32 = 200;

/// How deep strings may stand in the interpolations of strings. Each level is read again by the next one.
const MAX_STRINGS: u32 = 16;

/// The sign that a construct could not be read. What is wrong has been noted; whoever can go on catches it.
struct Abandoned;

type Parse<T> = Result<T, Abandoned>;

/// The tokens that are being read; those of an interpolation take the place of those around it.
struct Input {
    tokens: Vec<Token>,
    angles: Angles,
    at: usize,
}

impl Input {
    fn last(&self) -> usize {
        self.tokens.len().saturating_sub(1)
    }

    fn token(&self, at: usize) -> Token {
        let end = Token { kind: TokenKind::End, has_arrow: false, span: Span::default() };
        self.tokens.get(at.min(self.last())).copied().unwrap_or(end)
    }
}

struct Parser<'a> {
    source: &'a str,
    input: Input,
    comments: Vec<Comment>,
    names: HashSet<Name>,
    problems: Vec<Problem>,
    /// How deep the construct is that is being read.
    depth: u32,
    /// How deep the tree reaches that has just been read, counted from the root like `depth`. What is read first and
    /// then becomes a part of something else (`a` in `a.b`) moves down without having been entered.
    reach: u32,
    /// How many strings are around.
    strings: u32,
    /// Where the last attempt to read type arguments failed.
    types_failed_at: usize,
    /// A limit was exceeded; nothing more is read and no further error is noted.
    stopped: bool,
    /// At which token that was.
    stopped_at: usize,
}
