//! Performing one effect: the model call or the tool call itself, whatever comes of it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt, TryStreamExt};
use harn_core::Failure;
use harn_core::chat::{AnsweredBy, ChatMessage, ModelAnswer, ModelRequest};
use harn_core::decision::{EffectKind, Verdict};
use harn_core::errand::Query;
use harn_core::ports::{Located, RunError, RunPort};
use harn_core::price::Prices;
use harn_core::run::{Attachment, Change, Completed, Completion, Decision, EffectKey, Entry, Request};
use harn_core::tool::{ToolCall, ToolOutcome, ToolResult};
use harn_model::{Chunk, ModelError, Models, collect};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::calls::Pieces;
use crate::large;
use crate::media;
use crate::tools::{Keep, Prepared, Sight, Tool, ToolContext, ToolFailure, ToolOutput};

/// What came of an effect, and what is recorded with it.
pub struct Performed {
    pub completion: Completion,
    pub changes: Vec<Change>,
    pub attachments: Vec<Attachment>,
    /// What was read, where policy allowed it without a commit of its own.
    pub read: Option<(ToolCall, Decision)>,
}

impl From<Completion> for Performed {
    fn from(completion: Completion) -> Self {
        Self { completion, changes: Vec::new(), attachments: Vec::new(), read: None }
    }
}

impl Performed {
    /// What is journaled, and when it struck a program that was busy.
    pub fn entry(self, key: EffectKey, at: Option<u64>) -> Entry {
        let Self { completion, changes, attachments, read } = self;
        Entry::Completed(Box::new(Completed { key, completion, changes, attachments, read, at }))
    }
}

/// For whom a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A model and people: secrets taken out, and what is long is cut and attached.
    Shown,
    /// A script whose journal is kept: secrets taken out.
    Kept,
    /// A script that leaves nothing behind: as it is.
    Plain,
}

impl Shape {
    pub fn of(request: &Request, port: &dyn RunPort) -> Self {
        match request {
            Request::Call(_) if port.keeps_a_journal() => Self::Kept,
            Request::Call(_) => Self::Plain,
            _ => Self::Shown,
        }
    }
}

/// Tools keep content through the port of their run.
pub struct KeepInRun(pub Arc<dyn RunPort>);

#[async_trait]
impl Keep for KeepInRun {
    async fn keep(&self, blobs: Vec<Bytes>) -> Result<(), ToolFailure> {
        self.0.keep(blobs).await.map_err(|_| {
            ToolFailure::new(
                "What is there now could not be kept for undo, so nothing was done. Try again later.",
            )
        })
    }
}

/// What policy lets a run read.
pub struct SightOfRun(pub Arc<dyn RunPort>);

#[async_trait]
impl Sight for SightOfRun {
    fn verdict(&self, effect: EffectKind, name: &str, at: &Located) -> Verdict {
        self.0.verdict(effect, name, at)
    }

    async fn tell(&self, query: Query) -> Result<Value, ToolFailure> {
        self.0.tell(query).await.map_err(|error| match error {
            RunError::Over => ToolFailure::categorised("cancelled", "The run is over."),
            RunError::Unavailable(error) => ToolFailure::new(error.message),
        })
    }
}

/// Programs that name models themselves are told which one has answered, and what that cost at these prices.
pub struct Told {
    pub prices: Option<Prices>,
}

pub async fn call_model(
    models: Models,
    port: &dyn RunPort,
    mut request: ModelRequest,
    told: Option<Told>,
    live: Option<Arc<Pieces>>,
) -> Completion {
    let Some(model) = models.get(&request.model) else {
        let name = format!("{}/{}", request.model.provider, request.model.model);
        let message =
            format!("The model `{name}` that this run was started with is not configured any more.");
        return Completion::model_failed(Failure::new("model_unavailable", message));
    };
    request.messages = media::fill(port, request.messages).await;
    let broken = Mutex::new(Vec::new());
    let hear = |chunk: &Chunk| match chunk {
        Chunk::PartialCall(call) => broken.lock().push(call.clone()),
        Chunk::Restart => broken.lock().clear(),
        _ => {}
    };
    let stream = model.stream(request.clone()).inspect_ok(hear).and_then(|chunk| {
        let told = live.as_deref().map_or(Ok(()), |pieces| pieces.hear(&chunk));
        std::future::ready(told.map(|()| chunk))
    });
    let answer = in_time(collect(stream), request.sampling.timeout_ms);
    let outcome = AssertUnwindSafe(answer).catch_unwind().await;
    match outcome {
        Ok(Ok(mut answer)) => {
            make_ids_unique(&mut answer, &request.messages);
            answer.answered_by = told.map(|told| AnsweredBy {
                micro_usd: told.prices.and_then(|prices| prices.cost(&answer.usage)),
                model: request.model,
            });
            // What a provider's tool found is treated like what one of ours finds.
            for output in answer.provider_tools.iter_mut().filter_map(|used| used.output.as_mut()) {
                harn_policy::redact_value(output);
            }
            Completion::Model { answer }
        }
        Ok(Err(error)) => {
            let failure = Failure::new(error.code(), error.to_string());
            Completion::ModelFailed { failure, partial_calls: broken.into_inner() }
        }
        Err(_) => Completion::model_failed(Failure::new("internal_error", "The model adapter panicked.")),
    }
}

