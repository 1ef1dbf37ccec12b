//! The OpenAPI document: generated from the handlers, then completed with what holds for all of them.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

/// Paths that need neither a version nor a key.
const PUBLIC: [&str; 5] = ["/health", "/version", "/openapi.json", "/v1", "/v1/agent-card"];

/// Adds to every operation its path parameters, the protocol's headers, the error answer and the security.
pub fn complete(generated: &OpenApi) -> Value {
    let text = serde_json::to_string(generated).unwrap_or_default();
    let mut document: Value = serde_json::from_str(&named_lists(&text)).unwrap_or_default();
    document["openapi"] = json!("3.1.0");
    document["info"] = json!({
        "title": "Harn Agents Protocol API",
        "version": harn_core::PROTOCOL_VERSION,
        "description": "What this harness serves of the Harn Agents Protocol v1.",
        "license": { "name": "MIT OR Apache-2.0" },
    });
    document["security"] = json!([{ "bearerAuth": [] }]);
    document["components"]["securitySchemes"] = json!({
        "bearerAuth": { "type": "http", "scheme": "bearer", "bearerFormat": "API key" },
    });
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, item) in paths {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                complete_operation(path, method, operation);
            }
        }
    }
    document
}

/// `Page<Task>` is the protocol's `TaskList`.
fn named_lists(text: &str) -> String {
    let mut pieces = text.split("Page_");
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(piece.len());
        named.push_str(&piece[..end]);
        named.push_str("List");
        named.push_str(&piece[end..]);
    }
    named
}

fn complete_operation(path: &str, method: &str, operation: &mut Value) {
    if let Some(name) = operation["operationId"].as_str() {
        operation["operationId"] = json!(camel_case(name));
    }
    let mut parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let public = PUBLIC.contains(&path);
    if public {
        operation["security"] = json!([]);
    } else {
        parameters.push(json!({
            "name": "Harn-Agents-Protocol-Version", "in": "header", "required": true,
            "schema": { "type": "string", "enum": [harn_core::PROTOCOL_VERSION] },
        }));
    }
    for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        parameters
            .push(json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    }
    if method != "get" {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        }));
    }
    for parameter in &mut parameters {
        absent_not_null(&mut parameter["schema"]);
    }
    let bodies = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
    for (_, body) in bodies.into_iter().flatten() {
        absent_not_null(&mut body["schema"]);
    }
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    let error = json!({ "$ref": "#/components/schemas/ErrorResponse" });
    if let Some(responses) = operation["responses"].as_object_mut() {
        responses.insert("default".into(), content("Protocol error response.", error));
    }
}

/// An optional parameter or body may be absent; `null` is not one of its values.
fn absent_not_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array().filter(|types| types.len() == 2) {
        schema["type"] = types.iter().find(|kind| *kind != "null").cloned().unwrap_or_default();
    }
    if let Some(choices) = schema["oneOf"].as_array().filter(|choices| choices.len() == 2) {
        let real = choices.iter().find(|choice| choice["type"] != "null").cloned();
        *schema = real.unwrap_or_default();
    }
}

/// Handlers are named as their operations, in Rust's own spelling.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (head, tail) = word.split_at(word.len().min(1));
        camel.push_str(&head.to_uppercase());
        camel.push_str(tail);
    }
    camel
}

fn content(description: &str, schema: Value) -> Value {
    let mut body = Map::new();
    body.insert("application/json".into(), json!({ "schema": schema }));
    json!({ "description": description, "content": body })
}
