//! Allowances are narrow: they do not cover what cannot be read, is only reached, is written by a redirect, or pretends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::AutonomyTier::{ActAuto, ActWithApproval};
use harn_core::Verdict::{self, Allow, Ask, Deny};
use harn_policy::{
    Layer, PermissionsFile, Policy, RememberAction, RememberRule, RememberScope, Remembered, remember_for,
};
use serde_json::json;
use support::{decide, run};

fn policy(rules: &[&str]) -> Policy {
    let text: String = rules.iter().map(|rule| format!("[[permissions.rules]]\n{rule}\n")).collect();
    Policy::compile(PermissionsFile::parse(&text).expect(&text).layers()).unwrap()
}

fn check(policy: &Policy, table: &[(&str, Verdict, &str)]) {
    for (command, action, rule) in table {
        let decision = run(policy, ActAuto, command);
        let got = (decision.action, decision.matched_rule.id.as_str());
        assert_eq!(got, (*action, *rule), "{command}\n{}", decision.reason);
    }
}

#[test]
fn no_allowance_covers_what_was_not_understood_and_denials_hold_for_it() {
    let policy = policy(&[
        r#"allow = { tool = "run_command" }"#,
        r#"allow = { command = "*" }"#,
        r#"allow = {}"#,
        r#"deny = { command_identity = "curl" }"#,
        r#"deny = { command = "make deploy*" }"#,
        r#"deny = { path = "vault/**" }"#,
    ]);
    check(
        &policy,
        &[
            ("make $[1]", Ask, "builtin.unparsed_command"),
            ("make '", Ask, "builtin.unparsed_command"),
            ("echo $[1]; rm -rf /", Deny, "builtin.destructive_command"),
            ("echo ${x:-'a'}; cat .env", Deny, "builtin.sensitive_path"),
            ("coproc cat .harn/log.db", Deny, "builtin.harn_folder"),
            ("coproc curl x", Deny, "rule-4"),
            ("if true; then timeout 5 curl x", Deny, "rule-4"),
            ("echo $[1]; make deploy now", Deny, "rule-5"),
            ("echo $[1]; cat 'vault/a'", Deny, "rule-6"),
            ("sh -c 'rm -rf /' '", Deny, "builtin.destructive_command"),
            ("timeout --sig KILL 5 curl x", Deny, "rule-4"),
            ("uv run --with x curl x", Deny, "rule-4"),
        ],
    );
    let nameless = decide(&policy, ActAuto, "run_command", json!({ "cmd": "ls" }));
    assert_eq!((nameless.action, nameless.matched_rule.id.as_str()), (Ask, "builtin.unparsed_command"));
}

#[test]
fn only_an_answer_about_exactly_this_script_holds_for_what_was_not_understood() {
    let answer = Remembered {
        id: "answer",
        action: RememberAction::Allow,
        scope: RememberScope::Always,
        session_id: "session_1",
        workspace_id: "workspace_1",
        user: "ann",
        expires_at: None,
        reason: None,
    };
    let asked = run(&Policy::default(), ActWithApproval, "ls; make $[1] *");
    let texts: Vec<&str> = asked.context.commands.iter().map(|command| command.text.as_str()).collect();
    assert_eq!(texts, ["ls", "ls; make $[1] *"]);
    let rule = remember_for(&asked, &answer);
    let compile = |rule: &RememberRule| {
        let layers: Vec<Layer> = vec![RememberRule::layer(std::slice::from_ref(rule))];
        Policy::compile(layers).unwrap()
    };
    let exact = compile(&rule);
    let wide = compile(&RememberRule { target_pattern: Some("*".into()), ..rule });
    let table = [
        (&exact, "ls; make $[1] *", Allow),
        (&exact, "ls; make $[1] x", Ask),
        (&exact, "ls; make $[1] *; rm x", Ask),
        (&exact, "ls;  make $[1] *", Ask),
        (&wide, "ls; make $[1] *", Ask),
    ];
    for (policy, command, action) in table {
        assert_eq!(run(policy, ActWithApproval, command).action, action, "{command}");
    }
}

