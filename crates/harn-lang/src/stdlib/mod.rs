//! The standard modules, written in Harn. A module is only read when a program imports it.

mod catalogue;

pub use catalogue::{ModuleDoc, StdFunction, StdType, modules};

use crate::bytecode::Source;
use crate::near::nearest;

/// Modules by name, with their text.
const MODULES: &[(&str, &str)] = &[
    ("std/acp", include_str!("acp.harn")),
    ("std/agent_state", include_str!("agent_state.harn")),
    ("std/async", include_str!("async.harn")),
    ("std/checkpoint", include_str!("checkpoint.harn")),
    ("std/collections", include_str!("collections.harn")),
    ("std/context", include_str!("context.harn")),
    ("std/experiments", include_str!("experiments.harn")),
    ("std/graphql", include_str!("graphql.harn")),
    ("std/hitl", include_str!("hitl.harn")),
    ("std/host", include_str!("host.harn")),
    ("std/json", include_str!("json.harn")),
    ("std/math", include_str!("math.harn")),
    ("std/memory", include_str!("memory.harn")),
    ("std/monitors", include_str!("monitors.harn")),
    ("std/path", include_str!("path.harn")),
    ("std/plan", include_str!("plan.harn")),
    ("std/prompt_library", include_str!("prompt_library.harn")),
    ("std/review", include_str!("review.harn")),
    ("std/runtime", include_str!("runtime.harn")),
    ("std/schema", include_str!("schema.harn")),
    ("std/testing", include_str!("testing.harn")),
    ("std/text", include_str!("text.harn")),
    ("std/waitpoint", include_str!("waitpoint.harn")),
    ("std/waitpoints", include_str!("waitpoints.harn")),
    ("std/worktree", include_str!("worktree.harn")),
];

/// Modules that people may look for, and why there is none.
const ABSENT: &[(&str, &str)] = &[
    ("std/agents", "workflows of agents are not part of the language yet"),
    ("std/composition", "compositions of tools are not part of the language yet"),
    ("std/connectors", "connectors are not offered; call the service over HTTP or MCP"),
    ("std/external_agent", "other agents cannot be called from the language yet"),
    ("std/postgres", "databases are not offered; call a service over HTTP or MCP"),
    ("std/project", "project scanning is not offered; read the files that matter"),
    ("std/triggers", "triggers belong to the server; configure them in `harn.toml`"),
    ("std/vision", "reading text in images is not offered; give the image to a model"),
];

/// Whether a source of a program is one of these.
pub fn is_module(name: &str) -> bool {
    MODULES.iter().any(|(known, _)| *known == name)
}

/// The module of an import path that begins with `std/`; none for any other path.
pub(crate) fn source(path: &str) -> Option<Result<Source, String>> {
    let path = path.strip_suffix(".harn").unwrap_or(path);
    if !path.starts_with("std/") {
        return None;
    }
    let found = MODULES.iter().find(|(name, _)| *name == path);
    Some(match found {
        Some((name, text)) => Ok(Source { name: (*name).into(), text: (*text).into() }),
        None => Err(unknown(path)),
    })
}

fn unknown(path: &str) -> String {
    let is_at =
        |name: &str| path == name || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let reason = ABSENT.iter().find(|(name, _)| is_at(name)).map(|(_, reason)| format!(" ({reason})"));
    let similar = || nearest(path, MODULES.iter().map(|(name, _)| *name));
    let hint = reason.or_else(|| similar().map(|name| format!(" (did you mean `{name}`?)")));
    format!("Unknown stdlib module: {path}{}", hint.unwrap_or_default())
}
