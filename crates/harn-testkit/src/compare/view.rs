//! One normal form for the many ways in which OpenAPI can spell the same schema.
//!
//! A [`View`] shows one level: references resolved, `allOf` merged, null pulled out of types and
//! unions, enums gathered. What lies below (properties, items) stays a raw schema until it is looked
//! at, so recursive schemas need no special care here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Assertions that are compared by their value. All else (titles, examples, defaults, extensions) is
/// documentation.
const LIMITS: [&str; 20] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "prefixItems",
    "contains",
    "not",
    "if",
    "then",
];

/// The other keywords that restrict a value.
const STRUCTURE: [&str; 10] = [
    "type",
    "const",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "allOf",
    "oneOf",
    "anyOf",
];

/// Formats that say how a number is stored, not which numbers are allowed.
const STORAGE_FORMATS: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct View {
    /// The component that this is, when it is one and nothing was merged into it.
    pub name: Option<String>,
    /// `string`, `object` …, `never`; `None` when any type is allowed.
    pub kind: Option<String>,
    pub accepts_null: bool,
    /// The allowed values, each as JSON text.
    pub values: Option<BTreeSet<String>>,
    pub properties: BTreeMap<String, Value>,
    pub required: BTreeSet<String>,
    /// Schema of further properties; `None` when anything goes.
    pub additional: Option<Value>,
    /// Schema of elements; `None` when anything goes.
    pub items: Option<Value>,
    pub limits: BTreeMap<&'static str, Value>,
    /// The alternatives of a union. A view with alternatives has no other assertions.
    pub variants: Vec<View>,
}

impl View {
    fn any() -> Self {
        Self { accepts_null: true, ..Self::default() }
    }

    fn of_kind(kind: &str) -> Self {
        Self { kind: Some(kind.to_owned()), accepts_null: kind == "null", ..Self::default() }
    }

    pub fn is_any(&self) -> bool {
        *self == Self { name: self.name.clone(), ..Self::any() }
    }

    /// Whether the component's inside deserves to be reported under the component's own name.
    pub fn is_composite(&self) -> bool {
        !self.properties.is_empty() || !self.variants.is_empty()
    }

    /// An object about whose content nothing is said.
    pub fn is_free_form(&self) -> bool {
        self.properties.is_empty() && self.additional.is_none()
    }
}

/// The schemas of one document.
pub(super) struct Schemas<'a> {
    document: &'a Value,
}

impl<'a> Schemas<'a> {
    pub fn new(document: &'a Value) -> Self {
        Self { document }
    }

