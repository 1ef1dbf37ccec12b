//! The traits between the harness, which owns what a task is, and the engine, which knows how to run one.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Budget;
use crate::chat::{ModelRef, Thinking};
use crate::decision::{Access, EffectKind, PathFact};
use crate::errand::Query;
use crate::run::{
    Answer, Change, Completion, Decision, EffectKey, Entry, Image, Node, Reply, Request, RunRecord,
    ScriptImage, ScriptLimits, Seam, Verdict,
};
use crate::tool::{ToolCall, ToolSpec};
use crate::{Artifact, ArtifactId, AutonomyTier, Error, Part, Persona, Result};

/// Why a run's commit was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// The task is over (cancelled, or finished by another driver). Stop; nothing more may happen.
    Over,
    /// The log could not take it. The run stays as it is and is recovered later.
    Unavailable(Error),
}

/// A run's only way to write. Implemented by the harness, one per run; what has a body here is what holds where
/// nothing is kept.
#[async_trait]
pub trait RunPort: Send + Sync {
    async fn load(&self) -> Result<RunRecord, RunError>;
    /// One transaction: all entries or none.
    async fn commit(&self, entries: Vec<Entry>) -> Result<Vec<Reply>, RunError>;
    /// What policy says about a call that only reads, without a commit.
    async fn decide(&self, effect: EffectKind, call: &ToolCall) -> Result<Decision, RunError>;
    /// Whether what a run sees is written down, so that secrets must not be in it.
    fn keeps_a_journal(&self) -> bool {
        true
    }
    /// Keeps content under its hash, durably, before a commit refers to it.
    async fn keep(&self, _blobs: Vec<bytes::Bytes>) -> Result<(), RunError> {
        Ok(())
    }
    /// What is known of an artifact, if the run may see it: one of its workspace, and an internal one only of its
    /// own session.
    async fn artifact_record(&self, _id: &ArtifactId) -> Result<Option<Artifact>, RunError> {
        Ok(None)
    }
    /// The content of such an artifact; none as well where nothing was uploaded. It can be large: look at the record
    /// first.
    async fn artifact(&self, _id: &ArtifactId) -> Result<Option<bytes::Bytes>, RunError> {
        Ok(None)
    }
    /// What policy says to a tool or call that comes upon a path, for those that look at many.
    fn verdict(&self, effect: EffectKind, name: &str, at: &Located) -> Verdict;
    /// Whether a `TakeInbox` at this seam would deliver anything now.
    async fn inbox_waiting(&self, _seam: Seam) -> Result<bool, RunError> {
        Ok(false)
    }
    /// How long a run that waits only for people, or for a time that is far away, stays in memory: whoever answers at
    /// once spares it the way through its journal.
    fn lingers(&self) -> Duration {
        Duration::ZERO
    }
    /// Answers to this run's requests that came after the journal was loaded and after the last call, in order.
    async fn answers(&self) -> Result<Vec<(EffectKey, Answer)>, RunError> {
        Ok(Vec::new())
    }
    /// Answers what waits for somebody, where nothing waits durably.
    async fn answer_here(&self, _key: &EffectKey, _request: &Request) -> Completion {
        std::future::pending().await
    }
    /// What an earlier run was given for this effect, which then is not performed.
    fn recorded(&self, _key: &EffectKey, _request: &Request) -> Option<Completion> {
        None
    }
    /// What only the keeper of the log can tell a script.
    async fn tell(&self, _query: Query) -> Result<Value, RunError> {
        Err(RunError::Unavailable(Error::internal("Nobody keeps a log here.")))
    }
    /// Resolves when an answer has arrived since the last call, or when the run is to stop.
    async fn signal(&self) -> Signal;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Look at the answers again.
    Answered,
    /// A person wants the program to end; it may put things in order.
    Interrupted,
    /// The task is over: drop everything.
    Over,
    /// The process is going down: finish or leave what is begun, start nothing.
    Draining,
}

