//! How the parser moves over the tokens, notes errors and counts depth.

use super::super::ast::{Ident, Name};
use super::super::diagnostic::{MAX_ERRORS, Problem};
use super::super::span::Span;
use super::super::token::{Keyword, Sign, Token, TokenKind};
use super::{Abandoned, MAX_DEPTH, Parse, Parser};

impl Parser<'_> {
    pub(super) fn peek(&self) -> Token {
        self.input.token(self.input.at)
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.peek().kind
    }

    pub(super) fn kind_ahead(&self, ahead: usize) -> TokenKind {
        self.input.token(self.input.at + ahead).kind
    }

    /// Where the next token begins.
    pub(super) fn start(&self) -> u32 {
        self.peek().span.start
    }

    /// From a place to the end of the last token that was read.
    pub(super) fn span_from(&self, start: u32) -> Span {
        let end = match self.input.at {
            0 => start,
            at => self.input.token(at - 1).span.end,
        };
        Span::new(start, end.max(start))
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek();
        if self.input.at < self.input.last() {
            self.input.at += 1;
        }
        token
    }

    pub(super) fn at_sign(&self, sign: Sign) -> bool {
        self.kind() == TokenKind::Sign(sign)
    }

    pub(super) fn at_keyword(&self, word: Keyword) -> bool {
        self.kind() == TokenKind::Keyword(word)
    }

    /// Whether the next token is this word, which is not reserved.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.kind() == TokenKind::Ident && self.peek().span.of(self.source) == word
    }

    pub(super) fn eat_sign(&mut self, sign: Sign) -> bool {
        let there = self.at_sign(sign);
        if there {
            self.advance();
        }
        there
    }

    pub(super) fn eat_keyword(&mut self, word: Keyword) -> bool {
        let there = self.at_keyword(word);
        if there {
            self.advance();
        }
        there
    }

    /// Skips ends of lines and says whether there were any.
    pub(super) fn skip_newlines(&mut self) -> bool {
        let there = self.kind() == TokenKind::Newline;
        if there {
            self.advance();
        }
        there
    }

    /// Skips the end of a line if the next line starts with this word.
    pub(super) fn skip_newline_before(&mut self, word: Keyword) {
        if self.kind() == TokenKind::Newline && self.kind_ahead(1) == TokenKind::Keyword(word) {
            self.advance();
        }
    }

    pub(super) fn expect_sign(&mut self, sign: Sign) -> Parse<Token> {
        if self.at_sign(sign) { Ok(self.advance()) } else { Err(self.expected(sign.as_str())) }
    }

    pub(super) fn expect_keyword(&mut self, word: Keyword) -> Parse<Token> {
        if self.at_keyword(word) { Ok(self.advance()) } else { Err(self.expected(word.as_str())) }
    }

    pub(super) fn ident(&mut self) -> Parse<Ident> {
        if self.kind() != TokenKind::Ident {
            return Err(self.expected("identifier"));
        }
        Ok(self.ident_here())
    }

    /// A name where reserved words are names, too.
    pub(super) fn key(&mut self) -> Parse<Ident> {
        if matches!(self.kind(), TokenKind::Ident | TokenKind::Keyword(_)) {
            Ok(self.ident_here())
        } else {
            Err(self.expected("identifier"))
        }
    }

    fn ident_here(&mut self) -> Ident {
        let span = self.advance().span;
        Ident { name: self.name(span.of(self.source)), span }
    }

    /// The one shared text of a name.
    pub(super) fn name(&mut self, text: &str) -> Name {
        self.names.get_or_insert_with(text, |text| Name::from(text)).clone()
    }

    /// Items up to a closing sign, whose opening one has been read. A comma or the end of a line separates them.
    pub(super) fn items<T>(&mut self, close: Sign, item: fn(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_sign(close) {
                return Ok(items);
            }
            add(&mut items, item(self)?);
            self.item_end(close)?;
        }
    }

    /// What may stand between an item and the next one or the closing sign.
    pub(super) fn item_end(&mut self, close: Sign) -> Parse<()> {
        let broken = self.skip_newlines();
        if self.eat_sign(Sign::Comma) || self.at_sign(close) {
            return Ok(());
        }
        if broken && self.kind() != TokenKind::End { Ok(()) } else { Err(self.expected(close.as_str())) }
    }

    /// Notes that something else was expected at the next token.
    pub(super) fn expected(&mut self, what: &str) -> Abandoned {
        self.expected_with_help(what, None)
    }

    pub(super) fn expected_with_help(&mut self, what: &str, help: Option<&'static str>) -> Abandoned {
        let token = self.peek();
        match token.kind {
            // The lexer has said what is wrong with it.
            TokenKind::Bad => Abandoned,
            TokenKind::End => {
                let text = format!("Unexpected end of file, expected {what}");
                self.note(Problem { text, span: token.span, placed: false, help })
            }
            _ => {
                let text = format!("Expected {what}, got {}", token.spelling(self.source));
                self.note(Problem { text, span: token.span, placed: true, help })
            }
        }
    }

    pub(super) fn note(&mut self, problem: Problem) -> Abandoned {
        if !self.stopped {
            self.problems.push(problem);
            if self.problems.len() >= MAX_ERRORS {
                self.stop();
            }
        }
        Abandoned
    }

    /// Reads nothing more.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.stopped_at = self.input.at;
        self.input.at = self.input.last();
    }

    /// Goes one level down; whoever catches an `Abandoned` restores the depth.
    pub(super) fn enter(&mut self) -> Parse<()> {
        self.depth += 1;
        self.reach = self.reach.max(self.depth);
        self.check_depth(self.depth)
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// What has been read since `start_part` becomes a part of a larger expression.
    pub(super) fn wrap(&mut self) -> Parse<()> {
        self.reach += 1;
        self.check_depth(self.reach)
    }

    /// Begins to measure an expression that may be wrapped; the answer is for `end_part`.
    pub(super) fn start_part(&mut self) -> u32 {
        std::mem::replace(&mut self.reach, self.depth)
    }

    pub(super) fn end_part(&mut self, before: u32) {
        self.reach = self.reach.max(before);
    }

    fn check_depth(&mut self, depth: u32) -> Parse<()> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        let text = format!("Nesting limit exceeded: expressions may be nested {MAX_DEPTH} deep");
        let here = self.peek().span;
        Err(self.exceeded(text, here))
    }

    /// Notes that a limit is exceeded, and stops.
    pub(super) fn exceeded(&mut self, text: String, span: Span) -> Abandoned {
        let abandoned = self.note(Problem::at(text, span));
        self.stop();
        abandoned
    }
}

/// Adds to a list. Most have one item: they get room for just that, which makes trees much smaller.
pub(super) fn add<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}
