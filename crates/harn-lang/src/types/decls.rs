//! What is declared: types, with all that belongs to them, and functions.

use std::rc::Rc;

use hashbrown::HashMap;

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
    Enum(Rc<Variants>),
    Interface(Rc<Interface>),
    Alias(Ty),
}

pub struct Variant {
    pub name: Name,
    pub fields: Vec<(Name, Ty)>,
}

/// The variants of an enum, in their order.
pub struct Variants {
    all: Vec<Variant>,
    /// Where each name is, if there are many.
    places: HashMap<Name, usize>,
}

impl Variants {
    pub fn new(all: Vec<Variant>) -> Self {
        let mut places = HashMap::new();
        if all.len() > 8 {
            for (at, variant) in all.iter().enumerate() {
                places.entry(variant.name.clone()).or_insert(at);
            }
        }
        Self { all, places }
    }

    pub fn find(&self, name: &str) -> Option<&Variant> {
        match self.places.is_empty() {
            true => self.all.iter().find(|variant| &*variant.name == name),
            false => self.places.get(name).and_then(|at| self.all.get(*at)),
        }
    }
}

impl std::ops::Deref for Variants {
    type Target = [Variant];

    fn deref(&self) -> &[Variant] {
        &self.all
    }
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
        kind: Kind::Enum(Rc::new(Variants::new(vec![
            variant("Ok", "value", &value),
            variant("Err", "error", &error),
        ]))),
        params: vec![(value, Variance::Covariant), (error, Variance::Covariant)],
        methods: Vec::new(),
    }
}
