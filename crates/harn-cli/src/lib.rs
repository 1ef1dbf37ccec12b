//! The command line of Harn: arguments, wiring, terminal output. A library, so that tests and benchmarks can wire
//! the same parts in process.

mod args;
mod commands;
pub mod wiring;

use std::process::ExitCode;

use clap::Parser;

/// Parses the arguments, runs the command, and says what went wrong in words with a cause and a next step.
pub fn main() -> ExitCode {
    let command = args::Harn::parse().command;
    if let args::Command::Guard { args } = command {
        // Kept apart: the guardian must start fast and owns nothing of the harness.
        return harn_engine::guard::main(args);
    }
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HARN_LOG").unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(std::io::stderr);
    subscriber.init();
    let result = match command {
        args::Command::Serve(options) => commands::serve::run(options),
        args::Command::Log { command } => commands::log::run(command),
        args::Command::Guard { .. } => Ok(ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        commands::say_error(&error);
        ExitCode::FAILURE
    })
}
