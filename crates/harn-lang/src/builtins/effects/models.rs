//! Models, conversations with them, and what they cost.

use super::super::{Group, prelude, refused};

const NO_MCP: &str = "MCP comes in a later version";

pub static MCP: Group = Group {
    title: "MCP client",
    builtins: &[
        refused(
            "mcp_call",
            "client, name, arguments?",
            "any",
            "Calls a tool of a server: gives its text, a list of content blocks, or nil; throws if the tool reports an error.",
            NO_MCP,
        ),
        refused(
            "mcp_connect",
            "command, args?",
            "any",
            "Starts a server as a process and connects to it.",
            NO_MCP,
        ),
        refused("mcp_disconnect", "client", "nil", "Ends the connection to a server.", NO_MCP),
        refused(
            "mcp_ensure_active",
            "name",
            "any",
            "Connects to a configured server unless it is connected, and keeps it so until `mcp_release`.",
            NO_MCP,
        ),
        refused(
            "mcp_get_prompt",
            "client, name, arguments?",
            "dict",
            "A prompt of a server with its arguments filled in.",
            NO_MCP,
        ),
        refused("mcp_list_prompts", "client", "list", "The prompts of a server.", NO_MCP),
        refused(
            "mcp_list_resource_templates",
            "client",
            "any",
            "The resource templates of a server.",
            NO_MCP,
        ),
        refused("mcp_list_resources", "client", "list", "The resources of a server.", NO_MCP),
        refused(
            "mcp_list_tools",
            "client",
            "list",
            "The tools of a server, each with the name of the server in `_mcp_server`.",
            NO_MCP,
        ),
        refused("mcp_read_resource", "client, uri", "any", "The content of a resource of a server.", NO_MCP),
        refused(
            "mcp_registry_status",
            "",
            "list",
            "The configured servers: `name`, `lazy`, `active` and `ref_count`.",
            NO_MCP,
        ),
        refused(
            "mcp_release",
            "name",
            "nil",
            "Says that a configured server is no longer needed; the last one to do so disconnects it.",
            NO_MCP,
        ),
        refused(
            "mcp_server_card",
            "name_or_url_or_path",
            "dict",
            "The card of a server by its configured name, its address or a file; needs no connection.",
            NO_MCP,
        ),
        refused(
            "mcp_server_info",
            "client",
            "dict",
            "The name of a server and whether it is connected.",
            NO_MCP,
        ),
    ],
};

pub static MCP_SERVER: Group = Group {
    title: "MCP server",
    builtins: &[
        refused(
            "mcp_prompt",
            "config",
            "nil",
            "Offers a prompt to clients: `name`, `description`, `arguments` and a `handler`.",
            NO_MCP,
        ),
        refused(
            "mcp_resource",
            "config",
            "nil",
            "Offers a resource to clients: `uri`, `name` and `text`.",
            NO_MCP,
        ),
        refused(
            "mcp_resource_template",
            "config",
            "nil",
            "Offers the resources of a `uri_template` to clients, made by a `handler`.",
            NO_MCP,
        ),
        prelude("mcp_serve", "registry", "any", "The same as `mcp_tools`."),
        prelude("mcp_tools", "registry", "any", "Offers the tools of a registry to clients."),
    ],
};

pub static LLM: Group = Group {
    title: "LLM core",
    builtins: &[
        prelude(
            "agent_loop",
            "prompt, system?, options?",
            "dict",
            "Has a model work on a task with tools until it is done.",
        ),
        prelude("agent_trace", "", "list", "What happened in the agent loops of this run."),
        prelude("agent_trace_summary", "", "dict", "The agent loops of this run in numbers."),
        prelude(
            "llm_call",
            "prompt, system?, options?",
            "dict",
            "Asks a model; the answer has `text`, `data`, `model`, `provider` and the tokens used.",
        ),
        prelude(
            "llm_call_safe",
            "prompt, system?, options?",
            "dict",
            "Asks a model; an error is given as a value, not thrown.",
        ),
        prelude(
            "llm_call_structured",
            "prompt, schema, options?",
            "any",
            "Asks a model for a value that fits a schema.",
        ),
        prelude(
            "llm_call_structured_result",
            "prompt, schema, options?",
            "any",
            "Asks a model for a value that fits a schema; gives the value or the error, and how it went.",
        ),
        prelude(
            "llm_call_structured_safe",
            "prompt, schema, options?",
            "dict",
            "Asks a model for a value that fits a schema; an error is given as a value, not thrown.",
        ),
        prelude(
            "llm_completion",
            "prefix, suffix?, system?, options?",
            "dict",
            "Has a model continue a text, or fill the gap between two.",
        ),
        prelude("llm_mock", "response", "nil", "Answers the next question to a model without asking it."),
        prelude("llm_mock_calls", "", "list", "The questions that were answered by `llm_mock`."),
        prelude("llm_mock_clear", "", "nil", "Ends all `llm_mock`."),
        prelude(
            "llm_mock_pop_scope",
            "",
            "nil",
            "Ends a scope: the answers are those from before `llm_mock_push_scope`.",
        ),
        prelude(
            "llm_mock_push_scope",
            "",
            "nil",
            "Starts a scope of answers of its own; `llm_mock_pop_scope` ends it.",
        ),
        prelude(
            "llm_stream",
            "prompt, system?, options?",
            "any",
            "Asks a model and gives a channel with the pieces of its answer.",
        ),
        prelude(
            "with_rate_limit",
            "provider, fn, options?",
            "any",
            "Calls a function, and again after a while if the provider says that it was called too often.",
        ),
    ],
};

