//! How the formatter moves over tokens and comments.

use super::Formatter;
use super::layout::{Group, Op};
use crate::syntax::Comment;
use crate::syntax::span::Span;
use crate::syntax::token::{Keyword, Sign, Token, TokenKind};

/// Whether lines that break in the source break in the layout, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    Kept,
    Free,
}

impl Formatter<'_> {
    pub(super) fn peek(&self) -> Token {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, count: usize) -> Token {
        let end = Token { kind: TokenKind::End, has_arrow: false, span: Span::default() };
        let at = (self.at + count).min(self.tokens.len().saturating_sub(1));
        self.tokens.get(at).copied().unwrap_or(end)
    }

    pub(super) fn at_sign(&self, sign: Sign) -> bool {
        self.peek().kind == TokenKind::Sign(sign)
    }

    pub(super) fn at_keyword(&self, word: Keyword) -> bool {
        self.peek().kind == TokenKind::Keyword(word)
    }

    /// Writes the next token. Comments before it that nobody has placed are written in front of it if they are
    /// within a line, else before the item that this is a part of.
    pub(super) fn take(&mut self) {
        let token = self.peek();
        while let Some(comment) = self.pending() {
            self.next_comment += 1;
            if comment.kind.ends_line() || comment.span.of(self.source).contains('\n') {
                self.hoisted.push(comment);
            } else {
                self.push(Op::Source(comment.span));
                self.word(" ");
            }
        }
        self.push(Op::Source(token.span));
        self.pass(token);
    }

    /// Goes past a token without writing it. Comments before it remain to be placed.
    pub(super) fn skip(&mut self) {
        self.pass(self.peek());
    }

    fn pass(&mut self, token: Token) {
        self.end = token.span.end;
        self.at += 1;
    }

    pub(super) fn take_sign(&mut self, sign: Sign) -> bool {
        let there = self.at_sign(sign);
        if there {
            self.take();
        }
        there
    }

    /// Writes the next token and a blank.
    pub(super) fn take_word(&mut self) {
        self.take();
        self.word(" ");
    }

    pub(super) fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    pub(super) fn word(&mut self, text: &'static str) {
        self.push(Op::Word(text));
    }

    pub(super) fn group(&mut self, content: impl FnOnce(&mut Self)) {
        self.push(Op::Open(Group::Whole));
        content(self);
        self.push(Op::Close);
    }

    pub(super) fn indented(&mut self, content: impl FnOnce(&mut Self)) {
        self.push(Op::Indent);
        content(self);
        self.push(Op::Dedent);
    }

    /// The next comment, if it stands before the next token.
    pub(super) fn pending(&self) -> Option<Comment> {
        let next = self.peek();
        let comment = *self.comments.get(self.next_comment)?;
        (next.kind == TokenKind::End || comment.span.start < next.span.start).then_some(comment)
    }

    /// Whether there is a comment that has not been written before a place.
    pub(super) fn has_comment_before(&self, place: u32) -> bool {
        self.comments.get(self.next_comment).is_some_and(|comment| comment.span.start < place)
    }

    /// How many lines end in the source between two places.
    fn lines_between(&self, start: u32, end: u32) -> usize {
        let between = self.source.get(start as usize..end as usize).unwrap_or_default();
        between.bytes().filter(|byte| *byte == b'\n').take(2).count()
    }

    /// Whether the next token or comment is on another line than what came last.
    pub(super) fn breaks_here(&self) -> bool {
        self.lines_between(self.end, self.next_start()) > 0
    }

    /// Whether the source has an empty line before the next token or comment.
    pub(super) fn blank_line_here(&self) -> bool {
        self.lines_between(self.end, self.next_start()) > 1
    }

    fn next_start(&self) -> u32 {
        self.pending().map_or(self.peek().span.start, |comment| comment.span.start)
    }

    /// The end of a line, and an empty one if the source has one here.
    pub(super) fn line_as_written(&mut self) {
        self.push(if self.blank_line_here() { Op::BlankLine } else { Op::HardLine });
    }

    /// Something that comments can be written before: a statement, or an item of a list.
    pub(super) fn item(&mut self, content: impl FnOnce(&mut Self)) {
        let start = self.ops.len();
        let outer = std::mem::take(&mut self.hoisted);
        self.leading();
        content(self);
        let hoisted = std::mem::replace(&mut self.hoisted, outer);
        if hoisted.is_empty() {
            return;
        }
        // A doc comment from inside must not become that of a declaration.
        let separate = hoisted.iter().any(|comment| comment.kind.is_doc());
        let mut before: Vec<Op> =
            hoisted.iter().flat_map(|comment| [Op::Source(comment.span), Op::HardLine]).collect();
        if separate {
            before.pop();
            before.push(Op::BlankLine);
        }
        self.ops.splice(start..start, before);
    }

    /// The comments before the next token, on their own lines.
    pub(super) fn leading(&mut self) {
        while let Some(comment) = self.pending() {
            self.comment(comment);
            if !comment.kind.ends_line() && !self.breaks_here() {
                self.word(" ");
            } else {
                self.line_as_written();
            }
        }
    }

    pub(super) fn comment(&mut self, comment: Comment) {
        self.push(Op::Source(comment.span));
        self.end = comment.span.end;
        self.next_comment += 1;
    }

    /// The comments on the line where something has just ended; says whether the line must end behind them. Comments
    /// that are followed by something else on the line belong to that.
    pub(super) fn trailing(&mut self) -> bool {
        let mut last = self.next_comment;
        let mut end = self.end;
        let mut ends_line = false;
        let next = self.peek();
        while let Some(comment) = self.comments.get(last).filter(|_| !ends_line) {
            let before_token = next.kind == TokenKind::End || comment.span.start < next.span.start;
            if !before_token || self.lines_between(end, comment.span.start) > 0 {
                break;
            }
            end = comment.span.end;
            ends_line = comment.kind.ends_line();
            last += 1;
        }
        let reached = self.comments.get(last).is_none_or(|comment| comment.span.start >= next.span.start);
        if !ends_line && reached && !is_end(next) && self.lines_between(end, next.span.start) == 0 {
            return false;
        }
        while self.next_comment < last {
            let comment = self.comments[self.next_comment];
            if comment.kind.ends_line() {
                self.push(Op::Suffix(comment.span));
                self.end = comment.span.end;
                self.next_comment += 1;
            } else {
                self.word(" ");
                self.comment(comment);
            }
        }
        ends_line
    }

    /// A place where a line may break before an operator, with the comments that stand there. With `Breaks::Kept`
    /// it breaks if it does in the source.
    pub(super) fn operator_line(&mut self, flat: &'static str, breaks: Breaks) {
        while let Some(comment) = self.pending().filter(|_| !self.breaks_here()) {
            if comment.kind.ends_line() {
                break;
            }
            self.word(" ");
            self.comment(comment);
        }
        let kept = breaks == Breaks::Kept && self.breaks_here();
        let broken = self.trailing() || self.pending().is_some();
        if broken || kept {
            self.push(Op::Force);
        }
        self.push(Op::Line(flat));
        if broken {
            self.leading();
        }
    }

    /// The comments that remain before what closes a block, each after the end of a line.
    pub(super) fn comments_before_end(&mut self, after_something: bool) {
        let mut first = !after_something;
        while let Some(comment) = self.pending() {
            if first {
                self.push(Op::HardLine);
            } else {
                self.line_as_written();
            }
            first = false;
            self.comment(comment);
        }
    }
}

/// Whether a token ends an item rather than being a part of the next one.
fn is_end(token: Token) -> bool {
    match token.kind {
        TokenKind::End => true,
        TokenKind::Sign(sign) => matches!(
            sign,
            Sign::Comma | Sign::Semicolon | Sign::CloseBrace | Sign::CloseParen | Sign::CloseBracket
        ),
        _ => false,
    }
}
