//! From a type as it is written to a type.

use super::Checker;
use super::ty::{BASIC, DeclId, Field, Ty, UNCHECKED};
use crate::problem::Code;
use crate::syntax::ast::{Type, TypeKind};
use crate::syntax::span::Span;

impl<'a> Checker<'a> {
    pub(super) fn lower(&mut self, ty: &Type) -> Ty {
        match &ty.kind {
            TypeKind::Name { name, args } => {
                let args: Vec<Ty> = args.iter().map(|arg| self.lower(arg)).collect();
                self.named(name, args, ty.span)
            }
            TypeKind::List(item) => {
                let item = self.lower(item);
                Ty::list(item)
            }
            TypeKind::Shape(fields) => {
                let fields = fields.iter().map(|field| Field {
                    name: field.name.name.clone(),
                    optional: field.optional,
                    ty: self.lower(&field.ty),
                });
                Ty::shape(fields.collect())
            }
            TypeKind::Union(members) => {
                let members: Vec<Ty> = members.iter().map(|member| self.lower(member)).collect();
                // `T | any` takes everything.
                Ty::union(members)
            }
            TypeKind::Function { params, returns } => {
                let params = params.iter().map(|param| self.lower(param)).collect();
                let returns = self.lower(returns);
                Ty::function(params, returns)
            }
            TypeKind::Str(text) => Ty::Str(text.clone()),
            TypeKind::Int(value) => Ty::Int(*value),
        }
    }

    fn named(&mut self, name: &crate::syntax::ast::Name, args: Vec<Ty>, span: Span) -> Ty {
        if self.type_params.contains(name) {
            return Ty::Param(name.clone());
        }
        if let Some(id) = self.type_named(name) {
            return Ty::user(id, args);
        }
        if let Some(basic) = BASIC.iter().find(|basic| **basic == &**name) {
            return match (*basic, &args[..]) {
                ("list", [item]) => Ty::list(item.clone()),
                _ => Ty::basic(basic, args),
            };
        }
        if !UNCHECKED.contains(&&**name) && self.knows_imports {
            let names = self.scope.type_names().chain(BASIC.iter().copied());
            let near = self.nearest(name, names);
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it with `type`, `struct`, `enum` or `interface`, or import it".to_owned(),
            };
            self.say_with(Code::UnknownType, span, format!("unknown type `{name}`"), help);
        }
        Ty::Hole
    }

    /// The type that a name means here.
    pub(super) fn type_named(&self, name: &str) -> Option<DeclId> {
        self.scope
            .find_type(name)
            .or_else(|| self.anywhere.get(name).copied())
            .or_else(|| (name == "Result").then_some(super::ty::RESULT))
    }

    pub(super) fn lower_some(&mut self, ty: Option<&Type>) -> Ty {
        ty.map_or(Ty::Hole, |ty| self.lower(ty))
    }
}
