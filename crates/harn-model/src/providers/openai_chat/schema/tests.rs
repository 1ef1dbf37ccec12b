//! Which schemas become strict, and how an answer finds its way back.

use super::*;

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn closed(properties: Value, required: Value) -> Value {
    let mut schema = object(properties, required);
    schema["additionalProperties"] = false.into();
    schema
}

#[test]
fn a_schema_becomes_strict_with_every_property_required() {
    let cases = [
        (
            object(json!({"a": {"type": "string", "minLength": 1, "default": "x"}}), json!(["a"])),
            closed(json!({"a": {"type": "string"}}), json!(["a"])),
            false,
        ),
        (
            object(json!({"a": {"type": "string"}, "b": {"enum": ["x"], "type": "string"}}), json!([])),
            closed(
                json!({"a": {"type": ["string", "null"]}, "b": {"enum": ["x", null], "type": ["string", "null"]}}),
                json!(["a", "b"]),
            ),
            true,
        ),
        (
            object(json!({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}), json!([])),
            closed(json!({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}), json!(["a"])),
            false,
        ),
        (
            object(
                json!({"l": {"type": "array", "items": object(json!({"n": {"const": 1}}), json!([]))}}),
                json!(["l"]),
            ),
            closed(
                json!({"l": {"type": "array", "items": closed(
                    json!({"n": {"anyOf": [{"const": 1}, {"type": "null"}]}}), json!(["n"]))}}),
                json!(["l"]),
            ),
            true,
        ),
        (
            object(json!({"a": {"oneOf": [{"type": "integer"}, {"type": "string"}]}}), json!(["a"])),
            closed(json!({"a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}), json!(["a"])),
            false,
        ),
    ];
    for (given, schema, has_nulls) in cases {
        assert_eq!(strict(&given, &[]), Some(Strict { schema, has_nulls }), "{given}");
    }
}

#[test]
fn references_are_kept_and_their_definitions_made_strict() {
    let mut given = object(json!({"next": {"$ref": "#/$defs/node"}}), json!([]));
    given["$defs"] = json!({"node": object(json!({"next": {"$ref": "#"}}), json!(["next"]))});
    let mut expected =
        closed(json!({"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}), json!(["next"]));
    expected["$defs"] = json!({"node": closed(json!({"next": {"$ref": "#"}}), json!(["next"]))});
    assert_eq!(strict(&given, &[]), Some(Strict { schema: expected, has_nulls: true }));
}

#[test]
fn azure_drops_more() {
    let given = object(json!({"a": {"type": "integer", "minimum": 1}}), json!(["a"]));
    let kept = strict(&given, &[]).unwrap().schema;
    let dropped = strict(&given, DROPPED_BY_AZURE).unwrap().schema;
    assert_eq!(kept["properties"]["a"], json!({"type": "integer", "minimum": 1}));
    assert_eq!(dropped["properties"]["a"], json!({"type": "integer"}));
}

#[test]
fn what_cannot_be_strict_is_left_alone() {
    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = object(json!({ "d": deep }), json!(["d"]));
    }
    let union = json!({"anyOf": [object(json!({"x": {"type": "string"}}), json!([])), {"type": "string"}]});
    let cases = [
        deep,
        json!(true),
        json!({}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "object"}),
        json!({"type": "object", "anyOf": [{"type": "object"}]}),
        json!({"type": "object", "properties": {}, "additionalProperties": true}),
        object(json!({"a": {}}), json!(["a"])),
        object(json!({"a": true}), json!(["a"])),
        object(json!({"a": {"type": "array"}}), json!(["a"])),
        object(json!({"a": {"type": "object", "additionalProperties": {"type": "string"}}}), json!(["a"])),
        object(json!({"a": {"allOf": [{"type": "string"}]}}), json!(["a"])),
        object(json!({"a": {"$ref": "https://elsewhere.example/s"}}), json!(["a"])),
        object(json!({ "a": union }), json!(["a"])),
    ];
    for given in cases {
        assert_eq!(strict(&given, &[]), None, "{given}");
    }
}

#[test]
fn nulls_that_stand_for_absence_are_taken_out_and_no_others() {
    let item =
        object(json!({"n": {"type": "integer"}, "must": {"type": ["string", "null"]}}), json!(["must"]));
    let mut schema = object(
        json!({
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"type": "string"},
            "l": {"type": "array", "items": {"$ref": "#/$defs/item"}}
        }),
        json!(["c"]),
    );
    schema["$defs"] = json!({ "item": item });
    let cases = [
        (json!({"a": null, "b": null, "c": null}), json!({"b": null, "c": null})),
        (
            json!({"a": "x", "l": [{"n": null, "must": null}, {"n": 1}]}),
            json!({"a": "x", "l": [{"must": null}, {"n": 1}]}),
        ),
        (json!({"l": null, "z": null}), json!({"z": null})),
        (json!([null]), json!([null])),
        (json!(null), json!(null)),
    ];
    for (mut answer, expected) in cases {
        prune(&mut answer, &schema);
        assert_eq!(answer, expected);
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}});
    let strict = strict(&schema, &[]);
    assert!(strict.is_some());
    let mut answer = json!({"a": null});
    prune(&mut answer, &schema);
    assert_eq!(answer, json!({}));
}
