//! The command line of Harn: arguments, wiring, terminal output. A library, so that tests and benchmarks can wire
//! the same parts in process.

mod api;
mod args;
mod commands;
pub mod config;
mod connect;
pub mod explain;
mod host;
mod output;
mod problem;
mod terminal;
pub mod wiring;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;

use args::{Command, TestCommand};

/// Scripts allocate much and often: the system's allocator takes a lock for each in a process of many threads, and
/// costs texts, lists and JSON half their speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Parses the arguments, runs the command, and says what went wrong in words with a cause and a next step.
pub fn main() -> ExitCode {
    let args = args::Harn::said();
    if let Command::Guard { args } = args.command {
        // Kept apart: the guardian must start fast and owns nothing of the harness.
        return harn_engine::guard::main(args);
    }
    output::choose_colour(args.color);
    terminal::choose_colour(args.color);
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HARN_LOG").unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(std::io::stderr);
    subscriber.init();
    // Whatever a defect leaves behind is not used again: the process ends.
    let result = catch_unwind(AssertUnwindSafe(|| run(args.command)));
    match result {
        Ok(result) => result.unwrap_or_else(|error| problem::say(&error)),
        Err(_) => problem::say_defect(),
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Serve(options) => commands::serve::run(options),
        Command::Task(args) => commands::task::run(&args),
        Command::Run(args) => commands::script::run(&args),
        Command::Watch(args) => commands::script::watch(&args),
        Command::Runs { command } => commands::runs::run(command),
        Command::Exports { file, json } => commands::script::exports(&file, json),
        Command::Check(args) => commands::script::check(&args),
        Command::Fmt(args) => commands::script::format(&args),
        Command::Tasks { command } => commands::tasks::run(command),
        Command::Waitpoints { command } => commands::waitpoints::run(command),
        Command::Sessions { command } => commands::sessions::run(command),
        Command::Workspaces { command } => commands::workspaces::run(command),
        Command::Connect { command } => commands::secrets::run(command),
        Command::Keys { command } => commands::keys::run(command),
        Command::Undo(args) => commands::undo::run(&args),
        Command::Policy { command } => commands::policy::run(command),
        Command::Models { command } => commands::models::models(command),
        Command::Providers { command } => commands::models::providers(command),
        Command::Log { command } => commands::log::run(command),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Explain { code } => commands::explain::run(code.as_deref()),
        Command::Test(args) => match &args.command {
            None => commands::script::test(&args),
            Some(TestCommand::Conformance(args)) => commands::script::conformance(args),
            Some(TestCommand::AgentsConformance(args)) => commands::conformance::run(args),
        },
        Command::Repl => commands::script::repl(),
        Command::New(args) => commands::script::new(&args),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { out } => commands::shell::man(out.as_deref()),
        Command::Guard { .. } => Ok(ExitCode::SUCCESS),
    }
}
