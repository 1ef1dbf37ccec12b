//! What a session pins and a persona asks for: checked when it is said, carried by forks, and never replaced in silence.

use std::process::Command;

use harn_testkit::Api;
use serde_json::{Value, json};

use crate::stage::{COST, Manner, Stage, run};
use crate::support::HARN;
use crate::support::http::{id, session, session_with, submit, workspace};

fn pinned(pins: Value) -> Value {
    json!({ "metadata": { "harn": pins } })
}

async fn stage() -> Stage {
    Stage::new(Manner::Answers, Manner::Answers).await
}

async fn persona(api: &Api, policy: Value) -> harn_testkit::Answer {
    let body = json!({ "name": "p", "version": "1", "entry_workflow": "agent_loop", "description": "d",
                       "autonomy_tier": "act_auto", "receipt_policy": "optional", "model_policy": policy });
    api.post("/v1/personas", body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pin_that_means_nothing_is_refused_with_its_field() {
    let stage = stage().await;
    let server = stage.serve("first:m1");
    let api = server.api();
    let session = session(&api).await;
    let path = format!("/v1/sessions/{session}");
    let cases = [
        (json!({ "model": "sonet" }), "model", "did you mean `sonnet`"),
        (json!({ "model": "nobody:m" }), "model", "there is no provider `nobody`"),
        (json!({ "model": 5 }), "model", "must be text"),
        (json!({ "thought_level": "max" }), "thought_level", "`max` is not a thought level"),
        (json!({ "budget": "much" }), "budget", "A budget is `@inherit`, `off`, or JSON"),
        (json!({ "budget": r#"{"mcp_calls":1}"# }), "budget", "Nothing counts `mcp_calls` yet"),
        (json!({ "budget": { "llm_tokens": 1 } }), "budget", "must be text"),
    ];
    let create = json!({ "workspace_id": workspace(&api).await });
    for (pins, field, words) in cases {
        let mut made = create.clone();
        made["metadata"] = json!({ "harn": pins });
        for answer in [
            api.post("/v1/sessions", made).await,
            api.patch(&path, pinned(pins.clone())).await,
            api.post(&format!("{path}/fork"), pinned(pins.clone())).await,
        ] {
            let error = &answer.body["error"];
            assert_eq!((answer.status, answer.error_code()), (400, "invalid_request"), "{answer}");
            assert_eq!(error["param"], format!("metadata.harn.{field}"), "{answer}");
            assert!(error["message"].as_str().unwrap().contains(words), "{answer}");
            let unknown = field == "model" && pins["model"].is_string();
            assert_eq!(error["details"]["code"] == "invalid_model", unknown, "{answer}");
        }
    }
    let odd = api.patch(&path, json!({ "metadata": { "harn": "sonnet" } })).await;
    assert_eq!((odd.status, &odd.body["error"]["param"]), (400, &json!("metadata.harn")));
    assert_eq!(api.get(&path).await.expect(200)["metadata"], json!({}), "nothing of it was taken up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_uses_what_it_pins_until_the_pin_is_taken_back_and_forks_carry_it() {
    let stage = stage().await;
    let server = stage.serve("first:m1");
    let api = server.api();
    let budget = r#"{"llm_cost_usd":0.5,"llm_tokens":200000}"#;
    let pins = json!({ "model": "second:m2", "thought_level": "high", "budget": budget });
    let session = session_with(&api, pinned(pins.clone())).await;
    let path = format!("/v1/sessions/{session}");
    assert_eq!(api.get(&path).await.expect(200)["metadata"], json!({ "harn": pins }));
    let with = |calls: Vec<String>| calls[0].strip_prefix("llm:main:1 asks ").unwrap().to_owned();
    let (_, _, calls) = run(&server, &session, json!({})).await;
    assert_eq!(calls, ["llm:main:1 asks second:m2 high".to_owned(), format!("llm:main:1 cost {COST}")]);

    let fork = api.post(&format!("{path}/fork"), pinned(json!({ "thought_level": "low" }))).await.expect(201);
    let carried = json!({ "harn": { "model": "second:m2", "thought_level": "low", "budget": budget } });
    assert_eq!(fork["metadata"], carried);
    assert_eq!(with(run(&server, &id(&fork), json!({})).await.2), "second:m2 low");

    for (said, left, used) in [
        (
            json!({ "thought_level": "@inherit" }),
            json!({ "model": "second:m2", "budget": budget }),
            "second:m2",
        ),
        (json!({ "model": "" }), json!({ "budget": budget }), "first:m1"),
    ] {
        let changed = api.patch(&path, pinned(said)).await.expect(200);
        assert_eq!(changed["metadata"], json!({ "harn": left }));
        assert_eq!(with(run(&server, &session, json!({})).await.2), used);
    }
    // What a fork has is its own.
    assert_eq!(api.get(&format!("/v1/sessions/{}", id(&fork))).await.expect(200)["metadata"], carried);
    let cleared = api.patch(&path, json!({ "metadata": { "harn": null } })).await.expect(200);
    assert_eq!(cleared["metadata"], json!({}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_a_session_pins_is_kept() {
    let stage = stage().await;
    let server = stage.serve("first:m1");
    for (budget, rule) in
        [(r#"{"llm_tokens":10}"#, "10 tokens"), (r#"{"llm_cost_usd":0.000001}"#, "$0.000001")]
    {
        let session = session_with(&server.api(), pinned(json!({ "budget": budget }))).await;
        let (task, _, _) = run(&server, &session, json!({})).await;
        assert_eq!(task["failure"]["code"], "budget_exhausted");
        assert!(task["failure"]["message"].as_str().unwrap().contains(rule), "{task}");
    }
    let session = session_with(&server.api(), pinned(json!({ "budget": "off" }))).await;
    assert_eq!(run(&server, &session, json!({})).await.0["status"], "COMPLETED");
    assert_eq!((stage.first.asked().len(), stage.second.asked().len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pin_that_means_nothing_any_more_fails_the_task_and_not_the_ones_after_it() {
    let stage = stage().await;
    stage.configure("aliases = { work = 'second:m2' }");
    let server = stage.serve("first:m1");
    let session = session_with(&server.api(), pinned(json!({ "model": "work" }))).await;
    assert_eq!(run(&server, &session, json!({})).await.2[0], "llm:main:1 asks second:m2");
    drop(server);
    stage.configure("");
    let server = stage.serve("first:m1");
    let api = server.api();
    let (task, _, calls) = run(&server, &session, json!({})).await;
    let failure = &task["failure"];
    assert_eq!((&task["status"], &failure["code"]), (&json!("FAILED"), &json!("model_unavailable")));
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.starts_with("The model that the session pins cannot be used: there is no model `work`"),
        "{message}"
    );
    assert!(calls.is_empty());
    assert_eq!(api.get(&format!("/v1/sessions/{session}")).await.expect(200)["state"], "IDLE");
    // The answer to the submission already says so.
    assert_eq!(submit(&api, &session, "again").await["status"], "FAILED");
    api.patch(&format!("/v1/sessions/{session}"), pinned(json!({ "model": null }))).await.expect(200);
    assert_eq!(run(&server, &session, json!({})).await.2[0], "llm:main:1 asks first:m1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persona_chooses_after_the_session_and_before_the_configuration() {
    let stage = Stage::new(Manner::Overloaded, Manner::Answers).await;
    let server = stage.serve("offline");
    let api = server.api();
    let wrong = [
        (json!({ "model": "sonet" }), "model_policy.model"),
        (json!({ "fallbacks": "second:m2" }), "model_policy.fallbacks"),
        (json!({ "fallbacks": ["second:m2", "sonet"] }), "model_policy.fallbacks[1]"),
        (json!({ "thought_level": "much" }), "model_policy.thought_level"),
    ];
    for (policy, param) in wrong {
        let answer = persona(&api, policy).await;
        assert_eq!((answer.status, &answer.body["error"]["param"]), (400, &json!(param)), "{answer}");
    }
    let policy =
        json!({ "model": "first:m1", "fallbacks": ["second:m2"], "thought_level": "low", "other": 1 });
    let persona = persona(&api, policy.clone()).await.expect(201);
    assert_eq!(persona["model_policy"], policy);
    let own = json!({ "persona_id": id(&persona) });
    let (task, _, calls) = run(&server, &session_with(&api, own.clone()).await, json!({})).await;
    let expected = [
        "llm:main:1 asks first:m1 low".to_owned(),
        "llm:main:1 failed: overloaded".into(),
        "llm:main:2 asks second:m2 low".into(),
        format!("llm:main:2 cost {COST}"),
    ];
    assert_eq!((&task["status"], calls.as_slice()), (&json!("COMPLETED"), expected.as_slice()));
    // A model that is pinned is that one and no other.
    let mut both = own.clone();
    both["metadata"] = json!({ "harn": { "model": "first:m1" } });
    let (task, _, _) = run(&server, &session_with(&api, both).await, json!({})).await;
    assert_eq!((&task["status"], &task["failure"]["code"]), (&json!("FAILED"), &json!("overloaded")));
    let path = format!("/v1/personas/{}", id(&persona));
    let changed =
        api.patch(&path, json!({ "model_policy": { "model": null, "fallbacks": null } })).await.expect(200);
    assert_eq!(changed["model_policy"], json!({ "thought_level": "low", "other": 1 }));
    let (_, _, calls) = run(&server, &session_with(&api, own).await, json!({})).await;
    assert_eq!(calls[0], "llm:main:1 asks offline:offline-1 low");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_pins_the_session_that_it_makes_or_goes_on_with() {
    let stage = stage().await;
    let task = |flags: &[&str]| {
        let mut command = Command::new(HARN);
        command.env("HARN_LLM_MODEL", "first:m1").current_dir(stage.work());
        command.args(["task", "do it", "--json"]).args(flags);
        let output = command.output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let asked =
            events.filter(|event| event["event"] == "span.started").map(|event| event["payload"].clone());
        let asked = asked.map(|body| (body["model"]["model"].clone(), body["thinking"].clone())).next();
        (output.status.code().unwrap(), asked, String::from_utf8(output.stderr).unwrap())
    };
    let (code, asked, told) = task(&["--model", "second:m2", "--thinking", "high"]);
    assert_eq!((code, asked), (0, Some((json!("m2"), json!("high")))), "{told}");
    let (_, asked, told) = task(&["--continue", "--thinking", "@inherit"]);
    assert_eq!(asked, Some((json!("m2"), Value::Null)), "{told}");
    let (code, asked, told) = task(&["--model", "sonet"]);
    assert_eq!((code, asked), (1, None));
    assert!(told.contains("did you mean `sonnet`"), "{told}");
}
