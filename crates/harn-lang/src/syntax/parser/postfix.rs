//! What may follow an operand: fields, indexes, calls, struct fields, `?`.

use super::super::ast::{Element, Expr, ExprKind, Ident, Name, Type};
use super::super::span::Span;
use super::super::token::{Keyword, Sign, Token, TokenKind};
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn postfix(&mut self) -> Parse<Expr> {
        let before = self.start_part();
        let mut expr = match self.kind() {
            TokenKind::Ident => self.name_expression(),
            _ => self.primary(),
        };
        while self.at_postfix() {
            expr = self.postfix_rest(expr?);
        }
        self.end_part(before);
        expr
    }

    fn at_postfix(&mut self) -> bool {
        self.skip_newline_before_operator();
        match self.kind() {
            TokenKind::Sign(Sign::Dot | Sign::QuestionDot | Sign::OpenBracket) => true,
            TokenKind::Sign(Sign::Question) => self.is_optional_index() || !self.is_ternary(),
            _ => false,
        }
    }

    /// The operand with one more thing behind it.
    fn postfix_rest(&mut self, expr: Expr) -> Parse<Expr> {
        let start = expr.span.start;
        self.wrap()?;
        let kind = match self.kind() {
            TokenKind::Sign(Sign::Dot) => self.member(expr, false),
            TokenKind::Sign(Sign::QuestionDot) => self.member(expr, true),
            TokenKind::Sign(Sign::OpenBracket) => self.subscript(expr),
            _ if self.is_optional_index() => self.optional_index(expr),
            _ => {
                self.advance();
                Ok(ExprKind::Propagate(Box::new(expr)))
            }
        };
        self.spanned(start, kind)
    }

    pub(super) fn spanned(&self, start: u32, kind: Parse<ExprKind>) -> Parse<Expr> {
        kind.map(|kind| Expr { kind, span: self.span_from(start) })
    }

    /// A name, a call of it, or a struct.
    fn name_expression(&mut self) -> Parse<Expr> {
        let ident = self.ident()?;
        let start = ident.span.start;
        let kind = match self.kind() {
            TokenKind::Sign(Sign::OpenParen) => self.call(ident, Vec::new()),
            TokenKind::Sign(Sign::Less) => match self.call_type_args() {
                Some(type_args) => self.call(ident, type_args),
                None => Ok(ExprKind::Name(ident.name)),
            },
            TokenKind::Sign(Sign::OpenBrace) if is_type_name(&ident.name) && self.struct_fields_follow() => {
                self.struct_expression(ident)
            }
            _ => Ok(ExprKind::Name(ident.name)),
        };
        self.spanned(start, kind)
    }

    fn struct_expression(&mut self, name: Ident) -> Parse<ExprKind> {
        self.advance();
        let fields = self.items(Sign::CloseBrace, Self::entry)?;
        Ok(ExprKind::Struct { name, fields })
    }

    fn call(&mut self, callee: Ident, type_args: Vec<Type>) -> Parse<ExprKind> {
        let args = self.args()?;
        Ok(ExprKind::Call { callee, type_args, args })
    }

    fn args(&mut self) -> Parse<Vec<Element>> {
        self.expect_sign(Sign::OpenParen)?;
        self.items(Sign::CloseParen, Self::element)
    }

    /// The types in `name<T>(...)`; nothing is read if it is a comparison.
    fn call_type_args(&mut self) -> Option<Vec<Type>> {
        let start = self.input.at;
        let key = u32::try_from(start).ok()?;
        let found = self.input.angles.binary_search_by_key(&key, |(open, _)| *open).ok()?;
        let close = self.input.angles[found].1 as usize;
        // Where a surrounding attempt has failed this one would fail at the same token.
        if start < self.types_failed_at && close > self.types_failed_at {
            return None;
        }
        let (depth, reach, problems) = (self.depth, self.reach, self.problems.len());
        self.advance();
        match self.type_args() {
            Ok(args) if self.at_sign(Sign::OpenParen) => Some(args),
            _ => {
                self.types_failed_at = if self.stopped { self.stopped_at } else { self.input.at };
                self.problems.truncate(problems);
                (self.depth, self.reach, self.stopped) = (depth, reach, false);
                self.input.at = start;
                None
            }
        }
    }

    /// After a name that may be a type's: `}`, `key:` or `...` follow the `{`.
    fn struct_fields_follow(&self) -> bool {
        let first = 1 + usize::from(self.kind_ahead(1) == TokenKind::Newline);
        match self.kind_ahead(first) {
            TokenKind::Sign(Sign::CloseBrace | Sign::Ellipsis) => true,
            TokenKind::Ident | TokenKind::Keyword(_) | TokenKind::Str | TokenKind::RawStr => {
                self.kind_ahead(first + 1) == TokenKind::Sign(Sign::Colon)
            }
            _ => false,
        }
    }

    fn member(&mut self, object: Expr, optional: bool) -> Parse<ExprKind> {
        self.advance();
        self.skip_newlines();
        let name = self.key()?;
        let object = Box::new(object);
        if self.at_sign(Sign::OpenParen) {
            let args = self.args()?;
            return Ok(ExprKind::Method { object, method: name, args, optional });
        }
        Ok(ExprKind::Field { object, name, optional })
    }

    /// `[i]`, or a slice with a `:`.
    fn subscript(&mut self, object: Expr) -> Parse<ExprKind> {
        self.advance();
        self.skip_newlines();
        let object = Box::new(object);
        let start = if self.at_sign(Sign::Colon) { None } else { Some(Box::new(self.expr()?)) };
        self.skip_newlines();
        let kind = match start {
            Some(index) if !self.at_sign(Sign::Colon) => ExprKind::Index { object, index, optional: false },
            start => {
                self.advance();
                self.skip_newlines();
                let end = if self.at_sign(Sign::CloseBracket) { None } else { Some(Box::new(self.expr()?)) };
                ExprKind::Slice { object, start, end }
            }
        };
        self.skip_newlines();
        self.expect_sign(Sign::CloseBracket)?;
        Ok(kind)
    }

    fn optional_index(&mut self, object: Expr) -> Parse<ExprKind> {
        self.advance();
        self.advance();
        self.skip_newlines();
        let index = Box::new(self.expr()?);
        self.skip_newlines();
        self.expect_sign(Sign::CloseBracket)?;
        Ok(ExprKind::Index { object: Box::new(object), index, optional: true })
    }

    fn after_question(&self) -> (Span, Token) {
        (self.peek().span, self.input.token(self.input.at + 1))
    }

    /// `?[` without a blank. With one the `?` is a ternary's, whose first branch is a list.
    fn is_optional_index(&self) -> bool {
        let (question, next) = self.after_question();
        next.kind == TokenKind::Sign(Sign::OpenBracket) && next.span.start == question.end
    }

    /// Whether what follows the `?` can start the branch of a ternary.
    fn is_ternary(&self) -> bool {
        let (_, next) = self.after_question();
        match next.kind {
            TokenKind::Ident | TokenKind::Int | TokenKind::Float | TokenKind::Duration => true,
            TokenKind::Str | TokenKind::RawStr | TokenKind::TripleStr => true,
            TokenKind::Keyword(word) => {
                matches!(word, Keyword::True | Keyword::False | Keyword::Nil | Keyword::Fn)
            }
            TokenKind::Sign(sign) => {
                matches!(
                    sign,
                    Sign::OpenParen | Sign::OpenBrace | Sign::OpenBracket | Sign::Not | Sign::Minus
                )
            }
            _ => false,
        }
    }
}

fn is_type_name(name: &Name) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}
