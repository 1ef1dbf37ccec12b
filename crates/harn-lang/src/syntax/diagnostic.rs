//! What is wrong with a source, and what was written beside the code.

use super::span::{LineIndex, Span};

/// Something that cannot be read as a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// Complete, with ` at L:C` where there is a place to name.
    pub message: String,
    pub span: Span,
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `//`, and the `#!` of a first line.
    Line,
    /// `///`.
    Doc,
    /// `/* */`.
    Block,
    /// `/** */`.
    BlockDoc,
}

impl CommentKind {
    /// Whether it lasts until the end of its line.
    pub fn ends_line(self) -> bool {
        matches!(self, Self::Line | Self::Doc)
    }

    pub fn is_doc(self) -> bool {
        matches!(self, Self::Doc | Self::BlockDoc)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    pub span: Span,
    pub kind: CommentKind,
}

/// An error before it knows its line: positions are counted once, when all errors are known.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub text: String,
    pub span: Span,
    /// Whether ` at L:C` belongs to its text.
    pub placed: bool,
    pub help: Option<&'static str>,
}

impl Problem {
    pub fn at(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span, placed: true, help: None }
    }
}

/// The errors in the order of the source, at most one for a place.
pub(super) fn finished(mut problems: Vec<Problem>, source: &str) -> Vec<SyntaxError> {
    if problems.is_empty() {
        return Vec::new();
    }
    problems.sort_by_key(|problem| problem.span.start);
    problems.dedup_by_key(|problem| problem.span.start);
    problems.truncate(MAX_ERRORS);
    let lines = LineIndex::new(source);
    let finish = |problem: Problem| {
        let message = if problem.placed {
            format!("{} at {}", problem.text, lines.position(source, problem.span.start))
        } else {
            problem.text
        };
        SyntaxError { message, span: problem.span, help: problem.help.map(str::to_owned) }
    };
    problems.into_iter().map(finish).collect()
}

/// Nobody reads more of them, and a source of garbage has as many as it has characters.
pub(super) const MAX_ERRORS: usize = 50;
