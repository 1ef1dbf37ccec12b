//! The artifact that clients read: its shape, its order, and its schema.

use serde_json::{Value, json};

use super::super::Catalog;
use super::{env, with};

fn schema() -> jsonschema::Validator {
    let text = include_str!("../../../../../docs/provider-catalog.v2.schema.json");
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_artifact_has_this_shape() {
    let artifact = Catalog::builtin().export();
    let shape = json!({
        "top": keys(&artifact),
        "provider": keys(&artifact["providers"][0]),
        "model": keys(&artifact["models"][0]),
        "$schema": artifact["$schema"],
        "schema_version": artifact["schema_version"],
        "price_unit": artifact["price_unit"],
        "default_model": artifact["default_model"],
        "sonnet": artifact["aliases"]["sonnet"],
    });
    let expected = json!({
        "top": ["$schema", "aliases", "default_model", "models", "price_unit", "providers", "schema_version"],
        "provider": [
            "aliases", "auth", "availability", "base_url", "base_url_env", "default_model", "dialect", "docs",
            "id", "location", "name", "preference", "rate_limits", "wire"
        ],
        "model": [
            "aliases", "context_window", "id", "input", "location", "max_output", "name", "note", "output",
            "parallel_tools", "prices", "prompt_caching", "provider", "selector", "source", "status",
            "structured_output", "thinking", "tier", "tools", "verified"
        ],
        "$schema": "https://harnlang.com/schemas/provider-catalog.v2.json",
        "schema_version": 2,
        "price_unit": "micro_usd_per_million_tokens",
        "default_model": null,
        "sonnet": { "provider": "anthropic", "model": "claude-sonnet-5-5" },
    });
    assert_eq!(shape, expected);
}

#[test]
fn one_row_of_each_kind_reads_like_this() {
    let artifact = Catalog::builtin().export();
    let find = |table: &str, id: &str| {
        artifact[table].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
    };
    assert_eq!(
        find("providers", "ollama"),
        json!({
            "id": "ollama", "name": "Ollama", "aliases": [], "wire": "ollama", "dialect": "standard",
            "location": "local", "base_url": "http://localhost:11434", "base_url_env": ["OLLAMA_HOST"],
            "auth": { "kind": "none", "env": [], "header": "bearer" },
            "rate_limits": { "requests_per_minute": null, "tokens_per_minute": null, "concurrency": null },
            "preference": null, "default_model": null, "docs": "https://docs.ollama.com",
            "availability": { "status": "unknown", "hint": null },
        })
    );
    assert_eq!(
        find("models", "gpt-6-luna"),
        json!({
            "selector": "openai:gpt-6-luna", "provider": "openai", "id": "gpt-6-luna", "name": "GPT-6 Luna",
            "location": "cloud", "aliases": ["luna"], "tier": "small", "status": "active",
            "context_window": 1_050_000, "max_output": 128_000, "input": ["text", "image"],
            "output": ["text"], "tools": true, "parallel_tools": true, "structured_output": true,
            "thinking": {
                "kind": "effort", "levels": ["none", "low", "medium", "high", "xhigh", "max"],
                "can_disable": true, "budget_min": null, "budget_max": null,
            },
            "prompt_caching": "automatic",
            "prices": {
                "input": 100_000, "output": 500_000, "cached_input": 10_000, "cache_write": 125_000,
                "cache_write_long": null, "thinking": null, "up_to": null,
                "long_prompt": {
                    "above": 272_000, "input": 200_000, "output": 750_000, "cached_input": 20_000,
                    "cache_write": 250_000, "cache_write_long": null, "thinking": null,
                },
            },
            "source": "https://developers.openai.com/api/docs/models/gpt-6-luna",
            "verified": "2026-11-16", "note": null,
        })
    );
}

#[test]
fn the_artifact_keeps_to_its_schema_with_and_without_overlays_and_environment() {
    let overlay = with(
        "[llm]\nmodel = \"opus\"\naliases = { mine = \"vllm:x\" }\n[[models]]\nprovider = \"vllm\"\nid = \"x\"",
    );
    let variables = [("OPENAI_API_KEY", "secret")];
    let schema = schema();
    for artifact in [
        Catalog::builtin().export(),
        overlay.export(),
        overlay.export_for(&env(&variables)),
        Catalog::default().export(),
    ] {
        let problems: Vec<String> = schema
            .iter_errors(&artifact)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(problems, Vec::<String>::new());
    }
}

#[test]
fn the_schema_refuses_what_no_artifact_may_be() {
    let schema = schema();
    let broken: [fn(&mut Value); 7] = [
        |artifact| artifact["schema_version"] = json!(3),
        |artifact| artifact["models"][0]["prices"]["input"] = json!(-1),
        |artifact| artifact["models"][0]["tier"] = json!("huge"),
        |artifact| artifact["models"][0]["id"] = json!("two words"),
        |artifact| artifact["providers"][0]["auth"]["env"][0] = json!("sk-secret"),
        |artifact| artifact["providers"][0]["surprise"] = json!(true),
        |artifact| {
            artifact["models"][0].as_object_mut().unwrap().remove("context_window");
        },
    ];
    for (case, change) in broken.into_iter().enumerate() {
        let mut artifact = Catalog::builtin().export();
        change(&mut artifact);
        assert!(!schema.is_valid(&artifact), "case {case}");
    }
}

#[test]
fn rows_are_in_order_and_the_availability_follows_the_environment() {
    let artifact = Catalog::builtin().export_for(&env(&[("GROQ_API_KEY", "secret")]));
    let column = |table: &str, key: &str| -> Vec<String> {
        artifact[table].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    assert!(column("providers", "id").is_sorted());
    let ordered: Vec<(String, String)> =
        column("models", "provider").into_iter().zip(column("models", "id")).collect();
    assert!(ordered.is_sorted());
    let groq = artifact["providers"].as_array().unwrap().iter().find(|row| row["id"] == "groq").unwrap();
    assert_eq!(groq["availability"], json!({ "status": "available", "hint": null }));
    assert!(!artifact.to_string().contains("secret"));
}

#[test]
fn a_name_of_the_users_own_is_exported_in_place_of_the_built_in_one() {
    let artifact = with("[llm.aliases]\nsonnet = \"openai:gpt-6-luna\"").export();
    assert_eq!(artifact["aliases"]["sonnet"], json!({ "provider": "openai", "model": "gpt-6-luna" }));
}

#[test]
fn the_guide_names_the_default_of_every_provider_in_the_order_that_counts() {
    let guide = include_str!("../../../../../docs/models.md");
    let catalog = Catalog::builtin();
    let mut ranked: Vec<_> = catalog.providers().filter(|row| row.preference.is_some()).collect();
    ranked.sort_by_key(|row| row.preference);
    let rows: Vec<String> = ranked
        .iter()
        .map(|row| {
            let keys = row.auth.env.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            format!("| {keys} | {} | `{}` |\n", row.name, row.default_model.as_deref().unwrap())
        })
        .collect();
    assert!(guide.contains(&rows.concat()), "docs/models.md should have this table:\n{}", rows.concat());
}
