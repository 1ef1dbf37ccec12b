//! A few tools as the engine has them, and a call of one of them put before a policy.

use harn_core::decision::{Access, Decision, PathFact};
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use harn_core::{AutonomyTier, EffectKind, Timestamp};
use harn_policy::{Policy, Subject, locate, mentions};
use serde_json::{Map, Value, json};

pub const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn tool(name: &str, side_effect: SideEffect, annotations: Annotations) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: json!({}),
        output_schema: json!({}),
        class: Class::Once,
        side_effect,
        annotations,
    }
}

pub fn spec(name: &str) -> ToolSpec {
    let path = |kind, args: &[&str], access| Annotations {
        kind,
        paths: args.iter().map(|arg| ((*arg).to_owned(), access)).collect(),
        ..Annotations::default()
    };
    match name {
        "read_file" => tool(name, SideEffect::ReadOnly, path(ToolKind::Read, &["path"], Access::Read)),
        "move_file" => {
            tool(name, SideEffect::WorkspaceWrite, path(ToolKind::Move, &["from", "to"], Access::Write))
        }
        "run_command" => {
            let annotations = Annotations {
                kind: ToolKind::Execute,
                command: Some("command".into()),
                network: Some("network".into()),
                ..Annotations::default()
            };
            tool(name, SideEffect::ProcessExec, annotations)
        }
        "fetch_url" => {
            let annotations = Annotations {
                kind: ToolKind::Fetch,
                urls: vec!["url".into()],
                capabilities: vec!["net.fetch".into()],
                ..Annotations::default()
            };
            tool(name, SideEffect::Network, annotations)
        }
        "exec" => tool(name, SideEffect::ProcessExec, path(ToolKind::Execute, &["dir"], Access::Read)),
        "download" => {
            let annotations = path(ToolKind::Fetch, &["path"], Access::Write);
            tool(name, SideEffect::Network, Annotations { urls: vec!["url".into()], ..annotations })
        }
        "think" => tool(name, SideEffect::None, Annotations::default()),
        _ => tool(name, SideEffect::WorkspaceWrite, path(ToolKind::Edit, &["path"], Access::Write)),
    }
}

/// One call, by its tool, its arguments and its tier.
pub fn decide(policy: &Policy, tier: AutonomyTier, name: &str, args: Value) -> Decision {
    decide_located(policy, tier, name, args, &[])
}

/// The same with paths of which somebody has looked where they lead.
#[allow(dead_code, reason = "not every test file has links")]
pub fn decide_located(
    policy: &Policy,
    tier: AutonomyTier,
    name: &str,
    args: Value,
    known: &[PathFact],
) -> Decision {
    let spec = spec(name);
    let Value::Object(args) = args else { panic!("arguments are a table") };
    decide_spec(policy, tier, &spec, &args, known)
}

fn decide_spec(
    policy: &Policy,
    tier: AutonomyTier,
    spec: &ToolSpec,
    args: &Map<String, Value>,
    known: &[PathFact],
) -> Decision {
    let paths: Vec<PathFact> = mentions(spec, args)
        .into_iter()
        .map(|(text, access)| {
            let fact = known.iter().find(|fact| fact.asked == text && fact.access == access);
            fact.cloned().unwrap_or_else(|| locate(&text, access))
        })
        .collect();
    policy.decide(&Subject {
        effect: EffectKind::Tool,
        name: &spec.name,
        spec: Some(spec),
        args,
        model: None,
        paths: &paths,
        tier,
        persona: Some("coder"),
        session: "session_1",
        workspace: "workspace_1",
        submitter: "ann",
        trust: Default::default(),
        now: NOW,
    })
}

#[allow(dead_code, reason = "not every test file runs commands")]
pub fn run(policy: &Policy, tier: AutonomyTier, command: &str) -> Decision {
    decide(policy, tier, "run_command", json!({ "command": command }))
}
