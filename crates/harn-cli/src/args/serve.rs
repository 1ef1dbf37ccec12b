//! Arguments of `harn serve`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub struct ServeArgs {
    /// Address to listen on. Beyond loopback, give a certificate or say --plain-text; clients always need a key.
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
    /// Configuration file; when absent, `harn.toml` in the folder of the default workspace.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Another folder below which workspaces may have their roots; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub allow_root: Vec<PathBuf>,
    /// Certificate of this server, with its chain (PEM). With it the server speaks TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Let a listener beyond loopback speak plain text.
    #[arg(long, conflicts_with = "tls_cert")]
    pub plain_text: bool,
    /// Play the model's answers from a file instead of using the offline model.
    #[arg(long, value_name = "FILE")]
    pub scripted_model: Option<PathBuf>,
    /// Write the model's answers, without secrets, to a file that --scripted-model plays.
    #[arg(long, env = "HARN_RECORD_MODEL", value_name = "FILE", conflicts_with = "scripted_model")]
    pub record_model: Option<PathBuf>,
    /// Requests per second that one actor may make; 0 for no limit.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub rate_limit: u32,
    /// Size that the log's database may reach, in bytes.
    #[arg(long, value_name = "BYTES")]
    pub max_log_bytes: Option<u64>,
}
