//! What can be said on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Harn runs agents and makes every run durable, supervised, observable and provable.
#[derive(Parser)]
#[command(name = "harn", version, propagate_version = true)]
pub struct Harn {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve the Harn Agents Protocol (REST and SSE) from this folder.
    Serve(ServeArgs),
    /// Look after the log: verify, rebuild, export, back up.
    Log {
        #[command(subcommand)]
        command: LogCommand,
    },
    /// The guardian of one subprocess; started by harn itself.
    #[command(hide = true)]
    Guard {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

#[derive(Args)]
pub struct ServeArgs {
    /// Address to listen on. Beyond loopback, clients still need a key, and the traffic is plain text.
    #[arg(long, default_value = "127.0.0.1:8787")]
    pub bind: String,
    /// Data directory: the log, its blobs and the local socket.
    #[arg(long, default_value = ".harn", value_name = "DIR")]
    pub data: PathBuf,
    /// An API key to accept, with all rights. Without any key, the first start makes one and prints it.
    #[arg(long, env = "HARN_SERVE_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub api_key: Option<String>,
    /// Folder of the default workspace.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub root: PathBuf,
    /// Another folder below which workspaces may have their roots; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub allow_root: Vec<PathBuf>,
    /// Let a listener beyond loopback speak plain text.
    #[arg(long)]
    pub plain_text: bool,
    /// Play the model's answers from a file instead of using the offline model.
    #[arg(long, value_name = "FILE")]
    pub scripted_model: Option<PathBuf>,
    /// Requests per second that one actor may make; 0 for no limit.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub rate_limit: u32,
    /// Size that the log's database may reach, in bytes.
    #[arg(long, value_name = "BYTES")]
    pub max_log_bytes: Option<u64>,
}

#[derive(Subcommand)]
pub enum LogCommand {
    /// Check pages, checksums, order, projections and blobs. Works beside a running server.
    Verify {
        #[command(flatten)]
        data: DataDir,
    },
    /// Make the projections anew from the log. The server must be stopped.
    Rebuild {
        #[command(flatten)]
        data: DataDir,
    },
    /// Write events as JSON lines to standard output. Works beside a running server.
    Export {
        #[command(flatten)]
        data: DataDir,
        /// Journal entries and internal facts too. They may hold what events hide.
        #[arg(long)]
        everything: bool,
    },
    /// Copy a consistent state of the log to an empty folder. Works beside a running server.
    Backup {
        #[command(flatten)]
        data: DataDir,
        /// Where to; usable as a data directory afterwards.
        target: PathBuf,
    },
}

#[derive(Args)]
pub struct DataDir {
    /// Data directory.
    #[arg(long, default_value = ".harn", value_name = "DIR")]
    pub data: PathBuf,
}
