//! Types as the checker thinks of them.
//!
//! A type is cheap to copy and never large: what would grow beyond `MAX_WEIGHT` or `MAX_DEPTH` is a hole, about
//! which nothing is known. So every walk over a type may recurse and ends soon.

use std::rc::Rc;

use crate::syntax::ast::Name;

/// The number of a declared type: a struct, an enum, an interface or an alias.
pub type DeclId = usize;

/// `Result`, which every program has.
pub const RESULT: DeclId = 0;

const MAX_WEIGHT: u32 = 2000;
const MAX_DEPTH: u32 = 48;
/// Members of a union.
const MAX_MEMBERS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    /// Nothing is known, so nothing is wrong.
    Hole,
    /// A name of the language, with arguments if any: `int`, `list<int>`.
    Basic(&'static str, Option<Rc<Args>>),
    /// A declared type.
    User(DeclId, Option<Rc<Args>>),
    /// A parameter of the generic declaration at hand.
    Param(Name),
    Shape(Rc<Shape>),
    Union(Rc<Args>),
    Function(Rc<Function>),
    Str(Name),
    Int(i64),
    /// A generic type that nobody wrote down: its arguments are what was found in a value, and may be taken for wider
    /// ones.
    Loose(Rc<Ty>, Holder),
}

/// Who has a value whose type nobody wrote down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holder {
    /// It was made right here.
    Nobody,
    Variable,
}

#[derive(Debug, PartialEq)]
pub struct Args {
    pub items: Vec<Ty>,
    size: Size,
}

#[derive(Debug, PartialEq)]
pub struct Shape {
    pub fields: Vec<Field>,
    size: Size,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Name,
    pub optional: bool,
    pub ty: Ty,
}

#[derive(Debug, PartialEq)]
pub struct Function {
    pub params: Vec<Ty>,
    pub returns: Ty,
    size: Size,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    weight: u32,
    depth: u32,
    /// Something within is not known.
    has_hole: bool,
}

impl Size {
    fn of<'t>(parts: impl Iterator<Item = &'t Ty>) -> Self {
        let nothing = Self { weight: 0, depth: 0, has_hole: false };
        let within = parts.map(Ty::size).fold(nothing, |all, one| Self {
            weight: all.weight.saturating_add(one.weight),
            depth: all.depth.max(one.depth),
            has_hole: all.has_hole || one.has_hole,
        });
        Self { weight: within.weight.saturating_add(1), depth: within.depth + 1, ..within }
    }

    fn is_fine(self) -> bool {
        self.weight <= MAX_WEIGHT && self.depth <= MAX_DEPTH
    }
}

pub const INT: Ty = Ty::Basic("int", None);
pub const FLOAT: Ty = Ty::Basic("float", None);
pub const STRING: Ty = Ty::Basic("string", None);
pub const BOOL: Ty = Ty::Basic("bool", None);
pub const NIL: Ty = Ty::Basic("nil", None);
pub const LIST: Ty = Ty::Basic("list", None);
pub const DICT: Ty = Ty::Basic("dict", None);
pub const CLOSURE: Ty = Ty::Basic("closure", None);
pub const NEVER: Ty = Ty::Basic("never", None);
pub const UNKNOWN: Ty = Ty::Basic("unknown", None);

/// The names of types that the language has.
pub const BASIC: &[&str] = &[
    "int",
    "float",
    "string",
    "bytes",
    "bool",
    "nil",
    "list",
    "dict",
    "set",
    "closure",
    "duration",
    "range",
    "iter",
    "generator",
    "stream",
    "any",
    "unknown",
    "never",
    "Generator",
    "Stream",
    "Iter",
    "pair",
    "Pair",
    "Schema",
];

/// Names of values that have no type to check: they are known, and fit everywhere.
pub const UNCHECKED: &[&str] = &[
    "task_handle",
    "channel",
    "atomic",
    "rng",
    "sync_permit",
    "mcp_client",
    "enum",
    "struct",
    "builtin",
    "_",
];

impl Ty {
    fn size(&self) -> Size {
        match self {
            Self::Basic(_, Some(args)) | Self::User(_, Some(args)) | Self::Union(args) => args.size,
            Self::Shape(shape) => shape.size,
            Self::Function(function) => function.size,
            Self::Loose(inner, _) => inner.size(),
            Self::Hole | Self::Param(_) => Size { weight: 1, depth: 1, has_hole: true },
            _ => Size { weight: 1, depth: 1, has_hole: false },
        }
    }

    pub fn basic(name: &'static str, args: Vec<Ty>) -> Self {
        Self::with_args(args, |args| Self::Basic(name, args))
    }

