//! The same schema in the words of the language, of JSON Schema and of OpenAPI.

use crate::builtins::Cx;
use crate::builtins::args::{fields, key};
use crate::fault::Fault;
use crate::value::{Dict, Value};

/// How a schema says that nil is fine too.
#[derive(Clone, Copy, PartialEq)]
pub enum Nullable {
    /// JSON Schema: `type: [T, "null"]`.
    AsType,
    /// OpenAPI: `nullable: true`.
    AsFlag,
}

/// Ours and theirs.
const KEYS: &[(&str, &str)] = &[
    ("additional_properties", "additionalProperties"),
    ("min", "minimum"),
    ("max", "maximum"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("union", "oneOf"),
    ("all_of", "allOf"),
];

const TYPES: &[(&str, &str)] = &[
    ("int", "integer"),
    ("float", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("dict", "object"),
    ("nil", "null"),
];

/// Under these keys is a schema, a list of schemas, or a dict of named schemas.
const SCHEMAS: &[&str] = &["items", "additional_properties", "additionalProperties", "not"];
const LISTS: &[&str] = &["union", "oneOf", "anyOf", "all_of", "allOf"];
const NAMED: &[&str] = &["properties", "definitions", "$defs"];

/// How deep a schema may be nested.
const MAX_DEPTH: u16 = 256;

fn bounded(schema: &Value) -> Result<(), Fault> {
    if schema.depth() > MAX_DEPTH {
        return Err(Fault::thrown(format!("a schema may be nested {MAX_DEPTH} deep")));
    }
    Ok(())
}

pub fn from_json_schema(cx: &mut Cx<'_>, schema: &Value) -> Result<Value, Fault> {
    bounded(schema)?;
    let Some(dict) = fields(schema) else { return Ok(schema.clone()) };
    let mut ours = Dict::new();
    for (name, value) in dict.iter() {
        cx.charge(64)?;
        let value = within(cx, name.as_str(), value, &mut |cx, inner| from_json_schema(cx, inner))?;
        let name = match name.as_str() {
            "anyOf" => "union",
            other => KEYS.iter().find(|(_, theirs)| *theirs == other).map_or(other, |(ours, _)| ours),
        };
        if name == "type" {
            our_type(&mut ours, &value);
        } else {
            ours.insert(key(name), value);
        }
    }
    Ok(Value::dict(ours))
}

fn our_type(schema: &mut Dict, theirs: &Value) {
    let name = |theirs: &Value| {
        let known = TYPES.iter().find(|(_, name)| theirs.as_str() == Some(name));
        known.map_or_else(|| theirs.clone(), |(ours, _)| (*ours).into())
    };
    let Some(several) = theirs.as_list() else {
        schema.insert(key("type"), name(theirs));
        return;
    };
    let mut names: Vec<Value> =
        several.iter().filter(|name| name.as_str() != Some("null")).map(name).collect();
    if names.len() < several.len() {
        schema.insert(key("nullable"), true.into());
    }
    let value = if names.len() == 1 { names.remove(0) } else { Value::list(names) };
    schema.insert(key("type"), value);
}

pub fn to_json_schema(cx: &mut Cx<'_>, schema: &Value, nullable: Nullable) -> Result<Value, Fault> {
    bounded(schema)?;
    let whole;
    let dict = match schema {
        Value::Str(_) => {
            whole = Value::record([("type", schema.clone())]);
            fields(&whole)
        }
        other => fields(other),
    };
    let Some(dict) = dict else { return Ok(schema.clone()) };
    let mut theirs = Dict::new();
    for (name, value) in dict.iter() {
        cx.charge(64)?;
        let value = within(cx, name.as_str(), value, &mut |cx, inner| to_json_schema(cx, inner, nullable))?;
        match name.as_str() {
            "type" => {
                if let Some(value) = their_type(&value) {
                    theirs.insert(key("type"), value);
                }
            }
            "nullable" if nullable == Nullable::AsType => {}
            other => {
                let name = KEYS.iter().find(|(ours, _)| *ours == other).map_or(other, |(_, theirs)| theirs);
                theirs.insert(key(name), value);
            }
        }
    }
    if nullable == Nullable::AsType && dict.get("nullable").is_some_and(Value::is_truthy) {
        let kind = match theirs.get("type") {
            Some(Value::List(list)) => list.iter().cloned().chain(["null".into()]).collect(),
            Some(one) => vec![one.clone(), "null".into()],
            None => return Ok(Value::dict(theirs)),
        };
        theirs.insert(key("type"), Value::list(kind));
    }
    Ok(Value::dict(theirs))
}

/// Types that JSON does not have say nothing.
fn their_type(ours: &Value) -> Option<Value> {
    if let Some(several) = ours.as_list() {
        return Some(Value::list(several.iter().filter_map(their_type).collect()));
    }
    let name = ours.as_str()?;
    let known = TYPES.iter().find(|(ours, theirs)| *ours == name || *theirs == name);
    match (known, name) {
        (Some((_, theirs)), _) => Some((*theirs).into()),
        (None, "string" | "bytes") => Some("string".into()),
        (None, "set") => Some("array".into()),
        (None, _) => None,
    }
}

/// Changes the schemas that are under a key of a schema.
fn within(
    cx: &mut Cx<'_>,
    name: &str,
    value: &Value,
    change: &mut dyn FnMut(&mut Cx<'_>, &Value) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    match value {
        Value::Dict(_) if SCHEMAS.contains(&name) => change(cx, value),
        Value::List(list) if LISTS.contains(&name) => {
            Ok(Value::list(list.iter().map(|schema| change(cx, schema)).collect::<Result<_, _>>()?))
        }
        Value::Dict(dict) if NAMED.contains(&name) => {
            let mut changed = Dict::new();
            for (name, schema) in dict.iter() {
                changed.insert(name.clone(), change(cx, schema)?);
            }
            Ok(Value::dict(changed))
        }
        other => Ok(other.clone()),
    }
}
