//! What is put before policy.

use std::collections::HashSet;

use harn_core::chat::ModelRef;
use harn_core::decision::{Access, PathFact, Trust};
use harn_core::ports::WorkspaceFiles;
use harn_core::tool::{SideEffect, ToolKind, ToolSpec};
use harn_core::{AutonomyTier, EffectKind, Timestamp};
use serde_json::{Map, Value};

use crate::analyse::analyse;
use crate::mention;

/// An effect that somebody wants to happen, with everything that rules may look at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub effect: EffectKind,
    /// The tool's name; for other effects the name of their kind.
    pub name: &'a str,
    /// None for effects that are no tools, and for tools that nobody knows.
    pub spec: Option<&'a ToolSpec>,
    pub args: &'a Map<String, Value>,
    pub model: Option<&'a ModelRef>,
    /// Where the paths that `mentions` found lead.
    pub paths: &'a [PathFact],
    pub tier: AutonomyTier,
    pub persona: Option<&'a str>,
    pub session: &'a str,
    pub workspace: &'a str,
    /// Who submitted the task.
    pub submitter: &'a str,
    pub trust: Trust,
    pub now: Timestamp,
}

impl Subject<'_> {
    pub fn kind(&self) -> ToolKind {
        self.spec.map_or(ToolKind::Other, |spec| spec.annotations.kind)
    }

    /// How far the call reaches. A tool that nobody knows is taken to reach as far as any can.
    pub fn side_effect(&self) -> SideEffect {
        match (self.effect, self.spec) {
            (EffectKind::Tool | EffectKind::Call, None) => SideEffect::Network,
            (_, None) => SideEffect::None,
            (_, Some(spec)) => {
                let network = spec.annotations.network.as_ref();
                let wants = network.and_then(|arg| self.args.get(arg)).is_some_and(|value| value == true);
                if wants { SideEffect::Network } else { spec.side_effect }
            }
        }
    }
}

/// The paths that a call names: path arguments, and words of a command that may be paths.
pub fn mentions(spec: &ToolSpec, args: &Map<String, Value>) -> Vec<(String, Access)> {
    let mut found: Vec<(String, Access)> =
        path_arguments(spec, args).into_iter().map(|(text, access)| (text.to_owned(), access)).collect();
    let script = spec.annotations.command.as_ref().and_then(|arg| args.get(arg)?.as_str());
    if let Some(script) = script {
        let mut seen = HashSet::new();
        let commands = analyse(script).commands;
        let named = commands.iter().flat_map(mention::of_command);
        found.extend(named.filter(|mentioned| seen.insert(mentioned.clone())));
    }
    found
}

/// Where these lead. Looks at the file system.
pub fn located(
    files: &dyn WorkspaceFiles,
    root: &str,
    spec: &ToolSpec,
    args: &Map<String, Value>,
) -> Vec<PathFact> {
    let fact = |(asked, access): (String, _)| files.locate(root, &asked).named(asked, access);
    mentions(spec, args).into_iter().map(fact).collect()
}

/// Arguments that are paths; a list of paths is each of them.
pub(crate) fn path_arguments<'a>(spec: &ToolSpec, args: &'a Map<String, Value>) -> Vec<(&'a str, Access)> {
    let named = spec.annotations.paths.iter().filter_map(|(arg, access)| Some((args.get(arg)?, *access)));
    named
        .flat_map(|(value, access)| {
            let texts = match value {
                Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect::<Vec<_>>(),
            };
            texts.into_iter().map(move |text| (text, access))
        })
        .collect()
}
