//! Compares a value with a schema.

use std::sync::Arc;

use super::Defaults;
use crate::builtins::args::{self, fields, key, print};
use crate::builtins::types::length;
use crate::builtins::{Cx, regex};
use crate::fault::Fault;
use crate::value::{Dict, Value, compare};

/// How deep a schema leads into itself.
const MAX_DEPTH: usize = 128;
/// How many mistakes are told.
const MAX_ERRORS: usize = 64;
/// How many comparisons are made: schemas that refer to themselves in unions can ask for very many.
const MAX_STEPS: usize = 2_000_000;

pub fn check(
    cx: &mut Cx<'_>,
    value: &Value,
    schema: &Value,
    defaults: Defaults,
) -> Result<(Value, Vec<String>), Fault> {
    let mut check = Check { cx, root: schema, defaults, errors: Vec::new(), steps: 0 };
    let value = check.value(value.clone(), schema, "", 0)?;
    Ok((value, check.errors))
}

struct Check<'k, 'c> {
    cx: &'k mut Cx<'c>,
    root: &'k Value,
    defaults: Defaults,
    errors: Vec<String>,
    steps: usize,
}

/// What a schema says under any of the names that it may have.
fn rule<'s>(schema: &'s Dict, names: &[&str]) -> Option<&'s Value> {
    names.iter().find_map(|name| schema.get(name))
}

