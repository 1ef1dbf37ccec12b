//! How long decisions take: run with `cargo test --release -p harn-policy --test speed -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use std::hint::black_box;
use std::time::Instant;

use harn_core::AutonomyTier::ActWithApproval;
use harn_core::EffectKind;
use harn_policy::{PermissionsFile, Policy, Subject, locate, mentions};
use serde_json::{Value, json};

fn hundred_rules() -> String {
    (0..25)
        .map(|n| {
            format!(
                "[[permissions.rules]]\nask = {{ path = \"area{n}/**/*.rs\", access = \"write\" }}\n\
                 [[permissions.rules]]\ndeny = {{ command = \"tool{n} * --force*\" }}\n\
                 [[permissions.rules]]\nallow = {{ command_identity = \"make{n}\", tool = \"run_command\" }}\n\
                 [[permissions.rules]]\nallow = {{ path = \"docs{n}/\", tool = [\"write_file\", \"edit_*\"] }}\n"
            )
        })
        .collect()
}

/// The best of several rounds, so that a busy machine does not count.
fn measure(what: &str, times: u32, mut work: impl FnMut()) {
    work();
    let rounds = (0..10).map(|_| {
        let started = Instant::now();
        (0..times).for_each(|_| work());
        started.elapsed().as_secs_f64() * 1e6 / f64::from(times)
    });
    println!("{what}: {:.2} µs", rounds.fold(f64::INFINITY, f64::min));
}

#[test]
#[ignore = "prints figures; nothing depends on them"]
fn decisions_with_a_hundred_rules() {
    let text = hundred_rules();
    let file = PermissionsFile::parse(&text).unwrap();
    let policy = Policy::compile(file.layers()).unwrap();
    measure("compiling 100 rules", 5, || drop(black_box(Policy::compile(file.layers()).unwrap())));
    let calls: [(&str, &str, Value); 3] = [
        ("write_file with a path", "write_file", json!({ "path": "src/main.rs", "content": "x" })),
        (
            "a pipeline of five commands",
            "run_command",
            json!({ "command": "cat src/main.rs | grep -v '^//' | sort | uniq -c | head -n 20" }),
        ),
        ("100 KiB of commands", "run_command", json!({ "command": "echo a/b 'c d' > x;".repeat(5000) })),
    ];
    for (what, tool, args) in calls {
        let spec = support::spec(tool);
        let args = args.as_object().unwrap();
        let paths: Vec<_> =
            mentions(&spec, args).iter().map(|(text, access)| locate(text, *access)).collect();
        let subject = Subject {
            effect: EffectKind::Tool,
            name: tool,
            spec: Some(&spec),
            args,
            model: None,
            paths: &paths,
            tier: ActWithApproval,
            persona: None,
            session: "session_1",
            workspace: "workspace_1",
            submitter: "ann",
            trust: Default::default(),
            now: support::NOW,
        };
        measure(what, if what.starts_with("100") { 2 } else { 1000 }, || {
            black_box(policy.decide(black_box(&subject)));
        });
    }
}

/// Long scripts that are made to be slow.
#[test]
fn hostile_scripts_are_decided() {
    let policy = Policy::default();
    let hostile = [
        "sudo ".repeat(20_000),
        "env A=1 ".repeat(12_000),
        format!("{} sh -c '{}'", "A=1 ".repeat(12_000), "a;".repeat(20_000)),
        "find . -exec a \\; ".repeat(6_000),
        "find . ".to_owned() + &"-exec a {} + ".repeat(7_000),
        "a() { b; };".repeat(9_000),
        "cat ".to_owned() + &"a*b?c[d] ".repeat(11_000),
        "cat ".to_owned() + &"../".repeat(30_000),
        "cat ".to_owned() + &"\u{430}".repeat(50_000),
        "eval ".repeat(20_000),
        "bash -c ".repeat(12_000),
        "xargs ".repeat(16_000),
        "echo x |".repeat(900) + "sh",
        "a > b ".repeat(16_000),
        "rm -rf ".to_owned() + &"x ".repeat(50_000),
        "bash <<E\n".to_owned() + &"bash <<E\n".repeat(9_000),
        "timeout --x ".repeat(8_000),
        "uv run -x ".repeat(9_000),
        "alias a=b b=c c=a; ".to_owned() + &"a; ".repeat(900),
        "cd a; cat b*; ".repeat(900),
        "((".repeat(20) + &"a ".repeat(30_000) + &"))".repeat(20),
        "python3 -c '".to_owned() + &"open(\".x/y\") rm -rf x ".repeat(4_000) + "'",
        "x ".to_owned() + &"rm ".repeat(30_000),
        "cat a/b; ".repeat(12_000) + "'",
    ];
    for script in hostile {
        let cut: String = script.chars().take(8_000).collect();
        assert_ne!(support::run(&policy, ActWithApproval, &cut).reason, "");
    }
}
