//! Workflows, records of runs, and artifacts.

use super::super::{Cx, Group, args, prelude, pure, refused};
use crate::fault::Fault;
use crate::value::Value;

const NO_WORKFLOWS: &str = "workflows come in a later version";
const NO_HANDOFFS: &str = "handoffs between agents come in a later version";
const NO_EVALS: &str = "evaluations are not offered; compare with `assert_eq` in a test";

pub static WORKFLOWS: Group = Group {
    title: "Workflows",
    builtins: &[
        prelude("clear_tool_hooks", "", "nil", "Removes all hooks around tools."),
        prelude("estimate_tokens", "messages", "int", "About how many tokens some messages have."),
        prelude("microcompact", "text, max_chars?", "string", "A text shortened in its middle."),
        prelude("register_tool_hook", "config", "nil", "Has functions called before and after a tool."),
        prelude(
            "select_artifacts_adaptive",
            "artifacts, policy",
            "any",
            "The artifacts that fit into a context.",
        ),
        prelude(
            "transcript_auto_compact",
            "messages, options?",
            "any",
            "Messages made shorter if they are too long.",
        ),
        refused("workflow_clone", "graph", "dict", "A copy of a workflow.", NO_WORKFLOWS),
        refused("workflow_commit", "graph, reason?", "dict", "A workflow marked as final.", NO_WORKFLOWS),
        refused("workflow_diff", "left, right", "dict", "What differs between two workflows.", NO_WORKFLOWS),
        refused(
            "workflow_execute",
            "task, graph, artifacts?, options?",
            "dict",
            "Runs a workflow on a task.",
            NO_WORKFLOWS,
        ),
        refused("workflow_graph", "config", "dict", "A workflow out of nodes and edges.", NO_WORKFLOWS),
        refused(
            "workflow_insert_node",
            "graph, node, edge?",
            "dict",
            "A workflow with one more node.",
            NO_WORKFLOWS,
        ),
        refused("workflow_inspect", "graph, ceiling?", "dict", "What a workflow consists of.", NO_WORKFLOWS),
        refused("workflow_policy_report", "graph, ceiling?", "dict", "What a workflow may do.", NO_WORKFLOWS),
        refused(
            "workflow_replace_node",
            "graph, node_id, node",
            "dict",
            "A workflow with another node in the place of one.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow_rewire",
            "graph, from, to, branch?",
            "dict",
            "A workflow with another edge.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow_set_auto_compact",
            "graph, node_id, policy",
            "dict",
            "A workflow with another rule for long conversations at a node.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow_set_context_policy",
            "graph, node_id, policy",
            "dict",
            "A workflow with another rule for what a node sees.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow_set_model_policy",
            "graph, node_id, policy",
            "dict",
            "A workflow with another rule for the model of a node.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow_set_output_visibility",
            "graph, node_id, visibility",
            "dict",
            "A workflow with another rule for who sees what a node says.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow_validate",
            "graph, ceiling?",
            "dict",
            "Whether a workflow can be run.",
            NO_WORKFLOWS,
        ),
    ],
};

pub static MESSAGES: Group = Group {
    title: "Workflow messages",
    builtins: &[
        refused(
            "continue_as_new",
            "target",
            "dict",
            "Starts a workflow again with a new history.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.continue_as_new",
            "target",
            "dict",
            "Starts a workflow again with a new history.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.pause",
            "target",
            "dict",
            "Halts a workflow until `workflow.resume`.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.publish_query",
            "target, name, value?",
            "dict",
            "Sets what a query of a workflow answers.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.query",
            "target, name",
            "any",
            "What a workflow published under a name.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.receive",
            "target",
            "dict|nil",
            "The next message to a workflow, or nil.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.respond_update",
            "target, request_id, value, name?",
            "dict",
            "Answers an update of a workflow.",
            NO_WORKFLOWS,
        ),
        refused("workflow.resume", "target", "dict", "Lets a halted workflow go on.", NO_WORKFLOWS),
        refused(
            "workflow.signal",
            "target, name, payload?",
            "dict",
            "Sends a workflow a message and does not wait.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.status",
            "target",
            "dict",
            "Whether a workflow runs, waits or has ended.",
            NO_WORKFLOWS,
        ),
        refused(
            "workflow.update",
            "target, name, payload?, options?",
            "any",
            "Asks a workflow to change and waits for its answer.",
            NO_WORKFLOWS,
        ),
    ],
};

