//! Arguments of `harn runs`.

use clap::Subcommand;

use super::TargetArgs;

#[derive(Subcommand)]
pub enum RunsCommand {
    /// List the runs of scripts, oldest first.
    List {
        /// Print the tasks as the API gives them.
        #[arg(long)]
        json: bool,
        /// How many of the newest to show.
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Show a run: how it stands, what it printed, what it did, and what came of it.
    Show {
        /// The run's id, which is that of its task.
        id: String,
        /// Print all of it as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Let a run go on, and follow it to its end.
    Resume {
        /// The run's id, which is that of its task.
        id: String,
        /// Print events as JSON lines.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
}
