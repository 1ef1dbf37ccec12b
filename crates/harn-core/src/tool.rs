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
