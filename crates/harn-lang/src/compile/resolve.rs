//! What a type stands for: its aliases put in, with what they are given for their parameters.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::syntax::ast::*;

/// How deep a type is looked into: aliases may name each other in a circle. One that is too large is looked into less
/// deeply, so that all of its parts are as deep.
const DEPTHS: [usize; 6] = [32, 16, 12, 8, 6, 4];
/// How many parts a type has at most; what is beyond is not looked at.
const MAX_PARTS: u32 = 2000;
/// How many parts are looked at for all types of a program.
pub(crate) const ALL_PARTS: u32 = 1 << 23;

/// What the name of a type stands for.
#[derive(Clone)]
enum Declared {
    Alias(Arc<Alias>),
    Struct(Arc<Struct>),
    Interface,
    Enum,
}

/// The types that a module can name.
#[derive(Clone, Default)]
pub(crate) struct Types {
    own: HashMap<Name, Declared>,
    /// Those of other modules: where each is at home.
    pub(crate) imported: HashMap<Name, Arc<Types>>,
}

impl Types {
    /// Makes a type known, instead of any other of the same name.
    pub(crate) fn declare(&mut self, decl: &Decl) {
        if let Some((name, declared)) = declared(decl) {
            self.own.insert(name.clone(), declared);
        }
    }

    /// Makes a type known, unless one of the same name is.
    pub(crate) fn declare_new(&mut self, decl: &Decl) {
        if let Some((name, declared)) = declared(decl) {
            self.own.entry(name.clone()).or_insert(declared);
        }
    }

    fn find(&self, name: &Name) -> Option<(&Declared, &Self)> {
        match self.own.get(name) {
            Some(declared) => Some((declared, self)),
            None => self.imported.get(name)?.find(name),
        }
    }

    pub(crate) fn has_alias(&self, name: &Name) -> bool {
        matches!(self.find(name), Some((Declared::Alias(_), _)))
    }

    pub(crate) fn has_struct(&self, name: &Name) -> bool {
        matches!(self.find(name), Some((Declared::Struct(_), _)))
    }

    pub(crate) fn has_enum(&self, name: &Name) -> bool {
        matches!(self.find(name), Some((Declared::Enum, _)))
    }
}

fn declared(decl: &Decl) -> Option<(&Name, Declared)> {
    Some(match &decl.kind {
        DeclKind::Alias(inner) => (&inner.name.name, Declared::Alias(Arc::new(inner.clone()))),
        DeclKind::Struct(inner) => (&inner.name.name, Declared::Struct(Arc::new(inner.clone()))),
        DeclKind::Interface(inner) => (&inner.name.name, Declared::Interface),
        DeclKind::Enum(inner) => (&inner.name.name, Declared::Enum),
        _ => return None,
    })
}

/// The name of a type that a declaration makes.
pub(crate) fn type_name(decl: &Decl) -> Option<&Name> {
    declared(decl).map(|(name, _)| name)
}

/// A type without names of aliases.
#[derive(Clone, Debug)]
pub(crate) enum Resolved {
    /// Everything is one, or it cannot be told.
    Any,
    /// `int`, `string`, `list` and the like.
    Kind(Name),
    List(Box<Resolved>),
    Set(Box<Resolved>),
    Dict(Box<Resolved>),
    Shape(Vec<ResolvedField>),
    Struct(Vec<ResolvedField>),
    Interface(Name),
    Union(Vec<Resolved>),
    Function,
    Str(Arc<str>),
    Int(i64),
}

#[derive(Clone, Debug)]
pub(crate) struct ResolvedField {
    pub name: Name,
    pub optional: bool,
    pub ty: Resolved,
}

/// Whether an alias with parameters is looked into.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Generics {
    Any,
    PutIn,
}

/// Where a type is written.
pub(crate) struct Place<'p> {
    pub types: &'p Types,
    /// Whether a name is a type parameter of the code around.
    pub is_param: &'p dyn Fn(&Name) -> bool,
    pub generics: Generics,
    /// What is left of `ALL_PARTS`.
    pub left: &'p Cell<u32>,
}

