//! What tests may not do unless it is said that they may.

use harn_core::Verdict;
use harn_core::decision::RuleSource;
use harn_core::tool::ToolSpec;
use harn_policy::{Layer, Match, Patterns, Rule};

const REASON: &str = "Tests have no network: pretend the answer with http_mock(), keep it with `harn test --record` and use it \
                      with --replay, or allow it with --network.";

pub fn offline(calls: &[ToolSpec]) -> Layer {
    let reaching =
        calls.iter().filter(|call| !call.annotations.urls.is_empty() || call.name == "catalog_check");
    let names: Vec<String> = reaching.map(|call| call.name.clone()).collect();
    let when =
        Match { effect: Some(Patterns::from("call")), tool: Some(Patterns::from(names)), ..Match::default() };
    let rule = Rule { reason: Some(REASON.to_owned()), ..Rule::new("no-network", Verdict::Deny, when) };
    Layer { source: RuleSource::CommandLine, rules: vec![rule] }
}
