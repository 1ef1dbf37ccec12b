//! Arguments of the commands that look at the provider catalog: `harn models` and `harn providers`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where the overlays of the catalog are.
#[derive(Args, Clone, Debug)]
pub struct CatalogArgs {
    /// Folder with `harn.toml`, `providers.toml` and `llm.toml`.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub root: PathBuf,
    /// Configuration file instead of `harn.toml` in that folder.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum ModelsCommand {
    /// List the models of the catalog with what is known of them.
    List {
        /// Only models of this provider.
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
        /// Also ask the local servers (Ollama, vLLM, llama.cpp, LM Studio and your own) what they have.
        #[arg(long)]
        local: bool,
        /// Print the rows as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        catalog: CatalogArgs,
    },
}

#[derive(Subcommand)]
pub enum ProvidersCommand {
    /// List the providers, and which of them can be used.
    List {
        /// Also ask the local servers whether they run, and what they have.
        #[arg(long)]
        local: bool,
        /// Print the rows as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        catalog: CatalogArgs,
    },
    /// Print the whole catalog as JSON (provider catalog v2).
    Export {
        #[command(flatten)]
        catalog: CatalogArgs,
    },
    /// Make one short call, which may cost a little, and say what came of it.
    Test {
        /// The model, such as `sonnet` or `openai:gpt-5`, or a provider; when absent, the model that new runs use.
        selector: Option<String>,
        #[command(flatten)]
        catalog: CatalogArgs,
    },
}
