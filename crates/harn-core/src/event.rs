//! The event taxonomy of spec 001, our vendor additions, and the cause of each kind that we emit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

macro_rules! event_kinds {
    ($($variant:ident = $text:literal $(, $cause:literal)? ;)*) => {
        /// Every kind of spec 001, and ours below `vendor.harn.`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventKind {
            $($variant,)*
        }

        impl EventKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// What makes us emit it. Kinds without a cause yet come with the work that brings one.
            pub fn cause(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => { let _cause: Option<&'static str> = None; $(let _cause = Some($cause);)? _cause })*
                }
            }
        }
    };
}

event_kinds! {
    UserMessage = "user.message", "A user message entered a session's transcript.";
    UserInputSubmitted = "user.input_submitted", "Something that a run asked people was answered or withdrawn.";
    UserToolConfirmation = "user.tool_confirmation", "A person voted on a tool call that needed approval.";
    UserCancelRequested = "user.cancel_requested", "Somebody asked to cancel a task, directly or by truncating or closing its session.";
    AgentMessage = "agent.message", "The model answered: its text and tool calls, without its reasoning.";
    AgentReasoningSummary = "agent.reasoning_summary";
    AgentToolUse = "agent.tool_use", "The model asked for a tool call.";
    AgentToolResult = "agent.tool_result", "The agent got the result of a tool call.";
    AgentMcpToolUse = "agent.mcp_tool_use";
    AgentHandoff = "agent.handoff";
    AgentMemoryRead = "agent.memory_read";
    AgentMemoryWrite = "agent.memory_write";
    TaskSubmitted = "task.submitted", "A task was accepted and is durable.";
    TaskStarted = "task.started", "A task's run began: it was next in its session.";
    TaskInputRequired = "task.input_required", "A run waits for nothing but people, and for answers to questions only.";
    TaskAuthRequired = "task.auth_required", "A run waits for nothing but people, and for an approval among others.";
    TaskCompleted = "task.completed", "A run ended well; carries the outcome.";
    TaskFailed = "task.failed", "A run ended badly; carries the outcome and the failure.";
    TaskCanceled = "task.canceled", "A task was cancelled before it ended; carries the outcome.";
    TaskStatusChanged = "task.status_changed", "Every transition of a task, before the kind that names it.";
    SessionCreated = "session.created", "A session was created or forked.";
    SessionClosed = "session.closed", "A session was closed by a caller or expired.";
    SessionMessageAppended = "session.message_appended", "Any message entered a session's transcript, or its inbox while a run goes on.";
    SessionCompacted = "session.compacted", "The older part of a transcript gave way to a summary, because it had grown too long for the model.";
    SessionTruncated = "session.truncated", "Turns were dropped from the end of a transcript.";
    SessionThreadForked = "session.thread_forked", "A session was forked; on the parent's stream.";
    SessionThreadMerged = "session.thread_merged";
    SessionReplayed = "session.replayed";
    BranchCreated = "branch.created", "A branch was created, by itself or by a fork.";
    BranchUpdated = "branch.updated";
    BranchMerged = "branch.merged";
    BranchAbandoned = "branch.abandoned";
    ArtifactCreated = "artifact.created", "An artifact was registered.";
    ArtifactUpdated = "artifact.updated", "An artifact's content was uploaded.";
    ArtifactLinked = "artifact.linked";
    ArtifactRedacted = "artifact.redacted";
    SpanStarted = "span.started", "A model call is about to be made.";
    SpanUpdated = "span.updated";
    SpanCompleted = "span.completed", "A model call was answered.";
    SpanFailed = "span.failed", "A model call failed.";
    ToolRequested = "tool.requested", "A tool call was put before policy.";
    ToolApprovalRequired = "tool.approval_required", "Policy wants a person to approve a tool call.";
    ToolApproved = "tool.approved", "People approved a tool call that policy had put before them.";
    ToolDenied = "tool.denied", "A tool call may not be performed.";
    ToolCompleted = "tool.completed", "A tool call was performed.";
    ToolFailed = "tool.failed", "A tool call failed, was cancelled, or was interrupted.";
    ConnectorDeliveryReceived = "connector.delivery_received";
    ConnectorDeliveryDeduped = "connector.delivery_deduped";
    ConnectorNormalized = "connector.normalized";
    ConnectorTaskSubmitted = "connector.task_submitted";
    ConnectorFailed = "connector.failed";
    ReceiptIssued = "receipt.issued";
    ReceiptVerified = "receipt.verified";
    ReceiptVerificationFailed = "receipt.verification_failed";
    ReplayStarted = "replay.started";
    ReplayEventReplayed = "replay.event_replayed";
    ReplayCompleted = "replay.completed";
    ReplayFailed = "replay.failed";
    WorkspaceCreated = "vendor.harn.workspace_created", "A workspace was created.";
    WorkspaceUpdated = "vendor.harn.workspace_updated", "A workspace was changed.";
    PersonaCreated = "vendor.harn.persona_created", "A persona was created.";
    PersonaUpdated = "vendor.harn.persona_updated", "A persona was changed.";
    SessionUpdated = "vendor.harn.session_updated", "A session's summary, metadata or expiry was changed.";
    InboxDelivered = "vendor.harn.inbox_delivered", "Messages that had been waiting in the inbox reached the run.";
    QuestionAsked = "vendor.harn.question_asked", "A run asked people: a question, an approval, dual control or an escalation; carries the request.";
    ScriptUpdate = "vendor.harn.script_update", "A script told whoever watches: progress, a plan, skills, a compaction.";
    WaitpointAwaited = "vendor.harn.waitpoint_awaited", "A script waits for waitpoints that others complete or cancel.";
    WaitpointSettled = "vendor.harn.waitpoint_settled", "A waitpoint was completed or cancelled, by a script or from outside.";
    TaskUndone = "vendor.harn.task_undone", "What a task did to files was put back, as far as that was possible.";
    PermissionPolicyChanged = "vendor.harn.permission_policy_changed", "Somebody put another permission policy.";
    PermissionRuleAdded = "vendor.harn.permission_rule_added", "A permission rule was added, or an answer remembered.";
    PermissionRuleRemoved = "vendor.harn.permission_rule_removed", "A permission rule was removed.";
    ScriptOutput = "vendor.harn.script_output", "A script printed something.";
    FileWritten = "vendor.harn.file_written", "A caller wrote a workspace file through the API.";
}

impl EventKind {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourcePointer {
    pub object: String,
    pub id: String,
}

/// Event payloads are open objects; the builders live with the commands that emit them.
pub type Payload = Map<String, Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_spelled_once_and_parses_back() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in EventKind::ALL {
            assert!(seen.insert(kind.as_str()), "{} twice", kind.as_str());
            assert_eq!(EventKind::parse(kind.as_str()), Some(*kind));
        }
        assert_eq!(EventKind::ToolDenied.cause(), Some("A tool call may not be performed."));
        assert_eq!(EventKind::ReceiptIssued.cause(), None);
    }
}
