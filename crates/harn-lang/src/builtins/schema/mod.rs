//! Schemas: whether a value has the shape that it should, and schemas made of others.

mod check;
mod spelling;

use super::Cx;
use super::args::{self, at, key};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

/// What becomes of properties that are missing and have a default.
#[derive(Clone, Copy, PartialEq)]
pub enum Defaults {
    Keep,
    Fill,
}

/// The value, with defaults filled in if wanted, and all that is wrong with it.
pub fn check(
    cx: &mut Cx<'_>,
    value: &Value,
    schema: &Value,
    defaults: Defaults,
) -> Result<(Value, Vec<String>), Fault> {
    check::check(cx, value, schema, defaults)
}

fn fits(cx: &mut Cx<'_>, args: &[Value]) -> Result<bool, Fault> {
    Ok(check(cx, at(args, 0), at(args, 1), Defaults::Keep)?.1.is_empty())
}

pub fn schema_is(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(fits(cx, args)?.into())
}

pub fn is_type(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(fits(cx, args)?.into())
}

pub fn json_validate(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (_, errors) = check(cx, at(args, 0), at(args, 1), Defaults::Keep)?;
    if errors.is_empty() { Ok(true.into()) } else { Err(Fault::thrown(errors.join("; "))) }
}

pub fn schema_expect(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let defaults = if at(args, 2).is_truthy() { Defaults::Fill } else { Defaults::Keep };
    let (value, errors) = check(cx, at(args, 0), at(args, 1), defaults)?;
    if errors.is_empty() { Ok(value) } else { Err(Fault::thrown(errors.join("; "))) }
}

pub fn schema_check(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    told(cx, args, Defaults::Keep)
}

pub fn schema_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    told(cx, args, Defaults::Fill)
}

fn told(cx: &mut Cx<'_>, args: &[Value], defaults: Defaults) -> Answer {
    let (value, errors) = check(cx, at(args, 0), at(args, 1), defaults)?;
    if errors.is_empty() {
        return Ok(Value::ok(value));
    }
    Ok(Value::err(Value::record([
        ("message", errors.join("; ").into()),
        ("errors", args::strings(errors)),
        ("value", value),
    ])))
}

pub fn schema_of(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    match args::take(args, 0) {
        schema @ Value::Dict(_) => Ok(schema),
        Value::Str(name) => Ok(Value::record([("type", Value::Str(name))])),
        other => Err(Fault::thrown(format!(
            "schema_of: expected the name of a type alias, got a value of type {}",
            other.type_name()
        ))),
    }
}

pub fn schema_from_json_schema(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    args::dict_of(args, 0, "schema_from_json_schema", "schema")?;
    spelling::from_json_schema(cx, at(args, 0))
}

pub fn schema_to_json_schema(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    spelling::to_json_schema(cx, at(args, 0), spelling::Nullable::AsType)
}

pub fn schema_to_openapi_schema(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    spelling::to_json_schema(cx, at(args, 0), spelling::Nullable::AsFlag)
}

pub fn schema_partial(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut schema = args::dict_of(args, 0, "schema_partial", "schema")?.clone();
    schema.remove("required");
    if let Some(properties) = schema.get("properties").and_then(args::fields) {
        let relaxed = properties.iter().map(|(name, property)| {
            let mut property = property.clone();
            if let Value::Dict(dict) = &mut property
                && dict.has("required")
                && matches!(dict.get("required"), Some(Value::Bool(_)))
            {
                std::sync::Arc::make_mut(dict).remove("required");
            }
            (name.clone(), property)
        });
        let relaxed = Value::dict(relaxed.collect());
        schema.insert(key("properties"), relaxed);
    }
    Ok(Value::dict(schema))
}

pub fn schema_pick(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let schema = args::dict_of(args, 0, "schema_pick", "schema")?;
    let wanted = args::list(args, 1);
    Ok(with_properties(schema, |name| wanted.iter().any(|key| key.as_str() == Some(name))))
}

pub fn schema_omit(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let schema = args::dict_of(args, 0, "schema_omit", "schema")?;
    let unwanted = args::list(args, 1);
    Ok(with_properties(schema, |name| !unwanted.iter().any(|key| key.as_str() == Some(name))))
}

fn with_properties(schema: &Dict, is_wanted: impl Fn(&str) -> bool) -> Value {
    let mut schema = schema.clone();
    if let Some(properties) = schema.get("properties").and_then(args::fields) {
        let kept = properties.iter().filter(|(name, _)| is_wanted(name.as_str()));
        let kept = Value::dict(kept.map(|(name, property)| (name.clone(), property.clone())).collect());
        schema.insert(key("properties"), kept);
    }
    if let Some(required) = schema.get("required").and_then(Value::as_list) {
        let kept = required.iter().filter(|name| name.as_str().is_some_and(&is_wanted)).cloned();
        let kept = Value::list(kept.collect());
        schema.insert(key("required"), kept);
    }
    Value::dict(schema)
}

pub fn schema_extend(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut schema = args::dict_of(args, 0, "schema_extend", "base")?.clone();
    let overrides = args::dict_of(args, 1, "schema_extend", "overrides")?;
    for (name, value) in overrides.iter() {
        let merged = match (name.as_str(), schema.get(name.as_str()), value) {
            ("properties", Some(Value::Dict(old)), Value::Dict(new)) => {
                let both = old.iter().chain(new.iter());
                Value::dict(both.map(|(name, property)| (name.clone(), property.clone())).collect())
            }
            ("required", Some(Value::List(old)), Value::List(new)) => {
                let added = new.iter().filter(|name| !old.contains(name));
                Value::list(old.iter().chain(added).cloned().collect())
            }
            _ => value.clone(),
        };
        schema.insert(name.clone(), merged);
    }
    Ok(Value::dict(schema))
}