    pub fn user(decl: DeclId, args: Vec<Ty>) -> Self {
        Self::with_args(args, |args| Self::User(decl, args))
    }

    fn with_args(items: Vec<Ty>, make: impl FnOnce(Option<Rc<Args>>) -> Self) -> Self {
        if items.is_empty() {
            return make(None);
        }
        let size = Size::of(items.iter());
        if size.is_fine() { make(Some(Rc::new(Args { items, size }))) } else { Self::Hole }
    }

    pub fn list(item: Ty) -> Self {
        if item == Self::Hole { LIST } else { Self::basic("list", vec![item]) }
    }

    pub fn shape(fields: Vec<Field>) -> Self {
        let size = Size::of(fields.iter().map(|field| &field.ty));
        if size.is_fine() { Self::Shape(Rc::new(Shape { fields, size })) } else { DICT }
    }

    pub fn function(params: Vec<Ty>, returns: Ty) -> Self {
        let size = Size::of(params.iter().chain([&returns]));
        if size.is_fine() { Self::Function(Rc::new(Function { params, returns, size })) } else { CLOSURE }
    }

    /// Any of these, each named once. A hole among them makes all of it a hole.
    pub fn union(members: impl IntoIterator<Item = Ty>) -> Self {
        let mut all: Vec<Ty> = Vec::new();
        for member in members {
            match member {
                Self::Hole => return Self::Hole,
                Self::Union(inner) => {
                    for member in &inner.items {
                        if !all.contains(member) {
                            all.push(member.clone());
                        }
                    }
                }
                NEVER => {}
                other => {
                    if !all.contains(&other) {
                        all.push(other);
                    }
                }
            }
            if all.len() > MAX_MEMBERS {
                return Self::Hole;
            }
        }
        match all.len() {
            0 => NEVER,
            1 => all.remove(0),
            _ => {
                let size = Size::of(all.iter());
                if size.is_fine() { Self::Union(Rc::new(Args { items: all, size })) } else { Self::Hole }
            }
        }
    }

    pub fn fresh(self) -> Self {
        match self {
            Self::Basic(_, Some(_)) | Self::User(_, Some(_)) => Self::Loose(Rc::new(self), Holder::Nobody),
            other => other,
        }
    }

    /// As if somebody had written it down.
    pub fn settled(&self) -> Ty {
        match self {
            Self::Loose(inner, _) => inner.settled(),
            other => other.mapped(Ty::settled),
        }
    }

    /// What a variable is that has such a value.
    pub fn kept(&self) -> Ty {
        match self {
            Self::Loose(inner, _) => match inner.kept() {
                kept @ (Self::Basic(..) | Self::User(..)) => Self::Loose(Rc::new(kept), Holder::Variable),
                other => other,
            },
            other => other.mapped(Ty::kept),
        }
    }

    fn mapped(&self, map: fn(&Ty) -> Ty) -> Ty {
        match self {
            Self::Basic(name, Some(args)) => Self::basic(name, args.items.iter().map(map).collect()),
            Self::User(decl, Some(args)) => Self::user(*decl, args.items.iter().map(map).collect()),
            Self::Shape(shape) => {
                let mapped = |field: &Field| Field { ty: map(&field.ty), ..field.clone() };
                Self::shape(shape.fields.iter().map(mapped).collect())
            }
            Self::Union(members) => Self::union(members.items.iter().map(map)),
            other => other.clone(),
        }
    }

    /// The type itself, whoever has the value.
    pub fn bare(&self) -> &Ty {
        match self {
            Self::Loose(inner, _) => inner.bare(),
            other => other,
        }
    }

    pub fn args(&self) -> &[Ty] {
        match self {
            Self::Basic(_, Some(args)) | Self::User(_, Some(args)) => &args.items,
            Self::Loose(inner, _) => inner.args(),
            _ => &[],
        }
    }

    /// The members of a union, or itself.
    pub fn members(&self) -> &[Ty] {
        match self {
            Self::Union(members) => &members.items,
            other => std::slice::from_ref(other),
        }
    }

    /// Without the members that are like this; `never` if there are no others.
    pub fn without(&self, is_removed: impl Fn(&Ty) -> bool) -> Ty {
        match self {
            Self::Union(members) => {
                Self::union(members.items.iter().filter(|member| !is_removed(member)).cloned())
            }
            other if is_removed(other) => NEVER,
            other => other.clone(),
        }
    }

    /// Whether nothing can be said about it.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Hole | Self::Param(_) | Self::Basic("any", _))
    }

    /// Whether something within it is not known.
    pub fn has_hole(&self) -> bool {
        self.size().has_hole
    }
}

impl Shape {
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }
}
