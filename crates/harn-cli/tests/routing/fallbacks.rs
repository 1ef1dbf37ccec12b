//! A model that fails gives way to the next one, under policy and budget, and a crash in between changes nothing.

use serde_json::{Value, json};

use crate::stage::{COST, Manner, Stage, finished, run};
use crate::support::http::{id, session, session_with, submit};
use crate::support::server::Server;

const FALLBACK: &str = "fallbacks = ['second:m2']";

async fn history(server: &Server, task: &Value) -> Vec<Value> {
    let path = format!("/v1/permissions/history?task_id={}", id(task));
    server.api().get(&path).await.expect(200)["data"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_completes_with_the_second_model_and_costs_what_that_one_costs() {
    let stage = Stage::new(Manner::Overloaded, Manner::Answers).await;
    stage.configure(FALLBACK);
    let server = stage.serve("first:m1");
    let (task, outcome, calls) = run(&server, &session(&server.api()).await, json!({})).await;
    let expected = [
        "llm:main:1 asks first:m1".to_owned(),
        "llm:main:1 failed: overloaded".into(),
        "llm:main:2 asks second:m2".into(),
        format!("llm:main:2 cost {COST}"),
    ];
    assert_eq!(calls, expected);
    assert_eq!((&task["status"], &outcome["summary"]), (&json!("COMPLETED"), &json!("It is done.")));
    let cost = json!({ "currency": "USD", "total": 0.000_172, "input_tokens": 20, "output_tokens": 9 });
    assert_eq!(outcome["cost"], cost);
    assert_eq!(outcome["metrics"]["model_calls"], 2);
    assert_eq!(stage.second.asked()[0]["max_tokens"], 77, "{}", stage.second.asked()[0]);
    // The next run begins with the first again.
    stage.first.becomes(Manner::Answers);
    let (_, _, calls) = run(&server, &session(&server.api()).await, json!({})).await;
    assert_eq!(calls, ["llm:main:1 asks first:m1".to_owned(), format!("llm:main:1 cost {COST}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_killed_goes_on_with_the_second_model_whatever_is_the_default_then() {
    let stage = Stage::new(Manner::Overloaded, Manner::Silent).await;
    stage.configure(FALLBACK);
    let mut server = stage.serve("first:m1");
    let task = id(&submit(&server.api(), &session(&server.api()).await, "do it").await);
    stage.second.called().await;
    server.kill();
    stage.second.becomes(Manner::Answers);
    stage.configure("");
    let server = stage.serve("offline");
    let (task, outcome, calls) = finished(&server, &task).await;
    let expected = [
        "llm:main:1 asks first:m1".to_owned(),
        "llm:main:1 failed: overloaded".into(),
        "llm:main:2 asks second:m2".into(),
        "llm:main:2 asks second:m2".into(),
        format!("llm:main:2 cost {COST}"),
    ];
    assert_eq!((calls.as_slice(), &task["status"]), (expected.as_slice(), &json!("COMPLETED")));
    assert_eq!(outcome["cost"]["total"], 0.000_172);
    assert_eq!((stage.first.asked().len(), stage.second.asked().len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_decides_about_the_second_model_too() {
    let stage = Stage::new(Manner::Overloaded, Manner::Answers).await;
    stage.configure(FALLBACK);
    let rule = "[[permissions.rules]]\nid = 'not-there'\ndeny = { effect = 'model', provider = 'second' }\n";
    stage.write("harn.toml", rule);
    let server = stage.serve("first:m1");
    let (task, _, calls) = run(&server, &session(&server.api()).await, json!({})).await;
    assert_eq!((&task["status"], &task["failure"]["code"]), (&json!("FAILED"), &json!("denied")));
    assert_eq!(
        calls,
        ["llm:main:1 asks first:m1", "llm:main:1 failed: overloaded", "llm:main:2 failed: denied"]
    );
    let decided = history(&server, &task).await;
    let denied: Vec<&Value> = decided.iter().filter(|entry| entry["decision"]["action"] == "deny").collect();
    assert_eq!(denied.len(), 1, "{decided:#?}");
    assert_eq!(denied[0]["decision"]["matched_rule"]["id"], "not-there");
    assert!(stage.second.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_the_configuration_names_leads_to_the_second_model() {
    let stage = Stage::new(Manner::Overloaded, Manner::Answers).await;
    stage.configure(&format!("{FALLBACK}\nfallback_on = ['rate_limit', 'network']"));
    let server = stage.serve("first:m1");
    let (task, _, _) = run(&server, &session(&server.api()).await, json!({})).await;
    assert_eq!((&task["status"], &task["failure"]["code"]), (&json!("FAILED"), &json!("overloaded")));
    assert!(stage.second.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_in_money_is_not_begun_where_the_price_is_not_known() {
    let stage = Stage::new(Manner::Overloaded, Manner::Answers).await;
    stage.configure("fallbacks = ['third:m3']");
    let server = stage.serve("first:m1");
    let limited = json!({ "metadata": { "budget": { "usd": 5 } } });
    let why = "The price of third:m3 is not known, so a budget in money cannot be kept; add `prices` for it in llm.toml, \
               or give the run a budget in tokens.";
    for pinned in [false, true] {
        let pins =
            if pinned { json!({ "metadata": { "harn": { "model": "third:m3" } } }) } else { json!({}) };
        let session = session_with(&server.api(), pins).await;
        let (task, _, _) = run(&server, &session, limited.clone()).await;
        let failure = &task["failure"];
        assert_eq!((&failure["code"], &failure["message"]), (&json!("budget_exhausted"), &json!(why)));
        let decided = history(&server, &task).await;
        let refused = |entry: &&Value| entry["decision"]["matched_rule"]["id"] == "budget.usd";
        assert_eq!(decided.iter().filter(refused).count(), 1);
        assert!(stage.second.asked().is_empty());
    }
    // Without such a budget it works, and nobody pretends that it cost nothing.
    let (task, outcome, calls) = run(&server, &session(&server.api()).await, json!({})).await;
    assert_eq!(
        (&task["status"], calls.last().unwrap().as_str()),
        (&json!("COMPLETED"), "llm:main:2 cost null")
    );
    assert_eq!((&outcome["cost"]["total"], &outcome["cost"]["input_tokens"]), (&Value::Null, &json!(20)));
    let tokens = json!({ "metadata": { "budget": { "tokens": 100_000 } } });
    let (task, _, _) = run(&server, &session(&server.api()).await, tokens).await;
    assert_eq!(task["status"], "COMPLETED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallbacks_that_do_not_exist_are_refused_at_the_start() {
    let stage = Stage::new(Manner::Answers, Manner::Answers).await;
    let started = |variable: &str| {
        let mut command = crate::support::server::command(stage.folder.path());
        command.env("HARN_LLM_FALLBACKS", variable).stdout(std::process::Stdio::null());
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = started("second:m2,sonet");
    assert!(
        code == Some(1) && told.contains("HARN_LLM_FALLBACKS: there is no model `sonet`, did you mean"),
        "{told}"
    );
    stage.configure("fallbacks = ['second:m2', 'sonet']");
    let (code, told) = started("");
    assert!(code == Some(1) && told.contains("llm.toml:2: fallback 2: there is no model `sonet`"), "{told}");
}
