//! What is checked of arguments when a function is called, and the schemas that types stand for.

use super::*;
use crate::syntax::ast::*;
use crate::value::Dict;

/// An argument that must be of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamCheck {
    pub param: Name,
    pub wanted: Wanted,
}

/// A type as far as it is checked while a program runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    Any,
    /// `int`, `string`, `list` and the like.
    Kind(Name),
    List(Box<Wanted>),
    Dict(Box<Wanted>),
    Shape(Vec<WantedField>),
    Union(Vec<Wanted>),
    Str(Arc<str>),
    Int(i64),
    /// A struct that satisfies an interface.
    Interface(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WantedField {
    pub name: Name,
    pub optional: bool,
    pub wanted: Wanted,
}

/// How deep a type is looked into: aliases may name each other in a circle.
pub(crate) const MAX_DEPTH: usize = 32;

const KINDS: [&str; 10] =
    ["int", "float", "string", "bool", "list", "dict", "set", "nil", "closure", "bytes"];

/// What a name in a type stands for.
pub(crate) enum Named<'a> {
    Alias(&'a Type),
    Is(Wanted),
}

impl Wanted {
    /// What of a type can be checked; `named` knows the names that are not kinds of values.
    pub(crate) fn of<'a>(ty: &Type, named: &dyn Fn(&Name) -> Named<'a>) -> Self {
        Self::nested(ty, named, 0)
    }

    fn nested<'a>(ty: &Type, named: &dyn Fn(&Name) -> Named<'a>, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self::Any;
        }
        let deeper = |ty: &Type| Self::nested(ty, named, depth + 1);
        match &ty.kind {
            TypeKind::Name { name, args } => match (&**name, args.as_slice()) {
                ("list", [item]) => Self::List(Box::new(deeper(item))),
                ("dict", [_, value]) => Self::Dict(Box::new(deeper(value))),
                (kind, []) if KINDS.contains(&kind) => Self::Kind(name.clone()),
                (_, []) => match named(name) {
                    Named::Alias(ty) => deeper(ty),
                    Named::Is(wanted) => wanted,
                },
                _ => Self::Any,
            },
            TypeKind::List(item) => Self::List(Box::new(deeper(item))),
            TypeKind::Shape(fields) => Self::Shape(
                fields
                    .iter()
                    .map(|field| WantedField {
                        name: field.name.name.clone(),
                        optional: field.optional,
                        wanted: deeper(&field.ty),
                    })
                    .collect(),
            ),
            TypeKind::Union(members) => {
                let members: Vec<Self> = members.iter().map(deeper).collect();
                if members.contains(&Self::Any) { Self::Any } else { Self::Union(members) }
            }
            TypeKind::Function { .. } => Self::Kind("closure".into()),
            TypeKind::Str(text) => Self::Str(text.clone()),
            TypeKind::Int(value) => Self::Int(*value),
        }
    }
}

impl<'a> Compiler<'a> {
    /// The number of a check, if there is anything to check.
    pub(crate) fn param_check(&mut self, param: &Name, ty: &Type) -> Option<u16> {
        let wanted = Wanted::of(ty, &|name| self.named(name));
        if wanted == Wanted::Any {
            return None;
        }
        self.program.checks.push(ParamCheck { param: param.clone(), wanted });
        u16::try_from(self.program.checks.len() - 1).ok()
    }

    fn is_type_param(&self, name: &Name) -> bool {
        let mut params = self.stack.iter().flat_map(|state| state.type_params);
        params.any(|param| param.name.name == *name)
    }