    pub fn document(&self) -> &'a Value {
        self.document
    }

    /// A node with its `$ref`, if any, followed. For parameters, bodies and responses.
    pub fn resolve<'n>(&self, node: &'n Value) -> &'n Value
    where
        'a: 'n,
    {
        match node.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.resolve(self.target(reference)),
            None => node,
        }
    }

    pub fn view(&self, schema: &Value) -> View {
        self.view_within(schema, &mut Vec::new())
    }

    /// Properties with one allowed value: what tells the alternatives of a union apart.
    pub fn tags(&self, view: &View) -> BTreeMap<String, String> {
        let single = |schema: &Value| {
            let values = self.view(schema).values?;
            if values.len() == 1 { values.into_iter().next() } else { None }
        };
        view.properties.iter().filter_map(|(name, schema)| Some((name.clone(), single(schema)?))).collect()
    }

    fn target(&self, reference: &str) -> &'a Value {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("foreign reference {reference}"));
        self.document.pointer(pointer).unwrap_or_else(|| panic!("the document lacks {reference}"))
    }

    /// `trail` holds the references being followed: a schema that consists of itself says nothing.
    fn view_within(&self, schema: &Value, trail: &mut Vec<String>) -> View {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return View::any(),
            Value::Bool(false) => return View::of_kind("never"),
            other => panic!("not a schema: {other}"),
        };
        let mut view = self.own(keywords);
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            view = self.merge(self.referenced(reference, trail), view);
        }
        for part in array(keywords, "allOf") {
            view = self.merge(view, self.view_within(part, trail));
        }
        for union in ["oneOf", "anyOf"].into_iter().filter(|key| keywords.contains_key(*key)) {
            let alternatives =
                array(keywords, union).iter().map(|part| self.view_within(part, trail)).collect();
            view = self.merge(view, unite(alternatives));
        }
        view
    }

    fn referenced(&self, reference: &str, trail: &mut Vec<String>) -> View {
        if trail.iter().any(|followed| followed == reference) {
            return View::any();
        }
        trail.push(reference.to_owned());
        let mut view = self.view_within(self.target(reference), trail);
        trail.pop();
        let component = reference.strip_prefix("#/components/schemas/").map(str::to_owned);
        view.name = view.name.or(component);
        view
    }

    /// The keywords of the schema itself, without what it refers to or is composed of.
    fn own(&self, keywords: &Map<String, Value>) -> View {
        let types = types(keywords);
        let real: Vec<_> = types.iter().filter(|name| *name != "null").cloned().collect();
        if real.len() > 1 {
            let single = |name| self.own_of_kind(keywords, Some(name), false);
            return unite(real.into_iter().map(single).chain(null_of(&types)).collect());
        }
        let kind = real.into_iter().next().or_else(|| implied_kind(keywords, &types));
        let nullable = types.iter().any(|name| name == "null") || kind.is_none();
        self.own_of_kind(keywords, kind, nullable)
    }

    fn own_of_kind(&self, keywords: &Map<String, Value>, kind: Option<String>, nullable: bool) -> View {
        let values = values(keywords);
        let accepts_null = nullable && values.as_ref().is_none_or(|values| values.contains("null"));
        let values = values.map(|values| values.into_iter().filter(|value| value != "null").collect());
        View {
            name: None,
            kind: kind.or_else(|| values.as_ref().and_then(kind_of_values)),
            accepts_null,
            values,
            properties: properties(keywords),
            required: array(keywords, "required")
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            additional: self.telling(keywords.get("additionalProperties")),
            items: self.telling(keywords.get("items")),
            limits: limits(keywords),
            variants: Vec::new(),
        }
    }

    /// A schema that says something: `true`, `{}` and references to such are the same as nothing.
    fn telling(&self, schema: Option<&Value>) -> Option<Value> {
        schema.filter(|schema| !self.says_nothing(schema)).cloned()
    }

    /// Looks at the written keywords only, because a schema may refer to itself.
    fn says_nothing(&self, schema: &Value) -> bool {
        match self.resolve(schema) {
            Value::Object(keywords) => {
                !STRUCTURE.iter().chain(&LIMITS).any(|key| keywords.contains_key(*key))
            }
            other => other == &Value::Bool(true),
        }
    }

    /// What satisfies both views.
    fn merge(&self, left: View, right: View) -> View {
        if left.is_any() {
            return View { name: right.name.or(left.name), ..right };
        }
        if right.is_any() {
            return View { name: left.name.or(right.name), ..left };
        }
        if !left.variants.is_empty() || !right.variants.is_empty() {
            return self.distribute(left, right);
        }
        let name = match (left.properties.is_empty(), right.properties.is_empty()) {
            (_, true) if left.name.is_some() => left.name.clone(),
            (true, _) if right.name.is_some() => right.name.clone(),
            _ => None,
        };
        let accepts_null = left.accepts_null && right.accepts_null;
        View {
            name,
            kind: narrowest(left.kind, right.kind, accepts_null),
            accepts_null,
            values: both(left.values, right.values, |a, b| a.intersection(&b).cloned().collect()),
            properties: self.merge_properties(left.properties, right.properties),
            required: left.required.into_iter().chain(right.required).collect(),
            additional: both(left.additional, right.additional, |a, b| self.conjunction(a, b)),
            items: both(left.items, right.items, |a, b| self.conjunction(a, b)),
            limits: left.limits.into_iter().chain(right.limits).collect(),
            variants: Vec::new(),
        }
    }

    fn distribute(&self, left: View, right: View) -> View {
        let name = if right.is_composite() { None } else { left.name.clone() };
        let alternatives = |view: View| if view.variants.is_empty() { vec![view] } else { view.variants };
        let accepts_null = left.accepts_null && right.accepts_null;
        let rights = alternatives(right);
        let pairs =
            alternatives(left).into_iter().flat_map(|a| rights.iter().map(move |b| (a.clone(), b.clone())));
        let mut view = unite(pairs.map(|(a, b)| self.merge(a, b)).collect());
        view.accepts_null = accepts_null;
        view.name = view.name.or(name);
        view
    }

    fn merge_properties(
        &self,
        mut left: BTreeMap<String, Value>,
        right: BTreeMap<String, Value>,
    ) -> BTreeMap<String, Value> {
        for (name, schema) in right {
            let merged = match left.remove(&name) {
                Some(other) => self.conjunction(other, schema),
                None => schema,
            };
            left.insert(name, merged);
        }
        left
    }

    fn conjunction(&self, left: Value, right: Value) -> Value {
        if left == right || self.says_nothing(&right) {
            left
        } else if self.says_nothing(&left) {
            right
        } else {
            json!({ "allOf": [left, right] })
        }
    }
}

