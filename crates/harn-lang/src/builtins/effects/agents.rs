//! Sessions, agents and daemons.

use super::super::{Group, prelude, refused};

const NO_WORKERS: &str =
    "an agent beside the program comes with workers in a later version; until then call `agent_loop`";

pub static SESSIONS: Group = Group {
    title: "Agent sessions",
    builtins: &[
        prelude(
            "agent_session_add_root",
            "id, path, options?",
            "dict",
            "Gives a session one more folder to work in and gives its workspace.",
        ),
        prelude("agent_session_ancestry", "id", "dict|nil", "Which sessions a session was forked from."),
        prelude("agent_session_close", "id", "nil", "Closes a session."),
        prelude(
            "agent_session_compact",
            "id, opts",
            "int",
            "Makes a session shorter and gives how many messages are left.",
        ),
        prelude("agent_session_current_id", "", "string|nil", "The session of the running agent, or nil."),
        prelude("agent_session_exists", "id", "bool", "Whether there is a session."),
        prelude(
            "agent_session_fork",
            "src, dst?",
            "string",
            "Copies a session and gives the id of the copy.",
        ),
        prelude(
            "agent_session_fork_at",
            "src, keep_first, dst?",
            "string",
            "Copies the first messages of a session and gives the id of the copy.",
        ),
        prelude("agent_session_inject", "id, message", "nil", "Adds a message to a session."),
        prelude("agent_session_length", "id", "int", "How many messages a session has."),
        prelude("agent_session_open", "id?", "string", "Opens a session and gives its id."),
        prelude(
            "agent_session_reanchor",
            "id, path, options?",
            "dict",
            "Moves a session to another folder and gives its workspace.",
        ),
        prelude("agent_session_reset", "id", "nil", "Removes all messages of a session."),
        prelude("agent_session_snapshot", "id", "dict|nil", "A session as it is now, or nil."),
        prelude(
            "agent_session_trim",
            "id, keep_last",
            "int",
            "Keeps the last messages of a session and gives how many are left.",
        ),
        prelude(
            "agent_session_truncate",
            "id, keep_first",
            "int",
            "Keeps the first messages of a session and gives how many are left.",
        ),
        prelude(
            "agent_session_workspace_anchor",
            "id",
            "dict|nil",
            "The folders that a session works in: `primary` and `roots`.",
        ),
    ],
};

pub static AGENTS: Group = Group {
    title: "Agents, workers",
    builtins: &[
        prelude("agent", "name, config?", "dict", "An agent with a name and its configuration."),
        prelude(
            "agent_config",
            "agent, prompt",
            "dict",
            "The options with which an agent is asked: its configuration and a prompt.",
        ),
        prelude("agent_name", "agent", "any", "The name of an agent."),
        refused("close_agent", "handle", "any", "Ends an agent.", NO_WORKERS),
        refused("list_agents", "", "list", "The agents that run.", NO_WORKERS),
        refused("resume_agent", "id_or_snapshot_path", "dict", "Lets a stopped agent go on.", NO_WORKERS),
        refused("send_input", "handle, task", "any", "Gives an agent something more to do.", NO_WORKERS),
        refused("spawn_agent", "config", "any", "Starts an agent.", NO_WORKERS),
        refused(
            "sub_agent_run",
            "task, options?",
            "dict",
            "Has an agent do a task and waits for it.",
            NO_WORKERS,
        ),
        refused("wait_agent", "handle_or_list", "any", "Waits for one or several agents.", NO_WORKERS),
        refused("worker_trigger", "worker, payload", "dict", "Gives a worker something to do.", NO_WORKERS),
    ],
};

pub static DAEMONS: Group = Group {
    title: "Daemons",
    builtins: &[
        refused("daemon_resume", "path", "dict", "Lets a stopped daemon go on.", NO_WORKERS),
        refused("daemon_snapshot", "handle", "dict", "A daemon as it is now.", NO_WORKERS),
        refused("daemon_spawn", "config", "dict", "Starts a daemon.", NO_WORKERS),
        refused("daemon_stop", "handle", "dict", "Stops a daemon.", NO_WORKERS),
        refused("daemon_trigger", "handle, event", "dict", "Tells a daemon of an event.", NO_WORKERS),
    ],
};

pub static FEEDBACK: Group = Group {
    title: "Agent feedback",
    builtins: &[
        prelude(
            "agent_inject_feedback",
            "session_id, kind, content",
            "nil",
            "Adds a message to the conversation of a running agent.",
        ),
        prelude("agent_subscribe", "id, cb", "nil", "Calls a function for the events of an agent."),
        prelude(
            "cancel_in_flight_tool_call",
            "id, call_id_or_options?, options?",
            "dict",
            "Ends a call of a tool that an agent is waiting for, by its id or that of the session.",
        ),
    ],
};
