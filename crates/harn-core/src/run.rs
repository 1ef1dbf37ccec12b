//! A run: a deterministic program, the effects that it asks for, and the journal of their completions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ask::Ask;
pub use crate::budget::{Budget, Spend};
pub use crate::change::{Attachment, Change, MutationScope, MutationSession, Node, Plan, Stash, WritePlan};
use crate::chat::{ChatMessage, ModelAnswer, ModelRef, ModelRequest, PartialCall, Thinking, Usage};
use crate::decision::EffectKind;
pub use crate::decision::{Decision, Trust, Verdict};
use crate::errand::Wait;
use crate::hash::Sha256Hash;
use crate::message::Message;
use crate::narrowing::Narrowing;
use crate::price::Prices;
use crate::resource::{AutonomyTier, Failure};
use crate::route::{ChosenBy, FallbackOn, Route};
use crate::tool::{Class, OwnTool, ToolCall, ToolResult, ToolSpec};
use crate::{ArtifactId, RequestId, SessionId, TaskId, Timestamp};

/// `kind:scope:n`, for example `llm:main:3`. Never a time, a line number or a provider's id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectKey(String);

impl EffectKey {
    pub fn new(kind: &str, scope: &str, n: u32) -> Self {
        Self(format!("{kind}:{scope}:{n}"))
    }

    /// A key as a script's machine spells it.
    pub fn spelled(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The word before the first colon: `llm`, `tool`, `read_file`.
    pub fn kind(&self) -> &str {
        self.0.split(':').next().unwrap_or_default()
    }

    /// The span of this effect within its run's trace: derived, so that a recovered run shows the same.
    pub fn span_id(&self, task: &TaskId) -> String {
        Sha256Hash::of_pieces(&[task.as_str().as_bytes(), self.0.as_bytes()]).to_string()[..16].to_owned()
    }
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A point at which a program takes what arrived unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seam {
    /// Takes steering.
    BeforeModel,
    /// Takes everything that is left, before the program ends.
    LoopExit,
}

impl Seam {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeModel => "before_model",
            Self::LoopExit => "loop_exit",
        }
    }
}

/// When an inbox item wants to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// At the next seam.
    Steer,
    /// At the end of the interaction, as a turn of its own.
    Queue,
}

/// What a program wants from the world.
// A model call is the largest by far, and the one that is made most.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Inbox(Seam),
    Model(ModelRequest),
    Tool(ToolCall),
    /// Something that people are asked.
    Ask(Box<Ask>),
    /// A script is about to use a tool of its own.
    OwnTool(Box<OwnTool>),
    /// Something that the keeper of the log does for a script.
    Errand(ToolCall),
    /// The older part of the conversation gives way to a summary of it.
    Compact(Compaction),
    /// A script calls its host.
    Call(ToolCall),
    /// Waits until so many milliseconds have passed.
    Timer {
        ms: u64,
    },
}

/// What a compaction did to the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    pub strategy: CompactionStrategy,
    /// What stands in the place of the dropped messages.
    pub summary: Arc<str>,
    pub dropped: Arc<[ChatMessage]>,
    /// How many of the newest messages stay as they are.
    pub kept: usize,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStrategy {
    /// A model wrote the summary.
    Summary,
    /// The model could not, so the older part is only referred to.
    Truncate,
}

impl Request {
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::Inbox(_) => EffectKind::Inbox,
            Self::Model(_) => EffectKind::Model,
            Self::Tool(_) => EffectKind::Tool,
            Self::OwnTool(_) => EffectKind::Tool,
            Self::Ask(_) => EffectKind::Question,
            Self::Compact(_) => EffectKind::Compaction,
            Self::Call(_) | Self::Errand(_) => EffectKind::Call,
            Self::Timer { .. } => EffectKind::Timer,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub key: EffectKey,
    pub request: Request,
}

