//! Parameters, closures and named functions.

use super::super::ast::{Block, Closure, ExprKind, Function, Ident, Param};
use super::super::diagnostic::Problem;
use super::super::span::Span;
use super::super::token::{Keyword, Sign};
use super::{Parse, Parser};

impl Parser<'_> {
    /// `(params)`.
    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        self.expect_sign(Sign::OpenParen)?;
        let params = self.items(Sign::CloseParen, Self::param)?;
        self.check_params(&params);
        Ok(params)
    }

    fn param(&mut self) -> Parse<Param> {
        let is_rest = self.eat_sign(Sign::Ellipsis);
        let name = self.ident()?;
        let ty = if self.eat_sign(Sign::Colon) { Some(self.ty()?) } else { None };
        let default = if self.eat_sign(Sign::Equal) {
            self.skip_newlines();
            Some(self.expr()?)
        } else {
            None
        };
        Ok(Param { name, ty, default, is_rest })
    }

    /// What can be read but does not make sense; reading goes on.
    fn check_params(&mut self, params: &[Param]) {
        let mut has_default = false;
        for (at, param) in params.iter().enumerate() {
            if param.is_rest && at + 1 < params.len() {
                self.misplaced("Rest parameter must be the last parameter", param.name.span);
            }
            if has_default && param.default.is_none() && !param.is_rest {
                let text = "Required parameter cannot follow a parameter with a default value";
                self.misplaced(text, param.name.span);
            }
            has_default |= param.default.is_some();
        }
    }

    fn misplaced(&mut self, text: &str, span: Span) {
        self.note(Problem::at(text, span));
    }

    /// `{ a, b -> ... }`.
    pub(super) fn closure(&mut self) -> Parse<ExprKind> {
        let start = self.advance().span.start;
        let params = self.items(Sign::Arrow, Self::param)?;
        self.check_params(&params);
        let body = self.block_rest(start)?;
        Ok(ExprKind::Closure(Box::new(Closure { params, body })))
    }

    /// `fn(a, b) { ... }`.
    pub(super) fn lambda(&mut self) -> Parse<ExprKind> {
        self.advance();
        let params = self.params()?;
        let body = self.block()?;
        Ok(ExprKind::Lambda(Box::new(Closure { params, body })))
    }

    /// `[gen] fn name<T>(params) -> type where T: I { ... }`.
    pub(super) fn function(&mut self) -> Parse<Function> {
        let is_gen = self.at_word("gen");
        if is_gen {
            self.advance();
        }
        self.expect_keyword(Keyword::Fn)?;
        let name = self.ident()?;
        let type_params = self.type_params()?;
        let params = self.params()?;
        let returns = self.return_type()?;
        let bounds = self.bounds()?;
        let body: Block = self.block()?;
        Ok(Function { name, is_gen, type_params, params, returns, bounds, body })
    }

    /// `where T: I, U: J`, if it is there.
    fn bounds(&mut self) -> Parse<Vec<(Ident, Ident)>> {
        let mut bounds = Vec::new();
        if !self.at_word("where") {
            return Ok(bounds);
        }
        self.advance();
        loop {
            let name = self.ident()?;
            self.expect_sign(Sign::Colon)?;
            bounds.push((name, self.ident()?));
            if !self.eat_sign(Sign::Comma) {
                return Ok(bounds);
            }
            self.skip_newlines();
        }
    }
}
