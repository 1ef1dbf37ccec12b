//! What is checked of arguments when a function is called, and the schemas that types stand for.

use super::resolve::{self, Generics, Resolved, ResolvedField};
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

const KINDS: [&str; 10] =
    ["int", "float", "string", "bool", "list", "dict", "set", "nil", "closure", "bytes"];

impl Wanted {
    /// What of a type can be checked.
    pub(crate) fn of(ty: Resolved) -> Self {
        match ty {
            Resolved::Kind(name) if KINDS.contains(&&*name) => Self::Kind(name),
            Resolved::Any | Resolved::Kind(_) | Resolved::Set(_) | Resolved::Struct(_) => Self::Any,
            Resolved::List(item) => Self::List(Box::new(Self::of(*item))),
            Resolved::Dict(value) => Self::Dict(Box::new(Self::of(*value))),
            Resolved::Shape(fields) => Self::Shape(
                fields
                    .into_iter()
                    .map(|field| WantedField {
                        name: field.name,
                        optional: field.optional,
                        wanted: Self::of(field.ty),
                    })
                    .collect(),
            ),
            Resolved::Interface(name) => Self::Interface(name),
            Resolved::Union(members) => {
                let members: Vec<Self> = members.into_iter().map(Self::of).collect();
                if members.contains(&Self::Any) { Self::Any } else { Self::Union(members) }
            }
            Resolved::Function => Self::Kind("closure".into()),
            Resolved::Str(text) => Self::Str(text),
            Resolved::Int(value) => Self::Int(value),
        }
    }
}

impl<'a> Compiler<'a> {
    /// The number of a check, if there is anything to check.
    pub(crate) fn param_check(&mut self, param: &Name, ty: &Type) -> Option<u16> {
        let wanted = Wanted::of(self.resolved(ty, Generics::Any));
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

    fn resolved(&self, ty: &Type, generics: Generics) -> Resolved {
        let is_param = |name: &Name| self.is_type_param(name);
        resolve::Place { types: &self.types, is_param: &is_param, generics, left: &self.type_parts }
            .resolve(ty)
    }

    /// The schema dict that a type alias stands for.
    pub(crate) fn schema_of_alias(&self, name: &Name) -> Value {
        let kind = TypeKind::Name { name: name.clone(), args: Vec::new() };
        schema(&self.resolved(&Type { kind, span: Span::default() }, Generics::PutIn))
    }

    /// Parameters and result of a tool as JSON Schema; its handler is added by the code.
    pub(crate) fn tool_config(&mut self, params: &[Param], returns: Option<&Type>) -> Dict {
        let mut parameters = Dict::new();
        for param in params {
            let ty = param.ty.as_ref().map_or(Resolved::Any, |ty| self.resolved(ty, Generics::PutIn));
            let mut schema = json_schema(&ty);
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
            let schema = json_schema(&self.resolved(ty, Generics::PutIn));
            config.insert(text("returns"), Value::dict(schema));
        }
        config
    }
}

/// The dict that `schema_of` gives.
fn schema(ty: &Resolved) -> Value {
    let kind = |name: &str| Value::record([("type", name.into())]);
    match ty {
        Resolved::Any | Resolved::Interface(_) => Value::dict(Dict::new()),
        Resolved::Kind(name) => kind(name),
        Resolved::List(item) => Value::record([("type", "list".into()), ("items", schema(item))]),
        Resolved::Set(_) => kind("set"),
        Resolved::Dict(value) => {
            Value::record([("type", "dict".into()), ("additional_properties", schema(value))])
        }
        Resolved::Shape(fields) | Resolved::Struct(fields) => {
            let properties = fields.iter().map(|field| (text(&field.name), schema(&field.ty))).collect();
            Value::record([
                ("type", "dict".into()),
                ("properties", Value::dict(properties)),
                ("required", required(fields)),
            ])
        }
        Resolved::Union(members) => union_schema(members),
        Resolved::Function => kind("closure"),
        Resolved::Str(text) => Value::record([("type", "string".into()), ("const", Value::str(&**text))]),
        Resolved::Int(value) => Value::record([("type", "int".into()), ("const", Value::Int(*value))]),
    }
}

fn required(fields: &[ResolvedField]) -> Value {
    let required = fields.iter().filter(|field| !field.optional);
    Value::list(required.map(|field| Value::str(&*field.name)).collect())
}

fn union_schema(members: &[Resolved]) -> Value {
    let texts: Option<Vec<Value>> = (members.iter())
        .map(|member| match member {
            Resolved::Str(text) => Some(Value::str(&**text)),
            _ => None,
        })
        .collect();
    if let Some(texts) = texts {
        return Value::record([("type", "string".into()), ("enum", Value::list(texts))]);
    }
    let numbers: Option<Vec<Value>> = (members.iter())
        .map(|member| match member {
            Resolved::Int(value) => Some(Value::Int(*value)),
            _ => None,
        })
        .collect();
    if let Some(numbers) = numbers {
        return Value::record([("type", "int".into()), ("enum", Value::list(numbers))]);
    }
    Value::record([("union", Value::list(members.iter().map(schema).collect()))])
}

/// What a tool says about a parameter.
fn json_schema(ty: &Resolved) -> Dict {
    let one = |name: &str| Dict::from_iter([(text("type"), name.into())]);
    let deeper = |ty: &Resolved| Value::dict(json_schema(ty));
    match ty {
        Resolved::Kind(name) => one(match &**name {
            "int" => "integer",
            "float" => "number",
            "bool" => "boolean",
            "list" => "array",
            "dict" => "object",
            "nil" => "null",
            other => other,
        }),
        Resolved::Any | Resolved::Interface(_) | Resolved::Function => one("any"),
        Resolved::List(item) => {
            Dict::from_iter([(text("type"), "array".into()), (text("items"), deeper(item))])
        }
        Resolved::Set(_) => one("set"),
        Resolved::Dict(value) => {
            Dict::from_iter([(text("type"), "object".into()), (text("additionalProperties"), deeper(value))])
        }
        Resolved::Shape(fields) | Resolved::Struct(fields) => {
            let properties = fields.iter().map(|field| (text(&field.name), deeper(&field.ty)));
            Dict::from_iter([
                (text("type"), "object".into()),
                (text("properties"), Value::dict(properties.collect())),
                (text("required"), required(fields)),
            ])
        }
        Resolved::Union(members) => {
            Dict::from_iter([(text("oneOf"), Value::list(members.iter().map(deeper).collect()))])
        }
        Resolved::Str(literal) => Dict::from_iter([(text("const"), Value::str(&**literal))]),
        Resolved::Int(literal) => Dict::from_iter([(text("const"), Value::Int(*literal))]),
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
