//! Models, conversations with them, and what they cost.

use super::super::{Group, effect, prelude};

pub static MCP: Group = Group {
    title: "MCP client",
    builtins: &[
        effect(
            "mcp_call",
            "client, name, arguments?",
            "any",
            "Calls a tool of a server: gives its text, a list of content blocks, or nil; throws if the tool reports an error.",
        ),
        effect("mcp_connect", "command, args?", "any", "Starts a server as a process and connects to it."),
        effect("mcp_disconnect", "client", "nil", "Ends the connection to a server."),
        effect(
            "mcp_ensure_active",
            "name",
            "any",
            "Connects to a configured server unless it is connected, and keeps it so until `mcp_release`.",
        ),
        effect(
            "mcp_get_prompt",
            "client, name, arguments?",
            "dict",
            "A prompt of a server with its arguments filled in.",
        ),
        effect("mcp_list_prompts", "client", "list", "The prompts of a server."),
        effect("mcp_list_resource_templates", "client", "any", "The resource templates of a server."),
        effect("mcp_list_resources", "client", "list", "The resources of a server."),
        effect(
            "mcp_list_tools",
            "client",
            "list",
            "The tools of a server, each with the name of the server in `_mcp_server`.",
        ),
        effect("mcp_read_resource", "client, uri", "any", "The content of a resource of a server."),
        effect(
            "mcp_registry_status",
            "",
            "list",
            "The configured servers: `name`, `lazy`, `active` and `ref_count`.",
        ),
        effect(
            "mcp_release",
            "name",
            "nil",
            "Says that a configured server is no longer needed; the last one to do so disconnects it.",
        ),
        effect(
            "mcp_server_card",
            "name_or_url_or_path",
            "dict",
            "The card of a server by its configured name, its address or a file; needs no connection.",
        ),
        effect("mcp_server_info", "client", "dict", "The name of a server and whether it is connected."),
    ],
};

pub static MCP_SERVER: Group = Group {
    title: "MCP server",
    builtins: &[
        effect(
            "mcp_prompt",
            "config",
            "nil",
            "Offers a prompt to clients: `name`, `description`, `arguments` and a `handler`.",
        ),
        effect("mcp_resource", "config", "nil", "Offers a resource to clients: `uri`, `name` and `text`."),
        effect(
            "mcp_resource_template",
            "config",
            "nil",
            "Offers the resources of a `uri_template` to clients, made by a `handler`.",
        ),
        effect("mcp_serve", "registry", "any", "The same as `mcp_tools`."),
        effect("mcp_tools", "registry", "any", "Offers the tools of a registry to clients."),
    ],
};

