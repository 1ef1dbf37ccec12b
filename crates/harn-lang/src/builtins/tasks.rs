//! Tasks and what they share: it lives in the VM and in the prelude, and is only declared here.

use super::{Group, prelude, vm};

pub static TASKS: Group = Group {
    title: "Task control",
    builtins: &[
        vm("await", "handle", "any", "Waits for a task and gives its result."),
        vm("cancel", "handle", "nil", "Ends a task at once, and the tasks that it has started."),
        vm(
            "cancel_graceful",
            "handle, timeout?",
            "any",
            "Asks a task to end, and cancels it if it does not do so in time.",
        ),
        vm("is_cancelled", "", "any", "Whether the current task was asked to end."),
        vm("spawn", "", "any", "Starts a task."),
    ],
};

pub static SHARED: Group = Group {
    title: "Channels, atomics, sync, shared state, circuit",
    builtins: &[
        vm("atomic", "initial?", "any", "A number that tasks share."),
        vm("atomic_add", "a, delta", "any", "Adds to an atomic and gives what it was."),
        vm(
            "atomic_cas",
            "a, expected, new",
            "bool",
            "Sets an atomic if it has the expected value, and tells whether it did.",
        ),
        vm("atomic_get", "a", "any", "The value of an atomic."),
        vm("atomic_set", "a, value", "any", "Sets an atomic and gives what it was."),
        vm("channel", "name?, capacity?", "any", "A channel between tasks."),
        vm(
            "channel_select",
            "channels, timeout?",
            "any",
            "Waits for the first of several channels that has a value.",
        ),
        prelude(
            "circuit_breaker",
            "name, threshold?, reset_ms?",
            "string",
            "A breaker that opens after so many failures.",
        ),
        prelude("circuit_check", "name", "string", "Whether a breaker is closed, open or half open."),
        prelude(
            "circuit_record_failure",
            "name",
            "bool",
            "Counts a failure, and tells whether the breaker is open now.",
        ),
        prelude("circuit_record_success", "name", "nil", "Counts a success."),
        prelude("circuit_reset", "name", "nil", "Closes a breaker."),
        vm("close_channel", "ch", "nil", "Closes a channel; what is in it can still be received."),
        vm("mailbox_close", "target", "bool", "Closes a mailbox."),
        vm("mailbox_lookup", "name_or_handle", "any", "The mailbox of a name, or nil."),
        vm("mailbox_metrics", "target", "dict", "How much a mailbox has seen."),
        vm("mailbox_open", "name_or_options, capacity?", "dict", "Opens a mailbox under a name."),
        vm("mailbox_receive", "target, timeout?", "any", "Waits for the next value of a mailbox."),
        vm("mailbox_send", "target, value", "bool", "Puts a value into a mailbox."),
        vm("mailbox_try_receive", "target", "any", "The next value of a mailbox, or nil."),
        vm("receive", "ch", "any", "Waits for the next value of a channel; nil when it is closed and empty."),
        vm("select", "ch1, ch2, ...", "any", "Waits for the first of several channels that has a value."),
        vm("send", "ch, value", "any", "Puts a value into a channel."),
        vm(
            "shared_cas",
            "cell, expected_or_snapshot, value",
            "bool",
            "Sets a shared cell if nobody changed it since, and tells whether it did.",
        ),
        vm("shared_cell", "key_or_options, initial?", "dict", "A cell that tasks share under a key."),
        vm("shared_get", "cell", "any", "The value of a shared cell."),
        vm("shared_map", "key_or_options, initial?", "dict", "A map that tasks share under a key."),
        vm(
            "shared_map_cas",
            "map, key, expected_or_snapshot, value",
            "bool",
            "Sets a key of a shared map if nobody changed it since, and tells whether it did.",
        ),
        vm("shared_map_delete", "map, key", "any", "Removes a key of a shared map and gives what it held."),
        vm("shared_map_entries", "map", "dict", "All of a shared map."),
        vm("shared_map_get", "map, key, default?", "any", "The value of a key of a shared map."),
        vm("shared_map_set", "map, key, value", "any", "Sets a key of a shared map and gives what it held."),
        vm("shared_map_snapshot", "map, key", "dict", "The value and version of a key of a shared map."),
        vm("shared_metrics", "handle", "any", "How often a shared cell or map was read and written."),
        vm("shared_scope_id", "scope?, options?", "string", "The name of a scope of shared state."),
        vm("shared_set", "cell, value", "any", "Sets a shared cell and gives what it held."),
        vm("shared_snapshot", "cell", "dict", "The value and version of a shared cell."),
        prelude("sleep", "duration", "nil", "Waits for a time."),
        vm("sync_gate_acquire", "key, limit, timeout?", "any", "Waits to be one of so many within a gate."),
        vm("sync_metrics", "kind?, key?", "any", "Who holds and waits for locks."),
        vm("sync_mutex_acquire", "key, timeout?", "any", "Waits for a lock."),
        vm("sync_release", "permit", "bool", "Gives a permit back."),
        vm("sync_rwlock_acquire", "key, mode, timeout?", "any", "Waits to read, or to write alone."),
        vm("sync_semaphore_acquire", "key, capacity, permits?, timeout?", "any", "Waits for permits."),
        prelude(
            "timer_end",
            "timer",
            "int",
            "Prints how long ago a timer was started, and gives the milliseconds.",
        ),
        prelude("timer_start", "name?", "dict", "Starts a timer."),
        vm("try_receive", "ch", "any", "The next value of a channel, or nil."),
    ],
};

pub static SUPERVISORS: Group = Group {
    title: "Supervisors",
    builtins: &[
        prelude("supervisor_events", "handle_or_id", "list", "What happened under a supervisor."),
        prelude(
            "supervisor_metrics",
            "handle_or_id",
            "dict",
            "How often a supervisor's children were started and failed.",
        ),
        prelude("supervisor_start", "spec", "dict", "Starts children and restarts those that fail."),
        prelude("supervisor_state", "handle_or_id", "dict", "How a supervisor and its children are."),
        prelude("supervisor_stop", "handle_or_id, timeout?", "dict", "Stops a supervisor and its children."),
    ],
};

pub static CONTEXT: Group = Group {
    title: "Runtime context",
    builtins: &[
        vm("runtime_context", "", "dict", "Which run, task and step this is."),
        vm("runtime_context_clear", "key", "any", "Removes a value from the context of the task."),
        vm("runtime_context_get", "key, default?", "any", "A value of the context of the task."),
        vm(
            "runtime_context_set",
            "key, value",
            "any",
            "Sets a value in the context of the task and of those that it starts.",
        ),
        vm("runtime_context_values", "", "dict", "All values of the context of the task."),
        vm("task_current", "", "dict", "The current task."),
    ],
};
