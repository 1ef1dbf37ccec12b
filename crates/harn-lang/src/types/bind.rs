//! Variables: where they begin, and what is assigned to them.

use super::Checker;
use super::assigned::root;
use super::scope::{SymbolId, SymbolKind};
use super::ty::{DICT, LIST, NIL, Ty};
use crate::problem::Code;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Ident, Pattern, Type};

impl<'a> Checker<'a> {
    pub(super) fn bind(
        &mut self,
        mutable: bool,
        pattern: &'a Pattern,
        ty: Option<&'a Type>,
        value: &'a Expr,
    ) {
        let actual = self.infer(value);
        let declared = ty.map(|ty| self.lower(ty));
        match pattern {
            Pattern::Name(name) => {
                if let Some(expected) = &declared {
                    self.declared_fits(name, value, &actual, expected);
                }
                self.scope.variable(&name.name, declared, actual, mutable);
            }
            _ => self.take_apart(pattern, &actual, mutable),
        }
    }

    fn declared_fits(&mut self, name: &Ident, value: &Expr, actual: &Ty, expected: &Ty) {
        if self.fits(actual, expected) {
            return;
        }
        let details = self.shape_details(actual, expected);
        let details = details.map(|details| format!(" ({details})")).unwrap_or_default();
        let (wanted, got) = (self.show_out(expected), self.show_out(actual));
        let message = format!("'{}' declared as {wanted}, but assigned {got}{details}", name.name);
        self.mismatch(value.span, message, actual, expected);
    }

    /// Binds the names of a pattern.
    pub(super) fn take_apart(&mut self, pattern: &'a Pattern, ty: &Ty, mutable: bool) {
        match pattern {
            Pattern::Name(name) => self.scope.variable(&name.name, None, ty.clone(), mutable),
            Pattern::Dict { fields, rest, .. } => {
                let whole = self.expand(ty);
                for field in fields {
                    let part = match (&whole, &field.default) {
                        (Ty::Shape(shape), None) => match shape.field(&field.key.name) {
                            Some(known) if known.optional => Ty::union([known.ty.clone(), NIL]),
                            Some(known) => known.ty.clone(),
                            None => Ty::Hole,
                        },
                        _ => Ty::Hole,
                    };
                    if let Some(default) = &field.default {
                        self.infer(default);
                    }
                    let name = field.alias.as_ref().unwrap_or(&field.key);
                    self.scope.variable(&name.name, None, part, mutable);
                }
                if let Some(rest) = rest {
                    self.scope.variable(&rest.name, None, DICT, mutable);
                }
            }
            Pattern::List { items, rest, .. } => {
                for (name, default) in items {
                    if let Some(default) = default {
                        self.infer(default);
                    }
                    self.scope.variable(&name.name, None, Ty::Hole, mutable);
                }
                if let Some(rest) = rest {
                    self.scope.variable(&rest.name, None, LIST, mutable);
                }
            }
            Pattern::Pair { first, second, .. } => {
                self.scope.variable(&first.name, None, Ty::Hole, mutable);
                self.scope.variable(&second.name, None, Ty::Hole, mutable);
            }
        }
    }

    pub(super) fn assign(&mut self, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) {
        let target = target.peeled();
        let ExprKind::Name(name) = &target.kind else {
            self.infer(target);
            self.infer(value);
            if let Some(symbol) = root(target).and_then(|name| self.scope.find(name)) {
                self.changed_within(symbol);
            }
            return;
        };
        let given = self.infer(value);
        let symbol = self.scope.find(name);
        let given = match (op, symbol.and_then(|symbol| self.scope.current(symbol))) {
            (Some(op), Some(before)) => self.operation(op, &before, &given, target.span.to(value.span)),
            (Some(_), None) => Ty::Hole,
            (None, _) => given,
        };
        let Some(symbol) = symbol else {
            return self.unknown_variable(name, target.span);
        };
        let SymbolKind::Variable(variable) = &self.scope.symbols[symbol].kind else { return };
        let base = variable.base.clone();
        if !variable.is_declared {
            return self.assign_undeclared(symbol, &base, &given.kept());
        }
        if self.fits(&given, &base) {
            let known = self.narrowed_by(&base, &given);
            self.scope.assign(symbol, known);
            return;
        }
        let (got, wanted) = (self.show_out(&given), self.show_out(&base));
        let message = format!("can't assign {got} to '{name}' (declared as {wanted})");
        self.mismatch(value.span, message, &given, &base);
        self.scope.assign(symbol, None);
    }

    /// Nobody said what it may be, so it may be anything that is assigned to it.
    fn assign_undeclared(&mut self, symbol: SymbolId, base: &Ty, given: &Ty) {
        let wider = if *base == NIL || *given == NIL {
            Ty::union([given.clone(), base.clone()])
        } else if given.has_hole() || base.is_open() {
            Ty::Hole
        } else if self.fits(given, base) {
            base.clone()
        } else {
            Ty::Hole
        };
        let is_open = wider.is_open();
        self.scope.widen(symbol, wider);
        let known = Some(given.clone()).filter(|given| !is_open && !given.has_hole() && *given != NIL);
        self.scope.assign(symbol, known);
    }

    /// What a declared variable is known to be after an assignment: those of its alternatives that the value
    /// fits. After one whose type is not known, nothing is.
    fn narrowed_by(&self, base: &Ty, given: &Ty) -> Option<Ty> {
        let whole = self.expand(base);
        if !matches!(whole, Ty::Union(_)) || *given == NIL {
            return None;
        }
        if given.is_open() {
            return Some(Ty::Hole);
        }
        if given.has_hole() {
            return None;
        }
        let given: Vec<Ty> = self.expand(given).members().to_vec();
        let fits = |member: &Ty| given.iter().any(|given| self.fits(given, member));
        let kept = whole.without(|member| !fits(member));
        (kept != whole && kept != NIL && kept != super::ty::NEVER).then_some(kept)
    }

    /// Something within it was assigned to.
    fn changed_within(&mut self, symbol: SymbolId) {
        if let SymbolKind::Variable(variable) = &self.scope.symbols[symbol].kind
            && !variable.is_declared
        {
            let wider = match variable.base.bare() {
                Ty::Shape(_) | Ty::Basic("dict", _) => DICT,
                Ty::Basic("list", _) => LIST,
                Ty::User(..) => variable.base.clone(),
                _ => Ty::Hole,
            };
            self.scope.widen(symbol, wider);
        }
        self.scope.assign(symbol, None);
    }

    pub(super) fn unknown_variable(&mut self, name: &str, span: crate::syntax::span::Span) {
        let near = self.nearest(name, self.scope.names());
        let message = format!("Undefined variable: {name}");
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare it with `let` or `var` before it is used".to_owned(),
        };
        self.say_with(Code::UnknownVariable, span, message, help);
    }
}
