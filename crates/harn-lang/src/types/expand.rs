//! What aliases stand for, and generic types with their arguments put in.

use super::Checker;
use super::decls::Kind;
use super::ty::{Field, Ty};
use crate::syntax::ast::Name;

/// An alias of an alias of an alias, and so on: no further.
const MAX_STEPS: usize = 40;
/// Alternatives that a generic alias has when its arguments are unions.
const MAX_ALTERNATIVES: usize = 64;

/// What type parameters stand for.
pub type Bindings = Vec<(Name, Ty)>;

impl Checker<'_> {
    /// What an alias stands for; anything else is itself. A union as argument gives a union of results.
    pub(super) fn expand(&self, ty: &Ty) -> Ty {
        self.expanded(ty, true)
    }

    /// The same, with unions put in whole.
    pub(super) fn expand_whole(&self, ty: &Ty) -> Ty {
        self.expanded(ty, false)
    }

    fn expanded(&self, ty: &Ty, distribute: bool) -> Ty {
        let mut current = match ty {
            Ty::Loose(..) => return ty.clone(),
            other => other.clone(),
        };
        for _ in 0..MAX_STEPS {
            let Ty::User(id, _) = &current else { return self.flat(current) };
            let decl = &self.decls[*id];
            let Kind::Alias(target) = &decl.kind else { return current };
            let args = current.args();
            if decl.params.is_empty() {
                current = target.clone();
                continue;
            }
            let names = decl.params.iter().map(|(name, _)| name);
            let given: Vec<Ty> =
                names.clone().enumerate().map(|(at, _)| args.get(at).cloned().unwrap_or(Ty::Hole)).collect();
            let alternatives = if distribute { self.alternatives(&given) } else { vec![given] };
            let results = alternatives.into_iter().map(|args| {
                let bindings: Bindings = names.clone().cloned().zip(args).collect();
                substitute(target, &bindings)
            });
            current = Ty::union(results);
        }
        Ty::Hole
    }

    /// Members that are aliases of unions are members themselves.
    fn flat(&self, ty: Ty) -> Ty {
        let Ty::Union(members) = &ty else { return ty };
        let is_alias =
            |member: &Ty| matches!(member, Ty::User(id, _) if matches!(self.decls[*id].kind, Kind::Alias(_)));
        if !members.items.iter().any(is_alias) {
            return ty;
        }
        self.flattened(&ty, 0)
    }

    fn flattened(&self, ty: &Ty, depth: usize) -> Ty {
        if depth > MAX_STEPS || !self.spend() {
            return Ty::Hole;
        }
        match ty {
            Ty::Union(members) => {
                Ty::union(members.items.iter().map(|member| self.flattened(member, depth + 1)))
            }
            Ty::User(id, _) => match &self.decls[*id].kind {
                Kind::Alias(target) => {
                    let names = self.decls[*id].params.iter().map(|(name, _)| name.clone());
                    let bindings: Bindings = names
                        .enumerate()
                        .map(|(at, name)| (name, ty.args().get(at).cloned().unwrap_or(Ty::Hole)))
                        .collect();
                    self.flattened(&substitute(target, &bindings), depth + 1)
                }
                _ => ty.clone(),
            },
            other => other.clone(),
        }
    }

    fn alternatives(&self, args: &[Ty]) -> Vec<Vec<Ty>> {
        let mut all: Vec<Vec<Ty>> = vec![Vec::new()];
        for arg in args {
            let arg = match arg {
                Ty::User(..) => self.expand_members(arg),
                other => other.clone(),
            };
            let members = arg.members();
            if all.len() * members.len() > MAX_ALTERNATIVES {
                return vec![args.to_vec()];
            }
            all = all
                .into_iter()
                .flat_map(|row| {
                    members.iter().map(move |member| [row.clone(), vec![member.clone()]].concat())
                })
                .collect();
        }
        all
    }

    /// An alias of a union is that union; any other type keeps its name.
    fn expand_members(&self, ty: &Ty) -> Ty {
        match self.flattened(ty, 0) {
            union @ Ty::Union(_) => union,
            _ => ty.clone(),
        }
    }
}

/// The type with parameters replaced.
pub fn substitute(ty: &Ty, bindings: &[(Name, Ty)]) -> Ty {
    if bindings.is_empty() {
        return ty.clone();
    }
    let inner = |ty: &Ty| substitute(ty, bindings);
    match ty {
        Ty::Param(name) => match bindings.iter().find(|(bound, _)| bound == name) {
            Some((_, ty)) => ty.clone(),
            None => ty.clone(),
        },
        Ty::Basic(name, Some(args)) => Ty::basic(name, args.items.iter().map(inner).collect()),
        Ty::User(id, Some(args)) => Ty::user(*id, args.items.iter().map(inner).collect()),
        Ty::Union(members) => Ty::union(members.items.iter().map(inner)),
        Ty::Shape(shape) => Ty::shape(
            shape.fields.iter().map(|field| Field { ty: inner(&field.ty), ..field.clone() }).collect(),
        ),
        Ty::Function(function) => {
            Ty::function(function.params.iter().map(inner).collect(), inner(&function.returns))
        }
        Ty::Loose(ty, _) => inner(ty).fresh(),
        other => other.clone(),
    }
}

/// What the parameters of a generic type are, given its arguments; what is not given is not known.
pub fn bindings<'n>(params: impl Iterator<Item = &'n Name>, args: &[Ty]) -> Bindings {
    params.enumerate().map(|(at, name)| (name.clone(), args.get(at).cloned().unwrap_or(Ty::Hole))).collect()
}
