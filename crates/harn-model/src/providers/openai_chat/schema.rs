//! Schemas in the form that strict decoding needs, and answers brought back to the form that was asked for.
//!
//! Strict decoding wants every property to be required and nothing besides. A property that may be absent becomes one
//! that may be null, and such a null is taken out of the answer again.

use serde_json::{Map, Value, json};

/// Keywords that cannot be expressed; a schema with one of them is sent as a hint only.
const INEXPRESSIBLE: &[&str] = &[
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "prefixItems",
    "contains",
    "$dynamicRef",
];
/// Keywords that are refused, and without which a schema permits only more.
const DROPPED: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "default",
    "examples",
    "minLength",
    "maxLength",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];
/// The same, for Azure.
pub(in crate::providers) const DROPPED_BY_AZURE: &[&str] = &[
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];
const DEPTH: usize = 48;

#[derive(Debug, PartialEq)]
pub(in crate::providers) struct Strict {
    pub schema: Value,
    /// Nulls in the answer have to be taken out by `prune`.
    pub has_nulls: bool,
}

/// The schema in its strict form, if it has one.
pub(in crate::providers) fn strict(schema: &Value, also_dropped: &[&str]) -> Option<Strict> {
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    if !is_object || schema.get("anyOf").is_some() || schema.get("oneOf").is_some() {
        return None;
    }
    let mut walk = Walk { root: schema, also_dropped, has_nulls: false, has_compound_union: false };
    let schema = walk.node(schema, 0)?;
    // Which branch of a union an answer took cannot be told for sure, and so neither which of its nulls are ours.
    let is_ambiguous = walk.has_nulls && walk.has_compound_union;
    (!is_ambiguous).then_some(Strict { schema, has_nulls: walk.has_nulls })
}

struct Walk<'a> {
    root: &'a Value,
    also_dropped: &'a [&'a str],
    has_nulls: bool,
    has_compound_union: bool,
}

impl Walk<'_> {
    fn node(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        let given = schema.as_object().filter(|_| depth < DEPTH)?;
        if given.keys().any(|key| INEXPRESSIBLE.contains(&key.as_str())) {
            return None;
        }
        if let Some(reference) = given.get("$ref") {
            return reference.as_str()?.starts_with('#').then(|| json!({ "$ref": reference }));
        }
        let mut node = Map::new();
        for (key, value) in given {
            let name = key.as_str();
            match name {
                _ if DROPPED.contains(&name) || self.also_dropped.contains(&name) => {}
                "properties" | "required" | "additionalProperties" => {}
                "items" => drop(node.insert(key.clone(), self.node(value, depth + 1)?)),
                "anyOf" | "oneOf" => drop(node.insert("anyOf".into(), self.union(value, depth + 1)?)),
                "$defs" | "definitions" => {
                    let nodes = value.as_object()?.iter();
                    let nodes: Option<Map<_, _>> = nodes
                        .map(|(name, value)| Some((name.clone(), self.node(value, depth + 1)?)))
                        .collect();
                    node.insert(key.clone(), nodes?.into());
                }
                _ => drop(node.insert(key.clone(), value.clone())),
            }
        }
        if is_type(given, "object") || given.contains_key("properties") {
            self.object(given, &mut node, depth)?;
        } else if is_type(given, "array") {
            node.get("items")?;
        } else if !["type", "enum", "const", "anyOf"].iter().any(|key| node.contains_key(*key)) {
            return None;
        }
        Some(node.into())
    }

    fn union(&mut self, branches: &Value, depth: usize) -> Option<Value> {
        let branches = branches.as_array()?;
        let compound = ["properties", "items", "$ref", "anyOf", "oneOf"];
        self.has_compound_union |=
            branches.iter().any(|branch| compound.iter().any(|key| branch.get(key).is_some()));
        branches.iter().map(|branch| self.node(branch, depth)).collect::<Option<Vec<_>>>().map(Value::from)
    }

    fn object(
        &mut self,
        given: &Map<String, Value>,
        node: &mut Map<String, Value>,
        depth: usize,
    ) -> Option<()> {
        if given.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
            return None;
        }
        let mut properties = Map::new();
        for (name, schema) in given.get("properties")?.as_object()? {
            let mut property = self.node(schema, depth + 1)?;
            if !is_required(given, name) && !is_nullable(schema, self.root, 0) {
                self.has_nulls = true;
                property = with_null(property);
            }
            properties.insert(name.clone(), property);
        }
        node.entry("type").or_insert_with(|| "object".into());
        node.insert("required".into(), properties.keys().cloned().collect::<Vec<_>>().into());
        node.insert("properties".into(), properties.into());
        node.insert("additionalProperties".into(), false.into());
        Some(())
    }
}

fn is_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    }
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
    target.and_then(|place| root.pointer(place)).unwrap_or(schema)
}

fn is_nullable(schema: &Value, root: &Value, depth: usize) -> bool {
    let schema = resolved(schema, root);
    let Some(given) = schema.as_object().filter(|_| depth < DEPTH) else { return false };
    let holds_null =
        |key: &str| given.get(key).and_then(Value::as_array).is_some_and(|v| v.contains(&Value::Null));
    let mut branches = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| given.get(*key)?.as_array())
        .flat_map(|branches| branches.iter());
    is_type(given, "null")
        || holds_null("enum")
        || given.get("const").is_some_and(Value::is_null)
        || branches.any(|branch| is_nullable(branch, root, depth + 1))
}

fn with_null(mut schema: Value) -> Value {
    let simple =
        schema.get("type").is_some_and(|kind| kind != "object" && kind != "array" && kind.is_string());
    match schema.as_object_mut() {
        Some(node) if simple && !node.contains_key("const") && !node.contains_key("anyOf") => {
            if let Some(values) = node.get_mut("enum").and_then(Value::as_array_mut) {
                values.push(Value::Null);
            }
            let kind = node.remove("type");
            node.insert("type".into(), json!([kind, "null"]));
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Takes out of an answer the nulls that stand for absent properties.
pub(in crate::providers) fn prune(answer: &mut Value, schema: &Value) {
    prune_node(answer, schema, schema, 0);
}

fn prune_node(answer: &mut Value, schema: &Value, root: &Value, depth: usize) {
    let schema = resolved(schema, root);
    let Some(given) = schema.as_object().filter(|_| depth < DEPTH) else { return };
    match answer {
        Value::Object(answer) => {
            let properties = given.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                match answer.get_mut(name) {
                    Some(Value::Null) if !is_required(given, name) && !is_nullable(property, root, 0) => {
                        answer.remove(name);
                    }
                    Some(value) => prune_node(value, property, root, depth + 1),
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = given.get("items") {
                items.iter_mut().for_each(|item| prune_node(item, schema, root, depth + 1));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
