//! What type parameters stand for in a call.

use super::Checker;
use super::decls::Signature;
use super::expand::Bindings;
use super::ty::{NIL, Ty};
use crate::problem::Code;
use crate::syntax::ast::{Ident, Name, Type};
use crate::syntax::span::Span;

impl<'a> Checker<'a> {
    /// What is written between `<` and `>`.
    pub(super) fn explicit(&mut self, signature: &Signature, callee: &Ident, args: &'a [Type]) -> Bindings {
        let types: Vec<Ty> = args.iter().map(|ty| self.lower(ty)).collect();
        if types.is_empty() {
            return Vec::new();
        }
        let (wanted, given) = (signature.type_params.len(), types.len());
        if wanted == 0 {
            let message = format!("Function '{}' does not declare type parameters", callee.name);
            self.say_with(Code::TypeArguments, callee.span, message, "leave out what is between `<` and `>`");
        } else if wanted != given {
            let message = format!("Function '{}' expects {wanted} type arguments, got {given}", callee.name);
            self.say(Code::TypeArguments, callee.span, message);
        } else {
            return signature.type_params.iter().cloned().zip(types).collect();
        }
        Vec::new()
    }

    /// Finds what the parameters in a pattern stand for, given a type of that form.
    pub(super) fn find_bindings(
        &mut self,
        params: &[Name],
        pattern: &Ty,
        actual: &Ty,
        span: Span,
        bound: &mut Bindings,
    ) {
        let mut found = Vec::new();
        self.budget.set(super::fits::BUDGET);
        self.matched(params, pattern, actual, &mut found, 0);
        for (name, ty) in found {
            self.add_binding(name, ty, span, bound);
        }
    }

    fn add_binding(&mut self, name: Name, ty: Ty, span: Span, bound: &mut Bindings) {
        let Some(at) = bound.iter().position(|(known, _)| *known == name) else {
            bound.push((name, ty));
            return;
        };
        let known = bound[at].1.clone();
        if ty.is_open() || self.fits(&ty, &known) {
            return;
        }
        if known.is_open() || self.fits(&known, &ty) {
            bound[at].1 = ty;
            return;
        }
        let is_certain = |ty: &Ty| matches!(ty, Ty::Basic(_, None) | Ty::User(_, None)) && *ty != NIL;
        if is_certain(&known) && is_certain(&ty) {
            let (a, b) = (self.show(&known), self.show(&ty));
            let message = format!("type parameter '{name}' was inferred as both {a} and {b}");
            self.say_with(Code::TypeArguments, span, message, "all arguments of that type have to agree");
        }
        bound[at].1 = Ty::Hole;
    }

    fn matched(&self, params: &[Name], pattern: &Ty, actual: &Ty, found: &mut Vec<(Name, Ty)>, depth: u32) {
        if depth > 40 || !self.spend() {
            return;
        }
        if let Ty::Param(name) = pattern {
            if params.contains(name) {
                found.push((name.clone(), actual.settled()));
            }
            return;
        }
        let whole = self.expand(&actual.settled());
        match (pattern, &whole) {
            (Ty::Basic(a, Some(wanted)), Ty::Basic(b, Some(given))) if a.eq_ignore_ascii_case(b) => {
                for (wanted, given) in wanted.items.iter().zip(&given.items) {
                    self.matched(params, wanted, given, found, depth + 1);
                }
            }
            (Ty::Basic("dict", Some(wanted)), Ty::Shape(shape)) => {
                if let [_, value] = &wanted.items[..] {
                    let values = Ty::union(shape.fields.iter().map(|field| field.ty.settled()));
                    self.matched(params, value, &values, found, depth + 1);
                }
            }
            (Ty::User(a, Some(wanted)), Ty::User(b, Some(given))) if a == b => {
                for (wanted, given) in wanted.items.iter().zip(&given.items) {
                    self.matched(params, wanted, given, found, depth + 1);
                }
            }
            (Ty::User(..), _) => {
                let pattern = self.expand(pattern);
                if !matches!(pattern, Ty::User(..)) {
                    self.matched(params, &pattern, &whole, found, depth + 1);
                }
            }
            (Ty::Shape(wanted), Ty::Shape(given)) => {
                for field in &wanted.fields {
                    if let Some(known) = given.field(&field.name) {
                        self.matched(params, &field.ty, &known.ty, found, depth + 1);
                    }
                }
            }
            (Ty::Function(wanted), Ty::Function(given)) => {
                for (wanted, given) in wanted.params.iter().zip(&given.params) {
                    self.matched(params, wanted, given, found, depth + 1);
                }
                self.matched(params, &wanted.returns, &given.returns, found, depth + 1);
            }
            (Ty::Union(members), given) => {
                let is_param = |member: &&Ty| matches!(member, Ty::Param(_));
                let others: Vec<&Ty> = members.items.iter().filter(|member| !is_param(member)).collect();
                let mut open = members.items.iter().filter(is_param);
                // `T | nil` with a string or nil: T is what is left.
                if let (Some(param), None) = (open.next(), open.next()) {
                    let rest =
                        given.without(|member| others.iter().any(|other| self.fit(member, other, depth + 1)));
                    if rest != super::ty::NEVER {
                        self.matched(params, param, &rest, found, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// `where T: Interface`, for what is known about T.
    pub(super) fn constraints(&mut self, signature: &Signature, bound: &Bindings, span: Span) {
        for bounds in &signature.bounds {
            let (param, interface) = (&bounds.param, &bounds.interface);
            let Some((_, ty)) = bound.iter().find(|(name, _)| name == param) else { continue };
            let ty = self.expand(ty);
            let reason = match bounds.decl {
                _ if ty.is_open() => None,
                Some(decl) => {
                    self.budget.set(super::fits::BUDGET);
                    self.unsatisfied(&ty, decl, &[], 0)
                }
                None => Some(format!("interface '{interface}' not found")),
            };
            if let Some(reason) = reason {
                let shown = self.show(&ty);
                let message = format!(
                    "Type '{shown}' does not satisfy interface '{interface}': {reason} (required by constraint `where {param}: {interface}`)"
                );
                let help = match ty {
                    Ty::User(..) => format!("write what the interface wants in an `impl {shown} {{ ... }}`"),
                    _ => "pass a struct or an enum that has the methods of the interface".to_owned(),
                };
                self.say_with(Code::Constraint, span, message, help);
            }
        }
    }
}
