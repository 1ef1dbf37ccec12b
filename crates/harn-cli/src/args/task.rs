//! What can be said to `harn task`.

use std::path::PathBuf;

use clap::Args;

use super::TargetArgs;

#[derive(Args)]
pub struct TaskArgs {
    /// What the agent is to do; `-` reads it from standard input.
    pub prompt: String,
    /// Go on in this session.
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub session: Option<String>,
    /// Go on in the session that was used last.
    #[arg(long = "continue")]
    pub continue_last: bool,
    /// The workspace to work in, when it is not the one of this folder.
    #[arg(long, value_name = "ID")]
    pub workspace: Option<String>,
    /// The persona that does the work.
    #[arg(long, value_name = "ID")]
    pub persona: Option<String>,
    /// The model to use, in this session from now on; `@inherit` goes back to the usual one.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// How much it thinks, in this session from now on: auto, off, minimal, low, medium, high or xhigh.
    #[arg(long, value_name = "LEVEL")]
    pub thinking: Option<String>,
    /// The most that the task may cost, in US dollars.
    #[arg(long, value_name = "X")]
    pub budget_usd: Option<f64>,
    /// The most tokens that the task may use.
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<u64>,
    /// Approve everything that asks for approval. What is denied stays denied.
    #[arg(long, conflicts_with = "no_input")]
    pub yes: bool,
    /// Ask nothing: when the task needs an answer, say which and end with code 3.
    #[arg(long)]
    pub no_input: bool,
    /// Print every event as one line of JSON, and last the outcome.
    #[arg(long)]
    pub json: bool,
    /// Print only what the agent says at the end.
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
    /// Write the model's answers, without secrets, to a file that `harn serve --scripted-model` plays.
    #[arg(long, env = "HARN_RECORD_MODEL", value_name = "FILE", conflicts_with = "scripted_model")]
    pub record_model: Option<PathBuf>,
    #[command(flatten)]
    pub target: TargetArgs,
}
