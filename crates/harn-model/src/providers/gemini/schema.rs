//! Schemas in one of the two forms that Gemini takes: JSON Schema, or a subset of OpenAPI 3.0.

use serde_json::{Map, Value, json};

use crate::{ModelError, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Json,
    OpenApi,
}

impl Dialect {
    pub fn of(target: &Target) -> Result<Self, ModelError> {
        match target.options.get("schema").map(|word| word.as_str().unwrap_or_default()) {
            None | Some("json") => Ok(Self::Json),
            Some("openapi") => Ok(Self::OpenApi),
            Some(_) => Err(ModelError::InvalidRequest {
                message: "the setting `schema` of this model is neither `json` nor `openapi`; correct it in the configuration"
                    .into(),
            }),
        }
    }
}

/// As it is, without the name of the standard, of which the API knows nothing.
pub(super) fn json_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
    }
    schema
}

/// Translates what has a counterpart and leaves out the rest. References are put in place.
pub(super) fn open_api(schema: &Value) -> Value {
    Value::Object(Translation { root: schema, left: NODES }.node(schema, 0))
}

/// Schemas come from servers that we do not know; references can make a small one endless.
const NODES: usize = 2000;
const DEPTH: usize = 24;

/// What means the same in both.
const COMMON: &[&str] = &[
    "title",
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "default",
    "example",
    "propertyOrdering",
];
const FORMATS: &[&str] = &["enum", "date-time", "int32", "int64", "float", "double"];

struct Translation<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Translation<'a> {
    fn node(&mut self, schema: &'a Value, depth: usize) -> Map<String, Value> {
        let mut made = Map::new();
        let Some(given) = schema.as_object() else { return made };
        if depth >= DEPTH || self.left == 0 {
            return made;
        }
        self.left -= 1;
        let target = given.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        if let Some(found) = target.and_then(|path| self.root.pointer(path)) {
            made = self.node(found, depth + 1);
        }
        for name in COMMON {
            if let Some(value) = given.get(*name) {
                made.insert((*name).into(), value.clone());
            }
        }
        if let Some(format) =
            given.get("format").filter(|word| word.as_str().is_some_and(|word| FORMATS.contains(&word)))
        {
            made.insert("format".into(), format.clone());
        }
        types(given, &mut made);
        choices(given, &mut made);
        self.members(given, &mut made, depth);
        self.unions(given, &mut made, depth);
        made
    }

    fn members(&mut self, given: &'a Map<String, Value>, made: &mut Map<String, Value>, depth: usize) {
        if let Some(properties) =
            given.get("properties").and_then(Value::as_object).filter(|map| !map.is_empty())
        {
            let translated: Map<String, Value> = properties
                .iter()
                .map(|(name, schema)| (name.clone(), Value::Object(self.node(schema, depth + 1))))
                .collect();
            merge(made, Map::from_iter([("properties".to_owned(), Value::Object(translated))]));
        }
        if let Some(items) = given.get("items") {
            made.insert("items".into(), Value::Object(self.node(items, depth + 1)));
        } else if made.get("type") == Some(&json!("array")) && !made.contains_key("items") {
            // A list of anything is refused.
            made.insert("items".into(), json!({ "type": "string" }));
        }
        if let Some(required) = given.get("required").and_then(Value::as_array) {
            let known = |name: &&Value| {
                name.as_str()
                    .is_some_and(|name| made.get("properties").is_some_and(|all| all.get(name).is_some()))
            };
            let required: Vec<Value> = required.iter().filter(known).cloned().collect();
            if !required.is_empty() {
                merge(made, Map::from_iter([("required".to_owned(), Value::Array(required))]));
            }
        }
    }

    fn unions(&mut self, given: &'a Map<String, Value>, made: &mut Map<String, Value>, depth: usize) {
        for part in given.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = self.node(part, depth + 1);
            merge(made, part);
        }
        let mut branches = Vec::new();
        for word in ["anyOf", "oneOf"] {
            for branch in given.get(word).and_then(Value::as_array).into_iter().flatten() {
                if branch.get("type") == Some(&json!("null")) {
                    made.insert("nullable".into(), json!(true));
                } else {
                    branches.push(self.node(branch, depth + 1));
                }
            }
        }
        if branches.len() == 1 {
            branches.drain(..).for_each(|branch| merge(made, branch));
        } else if !branches.is_empty() {
            made.insert("anyOf".into(), json!(branches));
        }
    }
}

fn types(given: &Map<String, Value>, made: &mut Map<String, Value>) {
    let listed = match given.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    if listed.contains(&"null") {
        made.insert("nullable".into(), json!(true));
    }
    let named: Vec<&str> = listed.into_iter().filter(|name| *name != "null").collect();
    match named.as_slice() {
        [] => {}
        [one] => {
            made.insert("type".into(), json!(one));
        }
        several => {
            let branches: Vec<Value> = several.iter().map(|name| json!({ "type": name })).collect();
            made.insert("anyOf".into(), json!(branches));
        }
    }
}

/// Only words can be listed.
fn choices(given: &Map<String, Value>, made: &mut Map<String, Value>) {
    let one = given.get("const").map(std::slice::from_ref);
    let Some(all) = given.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(one) else { return };
    if all.contains(&Value::Null) {
        made.insert("nullable".into(), json!(true));
    }
    let words: Vec<&Value> = all.iter().filter(|value| !value.is_null()).collect();
    if !words.is_empty() && words.iter().all(|value| value.is_string()) {
        made.insert("type".into(), json!("string"));
        made.insert("enum".into(), json!(words));
    }
}

/// Properties and required names come together; of everything else, what was there stays.
fn merge(made: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (made.get_mut(&name), value) {
            (Some(Value::Object(there)), Value::Object(new)) if name == "properties" => there.extend(new),
            (Some(Value::Array(there)), Value::Array(new)) if name == "required" => {
                for value in new {
                    if !there.contains(&value) {
                        there.push(value);
                    }
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                made.insert(name, value);
            }
        }
    }
}
