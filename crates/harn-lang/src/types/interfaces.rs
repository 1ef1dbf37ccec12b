//! Whether a type has what an interface wants.

use super::Checker;
use super::decls::{Interface, Kind, Signature};
use super::expand::{Bindings, bindings, substitute};
use super::ty::{DeclId, Ty};
use crate::syntax::ast::Name;

impl Checker<'_> {
    /// Why a type does not satisfy an interface; none if it does, or if nobody can tell.
    pub(super) fn unsatisfied(&self, ty: &Ty, interface: DeclId, args: &[Ty], depth: u32) -> Option<String> {
        let decl = &self.decls[interface];
        let Kind::Interface(wanted) = &decl.kind else { return None };
        let ty = ty.bare();
        let methods = match ty {
            Ty::User(id, _) if *id == interface => return None,
            Ty::User(id, _) if matches!(self.decls[*id].kind, Kind::Struct(_) | Kind::Enum(_)) => {
                &self.decls[*id].methods[..]
            }
            Ty::Basic("int" | "float" | "string" | "bool" | "nil" | "bytes" | "duration" | "list", _)
            | Ty::Str(_)
            | Ty::Int(_) => &[],
            _ => return None,
        };
        if methods.is_empty() {
            let names: Vec<&str> = wanted.methods.iter().map(|method| &*method.name).collect();
            return (!names.is_empty()).then(|| format!("missing method(s): {}", names.join(", ")));
        }
        let own = match ty {
            Ty::User(id, _) => bindings(self.decls[*id].params.iter().map(|(name, _)| name), ty.args()),
            _ => Vec::new(),
        };
        let bound = bindings(decl.params.iter().map(|(name, _)| name), args);
        self.missing(wanted, methods, bound, &own, depth)
    }

    fn missing(
        &self,
        wanted: &Interface,
        methods: &[std::rc::Rc<Signature>],
        mut bound: Bindings,
        own: &Bindings,
        depth: u32,
    ) -> Option<String> {
        let found = |name: &Name| methods.iter().find(|method| method.name == *name);
        for method in &wanted.methods {
            let Some(given) = found(&method.name) else {
                return Some(format!("missing method '{}'", method.name));
            };
            let (has, wants) = (given.given().len(), method.given().len());
            if has != wants {
                return Some(format!("method '{}' has {has} parameter(s), expected {wants}", method.name));
            }
        }
        for method in &wanted.methods {
            let Some(given) = found(&method.name) else { continue };
            if let Some(reason) = self.associated(wanted, method, given, own, &mut bound) {
                return Some(reason);
            }
        }
        for (name, _) in &wanted.types {
            if !bound.iter().any(|(known, _)| known == name) {
                bound.push((name.clone(), Ty::Hole));
            }
        }
        wanted
            .methods
            .iter()
            .find_map(|method| self.method_differs(method, found(&method.name)?, &bound, own, depth))
    }

    /// Finds out what the associated types are.
    fn associated(
        &self,
        wanted: &Interface,
        method: &Signature,
        given: &Signature,
        own: &Bindings,
        bound: &mut Bindings,
    ) -> Option<String> {
        let params = method.given().iter().map(|param| &param.ty);
        let given_params = given.given().iter().map(|param| &param.ty);
        let returns = method.returns.iter().zip(&given.returns);
        for (pattern, actual) in params.zip(given_params).chain(returns) {
            let Ty::Param(name) = pattern else { continue };
            let Some((_, default)) = wanted.types.iter().find(|(known, _)| known == name) else { continue };
            let actual = substitute(actual, own);
            if actual.is_open() {
                continue;
            }
            let known = bound.iter().find(|(known, _)| known == name).map(|(_, ty)| ty).or(default.as_ref());
            match known {
                Some(expected) if !self.fit(&actual, expected, 1) => {
                    return Some(format!(
                        "associated type '{name}' resolves to '{}', expected '{}'",
                        self.show(&actual),
                        self.show(expected)
                    ));
                }
                _ if bound.iter().any(|(known, _)| known == name) => {}
                _ => bound.push((name.clone(), actual)),
            }
        }
        None
    }

    fn method_differs(
        &self,
        method: &Signature,
        given: &Signature,
        bound: &Bindings,
        own: &Bindings,
        depth: u32,
    ) -> Option<String> {
        for (at, (wanted, has)) in method.given().iter().zip(given.given()).enumerate() {
            let (wanted, has) = (substitute(&wanted.ty, bound), substitute(&has.ty, own));
            if !self.fit(&wanted, &has, depth + 1) {
                return Some(format!(
                    "method '{}' parameter {} has type '{}', expected '{}'",
                    method.name,
                    at + 1,
                    self.show(&has),
                    self.show(&wanted)
                ));
            }
        }
        let (wanted, has) = (method.returns.as_ref()?, given.returns.as_ref()?);
        let (wanted, has) = (substitute(wanted, bound), substitute(has, own));
        (!self.fit(&has, &wanted, depth + 1)).then(|| {
            format!(
                "method '{}' returns '{}', expected '{}'",
                method.name,
                self.show(&has),
                self.show(&wanted)
            )
        })
    }
}
