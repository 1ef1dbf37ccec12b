//! What scripts offer, over HTTP: listed with schemas, called by a task, checked on the way in and out.

use harn_testkit::{Answer, Api};
use serde_json::{Value, json};

use crate::support::http::{Local, Started, ended, id, refused, session};
use crate::support::server::{Server, command};
use crate::support::{offline, user};

const SCRIPT: &str = r#"
type Order = {item: string, count?: int}

/// What an order costs.
pub fn price(order: Order, tags: set = set(), pause: duration = 0ms, ...more: list<int>) -> int {
  return (order.count ?? 1) * 2 + len(tags) + more.sum() + (type_of(pause) == "duration" ? 100 : 0)
}

fn anything() -> any { return "many" }

@deprecated(use: "price")
pub fn wrong() -> int { return anything() }

/// Greets.
pub pipeline greet(task, name) { return task + " " + name }

pipeline hidden(task) { return "never" }
"#;

const SKILL_FILE: &str = "---\nname: review\ndescription: Reviews a change.\n---\nLook at it.\n";

/// A server that finds no skills of whoever runs the tests.
fn at_home() -> Started {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    command.env("HOME", folder.path()).env_remove("XDG_CONFIG_HOME").env_remove("HARN_SKILLS_PATH");
    let server = Server::spawn(folder.path(), command);
    Started { api: server.api(), server, folder }
}

