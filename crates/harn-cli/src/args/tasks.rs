//! Arguments of `harn tasks` and `harn undo`.

use clap::{Args, Subcommand, ValueEnum};
use harn_core::TaskStatus;

use super::TargetArgs;

#[derive(Subcommand)]
pub enum TasksCommand {
    /// List tasks, oldest first.
    List(TaskList),
    /// Show a task: what was asked, how it stands, what it cost, and what it waits for.
    Show {
        /// The task's id.
        id: String,
        /// Print the task as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Cancel a task.
    Cancel {
        /// The task's id.
        id: String,
        /// Why, for whoever reads the events.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Print the task as the API gives it.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Approve, deny or reply to what a task asks. Without a choice, shows the request and asks you.
    Answer(AnswerArgs),
    /// Follow a task until it is over.
    Watch {
        /// The task's id.
        id: String,
        /// Print events as JSON lines.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        target: TargetArgs,
    },
}

#[derive(Args)]
pub struct TaskList {
    /// Only tasks of this session.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only tasks of this workspace.
    #[arg(long, value_name = "WORKSPACE")]
    pub workspace: Option<String>,
    /// Only tasks that stand so.
    #[arg(long, value_enum, ignore_case = true)]
    pub status: Option<StatusFilter>,
    /// How many of the newest to show.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print the list as the API gives it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StatusFilter {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Canceled,
    /// Waits for a person, whether for a reply or an approval.
    Waiting,
    /// Not over yet.
    Open,
}

impl StatusFilter {
    pub fn admits(self, status: TaskStatus) -> bool {
        match self {
            Self::Submitted => status == TaskStatus::Submitted,
            Self::Working => status == TaskStatus::Working,
            Self::InputRequired => status == TaskStatus::InputRequired,
            Self::AuthRequired => status == TaskStatus::AuthRequired,
            Self::Completed => status == TaskStatus::Completed,
            Self::Failed => status == TaskStatus::Failed,
            Self::Canceled => status == TaskStatus::Canceled,
            Self::Waiting => matches!(status, TaskStatus::InputRequired | TaskStatus::AuthRequired),
            Self::Open => !status.is_terminal(),
        }
    }
}

#[derive(Args)]
pub struct AnswerArgs {
    /// The request's id, or that of a task that waits for one answer.
    #[arg(value_name = "REQUEST_OR_TASK")]
    pub id: String,
    /// Let it happen.
    #[arg(long, group = "choice")]
    pub approve: bool,
    /// Refuse it.
    #[arg(long, group = "choice")]
    pub deny: bool,
    /// The reply to a question.
    #[arg(long, group = "choice", value_name = "TEXT")]
    pub reply: Option<String>,
    /// Arguments to use instead of the requested ones, as a JSON object.
    #[arg(long, value_name = "JSON", requires = "approve")]
    pub args: Option<String>,
    /// Why, for the agent and for whoever reads the events.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Make this answer a rule for such calls.
    #[arg(long, value_enum, value_name = "SCOPE", conflicts_with = "reply")]
    pub remember: Option<RememberScope>,
    /// When the rule ends, such as 30m, 8h or 7d from now.
    #[arg(long, value_name = "TIME", requires = "remember")]
    pub expires: Option<String>,
    /// Print the request as the API gives it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// For what a remembered answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RememberScope {
    Session,
    Workspace,
    User,
    Always,
}

impl RememberScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Workspace => "workspace",
            Self::User => "user",
            Self::Always => "always",
        }
    }
}

#[derive(Args)]
pub struct UndoArgs {
    /// The task's id.
    pub task: String,
    /// Print the result as the API gives it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArgs,
}
