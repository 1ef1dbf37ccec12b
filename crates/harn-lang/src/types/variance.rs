//! `in` and `out` on type parameters: where such a parameter may stand.

use super::Checker;
use crate::problem::Code;
use crate::syntax::ast::{Decl, DeclKind, Type, TypeKind, TypeParam, Variance};
use crate::syntax::span::Span;

/// What a type is used for at a place.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// Values come out.
    Covariant,
    /// Values go in.
    Contravariant,
    /// Both, as in a list.
    Both,
}

impl Position {
    fn flipped(self) -> Self {
        match self {
            Self::Covariant => Self::Contravariant,
            Self::Contravariant => Self::Covariant,
            Self::Both => Self::Both,
        }
    }
}

struct Owner<'a> {
    kind: &'static str,
    name: &'a str,
    params: &'a [TypeParam],
}

impl<'a> Checker<'a> {
    pub(super) fn variance(&mut self, decl: &'a Decl) {
        let (owner, uses) = match &decl.kind {
            DeclKind::Struct(inner) => (
                Owner { kind: "struct", name: &inner.name.name, params: &inner.type_params },
                inner
                    .fields
                    .iter()
                    .filter_map(|field| Some((field.ty.as_ref()?, Position::Covariant)))
                    .collect(),
            ),
            DeclKind::Enum(inner) => {
                let fields = inner.variants.iter().flat_map(|variant| &variant.fields);
                (
                    Owner { kind: "enum", name: &inner.name.name, params: &inner.type_params },
                    fields.filter_map(|field| Some((field.ty.as_ref()?, Position::Covariant))).collect(),
                )
            }
            DeclKind::Alias(inner) => (
                Owner { kind: "type alias", name: &inner.name.name, params: &inner.type_params },
                vec![(&inner.ty, Position::Covariant)],
            ),
            DeclKind::Interface(inner) => {
                let mut uses = Vec::new();
                for method in &inner.methods {
                    let params = method.params.iter().filter_map(|param| param.ty.as_ref());
                    uses.extend(params.map(|ty| (ty, Position::Contravariant)));
                    uses.extend(method.returns.iter().map(|ty| (ty, Position::Covariant)));
                }
                (Owner { kind: "interface", name: &inner.name.name, params: &inner.type_params }, uses)
            }
            _ => return,
        };
        if owner.params.iter().any(|param| param.variance != Variance::Invariant) {
            uses.into_iter().for_each(|(ty, position): (&Type, _)| self.position(ty, position, &owner));
        }
    }

    fn position(&mut self, ty: &Type, position: Position, owner: &Owner<'_>) {
        match &ty.kind {
            TypeKind::Name { name, args } => {
                if let Some(param) = owner.params.iter().find(|param| param.name.name == *name) {
                    self.param_at(param, position, ty.span, owner);
                }
                for (at, arg) in args.iter().enumerate() {
                    self.position(arg, self.argument_position(name, at, position), owner);
                }
            }
            TypeKind::List(item) => self.position(item, Position::Both, owner),
            TypeKind::Shape(fields) => {
                fields.iter().for_each(|field| self.position(&field.ty, position, owner))
            }
            TypeKind::Union(members) => {
                members.iter().for_each(|member| self.position(member, position, owner))
            }
            TypeKind::Function { params, returns } => {
                params.iter().for_each(|param| self.position(param, position.flipped(), owner));
                self.position(returns, position, owner);
            }
            TypeKind::Str(_) | TypeKind::Int(_) => {}
        }
    }

    fn argument_position(&self, name: &str, at: usize, position: Position) -> Position {
        let variance = match name {
            "iter" | "Iter" | "Generator" | "Stream" | "Result" => Some(Variance::Covariant),
            _ => {
                let decl = self.type_named(name).map(|id| &self.decls[id]);
                decl.and_then(|decl| decl.params.get(at)).map(|(_, variance)| *variance)
            }
        };
        match variance {
            Some(Variance::Covariant) => position,
            Some(Variance::Contravariant) => position.flipped(),
            Some(Variance::Invariant) | None => Position::Both,
        }
    }

    /// Where a type is both read and written, nothing is said: what is done with it is not known here.
    fn param_at(&mut self, param: &TypeParam, position: Position, span: Span, owner: &Owner<'_>) {
        let (word, long, wrong) = match (param.variance, position) {
            (Variance::Covariant, Position::Contravariant) => ("out", "covariant", "contravariant"),
            (Variance::Contravariant, Position::Covariant) => ("in", "contravariant", "covariant"),
            _ => return,
        };
        let message = format!(
            "type parameter '{}' is declared '{word}' ({long}) but appears in a {wrong} position in {} '{}'",
            param.name.name, owner.kind, owner.name
        );
        let help = format!(
            "leave out `{word}`, or use the parameter only where values {}",
            if word == "out" { "come out" } else { "go in" }
        );
        self.say_with(Code::Variance, span, message, help);
    }
}