/// The journaled result of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Completion {
    Inbox {
        messages: Vec<Message>,
    },
    Model {
        answer: ModelAnswer,
    },
    ModelFailed {
        failure: Failure,
        /// Calls that broke off with the answer, kept for diagnosis.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        partial_calls: Vec<PartialCall>,
    },
    Tool {
        result: ToolResult,
    },
    /// The artifact that holds what was dropped; none when the compaction was denied and nothing changed.
    Compacted {
        artifact_id: Option<ArtifactId>,
    },
    /// What a script gets for what it asked of people or of its keeper.
    Answered {
        answer: Value,
    },
    /// The time has come; with a reason it was not waited for.
    Time {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
    },
}

impl Completion {
    /// A model call that failed and left nothing behind.
    pub fn model_failed(failure: Failure) -> Self {
        Self::ModelFailed { failure, partial_calls: Vec::new() }
    }
}

/// How a run ended, in the program's own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    pub result: Result<String, Failure>,
    /// What a script gave back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    pub usage: Usage,
    pub model_calls: u32,
    pub tool_calls: u32,
}

impl RunEnd {
    /// The end of a run that came to nothing before it asked anybody.
    pub fn failed(failure: Failure) -> Self {
        Self { result: Err(failure), value: None, usage: Usage::default(), model_calls: 0, tool_calls: 0 }
    }
}

/// What a program does after a completion: it waits for the effects it has handed out, or it is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Waiting(Vec<Effect>),
    /// It has not come to a halt: `go_on` gives it more time. Completions may strike in between.
    Busy(Vec<Effect>),
    Done(RunEnd),
}

/// Deterministic and without I/O: the same completions in the same order give the same effects.
pub trait Program: Send {
    fn start(&mut self) -> Step;
    fn resume(&mut self, key: &EffectKey, completion: &Completion) -> Step;

    /// More time for a program that is busy; at most until it has made so many steps in all.
    fn go_on(&mut self, _until: Option<u64>) -> Step {
        Step::Waiting(Vec::new())
    }

    /// A person wants it to end; it may put things in order first.
    fn interrupt(&mut self) -> Step {
        Step::Waiting(Vec::new())
    }

    /// How many steps a program has made that is busy; none when it waits.
    fn busy_at(&self) -> Option<u64> {
        None
    }

    /// What it has printed since the last time.
    fn take_output(&mut self) -> Vec<Shown> {
        Vec::new()
    }

    /// Effects whose completions it does not want any more.
    fn take_dropped(&mut self) -> Vec<EffectKey> {
        Vec::new()
    }
}

/// Something that a program printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub to: Channel,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Out,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub max_model_calls: u32,
    pub max_output_tokens: u32,
    /// Tokens that the model takes in, as far as we know; the conversation is compacted before it is full.
    #[serde(default = "default_window")]
    pub context_window: u64,
    #[serde(default)]
    pub budget: Budget,
}

fn default_window() -> u64 {
    128_000
}

/// Everything that a run depends on besides its journal, recorded when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The program and the version of its semantics.
    pub program: String,
    pub semantics: u32,
    pub model: ModelRef,
    pub tier: AutonomyTier,
    pub limits: Limits,
    pub seed: u64,
    /// The workspace root, or none for a workspace without files.
    pub root: Option<String>,
    /// SHA-256 of the blobs that hold the system prompt and the tool list.
    pub system_prompt: String,
    pub tools: String,
    /// The transcript is the session's messages as they stood at this log id, the input last.
    pub history_up_to: u64,
    /// Messages before this log id have given way to a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Compacted>,
    /// Of the model. None where they are not known.
    #[serde(default, alias = "price")]
    pub prices: Option<Prices>,
    #[serde(default)]
    pub thinking: Thinking,
    #[serde(default)]
    pub chosen_by: ChosenBy,
    /// The models that are asked instead, one after the other, when one fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Route>,
    /// With which failures they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_on: Vec<FallbackOn>,
    /// None for a run that cannot change anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<MutationSession>,
    #[serde(default)]
    pub trust: Trust,
    /// SHA-256 of the blob that holds a script's image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Holds beside all rules, for as long as the run lasts.
    #[serde(default, skip_serializing_if = "Narrowing::is_empty")]
    pub narrowing: Narrowing,
}

