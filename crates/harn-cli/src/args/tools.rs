//! Arguments of the commands that look at an installation: `harn doctor` and `harn test`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ProgramsArgs, TargetArgs};

#[derive(Args)]
pub struct DoctorArgs {
    /// Print the findings as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArgs,
}

#[derive(Subcommand)]
pub enum TestCommand {
    /// Check a server against the Harn Agents Protocol, sentence by sentence.
    AgentsConformance(ConformanceArgs),
    /// Run programs and compare: X.harn prints what is in X.expected, or fails with what is in X.error.
    Conformance(ProgramsArgs),
}

#[derive(Args)]
pub struct ConformanceArgs {
    /// The server.
    #[arg(long, value_name = "URL")]
    pub target: String,
    /// An API key of the server.
    #[arg(long, env = "HARN_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub api_key: Option<String>,
    /// Certificate authority of the server, when it is a private one (PEM).
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Only these categories, with commas between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub category: Vec<harn_conformance::Category>,
    /// What one check may take.
    #[arg(long, default_value_t = 30_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout_ms: u64,
    /// Use this workspace instead of one that is made or found.
    #[arg(long, value_name = "ID")]
    pub workspace_id: Option<String>,
    /// Use this session where a check does not need one of its own.
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the report as JSON to a file too.
    #[arg(long, value_name = "FILE")]
    pub json_out: Option<PathBuf>,
}
