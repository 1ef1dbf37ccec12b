//! What a decision costs, beside the commit that records it.

use std::io::Write;
use std::time::{Duration, Instant};

use harn_core::decision::{Access, PathFact};
use harn_core::tool::ToolSpec;
use harn_core::{AutonomyTier, EffectKind, Timestamp};
use harn_engine::tools::Registry;
use harn_policy::{PermissionsFile, Policy, Subject, locate, mentions};
use serde_json::{Map, Value, json};

/// A hundred rules of the kinds that people write.
fn rules() -> String {
    let mut text = String::from("[permissions]\nauto_deny = [\"mcp:*\"]\n");
    for n in 0..99 {
        let (action, when) = match n % 4 {
            0 => ("deny", format!("path = \"secret-{n}/**\"")),
            1 => ("ask", format!("command = \"tool-{n} *\"")),
            2 => ("allow", format!("tool = \"edit_file\", path = \"area-{n}/**\"")),
            _ => ("ask", format!("host = \"*.example-{n}.com\"")),
        };
        text.push_str(&format!(
            "[[permissions.rules]]\nid = \"rule-{n}\"\naction = \"{action}\"\nmatch = {{ {when} }}\n"
        ));
    }
    text
}

fn located(spec: &ToolSpec, args: &Map<String, Value>) -> Vec<PathFact> {
    mentions(spec, args).into_iter().map(|(asked, access): (String, Access)| locate(&asked, access)).collect()
}

/// The median time of one decision.
fn measure(policy: &Policy, spec: &ToolSpec, args: &Value) -> Duration {
    let args = args.as_object().unwrap();
    let paths = located(spec, args);
    let subject = Subject {
        effect: EffectKind::Tool,
        name: &spec.name,
        spec: Some(spec),
        args,
        model: None,
        paths: &paths,
        tier: AutonomyTier::ActWithApproval,
        persona: None,
        session: "session_1",
        workspace: "workspace_1",
        submitter: "ann",
        trust: Default::default(),
        now: Timestamp::from_millis(0),
    };
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..20 {
                std::hint::black_box(policy.decide(std::hint::black_box(&subject)));
            }
            start.elapsed() / 20
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

pub fn report(out: &mut impl Write) {
    let file = PermissionsFile::parse(&rules()).unwrap();
    let start = Instant::now();
    let policy = Policy::compile(file.layers()).unwrap();
    let compiled = start.elapsed();
    let specs = Registry::builtin().specs();
    let spec = |name: &str| specs.iter().find(|spec| spec.name == name).unwrap();
    let calls = [
        ("read_file with a path", "read_file", json!({ "path": "src/main.rs" })),
        ("write_file with a path", "write_file", json!({ "path": "src/main.rs", "content": "x" })),
        ("one command", "run_command", json!({ "command": "cargo test --workspace" })),
        (
            "a pipeline of five commands",
            "run_command",
            json!({ "command": "cat a.txt | grep -v b | sort -u | head -n 5 | wc -l" }),
        ),
    ];
    writeln!(out, "policy, 100 rules (compiled in {compiled:.1?})").unwrap();
    for (what, tool, args) in calls {
        writeln!(out, "  {what:<30} {:>8.1?} a decision", measure(&policy, spec(tool), &args)).unwrap();
    }
}
