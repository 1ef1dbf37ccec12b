//! `if`, `match`, `parallel`, `try` and `select`.

use super::super::ast::{
    Arm, Catch, Else, Expr, ExprKind, Ident, If, Match, Parallel, ParallelKind, Select, SelectCase, StmtKind,
    Try,
};
use super::super::diagnostic::Problem;
use super::super::token::{Keyword, Sign, TokenKind};
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn if_expression(&mut self) -> Parse<ExprKind> {
        self.expect_keyword(Keyword::If)?;
        let condition = self.expr()?;
        let then = self.block()?;
        self.skip_newline_before(Keyword::Else);
        let otherwise = if self.eat_keyword(Keyword::Else) { Some(self.otherwise()?) } else { None };
        Ok(ExprKind::If(Box::new(If { condition, then, otherwise })))
    }

    fn otherwise(&mut self) -> Parse<Else> {
        if !self.at_keyword(Keyword::If) {
            return self.block().map(Else::Block);
        }
        self.enter()?;
        let start = self.start();
        let kind = self.if_expression()?;
        self.leave();
        Ok(Else::If(Expr { kind, span: self.span_from(start) }))
    }

    pub(super) fn match_expression(&mut self) -> Parse<ExprKind> {
        self.advance();
        let subject = self.expr()?;
        self.expect_sign(Sign::OpenBrace)?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_sign(Sign::CloseBrace) {
                return Ok(ExprKind::Match(Box::new(Match { subject, arms })));
            }
            if self.kind() == TokenKind::End {
                return Err(self.expected("}"));
            }
            arms.push(self.arm()?);
            if !self.eat_sign(Sign::Comma) {
                self.eat_sign(Sign::Semicolon);
            }
        }
    }

    fn arm(&mut self) -> Parse<Arm> {
        let start = self.start();
        let mut patterns = vec![self.expr()?];
        while self.eat_sign(Sign::Bar) {
            self.skip_newlines();
            patterns.push(self.expr()?);
        }
        let guard = if self.eat_keyword(Keyword::If) { Some(self.expr()?) } else { None };
        self.expect_sign(Sign::Arrow)?;
        let body = self.block()?;
        Ok(Arm { patterns, guard, body, span: self.span_from(start) })
    }

    pub(super) fn parallel(&mut self) -> Parse<ExprKind> {
        self.advance();
        let mut kind = ParallelKind::Count;
        if self.at_word("each") || self.at_word("settle") {
            kind = if self.at_word("each") { ParallelKind::Each } else { ParallelKind::Settle };
            self.advance();
        }
        let source = self.expr()?;
        let max_concurrent = self.parallel_options()?;
        let start = self.expect_sign(Sign::OpenBrace)?.span.start;
        let param = self.parallel_param()?;
        let body = self.block_rest(start)?;
        if self.at_word("as") {
            let place = self.advance().span;
            if !self.at_word("stream") {
                return Err(self.expected("stream"));
            }
            self.advance();
            if kind != ParallelKind::Each {
                self.note(Problem::at("`as stream` is only allowed after `parallel each`", place));
            }
            kind = ParallelKind::EachAsStream;
        }
        Ok(ExprKind::Parallel(Box::new(Parallel { kind, source, max_concurrent, param, body })))
    }

    /// `with { max_concurrent: n }`, if it is there.
    fn parallel_options(&mut self) -> Parse<Option<Expr>> {
        if !self.at_word("with") {
            return Ok(None);
        }
        self.advance();
        self.expect_sign(Sign::OpenBrace)?;
        self.skip_newlines();
        if !self.at_word("max_concurrent") {
            return Err(self.expected("max_concurrent"));
        }
        self.advance();
        self.expect_sign(Sign::Colon)?;
        let limit = self.expr()?;
        self.skip_newlines();
        self.eat_sign(Sign::Comma);
        self.skip_newlines();
        self.expect_sign(Sign::CloseBrace)?;
        Ok(Some(limit))
    }

    /// `name ->` at the start of the body, if it is there.
    fn parallel_param(&mut self) -> Parse<Option<Ident>> {
        let first = usize::from(self.kind() == TokenKind::Newline);
        let named = self.kind_ahead(first) == TokenKind::Ident;
        if !named || self.kind_ahead(first + 1) != TokenKind::Sign(Sign::Arrow) {
            return Ok(None);
        }
        self.skip_newlines();
        let param = self.ident()?;
        self.advance();
        Ok(Some(param))
    }

    pub(super) fn try_expression(&mut self) -> Parse<ExprKind> {
        self.advance();
        if self.eat_sign(Sign::Star) {
            self.enter()?;
            let operand = self.unary()?;
            self.leave();
            return Ok(ExprKind::TryStar(Box::new(operand)));
        }
        let body = self.block()?;
        self.skip_newline_before(Keyword::Catch);
        let catch = if self.eat_keyword(Keyword::Catch) { Some(self.catch()?) } else { None };
        self.skip_newline_before(Keyword::Finally);
        let finally = if self.eat_keyword(Keyword::Finally) { Some(self.block()?) } else { None };
        Ok(ExprKind::Try(Box::new(Try { body, catch, finally })))
    }

    fn catch(&mut self) -> Parse<Catch> {
        let (mut name, mut ty) = (None, None);
        if self.eat_sign(Sign::OpenParen) {
            name = Some(self.ident()?);
            if self.eat_sign(Sign::Colon) {
                ty = Some(self.ty()?);
            }
            self.expect_sign(Sign::CloseParen)?;
        } else if self.kind() == TokenKind::Ident {
            name = Some(self.ident()?);
        }
        Ok(Catch { name, ty, body: self.block()? })
    }

    pub(super) fn select(&mut self) -> Parse<StmtKind> {
        let start = self.advance().span.start;
        self.expect_sign(Sign::OpenBrace)?;
        let mut select = Select { cases: Vec::new(), timeout: None, default: None, span: Default::default() };
        loop {
            self.skip_newlines();
            if self.eat_sign(Sign::CloseBrace) {
                select.span = self.span_from(start);
                return Ok(StmtKind::Select(select));
            }
            if self.kind() == TokenKind::End {
                return Err(self.expected("}"));
            }
            self.select_case(&mut select)?;
            self.eat_sign(Sign::Semicolon);
        }
    }

    fn select_case(&mut self, select: &mut Select) -> Parse<()> {
        let place = self.peek().span;
        let named = self.kind_ahead(1) == TokenKind::Keyword(Keyword::From);
        let twice = if self.at_word("timeout") && !named {
            self.advance();
            let limit = self.expr()?;
            select.timeout.replace((limit, self.block()?)).is_some()
        } else if self.at_word("default") && !named {
            self.advance();
            select.default.replace(self.block()?).is_some()
        } else {
            let name = self.ident()?;
            self.expect_keyword(Keyword::From)?;
            let channel = self.expr()?;
            let body = self.block()?;
            select.cases.push(SelectCase { name, channel, body });
            false
        };
        if twice {
            self.note(Problem::at("A select has at most one `timeout` and one `default`", place));
        }
        Ok(())
    }
}