/// A server whose personas name a script; one of them names only one of its functions.
async fn offering() -> Started {
    let started = at_home();
    let skill = started.work().join(".harn/skills/review/SKILL.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(skill, SKILL_FILE).unwrap();
    std::fs::write(started.work().join("shop.harn"), SCRIPT).unwrap();
    for entry in ["shop.harn", "shop.harn#price", "absent.harn", "agent_loop"] {
        persona(&started.api, entry).await;
    }
    started
}

async fn persona(api: &Api, entry: &str) {
    let body = json!({ "name": entry, "version": "7", "entry_workflow": entry, "description": "d",
                       "autonomy_tier": "act_auto", "receipt_policy": "optional" });
    api.post("/v1/personas", body).await.expect(201);
}

async fn skills(api: &Api) -> Vec<Value> {
    api.get("/v1/skills").await.expect(200)["data"].as_array().unwrap().clone()
}

async fn skill(api: &Api, name: &str) -> Value {
    skills(api).await.into_iter().find(|skill| skill["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

async fn call(api: &Api, skill: &str, input: Value) -> Answer {
    api.post("/v1/tasks", json!({ "input": input, "metadata": { "skill_id": skill } })).await
}

async fn outcome(api: &Api, task: &Value) -> Value {
    let task = ended(api, &id(task)).await;
    api.get(&format!("/v1/outcomes/{}", task["outcome_id"].as_str().unwrap())).await.expect(200)
}

#[tokio::test]
async fn exports_and_files_are_listed_with_their_schemas() {
    let s = offering().await;
    let all = skills(&s.api).await;
    let names: Vec<&str> = all.iter().map(|skill| skill["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["run_task", "price", "wrong", "greet", "price", "review"]);
    let price = &all[1];
    assert_eq!((&price["source"], &price["version"]), (&json!("shop.harn"), &json!("7")));
    assert_eq!(price["description"], "What an order costs.");
    let order = json!({ "type": "object", "required": ["item"],
                        "properties": { "item": { "type": "string" }, "count": { "type": "integer" } } });
    let properties = json!({ "order": order, "tags": { "type": "array", "uniqueItems": true },
                             "pause": { "type": "integer", "format": "milliseconds", "default": 0 },
                             "more": { "type": "array", "items": { "type": "integer" } } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["order"], "additionalProperties": false });
    assert_eq!((&price["input_schema"], &price["output_schema"]), (&schema, &json!({ "type": "integer" })));
    assert_eq!((&all[2]["deprecated"], &all[3]["metadata"]["kind"]), (&json!(true), &json!("pipeline")));
    assert_eq!((&all[5]["metadata"]["layer"], &all[5]["input_schema"]), (&json!("project"), &Value::Null));

    for skill in &all {
        assert_eq!(s.api.get(&format!("/v1/skills/{}", id(skill))).await.expect(200), *skill);
    }
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = s.api.get(&format!("/v1/skills?limit=1{cursor}")).await.expect(200);
        paged.extend(page["data"].as_array().unwrap().clone());
        let Some(next) = page["page"]["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, all);
    refused(&s.api.get("/v1/skills/skill_none").await, 404, "resource_not_found");
    refused(&s.api.get("/v1/skills?cursor=none").await, 400, "invalid_request");
}

#[tokio::test]
async fn an_export_is_called_with_arguments_that_fit() {
    let s = offering().await;
    let price = id(&skill(&s.api, "price").await);
    let order =
        json!({ "order": { "item": "pen", "count": 3 }, "tags": ["a", "a"], "pause": 5, "more": [10, 20] });
    let task = call(&s.api, &price, order).await.expect(202);
    assert_eq!(task["metadata"]["script"]["function"], "price");
    assert!(task["persona_id"].is_string(), "it runs for the persona that offers it: {task}");
    assert_eq!(outcome(&s.api, &task).await["metadata"]["value"], 137);

    // In a conversation, and as a pipeline with words and data.
    let greet = id(&skill(&s.api, "greet").await);
    let mut input = user("good morning");
    let parts = input["parts"].as_array_mut().unwrap();
    parts.push(json!({ "type": "json", "visibility": "public", "value": { "name": "Ada" } }));
    let session = session(&s.api).await;
    let body = json!({ "input": input, "metadata": { "skill_id": greet } });
    let task = s.api.post(&format!("/v1/sessions/{session}/tasks"), body).await.expect(202);
    assert_eq!(task["session_id"], json!(session));
    assert_eq!(outcome(&s.api, &task).await["summary"], "good morning Ada");

    let wrong = call(&s.api, &id(&skill(&s.api, "wrong").await), json!({})).await.expect(202);
    let failure = outcome(&s.api, &wrong).await["failure"].take();
    assert_eq!(failure["code"], "script_result");
    let message = failure["message"].as_str().unwrap();
    assert!(message.ends_with("at result: expected type 'int', got 'string'."), "{message}");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_nothing_runs() {
    let s = offering().await;
    let (price, greet) = (id(&skill(&s.api, "price").await), id(&skill(&s.api, "greet").await));
    let hidden = greet.replace("greet", "hidden");
    let pen = json!({ "order": { "item": "pen" } });
    let cases = [
        (
            &price,
            json!({ "order": { "count": "3" } }),
            400,
            "input",
            "`price` cannot be given this: at order: missing required key 'item'; at order.count: expected type 'integer', got 'string'.",
        ),
        (&price, json!({}), 400, "input", "`price` needs the argument `order`."),
        (
            &price,
            json!({ "order": { "item": "pen" }, "colour": 1 }),
            400,
            "input",
            "`price` has no parameter `colour`; it has `order`, `tags`, `pause`, `more`.",
        ),
        (
            &price,
            json!({ "order": { "item": "pen" }, "more": [1] }),
            400,
            "input",
            "`price` needs `tags` where `more` is given, too.",
        ),
        (
            &greet,
            json!({ "task": 1 }),
            400,
            "input",
            "`greet` cannot be given this: at task: expected type 'string', got 'int'.",
        ),
        (
            &id(&skill(&s.api, "review").await),
            json!({}),
            400,
            "metadata.skill_id",
            "This skill is a file that models load; it cannot be called.",
        ),
        (&hidden, json!({}), 404, "metadata.skill_id", &format!("No skill `{hidden}` is visible to you.")),
    ];
    for (skill, input, status, param, message) in cases {
        let answer = call(&s.api, skill, input).await;
        assert_eq!(answer.status, status, "{answer}");
        let error = &answer.body["error"];
        assert_eq!((&error["message"], &error["param"]), (&json!(message), &json!(param)));
    }
    let other = json!({ "input": pen, "persona_id": "persona_other", "metadata": { "skill_id": price } });
    let answer = s.api.post("/v1/tasks", other).await;
    assert_eq!((answer.status, &answer.body["error"]["param"]), (400, &json!("persona_id")));
    let answer = s.api.post("/v1/tasks", json!({ "input": pen })).await;
    assert_eq!((answer.status, &answer.body["error"]["param"]), (400, &json!("session_id")));
    assert_eq!(s.api.get("/v1/tasks").await.expect(200)["data"], json!([]));
    assert_eq!(s.api.get("/v1/sessions").await.expect(200)["data"], json!([]));
    std::fs::write(s.work().join("shop.harn"), "let x =").unwrap();
    let broken = call(&s.api, &price, json!({})).await;
    refused(&broken, 400, "invalid_request");
    assert!(broken.body["error"]["message"].as_str().unwrap().starts_with("shop.harn:1:"), "{broken}");
}

#[tokio::test]
async fn skills_of_other_workspaces_are_neither_seen_nor_called() {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::start(folder.path(), offline()).await;
    let owner = local.key("owner", &["*"]).await;
    std::fs::write(folder.path().join("work/shop.harn"), SCRIPT).unwrap();
    persona(&owner, "shop.harn").await;
    let other = owner.post("/v1/workspaces", json!({ "name": "b", "root": "harn://b" })).await.expect(201);
    let guest = local.confined("guest", &id(&other)).await;
    let names: Vec<Value> = skills(&guest).await.iter().map(|skill| skill["name"].clone()).collect();
    assert_eq!(names, ["run_task"]);
    let price = id(&skill(&owner, "price").await);
    refused(&guest.get(&format!("/v1/skills/{price}")).await, 404, "resource_not_found");
    refused(&call(&guest, &price, json!({ "order": { "item": "pen" } })).await, 404, "resource_not_found");
}
