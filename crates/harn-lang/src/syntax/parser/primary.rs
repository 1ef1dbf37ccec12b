//! Operands: literals, names, brackets, closures and the constructs that are expressions.

use std::sync::Arc;

use super::super::ast::{Expr, ExprKind};
use super::super::diagnostic::Problem;
use super::super::span::Span;
use super::super::token::{Keyword, Sign, TokenKind};
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parse<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Int | TokenKind::Float => Ok(self.number()),
            TokenKind::Duration => Ok(self.duration()),
            TokenKind::Str | TokenKind::RawStr | TokenKind::TripleStr => self.string_expression(),
            TokenKind::Keyword(word) => self.keyword_expression(word),
            TokenKind::Sign(Sign::OpenParen) => self.paren(),
            TokenKind::Sign(Sign::OpenBracket) => self.list(),
            TokenKind::Sign(Sign::OpenBrace) if self.peek().has_arrow => self.closure(),
            TokenKind::Sign(Sign::OpenBrace) => self.dict(),
            _ => Err(self.expected_expression()),
        };
        self.spanned(start, kind)
    }

    fn expected_expression(&mut self) -> super::Abandoned {
        let less = TokenKind::Sign(Sign::Less);
        let heredoc = self.kind() == less && self.kind_ahead(1) == less;
        self.expected_with_help(
            "expression",
            heredoc.then_some("text over several lines is written in \"\"\"...\"\"\""),
        )
    }

    fn keyword_expression(&mut self, word: Keyword) -> Parse<ExprKind> {
        match word {
            Keyword::True | Keyword::False => {
                self.advance();
                Ok(ExprKind::Bool(word == Keyword::True))
            }
            Keyword::Nil => {
                self.advance();
                Ok(ExprKind::Nil)
            }
            Keyword::Fn => self.lambda(),
            Keyword::Spawn => self.spawn(),
            Keyword::If => self.if_expression(),
            Keyword::Match => self.match_expression(),
            Keyword::Retry => self.retry(),
            Keyword::Deadline => self.deadline(),
            Keyword::Parallel => self.parallel(),
            Keyword::Try => self.try_expression(),
            _ => Err(self.expected("expression")),
        }
    }

    fn paren(&mut self) -> Parse<ExprKind> {
        self.advance();
        self.skip_newlines();
        let inner = self.expr()?;
        self.skip_newlines();
        self.expect_sign(Sign::CloseParen)?;
        Ok(ExprKind::Paren(Box::new(inner)))
    }

    fn list(&mut self) -> Parse<ExprKind> {
        self.advance();
        self.items(Sign::CloseBracket, Self::element).map(ExprKind::List)
    }

    fn dict(&mut self) -> Parse<ExprKind> {
        self.advance();
        self.items(Sign::CloseBrace, Self::entry).map(ExprKind::Dict)
    }

    fn spawn(&mut self) -> Parse<ExprKind> {
        self.advance();
        self.block().map(ExprKind::Spawn)
    }

    fn retry(&mut self) -> Parse<ExprKind> {
        self.advance();
        let count = Box::new(self.expr()?);
        Ok(ExprKind::Retry { count, body: self.block()? })
    }

    fn deadline(&mut self) -> Parse<ExprKind> {
        self.advance();
        let limit = Box::new(self.expr()?);
        Ok(ExprKind::Deadline { limit, body: self.block()? })
    }

    /// An int, or a float if it has a fraction or is too large for an int.
    pub(super) fn number(&mut self) -> ExprKind {
        let text = self.advance().span.of(self.source);
        match text.parse::<i64>() {
            Ok(int) => ExprKind::Int(int),
            Err(_) => ExprKind::Float(text.parse().unwrap_or(f64::INFINITY)),
        }
    }

    /// An int where a float has no meaning.
    pub(super) fn int_literal(&mut self, sign: i64) -> Parse<i64> {
        let span = self.peek().span;
        match self.number() {
            ExprKind::Int(int) => Ok(int * sign),
            _ => Err(self.too_large("Integer", span)),
        }
    }

    fn duration(&mut self) -> ExprKind {
        let span = self.advance().span;
        let text = span.of(self.source);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit: i64 = match &text[digits.len()..] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => 604_800_000,
        };
        let length = digits.parse::<i64>().ok().and_then(|count| count.checked_mul(unit));
        if length.is_none() {
            self.too_large("Duration", span);
        }
        ExprKind::Duration(length.unwrap_or(i64::MAX))
    }

    fn too_large(&mut self, what: &str, span: Span) -> super::Abandoned {
        self.note(Problem::at(format!("{what} literal is too large"), span))
    }

    fn string_expression(&mut self) -> Parse<ExprKind> {
        let token = self.advance();
        self.string_value(token)
    }

    /// A string where an interpolation has no meaning.
    pub(super) fn plain_string(&mut self) -> Parse<Arc<str>> {
        let token = self.peek();
        if !token.kind.is_string() {
            return Err(self.expected("string"));
        }
        self.advance();
        match self.string_value(token)? {
            ExprKind::Str(text) => Ok(text),
            _ => Err(self.note(Problem::at("Interpolation is not allowed here", token.span))),
        }
    }
}