impl Manifest {
    /// What a model that this run may call costs. None for one that it was not started with, or whose prices are not
    /// known.
    pub fn prices_of(&self, model: &ModelRef) -> Option<Prices> {
        if *model == self.model {
            return self.prices;
        }
        self.fallbacks.iter().find(|route| route.model == *model).and_then(|route| route.prices)
    }
}

/// The summary that stands for the older part of a session's transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// The first message that is still told in full.
    pub from: u64,
    /// Hash of the blob that holds the summary.
    pub summary: String,
    pub artifact_id: ArtifactId,
}

/// What the engine contributes to a manifest: content that becomes blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub program: &'static str,
    pub semantics: u32,
    pub model: ModelRef,
    pub thinking: Thinking,
    pub limits: Limits,
    pub prices: Option<Prices>,
    pub fallbacks: Vec<Route>,
    pub fallback_on: Vec<FallbackOn>,
    pub system_prompt: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
}

/// A script as it was when its run started: edited files affect new runs only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptImage {
    /// The name of the source that runs.
    pub entry: String,
    /// Every source that it consists of, by name.
    pub sources: Vec<(String, String)>,
    /// What it uses of the language itself: the standard modules, and its part of the prelude. A newer Harn goes on with
    /// these.
    #[serde(default)]
    pub language: Vec<(String, String)>,
    /// What an import of a source means: the name of the source that imports, the path that it says, and the name of
    /// the source that is meant.
    pub imports: Vec<(String, String, String)>,
    /// The pipeline or the exported function that runs; none for what the file runs by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The folder of the script.
    pub folder: String,
    /// The folder of its project.
    #[serde(default)]
    pub project: String,
    /// `argv`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "ScriptLimits::is_usual")]
    pub limits: ScriptLimits,
    /// Answers in the place of models: the name of the file that they stood in, and its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_mock: Option<(String, String)>,
    /// Folders with skills, before all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// What a script may use, where it is not as usual. Zero is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl ScriptLimits {
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// What a person answered, as the run sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub approved: bool,
    /// Arguments that replace the requested ones; policy has seen them again.
    pub args: Option<Map<String, Value>>,
    /// The reply to a question.
    pub reply: Option<Value>,
    pub reason: Option<String>,
    /// What a script gets for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Value>,
}

/// One journal row. The order of `Completed` entries is the order in which the program saw them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum JournalEntry {
    Manifest {
        manifest: Manifest,
    },
    Requested {
        key: EffectKey,
        call: ToolCall,
        class: Class,
        decision: Decision,
    },
    Asked {
        key: EffectKey,
        request_id: RequestId,
    },
    Answered {
        key: EffectKey,
        request_id: RequestId,
        answer: Answer,
        decision: Option<Decision>,
    },
    /// From here until `Completed`, nobody knows whether the effect happened.
    Begun {
        key: EffectKey,
        attempt: u32,
        epoch: u64,
        /// Effective arguments of a tool; what is new since the previous call for a model.
        args: Value,
        /// What reconciliation and undo need.
        plan: Option<Plan>,
        /// What policy said, where it decides when the effect begins: about model calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
        /// What a model call may spend at most, set aside until it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Spend>,
    },
    Completed {
        key: EffectKey,
        completion: Completion,
        /// What a command did to the files of the workspace.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
        /// What policy said, where it decides when the effect completes: about the inbox and compactions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
        /// What a model call has cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spend>,
        /// What was read, where policy decided without a commit of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCall>,
        /// The steps that the program had made when this struck; none when it waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// Waits until this time.
    Timer {
        key: EffectKey,
        due: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
    },
    /// Waits for waitpoints; the answer comes with the commit that settles the last of them.
    Waiting {
        key: EffectKey,
        /// The answer is known by this.
        request_id: RequestId,
        call: ToolCall,
        wait: Wait,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
    },
    /// The program does not want the completion of this effect any more.
    Dropped {
        key: EffectKey,
    },
    /// So much of what the program printed has been shown.
    Output {
        shown: Vec<Shown>,
    },
}

