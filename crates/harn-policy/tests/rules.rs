//! Rules of people: precedence, what covers a call, every spelling, and answers that are remembered.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::AutonomyTier::{ActAuto, ActWithApproval, Suggest};
use harn_core::Verdict::{Allow, Ask, Deny};
use harn_core::chat::ModelRef;
use harn_core::decision::{EffectKind, RuleSource};
use harn_core::{AutonomyTier, Decision, Timestamp, Verdict};
use harn_policy::{
    ApprovalPolicy, Layer, PermissionPolicy, PermissionsFile, Policy, RememberAction, RememberRule,
    RememberScope, Remembered, Rule, Subject, remember_for,
};
use serde_json::{Map, Value, json};
use support::{NOW, decide, run};

/// A policy from the rules of a `harn.toml`, each in one line.
fn rules(lines: &[&str]) -> Policy {
    let text: String =
        lines.iter().map(|line| format!("[[permissions.rules]]\n{}\n", line.replace("; ", "\n"))).collect();
    Policy::compile(PermissionsFile::parse(&text).expect(&text).layers()).unwrap()
}

fn outcome(decision: &Decision) -> (Verdict, &str) {
    (decision.action, decision.matched_rule.id.as_str())
}

#[test]
fn allow_covers_every_act_and_deny_fires_on_any() {
    let policy = rules(&[
        r#"id = "git"; allow = { command = "git *" }"#,
        r#"id = "cargo"; allow = { command_identity = ["cargo test", "cargo build"] }"#,
        r#"id = "no-curl"; deny = { command_identity = "curl" }"#,
        r#"id = "no-force"; deny = { command = "git push *--force*" }"#,
        r#"id = "docs"; allow = { path = "docs/" }"#,
        r#"id = "tests"; ask = { path = "tests/**" }"#,
    ]);
    let table = [
        ("git add src", Allow, "git"),
        ("git push", Allow, "git"),
        ("git add x; make", Ask, "tier.act_with_approval"),
        ("git add x; rm -rf y", Ask, "builtin.recursive_delete"),
        ("git add x && git commit -m 'a b'", Allow, "git"),
        ("git add $(cat list)", Ask, "tier.act_with_approval"),
        ("git add $X", Ask, "tier.act_with_approval"),
        ("git add \"$X\"", Ask, "tier.act_with_approval"),
        ("git add x > /dev/null 2>&1", Allow, "git"),
        ("git add x > out", Ask, "tier.act_with_approval"),
        ("git add x > docs/out", Allow, "git"),
        ("git add x > /tmp/out", Ask, "tier.act_with_approval"),
        ("git add x > ../out", Deny, "builtin.outside_workspace"),
        ("GIT_DIR=x git add y", Ask, "tier.act_with_approval"),
        ("A=1 git add y", Ask, "tier.act_with_approval"),
        ("GIT add x", Ask, "tier.act_with_approval"),
        ("./git add x", Ask, "tier.act_with_approval"),
        ("/usr/bin/git add x", Allow, "git"),
        ("sudo git add x", Ask, "builtin.privilege_escalation"),
        ("sh -c 'git add x'", Allow, "git"),
        ("timeout 9 git add x", Allow, "git"),
        ("xargs git add", Ask, "tier.act_with_approval"),
        ("git add tests/a", Ask, "tests"),
        ("cargo test --lib", Allow, "cargo"),
        ("cargo --config x test", Ask, "tier.act_with_approval"),
        ("cargo run", Ask, "tier.act_with_approval"),
        ("git status; curl x.com", Deny, "no-curl"),
        ("echo $(CURL x.com)", Deny, "no-curl"),
        ("/opt/x/curl x.com", Deny, "no-curl"),
        ("timeout 5 c\\url x.com", Deny, "no-curl"),
        ("\u{441}url x.com", Deny, "no-curl"),
        ("git -C sub push origin --force", Deny, "no-force"),
        ("git push origin --force-with-lease", Deny, "no-force"),
    ];
    for (command, action, rule) in table {
        let decision = run(&policy, ActWithApproval, command);
        assert_eq!(outcome(&decision), (action, rule), "{command}\n{}", decision.reason);
    }
    let table = [
        ("write_file", json!({ "path": "docs/a.md" }), Allow, "docs"),
        ("write_file", json!({ "path": "docs/../src/a.md" }), Ask, "tier.act_with_approval"),
        ("write_file", json!({ "path": "Docs/a.md" }), Ask, "tier.act_with_approval"),
        ("write_file", json!({ "path": "TESTS/a.md" }), Ask, "tests"),
        ("move_file", json!({ "from": "docs/a", "to": "docs/b" }), Allow, "docs"),
        ("move_file", json!({ "from": "docs/a", "to": "src/b" }), Ask, "tier.act_with_approval"),
        ("read_file", json!({ "path": "tests/a" }), Ask, "tests"),
    ];
    for (tool, args, action, rule) in table {
        assert_eq!(
            outcome(&decide(&policy, ActWithApproval, tool, args.clone())),
            (action, rule),
            "{tool} {args}"
        );
    }
}

