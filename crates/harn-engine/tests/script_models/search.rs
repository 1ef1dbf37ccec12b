//! `agent_loop` with `tool_search`: the provider searches where it can, the loop where it cannot.

use harn_model::Models;
use harn_testkit::providers::{Turn, anthropic, openai_chat};
use serde_json::{Value, json};

use super::kit::{Stage, chat_at, models_at, said};

const TOOLS: &str = r#"
    fn tools() {
        var all = tool_define(tool_registry(), "help", "Helps.", {parameters: {}, handler: { args -> "helped" }})
        for name in ["send_mail", "read_log"] {
            let config = {parameters: {}, handler: { args -> name + " done" }, defer_loading: true}
            all = tool_define(all, name, "The tool " + name + ".", config)
        }
        return all
    }
"#;

/// The Messages API under its own name: the catalog knows that it searches.
fn anthropic_at(url: &str) -> Models {
    models_at("anthropic", "anthropic_messages", "CLAUDE_KEY", "x_api_key", url)
}

fn message(content: Value, stop_reason: &str) -> anthropic::Turn {
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    Turn::Answer(json!({"content": content, "stop_reason": stop_reason, "usage": usage}))
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description,
           "input_schema": {"type": "object", "properties": {}, "required": []}})
}

fn names(body: &Value) -> Vec<&str> {
    body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_provider_searches_where_it_can() {
    let looked = json!([
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "mail"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "send_mail"}],
        }},
        {"type": "tool_use", "id": "toolu_1", "name": "send_mail", "input": {}},
    ]);
    let sent = json!([{"type": "text", "text": "It is sent."}]);
    let fake =
        anthropic::Fake::start(vec![message(looked.clone(), "tool_use"), message(sent, "end_turn")]).await;
    let code = format!(
        r#"{TOOLS}
        let result = agent_loop("Send a mail.", nil, {{model: "anthropic:big", tools: tools(), tool_search: true}})
        println(result.status + ": " + result.text)
        for call in result.tool_calls {{ println(call.name + ": " + call.result) }}
        for kind in ["tool_search_query", "tool_search_result"] {{
            println(json_stringify(transcript_events_by_kind(result.transcript, kind).map({{ one -> one.metadata }})))
        }}
        "#
    );
    let printed = Stage::with(anthropic_at(&fake.url)).play(&code).await;
    assert_eq!(printed[..2], ["done: It is sent.", "send_mail: send_mail done"], "{printed:?}");
    let told: Vec<Value> = printed[2..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let about = json!({
        "tool_use_id": "search_1_1", "name": "tool_search_tool_bm25", "strategy": "bm25", "mode": "native",
    });
    let with = |more: Value| {
        let mut whole = about.clone();
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([whole])
    };
    let found = with(json!({"promoted": ["send_mail"], "diagnostic": null}));
    assert_eq!(told, [with(json!({"query": "mail"})), found]);

    let asked = fake.asked();
    let deferred = |name: &str| {
        let mut told = tool(name, &format!("The tool {name}."));
        told["defer_loading"] = json!(true);
        told
    };
    let tools = json!([
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        tool("help", "Helps."),
        deferred("send_mail"),
        deferred("read_log"),
    ]);
    assert_eq!((&asked[0].body["tools"], &asked[1].body["tools"]), (&tools, &tools));
    // What it found goes back as it came, or it would have to search again.
    assert_eq!(asked[1].body["messages"][1], json!({"role": "assistant", "content": looked}));
}

#[tokio::test]
async fn the_loop_searches_where_the_provider_does_not_or_may_not() {
    for search in
        ["\"client\"", "\"hybrid\"", "{ query, tools -> [] }", "{mode: \"client\", strategy: \"regex\"}"]
    {
        let fake =
            anthropic::Fake::start(vec![message(json!([{"type": "text", "text": "No."}]), "end_turn")]).await;
        let code = format!(
            r#"{TOOLS}
            let options = {{model: "anthropic:big", tools: tools(), tool_search: {search}}}
            println(agent_loop("Go.", nil, options).text)
            "#
        );
        assert_eq!(Stage::with(anthropic_at(&fake.url)).play(&code).await, ["No."], "{search}");
        assert_eq!(names(&fake.asked()[0].body), ["help", "tool_search"], "{search}");
    }

    let fake = openai_chat::Fake::start(vec![said("No.")]).await;
    let code = format!(
        r#"{TOOLS}
        for search in [true, "native"] {{
            let options = {{model: "chat-like:big", max_tokens: 50, tools: tools(), tool_search: search}}
            println(try {{ agent_loop("Go.", nil, options).text }} catch (e) {{ e }})
        }}
        "#
    );
    let printed = Stage::with(chat_at(&fake.url)).play(&code).await;
    let refused = "agent_loop: tool_search mode 'native': the model has no search of its own for the strategy 'bm25'; \
                   leave the mode out, or use 'client'";
    assert_eq!(printed, ["No.", refused]);
}