    fn named(&self, name: &Name) -> Named<'_> {
        if self.is_type_param(name) {
            return Named::Is(Wanted::Any);
        }
        if self.interfaces.contains_key(name) {
            return Named::Is(Wanted::Interface(name.clone()));
        }
        match self.aliases.get(name) {
            Some(alias) if alias.type_params.is_empty() => Named::Alias(&alias.ty),
            _ => Named::Is(Wanted::Any),
        }
    }

    /// The schema dict that a type alias stands for.
    pub(crate) fn schema_of_alias(&mut self, name: &Name) -> Value {
        match self.aliases.get(name) {
            Some(alias) => self.schema(&alias.ty, 0),
            None => Value::Nil,
        }
    }

    fn schema(&self, ty: &Type, depth: usize) -> Value {
        let kind = |name: &str| Value::record([("type", name.into())]);
        if depth > MAX_DEPTH {
            return Value::dict(Dict::new());
        }
        match &ty.kind {
            TypeKind::Name { name, args } => match (&**name, args.as_slice()) {
                ("list", [item]) => {
                    Value::record([("type", "list".into()), ("items", self.schema(item, depth + 1))])
                }
                ("dict", [_, value]) => Value::record([
                    ("type", "dict".into()),
                    ("additional_properties", self.schema(value, depth + 1)),
                ]),
                ("any" | "unknown", []) => Value::dict(Dict::new()),
                (_, []) => match self.aliases.get(name) {
                    Some(alias) => self.schema(&alias.ty, depth + 1),
                    None => kind(name),
                },
                _ => kind(name),
            },
            TypeKind::List(item) => {
                Value::record([("type", "list".into()), ("items", self.schema(item, depth + 1))])
            }
            TypeKind::Shape(fields) => self.shape_schema(fields, depth),
            TypeKind::Union(members) => self.union_schema(members, depth),
            TypeKind::Function { .. } => kind("closure"),
            TypeKind::Str(text) => Value::record([("type", "string".into()), ("const", Value::str(&**text))]),
            TypeKind::Int(value) => Value::record([("type", "int".into()), ("const", Value::Int(*value))]),
        }
    }

    fn shape_schema(&self, fields: &[ShapeField], depth: usize) -> Value {
        let properties = fields
            .iter()
            .map(|field| (Arc::new(Text::new(&*field.name.name)), self.schema(&field.ty, depth + 1)))
            .collect();
        let required = fields.iter().filter(|field| !field.optional);
        let required = required.map(|field| Value::str(&*field.name.name)).collect();
        Value::record([
            ("type", "dict".into()),
            ("properties", Value::dict(properties)),
            ("required", Value::list(required)),
        ])
    }

    fn union_schema(&self, members: &[Type], depth: usize) -> Value {
        let texts: Option<Vec<Value>> = (members.iter())
            .map(|member| match &member.kind {
                TypeKind::Str(text) => Some(Value::str(&**text)),
                _ => None,
            })
            .collect();
        if let Some(texts) = texts {
            return Value::record([("type", "string".into()), ("enum", Value::list(texts))]);
        }
        let numbers: Option<Vec<Value>> = (members.iter())
            .map(|member| match &member.kind {
                TypeKind::Int(value) => Some(Value::Int(*value)),
                _ => None,
            })
            .collect();
        if let Some(numbers) = numbers {
            return Value::record([("type", "int".into()), ("enum", Value::list(numbers))]);
        }
        let branches = members.iter().map(|member| self.schema(member, depth + 1)).collect();
        Value::record([("union", Value::list(branches))])
    }

    /// Parameters and result of a tool as JSON Schema; its handler is added by the code.
    pub(crate) fn tool_config(&mut self, params: &[Param], returns: Option<&Type>) -> Dict {
        let mut parameters = Dict::new();
        for param in params {
            let mut schema = match &param.ty {
                Some(ty) => self.json_schema(ty, 0),
                None => Dict::from_iter([(text("type"), "any".into())]),
            };
            if let Some(default) = &param.default {
                schema.insert(text("required"), Value::Bool(false));
                if let Some(value) = constant(default) {
                    schema.insert(text("default"), value);
                }
            }
            parameters.insert(text(&param.name.name), Value::dict(schema));
        }
        let mut config = Dict::new();
        config.insert(text("parameters"), Value::dict(parameters));
        if let Some(ty) = returns {
            config.insert(text("returns"), Value::dict(self.json_schema(ty, 0)));
        }
        config
    }

    fn json_schema(&self, ty: &Type, depth: usize) -> Dict {
        let one = |name: &str| Dict::from_iter([(text("type"), name.into())]);
        if depth > MAX_DEPTH {
            return one("any");
        }
        let deeper = |ty: &Type| Value::dict(self.json_schema(ty, depth + 1));
        let array =
            |item: &Type| Dict::from_iter([(text("type"), "array".into()), (text("items"), deeper(item))]);
        match &ty.kind {
            TypeKind::Name { name, args } => match (&**name, args.as_slice()) {
                ("list", [item]) => array(item),
                ("dict", [_, value]) => Dict::from_iter([
                    (text("type"), "object".into()),
                    (text("additionalProperties"), deeper(value)),
                ]),
                ("int", []) => one("integer"),
                ("float", []) => one("number"),
                ("bool", []) => one("boolean"),
                ("list", []) => one("array"),
                ("dict", []) => one("object"),
                ("nil", []) => one("null"),
                (_, []) => match self.aliases.get(name) {
                    Some(alias) => self.json_schema(&alias.ty, depth + 1),
                    None => one(name),
                },
                _ => one(name),
            },
            TypeKind::List(item) => array(item),
            TypeKind::Shape(fields) => {
                let properties = fields.iter().map(|field| (text(&field.name.name), deeper(&field.ty)));
                let required = fields.iter().filter(|field| !field.optional);
                let required = required.map(|field| Value::str(&*field.name.name)).collect();
                Dict::from_iter([
                    (text("type"), "object".into()),
                    (text("properties"), Value::dict(properties.collect())),
                    (text("required"), Value::list(required)),
                ])
            }
            TypeKind::Union(members) => {
                Dict::from_iter([(text("oneOf"), Value::list(members.iter().map(deeper).collect()))])
            }
            TypeKind::Function { .. } => one("any"),
            TypeKind::Str(literal) => Dict::from_iter([(text("const"), Value::str(&**literal))]),
            TypeKind::Int(literal) => Dict::from_iter([(text("const"), Value::Int(*literal))]),
        }
    }
}

fn text(name: &str) -> Arc<Text> {
    Arc::new(Text::new(name))
}

/// The value of an expression that is made of literals only.
pub(crate) fn constant(expr: &Expr) -> Option<Value> {
    let item = |element: &Element| match element {
        Element::Plain(item) => constant(item),
        Element::Spread(_) => None,
    };
    let field = |entry: &Entry| match entry {
        Entry::Named { key, value } => Some((text(&key.name), constant(value)?)),
        Entry::Computed { .. } | Entry::Spread(_) => None,
    };
    Some(match &expr.kind {
        ExprKind::Paren(inner) => constant(inner)?,
        ExprKind::Nil => Value::Nil,
        ExprKind::Bool(value) => Value::Bool(*value),
        ExprKind::Int(value) => Value::Int(*value),
        ExprKind::Float(value) => Value::Float(*value),
        ExprKind::Str(text) => Value::str(&**text),
        ExprKind::Unary { op: UnaryOp::Negate, operand } => match constant(operand)? {
            Value::Int(value) => Value::Int(value.wrapping_neg()),
            Value::Float(value) => Value::Float(-value),
            _ => return None,
        },
        ExprKind::List(items) => Value::list(items.iter().map(item).collect::<Option<_>>()?),
        ExprKind::Dict(entries) => Value::dict(entries.iter().map(field).collect::<Option<_>>()?),
        _ => return None,
    })
}
