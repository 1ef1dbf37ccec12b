//! Spec 000's approval request: everything that a host needs to show what is asked, and why.

use harn_core::run::{Decision, Manifest};
use harn_core::tool::ToolCall;
use harn_core::{Task, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The canonical payload; the same wherever an approval is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tool call that waits.
    pub id: String,
    pub action: String,
    pub args: Map<String, Value>,
    /// Who wants it: the run's session.
    pub principal: String,
    pub requested_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    pub approvers_required: usize,
    pub evidence_refs: Vec<Evidence>,
    /// What groups the change for undo, with the decision that led here.
    pub undo_metadata: Value,
    pub capabilities_requested: Vec<String>,
}

/// Something that a host can show beside the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub kind: String,
    #[serde(rename = "ref")]
    pub reference: String,
    pub metadata: Value,
}

pub fn approval_request(
    now: Timestamp,
    task: &Task,
    manifest: &Manifest,
    call: &ToolCall,
    decision: &Decision,
    approvers_required: usize,
    deadline: Option<Timestamp>,
) -> ApprovalRequest {
    let context = &decision.context;
    let evidence = context.paths.iter().map(|path| {
        let shown = path.workspace_path.as_ref().or(path.host_path.as_ref()).unwrap_or(&path.asked);
        Evidence {
            kind: if path.workspace_path.is_some() { "workspace_path" } else { "host_path" }.to_owned(),
            reference: shown.clone(),
            metadata: json!(path),
        }
    });
    let mut undo = match &manifest.mutation {
        Some(mutation) => json!(mutation),
        None => json!({ "session_id": task.session_id, "run_id": task.id, "mutation_scope": "read_only" }),
    };
    undo["policy_decision"] = json!(decision);
    let capabilities = match context.capabilities.is_empty() {
        true => vec![format!("tool.{}", call.name)],
        false => context.capabilities.clone(),
    };
    ApprovalRequest {
        id: call.id.clone(),
        action: call.name.clone(),
        args: call.args.clone(),
        principal: task.session_id.to_string(),
        requested_at: now,
        deadline,
        approvers_required: approvers_required.max(1),
        evidence_refs: evidence.collect(),
        undo_metadata: undo,
        capabilities_requested: capabilities,
    }
}
