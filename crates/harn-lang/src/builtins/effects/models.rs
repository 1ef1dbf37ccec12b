//! Models, conversations with them, and what they cost.

use super::super::{Group, effect};

pub static MCP: Group = Group {
    title: "MCP client",
    builtins: &[
        effect("mcp_call", "client, name, arguments?", "any", "Calls a tool of a server."),
        effect("mcp_connect", "command, args?", "any", "Starts a server and connects to it."),
        effect("mcp_disconnect", "client", "nil", "Ends the connection to a server."),
        effect(
            "mcp_ensure_active",
            "name",
            "any",
            "Connects to a configured server if that has not happened yet.",
        ),
        effect("mcp_get_prompt", "client, name, arguments?", "dict", "A prompt of a server."),
        effect("mcp_list_prompts", "client", "list", "The prompts of a server."),
        effect("mcp_list_resource_templates", "client", "any", "The resource templates of a server."),
        effect("mcp_list_resources", "client", "list", "The resources of a server."),
        effect("mcp_list_tools", "client", "list", "The tools of a server."),
        effect("mcp_read_resource", "client, uri", "any", "A resource of a server."),
        effect("mcp_registry_status", "", "list", "Which configured servers are connected."),
        effect("mcp_release", "name", "nil", "Says that a configured server is no longer needed."),
        effect("mcp_server_card", "name_or_url_or_path", "dict", "What a server says about itself."),
        effect("mcp_server_info", "client", "dict", "The name of a server and whether it is connected."),
    ],
};

pub static MCP_SERVER: Group = Group {
    title: "MCP server",
    builtins: &[
        effect("mcp_prompt", "config", "nil", "Offers a prompt to clients."),
        effect("mcp_resource", "config", "nil", "Offers a resource to clients."),
        effect("mcp_resource_template", "config", "nil", "Offers resources of one form to clients."),
        effect("mcp_serve", "registry", "any", "Offers the tools of a registry to clients."),
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
        effect("agent_trace_summary", "", "dict", "How much happened in the agent loops of this run."),
        effect("llm_call", "prompt, system?, options?", "dict", "Asks a model."),
        effect(
            "llm_call_safe",
            "prompt, system?, options?",
            "dict",
            "Asks a model and gives an error as a value.",
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
            "Asks a model for a value that fits a schema and gives an error as a value.",
        ),
        effect(
            "llm_completion",
            "prefix, suffix?, system?, options?",
            "dict",
            "Has a model continue a text.",
        ),
        effect("llm_mock", "response", "nil", "Answers the next question to a model without asking it."),
        effect("llm_mock_calls", "", "list", "The questions that were answered by `llm_mock`."),
        effect("llm_mock_clear", "", "nil", "Ends all `llm_mock`."),
        effect("llm_mock_pop_scope", "", "nil", "Goes back to the answers before `llm_mock_push_scope`."),
        effect("llm_mock_push_scope", "", "nil", "From here on, other answers are given."),
        effect(
            "llm_stream",
            "prompt, system?, options?",
            "any",
            "Asks a model and gives its answer in pieces.",
        ),
        effect(
            "with_rate_limit",
            "provider, fn, options?",
            "any",
            "Calls a function as often as a provider allows.",
        ),
    ],
};

pub static CONVERSATION: Group = Group {
    title: "Conversation, transcripts",
    builtins: &[
        effect("add_assistant", "messages, content", "any", "Messages with one more of the assistant."),
        effect("add_message", "messages, role, content", "any", "Messages with one more."),
        effect("add_system", "messages, content", "any", "Messages with one more of the system."),
        effect(
            "add_tool_result",
            "messages, tool_use_id, content",
            "any",
            "Messages with the result of a tool.",
        ),
        effect("add_user", "messages, content", "any", "Messages with one more of the user."),
        effect("conversation", "", "list", "No messages yet."),
        effect("transcript", "metadata?", "dict", "A transcript without messages."),
        effect("transcript_abandon", "transcript", "dict", "A transcript that is given up."),
        effect("transcript_add_asset", "transcript, asset", "dict", "A transcript with one more file."),
        effect("transcript_archive", "transcript", "dict", "A transcript that is put away."),
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
        effect("transcript_import", "json_text", "any", "The transcript that JSON says."),
        effect("transcript_messages", "transcript", "list", "The messages of a transcript."),
        effect("transcript_render_full", "transcript", "string", "All of a transcript as text."),
        effect(
            "transcript_render_visible",
            "transcript",
            "string",
            "What a user sees of a transcript as text.",
        ),
        effect("transcript_reset", "options?", "dict", "A transcript that starts anew."),
        effect("transcript_resume", "transcript", "dict", "A transcript that goes on."),
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
        effect("llm_pick_model", "target, options?", "dict", "A model for a purpose."),
        effect("llm_provider_catalog", "", "dict", "All providers and their models."),
        effect("llm_providers", "", "list", "The providers that are known."),
        effect(
            "llm_qc_default_model",
            "provider",
            "string|nil",
            "The model of a provider for checking results.",
        ),
        effect("llm_rate_limit", "provider, options?", "any", "How often a provider may be asked."),
        effect("llm_resolve_model", "alias", "dict", "The model that an alias stands for."),
        effect("provider_capabilities", "provider, model", "dict", "What a model of a provider can do."),
        effect("provider_capabilities_clear", "", "bool", "Forgets what was said about capabilities."),
        effect("provider_capabilities_install", "toml_src", "bool", "Says what models can do."),
        effect("provider_register", "config", "bool", "Adds a provider."),
    ],
};

pub static COST: Group = Group {
    title: "LLM cost",
    builtins: &[
        effect("llm_budget", "max_cost", "nil", "How much models may cost from now on."),
        effect("llm_budget_remaining", "", "any", "How much models may still cost."),
        effect("llm_cost", "model, input_tokens, output_tokens", "float", "What a number of tokens costs."),
        effect("llm_session_cost", "", "dict", "What models have cost so far."),
    ],
};

pub static STATS: Group = Group {
    title: "llm/transcript_stats",
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
    title: "transcript_compact",
    builtins: &[effect(
        "transcript_compact",
        "transcript, options?",
        "dict",
        "A transcript that takes less room.",
    )],
};
