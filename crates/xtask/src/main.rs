//! Tasks for people who work on Harn. `cargo xtask --help` lists them.

mod fuzz;
mod interop;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks for people who work on Harn.
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs Harn against programs that others wrote.
    ///
    /// Installs them from npm and PyPI into target/interop, in the versions of crates/xtask/interop.
    #[command(subcommand)]
    Interop(Interop),
    /// Lets the fuzzer loose on the language. Needs cargo-fuzz and a nightly compiler.
    Fuzz(fuzz::Fuzz),
}

#[derive(Subcommand)]
enum Interop {
    /// The model adapters against aimock, our fakes of providers against the official SDKs, and our requests against
    /// the types of these SDKs.
    Models,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().task {
        Task::Interop(Interop::Models) => interop::models().await,
        Task::Fuzz(args) => fuzz::run(&args),
    }
}