/// How a driver left a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunExit {
    /// Terminal, or taken from us.
    Over,
    /// Waits only for people; wake it with an answer.
    Parked,
    /// Stopped half-way: recovery will go on.
    Suspended,
}

/// Why a host did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    pub message: String,
    /// A word for scripts that treat one kind of error differently from others.
    pub category: Option<&'static str>,
}

/// A function or a pipeline that a script offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Export {
    pub name: String,
    pub kind: ExportKind,
    pub description: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// The names of its parameters, in their order.
    #[serde(default)]
    pub params: Vec<String>,
    pub input_schema: Value,
    /// Null where nothing is said about it.
    pub output_schema: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportKind {
    Function,
    Pipeline,
}

/// What the surroundings of a run can do for it: an editor, a terminal, a test. Where there is none, it is refused.
#[async_trait]
pub trait HostPort: Send + Sync {
    /// The capabilities, each with its operations.
    async fn capabilities(&self) -> Result<Value, HostFailure>;
    async fn call(&self, capability: &str, operation: &str, params: Value) -> Result<Value, HostFailure>;
    /// The tools of the host, as it describes them.
    async fn tools(&self) -> Result<Value, HostFailure>;
    async fn call_tool(&self, name: &str, args: Value) -> Result<Value, HostFailure>;
    /// A builtin that only the host knows.
    async fn builtin(&self, name: &str, args: Value) -> Result<Value, HostFailure>;
}

/// Where a new run finds itself.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    pub persona: Option<&'a Persona>,
    pub tier: AutonomyTier,
    /// The workspace's folder; none for a workspace without files.
    pub root: Option<&'a str>,
    pub budget: Budget,
    /// The selector of the model that was asked for; none for the configured one.
    pub model: Option<&'a str>,
    /// How much it is to think; none for as it does by itself.
    pub thinking: Option<Thinking>,
    /// Selectors of the models to ask when that one fails; none for the configured ones.
    pub fallbacks: Option<&'a [String]>,
    pub runs: Runs,
}

/// What is run in a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runs {
    /// The built-in agent.
    Agent,
    /// A script.
    Script,
}

/// Which script is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptChoice {
    /// Relative to the root.
    pub path: String,
    /// A pipeline or an exported function; none for what the file runs by itself.
    pub function: Option<String>,
    /// `argv`.
    pub args: Vec<String>,
    /// Folders with skills, before all others.
    pub skills: Vec<String>,
    pub reach: Reach,
    pub limits: ScriptLimits,
    /// A file that answers in the place of models.
    pub llm_mock: Option<String>,
}

/// Where the files of a script may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Below the root of its workspace.
    #[default]
    Workspace,
    /// Anywhere on this machine.
    Machine,
}

/// What there is to be used and called, whoever asks and over whatever protocol. Implemented by the engine.
pub trait Directory: Send + Sync {
    /// Every tool there is.
    fn tools(&self) -> Arc<[ToolSpec]>;
    /// Providers and their models: the provider catalog v2.
    fn catalog(&self) -> Value;
    /// What a script offers to others. Blocking. The error says what is wrong with it, and where.
    fn exports(&self, root: Option<&str>, choice: &ScriptChoice) -> Result<Vec<Export>, String>;
    /// Skills in files, as a run in this folder finds them. Blocking.
    fn skill_files(&self, root: &str) -> Result<Vec<SkillFile>, String>;
}

/// A skill that is written down in a file, for models to load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SkillFile {
    pub name: String,
    pub description: String,
    /// Where it was found: `project`, `user` and the like.
    pub layer: String,
}

