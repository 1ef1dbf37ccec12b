//! What a tool is to everyone but its executor: name, schema, class and side-effect level.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::chat::Media;
use crate::decision::Access;

/// What may be done about an effect that was begun and has no completion after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Performed again.
    Read,
    /// Asking is one commit; its completion comes when it comes.
    Local,
    /// Reconciled with the world: done, not done, or unknown.
    Checkable,
    /// Never performed again; resumes as `interrupted`.
    Once,
}

/// How far a tool reaches, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    None,
    #[serde(alias = "read")]
    ReadOnly,
    WorkspaceWrite,
    ProcessExec,
    Network,
}

/// The kinds of ACP: what a tool does, for icons and for rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    #[default]
    Other,
}

/// What policy has to know about a tool's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    pub kind: ToolKind,
    /// Arguments that are paths, and what happens there.
    #[serde(default)]
    pub paths: Vec<(String, Access)>,
    /// The argument that is a shell command line.
    #[serde(default)]
    pub command: Option<String>,
    /// The boolean argument that asks for the network; with it the call's reach is `network`.
    #[serde(default)]
    pub network: Option<String>,
    /// Arguments that are URLs or host names.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Operations in the words of hosts, such as `workspace.write_text`.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

/// A tool as models, policies and clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    pub output_schema: Value,
    pub class: Class,
    pub side_effect: SideEffect,
    #[serde(default)]
    pub annotations: Annotations,
}

impl ToolSpec {
    /// It shows something of this machine and is seen by nobody else: nothing depends on when that is written down.
    pub fn only_looks(&self) -> bool {
        self.class == Class::Read && self.side_effect <= SideEffect::ReadOnly
    }
}

/// One call that a model asked for. `id` is the provider's word for it, unique within a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub args: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Ok,
    Error,
    /// Policy or a person said no.
    Denied,
    /// It was begun, and nobody knows whether it happened.
    Interrupted,
}

/// What came of a call. `output` is what the model and the people see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    pub outcome: ToolOutcome,
    pub output: Value,
    /// What the model sees besides words. People find it through the ids in `output`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// A tool that a script handles itself: policy decides about the call, and each thing that its handler does is decided
/// about once more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnTool {
    pub call: ToolCall,
    /// As the script describes it.
    pub spec: ToolSpec,
    /// The script's own approval policy. It can only make things stricter.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub policy: Value,
}

impl OwnTool {
    /// What `__tool_begin` says, with the id of the effect for a call that has none.
    pub fn of_script(said: &Value, id: &str) -> Self {
        let text = |name: &str| said[name].as_str().filter(|text| !text.is_empty());
        let annotations = &said["annotations"];
        let name = text("name").unwrap_or_default().to_owned();
        let call = ToolCall {
            id: text("id").unwrap_or(id).to_owned(),
            name: name.clone(),
            args: said["args"].as_object().cloned().unwrap_or_default(),
        };
        let kind: ToolKind = serde_json::from_value(annotations["kind"].clone()).unwrap_or_default();
        let wanted = [&annotations["side_effect"], &annotations["side_effect_level"]];
        let side_effect = wanted.into_iter().find_map(|level| serde_json::from_value(level.clone()).ok());
        let spec = ToolSpec {
            name,
            description: String::new(),
            input_schema: Value::Null,
            output_schema: Value::Null,
            class: Class::Local,
            side_effect: side_effect.unwrap_or_else(|| reach_of(kind)),
            annotations: Annotations {
                kind,
                paths: paths_of(annotations, kind),
                command: annotations["command"].as_str().map(str::to_owned),
                urls: texts(&annotations["urls"]),
                capabilities: texts(&annotations["capabilities"]),
                network: None,
            },
        };
        Self { call, spec, policy: annotations["policy"].clone() }
    }
}

/// A tool that does not say how far it reaches is taken at its kind; of one without a kind nobody knows.
fn reach_of(kind: ToolKind) -> SideEffect {
    match kind {
        ToolKind::Think => SideEffect::None,
        ToolKind::Read | ToolKind::Search => SideEffect::ReadOnly,
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => SideEffect::WorkspaceWrite,
        ToolKind::Execute => SideEffect::ProcessExec,
        ToolKind::Fetch | ToolKind::Other => SideEffect::Network,
    }
}

/// Names of arguments, perhaps with what happens there.
fn paths_of(annotations: &Value, kind: ToolKind) -> Vec<(String, Access)> {
    let usual = match kind {
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch => Access::Read,
        _ => Access::Write,
    };
    match &annotations["paths"] {
        Value::Object(named) => named
            .iter()
            .map(|(name, access)| (name.clone(), serde_json::from_value(access.clone()).unwrap_or(usual)))
            .collect(),
        Value::Null => {
            texts(&annotations["arg_schema"]["path_params"]).into_iter().map(|name| (name, usual)).collect()
        }
        several => texts(several).into_iter().map(|name| (name, usual)).collect(),
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        one => one.as_str().map(str::to_owned).into_iter().collect(),
    }
}
