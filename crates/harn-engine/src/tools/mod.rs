//! The tools that a run may call: one shape for all of them, and the registry of the built-in ones.
//!
//! A call has three moments. `prepare` looks at the world and says what will happen, `perform` makes it happen, and
//! after a crash in between `reconcile` says whether it did.

mod args;
pub(crate) mod atomic;
mod background;
pub(crate) mod capture;
mod command;
pub(crate) mod confined;
mod diff;
mod edit;
mod files;
mod glob;
mod grep;
pub(crate) mod launch;
mod lines;
pub(crate) mod locate;
mod options;
mod outcome;
mod port;
mod replace;
mod restore;
mod rules;
mod shown;
pub mod stash;
mod text;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use harn_core::chat::{Media, ModelRef};
use harn_core::decision::{Access, EffectKind, Verdict};
use harn_core::errand::Query;
use harn_core::run::{Attachment, Change, Trust, WritePlan};
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use harn_core::ports::{HostPort, Located};
use harn_model::Models;

use crate::calls::{Handles, Place};
use crate::guard::GuardCommand;
use crate::secrets::Secrets;

pub use background::{Background, CommandOutput, StopCommand};
pub use command::RunCommand;
pub use confined::{MAX_CONTENT, Refusal};
pub use edit::EditFile;
pub(crate) use files::in_workspace;
pub use files::{ListDir, ReadFile, WriteFile};
pub use glob::Glob;
pub use grep::Grep;
pub use port::ConfinedFiles;
pub use stash::{Stashes, Taken};

/// Where and under whose supervision a tool works.
#[derive(Clone)]
pub struct ToolContext {
    /// The canonical workspace root; none for a workspace without files.
    pub root: Option<PathBuf>,
    pub guard: GuardCommand,
    pub keep: Arc<dyn Keep>,
    pub sight: Arc<dyn Sight>,
    pub stashes: Arc<Stashes>,
    pub background: Arc<Background>,
    pub cancel: CancellationToken,
    /// Whose words the run carries out.
    pub trust: Trust,
    /// Whether a journal is kept, from which the run goes on after a crash.
    pub is_kept: bool,
    /// What scripts see of their surroundings.
    pub place: Arc<Place>,
    pub models: Models,
    /// The model of the run, for scripts that name none.
    pub model: ModelRef,
    /// The tools of the run, for scripts that ask about them.
    pub tools: Arc<[ToolSpec]>,
    pub host: Option<Arc<dyn HostPort>>,
    pub secrets: Arc<Secrets>,
    /// What scripts have opened.
    pub open: Arc<Handles>,
}

/// What a tool that looks at many files may see: policy was asked about the folder, not about each file in it.
#[async_trait]
pub trait Sight: Send + Sync {
    /// What policy says to a tool or call that comes upon a path.
    fn verdict(&self, effect: EffectKind, name: &str, at: &Located) -> Verdict;

    /// What only the keeper of the run's log knows.
    async fn tell(&self, _query: Query) -> Result<Value, ToolFailure> {
        Err(ToolFailure::new("Nobody keeps a log here."))
    }
}

/// Keeps content under its hash, durably, so that undo finds it whatever happens to us.
#[async_trait]
pub trait Keep: Send + Sync {
    async fn keep(&self, blobs: Vec<Bytes>) -> Result<(), ToolFailure>;
}

/// Why a call came to nothing, for the model and the person: what happened, to what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    pub message: String,
    /// A word for scripts that treat one kind of error differently from others.
    pub category: Option<&'static str>,
}

impl ToolFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), category: None }
    }

    pub fn categorised(category: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), category: Some(category) }
    }
}

/// What a call will do, worked out before it is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// Arguments are valid; there is nothing to record beforehand.
    Ready,
    Write(PreparedWrite),
    /// The workspace was stashed, so that what the call does to it can be seen and undone.
    Stashed(Taken),
}