#[test]
fn deny_goes_before_ask_before_allow_whatever_the_order() {
    let policy = rules(&[
        r#"id = "first"; allow = { tool = "write_*" }"#,
        r#"id = "second"; ask = { path = "src/**" }"#,
        r#"id = "third"; ask = { path = "src/**" }"#,
        r#"id = "last"; deny = { path = "src/secret/" }"#,
    ]);
    let table = [
        ("a", Allow, "first"),
        ("src/a", Ask, "second"),
        ("src/secret/a", Deny, "last"),
        ("src/secret", Deny, "last"),
    ];
    for (path, action, rule) in table {
        let decision = decide(&policy, ActAuto, "write_file", json!({ "path": path }));
        assert_eq!(outcome(&decision), (action, rule), "{path}");
        assert_eq!(decision.matched_rule.source, RuleSource::Rules);
    }
    let decision = decide(&policy, Suggest, "write_file", json!({ "path": "a" }));
    assert_eq!(outcome(&decision), (Deny, "tier.suggest"), "a tier is a ceiling");
}

#[test]
fn builtin_questions_are_answered_by_rules_that_name_what_they_are_about() {
    let table: &[(&str, &str, Verdict, &str)] = &[
        (r#"id = "r"; allow = { command = "git push*" }"#, "git push", Allow, "r"),
        (r#"id = "r"; allow = { command_identity = "git push" }"#, "git push", Allow, "r"),
        (r#"id = "r"; allow = { tool = "run_command" }"#, "git push", Allow, "r"),
        (r#"id = "r"; allow = { tool = "run_*" }"#, "git push", Ask, "builtin.git_push"),
        (r#"id = "r"; allow = { side_effect = ">=process_exec" }"#, "git push", Ask, "builtin.git_push"),
        (r#"id = "r"; allow = { tool = "run_command" }"#, "tee harn.toml", Ask, "builtin.policy_file"),
        (r#"id = "r"; allow = { command = "tee harn.toml" }"#, "tee harn.toml", Allow, "r"),
        (r#"id = "r"; allow = { command = "rm *" }"#, "rm -rf build", Allow, "r"),
        (r#"id = "r"; allow = { command = "rm *" }"#, "rm -rf /", Deny, "builtin.destructive_command"),
        (r#"id = "r"; allow = { command = "cat *" }"#, "cat .env", Deny, "builtin.sensitive_path"),
        (r#"id = "r"; allow = { args = { command = "git *" } }"#, "git add x", Allow, "r"),
        (
            r#"id = "r"; allow = { args = { command = "git *" } }"#,
            "git add x; make",
            Ask,
            "tier.act_with_approval",
        ),
    ];
    for (rule, command, action, id) in table {
        assert_eq!(
            outcome(&run(&rules(&[rule]), ActWithApproval, command)),
            (*action, *id),
            "{rule} {command}"
        );
    }
}

#[test]
fn every_dimension_narrows_a_rule() {
    let write = |path: &str| ("write_file", json!({ "path": path }));
    let fetch = |url: &str| ("fetch_url", json!({ "url": url }));
    let table: Vec<(&str, (&str, Value), bool)> = vec![
        (r#"tool = "write_*""#, write("a"), true),
        (r#"tool = ["x", "write_file"]"#, write("a"), true),
        (r#"tool = "read_*""#, write("a"), false),
        (r#"tool_kind = "edit""#, write("a"), true),
        (r#"tool_kind = "read""#, write("a"), false),
        (r#"side_effect = "workspace_write""#, write("a"), true),
        (r#"side_effect = ">=workspace_write""#, fetch("https://x.com"), true),
        (r#"side_effect = "workspace_write""#, fetch("https://x.com"), false),
        (r#"path = "*.rs""#, write("src/deep/a.rs"), true),
        (r#"path = "src/*.rs""#, write("src/deep/a.rs"), false),
        (r#"path = "src/**/*.rs""#, write("src/deep/a.rs"), true),
        (r#"path = "src/""#, write("src/deep/a.rs"), true),
        (r#"path = "/etc/**""#, write("etc/x"), false),
        (r#"path = "a"; access = "write""#, write("a"), true),
        (r#"path = "a"; access = "read""#, write("a"), false),
        (r#"not_path = "src/**""#, write("a"), true),
        (r#"not_path = "src/**""#, write("src/a"), false),
        (r#"args = { path = "a*" }"#, write("abc"), true),
        (r#"args = { other = "a*" }"#, write("abc"), false),
        (r#"host = "*.example.com""#, fetch("https://api.example.com/x"), true),
        (r#"domain = "*.example.com""#, fetch("https://api.example.com/x"), true),
        (r#"host = "*.example.com""#, fetch("https://example.com.evil.com/x"), false),
        (r#"url = "https://example.com/a/*""#, fetch("https://example.com/a/b"), true),
        (r#"url = "https://example.com/a/*""#, fetch("https://example.com/b"), false),
        (r#"capability = "net.*""#, fetch("https://x.com"), true),
        (r#"capability = "net.*""#, write("a"), false),
        (r#"persona = "coder""#, write("a"), true),
        (r#"agent = "coder""#, write("a"), true),
        (r#"persona = "other""#, write("a"), false),
        (r#"tier = "act_auto""#, write("a"), true),
        (r#"mode = "act_with_approval""#, write("a"), false),
        (r#"session = "session_1""#, write("a"), true),
        (r#"workspace = "workspace_2""#, write("a"), false),
        (r#"user = "ann""#, write("a"), true),
        (r#"effect = "tool""#, write("a"), true),
        (r#"effect = "model""#, write("a"), false),
        (r#"mcp_server = "linear""#, ("mcp:linear/create", json!({})), true),
        (r#"mcp_tool = "create""#, ("mcp:linear/create", json!({})), true),
        (r#"mcp_server = "github""#, ("mcp:linear/create", json!({})), false),
        (r#"provider = "x""#, write("a"), false),
    ];
    for (dims, (tool, args), matches) in table {
        let policy =
            rules(&[&format!("id = \"r\"; action = \"deny\"; match = {{ {} }}", dims.replace("; ", ", "))]);
        let expected = if matches { (Deny, "r") } else { (Allow, "tier.act_auto") };
        assert_eq!(outcome(&decide(&policy, ActAuto, tool, args.clone())), expected, "{dims} {args}");
    }
}

#[test]
fn an_answer_about_nothing_in_particular_is_not_an_answer_about_everything() {
    for command in ["# nothing", "", "echo \"", "echo $X"] {
        let asked = run(&Policy::default(), ActWithApproval, command);
        assert_eq!(asked.action, Ask, "{command}");
        let rule = remember_for(&asked, &answer(RememberAction::Allow, RememberScope::Always));
        for other in ["make", "rm -r x", "echo '"] {
            assert_eq!(run(&remembered(&rule), ActWithApproval, other).action, Ask, "{command} {other}");
        }
    }
}

#[test]
fn expired_rules_do_not_match() {
    for (millis, matches) in [(0, false), (1_000_000, false), (1_000_001, true)] {
        let mut rule: Rule = serde_json::from_value(json!({ "id": "r", "deny": { "tool": "*" } })).unwrap();
        rule.expires_at = Some(Timestamp::from_millis(millis));
        let policy = Policy::compile(vec![Layer { source: RuleSource::Rules, rules: vec![rule] }]).unwrap();
        let denied = decide(&policy, ActAuto, "write_file", json!({ "path": "a" })).action == Deny;
        assert_eq!(denied, matches, "{millis} of {NOW}");
    }
}

#[test]
fn rules_are_read_and_written_in_one_form() {
    let short: Rule =
        serde_json::from_value(json!({ "id": "a", "ask": { "tool": "x", "domain": ["y"] } })).unwrap();
    let long: Rule =
        serde_json::from_value(json!({ "id": "a", "action": "ask", "match": { "tool": "x", "host": "y" } }))
            .unwrap();
    assert_eq!(short, long);
    let written = serde_json::to_value(&short).unwrap();
    assert_eq!(written, json!({ "id": "a", "action": "ask", "match": { "tool": "x", "host": "y" } }));
    assert_eq!(serde_json::from_value::<Rule>(written).unwrap(), long);
}

#[test]
fn what_cannot_be_a_rule_is_refused_with_its_place() {
    let table = [
        ("[permissions]\nauto_aprove = []", "line 2: unknown key `auto_aprove` in [permissions]"),
        (
            "[[permissions.rules]]\nid = \"a\"\nask = { tol = \"x\" }",
            "line 3: rule `a`: unknown key `tol` in match",
        ),
        ("[[permissions.rules]]\nid = \"a\"\nask = {}\nwhy = 1", "line 4: rule `a`: unknown key `why`"),
        (
            "[[permissions.rules]]\nask = { tool = 1 }",
            "rule `rule-1`: `tool` must be a text or a list of texts",
        ),
        ("[[permissions.rules]]\nid = \"a\"", "rule `a`: it says neither `action` nor one of"),
        ("[[permissions.rules]]\nask = {}\ndeny = {}", "rule `rule-1`: it says more than one action"),
        ("[[permissions.rules]]\nask = { side_effect = \"all\" }", "rule `rule-1`: `all` is no side_effect"),
        ("[[permissions.rules]]\nask = { path = \"[\" }", "rule `rule-1`: `[` is no glob"),
        ("[[permissions.rules]]\nid = \"builtin.x\"\nask = {}", "are the harness's own"),
        (
            "[[permissions.rules]]\nid = \"a\"\nask = {}\n[[permissions.rules]]\nid = \"a\"\nask = {}",
            "two rules are called `a`",
        ),
        ("[[permissions.rules]]\nask = {}\nexpires_at = \"soon\"", "`expires_at` must be an RFC 3339 time"),
        ("[permissions]\nexternal_roots = [\"x\"]", "`x` is not an absolute path"),
        ("[permissions]\nauto_deny = \"x\"", "line 2: `auto_deny` must be a list of texts"),
        ("[permissions", "line 1: "),
    ];
    for (text, expected) in table {
        let error = PermissionsFile::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n  gave {error}\n  not  {expected}");
    }
    let file = PermissionsFile::parse("[server]\nport = 1\n").unwrap();
    assert_eq!(file, PermissionsFile::default(), "other tables are not looked at");
}

#[test]
fn the_approval_policy_means_rules() {
    let given = json!({
        "auto_approve": ["write_file"], "auto_deny": ["move_*"], "require_approval": ["edit*"],
        "write_path_allowlist": ["src/**"],
    });
    let approval: ApprovalPolicy = serde_json::from_value(given.clone()).unwrap();
    assert_eq!(serde_json::to_value(&approval).unwrap(), given);
    let policy = Policy::compile(vec![approval.layer()]).unwrap();
    let table = [
        ("write_file", json!({ "path": "src/a" }), Allow, "auto_approve:write_file"),
        ("write_file", json!({ "path": "docs/a" }), Deny, "write_path_allowlist"),
        ("edit_file", json!({ "path": "src/a" }), Ask, "require_approval:edit*"),
        ("move_file", json!({ "from": "src/a", "to": "src/b" }), Deny, "auto_deny:move_*"),
        ("read_file", json!({ "path": "docs/a" }), Allow, "reach.read_only"),
        ("run_command", json!({ "command": "make > docs/a" }), Deny, "write_path_allowlist"),
        ("run_command", json!({ "command": "rm docs/a" }), Deny, "write_path_allowlist"),
        ("run_command", json!({ "command": "cat docs/a 2>/dev/null" }), Allow, "builtin.reading_command"),
        ("run_command", json!({ "command": "make > src/a" }), Ask, "tier.act_with_approval"),
    ];
    for (tool, args, action, rule) in table {
        let decision = decide(&policy, ActWithApproval, tool, args.clone());
        assert_eq!(outcome(&decision), (action, rule), "{tool} {args}");
    }
}

#[test]
fn the_permission_policy_means_rules_and_has_a_version() {
    let given = json!({
        "write": ["docs/**"], "exec": ["make *"], "net": ["*.example.com"], "llm": { "providers": ["local"] },
    });
    let document: PermissionPolicy = serde_json::from_value(given).unwrap();
    let policy = Policy::compile(vec![document.layer()]).unwrap();
    let table = [
        ("write_file", json!({ "path": "docs/a" }), Allow, "write:docs/**"),
        ("write_file", json!({ "path": "src/a" }), Ask, "tier.act_with_approval"),
        ("run_command", json!({ "command": "make all" }), Allow, "exec:make *"),
        ("fetch_url", json!({ "url": "https://a.example.com" }), Allow, "net:*.example.com"),
        ("fetch_url", json!({ "url": "https://example.org" }), Ask, "tier.act_with_approval"),
    ];
    for (tool, args, action, rule) in table {
        let decision = decide(&policy, ActWithApproval, tool, args.clone());
        assert_eq!(outcome(&decision), (action, rule), "{tool} {args}");
    }
    for (provider, action, rule) in [("local", Allow, "reach.none"), ("other", Deny, "llm.providers")] {
        let model = ModelRef { provider: provider.into(), model: "m".into() };
        let decision = policy.decide(&Subject {
            effect: EffectKind::Model,
            name: "model",
            spec: None,
            args: &Map::new(),
            model: Some(&model),
            paths: &[],
            tier: ActAuto,
            persona: None,
            session: "s",
            workspace: "w",
            submitter: "u",
            trust: Default::default(),
            now: NOW,
        });
        assert_eq!(outcome(&decision), (action, rule), "{provider}");
    }
    let same: PermissionPolicy = serde_json::from_value(serde_json::to_value(&document).unwrap()).unwrap();
    assert_eq!(same.version(), document.version());
    assert!(document.version().starts_with("sha256:") && document.version().len() == 71);
    assert_ne!(PermissionPolicy::default().version(), document.version());
}

fn answer(action: RememberAction, scope: RememberScope) -> Remembered<'static> {
    Remembered {
        id: "rule_1",
        action,
        scope,
        session_id: "session_1",
        workspace_id: "workspace_1",
        user: "ann",
        expires_at: None,
        reason: None,
    }
}

fn remembered(rule: &RememberRule) -> Policy {
    let ask = Rule {
        id: "always-ask".into(),
        ..serde_json::from_value(json!({ "ask": { "tool": "*" } })).unwrap()
    };
    let asking = Layer { source: RuleSource::Rules, rules: vec![ask] };
    Policy::compile(vec![asking, RememberRule::layer(std::slice::from_ref(rule))]).unwrap()
}

#[test]
fn a_remembered_answer_covers_exactly_the_decided_call() {
    let cases: Vec<(&str, Value, Vec<Value>)> = vec![
        (
            "run_command",
            json!({ "command": "make all" }),
            vec![
                json!({ "command": "make" }),
                json!({ "command": "make all x" }),
                json!({ "command": "make 'all x'" }),
                json!({ "command": "make all; ls" }),
                json!({ "command": "make all $X" }),
            ],
        ),
        (
            "run_command",
            json!({ "command": "rm 'a b' && echo '{x,*}' | tee y" }),
            vec![json!({ "command": "rm a b && echo x | tee y" }), json!({ "command": "echo x" })],
        ),
        (
            "write_file",
            json!({ "path": "a,[b]*.rs" }),
            vec![json!({ "path": "a,bc.rs" }), json!({ "path": "x/a,[b]*.rs" })],
        ),
        ("move_file", json!({ "from": "a", "to": "b/c" }), vec![json!({ "from": "a", "to": "b/d" })]),
        (
            "fetch_url",
            json!({ "url": "https://example.com/x" }),
            vec![json!({ "url": "https://www.example.com/x" })],
        ),
    ];
    let none = Policy::default();
    for (tool, args, others) in cases {
        let asked = decide(&none, ActWithApproval, tool, args.clone());
        let rule = remember_for(&asked, &answer(RememberAction::Allow, RememberScope::Session));
        let policy = remembered(&rule);
        let again = decide(&policy, ActWithApproval, tool, args.clone());
        assert_eq!(outcome(&again), (Allow, "rule_1"), "{tool} {args} {rule:?}");
        assert_eq!(again.matched_rule.source, RuleSource::Remembered);
        for other in others {
            let decision = decide(&policy, ActWithApproval, tool, other.clone());
            assert_eq!(outcome(&decision), (Ask, "always-ask"), "{tool} {other} {rule:?}");
        }
        let elsewhere = RememberRule { session_id: Some("session_2".into()), ..rule.clone() };
        assert_eq!(decide(&remembered(&elsewhere), ActWithApproval, tool, args.clone()).action, Ask);
        let denied = RememberRule { action: RememberAction::Deny, ..rule };
        assert_eq!(decide(&remembered(&denied), ActWithApproval, tool, args).action, Deny);
    }
}

#[test]
fn remembered_answers_go_after_deny_and_before_ask() {
    let push: RememberRule = serde_json::from_value(json!({
        "id": "r", "action": "allow", "scope": "always", "class": "exec", "target_pattern": "git push*",
    }))
    .unwrap();
    let table: [(AutonomyTier, &str, Verdict, &str); 3] = [
        (ActWithApproval, "git push origin", Allow, "r"),
        (ActAuto, "git push origin", Allow, "r"),
        (Suggest, "git push origin", Deny, "tier.suggest"),
    ];
    for (tier, command, action, rule) in table {
        assert_eq!(outcome(&run(&remembered(&push), tier, command)), (action, rule));
    }
    let deny = PermissionsFile::parse("[permissions]\nauto_deny = [\"run_command\"]").unwrap();
    let layers = [deny.layers(), vec![RememberRule::layer(&[push])]].concat();
    let decision = run(&Policy::compile(layers).unwrap(), ActAuto, "git push");
    assert_eq!(outcome(&decision), (Deny, "auto_deny:run_command"));
}

#[test]
fn the_file_lifts_what_it_says_and_tests_itself() {
    let text = r#"
[permissions]
allow_sensitive_paths = true
external_roots = ["/srv/shared/"]

[[permissions.rules]]
id = "push"
ask = { command_identity = "git push" }
reason = "releases are made by people"
tests = [
  { tool = "run_command", args = { command = "git push" }, tier = "act_auto", expect = "ask", rule = "push" },
  { tool = "run_command", args = { command = "git pull" }, tier = "act_auto", expect = "ask" },
]
"#;
    let file = PermissionsFile::parse(text).unwrap();
    let policy = Policy::compile(file.layers()).unwrap();
    let table = [
        ("read_file", json!({ "path": ".env" }), Allow, "reach.read_only"),
        ("read_file", json!({ "path": "/srv/shared/x" }), Allow, "reach.read_only"),
        ("read_file", json!({ "path": "/srv/shared/../x" }), Deny, "builtin.outside_workspace"),
        ("read_file", json!({ "path": "/srv/other" }), Deny, "builtin.outside_workspace"),
        ("run_command", json!({ "command": "cat /srv/shared/x" }), Allow, "builtin.reading_command"),
        ("read_file", json!({ "path": ".harn/x" }), Deny, "builtin.harn_folder"),
    ];
    for (tool, args, action, rule) in table {
        assert_eq!(outcome(&decide(&policy, ActWithApproval, tool, args.clone())), (action, rule), "{args}");
    }
    let reports = file.run_tests();
    let seen: Vec<_> = reports
        .iter()
        .map(|report| {
            (report.rule.as_str(), report.case, report.got, report.decided_by.as_str(), report.passed())
        })
        .collect();
    assert_eq!(seen, [("push", 0, Ask, "push", true), ("push", 1, Allow, "tier.act_auto", false)]);
    assert_eq!(
        reports[0].reason,
        "`run_command` would run `git push`: the rule `push` of harn.toml asks a person first, because: releases are made by people."
    );
}

#[test]
fn the_record_is_whole() {
    let policy = rules(&[r#"id = "edit-src"; ask = { path = "src/**" }; reason = "workspace edit""#]);
    let decision = decide(&policy, ActAuto, "edit_file", json!({ "path": "src/main.rs" }));
    assert_eq!(
        serde_json::to_value(&decision).unwrap(),
        json!({
            "type": "harn.permission_policy_decision.v1",
            "action": "ask",
            "reason": "`edit_file` would write `src/main.rs`: the rule `edit-src` of harn.toml asks a person first, because: workspace edit.",
            "matched_rule": { "source": "rules", "action": "ask", "id": "edit-src", "index": 0 },
            "risk_labels": ["approval_required", "path_rule", "workspace_write"],
            "context": {
                "effect": "tool", "tool_name": "edit_file", "tool_kind": "edit", "side_effect": "workspace_write",
                "tier": "act_auto",
                "paths": [{ "asked": "src/main.rs", "access": "write", "workspace_path": "src/main.rs" }],
            },
        })
    );
}
