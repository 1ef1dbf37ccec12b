//! What can be said on the command line.

mod connect;
mod keys;
mod log;
mod models;
mod policy;
mod runs;
mod script;
mod serve;
mod sessions;
mod target;
mod task;
mod tasks;
mod tools;
mod waitpoints;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

pub use connect::ConnectCommand;
pub use keys::KeysCommand;
pub use log::LogCommand;
pub use models::{CatalogArgs, ModelsCommand, ProvidersCommand};
pub use policy::{CheckArgs, PolicyCommand};
pub use runs::RunsCommand;
pub use script::{FormatArgs, NewArgs, ProgramsArgs, RunArgs, ScriptsArgs, TestArgs};
pub use serve::ServeArgs;
pub use sessions::{SessionsCommand, WorkspacesCommand};
pub use target::TargetArgs;
pub use task::TaskArgs;
pub use tasks::{AnswerArgs, TaskList, TasksCommand, UndoArgs};
pub use tools::{ConformanceArgs, DoctorArgs, TestCommand};
pub use waitpoints::{WaitpointArgs, WaitpointsCommand};

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a task waits for an answer, 10 and 20 of \
                          `policy check` (ask, deny), 70 internal, 130 interrupted. `harn explain CODE` says more about any code.";

/// Harn runs agents and makes every run durable, supervised, observable and provable.
#[derive(Parser)]
#[command(name = "harn", version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Harn {
    /// When to colour what is printed.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: ColorChoice,
    #[command(subcommand)]
    pub command: Command,
}

/// `auto`: on a terminal, unless NO_COLOR is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

impl Harn {
    /// What was said, where `harn FILE.harn ARGS` says `harn run FILE.harn -- ARGS`. So scripts may begin with
    /// `#!/usr/bin/env harn`.
    pub fn said() -> Self {
        let said = std::env::args_os().collect();
        Self::parse_from(with_run(said, |name| {
            name == "help" || Self::command().get_subcommands().any(|known| known.get_name() == name)
        }))
    }
}

fn with_run(mut said: Vec<OsString>, is_command: impl Fn(&OsString) -> bool) -> Vec<OsString> {
    let Some(first) = said.get(1) else { return said };
    let path = std::path::Path::new(first);
    let is_script = path.extension().is_some_and(|ending| ending == "harn") || path.is_file();
    if first.as_encoded_bytes().starts_with(b"-") || !is_script || is_command(first) {
        return said;
    }
    if said.len() > 2 && said[2] != "--" {
        said.insert(2, "--".into());
    }
    said.insert(1, "run".into());
    said
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve the Harn Agents Protocol (REST and SSE) from this folder.
    Serve(ServeArgs),
    /// Give an agent a task and watch it at work.
    Task(TaskArgs),
    /// Run a script, or code given with -e. `harn FILE.harn ARGS` does the same.
    Run(RunArgs),
    /// Run a script, and again whenever it or a script beside it changes, until Ctrl-C.
    Watch(RunArgs),
    /// List, show and resume scripts that run as tasks.
    Runs {
        #[command(subcommand)]
        command: RunsCommand,
    },
    /// List what a script offers to others: its public functions and pipelines.
    Exports {
        /// The script.
        file: std::path::PathBuf,
        /// Print it with JSON Schemas.
        #[arg(long)]
        json: bool,
    },
    /// Look for errors in scripts, also of types, without running them.
    Check(ScriptsArgs),
    /// Bring scripts into their usual form.
    Fmt(FormatArgs),
    /// Run the tests of scripts; or check programs, or a server, against what they are to do.
    Test(TestArgs),
    /// Try the language line by line.
    Repl,
    /// Make a folder with a script that runs, and tests for it.
    New(NewArgs),
    /// List, show, answer, cancel and watch tasks.
    Tasks {
        #[command(subcommand)]
        command: TasksCommand,
    },
    /// List, show, complete and cancel what scripts wait for.
    Waitpoints {
        #[command(subcommand)]
        command: WaitpointsCommand,
    },
    /// List, show, close, fork and watch sessions.
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// List, show and create workspaces.
    Workspaces {
        #[command(subcommand)]
        command: WorkspacesCommand,
    },
    /// Make, list and revoke API keys.
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Keep, list and remove secrets that scripts may send and never see.
    Connect {
        #[command(subcommand)]
        command: ConnectCommand,
    },
    /// Put back what a finished task did to files.
    Undo(UndoArgs),
    /// Ask what is allowed, why, and test the rules.
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Look at the models that can be chosen.
    Models {
        #[command(subcommand)]
        command: ModelsCommand,
    },
    /// Look at the providers of models, and test one.
    Providers {
        #[command(subcommand)]
        command: ProvidersCommand,
    },
    /// Look after the log: verify, rebuild, export, back up.
    Log {
        #[command(subcommand)]
        command: LogCommand,
    },
    /// Say what is configured and reachable, and what to do about what is not.
    Doctor(DoctorArgs),
    /// Say what a code means: of an error, a failed task, a risk label or an exit code.
    Explain {
        /// Such as `resource_not_found`, `budget_exhausted`, `destructive` or `20`; without one, all are listed.
        code: Option<String>,
    },
    /// Print a completion script for a shell.
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them to a folder.
    Man {
        /// Folder for one page per command.
        #[arg(long, value_name = "DIR")]
        out: Option<std::path::PathBuf>,
    },
    /// The guardian of one subprocess; started by harn itself.
    #[command(hide = true)]
    Guard {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}