impl Check<'_, '_> {
    fn error(&mut self, path: &str, message: impl std::fmt::Display) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(match path {
                "" => message.to_string(),
                path => format!("at {path}: {message}"),
            });
        }
    }

    fn value(&mut self, value: Value, schema: &Value, path: &str, depth: usize) -> Result<Value, Fault> {
        self.steps += 1;
        self.cx.work(16);
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            self.error(path, "the schema refers to itself too often");
            return Ok(value);
        }
        let schema = match schema {
            Value::Str(name) => {
                self.kind(&value, std::slice::from_ref(schema), name.as_str() == "any", path);
                return Ok(value);
            }
            other => match fields(other) {
                Some(dict) => dict,
                None => {
                    self.error(path, format!("a schema must be a dict, got {}", other.type_name()));
                    return Ok(value);
                }
            },
        };
        if let Some(Value::Str(name)) = schema.get("$ref") {
            return match self.referred(name.as_str()) {
                Some(target) => self.value(value, &target, path, depth + 1),
                None => {
                    self.error(path, format!("the schema refers to '{}', which is not there", name.as_str()));
                    Ok(value)
                }
            };
        }
        if value == Value::Nil && schema.get("nullable").is_some_and(Value::is_truthy) {
            return Ok(value);
        }
        if let Some(kind) = schema.get("type") {
            let kinds = kind.as_list().unwrap_or(std::slice::from_ref(kind));
            if !self.kind(&value, kinds, false, path) {
                return Ok(value);
            }
        }
        self.fixed(&value, schema, path)?;
        self.bounds(&value, schema, path)?;
        let value = self.alternatives(value, schema, path, depth)?;
        match value {
            Value::Dict(_) | Value::Struct(_) => self.properties(value, schema, path, depth),
            Value::List(_) => self.items(value, schema, path, depth),
            other => Ok(other),
        }
    }

    fn referred(&self, name: &str) -> Option<Value> {
        let steps = name.strip_prefix('#')?.trim_start_matches('/');
        let steps = steps.split('/').filter(|step| !step.is_empty());
        steps
            .map(|step| step.replace("~1", "/").replace("~0", "~"))
            .try_fold(self.root.clone(), |at, step| fields(&at)?.get(&step).cloned())
    }

    fn kind(&mut self, value: &Value, kinds: &[Value], is_any: bool, path: &str) -> bool {
        let names = || kinds.iter().filter_map(Value::as_str);
        if is_any || names().any(|name| is_kind(value, name)) {
            return true;
        }
        let wanted = names().collect::<Vec<_>>().join("|");
        self.error(path, format!("expected type '{wanted}', got '{}'", value.type_name()));
        false
    }

    fn fixed(&mut self, value: &Value, schema: &Dict, path: &str) -> Result<(), Fault> {
        if schema.has("const") || schema.has("enum") {
            args::weigh(self.cx, value)?;
        }
        if let Some(expected) = schema.get("const")
            && expected != value
        {
            let (expected, got) = (print(self.cx, expected)?, print(self.cx, value)?);
            self.error(path, format!("expected {expected}, got {got}"));
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_list)
            && !allowed.contains(value)
        {
            let mut names = Vec::new();
            for one in allowed.iter().take(MAX_ERRORS) {
                names.push(print(self.cx, one)?.into_owned());
            }
            let got = print(self.cx, value)?;
            self.error(path, format!("expected one of [{}], got {got}", names.join(", ")));
        }
        Ok(())
    }

    fn bounds(&mut self, value: &Value, schema: &Dict, path: &str) -> Result<(), Fault> {
        if value.as_number().is_some() {
            if let Some(least) =
                rule(schema, &["min", "minimum"]).filter(|least| compare(value, least).is_lt())
            {
                self.error(path, format!("expected at least {}, got {value}", least.display()));
            }
            if let Some(most) = rule(schema, &["max", "maximum"]).filter(|most| compare(value, most).is_gt())
            {
                self.error(path, format!("expected at most {}, got {value}", most.display()));
            }
        }
        let (least, most, what) = match value {
            Value::Str(_) => (["min_length", "minLength"], ["max_length", "maxLength"], "characters"),
            Value::List(_) | Value::Set(_) => (["min_items", "minItems"], ["max_items", "maxItems"], "items"),
            _ => return Ok(()),
        };
        let count = i64::try_from(length(value).unwrap_or(0)).unwrap_or(i64::MAX);
        if let Some(least) = rule(schema, &least).and_then(Value::as_int).filter(|least| count < *least) {
            self.error(path, format!("expected at least {least} {what}, got {count}"));
        }
        if let Some(most) = rule(schema, &most).and_then(Value::as_int).filter(|most| count > *most) {
            self.error(path, format!("expected at most {most} {what}, got {count}"));
        }
        if let (Value::Str(text), Some(Value::Str(pattern))) = (value, schema.get("pattern")) {
            let compiled = regex::compiled(self.cx, pattern.as_str(), "")?;
            self.cx.work(text.as_str().len());
            if !compiled.is_match(text.as_str()) {
                self.error(path, format!("expected a text that matches '{}'", pattern.as_str()));
            }
        }
        Ok(())
    }

    fn alternatives(
        &mut self,
        value: Value,
        schema: &Dict,
        path: &str,
        depth: usize,
    ) -> Result<Value, Fault> {
        let mut value = value;
        for part in rule(schema, &["all_of", "allOf"]).and_then(Value::as_list).unwrap_or_default() {
            value = self.value(value, part, path, depth + 1)?;
        }
        let Some(variants) =
            rule(schema, &["union", "anyOf", "oneOf", "any_of", "one_of"]).and_then(Value::as_list)
        else {
            return Ok(value);
        };
        let kept = std::mem::take(&mut self.errors);
        let mut closest: Option<Vec<String>> = None;
        for variant in variants {
            let tried = self.value(value.clone(), variant, path, depth + 1)?;
            let errors = std::mem::take(&mut self.errors);
            if errors.is_empty() {
                self.errors = kept;
                return Ok(tried);
            }
            // The variant of the right type says best what is missing.
            if !errors.iter().any(|error| error.contains("expected type '")) {
                closest.get_or_insert(errors);
            }
        }
        self.errors = kept;
        match closest {
            Some(errors) => self.errors.extend(errors),
            None => {
                let names: Vec<_> = variants.iter().map(named).collect();
                let wanted = names.join("|");
                self.error(path, format!("expected type '{wanted}', got '{}'", value.type_name()));
            }
        }
        self.errors.truncate(MAX_ERRORS);
        Ok(value)
    }

    fn properties(&mut self, value: Value, schema: &Dict, path: &str, depth: usize) -> Result<Value, Fault> {
        let mut value = value;
        let none = Dict::new();
        let properties = schema.get("properties").and_then(fields).unwrap_or(&none);
        let required = schema.get("required").and_then(Value::as_list).unwrap_or_default();
        for name in required.iter().filter_map(Value::as_str) {
            let has_default = properties.get(name).and_then(fields).is_some_and(|rule| rule.has("default"));
            let is_filled = has_default && self.defaults == Defaults::Fill;
            if !is_filled && !fields(&value).is_some_and(|dict| dict.has(name)) {
                self.error(path, format!("missing required key '{name}'"));
            }
        }
        for (name, rule) in properties.iter() {
            let found = fields(&value).and_then(|dict| dict.get(name.as_str())).cloned();
            let wanted = fields(rule);
            let (found, is_new) = match (found, wanted.and_then(|rule| rule.get("default"))) {
                (Some(found), _) => (found, false),
                (None, Some(default)) if self.defaults == Defaults::Fill => (default.clone(), true),
                (None, _) => {
                    let is_listed = required.iter().any(|key| key.as_str() == Some(name.as_str()));
                    if !is_listed && wanted.and_then(|rule| rule.get("required")) == Some(&Value::Bool(true))
                    {
                        self.error(path, format!("missing required key '{}'", name.as_str()));
                    }
                    continue;
                }
            };
            let inner =
                if path.is_empty() { name.as_str().to_owned() } else { format!("{path}.{}", name.as_str()) };
            let checked = self.value(found, rule, &inner, depth + 1)?;
            if (is_new || self.defaults == Defaults::Fill)
                && let Value::Dict(dict) = &mut value
            {
                self.cx.charge(40)?;
                Arc::make_mut(dict).insert(key(name.as_str()), checked);
            }
        }
        self.others(&value, schema, properties, path, depth)?;
        Ok(value)
    }

    fn others(
        &mut self,
        value: &Value,
        schema: &Dict,
        properties: &Dict,
        path: &str,
        depth: usize,
    ) -> Result<(), Fault> {
        let Some(others) = rule(schema, &["additional_properties", "additionalProperties"]) else {
            return Ok(());
        };
        let Some(dict) = fields(value) else { return Ok(()) };
        for (name, value) in dict.iter().filter(|(name, _)| !properties.has(name.as_str())) {
            match others {
                Value::Bool(false) => self.error(path, format!("unexpected key '{}'", name.as_str())),
                Value::Bool(true) | Value::Nil => {}
                rule => {
                    let inner = if path.is_empty() {
                        name.as_str().to_owned()
                    } else {
                        format!("{path}.{}", name.as_str())
                    };
                    self.value(value.clone(), rule, &inner, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn items(&mut self, value: Value, schema: &Dict, path: &str, depth: usize) -> Result<Value, Fault> {
        let mut value = value;
        let (Some(rule), Value::List(list)) = (schema.get("items"), &mut value) else { return Ok(value) };
        for at in 0..list.len() {
            let checked = self.value(list[at].clone(), rule, &format!("{path}[{at}]"), depth + 1)?;
            if self.defaults == Defaults::Fill {
                Arc::make_mut(list).set(at, checked);
            }
        }
        Ok(value)
    }
}

/// What an error calls a variant of a union.
fn named(schema: &Value) -> String {
    let kind = schema.as_str().or_else(|| fields(schema)?.get("type")?.as_str());
    kind.unwrap_or("another shape").to_owned()
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "any" | "unknown" => true,
        "int" => matches!(value, Value::Int(_)),
        "integer" => match value {
            Value::Float(value) => value.fract() == 0.0,
            other => matches!(other, Value::Int(_)),
        },
        "float" | "number" => value.as_number().is_some(),
        "bool" | "boolean" => matches!(value, Value::Bool(_)),
        "nil" | "null" => matches!(value, Value::Nil),
        "list" | "array" => matches!(value, Value::List(_)),
        "dict" | "object" => matches!(value, Value::Dict(_) | Value::Struct(_)),
        "closure" | "function" | "fn" => crate::builtins::args::is_callable(value),
        other => value.type_name() == other,
    }
}
