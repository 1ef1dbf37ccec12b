//! Arguments of the commands for scripts.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct RunArgs {
    /// The script.
    #[arg(value_name = "FILE", required_unless_present = "code", conflicts_with = "code")]
    pub file: Option<PathBuf>,
    /// Code to run instead of a file.
    #[arg(short = 'e', value_name = "CODE")]
    pub code: Option<String>,
    /// What the script finds in `argv`.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Args)]
pub struct ScriptsArgs {
    /// Scripts, and folders with scripts.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct FormatArgs {
    /// Scripts, and folders with scripts.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Change nothing; list what would change, and end with 1 if anything would.
    #[arg(long)]
    pub check: bool,
}