/// What satisfies at least one of the views. `oneOf` and `anyOf` are the same here: which of them a
/// generator writes says nothing about the values that it means.
fn unite(alternatives: Vec<View>) -> View {
    let mut accepts_null = false;
    let mut members = Vec::new();
    for view in alternatives {
        if view.is_any() {
            return View::any();
        }
        accepts_null |= view.accepts_null;
        match view.kind.as_deref() {
            Some("null") => {}
            _ if view.variants.is_empty() => members.push(view),
            _ => members.extend(view.variants),
        }
    }
    let kind = members.first().and_then(|view| view.kind.clone());
    if members.len() > 1 && members.iter().all(|view| is_plain_enum(view) && view.kind == kind) {
        let values = members.into_iter().filter_map(|view| view.values).flatten().collect();
        return View { kind, accepts_null, values: Some(values), ..View::default() };
    }
    match members.len() {
        0 => View::of_kind("null"),
        1 => View { accepts_null, ..members.swap_remove(0) },
        _ => View { accepts_null, variants: members, ..View::default() },
    }
}

fn is_plain_enum(view: &View) -> bool {
    view.values.is_some() && view.limits.is_empty() && view.properties.is_empty()
}

fn types(keywords: &Map<String, Value>) -> Vec<String> {
    let mut types: Vec<_> = match keywords.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && keywords.get("nullable") == Some(&Value::Bool(true)) {
        types.push("null".to_owned());
    }
    types
}

fn null_of(types: &[String]) -> Option<View> {
    types.iter().any(|name| name == "null").then(|| View::of_kind("null"))
}

/// The type that is meant where none is written.
fn implied_kind(keywords: &Map<String, Value>, types: &[String]) -> Option<String> {
    let has = |key: &str| keywords.contains_key(key);
    let kind = if !types.is_empty() {
        "null"
    } else if has("properties") || has("required") || has("additionalProperties") {
        "object"
    } else if has("items") || has("prefixItems") {
        "array"
    } else {
        return None;
    };
    Some(kind.to_owned())
}

fn values(keywords: &Map<String, Value>) -> Option<BTreeSet<String>> {
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(value), _) => Some(BTreeSet::from([value.to_string()])),
        (None, Some(Value::Array(values))) => Some(values.iter().map(Value::to_string).collect()),
        _ => None,
    }
}

fn kind_of_values(values: &BTreeSet<String>) -> Option<String> {
    let kind = match values.is_empty() {
        true => "null",
        false if values.iter().all(|value| value.starts_with('"')) => "string",
        false => return None,
    };
    Some(kind.to_owned())
}

fn properties(keywords: &Map<String, Value>) -> BTreeMap<String, Value> {
    let properties = keywords.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

fn limits(keywords: &Map<String, Value>) -> BTreeMap<&'static str, Value> {
    let told = LIMITS.into_iter().filter_map(|key| Some((key, keywords.get(key)?.clone())));
    told.filter(|(key, value)| !(*key == "format" && is_storage_format(value))).collect()
}

fn is_storage_format(format: &Value) -> bool {
    format.as_str().is_some_and(|name| STORAGE_FORMATS.contains(&name))
}

fn narrowest(left: Option<String>, right: Option<String>, accepts_null: bool) -> Option<String> {
    both(left, right, |a, b| match (a.as_str(), b.as_str()) {
        (same, other) if same == other => a,
        ("integer", "number") => a,
        ("number", "integer") => b,
        _ if accepts_null => "null".to_owned(),
        _ => "never".to_owned(),
    })
}

fn both<T>(left: Option<T>, right: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(join(left, right)),
        (left, right) => left.or(right),
    }
}

fn array<'k>(keywords: &'k Map<String, Value>, key: &str) -> &'k [Value] {
    keywords.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
