//! The host itself: its events, rules and people.

use super::super::{Group, prelude, refused, vm};

const NO_TRIGGERS: &str = "triggers are not offered; let what notices the event start the program";
const NO_CONNECTORS: &str = "connectors are not offered; call the service over HTTP or MCP";
const NO_TRUST: &str = "records of trust come with receipts, in a later version";
const NO_FLOW: &str = "flow invariants are not offered; use `require` and `assert`";
const NO_PROJECT: &str = "project scanning is not offered; read the files that matter";
const NO_POSTGRES: &str = "databases are not offered; call a service over HTTP or MCP";
const NO_VISION: &str = "reading text in images is not offered; give the image to a model";

pub static TRIGGERS: Group = Group {
    title: "Triggers, trust",
    builtins: &[
        refused("handler_context", "", "dict", "The event that the program was started for.", NO_TRIGGERS),
        refused("list_providers_native", "", "list", "Where events can come from.", NO_TRIGGERS),
        refused("trigger_fire", "handle, event", "dict", "Tells a trigger of an event.", NO_TRIGGERS),
        refused("trigger_inspect_action_graph", "trace_id?", "list", "What events led to.", NO_TRIGGERS),
        refused("trigger_inspect_dlq", "", "list", "The events that could not be handled.", NO_TRIGGERS),
        refused("trigger_inspect_lifecycle", "kind?", "list", "What happened to triggers.", NO_TRIGGERS),
        refused("trigger_list", "", "list", "The triggers.", NO_TRIGGERS),
        refused("trigger_register", "config", "dict", "Adds a trigger.", NO_TRIGGERS),
        refused("trigger_replay", "event_id", "dict", "Handles an event again.", NO_TRIGGERS),
        refused("trigger_test_harness", "fixture", "dict", "Tries out how events are handled.", NO_TRIGGERS),
        refused("trust_graph_policy_for", "agent", "dict", "What an agent is trusted to do.", NO_TRUST),
        refused(
            "trust_graph_query",
            "agent, action",
            "dict",
            "What is recorded about an agent and an action.",
            NO_TRUST,
        ),
        refused("trust_graph_record", "decision", "string", "Records a decision about trust.", NO_TRUST),
        refused(
            "trust_graph_verify_chain",
            "",
            "dict",
            "Whether the record of decisions is complete.",
            NO_TRUST,
        ),
        refused("trust_query", "filters", "list", "The recorded decisions that match.", NO_TRUST),
        refused(
            "trust_record",
            "agent, action, approver, outcome, tier",
            "dict",
            "Records what an agent did and who approved it.",
            NO_TRUST,
        ),
    ],
};

pub static HOST: Group = Group {
    title: "Host bridge, mocks",
    builtins: &[
        prelude("host_call", "name, args", "any", "Asks the host for something by name."),
        prelude("host_capabilities", "", "dict", "What the host can do."),
        prelude("host_has", "capability, op?", "bool", "Whether the host can do something."),
        prelude(
            "host_mock",
            "capability, op, response_or_config, params?",
            "nil",
            "Answers calls to the host without asking it.",
        ),
        prelude("host_mock_calls", "", "list", "The calls that were answered by `host_mock`."),
        prelude("host_mock_clear", "", "nil", "Ends all `host_mock`."),
        prelude(
            "host_mock_pop_scope",
            "",
            "nil",
            "Ends a scope: the answers are those from before `host_mock_push_scope`.",
        ),
        prelude(
            "host_mock_push_scope",
            "",
            "nil",
            "Starts a scope of answers of its own; `host_mock_pop_scope` ends it.",
        ),
        prelude("host_tool_call", "name, args", "any", "Calls a tool of the host."),
        prelude("host_tool_list", "", "list", "The tools of the host."),
    ],
};

