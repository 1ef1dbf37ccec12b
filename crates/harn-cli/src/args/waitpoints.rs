//! Arguments of `harn waitpoints`.

use clap::{Args, Subcommand};

use super::TargetArgs;

#[derive(Subcommand)]
pub enum WaitpointsCommand {
    /// List waitpoints, oldest first, with the tasks that wait at them.
    List {
        /// Only those that nobody has completed or cancelled.
        #[arg(long)]
        open: bool,
        /// How many of the newest to show.
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        #[command(flatten)]
        shared: WaitpointArgs,
    },
    /// Show a waitpoint: how it stands, who settled it, and who waits.
    Show {
        /// The waitpoint's id: the name that the script gave it.
        id: String,
        #[command(flatten)]
        shared: WaitpointArgs,
    },
    /// Complete a waitpoint: whoever waits for it goes on.
    Complete {
        /// The waitpoint's id.
        id: String,
        /// What they go on with, as JSON.
        #[arg(long, value_name = "JSON")]
        value: Option<String>,
        /// The same, as text.
        #[arg(long, value_name = "TEXT", conflicts_with = "value")]
        text: Option<String>,
        #[command(flatten)]
        shared: WaitpointArgs,
    },
    /// Cancel a waitpoint: whoever waits for it is told so.
    Cancel {
        /// The waitpoint's id.
        id: String,
        /// Why, for whoever waits.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        shared: WaitpointArgs,
    },
}

#[derive(Args)]
pub struct WaitpointArgs {
    /// The workspace; when absent, the one of this folder.
    #[arg(long, value_name = "WORKSPACE")]
    pub workspace: Option<String>,
    /// Print it as the API gives it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArgs,
}
