//! A run: a deterministic program, the effects that it asks for, and the journal of their completions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::chat::{ModelAnswer, ModelRef, ModelRequest, Usage};
use crate::hash::Sha256Hash;
use crate::message::Message;
use crate::resource::{AutonomyTier, Failure};
use crate::tool::{Class, ToolCall, ToolResult, ToolSpec};
use crate::{RequestId, SessionId, TaskId};

/// `kind:scope:n`, for example `llm:main:3`. Never a time, a line number or a provider's id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectKey(String);

impl EffectKey {
    pub fn new(kind: &str, scope: &str, n: u32) -> Self {
        Self(format!("{kind}:{scope}:{n}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
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
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Inbox(Seam),
    Model(ModelRequest),
    Tool(ToolCall),
    /// A question to a person, asked through the tool call `call_id`.
    Question {
        call: ToolCall,
        prompt: String,
    },
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
    Inbox { messages: Vec<Message> },
    Model { answer: ModelAnswer },
    ModelFailed { failure: Failure },
    Tool { result: ToolResult },
}

/// How a run ended, in the program's own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    pub result: Result<String, Failure>,
    pub usage: Usage,
    pub model_calls: u32,
    pub tool_calls: u32,
}

/// What a program does after a completion: it waits for the effects it has handed out, or it is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Waiting(Vec<Effect>),
    Done(RunEnd),
}

/// Deterministic and without I/O: the same completions in the same order give the same effects.
pub trait Program: Send {
    fn start(&mut self) -> Step;
    fn resume(&mut self, key: &EffectKey, completion: &Completion) -> Step;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub max_model_calls: u32,
    pub max_output_tokens: u32,
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
}

/// What the engine contributes to a manifest: content that becomes blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub program: &'static str,
    pub semantics: u32,
    pub model: ModelRef,
    pub limits: Limits,
    pub system_prompt: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// What policy said about an effect, kept with the rule that said it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub verdict: Verdict,
    pub rule: String,
    pub reason: String,
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
        /// What reconciliation and undo need, for checkable effects.
        plan: Option<WritePlan>,
    },
    Completed {
        key: EffectKey,
        completion: Completion,
    },
}

impl JournalEntry {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Manifest { .. } => "manifest",
            Self::Requested { .. } => "requested",
            Self::Asked { .. } => "asked",
            Self::Answered { .. } => "answered",
            Self::Begun { .. } => "begun",
            Self::Completed { .. } => "completed",
        }
    }
}

/// A file write, described before it happens: the bytes before (kept as a blob) and the hash after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePlan {
    pub path: String,
    /// Hash of the pre-image, also its blob; none when the file did not exist.
    pub before: Option<String>,
    pub after: String,
}

/// What the driver asks the harness to commit, in order, in one transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A tool call, with its arguments as yielded. Policy decides within the commit.
    Requested {
        key: EffectKey,
        call: ToolCall,
        class: Class,
    },
    /// A question to a person.
    Question {
        key: EffectKey,
        call: ToolCall,
        prompt: String,
    },
    /// A model call or an authorised tool call is about to be performed.
    Begun {
        key: EffectKey,
        attempt: u32,
        args: Value,
        plan: Option<WritePlan>,
        pre_image: Option<bytes::Bytes>,
    },
    Completed {
        key: EffectKey,
        completion: Completion,
    },
    /// Takes what is pending for this seam; the delivery is the completion.
    TakeInbox {
        key: EffectKey,
        seam: Seam,
    },
    Finished(RunEnd),
}

/// What the harness answers to one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done,
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
    pub history: Vec<Message>,
    /// The journal in commit order, without the manifest.
    pub journal: Vec<JournalEntry>,
}
