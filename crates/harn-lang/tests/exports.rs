//! What a script offers to others, with schemas derived from its types.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use harn_lang::bytecode::Source;
use harn_lang::compile::NoModules;
use harn_lang::exports::{Export, ExportKind, exports};
use serde_json::json;

fn listed(text: &str) -> Vec<Export> {
    exports(Source { name: "a.harn".into(), text: text.into() }, &NoModules).unwrap()
}

#[test]
fn public_functions_and_pipelines_are_listed_with_their_docs() {
    let all = listed(
        "/// Greets.\npub fn greet(name: string, times: int = 1) -> string { return name }\nfn hidden() { return 1 }\n\
         pub pipeline review(task, repo) -> {text: string} { return {text: task} }\npipeline other(task) { 1 }\n",
    );
    let names: Vec<_> = all.iter().map(|export| (export.name.as_str(), export.kind)).collect();
    assert_eq!(names, [("greet", ExportKind::Function), ("review", ExportKind::Pipeline)]);
    assert_eq!(
        (all[0].description.as_str(), &all[0].output_schema),
        ("Greets.", &json!({ "type": "string" }))
    );
    let properties = json!({ "name": { "type": "string" }, "times": { "type": "integer", "default": 1 } });
    let input = json!({ "type": "object", "properties": properties, "required": ["name"],
                        "additionalProperties": false });
    assert_eq!(all[0].input_schema, input);
    assert_eq!(all[1].input_schema["properties"], json!({ "task": { "type": "string" }, "repo": {} }));
}

#[test]
fn types_become_schemas() {
    let cases = [
        ("list<int>", json!({ "type": "array", "items": { "type": "integer" } })),
        ("dict<string, bool>", json!({ "type": "object", "additionalProperties": { "type": "boolean" } })),
        ("\"low\" | \"high\"", json!({ "enum": ["low", "high"] })),
        ("string | nil", json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })),
        ("any", json!({})),
        ("set<int>", json!({ "type": "array", "items": { "type": "integer" }, "uniqueItems": true })),
        ("duration", json!({ "type": "integer", "format": "milliseconds" })),
        ("bytes", json!({ "type": "string", "contentEncoding": "base64" })),
        (
            "Point",
            json!({ "type": "object", "required": ["x"],
                          "properties": { "x": { "type": "number" }, "label": { "type": "string" } } }),
        ),
    ];
    for (ty, expected) in cases {
        let text = format!("type Point = {{x: float, label?: string}}\npub fn f(a: {ty}) {{ return a }}\n");
        assert_eq!(listed(&text)[0].input_schema["properties"]["a"], expected, "{ty}");
    }
    let imported =
        listed("import { PipelineResult } from \"std/acp\"\npub fn f() -> PipelineResult { return {} }\n");
    assert_eq!(imported[0].output_schema["type"], "object");
}

#[test]
fn what_the_host_fills_in_is_nobody_s_argument_and_a_rest_is_a_list() {
    let all = listed(
        "pub pipeline p(task, project, context, argv, depth) { 1 }\n\
         @deprecated(use: \"p\")\npub fn f(a, ...more: list<int>) { return more }\n",
    );
    assert_eq!(all[0].input_schema["properties"], json!({ "task": { "type": "string" }, "depth": {} }));
    let more = json!({ "type": "array", "items": { "type": "integer" } });
    assert_eq!(all[1].input_schema["properties"], json!({ "a": {}, "more": more }));
    assert_eq!((all[0].is_deprecated, all[1].is_deprecated), (false, true));
}

#[test]
fn parameters_keep_their_order_and_constants_are_told_as_defaults() {
    let all = listed(
        "pub fn opt(o, f: float = -1.5, d: duration = 2s, u: string = \"x\", l = [1, {a: nil}], n: int = 1 + 1) { return o }\n",
    );
    let params: Vec<_> = all[0].params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(params, ["o", "f", "d", "u", "l", "n"]);
    let expected = json!({
        "o": {},
        "f": { "type": "number", "default": -1.5 },
        "d": { "type": "integer", "format": "milliseconds", "default": 2000 },
        "u": { "type": "string", "default": "x" },
        "l": { "default": [1, { "a": null }] },
        "n": { "type": "integer" },
    });
    assert_eq!(all[0].input_schema["properties"], expected);
}
