//! The comparison on small documents: the many spellings of one schema are equal, also those of utoipa.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use harn_testkit::compare;
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};

/// A document whose one operation takes and gives `schema`.
fn document(schema: &Value, components: &Value) -> Value {
    let content = json!({ "application/json": { "schema": schema } });
    let responses = json!({ "200": { "content": content } });
    let operation = json!({ "requestBody": { "content": content }, "responses": responses });
    json!({ "paths": { "/x": { "post": operation } }, "components": { "schemas": components } })
}

#[track_caller]
fn check_equal(one: Value, other: Value) {
    let components = json!({
        "Name": { "type": "string" },
        "Alias": { "$ref": "#/components/schemas/Name", "description": "the same" },
        "Anything": { "description": "any value" },
        "Base": { "type": "object", "required": ["id"], "properties": { "id": { "type": "string" } } },
        "Tree": { "type": "object", "properties": { "children": {
            "type": "array", "items": { "$ref": "#/components/schemas/Tree" } } } },
        "Nested": { "type": "array", "items": { "$ref": "#/components/schemas/Nested" } },
    });
    let (one, other) = (document(&one, &components), document(&other, &components));
    assert_eq!(compare(&one, &other), []);
    assert_eq!(compare(&other, &one), []);
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

#[test]
fn equal_schemas_in_different_words() {
    let text = json!({ "type": "string" });
    check_equal(text.clone(), reference("Name"));
    check_equal(text.clone(), reference("Alias"));
    check_equal(text.clone(), json!({ "allOf": [text], "title": "T", "default": "d", "examples": ["e"] }));

    let nullable = json!({ "type": ["string", "null"] });
    check_equal(nullable.clone(), json!({ "oneOf": [{ "type": "null" }, { "type": "string" }] }));
    check_equal(nullable.clone(), json!({ "anyOf": [reference("Name"), { "type": "null" }] }));
    check_equal(nullable, json!({ "type": "string", "nullable": true }));

    check_equal(json!({ "type": "string", "enum": ["a"] }), json!({ "const": "a" }));
    let letters = json!({ "type": "string", "enum": ["a", "b"] });
    check_equal(letters, json!({ "oneOf": [{ "const": "b" }, { "type": "string", "enum": ["a"] }] }));
    let maybe = json!({ "type": ["string", "null"], "enum": ["a", null] });
    check_equal(maybe, json!({ "oneOf": [{ "type": "null" }, { "const": "a" }] }));

    check_equal(json!({ "type": "integer", "format": "int64" }), json!({ "type": "integer" }));
    check_equal(json!({ "type": "integer", "minimum": 0 }), json!({ "type": "integer", "minimum": 0.0 }));
    let mixed = json!({ "type": ["string", "integer"] });
    check_equal(mixed, json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] }));
}

#[test]
fn equal_objects_in_different_words() {
    let open = json!({ "type": "object" });
    check_equal(open.clone(), json!({ "type": "object", "additionalProperties": true }));
    check_equal(open.clone(), json!({ "type": "object", "additionalProperties": {} }));
    let words = json!({ "type": "object", "additionalProperties": reference("Anything"),
        "propertyNames": { "type": "string" } });
    check_equal(open, words);
    check_equal(json!({}), reference("Anything"));
    check_equal(json!(true), json!({ "description": "all" }));

    let properties = json!({ "id": { "type": "string" }, "n": { "type": "integer" } });
    let flat = json!({ "type": "object", "required": ["n", "id"], "properties": properties });
    let n = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    check_equal(flat, json!({ "allOf": [reference("Base"), n] }));

    let list = json!({ "type": "array", "items": reference("Name") });
    let narrowed = json!({ "allOf": [{ "type": "array", "items": {} }, list] });
    check_equal(list, narrowed);
}

#[test]
fn recursive_schemas_end() {
    check_equal(reference("Tree"), reference("Tree"));
    check_equal(reference("Nested"), json!({ "type": "array", "items": reference("Nested") }));
}

#[derive(serde::Serialize, ToSchema)]
struct Pet {
    id: String,
    age: Option<u32>,
    state: State,
    last: Option<State>,
    owner: Option<Owner>,
    scores: BTreeMap<String, f64>,
    extra: Value,
    #[schema(value_type = Object)]
    metadata: Value,
    parts: Vec<Piece>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(serde::Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum State {
    Awake,
    Asleep,
}

#[derive(serde::Serialize, ToSchema)]
struct Owner {
    name: String,
    #[schema(format = DateTime)]
    since: String,
}

#[derive(serde::Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code)]
enum Piece {
    Text { text: String },
    Count { count: i64 },
}

#[utoipa::path(put, path = "/pets/{pet_id}", operation_id = "putPet", request_body = Pet,
    params(("pet_id" = String, Path), ("limit" = Option<u32>, Query, minimum = 1, maximum = 200)),
    responses((status = 200, body = Pet)))]
#[allow(dead_code)]
fn put_pet() {}

#[derive(OpenApi)]
#[openapi(paths(put_pet))]
struct Ours;

#[test]
fn what_utoipa_writes_equals_what_a_person_writes() {
    let text = json!({ "type": "string" });
    let nothing = json!({ "type": "null" });
    let tag = |name: &str| json!({ "type": "string", "enum": [name] });
    let pet = json!({
        "type": "object",
        "required": ["id", "state", "scores", "extra", "metadata", "parts"],
        "properties": {
            "id": text,
            "age": { "type": ["integer", "null"], "minimum": 0 },
            "state": reference("State"),
            "last": { "oneOf": [reference("State"), nothing] },
            "owner": { "oneOf": [reference("Owner"), nothing] },
            "scores": { "type": "object", "additionalProperties": { "type": "number" } },
            "extra": { "description": "Any JSON value." },
            "metadata": { "type": "object", "additionalProperties": true, "default": {} },
            "parts": { "type": "array", "items": { "oneOf": [reference("Count"), reference("Text")] } },
            "tags": { "type": "array", "items": text },
        },
    });
    let content = json!({ "application/json": { "schema": reference("Pet") } });
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 });
    let public = json!({
        "paths": { "/pets/{pet_id}": { "put": {
            "operationId": "putPet",
            "requestBody": { "required": true, "content": content },
            "parameters": [
                { "name": "pet_id", "in": "path", "required": true, "schema": text },
                { "name": "limit", "in": "query", "required": false, "schema": limit },
            ],
            "responses": { "200": { "content": content } },
        } } },
        "components": { "schemas": {
            "Pet": pet,
            "State": { "type": "string", "enum": ["awake", "asleep"] },
            "Owner": { "type": "object", "required": ["name", "since"],
                "properties": { "name": text, "since": { "type": "string", "format": "date-time" } } },
            "Text": { "type": "object", "required": ["type", "text"],
                "properties": { "type": tag("text"), "text": text } },
            "Count": { "type": "object", "required": ["type", "count"],
                "properties": { "type": tag("count"), "count": { "type": "integer" } } },
        } },
    });
    let ours = serde_json::to_value(Ours::openapi()).unwrap();
    let found = compare(&public, &ours);
    assert!(found.is_empty(), "{found:#?}\n{ours:#}");
}