pub static LLM: Group = Group {
    title: "LLM core",
    builtins: &[
        effect(
            "agent_loop",
            "prompt, system?, options?",
            "dict",
            "Has a model work on a task with tools until it is done.",
        ),
        effect("agent_trace", "", "list", "What happened in the agent loops of this run."),
        effect("agent_trace_summary", "", "dict", "The agent loops of this run in numbers."),
        effect(
            "llm_call",
            "prompt, system?, options?",
            "dict",
            "Asks a model; the answer has `text`, `data`, `model`, `provider` and the tokens used.",
        ),
        effect(
            "llm_call_safe",
            "prompt, system?, options?",
            "dict",
            "Asks a model; an error is given as a value, not thrown.",
        ),
        effect(
            "llm_call_structured",
            "prompt, schema, options?",
            "any",
            "Asks a model for a value that fits a schema.",
        ),
        effect(
            "llm_call_structured_result",
            "prompt, schema, options?",
            "any",
            "Asks a model for a value that fits a schema, as a result.",
        ),
        effect(
            "llm_call_structured_safe",
            "prompt, schema, options?",
            "dict",
            "Asks a model for a value that fits a schema; an error is given as a value, not thrown.",
        ),
        effect(
            "llm_completion",
            "prefix, suffix?, system?, options?",
            "dict",
            "Has a model continue a text, or fill the gap between two.",
        ),
        effect("llm_mock", "response", "nil", "Answers the next question to a model without asking it."),
        effect("llm_mock_calls", "", "list", "The questions that were answered by `llm_mock`."),
        effect("llm_mock_clear", "", "nil", "Ends all `llm_mock`."),
        effect(
            "llm_mock_pop_scope",
            "",
            "nil",
            "Ends a scope: the answers are those from before `llm_mock_push_scope`.",
        ),
        effect(
            "llm_mock_push_scope",
            "",
            "nil",
            "Starts a scope of answers of its own; `llm_mock_pop_scope` ends it.",
        ),
        effect(
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
        effect("add_assistant", "messages, content", "any", "Messages with one more from the assistant."),
        effect("add_message", "messages, role, content", "any", "Messages with one more."),
        effect("add_system", "messages, content", "any", "Messages with one more from the system."),
        effect(
            "add_tool_result",
            "messages, tool_use_id, content",
            "any",
            "Messages with the result of a tool.",
        ),
        effect("add_user", "messages, content", "any", "Messages with one more from the user."),
        effect("conversation", "", "list", "A list of messages without any."),
        effect("transcript", "metadata?", "dict", "A transcript without messages."),
        effect("transcript_abandon", "transcript", "dict", "A transcript marked as given up."),
        effect("transcript_add_asset", "transcript, asset", "dict", "A transcript with one more file."),
        effect("transcript_archive", "transcript", "dict", "A transcript marked as archived."),
        effect("transcript_assets", "transcript", "list", "The files of a transcript."),
        effect("transcript_events", "transcript", "list", "The events of a transcript."),
        effect("transcript_export", "transcript", "string", "A transcript as JSON."),
        effect(
            "transcript_fork",
            "transcript, options?",
            "any",
            "A copy of a transcript that goes another way.",
        ),
        effect("transcript_from_messages", "messages_or_transcript", "dict", "A transcript of messages."),
        effect("transcript_id", "transcript", "string", "The id of a transcript."),
        effect(
            "transcript_import",
            "json_text",
            "any",
            "The transcript in a JSON text that `transcript_export` gave.",
        ),
        effect("transcript_messages", "transcript", "list", "The messages of a transcript."),
        effect("transcript_render_full", "transcript", "string", "All of a transcript as text."),
        effect(
            "transcript_render_visible",
            "transcript",
            "string",
            "What a user sees of a transcript as text.",
        ),
        effect("transcript_reset", "options?", "dict", "A transcript that starts anew."),
        effect("transcript_resume", "transcript", "dict", "A transcript marked as going on."),
        effect(
            "transcript_summarize",
            "transcript, options?",
            "dict",
            "A transcript with a summary instead of its older messages.",
        ),
        effect("transcript_summary", "transcript", "string|nil", "The summary of a transcript, or nil."),
    ],
};

pub static CONFIGURATION: Group = Group {
    title: "LLM configuration",
    builtins: &[
        effect("llm_available_providers", "", "list", "The providers that can be asked now."),
        effect("llm_config", "provider?", "any", "How a provider is configured."),
        effect("llm_healthcheck", "provider?, options?", "dict", "Whether a provider answers."),
        effect("llm_infer_provider", "model_id", "string", "The provider of a model."),
        effect("llm_known_models", "", "list", "The models that are known."),
        effect("llm_model_info", "model", "dict", "What is known about a model."),
        effect("llm_model_tier", "model_id", "string", "How capable a model is."),
        effect(
            "llm_pick_model",
            "target, options?",
            "dict",
            "A model for a purpose, out of those that are available.",
        ),
        effect("llm_provider_catalog", "", "dict", "All providers and their models."),
        effect("llm_providers", "", "list", "The providers that are known."),
        effect(
            "llm_qc_default_model",
            "provider",
            "string|nil",
            "The model of a provider for checking results.",
        ),
        effect(
            "llm_rate_limit",
            "provider, options?",
            "any",
            "Sets or tells how often a provider may be asked.",
        ),
        effect("llm_resolve_model", "alias", "dict", "The model that an alias stands for."),
        effect("provider_capabilities", "provider, model", "dict", "What a model of a provider can do."),
        effect(
            "provider_capabilities_clear",
            "",
            "bool",
            "Forgets what `provider_capabilities_install` said.",
        ),
        effect(
            "provider_capabilities_install",
            "toml_src",
            "bool",
            "Reads from TOML text what models can do.",
        ),
        effect("provider_register", "config", "bool", "Adds a provider."),
    ],
};

pub static COST: Group = Group {
    title: "LLM cost",
    builtins: &[
        effect("llm_budget", "max_cost", "nil", "Sets how much models may cost from now on."),
        effect("llm_budget_remaining", "", "any", "How much models may still cost."),
        effect("llm_cost", "model, input_tokens, output_tokens", "float", "What a number of tokens costs."),
        effect("llm_session_cost", "", "dict", "What models have cost so far."),
    ],
};

pub static STATS: Group = Group {
    title: "Transcript statistics",
    builtins: &[
        effect(
            "transcript_events_by_kind",
            "transcript, kind",
            "list",
            "The events of one kind of a transcript.",
        ),
        effect("transcript_stats", "transcript", "dict", "How long a transcript is and what it cost."),
    ],
};

pub static COMPACT: Group = Group {
    title: "Transcript compaction",
    builtins: &[effect("transcript_compact", "transcript, options?", "dict", "A transcript made shorter.")],
};