async fn in_time(
    answer: impl Future<Output = Result<ModelAnswer, ModelError>>,
    timeout_ms: Option<u64>,
) -> Result<ModelAnswer, ModelError> {
    let Some(ms) = timeout_ms else { return answer.await };
    let late = |_| ModelError::Timeout { message: format!("the call was given {ms} ms") };
    tokio::time::timeout(Duration::from_millis(ms), answer).await.map_err(late)?
}

/// Providers number their calls as they like; within a run, an id names one call.
fn make_ids_unique(answer: &mut ModelAnswer, messages: &[ChatMessage]) {
    let earlier = messages.iter().filter_map(|message| match message {
        ChatMessage::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    });
    let mut used: HashSet<String> = earlier.flatten().map(|call| call.id.clone()).collect();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    for call in &mut answer.tool_calls {
        let wanted = call.id.clone();
        while !used.insert(call.id.clone()) {
            // Counting on from the last one keeps a flood of equal ids cheap.
            let n = numbers.entry(wanted.clone()).or_insert(2);
            call.id = format!("{wanted}_{n}");
            *n += 1;
        }
    }
}

/// Performs an authorised call. A read is prepared here; anything else was prepared before it was begun.
pub async fn call_tool(
    tool: Arc<dyn Tool>,
    ctx: ToolContext,
    call: ToolCall,
    args: Map<String, Value>,
    prepared: Option<Prepared>,
    shape: Shape,
) -> Performed {
    let work = async {
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => tool.prepare(&ctx, &args).await?,
        };
        tool.perform(&ctx, &args, prepared).await
    };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(ToolOutput { mut value, changes, mut attachments, media })) => {
            // Before anything is journaled: what has been written down cannot be taken back.
            if shape != Shape::Plain {
                harn_policy::redact_value(&mut value);
            }
            if shape == Shape::Shown {
                large::shorten(&mut value, &mut attachments);
            }
            attachments.iter_mut().for_each(redact_attachment);
            let result = ToolResult { media, ..tool_result(&call, ToolOutcome::Ok, value) };
            let completion = Completion::Tool { result };
            Performed { completion, changes, attachments, read: None }
        }
        Ok(Err(failure)) => failure_of(&call, &failure).into(),
        Err(_) => failed(&call, "The tool failed inside Harn. This is a defect.").into(),
    }
}

fn redact_attachment(attachment: &mut Attachment) {
    if let Ok(text) = str::from_utf8(&attachment.bytes)
        && let Cow::Owned(redacted) = harn_policy::redact(text)
    {
        attachment.bytes = redacted.into();
    }
}

pub fn failed(call: &ToolCall, message: &str) -> Completion {
    tool_completion(call, ToolOutcome::Error, json!({ "error": message }))
}

pub fn failure_of(call: &ToolCall, failure: &ToolFailure) -> Completion {
    let mut output = json!({ "error": harn_policy::redact(&failure.message) });
    if let Some(category) = failure.category {
        output["category"] = category.into();
    }
    tool_completion(call, ToolOutcome::Error, output)
}

pub fn denied(call: &ToolCall, reason: Option<&str>) -> Completion {
    let message = format!("Denied: {}", reason.unwrap_or("a person said no."));
    tool_completion(call, ToolOutcome::Denied, json!({ "error": message }))
}

pub fn interrupted(call: &ToolCall) -> Completion {
    let message = "Interrupted: Harn stopped while this call was under way. Whether it happened is unknown, and it \
                   was not repeated. Look at the state of things before you try again.";
    tool_completion(call, ToolOutcome::Interrupted, json!({ "error": message, "interrupted": true }))
}

pub fn tool_completion(call: &ToolCall, outcome: ToolOutcome, output: Value) -> Completion {
    Completion::Tool { result: tool_result(call, outcome, output) }
}

fn tool_result(call: &ToolCall, outcome: ToolOutcome, output: Value) -> ToolResult {
    ToolResult { call_id: call.id.clone(), name: call.name.clone(), outcome, output, media: Vec::new() }
}
