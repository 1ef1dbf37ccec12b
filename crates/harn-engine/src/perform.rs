//! Performing one effect: the model call or the tool call itself, whatever comes of it.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use harn_core::Failure;
use harn_core::chat::{ChatMessage, ModelAnswer, ModelRequest};
use harn_core::run::Completion;
use harn_core::tool::{ToolCall, ToolOutcome, ToolResult};
use harn_model::{Models, collect};
use serde_json::{Map, Value, json};

use crate::tools::{Prepared, Tool, ToolContext};

pub async fn call_model(models: Models, request: ModelRequest) -> Completion {
    let Some(model) = models.get(&request.model) else {
        let name = format!("{}/{}", request.model.provider, request.model.model);
        let message =
            format!("The model `{name}` that this run was started with is not configured any more.");
        return Completion::ModelFailed { failure: Failure::new("model_unavailable", message) };
    };
    let stream = model.stream(request.clone());
    match AssertUnwindSafe(collect(stream)).catch_unwind().await {
        Ok(Ok(mut answer)) => {
            make_ids_unique(&mut answer, &request.messages);
            Completion::Model { answer }
        }
        Ok(Err(error)) => Completion::ModelFailed { failure: Failure::new(error.code(), error.to_string()) },
        Err(_) => {
            Completion::ModelFailed { failure: Failure::new("internal_error", "The model adapter panicked.") }
        }
    }
}

/// Providers number their calls as they like; within a run, an id names one call.
fn make_ids_unique(answer: &mut ModelAnswer, messages: &[ChatMessage]) {
    let earlier = messages.iter().filter_map(|message| match message {
        ChatMessage::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    });
    let mut used: HashSet<String> = earlier.flatten().map(|call| call.id.clone()).collect();
    for call in &mut answer.tool_calls {
        let wanted = call.id.clone();
        let mut n = 2;
        while !used.insert(call.id.clone()) {
            call.id = format!("{wanted}_{n}");
            n += 1;
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
) -> Completion {
    let work = async {
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => tool.prepare(&ctx, &args).await?,
        };
        tool.perform(&ctx, &args, prepared).await
    };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(output)) => tool_completion(&call, ToolOutcome::Ok, output),
        Ok(Err(failure)) => failed(&call, &failure.message),
        Err(_) => failed(&call, "The tool failed inside Harn. This is a defect."),
    }
}

pub fn failed(call: &ToolCall, message: &str) -> Completion {
    tool_completion(call, ToolOutcome::Error, json!({ "error": message }))
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
    let (call_id, name) = (call.id.clone(), call.name.clone());
    Completion::Tool { result: ToolResult { call_id, name, outcome, output } }
}
