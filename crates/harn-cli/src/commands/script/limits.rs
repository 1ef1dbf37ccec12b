//! `--allow` and `--deny`: words that become rules, in front of those of the configuration.

use anyhow::Result;
use harn_core::Verdict;
use harn_core::decision::RuleSource;
use harn_core::tool::{SideEffect, ToolSpec};
use harn_policy::{Layer, Match, Patterns, Rule};

use crate::problem::Problem;

/// Words for several calls at once.
const GROUPS: [&str; 6] = ["files", "process", "network", "models", "people", "host"];

/// Names of builtins that are made of calls of another name.
const MADE_OF: [(&str, &[&str]); 8] = [
    ("exec_at", &["exec"]),
    ("shell_at", &["shell"]),
    ("llm_call", &["models"]),
    ("agent_loop", &["models"]),
    ("ask_user", &["people"]),
    ("host_call", &["host"]),
    ("secret_get", &["secret"]),
    ("event_log", &["events"]),
];

/// The rules that the words mean; none without any words.
pub fn layer(calls: &[ToolSpec], allow: &[String], deny: &[String]) -> Result<Option<Layer>> {
    if allow.is_empty() && deny.is_empty() {
        return Ok(None);
    }
    let mut denied = Vec::new();
    for word in deny {
        denied.extend(meant(calls, word)?);
    }
    if !allow.is_empty() {
        let mut allowed = Vec::new();
        for word in allow {
            allowed.extend(meant(calls, word)?);
        }
        denied.extend(everything(calls).into_iter().filter(|effect| !allowed.contains(effect)));
    }
    let rules = denied.into_iter().enumerate().map(|(n, effect)| effect.rule(n)).collect();
    Ok(Some(Layer { source: RuleSource::Rules, rules }))
}

/// What tests may not do unless it is said that they may.
pub fn offline(calls: &[ToolSpec]) -> Layer {
    let reason = "Tests have no network: pretend the answer with http_mock(), keep it with `harn test --record` and use it \
                  with --replay, or allow it with --network.";
    let reaching =
        calls.iter().filter(|call| !call.annotations.urls.is_empty() || call.name == "catalog_check");
    let rule = |(n, call): (usize, &ToolSpec)| Rule {
        reason: Some(reason.to_owned()),
        id: format!("no-network-{}", n + 1),
        ..Named::Call(call.name.clone()).rule(n)
    };
    Layer { source: RuleSource::Rules, rules: reaching.enumerate().map(rule).collect() }
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Call(String),
    Effect(&'static str),
}

impl Named {
    fn rule(self, n: usize) -> Rule {
        let when = match &self {
            Self::Call(name) => Match {
                effect: Some(Patterns::from("call")),
                tool: Some(Patterns::from(name.as_str())),
                ..Match::default()
            },
            Self::Effect(name) => Match { effect: Some(Patterns::from(*name)), ..Match::default() },
        };
        let reason = Some("The command line does not allow it.".to_owned());
        Rule { reason, ..Rule::new(format!("command-line-{}", n + 1), Verdict::Deny, when) }
    }
}

fn everything(calls: &[ToolSpec]) -> Vec<Named> {
    // What only looks at the clock or at the program itself is nothing that anybody would forbid.
    let reaching = calls.iter().filter(|call| call.side_effect > SideEffect::None);
    reaching
        .map(|call| Named::Call(call.name.clone()))
        .chain(["model", "question"].map(Named::Effect))
        .collect()
}

fn meant(calls: &[ToolSpec], word: &str) -> Result<Vec<Named>> {
    if let Some((_, parts)) = MADE_OF.iter().find(|(name, _)| *name == word) {
        return parts
            .iter()
            .map(|part| meant(calls, part))
            .collect::<Result<Vec<_>>>()
            .map(|all| all.concat());
    }
    let those = |test: &dyn Fn(&ToolSpec) -> bool| -> Vec<Named> {
        calls.iter().filter(|call| test(call)).map(|call| Named::Call(call.name.clone())).collect()
    };
    let found = match word {
        "models" => vec![Named::Effect("model")],
        "people" => vec![Named::Effect("question")],
        "files" => those(&|call| !call.annotations.paths.is_empty()),
        "process" => those(&|call| call.side_effect == SideEffect::ProcessExec),
        "network" => those(&|call| !call.annotations.urls.is_empty()),
        "host" => those(&|call| call.name.starts_with("host") || call.name == "builtin_call"),
        _ if word.starts_with("http") => those(&|call| call.name.starts_with("http")),
        _ if word.starts_with("websocket") => those(&|call| call.name.starts_with("socket")),
        _ if word.starts_with("sse") => those(&|call| call.name.starts_with("sse")),
        _ => those(&|call| call.name == word),
    };
    if found.is_empty() {
        let message = format!("--allow and --deny do not know `{word}`");
        let hint = format!("known are {} and every call such as `read_file` or `exec`", GROUPS.join(", "));
        return Err(Problem::usage(message).hint(hint).into());
    }
    Ok(found)
}
