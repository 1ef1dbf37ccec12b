//! Fields and items of values.

use super::Checker;
use super::decls::Kind;
use super::scope::{SymbolId, SymbolKind};
use super::ty::{BOOL, INT, LIST, NEVER, NIL, STRING, Ty};
use crate::syntax::ast::{Expr, ExprKind, Ident, Name};

impl<'a> Checker<'a> {
    pub(super) fn field(&mut self, expr: &'a Expr, object: &'a Expr, name: &'a Ident, optional: bool) -> Ty {
        if let Some(id) = self.enum_named(object) {
            return match &self.decls[id].kind {
                Kind::Enum(variants)
                    if variants.find(&name.name).is_some_and(|known| !known.fields.is_empty()) =>
                {
                    Ty::Hole
                }
                _ => self.variant(id, name, &[]),
            };
        }
        let owner = self.infer(object);
        if let Some((symbol, path)) = self.place(expr)
            && let Some(known) = self.scope.current_field(symbol, &path)
        {
            return known.clone();
        }
        if let Ty::User(id, _) = self.expand(&owner.settled())
            && let Kind::Struct(fields) = &self.decls[id].kind
            && !fields.iter().any(|field| field.name == name.name)
        {
            let (fields, owner) = (fields.clone(), self.decls[id].name.clone());
            let known: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
            self.warn_unknown_field(name.span, &owner, &name.name, &known);
        }
        self.field_of(&owner, &name.name, optional)
    }

    /// The type of a field; a hole where nobody can tell.
    pub(super) fn field_of(&self, owner: &Ty, name: &str, optional: bool) -> Ty {
        let owner = self.expand(&owner.settled());
        match &owner {
            Ty::Union(members) => {
                let has_nil = members.items.contains(&NIL);
                if has_nil && !optional {
                    return Ty::Hole;
                }
                let rest = members.items.iter().filter(|member| **member != NIL);
                let parts: Vec<Ty> = rest.map(|member| self.field_of(member, name, false)).collect();
                let all = Ty::union(parts);
                if has_nil && !all.is_open() { Ty::union([all, NIL]) } else { all }
            }
            Ty::Shape(shape) => match shape.field(name) {
                Some(field) if field.optional => Ty::union([field.ty.clone(), NIL]),
                Some(field) => field.ty.clone(),
                None => Ty::Hole,
            },
            Ty::User(id, _) => match &self.decls[*id].kind {
                Kind::Struct(_) => match self.struct_shape(*id, owner.args()) {
                    Some(shape) => self.field_of(&shape, name, optional),
                    None => Ty::Hole,
                },
                Kind::Enum(_) => match name {
                    "variant" => STRING,
                    "fields" => LIST,
                    _ => Ty::Hole,
                },
                _ => Ty::Hole,
            },
            Ty::Basic("list" | "string", _) => match name {
                "count" => INT,
                "empty" => BOOL,
                _ => Ty::Hole,
            },
            _ => Ty::Hole,
        }
    }

    pub(super) fn item_at(&self, owner: &Ty, index: &Expr) -> Ty {
        let owner = self.expand(owner.bare());
        match (&owner, &index.kind) {
            (Ty::Shape(_), ExprKind::Str(key)) => self.field_of(&owner, key, false),
            (Ty::Basic("string", _), _) => STRING,
            (Ty::Basic("list", Some(args)), _) => match &args.items[..] {
                [item] => self.single(item),
                _ => Ty::Hole,
            },
            (Ty::Basic("dict", Some(args)), _) => match &args.items[..] {
                [_, value] => self.single(value),
                _ => Ty::Hole,
            },
            _ => Ty::Hole,
        }
    }

    /// One type, or nothing that is known: which of several an item has depends on where it is.
    fn single(&self, ty: &Ty) -> Ty {
        match self.expand(ty) {
            Ty::Union(_) => Ty::Hole,
            _ => ty.clone(),
        }
    }

    /// The variable that an expression is, or is a field of.
    pub(super) fn place(&self, expr: &Expr) -> Option<(SymbolId, Vec<Name>)> {
        let mut path = Vec::new();
        let mut expr = expr;
        loop {
            match &expr.kind {
                ExprKind::Paren(inner) => expr = inner,
                ExprKind::Field { object, name, .. } if path.len() < 8 => {
                    path.push(name.name.clone());
                    expr = object;
                }
                ExprKind::Name(name) => {
                    let symbol = self.scope.find(name)?;
                    if !matches!(self.scope.symbols[symbol].kind, SymbolKind::Variable(_)) {
                        return None;
                    }
                    path.reverse();
                    return Some((symbol, path));
                }
                _ => return None,
            }
        }
    }

    /// What is known about a place.
    pub(super) fn place_type(&self, symbol: SymbolId, path: &[Name]) -> Ty {
        if let Some(known) = self.scope.current_field(symbol, path) {
            return known.settled();
        }
        match path.split_last() {
            None => self.scope.current(symbol).map_or(Ty::Hole, |ty| ty.settled()),
            Some((last, before)) => {
                let owner = self.place_type(symbol, before);
                // It was looked at, so it is there.
                let owner = self.expand(&owner).without(|member| *member == NIL);
                if owner == NEVER { Ty::Hole } else { self.field_of(&owner, last, false) }
            }
        }
    }
}
