//! Types and their parameters.

use super::Formatter;
use super::layout::Op;
use super::lists::Padding;
use crate::syntax::ast::{ShapeField, Type, TypeKind, TypeParam, Variance};
use crate::syntax::token::Sign;

impl Formatter<'_> {
    pub(super) fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Name { args, .. } => {
                self.take();
                self.type_args(args);
            }
            TypeKind::List(item) => {
                self.take();
                self.ty(item);
                self.take();
            }
            TypeKind::Shape(fields) => self.list(fields, Padding::None, Self::shape_field),
            TypeKind::Union(members) => self.union(members),
            TypeKind::Function { params, returns } => {
                self.take();
                self.list(params, Padding::None, Self::ty);
                self.word(" ");
                self.take_word();
                self.ty(returns);
            }
            TypeKind::Str(_) => self.take(),
            TypeKind::Int(_) => {
                self.take_sign(Sign::Minus);
                self.take();
            }
        }
    }

    fn union(&mut self, members: &[Type]) {
        self.group(|f| {
            f.push(Op::Indent);
            for (at, member) in members.iter().enumerate() {
                if at > 0 {
                    f.push(Op::Line(" "));
                    f.take_word();
                }
                f.ty(member);
            }
            f.push(Op::Dedent);
        });
    }

    fn shape_field(&mut self, field: &ShapeField) {
        self.take();
        self.take_sign(Sign::Question);
        self.take_word();
        self.ty(&field.ty);
    }

    /// `<A, B>`, if there are any. There a trailing comma has no place.
    pub(super) fn type_args(&mut self, args: &[Type]) {
        if !args.is_empty() {
            self.angle_list(args, Self::ty);
        }
    }

    pub(super) fn type_params(&mut self, params: &[TypeParam]) {
        if !self.at_sign(Sign::Less) {
            return;
        }
        self.angle_list(params, |f, param| {
            if param.variance != Variance::Invariant {
                f.take_word();
            }
            f.take();
        });
    }

    fn angle_list<T>(&mut self, items: &[T], item: fn(&mut Self, &T)) {
        self.take();
        for (at, value) in items.iter().enumerate() {
            if at > 0 {
                self.word(", ");
            }
            item(self, value);
            if self.at_sign(Sign::Comma) {
                self.skip();
            }
        }
        self.take();
    }

    /// `: T`, if it is there.
    pub(super) fn annotation(&mut self, ty: &Option<Type>) {
        if let Some(ty) = ty {
            self.take_word();
            self.ty(ty);
        }
    }

    /// ` -> T`, if it is there.
    pub(super) fn returns(&mut self, ty: &Option<Type>) {
        if let Some(ty) = ty {
            self.word(" ");
            self.take_word();
            self.ty(ty);
        }
    }
}
