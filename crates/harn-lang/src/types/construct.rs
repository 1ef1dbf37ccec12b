//! Structs and enum values where they are made.

use super::Checker;
use super::decls::Kind;
use super::expand::{Bindings, bindings, substitute};
use super::functions::open;
use super::ty::{DeclId, Field, Ty};
use crate::problem::Code;
use crate::syntax::ast::{Element, Entry, Expr, ExprKind, Ident, Name};
use crate::syntax::span::Span;

impl<'a> Checker<'a> {
    /// `Name { field: value }`.
    pub(super) fn struct_literal(&mut self, name: &'a Ident, entries: &'a [Entry]) -> Ty {
        let id = self.type_named(&name.name);
        let Some(id) = id else {
            for entry in entries {
                self.entry(entry);
            }
            if self.knows_imports && self.scope.find(&name.name).is_none() {
                let near = self.nearest(&name.name, self.scope.type_names());
                let hint = near.map(|near| format!(" \u{2014} did you mean `{near}`?")).unwrap_or_default();
                let message = format!("unknown struct type `{}`{hint}", name.name);
                let help = format!("declare it: struct {} {{ ... }}", name.name);
                self.say_with(Code::UnknownStruct, name.span, message, help);
            }
            return Ty::Hole;
        };
        self.fields_of(id, entries, Vec::new(), name.span)
    }

    /// `Name({field: value})`.
    pub(super) fn construct(&mut self, id: DeclId, args: &'a [Element], types: Vec<Ty>, span: Span) -> Ty {
        if let [Element::Plain(Expr { kind: ExprKind::Dict(entries), .. })] = args {
            return self.fields_of(id, entries, types, span);
        }
        self.arguments(args);
        Ty::user(id, types)
    }

    fn entry(&mut self, entry: &'a Entry) -> Option<(&'a Ident, Span, Ty)> {
        match entry {
            Entry::Named { key, value } => {
                let ty = self.infer(value);
                Some((key, value.span, ty))
            }
            Entry::Computed { key, value } => {
                self.infer(key);
                self.infer(value);
                None
            }
            Entry::Spread(value) => {
                self.infer(value);
                None
            }
        }
    }

    fn fields_of(&mut self, id: DeclId, entries: &'a [Entry], types: Vec<Ty>, span: Span) -> Ty {
        let given: Vec<_> = entries.iter().filter_map(|entry| self.entry(entry)).collect();
        let is_complete = given.len() == entries.len();
        let decl = &self.decls[id];
        let Kind::Struct(fields) = &decl.kind else {
            return Ty::user(id, types);
        };
        let (fields, owner) = (fields.clone(), decl.name.clone());
        let params: Vec<Name> = decl.params.iter().map(|(name, _)| name.clone()).collect();
        let explicit = if types.is_empty() { Vec::new() } else { bindings(params.iter(), &types) };
        let mut bound: Bindings = explicit.clone();
        for (key, at, ty) in &given {
            match fields.iter().find(|field| field.name == key.name) {
                Some(field) => self.field_given(&owner, field, *at, ty, &params, &explicit, &mut bound),
                None => {
                    let known: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
                    self.warn_unknown_field(key.span, &owner, &key.name, &known);
                }
            }
        }
        let is_missing =
            |field: &&Field| !field.optional && !given.iter().any(|(key, ..)| key.name == field.name);
        let missing: Vec<String> =
            fields.iter().filter(is_missing).map(|field| format!("'{}'", field.name)).collect();
        if is_complete && !missing.is_empty() {
            let message = format!("struct '{owner}' is made without {}", missing.join(", "));
            let help = "a field that is not given is nil; mark it with `?` in the struct if that is meant";
            self.say_with(Code::MissingField, span, message, help);
        }
        let bound = open(&bound, &params);
        let args = params.iter().map(|param| substitute(&Ty::Param(param.clone()), &bound)).collect();
        Ty::user(id, args).fresh()
    }

    #[expect(clippy::too_many_arguments, reason = "all of what is known about one field of one literal")]
    fn field_given(
        &mut self,
        owner: &Name,
        field: &Field,
        span: Span,
        ty: &Ty,
        params: &[Name],
        explicit: &Bindings,
        bound: &mut Bindings,
    ) {
        if explicit.is_empty() && !params.is_empty() {
            self.find_bindings(params, &field.ty, ty, span, bound);
        }
        let expected = substitute(&field.ty, &open(explicit, params));
        let may_be_nil = field.optional && *ty == super::ty::NIL;
        if !may_be_nil && !self.fits(ty, &expected) {
            let (wanted, got) = (self.show_out(&expected), self.show_out(ty));
            let message = format!("Field '{}' in struct '{owner}' expects {wanted}, got {got}", field.name);
            self.mismatch(span, message, ty, &expected);
        }
    }

    /// The enum that a name stands for, if no variable has that name.
    pub(super) fn enum_named(&self, object: &Expr) -> Option<DeclId> {
        let ExprKind::Name(name) = &object.kind else { return None };
        if self.scope.find(name).is_some() {
            return None;
        }
        self.type_named(name).filter(|id| matches!(self.decls[*id].kind, Kind::Enum(_)))
    }

    /// `E.V` or `E.V(args)`.
    pub(super) fn variant(&mut self, id: DeclId, variant: &'a Ident, args: &'a [Element]) -> Ty {
        let given = self.arguments(args);
        let decl = &self.decls[id];
        let Kind::Enum(variants) = &decl.kind else { return Ty::Hole };
        let (variants, owner) = (variants.clone(), decl.name.clone());
        let params: Vec<Name> = decl.params.iter().map(|(name, _)| name.clone()).collect();
        let Some(known) = variants.find(&variant.name) else {
            let names = variants.iter().map(|variant| &*variant.name);
            let help = match crate::near::nearest(&variant.name, names.clone()) {
                Some(near) => format!("did you mean `{owner}.{near}`?"),
                None => format!("it has {}", names.collect::<Vec<_>>().join(", ")),
            };
            let message = format!("enum '{owner}' has no variant '{}'", variant.name);
            self.say_with(Code::UnknownVariant, variant.span, message, help);
            return Ty::user(id, Vec::new());
        };
        let mut bound: Bindings = Vec::new();
        for ((name, ty), given) in known.fields.iter().zip(&given) {
            self.find_bindings(&params, ty, &given.ty, given.span, &mut bound);
            let expected = substitute(ty, &open(&Vec::new(), &params));
            if !self.fits(&given.ty, &expected) {
                let (wanted, got) = (self.show_out(&expected), self.show_out(&given.ty));
                let message = format!("{owner}.{} expects {name}: {wanted}, got {got}", known.name);
                self.mismatch(given.span, message, &given.ty, &expected);
            }
        }
        if given.len() == args.len() && given.len() != known.fields.len() {
            let (wanted, noun) =
                (known.fields.len(), if known.fields.len() == 1 { "value" } else { "values" });
            let message = format!("{owner}.{} takes {wanted} {noun}, got {}", known.name, given.len());
            self.say(Code::Arity, variant.span, message);
        }
        let bound = open(&bound, &params);
        let args = params.iter().map(|param| substitute(&Ty::Param(param.clone()), &bound)).collect();
        Ty::user(id, args).fresh()
    }
}
