//! `llm_stream`: what an answer has said so far reaches the script while the rest is still to come.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harn_core::run::Budget;
use harn_engine::fixture::Fixture;
use harn_model::{MockFile, Model, Models, ScriptedModel};
use harn_testkit::providers::{Turn, openai_chat};
use serde_json::json;
use tokio::sync::Notify;

use super::kit::{Stage, chat_at, said};

/// Answers that wait for each other come in time or never.
async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("the script waits for the server and it for the script")
}

fn text(text: &'static str) -> openai_chat::Said {
    openai_chat::Said { text, finish: "stop", ..openai_chat::Said::default() }
}

#[tokio::test]
async fn the_first_piece_is_there_before_the_last_one_is_sent() {
    // The rest of the first answer comes when the script has asked a second question.
    let sign = Arc::new(Notify::new());
    let mut turns = VecDeque::from([
        Turn::Held(text("Hello there, friend."), 2, Arc::clone(&sign)),
        Turn::Answer(text("heard")),
    ]);
    let mut asked = 0;
    let rule = move |_: &_| {
        asked += 1;
        if asked == 2 {
            sign.notify_one();
        }
        turns.pop_front()
    };
    let fake = openai_chat::Fake::by_rule(rule).await;
    let code = r#"
        let model = {model: "chat-like:big", max_tokens: 50}
        let pieces = llm_stream("Greet me.", nil, model)
        println("[" + receive(pieces) + "]")
        println(llm_call("It said something.", nil, model).text)
        var rest = ""
        for piece in pieces { rest = rest + piece }
        println("[" + rest + "]")
        println(llm_usage().call_count)
        println(llm_usage().cost_usd)
    "#;
    let printed = in_time(Stage::with(chat_at(&fake.url)).play(code)).await;
    assert_eq!(printed, ["[Hello t]", "heard", "[here, friend.]", "2", "0.000076"]);
}

#[tokio::test]
async fn what_goes_wrong_is_the_last_piece_and_nothing_is_said_twice() {
    let cut = || Turn::Refuse(503, json!({"error": {"message": "later"}}));
    let fake = openai_chat::Fake::start(vec![cut(), cut(), cut(), cut(), said("at last")]).await;
    let budget = Budget { micro_usd: Some(1000), ..Budget::default() };
    let code = r#"
        fn told(options) {
            var all = []
            for piece in llm_stream("hi", nil, {model: "chat-like:big"} + options) {
                all = all.push(piece?.error?.category ?? piece)
            }
            println(all.join("|"))
        }
        told({max_tokens: 5000})
        told({max_tokens: 50, retries: 1, backoff_ms: 1})
    "#;
    let printed = in_time(Stage { budget, ..Stage::with(chat_at(&fake.url)) }.play(code)).await;
    assert_eq!(printed, ["budget_exceeded", "at last"]);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_asked_for_again() {
    let cut = ScriptedModel::from_json(r#"{"responses": [{"text": "Hel", "cut": true}]}"#).unwrap();
    let model = cut.reference();
    let code = r#"
        var all = []
        for piece in llm_stream("hi", nil, {retries: 3, backoff_ms: 1, fallbacks: ["scripted"]}) {
            all = all.push(piece?.error?.category ?? piece)
        }
        println(all.join("|"))
    "#;
    let stage = Stage { model, ..Stage::with(Models::new(vec![Arc::new(cut)])) };
    assert_eq!(in_time(stage.play(code)).await, ["Hel|transient_network"]);
}

#[tokio::test]
async fn whoever_closes_the_channel_hears_no_more() {
    let sign = Arc::new(Notify::new());
    let fake =
        openai_chat::Fake::start(vec![Turn::Held(text("Hello there, friend."), 2, Arc::clone(&sign))]).await;
    let code = r#"
        let pieces = llm_stream("Greet me.", nil, {model: "chat-like:big", max_tokens: 50})
        println(receive(pieces))
        close_channel(pieces)
        sleep(1)
        println(receive(pieces))
    "#;
    let stage = Stage::with(chat_at(&fake.url));
    assert_eq!(in_time(stage.play(code)).await, ["Hello t", "nil"]);
}

#[tokio::test]
async fn answers_of_a_file_are_streamed_too() {
    let file = MockFile::parse("a.jsonl", r#"{"text": "from a file"}"#).unwrap();
    let models = Models::new(vec![]).with_mock(Arc::new(file));
    let code = "var all = \"\"\nfor piece in llm_stream(\"hi\") { all = all + piece }\nprintln(all)";
    assert_eq!(in_time(Stage::with(models).play(code)).await, ["from a file"]);
}

#[tokio::test]
async fn a_recorded_stream_is_replayed_piece_by_piece() {
    let code = r#"
        for piece in llm_stream("Greet me.", nil, {model: "chat-like:big", max_tokens: 50}) { print("[" + piece + "]") }
        println("")
    "#;
    let fake = openai_chat::Fake::start(vec![said("Hello there, friend.")]).await;
    let project = Path::new("/nowhere");
    let recording = Arc::new(Fixture::recording(project));
    let live = Stage { fixture: Some(Arc::clone(&recording)), ..Stage::with(chat_at(&fake.url)) };
    let told = in_time(live.play(code)).await;
    assert_eq!(told[0].replace("][", ""), "[Hello there, friend.]");

    let replayed = Arc::new(Fixture::replaying(&recording.recorded(), project).unwrap());
    let stage = Stage { fixture: Some(Arc::clone(&replayed)), ..Stage::with(Models::new(vec![])) };
    assert_eq!((in_time(stage.play(code)).await, replayed.problem()), (told, None));
}
