//! The clock, files, processes, and what is kept from run to run.

use super::super::{Group, effect, paths, prelude, pure};

pub static CLOCK: Group = Group {
    title: "Clock",
    builtins: &[
        prelude("advance_time", "ms", "int", "Moves the pretended clock on and gives its time."),
        prelude("elapsed", "", "int", "The milliseconds since the program started."),
        prelude("mock_time", "ms", "nil", "From now on the clock stands still at a time, in milliseconds."),
        prelude("monotonic_ms", "", "int", "Milliseconds of a clock that never goes back."),
        prelude("now_ms", "", "int", "The milliseconds since 1970."),
        prelude("sleep_ms", "n", "nil", "Waits for so many milliseconds."),
        prelude("timestamp", "", "float", "The seconds since 1970, with a fraction."),
        prelude("unmock_time", "", "nil", "Ends `mock_time`."),
    ],
};

pub static FILES: Group = Group {
    title: "Files",
    builtins: &[
        effect(
            "append_file",
            "path, content",
            "nil",
            "Writes at the end of a file, which is made if there is none.",
        ),
        effect("copy_file", "src, dst", "nil", "Copies a file."),
        effect("delete_file", "path", "nil", "Removes a file, or a directory with all that is in it."),
        effect("file_exists", "path", "bool", "Whether there is something at a path."),
        effect("glob", "pattern, base_or_options?, options?", "list", "The paths that match a pattern."),
        effect("list_dir", "path?", "list", "The names in a directory, in order."),
        effect("mkdir", "path", "nil", "Makes a directory and those that it is in."),
        effect("move_file", "src, dst", "nil", "Moves a file to another path."),
        pure(
            "path_join",
            "parts...",
            "string",
            "One path after another; an absolute one starts anew.",
            paths::path_join,
        ),
        effect("read_file", "path", "string", "The text of a file; throws if it cannot be read."),
        effect("read_file_bytes", "path", "bytes", "The bytes of a file."),
        effect(
            "read_file_result",
            "path",
            "any",
            "The text of a file as `Ok(text)`, or `Err(message)` if it cannot be read.",
        ),
        effect("read_lines", "path", "list", "The lines of a file, without their ends."),
        effect(
            "stat",
            "path",
            "dict",
            "What the system says about a file, such as its size and when it was changed.",
        ),
        effect("temp_dir", "", "string", "A directory for files that need not stay."),
        effect("walk_dir", "path, options?", "list", "All that is in a directory and in those within."),
        effect("write_file", "path, content", "nil", "Writes a file; what was in it before is gone."),
        effect(
            "write_file_bytes",
            "path, bytes",
            "nil",
            "Writes bytes to a file; what was in it before is gone.",
        ),
    ],
};

pub static WATCHING: Group = Group {
    title: "File watching",
    builtins: &[
        effect(
            "fs_watch",
            "paths, options?",
            "string",
            "Watches files and directories for changes from now on; the text that it gives names the watcher.",
        ),
        effect("fs_watch_close", "handle", "bool", "Stops watching; false if nobody did."),
        effect(
            "fs_watch_next",
            "handle, timeout_ms?",
            "dict|nil",
            "Waits for the next change and gives its `kind` (`created`, `modified`, `removed`) and `path`, or nil when the time is up.",
        ),
    ],
};

pub static PROCESS: Group = Group {
    title: "Process, environment",
    builtins: &[
        effect("arch", "", "string", "The processor architecture."),
        effect("asset_root", "", "string", "The directory of the files that belong to the program."),
        effect("cwd", "", "string", "The current directory."),
        prelude("date_iso", "", "string", "The current date as ISO 8601."),
        effect("env", "name", "string|nil", "An environment variable, or nil."),
        effect("env_or", "name, default", "any", "An environment variable, or the default if it is not set."),
        prelude(
            "exec",
            "cmd, args...",
            "dict",
            "Runs a program with arguments, waits for it, and gives `stdout`, `stderr`, `status` and `success`.",
        ),
        prelude(
            "exec_at",
            "dir, cmd, args...",
            "dict",
            "Runs a program with arguments in a directory; gives the same as `exec`.",
        ),
        effect("execution_root", "", "string", "The directory that relative paths start at."),
        effect("exit", "code", "nil", "Ends the program with an exit code."),
        effect("home_dir", "", "string", "The home directory."),
        effect("hostname", "", "string", "The name of the machine."),
        effect("pid", "", "int", "The id of the process."),
        effect("platform", "", "string", "The operating system."),
        effect("project_root", "", "string", "The root of the project."),
        effect("runtime_paths", "", "dict", "The directories that the runtime uses."),
        prelude(
            "shell",
            "cmd",
            "dict",
            "Runs a command line, waits for it, and gives `stdout`, `stderr`, `status` and `success`.",
        ),
        prelude(
            "shell_at",
            "dir, cmd",
            "dict",
            "Runs a command line in a directory; gives the same as `shell`.",
        ),
        effect("source_dir", "", "string", "The directory of the program's source."),
        effect("username", "", "string", "The name of the user."),
    ],
};

pub static STORE: Group = Group {
    title: "Store",
    builtins: &[
        effect("store_clear", "", "any", "Removes everything from the store."),
        effect("store_delete", "key", "any", "Removes a key from the store."),
        effect("store_get", "key", "any", "The value of a key in the store, or nil."),
        effect("store_list", "", "any", "The keys in the store."),
        effect("store_save", "", "any", "Writes the store to disk."),
        effect(
            "store_set",
            "key, value",
            "any",
            "Puts a value into the store, which is kept from run to run.",
        ),
    ],
};

pub static CHECKPOINT: Group = Group {
    title: "Checkpoint",
    builtins: &[
        effect("checkpoint", "key, value", "any", "Keeps a value for the next run of the program."),
        effect("checkpoint_clear", "", "any", "Forgets all that was kept."),
        effect("checkpoint_delete", "key", "any", "Forgets what was kept under a key."),
        effect("checkpoint_exists", "key", "any", "Whether something was kept under a key."),
        effect("checkpoint_get", "key", "any", "What was kept under a key, or nil."),
        effect("checkpoint_list", "", "any", "The keys under which something was kept."),
    ],
};

pub static METADATA: Group = Group {
    title: "Metadata",
    builtins: &[
        effect("compute_content_hash", "dir", "string", "A hash of all files in a directory."),
        effect("invalidate_facts", "dir", "nil", "Marks what is known about a directory as outdated."),
        effect("metadata_entries", "namespace?", "list", "What is known about all directories."),
        effect("metadata_get", "dir, namespace?", "dict", "What is known about a directory."),
        effect("metadata_refresh_hashes", "", "nil", "Computes the hashes of all directories again."),
        effect(
            "metadata_resolve",
            "dir, namespace?",
            "dict",
            "What is known about a directory and those that it is in.",
        ),
        effect("metadata_save", "", "nil", "Writes what is known to disk."),
        effect("metadata_set", "dir, namespace, data", "nil", "Notes something about a directory."),
        effect(
            "metadata_stale",
            "project",
            "any",
            "Which directories changed since something was noted about them.",
        ),
        effect("metadata_status", "namespace?", "dict", "How much is known and how much of it is outdated."),
        effect(
            "scan_directory",
            "path?, pattern_or_options?, options?",
            "any",
            "The files in a directory with their sizes and times.",
        ),
    ],
};