#[test]
fn what_is_searched_or_meant_by_a_pattern_is_asked_about() {
    let policy = policy(&[r#"deny = { path = "vault/**" }"#]);
    check(
        &policy,
        &[
            ("grep -r x vault", Deny, "rule-1"),
            ("find vault/deep", Deny, "rule-1"),
            ("mv vault x", Deny, "rule-1"),
            ("git show HEAD:vault/a", Deny, "rule-1"),
            ("cd vault && cat a", Deny, "rule-1"),
            ("cd src && cat ../vault/a", Deny, "rule-1"),
            ("python3 -c 'open(\"vault/a\")'", Deny, "rule-1"),
            ("grep -r x .", Ask, "rule-1"),
            ("grep -r x", Ask, "rule-1"),
            ("rg x", Ask, "rule-1"),
            ("tree", Ask, "rule-1"),
            ("cp -r . copy", Ask, "rule-1"),
            ("cat va*/a", Ask, "rule-1"),
            ("cat [uv]ault/a", Ask, "rule-1"),
            ("grep -rn vault src", Allow, "builtin.reading_command"),
            ("rg x src", Allow, "builtin.reading_command"),
            ("cat *.rs", Allow, "builtin.reading_command"),
            ("ls", Allow, "builtin.reading_command"),
        ],
    );
}

#[test]
fn an_allowed_command_does_not_allow_where_it_writes() {
    let policy = policy(&[r#"allow = { command = "echo *" }"#, r#"allow = { path = "out/" }"#]);
    let table = [
        ("echo x", Allow, "rule-1"),
        ("echo x > /dev/null", Allow, "rule-1"),
        ("echo x > out/a", Allow, "rule-1"),
        ("echo x > a", Ask, "tier.act_with_approval"),
        ("echo x > harn.toml", Ask, "builtin.policy_file"),
        ("echo x > .git/hooks/pre-commit", Ask, "builtin.git_settings"),
        ("cd .git; echo x >> config", Ask, "builtin.git_settings"),
    ];
    for (command, action, rule) in table {
        let decision = run(&policy, ActWithApproval, command);
        assert_eq!((decision.action, decision.matched_rule.id.as_str()), (action, rule), "{command}");
    }
}

#[test]
fn what_an_allowed_runner_runs_is_still_asked_about_or_denied() {
    let policy = policy(&[r#"allow = { command = ["uv run *", "bundle exec *"] }"#]);
    let table = [
        ("uv run pytest -q", Allow, "rule-1"),
        ("uv run --with x pytest", Allow, "rule-1"),
        ("bundle exec rspec", Allow, "rule-1"),
        ("uv run git push", Ask, "builtin.git_push"),
        ("uv run rm -rf /", Deny, "builtin.destructive_command"),
        ("bundle exec cat .env", Deny, "builtin.sensitive_path"),
    ];
    for (command, action, rule) in table {
        let decision = run(&policy, ActWithApproval, command);
        assert_eq!((decision.action, decision.matched_rule.id.as_str()), (action, rule), "{command}");
    }
}

#[test]
fn an_exception_to_a_denial_is_exact_and_one_to_an_allowance_is_wide() {
    let only_src = policy(&[r#"deny = { not_path = "src/**", access = "write" }"#]);
    let not_secret = policy(&[r#"allow = { path = "**", not_path = "secret/**" }"#]);
    let table = [
        (&only_src, ActAuto, "src/a.rs", Allow),
        (&only_src, ActAuto, "SRC/a.rs", Deny),
        (&only_src, ActAuto, "sr\u{441}/a.rs", Deny),
        (&not_secret, ActWithApproval, "a", Allow),
        (&not_secret, ActWithApproval, "secret/a", Ask),
        (&not_secret, ActWithApproval, "SECRET/a", Ask),
    ];
    for (policy, tier, path, action) in table {
        assert_eq!(decide(policy, tier, "write_file", json!({ "path": path })).action, action, "{path}");
    }
}

#[test]
fn an_allowed_url_is_the_host_that_it_seems() {
    let policy = policy(&[r#"allow = { url = ["https://*.example.com/*", "https://x.com/api/*"] }"#]);
    let table = [
        ("https://api.example.com/a/b", true),
        ("https://API.example.com/a", true),
        ("https://x.com/api/a/b?c#d", true),
        ("https://evil.com/.example.com/", false),
        ("https://evil.com?.example.com/", false),
        ("https://evil.com#.example.com/", false),
        ("https://evil.com\\.example.com/", false),
        ("https://api.example.com@evil.com/", false),
        ("http://api.example.com/a", false),
        ("https://x.com/other", false),
    ];
    for (url, allowed) in table {
        let decision = decide(&policy, ActWithApproval, "fetch_url", json!({ "url": url }));
        assert_eq!(decision.action == Allow, allowed, "{url}");
    }
}