/// What a call gives: the value that the model sees, and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub value: Value,
    /// What happened to files that no plan had named.
    pub changes: Vec<Change>,
    /// What is too large for a result, or no text; `value` refers to it by id.
    pub attachments: Vec<Attachment>,
    /// What the model sees besides words, by reference to attachments.
    pub media: Vec<Media>,
}

impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self { value, changes: Vec::new(), attachments: Vec::new(), media: Vec::new() }
    }
}

/// A file write before it happens: what to journal, and the bytes to put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedWrite {
    pub plan: WritePlan,
    /// The bytes behind `plan.before`.
    pub pre_image: Option<Bytes>,
    /// The bytes behind `plan.after`.
    pub content: Bytes,
}

/// What became of a write that was begun and has no completion.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// It happened; this is the output that `perform` would have given.
    Done(Value),
    NotDone,
    Unknown,
}

#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// Validates the arguments and, for checkable tools, plans the write. Changes nothing.
    async fn prepare(&self, ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure>;

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure>;

    /// Compares the world with the plan of a call that was begun, for checkable tools.
    async fn reconcile(&self, _ctx: &ToolContext, _plan: &WritePlan) -> Reconciled {
        Reconciled::Unknown
    }
}

/// The tools by name, in the order in which models see them.
#[derive(Clone)]
pub struct Registry {
    tools: Vec<(String, Arc<dyn Tool>)>,
    specs: Arc<[ToolSpec]>,
}

impl Registry {
    /// Every tool that comes with Harn.
    pub fn builtin() -> Self {
        Self::new(vec![
            Arc::new(ReadFile),
            Arc::new(ListDir),
            Arc::new(Glob),
            Arc::new(Grep),
            Arc::new(WriteFile),
            Arc::new(EditFile),
            Arc::new(RunCommand),
            Arc::new(CommandOutput),
            Arc::new(StopCommand),
        ])
    }

    /// A registry of these tools; of two with the same name, the first is found.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let specs = tools.iter().map(|tool| with_artifacts(tool.spec())).chain([ask_user_spec()]).collect();
        Self { tools: tools.into_iter().map(|tool| (tool.spec().name, tool)).collect(), specs }
    }

    /// What scripts call: nothing but these.
    pub fn of_calls(calls: Vec<Arc<dyn Tool>>) -> Self {
        let specs: Arc<[ToolSpec]> = calls.iter().map(|call| call.spec()).collect();
        let named = specs.iter().map(|spec| spec.name.clone()).zip(calls);
        Self { tools: named.collect(), specs }
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, tool)| tool.clone())
    }

    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// The specs of all tools, and last of `ask_user`, which the driver answers without an executor.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }
}

/// Any field that is too large to be shown leaves the id of an artifact beside it.
fn with_artifacts(mut spec: ToolSpec) -> ToolSpec {
    if spec.output_schema["additionalProperties"] == false {
        spec.output_schema["patternProperties"] = json!({ "_artifact$": { "type": "string" } });
    }
    spec
}

/// The question to a person. It has no executor: asking is one commit, and the answer comes when it comes.
pub fn ask_user_spec() -> ToolSpec {
    ToolSpec {
        name: "ask_user".into(),
        description:
            "Asks the person one question and waits for the answer. Use it only for what you cannot \
                      find out yourself."
                .into(),
        input_schema: object_schema(
            json!({ "question": { "type": "string", "description": "The question, in full." } }),
            &["question"],
        ),
        output_schema: json!({ "description": "What the person answered." }),
        class: Class::Local,
        side_effect: SideEffect::None,
        annotations: Annotations { capabilities: vec!["human.ask".into()], ..Annotations::default() },
    }
}

/// Annotations of a tool with one path argument.
fn on_path(kind: ToolKind, access: Access, capability: &str) -> Annotations {
    Annotations {
        kind,
        paths: vec![("path".into(), access)],
        capabilities: vec![capability.into()],
        ..Annotations::default()
    }
}

/// A JSON Schema for an object with exactly these properties.
fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
