//! What policy said about an effect: the record `harn.permission_policy_decision.v1`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::object_tags;
use crate::resource::AutonomyTier;
use crate::tool::{SideEffect, ToolKind};

object_tags! { DecisionTag = "harn.permission_policy_decision.v1" }

/// In rising order of severity: of several verdicts about one call, the greatest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// Where a rule came from. Every spelling of a permission becomes a rule, and this says which it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// What holds without any configuration.
    Builtin,
    /// The autonomy tier of the run.
    Tier,
    /// What the command that started the run says: `--allow`, `--deny`.
    CommandLine,
    /// `[[permissions.rules]]` of `harn.toml`.
    Rules,
    /// `auto_approve`, `auto_deny`, `require_approval`, `write_path_allowlist`.
    ApprovalPolicy,
    /// The policy document that was put through REST.
    Policy,
    /// An answer that a person asked to be remembered, or a rule added through REST.
    Remembered,
    /// What the run may spend.
    Budget,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchedRule {
    pub source: RuleSource,
    pub action: Verdict,
    pub id: String,
    /// Its place among the rules of its source.
    pub index: u32,
}

macro_rules! risk_labels {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal;)*) => {
        /// What makes a call risky, for people and for those who count. The list is in `docs/policy.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        pub enum RiskLabel {
            $($(#[doc = $doc])+ #[serde(rename = $text)] $variant,)*
        }

        impl RiskLabel {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// What it means, in words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+),)* }
            }
        }
    };
}

risk_labels! {
    /// A person has to agree.
    ApprovalRequired = "approval_required";
    /// A rule about paths decided.
    PathRule = "path_rule";
    /// A rule about commands decided.
    CommandRule = "command_rule";
    /// A rule about hosts decided.
    HostRule = "host_rule";
    /// Files of the workspace may change.
    WorkspaceWrite = "workspace_write";
    /// A program is run.
    ProcessExec = "process_exec";
    /// Data may leave this machine, or come from elsewhere.
    Network = "network";
    /// Money or tokens are spent.
    Spending = "spending";
    /// A path that usually holds secrets.
    SensitivePath = "sensitive_path";
    /// A path outside of the workspace.
    OutsideWorkspace = "outside_workspace";
    /// A path that leads elsewhere than it says, through a link.
    Symlink = "symlink";
    /// The file that holds these very rules.
    PolicyFile = "policy_file";
    /// A command that could not be understood.
    UnparsedCommand = "unparsed_command";
    /// A command whose program or arguments are only known when it runs.
    DynamicCommand = "dynamic_command";
    /// What a program prints is run as a program.
    PipeToShell = "pipe_to_shell";
    /// A program given as text to an interpreter.
    InlineCode = "inline_code";
    /// Rights of another user.
    Privilege = "privilege_escalation";
    /// Something that cannot be taken back.
    Destructive = "destructive";
    /// A program that would wait for a person at a terminal.
    Interactive = "interactive";
    /// Characters that look like others.
    Lookalike = "unicode_lookalike";
    /// A process that outlives its command.
    Background = "background_process";
}

/// What an effect is, whatever program asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    Inbox,
    Model,
    Tool,
    Question,
    Compaction,
    /// A call of a script to its host.
    Call,
    /// A script waits for a time.
    Timer,
}

impl EffectKind {
    pub const ALL: &'static [Self] =
        &[Self::Inbox, Self::Model, Self::Tool, Self::Question, Self::Compaction, Self::Call, Self::Timer];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Question => "question",
            Self::Compaction => "compaction",
            Self::Call => "call",
            Self::Timer => "timer",
        }
    }
}

/// Whose words a run carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A model's, or anybody's: everything holds.
    #[default]
    Judged,
    /// A script that its owner runs himself, as he would run any program: only the rules that he wrote hold.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
    /// A word of a command that may be a path; what happens to it is not known.
    Mention,
}

/// A path that a call names, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PathFact {
    /// As the call has it.
    pub asked: String,
    pub access: Access,
    /// Relative to the root, links followed, `.` for the root itself; none when it leads out.
    pub workspace_path: Option<String>,
    /// The absolute path that it leads to when that is outside of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// A symbolic link was followed on the way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub through_link: bool,
}

/// One simple command of a shell script: `git push`, not the pipeline that it stands in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommandFact {
    /// The program's bare name and, for programs that have them, its subcommand; none when it is not known before.
    pub identity: Option<String>,
    /// The words with single blanks between them, quoted only where a shell needs it, `…` for what is not known before.
    /// Of a script that was not understood, the last command is the whole script as it was given.
    pub text: String,
}

/// The call as policy saw it, in one normal form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionContext {
    pub effect: EffectKind,
    pub tool_name: String,
    pub tool_kind: ToolKind,
    pub side_effect: SideEffect,
    pub tier: AutonomyTier,
    #[serde(default)]
    pub paths: Vec<PathFact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandFact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// The record itself. Kept in the journal, in the approval request, and in the events of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    #[serde(rename = "type")]
    pub record: DecisionTag,
    pub action: Verdict,
    pub reason: String,
    pub matched_rule: MatchedRule,
    pub risk_labels: Vec<RiskLabel>,
    pub context: DecisionContext,
}
