//! Arguments of `harn sessions` and `harn workspaces`.

use clap::Subcommand;

use super::TargetArgs;

#[derive(Subcommand)]
pub enum SessionsCommand {
    /// List sessions, oldest first.
    List {
        /// Only sessions of this workspace.
        #[arg(long, value_name = "WORKSPACE")]
        workspace: Option<String>,
        /// How many of the newest to show.
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print the list as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Show a session, its tasks and its last messages.
    Show {
        /// The session's id.
        id: String,
        /// Print the session as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Close a session. Its open tasks are cancelled.
    Close {
        /// The session's id.
        id: String,
        /// Print the session as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Make a new session with the transcript of this one.
    Fork {
        /// The session's id.
        id: String,
        /// Only the transcript up to this event.
        #[arg(long, value_name = "EVENT")]
        at: Option<String>,
        /// Print the new session as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Follow everything that happens in a session.
    Watch {
        /// The session's id.
        id: String,
        /// Print events as JSON lines.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
}

#[derive(Subcommand)]
pub enum WorkspacesCommand {
    /// List workspaces.
    List {
        /// Print the list as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Show a workspace.
    Show {
        /// The workspace's id.
        id: String,
        /// Print the workspace as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Create a workspace.
    Create {
        /// What to call it.
        name: String,
        /// Its folder, below one that the harness allows; or `harn://NAME` for a workspace without files.
        folder: String,
        /// Print the workspace as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
}
