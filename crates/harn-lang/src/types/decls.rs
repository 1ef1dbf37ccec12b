//! What is declared: types, with all that belongs to them, and functions.

use std::rc::Rc;

use super::ty::{DeclId, Field, Ty};
use crate::syntax::ast::{Name, Variance};

/// A declared type.
pub struct TypeDecl {
    pub name: Name,
    pub params: Vec<(Name, Variance)>,
    pub kind: Kind,
    /// What `impl` blocks give it.
    pub methods: Vec<Rc<Signature>>,
}

pub enum Kind {
    /// Its name is known, its parts not yet.
    Ahead,
    Struct(Rc<[Field]>),
    Enum(Rc<[Variant]>),
    Interface(Rc<Interface>),
    Alias(Ty),
}

pub struct Variant {
    pub name: Name,
    pub fields: Vec<(Name, Ty)>,
}

pub struct Interface {
    pub types: Vec<(Name, Option<Ty>)>,
    pub methods: Vec<Signature>,
}

/// A function as its callers see it.
pub struct Signature {
    pub name: Name,
    pub type_params: Vec<Name>,
    pub params: Vec<Param>,
    pub returns: Option<Ty>,
    pub bounds: Vec<Bound>,
    /// What to say to whoever calls it.
    pub deprecated: Option<String>,
}

impl Signature {
    /// The parameters that a caller gives: without `self`.
    pub fn given(&self) -> &[Param] {
        match self.params.first() {
            Some(first) if &*first.name == "self" => &self.params[1..],
            _ => &self.params,
        }
    }
}

/// `where T: Interface`.
pub struct Bound {
    pub param: Name,
    pub interface: Name,
    /// None if there is no such interface.
    pub decl: Option<DeclId>,
}

pub struct Param {
    pub name: Name,
    pub ty: Ty,
    pub has_default: bool,
    pub is_rest: bool,
}

/// `Result<out T, out E>`.
pub fn result() -> TypeDecl {
    let (value, error): (Name, Name) = ("T".into(), "E".into());
    let variant = |name: &str, field: &str, ty: &Name| Variant {
        name: name.into(),
        fields: vec![(field.into(), Ty::Param(ty.clone()))],
    };
    TypeDecl {
        name: "Result".into(),
        kind: Kind::Enum([variant("Ok", "value", &value), variant("Err", "error", &error)].into()),
        params: vec![(value, Variance::Covariant), (error, Variance::Covariant)],
        methods: Vec::new(),
    }
}