pub static COMMANDS: Group = Group {
    title: "Command policy",
    builtins: &[
        prelude("command_llm_risk_scan", "ctx, options?", "dict", "Asks a model how risky a command is."),
        prelude("command_policy", "config", "dict", "A rule for commands, out of a dict."),
        prelude("command_policy_pop", "", "nil", "Ends the rule that was put in force last."),
        prelude(
            "command_policy_push",
            "policy",
            "nil",
            "Puts a rule for commands in force, until `command_policy_pop`.",
        ),
        prelude("command_result_scan", "ctx", "dict", "What is risky about the result of a command."),
        prelude("command_risk_scan", "ctx", "dict", "How risky a command is."),
    ],
};

pub static TRACING: Group = Group {
    title: "Tracing",
    builtins: &[
        vm("enable_tracing", "enabled?", "nil", "Switches the recording of spans on or off."),
        prelude("llm_info", "", "dict", "Which model and provider are used."),
        prelude("llm_usage", "", "dict", "How many tokens this run has used."),
        prelude("trace_end", "span", "nil", "Ends a span."),
        vm("trace_id", "", "string|nil", "The id of the trace, or nil."),
        vm("trace_spans", "", "list", "The spans that were recorded."),
        prelude("trace_start", "name", "dict", "Starts a span."),
        vm("trace_summary", "", "string", "The spans that were recorded, as text."),
    ],
};

pub static PEOPLE: Group = Group {
    title: "Human in the loop",
    builtins: &[
        prelude("ask_user", "prompt, options?", "any", "Asks a person and waits for the answer."),
        prelude(
            "dual_control",
            "n, m, action, approvers?",
            "any",
            "Does something once enough people approve.",
        ),
        prelude("escalate_to", "role, reason", "dict", "Hands a matter to a person in a role."),
        prelude("request_approval", "action, options?", "dict", "Asks for an approval and waits for it."),
    ],
};

pub static WAITPOINTS: Group = Group {
    title: "Waitpoints",
    builtins: &[
        prelude("waitpoint_cancel", "waitpoint, options?", "dict", "Cancels a waitpoint."),
        prelude(
            "waitpoint_complete",
            "waitpoint, value?, options?",
            "dict",
            "Completes a waitpoint with a value.",
        ),
        prelude(
            "waitpoint_create",
            "id_or_options?",
            "dict",
            "Makes a waitpoint: something that a program waits for and another completes.",
        ),
        prelude("waitpoint_wait", "waitpoints, options?", "dict", "Waits for one or several waitpoints."),
    ],
};

pub static CONNECTORS: Group = Group {
    title: "Secrets, metrics, connectors",
    builtins: &[
        refused(
            "connector_call",
            "provider, method, params?",
            "any",
            "Calls a method of a service.",
            NO_CONNECTORS,
        ),
        prelude(
            "event_log_emit",
            "topic, kind, payload, headers?",
            "any",
            "Adds an event to the log of events.",
        ),
        prelude("metrics_inc", "name, amount?", "any", "Adds 1, or another amount, to a counter."),
        prelude("secret_get", "secret_id", "any", "A secret of the host by its id."),
    ],
};

pub static FLOW: Group = Group {
    title: "Flow invariants",
    builtins: &[
        refused("flow_evidence_atom", "...", "dict", "A piece of evidence.", NO_FLOW),
        refused("flow_evidence_citation", "...", "dict", "Evidence that is a citation.", NO_FLOW),
        refused("flow_evidence_metadata", "...", "dict", "Evidence that is metadata.", NO_FLOW),
        refused("flow_evidence_transcript", "...", "dict", "Evidence that is a transcript.", NO_FLOW),
        refused("flow_invariant_allow", "...", "dict", "Says that something is allowed.", NO_FLOW),
        refused("flow_invariant_block", "...", "dict", "Says that something is not allowed.", NO_FLOW),
        refused("flow_invariant_confidence", "...", "float", "How sure a verdict is.", NO_FLOW),
        refused("flow_invariant_is_blocking", "...", "bool", "Whether a verdict stops something.", NO_FLOW),
        refused("flow_invariant_kind", "...", "string", "The kind of a verdict.", NO_FLOW),
        refused(
            "flow_invariant_require_approval",
            "...",
            "dict",
            "Says that something needs an approval.",
            NO_FLOW,
        ),
        refused("flow_invariant_warn", "...", "dict", "Says that something is doubtful.", NO_FLOW),
        refused("flow_remediation", "...", "dict", "A way out of a problem.", NO_FLOW),
        refused("flow_with_confidence", "...", "dict", "A verdict with another confidence.", NO_FLOW),
        refused("flow_with_evidence", "...", "dict", "A verdict with evidence.", NO_FLOW),
        refused("flow_with_remediation", "...", "dict", "A verdict with a way out.", NO_FLOW),
    ],
};