pub static CONVERSATION: Group = Group {
    title: "Conversation, transcripts",
    builtins: &[
        prelude("add_assistant", "messages, content", "any", "Messages with one more from the assistant."),
        prelude("add_message", "messages, role, content", "any", "Messages with one more."),
        prelude("add_system", "messages, content", "any", "Messages with one more from the system."),
        prelude(
            "add_tool_result",
            "messages, tool_use_id, content",
            "any",
            "Messages with the result of a tool.",
        ),
        prelude("add_user", "messages, content", "any", "Messages with one more from the user."),
        prelude("conversation", "", "list", "A list of messages without any."),
        prelude("transcript", "metadata?", "dict", "A transcript without messages."),
        prelude("transcript_abandon", "transcript", "dict", "A transcript marked as given up."),
        prelude("transcript_add_asset", "transcript, asset", "dict", "A transcript with one more file."),
        prelude("transcript_archive", "transcript", "dict", "A transcript marked as archived."),
        prelude("transcript_assets", "transcript", "list", "The files of a transcript."),
        prelude("transcript_events", "transcript", "list", "The events of a transcript."),
        prelude("transcript_export", "transcript", "string", "A transcript as JSON."),
        prelude(
            "transcript_fork",
            "transcript, options?",
            "any",
            "A copy of a transcript that goes another way.",
        ),
        prelude("transcript_from_messages", "messages_or_transcript", "dict", "A transcript of messages."),
        prelude("transcript_id", "transcript", "string", "The id of a transcript."),
        prelude(
            "transcript_import",
            "json_text",
            "any",
            "The transcript in a JSON text that `transcript_export` gave.",
        ),
        prelude("transcript_messages", "transcript", "list", "The messages of a transcript."),
        prelude("transcript_render_full", "transcript", "string", "All of a transcript as text."),
        prelude(
            "transcript_render_visible",
            "transcript",
            "string",
            "What a user sees of a transcript as text.",
        ),
        prelude("transcript_reset", "options?", "dict", "A transcript that starts anew."),
        prelude("transcript_resume", "transcript", "dict", "A transcript marked as going on."),
        prelude(
            "transcript_summarize",
            "transcript, options?",
            "dict",
            "A transcript with a summary instead of its older messages.",
        ),
        prelude("transcript_summary", "transcript", "string|nil", "The summary of a transcript, or nil."),
    ],
};

pub static CONFIGURATION: Group = Group {
    title: "LLM configuration",
    builtins: &[
        prelude("llm_available_providers", "", "list", "The providers that can be asked now."),
        prelude("llm_config", "provider?", "any", "How a provider is configured."),
        prelude("llm_healthcheck", "provider?, options?", "dict", "Whether a provider answers."),
        prelude("llm_infer_provider", "model_id", "string", "The provider of a model."),
        prelude("llm_known_models", "", "list", "The models that are known."),
        prelude("llm_model_info", "model", "dict", "What is known about a model."),
        prelude("llm_model_tier", "model_id", "string", "How capable a model is."),
        prelude(
            "llm_pick_model",
            "target, options?",
            "dict",
            "A model for a purpose, out of those that are available.",
        ),
        prelude("llm_provider_catalog", "", "dict", "All providers and their models."),
        prelude("llm_providers", "", "list", "The providers that are known."),
        prelude(
            "llm_qc_default_model",
            "provider",
            "string|nil",
            "The model of a provider for checking results.",
        ),
        prelude(
            "llm_rate_limit",
            "provider, options?",
            "any",
            "Sets or tells how often a provider may be asked.",
        ),
        prelude("llm_resolve_model", "alias", "dict", "The model that an alias stands for."),
        prelude("provider_capabilities", "provider, model", "dict", "What a model of a provider can do."),
        prelude(
            "provider_capabilities_clear",
            "",
            "bool",
            "Forgets what `provider_capabilities_install` said.",
        ),
        prelude(
            "provider_capabilities_install",
            "toml_src",
            "bool",
            "Reads from TOML text what models can do.",
        ),
        prelude("provider_register", "config", "bool", "Adds a provider."),
    ],
};

pub static COST: Group = Group {
    title: "LLM cost",
    builtins: &[
        prelude("llm_budget", "max_cost", "nil", "Sets how much models may cost from now on."),
        prelude("llm_budget_remaining", "", "any", "How much models may still cost."),
        prelude("llm_cost", "model, input_tokens, output_tokens", "float", "What a number of tokens costs."),
        prelude("llm_session_cost", "", "dict", "What models have cost so far."),
    ],
};

pub static STATS: Group = Group {
    title: "Transcript statistics",
    builtins: &[
        prelude(
            "transcript_events_by_kind",
            "transcript, kind",
            "list",
            "The events of one kind of a transcript.",
        ),
        prelude("transcript_stats", "transcript", "dict", "How long a transcript is and what it cost."),
    ],
};

pub static COMPACT: Group = Group {
    title: "Transcript compaction",
    builtins: &[prelude("transcript_compact", "transcript, options?", "dict", "A transcript made shorter.")],
};
