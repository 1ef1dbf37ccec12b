//! Answers of a given shape, for every wire format and every way to ask for one: the text is one JSON value.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ModelAnswer, ModelRequest, OutputSchema, StopReason, Usage};
use harn_core::tool::{Annotations, Class, SideEffect, ToolSpec};
use harn_model::StructuredOutput::{self, ByPrompt, ByTool, JsonMode, Native};
use harn_model::{AfterContent, Chunk, HttpOptions, Model, RetryPolicy, collect};
use serde_json::json;
use support::adapters::{Adapter, Script, all, hello};
use support::chunks::text;
use support::{Server, options, run};

fn asking(tools: &[&str]) -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let spec = |name: &&str| ToolSpec {
        name: (*name).into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::None,
        annotations: Annotations::default(),
    };
    let tools: Vec<ToolSpec> = tools.iter().map(spec).collect();
    let output_schema = Some(OutputSchema { name: "number".into(), schema });
    ModelRequest { tools: tools.into(), output_schema, ..hello() }
}

async fn answered(
    adapter: &Adapter,
    how: StructuredOutput,
    request: ModelRequest,
    script: &Script,
) -> ModelAnswer {
    let server = Server::start(vec![adapter.reply(adapter.script(script))]).await;
    let mut target = adapter.target(&server.url);
    target.capabilities.structured_output = how;
    collect(adapter.model(target, options(1)).stream(request)).await.unwrap()
}

#[tokio::test]
async fn words_around_a_value_are_taken_off_whoever_wrote_them() {
    let cases = [
        ("{\"n\":5}", "{\"n\":5}"),
        (" {\"n\": 5}\n", "{\"n\": 5}"),
        ("```json\n{\"n\": 5}\n```", "{\"n\": 5}"),
        ("Sure! Here it is:\n{\"n\": 5,}\nAnything else?", "{\"n\": 5}"),
        ("I cannot say.", "I cannot say."),
    ];
    for adapter in all() {
        for how in [Native, JsonMode, ByTool, ByPrompt] {
            for (said, expected) in cases {
                let answer = answered(&adapter, how, asking(&[]), &Script::says(said)).await;
                let expected = ModelAnswer {
                    text: expected.into(),
                    usage: Usage::new(3, 2),
                    ..ModelAnswer::stopped(StopReason::EndTurn)
                };
                assert_eq!(answer, expected, "{} {how:?} {said:?}", adapter.name);
            }
        }
    }
}

#[tokio::test]
async fn a_call_of_the_answers_tool_is_the_answer() {
    let script = Script {
        text: "Here it is: {soon}. ",
        tool: Some("number"),
        ..Script::calls(&[(Some("a"), "{\"n\":5}")])
    };
    for adapter in all() {
        let answer = answered(&adapter, ByTool, asking(&["look"]), &script).await;
        let found = (answer.text.as_str(), answer.tool_calls.len(), answer.stop);
        assert_eq!(found, ("{\"n\":5}", 0, StopReason::EndTurn), "{}", adapter.name);
    }
}

#[tokio::test]
async fn words_beside_other_calls_and_of_stopped_answers_stay_as_they_are() {
    let looking = Script { text: "I look {\"n\":1} up.", ..Script::calls(&[(Some("a"), "{}")]) };
    let stopped = Script { stop: Some("novelty"), ..Script::says("Well: {\"n\":1}") };
    for adapter in all() {
        for how in [Native, JsonMode, ByTool, ByPrompt] {
            let answer = answered(&adapter, how, asking(&["look"]), &looking).await;
            let found = (answer.text.as_str(), answer.tool_calls.len(), answer.stop);
            assert_eq!(found, (looking.text, 1, StopReason::ToolUse), "{} {how:?}", adapter.name);
            let answer = answered(&adapter, how, asking(&[]), &stopped).await;
            let found = (answer.text.as_str(), answer.stop);
            let other = StopReason::Other("novelty".into());
            assert_eq!(found, (stopped.text, other), "{} {how:?}", adapter.name);
        }
    }
}

#[tokio::test]
async fn half_a_value_is_never_shown_and_so_the_call_is_made_again() {
    let retry = RetryPolicy { after_content: AfterContent::Fail, ..options(2).retry };
    for adapter in all() {
        let frames = adapter.frames(&Script::says("{\"n\":4}"));
        let half = adapter.reply(adapter.bytes(&frames[..frames.len() - 1]));
        let whole = adapter.reply(adapter.script(&Script::says("I cannot say.")));
        let server = Server::start(vec![half, whole]).await;
        let model = adapter.model(adapter.target(&server.url), HttpOptions { retry, ..options(2) });
        let (mut chunks, error) = run(&model, asking(&[])).await;
        chunks.retain(|chunk| !matches!(chunk, Chunk::Usage(_)));
        let expected = vec![text("I cannot say."), Chunk::Stop(StopReason::EndTurn)];
        assert_eq!((chunks, error, server.seen().len()), (expected, None, 2), "{}", adapter.name);
    }
}