pub static PROJECT: Group = Group {
    title: "Project",
    builtins: &[
        refused("project_catalog_native", "", "list", "The kinds of projects that are known.", NO_PROJECT),
        refused("project_fingerprint", "path?", "any", "What kind of project is at a path.", NO_PROJECT),
        refused("project_scan_native", "path, options?", "dict", "What is in a project.", NO_PROJECT),
        refused(
            "project_scan_tree_native",
            "path, options?",
            "dict",
            "What is in a project and those within.",
            NO_PROJECT,
        ),
        refused("project_walk_tree_native", "path, options?", "list", "The files of a project.", NO_PROJECT),
    ],
};

pub static POSTGRES: Group = Group {
    title: "Postgres",
    builtins: &[
        refused("pg_close", "pool", "bool", "Closes a pool of connections.", NO_POSTGRES),
        refused("pg_connect", "source, options?", "dict", "Connects to a database.", NO_POSTGRES),
        refused("pg_execute", "handle, sql, params?", "dict", "Runs a statement.", NO_POSTGRES),
        refused("pg_mock_calls", "mock", "list", "What was asked of a pretended database.", NO_POSTGRES),
        refused("pg_mock_pool", "fixtures", "dict", "A pretended database.", NO_POSTGRES),
        refused("pg_pool", "source, options?", "dict", "A pool of connections.", NO_POSTGRES),
        refused("pg_query", "handle, sql, params?", "list", "The rows of a query.", NO_POSTGRES),
        refused("pg_query_one", "handle, sql, params?", "any", "The first row of a query.", NO_POSTGRES),
        refused(
            "pg_transaction",
            "pool, callback, options?",
            "any",
            "Runs statements together or not at all.",
            NO_POSTGRES,
        ),
    ],
};

pub static ASSEMBLE: Group = Group {
    title: "Context assembly",
    builtins: &[prelude("assemble_context", "options", "dict", "A context for a model out of artifacts.")],
};

pub static EGRESS: Group = Group {
    title: "Egress",
    builtins: &[prelude("egress_policy", "config", "dict", "Says which addresses the program may reach.")],
};

pub static EVENT_LOG: Group = Group {
    title: "Event log",
    builtins: &[
        prelude(
            "event_log.emit",
            "topic, kind, payload, headers?",
            "int",
            "Adds an event to the log and gives its number.",
        ),
        prelude("event_log.latest", "topic?", "int|nil", "The number of the last event, or nil."),
        prelude("event_log.subscribe", "options", "stream", "The events of a topic as they come."),
    ],
};

pub static PENDING: Group = Group {
    title: "Pending questions",
    builtins: &[prelude("hitl_pending", "filters?", "any", "The questions to people that are open.")],
};

pub static MONITORS: Group = Group {
    title: "Monitors",
    builtins: &[refused(
        "monitor_wait_for_native",
        "options",
        "any",
        "Waits until something outside is as it should be.",
        NO_TRIGGERS,
    )],
};

pub static ENRICH: Group = Group {
    title: "Project enrichment",
    builtins: &[refused(
        "project_enrich_native",
        "path, options",
        "dict",
        "What a model says about a project.",
        NO_PROJECT,
    )],
};

pub static REVIEW: Group = Group {
    title: "Review",
    builtins: &[prelude("self_review", "diff, rubric?, max_rounds?", "dict", "Has a model review changes.")],
};

pub static VISION: Group = Group {
    title: "Vision",
    builtins: &[refused("vision_ocr", "image, options?", "dict", "The text in an image.", NO_VISION)],
};
