//! What a block declares is known in all of it, so it is looked at first.

use std::rc::Rc;

use hashbrown::HashMap;

use super::decls::{Bound, Interface, Kind, Param, Signature, TypeDecl, Variant, Variants};
use super::scope::SymbolKind;
use super::ty::{DeclId, Field, Ty};
use super::{Checker, Sig};
use crate::syntax::ast::{self, Decl, DeclKind, Name, Stmt, StmtKind};

impl<'a> Checker<'a> {
    /// The types of a file by name, wherever in it they are declared.
    pub(super) fn all_types(&mut self, body: &'a [Stmt]) -> HashMap<Name, DeclId> {
        let mut found = HashMap::new();
        let mut waiting: Vec<&'a [Stmt]> = vec![body];
        while let Some(body) = waiting.pop() {
            for stmt in body {
                match &stmt.kind {
                    StmtKind::Decl(decl) => {
                        if let Some((name, id)) = self.type_id(decl) {
                            found.entry(name.clone()).or_insert(id);
                        }
                        match &decl.kind {
                            DeclKind::Pipeline(inner) => waiting.push(&inner.body.body),
                            DeclKind::Function(inner) => waiting.push(&inner.body.body),
                            DeclKind::Tool(inner) => waiting.push(&inner.body.body),
                            _ => {}
                        }
                    }
                    StmtKind::For { body, .. } | StmtKind::While { body, .. } => waiting.push(&body.body),
                    _ => {}
                }
            }
        }
        found
    }

    /// The name and the number of the type that is declared here, if one is.
    fn type_id(&mut self, decl: &'a Decl) -> Option<(&'a Name, DeclId)> {
        let (name, params) = match &decl.kind {
            DeclKind::Struct(inner) => (&inner.name.name, &inner.type_params),
            DeclKind::Enum(inner) => (&inner.name.name, &inner.type_params),
            DeclKind::Interface(inner) => (&inner.name.name, &inner.type_params),
            DeclKind::Alias(inner) => (&inner.name.name, &inner.type_params),
            _ => return None,
        };
        let key = std::ptr::from_ref(decl) as usize;
        if let Some(id) = self.ids.get(&key) {
            return Some((name, *id));
        }
        let params = params.iter().map(|param| (param.name.name.clone(), param.variance)).collect();
        self.decls.push(TypeDecl { name: name.clone(), params, kind: Kind::Ahead, methods: Vec::new() });
        let id = self.decls.len() - 1;
        self.ids.insert(key, id);
        Some((name, id))
    }

    pub(super) fn hoist(&mut self, body: &'a [Stmt]) {
        let decls = || {
            body.iter().filter_map(|stmt| match &stmt.kind {
                StmtKind::Decl(decl) => Some(decl),
                _ => None,
            })
        };
        for decl in decls() {
            if let Some((name, id)) = self.type_id(decl) {
                self.scope.type_name(name, id);
            }
        }
        for decl in decls() {
            if let Some((_, id)) = self.type_id(decl)
                && matches!(self.decls[id].kind, Kind::Ahead)
            {
                self.decls[id].kind = self.parts(decl, id);
            }
        }
        for decl in decls() {
            if let DeclKind::Impl(inner) = &decl.kind {
                self.hoist_impl(inner);
            }
        }
        for decl in decls() {
            match &decl.kind {
                DeclKind::Function(inner) => {
                    let signature = self.signature(inner, decl);
                    self.scope.bind(&inner.name.name, SymbolKind::Function(signature));
                }
                DeclKind::Tool(inner) => self.scope.bind(&inner.name.name, SymbolKind::Other),
                DeclKind::Skill(inner) => self.scope.bind(&inner.name.name, SymbolKind::Other),
                DeclKind::EvalPack(inner) => {
                    inner.name.iter().for_each(|name| self.scope.bind(&name.name, SymbolKind::Other));
                }
                _ => {}
            }
        }
    }

