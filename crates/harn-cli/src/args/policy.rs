//! Arguments of `harn policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use harn_core::AutonomyTier;

use super::TargetArgs;

#[derive(Subcommand)]
pub enum PolicyCommand {
    /// Say what policy would decide about a tool call. Nothing is called.
    Check(CheckArgs),
    /// Show the decision that an event tells of, who answered, and how to change it.
    Explain {
        /// The event's id, from `harn policy history` or a stream.
        event: String,
        /// Print the event as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Run the tests that the rules of a configuration file carry.
    Test {
        /// Configuration file.
        #[arg(default_value = "harn.toml")]
        file: PathBuf,
        /// Print the results as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List rules that were added and answers that are remembered.
    Rules {
        /// Print the list as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Remove a rule that was added or remembered.
    Forget {
        /// The rule's id, from `harn policy rules`.
        rule: String,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// List decisions in the order in which they were made.
    History {
        /// Only decisions of this task.
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// How many of the newest to show.
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print the list as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
}

#[derive(Args)]
pub struct CheckArgs {
    /// The tool's name.
    pub tool: String,
    /// Its arguments: one JSON object, or KEY=VALUE each. `true`, `false` and whole numbers are taken as such.
    #[arg(value_name = "ARGS")]
    pub args: Vec<String>,
    /// The autonomy tier of the run.
    #[arg(long, value_enum)]
    pub tier: Option<Tier>,
    /// The workspace; the default one, when absent.
    #[arg(long, value_name = "WORKSPACE")]
    pub workspace: Option<String>,
    /// Print the decision as the API gives it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// The protocol's autonomy tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Tier {
    Shadow,
    Suggest,
    ActWithApproval,
    ActAuto,
}

impl From<Tier> for AutonomyTier {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::Shadow => Self::Shadow,
            Tier::Suggest => Self::Suggest,
            Tier::ActWithApproval => Self::ActWithApproval,
            Tier::ActAuto => Self::ActAuto,
        }
    }
}
