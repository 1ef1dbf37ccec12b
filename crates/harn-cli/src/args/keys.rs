//! Arguments of `harn keys`.

use clap::Subcommand;

use super::TargetArgs;

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Make a key and print its secret, which is shown only this once.
    Create {
        /// Whom the key stands for: the name that tasks and events show.
        actor: String,
        /// What it may do, such as `tasks:read`; may be given several times. Everything, when absent.
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
        /// Where it may do so; may be given several times. Every workspace, when absent.
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Vec<String>,
        /// Print the key as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// List keys, without their secrets.
    List {
        /// Print the list as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Revoke a key. It opens nothing from then on.
    Revoke {
        /// The key's id, not its secret.
        id: String,
        #[command(flatten)]
        target: TargetArgs,
    },
}
