//! Which harness a command speaks to: a server by its URL, or the data directory of this machine.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where")]
pub struct TargetArgs {
    /// Data directory. When nobody has it open, this command opens it for as long as it runs.
    #[arg(long, default_value = ".harn", value_name = "DIR")]
    pub data: PathBuf,
    /// A server to speak to instead.
    #[arg(long, env = "HARN_URL", value_name = "URL")]
    pub url: Option<String>,
    /// The API key for that server.
    #[arg(long, env = "HARN_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub api_key: Option<String>,
    /// Certificate authority of that server, when it is a private one (PEM).
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Folder of the default workspace; when absent, the one that the data directory `.harn` is in.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Configuration file; when absent, `harn.toml` in the folder of the default workspace.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Play the model's answers from a file.
    #[arg(long, value_name = "FILE", hide = true)]
    pub scripted_model: Option<PathBuf>,
    /// Where the model's answers are recorded, for commands that have a flag for it.
    #[arg(skip)]
    pub record_model: Option<PathBuf>,
}

impl TargetArgs {
    /// A data directory called `.harn` belongs to the folder that it is in.
    pub fn root(&self) -> PathBuf {
        let beside = || {
            let named = self.data.file_name().is_some_and(|name| name == ".harn");
            let folder = self.data.parent().filter(|folder| named && !folder.as_os_str().is_empty());
            folder.map_or_else(|| PathBuf::from("."), PathBuf::from)
        };
        self.root.clone().unwrap_or_else(beside)
    }
}
