//! What the words of `--allow` and `--deny` mean.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::decision::{RuleSource, Trust};
use harn_core::narrowing::Narrowing;
use harn_core::{AutonomyTier, Decision, EffectKind, Verdict};
use harn_policy::{Nameable, PermissionsFile, Policy, Subject, narrowing};
use support::{NOW, spec};

const CALLS: [&str; 6] = ["read_file", "write_file", "fetch_url", "think", "exec", "download"];
const TOOLS: [&str; 2] = ["read_file", "run_command"];

fn layer(allow: &[&str], deny: &[&str]) -> Result<harn_policy::Layer, String> {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
    let (calls, tools) = (CALLS.map(spec), TOOLS.map(spec));
    let known = Nameable { calls: &calls, tools: &tools };
    narrowing(&Narrowing { allow: words(allow), deny: words(deny) }, known)
}

/// What a script that its owner runs himself may do with something.
fn decide(policy: &Policy, effect: EffectKind, name: &str) -> Decision {
    let spec = spec(name);
    policy.decide(&Subject {
        effect,
        name,
        spec: matches!(effect, EffectKind::Call | EffectKind::Tool).then_some(&spec),
        args: &Default::default(),
        model: None,
        paths: &[],
        tier: AutonomyTier::ActAuto,
        persona: None,
        session: "",
        workspace: "",
        submitter: "",
        trust: Trust::Own,
        now: NOW,
    })
}

#[test]
fn words_deny_what_they_name_or_all_that_they_do_not() {
    use EffectKind::{Call, Model, Question, Tool};
    let all = [
        (Call, "read_file"),
        (Call, "write_file"),
        (Call, "fetch_url"),
        (Call, "think"),
        (Tool, "read_file"),
        (Tool, "run_command"),
        // A tool of the script itself, which does nothing that is not judged by itself.
        (Tool, "own"),
        (Model, "model"),
        (Question, "ask_user"),
        // Both have a path, too: where a program runs, and where what comes is put.
        (Call, "exec"),
        (Call, "download"),
    ];
    let table: [(&[&str], &[&str], &[usize]); 10] = [
        (&[], &[], &[]),
        (&[], &["files"], &[0, 1, 4, 9, 10]),
        (&[], &["read_file"], &[0, 4]),
        (&[], &["process", "network"], &[2, 5, 9, 10]),
        (&[], &["llm_call", "people", "people"], &[7, 8]),
        (&["models"], &[], &[0, 1, 2, 4, 5, 8, 9, 10]),
        (&["files", "process", "network", "models", "people"], &[], &[]),
        (&["files"], &[], &[2, 5, 7, 8, 9, 10]),
        (&["process"], &[], &[0, 1, 2, 4, 7, 8, 10]),
        // What is denied is denied, whatever is allowed.
        (&["files"], &["write_file"], &[1, 2, 5, 7, 8, 9, 10]),
    ];
    for (allow, deny, denied) in table {
        let policy = Policy::compile(vec![layer(allow, deny).unwrap()]).unwrap();
        for (at, (effect, name)) in all.iter().enumerate() {
            let decision = decide(&policy, *effect, name);
            let expected = if denied.contains(&at) { Verdict::Deny } else { Verdict::Allow };
            assert_eq!(
                decision.action, expected,
                "{allow:?} {deny:?}: {effect:?} {name}\n{}",
                decision.reason
            );
        }
    }
}

#[test]
fn the_command_line_is_told_as_such_and_before_the_file() {
    let file =
        PermissionsFile::parse("[[permissions.rules]]\nid = \"mine\"\ndeny = { tool = \"fetch_url\" }\n")
            .unwrap();
    let mut layers = file.layers();
    layers.push(layer(&[], &["network"]).unwrap());
    let decision = decide(&Policy::compile(layers).unwrap(), EffectKind::Call, "fetch_url");
    assert_eq!(decision.matched_rule.source, RuleSource::CommandLine);
    assert!(
        decision.reason.contains("the rule `--deny network` of the command line denies it"),
        "{}",
        decision.reason
    );
    let only_file = Policy::compile(file.layers()).unwrap();
    assert!(decide(&only_file, EffectKind::Call, "fetch_url").reason.contains("`mine` of harn.toml"));
}

#[test]
fn a_word_that_means_nothing_is_named() {
    for (allow, deny) in [(&["nets"] as &[&str], &[] as &[&str]), (&[], &["nets"])] {
        let told = layer(allow, deny).unwrap_err();
        assert!(
            told.starts_with("--allow and --deny do not know `nets`; known are files, process"),
            "{told}"
        );
    }
}
