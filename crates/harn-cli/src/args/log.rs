//! Arguments of `harn log`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
