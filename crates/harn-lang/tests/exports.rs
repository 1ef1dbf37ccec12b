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
    let properties = json!({ "name": { "type": "string" }, "times": { "type": "integer" } });
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