impl Place<'_> {
    pub(crate) fn resolve(&self, ty: &Type) -> Resolved {
        let mut resolved = Resolved::Any;
        for deepest in DEPTHS {
            let all = self.left.get().min(MAX_PARTS);
            let mut resolver = Resolver { place: self, deepest, left: all };
            resolved = resolver.ty(ty, &Scope::new(self.types), 0);
            self.left.set(self.left.get() - (all - resolver.left));
            if resolver.left > 0 {
                break;
            }
        }
        resolved
    }
}

/// What names mean within a declaration.
struct Scope<'s> {
    types: &'s Types,
    params: &'s [TypeParam],
    args: &'s [Type],
    /// Where the arguments were written.
    outer: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    fn new(types: &'s Types) -> Self {
        Self { types, params: &[], args: &[], outer: None }
    }
}

struct Resolver<'r> {
    place: &'r Place<'r>,
    deepest: usize,
    left: u32,
}

impl Resolver<'_> {
    fn ty(&mut self, ty: &Type, scope: &Scope<'_>, depth: usize) -> Resolved {
        if depth > self.deepest || self.left == 0 {
            return Resolved::Any;
        }
        self.left -= 1;
        let depth = depth + 1;
        match &ty.kind {
            TypeKind::Name { name, args } => match (&**name, args.as_slice()) {
                ("any" | "unknown", _) => Resolved::Any,
                ("list", [item]) => Resolved::List(Box::new(self.ty(item, scope, depth))),
                ("set", [item]) => Resolved::Set(Box::new(self.ty(item, scope, depth))),
                ("dict", [_, value]) => Resolved::Dict(Box::new(self.ty(value, scope, depth))),
                _ => self.named(name, args, scope, depth),
            },
            TypeKind::List(item) => Resolved::List(Box::new(self.ty(item, scope, depth))),
            TypeKind::Shape(fields) => {
                let fields = fields.iter().map(|field| (&field.name, field.optional, Some(&field.ty)));
                Resolved::Shape(self.fields(fields, scope, depth))
            }
            TypeKind::Union(members) => {
                Resolved::Union(members.iter().map(|member| self.ty(member, scope, depth)).collect())
            }
            TypeKind::Function { .. } => Resolved::Function,
            TypeKind::Str(text) => Resolved::Str(text.clone()),
            TypeKind::Int(value) => Resolved::Int(*value),
        }
    }

    fn fields<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f Ident, bool, Option<&'f Type>)>,
        scope: &Scope<'_>,
        depth: usize,
    ) -> Vec<ResolvedField> {
        fields
            .map(|(name, optional, ty)| ResolvedField {
                name: name.name.clone(),
                optional,
                ty: ty.map_or(Resolved::Any, |ty| self.ty(ty, scope, depth)),
            })
            .collect()
    }

    fn named(&mut self, name: &Name, args: &[Type], scope: &Scope<'_>, depth: usize) -> Resolved {
        if let Some(at) = scope.params.iter().position(|param| param.name.name == *name) {
            return match (scope.args.get(at), scope.outer) {
                (Some(arg), Some(outer)) => self.ty(arg, outer, depth),
                _ => Resolved::Any,
            };
        }
        if scope.outer.is_none() && (self.place.is_param)(name) {
            return Resolved::Any;
        }
        let within = |types, params| Scope { types, params, args, outer: Some(scope) };
        match scope.types.find(name) {
            Some((Declared::Alias(alias), home)) => {
                if self.place.generics == Generics::Any && !alias.type_params.is_empty() {
                    return Resolved::Any;
                }
                self.ty(&alias.ty, &within(home, &alias.type_params), depth)
            }
            Some((Declared::Struct(inner), home)) => {
                let fields =
                    inner.fields.iter().map(|field| (&field.name, field.optional, field.ty.as_ref()));
                Resolved::Struct(self.fields(fields, &within(home, &inner.type_params), depth))
            }
            Some((Declared::Interface, _)) => Resolved::Interface(name.clone()),
            Some((Declared::Enum, _)) => Resolved::Any,
            // Kinds of values are in lower case; what is not is a type that nothing declares.
            None if name.starts_with(char::is_lowercase) => Resolved::Kind(name.clone()),
            None => Resolved::Any,
        }
    }
}
