//! Expressions: where their lines may break.

use super::Formatter;
use super::cursor::Breaks;
use super::layout::Op;
use super::lists::Padding;
use crate::syntax::ast::{BinaryOp, Closure, Element, Entry, Expr, ExprKind, Param};
use crate::syntax::token::{Sign, TokenKind};

impl Formatter<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Nil
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Duration(_)
            | ExprKind::Str(_)
            | ExprKind::Interpolated(_)
            | ExprKind::Name(_) => self.take(),
            ExprKind::Paren(inner) => self.paren(inner),
            ExprKind::List(items) => self.list(items, Padding::None, Self::element),
            ExprKind::Dict(entries) => self.list(entries, Padding::None, Self::entry),
            ExprKind::Closure(closure) => self.closure(closure),
            ExprKind::Lambda(closure) => self.lambda(closure),
            ExprKind::Unary { operand, .. } => {
                self.take();
                self.expr(operand);
            }
            ExprKind::Binary { first, rest } => self.binary(first, rest),
            ExprKind::Range { start, end, exclusive } => self.range(start, end, *exclusive),
            ExprKind::Ternary { condition, then, otherwise } => self.ternary(condition, then, otherwise),
            ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::Slice { .. }
            | ExprKind::Method { .. }
            | ExprKind::Propagate(_) => self.chain(expr),
            ExprKind::Call { type_args, args, .. } => {
                self.take();
                self.type_args(type_args);
                self.args(args);
            }
            ExprKind::Struct { fields, .. } => {
                self.take_word();
                self.list(fields, Padding::None, Self::entry);
            }
            other => self.control(other),
        }
    }

    fn paren(&mut self, inner: &Expr) {
        self.take();
        self.group(|f| {
            f.indented(|f| {
                f.push(Op::Line(""));
                f.expr(inner);
            });
            f.push(Op::Line(""));
        });
        self.take();
    }

    pub(super) fn element(&mut self, element: &Element) {
        match element {
            Element::Plain(value) => self.expr(value),
            Element::Spread(value) => {
                self.take();
                self.expr(value);
            }
        }
    }

    pub(super) fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Named { value, .. } => {
                self.take();
                self.take_word();
                self.expr(value);
            }
            Entry::Computed { key, value } => {
                if self.take_sign(Sign::OpenBracket) {
                    self.expr(key);
                }
                self.take();
                if self.at_sign(Sign::Colon) {
                    self.take();
                }
                self.word(" ");
                self.expr(value);
            }
            Entry::Spread(value) => {
                self.take();
                self.expr(value);
            }
        }
    }

    fn closure(&mut self, closure: &Closure) {
        self.group(|f| {
            f.take_word();
            for (at, param) in closure.params.iter().enumerate() {
                if at > 0 {
                    f.word(", ");
                }
                f.param(param);
                if f.at_sign(Sign::Comma) {
                    f.skip();
                }
            }
            if !closure.params.is_empty() {
                f.word(" ");
            }
            f.take();
            f.block_rest(&closure.body, " ");
        });
    }

    fn lambda(&mut self, closure: &Closure) {
        self.group(|f| {
            f.take();
            f.params(&closure.params);
            f.word(" ");
            f.block(&closure.body);
        });
    }

    pub(super) fn params(&mut self, params: &[Param]) {
        self.list(params, Padding::None, Self::param);
    }

    pub(super) fn param(&mut self, param: &Param) {
        if param.is_rest {
            self.take();
        }
        self.take();
        self.annotation(&param.ty);
        if let Some(default) = &param.default {
            self.word(" ");
            self.take_word();
            self.expr(default);
        }
    }

    /// Lines break before the operators, or after them where a line must not start with one of them.
    fn binary(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)]) {
        let stays = |op: &BinaryOp| matches!(op, BinaryOp::Subtract | BinaryOp::In | BinaryOp::NotIn);
        let after = rest.iter().any(|(op, _)| stays(op));
        self.group(|f| {
            f.expr(first);
            f.push(Op::Indent);
            for (op, operand) in rest {
                if after || *op == BinaryOp::Power {
                    f.word(" ");
                } else {
                    f.operator_line(" ", if *op == BinaryOp::Pipe { Breaks::Kept } else { Breaks::Free });
                }
                f.take();
                if *op == BinaryOp::NotIn {
                    f.word(" ");
                    f.take();
                }
                if after {
                    f.push(Op::Line(" "));
                } else {
                    f.word(" ");
                }
                f.expr(operand);
            }
            f.push(Op::Dedent);
        });
    }

    fn range(&mut self, start: &Expr, end: &Expr, exclusive: bool) {
        self.expr(start);
        self.word(" ");
        self.take_word();
        self.expr(end);
        if exclusive {
            self.word(" ");
            self.take();
        }
    }

    fn ternary(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) {
        self.expr(condition);
        self.word(" ");
        self.take_word();
        self.expr(then);
        self.word(" ");
        self.take_word();
        self.expr(otherwise);
    }

    /// `a.b(c)[d]?`: with two or more calls of methods the lines may break before them.
    fn chain(&mut self, expr: &Expr) {
        let mut links = Vec::new();
        let mut head = expr;
        while let Some(object) = object(head) {
            links.push(head);
            head = object;
        }
        links.reverse();
        let methods = links.iter().filter(|link| matches!(link.kind, ExprKind::Method { .. })).count();
        if methods < 2 {
            self.expr(head);
            return links.iter().for_each(|link| self.link(link));
        }
        self.group(|f| {
            f.expr(head);
            f.push(Op::Indent);
            for link in &links {
                if matches!(link.kind, ExprKind::Method { .. }) {
                    f.operator_line("", Breaks::Kept);
                }
                f.link(link);
            }
            f.push(Op::Dedent);
        });
    }

    /// What follows the object of an operand.
    fn link(&mut self, link: &Expr) {
        match &link.kind {
            ExprKind::Field { .. } => {
                self.take();
                self.take();
            }
            ExprKind::Method { args, .. } => {
                self.take();
                self.take();
                self.args(args);
            }
            ExprKind::Index { index, optional, .. } => {
                if *optional {
                    self.take();
                }
                self.take();
                self.expr(index);
                self.take();
            }
            ExprKind::Slice { start, end, .. } => {
                self.take();
                start.iter().for_each(|start| self.expr(start));
                self.take();
                end.iter().for_each(|end| self.expr(end));
                self.take();
            }
            _ => self.question(),
        }
    }

    /// A `?` must not run into what follows: `x? .y` is not `x?.y`.
    fn question(&mut self) {
        self.take();
        if matches!(
            self.peek().kind,
            TokenKind::Sign(Sign::Dot | Sign::Question | Sign::QuestionDot | Sign::Coalesce)
        ) {
            self.word(" ");
        }
    }
}

fn object(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Field { object, .. }
        | ExprKind::Index { object, .. }
        | ExprKind::Slice { object, .. }
        | ExprKind::Method { object, .. }
        | ExprKind::Propagate(object) => Some(object),
        _ => None,
    }
}