pub static RECORDS: Group = Group {
    title: "Records, artifacts, evals",
    builtins: &[
        prelude(
            "artifact",
            "payload",
            "dict",
            "An artifact: a piece of content with a kind, a title and where it came from.",
        ),
        prelude(
            "artifact_apply_intent",
            "target, intent, extra?",
            "dict",
            "An artifact that says what is to be applied.",
        ),
        prelude(
            "artifact_command_result",
            "command, output, extra?",
            "dict",
            "An artifact of what a command printed.",
        ),
        prelude("artifact_context", "artifacts, policy?", "string", "Artifacts as text for a model."),
        prelude("artifact_derive", "parent, kind, extra?", "dict", "An artifact made from another."),
        prelude(
            "artifact_diff",
            "path, before, after, extra?",
            "dict",
            "An artifact of the difference between two versions of a file.",
        ),
        prelude(
            "artifact_diff_review",
            "target, summary?, extra?",
            "dict",
            "An artifact of a review of changes.",
        ),
        prelude(
            "artifact_editor_selection",
            "path, text, extra?",
            "dict",
            "An artifact of a part of a file that a person selected.",
        ),
        prelude(
            "artifact_git_diff",
            "diff_text, extra?",
            "dict",
            "An artifact of changes as Git writes them.",
        ),
        prelude(
            "artifact_patch_proposal",
            "target, patch, extra?",
            "dict",
            "An artifact of proposed changes.",
        ),
        prelude(
            "artifact_review_decision",
            "target, decision, extra?",
            "dict",
            "An artifact of what a review decided.",
        ),
        prelude("artifact_select", "artifacts, policy?", "list", "The artifacts that fit a policy."),
        prelude("artifact_test_result", "title, text, extra?", "dict", "An artifact of what a test said."),
        prelude(
            "artifact_verification_bundle",
            "title, checks, extra?",
            "dict",
            "An artifact of several checks.",
        ),
        prelude(
            "artifact_verification_result",
            "title, text, extra?",
            "dict",
            "An artifact of what a check said.",
        ),
        prelude(
            "artifact_workspace_file",
            "path, content, extra?",
            "dict",
            "An artifact of a file of the workspace.",
        ),
        prelude(
            "artifact_workspace_snapshot",
            "paths, summary?, extra?",
            "dict",
            "An artifact of several files of the workspace.",
        ),
        prelude("context_pack_manifest", "payload", "dict", "A description of a pack of context."),
        prelude(
            "context_pack_manifest_parse",
            "src",
            "dict",
            "The description of a pack of context that a text says.",
        ),
        prelude(
            "context_pack_suggestions",
            "events?, options?",
            "list",
            "Packs of context that would have helped.",
        ),
        refused("eval_metric", "name, value, metadata?", "nil", "Notes a number of an evaluation.", NO_EVALS),
        refused("eval_metrics", "", "list", "The numbers of an evaluation.", NO_EVALS),
        pure(
            "eval_pack_manifest",
            "payload",
            "dict",
            "The description of an evaluation pack.",
            eval_pack_manifest,
        ),
        refused("eval_pack_run", "manifest", "dict", "Runs an evaluation pack.", NO_EVALS),
        pure(
            "eval_suite_manifest",
            "payload",
            "dict",
            "The description of an evaluation suite.",
            eval_suite_manifest,
        ),
        refused("eval_suite_run", "manifest", "dict", "Runs an evaluation suite.", NO_EVALS),
        prelude("friction_clear", "", "nil", "Forgets the records of what went badly."),
        refused(
            "friction_eval_fixture",
            "fixture",
            "dict",
            "An evaluation out of what went badly.",
            NO_EVALS,
        ),
        prelude("friction_event", "payload", "dict", "A record of something that went badly, not yet kept."),
        prelude("friction_events", "", "list", "The records of what went badly."),
        prelude(
            "friction_record",
            "payload, options?",
            "dict",
            "Keeps a record of something that went badly.",
        ),
        refused("handoff", "value", "dict", "What one agent hands to another.", NO_HANDOFFS),
        refused(
            "handoff_context",
            "value",
            "string",
            "What one agent hands to another, as text.",
            NO_HANDOFFS,
        ),
        prelude("load_run_tree", "path", "dict", "A recorded run with those that it started."),
        prelude("run_record", "payload", "dict", "A record of a run."),
        prelude("run_record_diff", "left, right", "dict", "What differs between two runs."),
        refused("run_record_eval", "run, fixture?", "dict", "Evaluates a recorded run.", NO_EVALS),
        refused("run_record_eval_suite", "cases", "dict", "Evaluates recorded runs.", NO_EVALS),
        refused("run_record_fixture", "run", "dict", "What a recorded run is compared with.", NO_EVALS),
        prelude("run_record_load", "path", "dict", "The record of a run in a file."),
        prelude("run_record_save", "run, path?", "dict", "Writes the record of a run."),
    ],
};

/// A description is plain data; only running it is not offered.
fn manifest(args: &mut [Value], builtin: &str) -> Result<Value, Fault> {
    let mut manifest = args::dict_of(args, 0, builtin, "payload")?.clone();
    if !manifest.has("version") {
        manifest.insert(args::key("version"), Value::Int(1));
    }
    Ok(Value::dict(manifest))
}

fn eval_pack_manifest(_: &mut Cx<'_>, args: &mut [Value]) -> Result<Value, Fault> {
    manifest(args, "eval_pack_manifest")
}

fn eval_suite_manifest(_: &mut Cx<'_>, args: &mut [Value]) -> Result<Value, Fault> {
    manifest(args, "eval_suite_manifest")
}
