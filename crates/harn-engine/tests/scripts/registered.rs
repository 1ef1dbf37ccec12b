//! A provider that a script adds is there after a restart too.

use std::sync::Arc;

use harn_engine::{Engine, EngineOptions};
use harn_model::catalog::Catalog;
use harn_model::{CatalogSource, Models, Proxy, TransportOptions};
use harn_testkit::providers::{Turn, openai_chat};

use super::memory::{Point, options};
use super::{runtime, story_with};

fn keys(name: &str) -> Option<String> {
    (name == "OWN_KEY").then(|| openai_chat::KEY.into())
}

#[test]
fn a_registered_provider_is_called_wherever_the_run_was_stopped() {
    let runtime = runtime();
    let said = || openai_chat::Said { text: "hello", finish: "stop", ..openai_chat::Said::default() };
    let fake = runtime.block_on(openai_chat::Fake::by_rule(move |_| Some(Turn::Answer(said()))));
    let transport = TransportOptions { proxy: Proxy::None, ..TransportOptions::default() };
    let source = CatalogSource::new(Catalog::builtin(), keys, transport);
    let models = Models::new(vec![]).with_source(Arc::new(source));
    let engine = Engine::new(EngineOptions { models, ..options() });
    let text = format!(
        "println(provider_register({{name: \"own\", base_url: \"{}\", key_env: \"OWN_KEY\"}}))\n\
         println(llm_call(\"hi\", nil, {{model: \"own:m\", max_tokens: 5}}).text)\n",
        fake.url
    );
    let mut lives = 0;
    for n in 1.. {
        let cut =
            [Point::Before, Point::After].map(|point| story_with(&engine, &runtime, &text, Some((point, n))));
        let cut: Vec<_> = cut.into_iter().flatten().collect();
        if cut.is_empty() {
            break;
        }
        for story in cut {
            lives += 1;
            assert_eq!((story.shown.as_str(), story.failure), ("true\nhello\n", None), "stopped at {n}");
        }
    }
    assert!(lives > 5, "only {lives} lives were cut short");
}