/// Runs tasks. Implemented by the engine.
#[async_trait]
pub trait Runner: Directory {
    /// What a new run would be started with. The error says which of the wanted models there is not, and what to do.
    fn image(&self, setting: &Setting<'_>) -> Result<Image, String>;
    /// A script as it is now, with all that it imports. Blocking. The error says what is wrong with it, and where.
    fn script(&self, root: Option<&str>, choice: &ScriptChoice) -> Result<ScriptImage, String>;
    /// Whether a script can be given what these parts of a message say. The error says what does not fit.
    fn fits(&self, script: &ScriptImage, input: &[Part]) -> Result<(), String>;
    /// The model of runs that ask for none.
    fn model(&self) -> ModelRef;
    /// The model that a selector means. The error says what is wrong with it, with the nearest names.
    fn resolve(&self, selector: &str) -> Result<ModelRef, String>;
    /// Everything that a script can ask of its host.
    fn calls(&self) -> Arc<[ToolSpec]>;
    async fn run(&self, port: Arc<dyn RunPort>) -> RunExit;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Directory,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = WorkspaceFileEntry)]
pub struct FileEntry {
    pub name: String,
    pub path: String,
    pub kind: FileKind,
    pub size: u64,
}

/// What is at a path of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    File { text: String },
    Directory { entries: Vec<FileEntry> },
}

/// A finished write, with the bytes that it replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWritten {
    pub path: String,
    pub before: Option<bytes::Bytes>,
    pub bytes: u64,
}

/// Where a path leads, without opening anything there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Relative to the root, links followed, `.` for the root itself; none when it leads out.
    pub workspace_path: Option<String>,
    /// Where it leads when that is outside.
    pub host_path: Option<String>,
    pub through_link: bool,
}

impl Located {
    /// A path of the workspace that no link was followed to.
    pub fn inside(path: impl Into<String>) -> Self {
        Self { workspace_path: Some(path.into()), host_path: None, through_link: false }
    }

    /// What is below a folder, where there are no links on the way.
    pub fn below(&self, path: &str) -> Self {
        let longer = |folder: &String| match folder.as_str() {
            "." => path.to_owned(),
            folder => format!("{}/{path}", folder.trim_end_matches('/')),
        };
        let (workspace_path, host_path) = (self.workspace_path.as_ref(), self.host_path.as_ref());
        Self {
            workspace_path: workspace_path.map(longer),
            host_path: host_path.map(longer),
            through_link: self.through_link,
        }
    }

    /// The fact that somebody reads this.
    pub fn read(&self) -> PathFact {
        let leads = self.workspace_path.as_ref().or(self.host_path.as_ref());
        let asked = leads.cloned().unwrap_or_default();
        self.clone().named(asked, Access::Read)
    }

    /// The fact that a call names this so.
    pub fn named(self, asked: String, access: Access) -> PathFact {
        let Self { workspace_path, host_path, through_link } = self;
        PathFact { asked, access, workspace_path, host_path, through_link }
    }
}

/// What came of putting one path back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// It is as it was before.
    Done,
    /// It was already as before.
    Unchanged,
    /// Left as it is, for this reason.
    Refused(String),
}

/// Content that was kept, by hash.
pub type Kept<'a> = &'a (dyn Fn(&str) -> Option<bytes::Bytes> + Sync);

/// Access to a workspace's files, confined to its root. Paths are relative and use `/`. Blocking.
pub trait WorkspaceFiles: Send + Sync {
    /// Checks that a root exists and is a folder; gives its canonical form.
    fn canonical_root(&self, root: &str) -> Result<String>;
    fn read(&self, root: &str, path: &str) -> Result<FileContent>;
    fn write(&self, root: &str, path: &str, content: &str) -> Result<FileWritten>;
    /// Follows a path as far as it exists. A path that cannot be followed (too long, a loop) leads nowhere.
    fn locate(&self, root: &str, path: &str) -> Located;
    /// Puts back what changes undid, newest first, each path only if it is still as the change left it. Gives one
    /// answer per path, in the order in which people would read them.
    fn restore(&self, root: &str, changes: &[Change], kept: Kept<'_>) -> Result<Vec<(String, Restored)>>;
    /// What differs now from a listing that was made before a command.
    fn changes_since(
        &self,
        root: &str,
        before: &std::collections::BTreeMap<String, Node>,
    ) -> Result<Vec<Change>>;
}
