//! Operators, from the loosest to the tightest.

use super::super::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use super::super::token::{Keyword, Sign, TokenKind};
use super::cursor::add;
use super::{Parse, Parser};

/// How tightly an operator binds. Pipes, ranges and the ternary are looser than all of these, `**` is tighter.
type Level = u8;

const LOOSEST: Level = 0;

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.enter()?;
        let before = self.start_part();
        let mut expr = self.binary(LOOSEST);
        if self.at_loose_operator() {
            expr = self.loose(expr?);
        }
        self.end_part(before);
        self.leave();
        expr
    }

    fn at_loose_operator(&mut self) -> bool {
        self.at_operator_sign(Sign::PipeTo) || self.at_sign(Sign::Question) || self.at_keyword(Keyword::To)
    }

    /// A ternary, range or pipe, of which the first operand has been read.
    fn loose(&mut self, first: Expr) -> Parse<Expr> {
        let first = self.ternary_rest(first)?;
        let first = self.range_rest(first)?;
        let mut rest = Vec::new();
        while self.at_operator_sign(Sign::PipeTo) {
            self.advance();
            self.skip_newlines();
            rest.push((BinaryOp::Pipe, self.range()?));
        }
        self.chain(first, rest)
    }

    fn chain(&mut self, first: Expr, rest: Vec<(BinaryOp, Expr)>) -> Parse<Expr> {
        if rest.is_empty() {
            return Ok(first);
        }
        self.wrap()?;
        let span = self.span_from(first.span.start);
        Ok(Expr { kind: ExprKind::Binary { first: Box::new(first), rest }, span })
    }

    fn range(&mut self) -> Parse<Expr> {
        let before = self.start_part();
        let start = self.ternary()?;
        let expr = self.range_rest(start);
        self.end_part(before);
        expr
    }

    fn range_rest(&mut self, start: Expr) -> Parse<Expr> {
        if !self.eat_keyword(Keyword::To) {
            return Ok(start);
        }
        self.skip_newlines();
        let end = self.ternary()?;
        let exclusive = self.eat_keyword(Keyword::Exclusive);
        self.wrap()?;
        let span = self.span_from(start.span.start);
        Ok(Expr { kind: ExprKind::Range { start: Box::new(start), end: Box::new(end), exclusive }, span })
    }

    fn ternary(&mut self) -> Parse<Expr> {
        let before = self.start_part();
        let condition = self.binary(LOOSEST)?;
        let expr = self.ternary_rest(condition);
        self.end_part(before);
        expr
    }

    fn ternary_rest(&mut self, condition: Expr) -> Parse<Expr> {
        if !self.eat_sign(Sign::Question) {
            return Ok(condition);
        }
        let then = Box::new(self.binary(LOOSEST)?);
        self.skip_newlines();
        self.expect_sign(Sign::Colon)?;
        self.skip_newlines();
        let otherwise = Box::new(self.binary(LOOSEST)?);
        self.wrap()?;
        let span = self.span_from(condition.span.start);
        Ok(Expr { kind: ExprKind::Ternary { condition: Box::new(condition), then, otherwise }, span })
    }

    /// A chain of operators of at least this level. What binds more tightly becomes an operand.
    fn binary(&mut self, least: Level) -> Parse<Expr> {
        let before = self.start_part();
        let mut expr = self.power();
        while let Some((_, level)) = self.operator().filter(|(_, level)| *level >= least) {
            expr = self.binary_rest(expr?, level);
        }
        self.end_part(before);
        expr
    }

    /// The operators of one level and their operands, after the first one.
    fn binary_rest(&mut self, first: Expr, level: Level) -> Parse<Expr> {
        let mut rest = Vec::new();
        while let Some((op, _)) = self.operator().filter(|(_, next)| *next == level) {
            self.advance();
            if op == BinaryOp::NotIn {
                self.advance();
            }
            self.skip_newlines();
            add(&mut rest, (op, self.binary(level + 1)?));
        }
        self.chain(first, rest)
    }

    /// The operator that comes next and its level. Skips the end of the line before one that may start a line.
    fn operator(&mut self) -> Option<(BinaryOp, Level)> {
        self.skip_newline_before_operator();
        let found = match self.kind() {
            TokenKind::Sign(sign) => match sign {
                Sign::OrOr => (BinaryOp::Or, 0),
                Sign::AndAnd => (BinaryOp::And, 1),
                Sign::EqualEqual => (BinaryOp::Equal, 2),
                Sign::NotEqual => (BinaryOp::NotEqual, 2),
                Sign::Less => (BinaryOp::Less, 3),
                Sign::Greater => (BinaryOp::Greater, 3),
                Sign::LessEqual => (BinaryOp::LessEqual, 3),
                Sign::GreaterEqual => (BinaryOp::GreaterEqual, 3),
                Sign::Plus => (BinaryOp::Add, 4),
                Sign::Minus => (BinaryOp::Subtract, 4),
                Sign::Coalesce => (BinaryOp::Coalesce, 5),
                Sign::Star => (BinaryOp::Multiply, 6),
                Sign::Slash => (BinaryOp::Divide, 6),
                Sign::Percent => (BinaryOp::Modulo, 6),
                _ => return None,
            },
            TokenKind::Keyword(Keyword::In) => (BinaryOp::In, 3),
            TokenKind::Ident
                if self.kind_ahead(1) == TokenKind::Keyword(Keyword::In) && self.at_word("not") =>
            {
                (BinaryOp::NotIn, 3)
            }
            _ => return None,
        };
        Some(found)
    }

    fn at_operator_sign(&mut self, sign: Sign) -> bool {
        self.skip_newline_before_operator();
        self.at_sign(sign)
    }

    pub(super) fn skip_newline_before_operator(&mut self) {
        if self.kind() == TokenKind::Newline
            && matches!(self.kind_ahead(1), TokenKind::Sign(sign) if sign.continues_line())
        {
            self.advance();
        }
    }

    fn power(&mut self) -> Parse<Expr> {
        let before = self.start_part();
        let mut expr = self.unary();
        if self.at_operator_sign(Sign::StarStar) {
            expr = self.power_rest(expr?);
        }
        self.end_part(before);
        expr
    }

    fn power_rest(&mut self, base: Expr) -> Parse<Expr> {
        self.advance();
        self.skip_newlines();
        self.wrap()?;
        self.enter()?;
        let exponent = self.power()?;
        self.leave();
        let span = self.span_from(base.span.start);
        let rest = vec![(BinaryOp::Power, exponent)];
        Ok(Expr { kind: ExprKind::Binary { first: Box::new(base), rest }, span })
    }

    pub(super) fn unary(&mut self) -> Parse<Expr> {
        match self.kind() {
            TokenKind::Sign(Sign::Not | Sign::Minus) => self.signed(),
            _ => self.postfix(),
        }
    }

    /// Signs before an operand, without recursion.
    fn signed(&mut self) -> Parse<Expr> {
        let mut signs = Vec::new();
        let depth = self.depth;
        while let TokenKind::Sign(sign @ (Sign::Not | Sign::Minus)) = self.kind() {
            self.enter()?;
            let start = self.advance().span.start;
            signs.push((if sign == Sign::Not { UnaryOp::Not } else { UnaryOp::Negate }, start));
        }
        let mut expr = self.postfix()?;
        self.depth = depth;
        while let Some((op, start)) = signs.pop() {
            expr =
                Expr { kind: ExprKind::Unary { op, operand: Box::new(expr) }, span: self.span_from(start) };
        }
        Ok(expr)
    }
}
