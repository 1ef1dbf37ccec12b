//! Operators between two values.

use super::Checker;
use super::ty::{BOOL, DICT, FLOAT, INT, LIST, NIL, STRING, Ty};
use crate::problem::Code;
use crate::syntax::ast::{BinaryOp, Expr};
use crate::syntax::span::Span;

impl<'a> Checker<'a> {
    /// Operators of one level, from left to right.
    pub(super) fn binary(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)]) -> Ty {
        let op = rest.first().map(|(op, _)| *op);
        match op {
            Some(BinaryOp::And) => self.logic(first, rest, true),
            Some(BinaryOp::Or) => self.logic(first, rest, false),
            Some(BinaryOp::Pipe) => self.pipes(first, rest),
            _ => {
                let mut left = self.infer(first);
                let mut span = first.span;
                for (op, operand) in rest {
                    let right = self.infer(operand);
                    span = span.to(operand.span);
                    left = self.operation(*op, &left, &right, span);
                }
                left
            }
        }
    }

    /// Each operand is reached only if those before it were true, or false.
    fn logic(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)], needed: bool) -> Ty {
        let mark = self.scope.mark();
        self.infer(first);
        let mut before = first;
        for (_, operand) in rest {
            let facts = self.facts(before, needed);
            self.apply(facts);
            self.infer(operand);
            before = operand;
        }
        self.scope.rewind(mark, true);
        BOOL
    }

    fn pipes(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)]) -> Ty {
        self.infer(first);
        self.pipes += 1;
        let mut result = Ty::Hole;
        for (_, right) in rest {
            result = match self.infer(right) {
                Ty::Function(function) => function.returns.clone(),
                _ => Ty::Hole,
            };
        }
        self.pipes -= 1;
        result
    }

    pub(super) fn operation(&mut self, op: BinaryOp, left: &Ty, right: &Ty, span: Span) -> Ty {
        match op {
            BinaryOp::Pipe => Ty::Hole,
            BinaryOp::Or
            | BinaryOp::And
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::Greater
            | BinaryOp::LessEqual
            | BinaryOp::GreaterEqual
            | BinaryOp::In
            | BinaryOp::NotIn => BOOL,
            BinaryOp::Coalesce => self.coalesce(left, right),
            BinaryOp::Add => self.add(left, right, span),
            BinaryOp::Multiply => self.multiply(left, right, span),
            BinaryOp::Subtract | BinaryOp::Divide | BinaryOp::Modulo | BinaryOp::Power => {
                self.arithmetic(op, left, right, span)
            }
        }
    }

    fn coalesce(&self, left: &Ty, right: &Ty) -> Ty {
        let whole = self.expand(left);
        if whole.is_open() || matches!(whole, Ty::Basic("unknown", _)) {
            return Ty::Hole;
        }
        if !whole.members().contains(&NIL) {
            return left.clone();
        }
        let rest = whole.without(|member| *member == NIL);
        // A default of the same kind changes nothing.
        if rest != super::ty::NEVER && self.fits(right, &rest) && !right.is_open() {
            return rest;
        }
        Ty::union([rest, right.clone()])
    }

    fn add(&mut self, left: &Ty, right: &Ty, span: Span) -> Ty {
        match (kind(left), kind(right)) {
            (Some("int"), Some("int")) => INT,
            (Some("int" | "float"), Some("int" | "float")) => FLOAT,
            (Some("string"), Some("string")) => STRING,
            (Some("list"), Some("list")) => LIST,
            (Some("dict"), Some("dict")) => DICT,
            (Some(_), Some(_)) if is_plain(left) && is_plain(right) => {
                let message = format!("can't add {} and {}", self.show(left), self.show(right));
                let has_text = [left, right].contains(&&STRING);
                let help = if has_text {
                    "convert with `to_string(...)`, or write \"${a}${b}\""
                } else {
                    "`+` takes two numbers, two texts, two lists or two dicts"
                };
                self.say_with(Code::Operands, span, message, help);
                Ty::Hole
            }
            _ => Ty::Hole,
        }
    }

    fn multiply(&mut self, left: &Ty, right: &Ty, span: Span) -> Ty {
        match (kind(left), kind(right)) {
            (Some("int"), Some("int")) => INT,
            (Some("int" | "float"), Some("int" | "float")) => FLOAT,
            (Some("string"), Some("int")) | (Some("int"), Some("string")) => STRING,
            (Some(_), Some(_)) if is_plain(left) && is_plain(right) => {
                let (l, r) = (self.show(left), self.show(right));
                let message = format!("can't multiply {l} and {r} (try string * int)");
                self.say_with(
                    Code::Operands,
                    span,
                    message,
                    "`*` takes two numbers, or a text and how often",
                );
                Ty::Hole
            }
            _ => Ty::Hole,
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, left: &Ty, right: &Ty, span: Span) -> Ty {
        match (kind(left), kind(right)) {
            // A negative exponent gives a float.
            (Some("int"), Some("int")) if op == BinaryOp::Power => Ty::Hole,
            (Some("int"), Some("int")) => INT,
            (Some("int" | "float"), Some("int" | "float")) => FLOAT,
            (Some(_), Some(_)) if is_plain(left) && is_plain(right) => {
                let (l, r) = (self.show(left), self.show(right));
                let message = format!("can't use '{}' on {l} and {r} (needs numeric operands)", op.as_str());
                self.say_with(Code::Operands, span, message, "convert with `to_int(...)` or `to_float(...)`");
                Ty::Hole
            }
            _ => Ty::Hole,
        }
    }
}

/// Types whose operators are known.
fn kind(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Basic(name @ ("int" | "float" | "string" | "bool" | "nil" | "list" | "dict"), _) => Some(name),
        Ty::Str(_) => Some("string"),
        Ty::Int(_) => Some("int"),
        Ty::Shape(_) => Some("dict"),
        Ty::Loose(inner, _) => kind(inner),
        _ => None,
    }
}

/// A mere name: only those are complained about.
fn is_plain(ty: &Ty) -> bool {
    matches!(ty, Ty::Basic(_, None))
}
