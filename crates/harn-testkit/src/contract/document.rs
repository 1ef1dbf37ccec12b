//! The public document: read once, its operations found by path, its schemas compiled.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::route::Template;
use crate::{allowed, shared_data};

const OPENAPI: &str = "agents-protocol/openapi-2026-04-25.yaml";
const RECEIPT: &str = "agents-protocol/receipt-2026-04-25.schema.json";
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

pub(super) struct Document {
    published: Value,
    receipt: Value,
    operations: Vec<Operation>,
}

pub(super) struct Operation {
    method: String,
    template: Template,
    request: Option<Value>,
    responses: BTreeMap<String, Vec<Media>>,
}

/// One media type of a response, and the schema of its content.
pub(super) struct Media {
    pub name: String,
    pub schema: Value,
}

impl Document {
    pub fn load() -> Option<Self> {
        let openapi =
            std::fs::read_to_string(shared_data(OPENAPI)?).expect("the public document is readable");
        let receipt = std::fs::read_to_string(shared_data(RECEIPT)?).expect("the receipt schema is readable");
        let published = serde_saphyr::from_str(&openapi).expect("the public document is YAML");
        let receipt = serde_json::from_str(&receipt).expect("the receipt schema is JSON");
        Some(Self::new(published, receipt))
    }

    fn new(published: Value, receipt: Value) -> Self {
        let mut judged = published.clone();
        allowed::apply(&mut judged, 0);
        let operations = operations(&judged);
        Self { published, receipt, operations }
    }

    pub fn published(&self) -> &Value {
        &self.published
    }

    /// The operation that serves `path`. Literals win over parameters, from left to right.
    pub fn operation(&self, method: &str, path: &str) -> Option<&Operation> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let matching = self.operations.iter().filter(|operation| operation.template.matches(path));
        let best = matching.clone().map(|operation| &operation.template).max()?;
        matching
            .filter(|operation| operation.template == *best)
            .find(|operation| operation.method.eq_ignore_ascii_case(method))
    }

    /// A validator for a schema of this document in answers with this status, formats asserted.
    pub fn compile(&self, schema: &Value, status: u16) -> Validator {
        let mut judged = self.published.clone();
        allowed::apply(&mut judged, status);
        let root = json!({
            "allOf": [schema],
            "components": judged["components"].take(),
            "$defs": { "receipt": self.receipt },
        });
        jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&root)
            .unwrap_or_else(|error| panic!("the public document has an unusable schema: {error}"))
    }
}

impl Operation {
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.template)
    }

    pub fn request(&self) -> Option<&Value> {
        self.request.as_ref()
    }

    /// What the document says about exactly this status; `default` is not looked at.
    pub fn response(&self, status: u16) -> Option<&[Media]> {
        self.responses.get(&status.to_string()).map(Vec::as_slice)
    }

    pub fn successes(&self) -> String {
        let statuses: Vec<_> = self.responses.keys().map(String::as_str).collect();
        format!("the document has {}", statuses.join(", "))
    }
}

pub(super) fn component(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().expect("the document has paths");
    let mut found = Vec::new();
    for (path, item) in paths {
        let item = item.as_object().expect("a path is an object");
        for (method, operation) in item.iter().filter(|(key, _)| METHODS.contains(&key.as_str())) {
            found.push(Operation {
                method: method.to_uppercase(),
                template: Template::new(path),
                request: operation.pointer("/requestBody/content/application~1json/schema").cloned(),
                responses: responses(document, &operation["responses"]),
            });
        }
    }
    found
}

fn responses(document: &Value, responses: &Value) -> BTreeMap<String, Vec<Media>> {
    let responses = responses.as_object().expect("an operation has responses");
    responses
        .iter()
        .map(|(status, response)| (status.clone(), content(resolve(document, response))))
        .collect()
}

fn content(response: &Value) -> Vec<Media> {
    let none = Map::new();
    let content = response["content"].as_object().unwrap_or(&none);
    content
        .iter()
        .map(|(name, media)| Media {
            name: name.clone(),
            schema: media.get("schema").cloned().unwrap_or(Value::Bool(true)),
        })
        .collect()
}

fn resolve<'a>(document: &'a Value, node: &'a Value) -> &'a Value {
    let Some(reference) = node["$ref"].as_str() else { return node };
    let pointer = reference.strip_prefix('#').expect("references stay inside the document");
    document.pointer(pointer).unwrap_or_else(|| panic!("the document refers to {reference} and lacks it"))
}