impl JournalEntry {
    /// A completion with nothing beside it.
    pub fn completed(key: EffectKey, completion: Completion) -> Self {
        let (decision, spent, call, at) = (None, None, None, None);
        Self::Completed { key, completion, changes: Vec::new(), decision, spent, call, at }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Manifest { .. } => "manifest",
            Self::Requested { .. } => "requested",
            Self::Asked { .. } => "asked",
            Self::Answered { .. } => "answered",
            Self::Begun { .. } => "begun",
            Self::Completed { .. } => "completed",
            Self::Timer { .. } => "timer",
            Self::Waiting { .. } => "waiting",
            Self::Dropped { .. } => "dropped",
            Self::Output { .. } => "output",
        }
    }
}

/// What the driver asks the harness to commit, in order, in one transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A call of a tool or of the host, with its arguments as yielded. Policy decides within the commit.
    Requested {
        key: EffectKey,
        effect: EffectKind,
        call: ToolCall,
        class: Class,
    },
    /// People are asked; policy decides within the commit.
    Ask {
        key: EffectKey,
        ask: Box<Ask>,
    },
    /// A script wants to use a tool of its own. Policy decides within the commit.
    OwnTool {
        key: EffectKey,
        tool: Box<OwnTool>,
    },
    /// Done within the commit, if policy allows it; a wait may have to wait.
    Errand {
        key: EffectKey,
        call: ToolCall,
    },
    /// An authorised tool call is about to be performed.
    Begun {
        key: EffectKey,
        attempt: u32,
        args: Value,
        plan: Option<Plan>,
        pre_image: Option<bytes::Bytes>,
    },
    /// A model call is about to be made; policy and budget decide within the commit.
    BegunModel {
        key: EffectKey,
        attempt: u32,
        model: ModelRef,
        messages: usize,
        /// At most so many, by a careful estimate.
        input_tokens: u64,
        output_tokens: u64,
        /// Of the model. None where they are not known.
        prices: Option<Prices>,
    },
    Completed(Box<Completed>),
    /// Waits until this time; policy decides within the commit.
    Timer {
        key: EffectKey,
        due: Timestamp,
    },
    /// The completion of this effect is not wanted any more.
    Dropped {
        key: EffectKey,
    },
    /// To be shown now that all that came before is durable.
    Output {
        shown: Vec<Shown>,
    },
    /// Takes what is pending for this seam; the delivery is the completion.
    TakeInbox {
        key: EffectKey,
        seam: Seam,
    },
    Compact {
        key: EffectKey,
        compaction: Compaction,
        archive: bytes::Bytes,
    },
    Finished(RunEnd),
}

/// What came of an effect, with all that is recorded about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Completed {
    pub key: EffectKey,
    pub completion: Completion,
    pub changes: Vec<Change>,
    pub attachments: Vec<Attachment>,
    /// What was read, where policy allowed it without a commit of its own.
    pub read: Option<(ToolCall, Decision)>,
    pub at: Option<u64>,
}

/// What the harness answers to one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done,
    /// Policy decided. Anything but allow means that nothing of the entry happened.
    Decided(Decision),
    Delivered(Completion),
}

/// All that is needed to run, or to go on running.
#[derive(Clone, Debug)]
pub struct RunRecord {
    pub task_id: TaskId,
    pub session_id: SessionId,
    pub manifest: Manifest,
    pub system_prompt: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    pub script: Option<Arc<ScriptImage>>,
    /// What stands for the part of the transcript before the history.
    pub summary: Option<String>,
    pub history: Vec<Message>,
    /// The journal in commit order, without the manifest.
    pub journal: Vec<JournalEntry>,
}