    fn parts(&mut self, decl: &'a Decl, id: DeclId) -> Kind {
        let before = self.type_params.len();
        let params: Vec<Name> = self.decls[id].params.iter().map(|(name, _)| name.clone()).collect();
        self.type_params.extend(params);
        let kind = match &decl.kind {
            DeclKind::Struct(inner) => {
                let fields = inner.fields.iter().map(|field| Field {
                    name: field.name.name.clone(),
                    optional: field.optional,
                    ty: self.lower_some(field.ty.as_ref()),
                });
                Kind::Struct(fields.collect())
            }
            DeclKind::Enum(inner) => {
                let mut variants = Vec::new();
                for variant in &inner.variants {
                    let fields = variant.fields.iter();
                    let fields = fields
                        .map(|field| (field.name.name.clone(), self.lower_some(field.ty.as_ref())))
                        .collect();
                    variants.push(Variant { name: variant.name.name.clone(), fields });
                }
                Kind::Enum(Rc::new(Variants::new(variants)))
            }
            DeclKind::Interface(inner) => Kind::Interface(Rc::new(self.interface(inner))),
            DeclKind::Alias(inner) => Kind::Alias(self.lower(&inner.ty)),
            _ => Kind::Ahead,
        };
        self.type_params.truncate(before);
        kind
    }

    fn interface(&mut self, inner: &'a ast::Interface) -> Interface {
        let types: Vec<(Name, Option<Ty>)> = inner
            .types
            .iter()
            .map(|(name, ty)| (name.name.clone(), ty.as_ref().map(|ty| self.lower(ty))))
            .collect();
        self.type_params.extend(types.iter().map(|(name, _)| name.clone()));
        let mut methods = Vec::new();
        for method in &inner.methods {
            let before = self.type_params.len();
            self.type_params.extend(method.type_params.iter().map(|param| param.name.name.clone()));
            methods.push(Signature {
                name: method.name.name.clone(),
                type_params: Vec::new(),
                params: self.params(&method.params),
                returns: method.returns.as_ref().map(|ty| self.lower(ty)),
                bounds: Vec::new(),
                deprecated: None,
            });
            self.type_params.truncate(before);
        }
        Interface { types, methods }
    }

    fn hoist_impl(&mut self, inner: &'a ast::Impl) {
        let Some(id) = self.type_named(&inner.target.name) else { return };
        let before = self.type_params.len();
        let params: Vec<Name> = self.decls[id].params.iter().map(|(name, _)| name.clone()).collect();
        self.type_params.extend(params);
        for method in &inner.methods {
            if let DeclKind::Function(function) = &method.kind {
                let signature = self.signature(function, method);
                self.decls[id].methods.push(signature);
            }
        }
        self.type_params.truncate(before);
    }

    fn params(&mut self, params: &'a [ast::Param]) -> Vec<Param> {
        let params = params.iter().map(|param| Param {
            name: param.name.name.clone(),
            ty: self.lower_some(param.ty.as_ref()),
            has_default: param.default.is_some(),
            is_rest: param.is_rest,
        });
        params.collect()
    }

    pub(super) fn signature(&mut self, function: &'a ast::Function, decl: &'a Decl) -> Sig {
        let before = self.type_params.len();
        let type_params: Vec<Name> =
            function.type_params.iter().map(|param| param.name.name.clone()).collect();
        self.type_params.extend(type_params.iter().cloned());
        let params = self.params(&function.params);
        let returns = match &function.returns {
            Some(ty) => Some(self.lower(ty)),
            None => function.is_gen.then_some(Ty::Basic("Stream", None)),
        };
        let bounds = function.bounds.iter().map(|(param, interface)| Bound {
            param: param.name.clone(),
            interface: interface.name.clone(),
            decl: self.type_named(&interface.name),
        });
        let bounds = bounds.collect();
        self.type_params.truncate(before);
        let deprecated = super::attributes::deprecation(&function.name.name, &decl.attributes);
        Rc::new(Signature {
            name: function.name.name.clone(),
            type_params,
            params,
            returns,
            bounds,
            deprecated,
        })
    }
}
