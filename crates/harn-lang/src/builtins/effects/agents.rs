//! Sessions, agents and daemons.

use super::super::{Group, effect};

pub static SESSIONS: Group = Group {
    title: "Agent sessions",
    builtins: &[
        effect("agent_session_ancestry", "id", "dict|nil", "Which sessions a session was forked from."),
        effect("agent_session_close", "id", "nil", "Closes a session."),
        effect(
            "agent_session_compact",
            "id, opts",
            "int",
            "Makes a session shorter and gives how many messages are left.",
        ),
        effect("agent_session_current_id", "", "string|nil", "The session of the running agent, or nil."),
        effect("agent_session_exists", "id", "bool", "Whether there is a session."),
        effect("agent_session_fork", "src, dst?", "string", "Copies a session and gives the id of the copy."),
        effect(
            "agent_session_fork_at",
            "src, keep_first, dst?",
            "string",
            "Copies the first messages of a session and gives the id of the copy.",
        ),
        effect("agent_session_inject", "id, message", "nil", "Adds a message to a session."),
        effect("agent_session_length", "id", "int", "How many messages a session has."),
        effect("agent_session_open", "id?", "string", "Opens a session and gives its id."),
        effect("agent_session_reset", "id", "nil", "Removes all messages of a session."),
        effect("agent_session_snapshot", "id", "dict|nil", "A session as it is now, or nil."),
        effect(
            "agent_session_trim",
            "id, keep_last",
            "int",
            "Keeps the last messages of a session and gives how many are left.",
        ),
    ],
};

pub static AGENTS: Group = Group {
    title: "Agents, workers",
    builtins: &[
        effect("agent", "name, config?", "dict", "An agent with a name and its configuration."),
        effect(
            "agent_config",
            "agent, prompt",
            "dict",
            "The options with which an agent is asked: its configuration and a prompt.",
        ),
        effect("agent_name", "agent", "any", "The name of an agent."),
        effect("close_agent", "handle", "any", "Ends an agent."),
        effect("list_agents", "", "list", "The agents that run."),
        effect("resume_agent", "id_or_snapshot_path", "dict", "Lets a stopped agent go on."),
        effect("send_input", "handle, task", "any", "Gives an agent something more to do."),
        effect("spawn_agent", "config", "any", "Starts an agent."),
        effect("sub_agent_run", "task, options?", "dict", "Has an agent do a task and waits for it."),
        effect("wait_agent", "handle_or_list", "any", "Waits for one or several agents."),
        effect("worker_trigger", "worker, payload", "dict", "Gives a worker something to do."),
    ],
};

pub static DAEMONS: Group = Group {
    title: "Daemons",
    builtins: &[
        effect("daemon_resume", "path", "dict", "Lets a stopped daemon go on."),
        effect("daemon_snapshot", "handle", "dict", "A daemon as it is now."),
        effect("daemon_spawn", "config", "dict", "Starts a daemon."),
        effect("daemon_stop", "handle", "dict", "Stops a daemon."),
        effect("daemon_trigger", "handle, event", "dict", "Tells a daemon of an event."),
    ],
};

pub static FEEDBACK: Group = Group {
    title: "Agent feedback",
    builtins: &[
        effect(
            "agent_inject_feedback",
            "session_id, kind, content",
            "nil",
            "Adds a message to the conversation of a running agent.",
        ),
        effect("agent_subscribe", "id, cb", "nil", "Calls a function for the events of an agent."),
    ],
};
