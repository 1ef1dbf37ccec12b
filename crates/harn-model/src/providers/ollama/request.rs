//! A request in the words of `/api/chat`.

use harn_core::chat::{ModelRequest, ToolChoice};
use serde_json::{Map, Value, json};

use super::messages::messages;
use super::output::Output;
use super::think::think;
use crate::{Delivery, Framing, HttpCall, Target};

pub(super) fn call(request: &ModelRequest, target: &Target) -> HttpCall {
    let framing = match target.delivery {
        Delivery::Streamed => Framing::Lines,
        Delivery::Whole => Framing::Whole,
    };
    HttpCall { path: "/api/chat".into(), headers: Vec::new(), body: body(request, target), framing }
}

fn body(request: &ModelRequest, target: &Target) -> Value {
    let output = Output::of(request, target);
    let system: Vec<String> = [request.system.to_string()].into_iter().chain(output.instruction()).collect();
    let mut body = json!({
        "model": target.model,
        "messages": messages(&system, &request.messages, target),
        "stream": target.delivery == Delivery::Streamed,
        "options": options(request, target),
    });
    let tools = tools(request, target, &output);
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    match &output {
        Output::Native(wanted) => body["format"] = wanted.schema.clone(),
        Output::Json(_) => body["format"] = json!("json"),
        Output::Free | Output::Tool(..) | Output::Prompt(_) => {}
    }
    if let Some(think) = think(request.thinking, target) {
        body["think"] = think;
    }
    if let Some(keep_alive) = target.options.get("keep_alive") {
        body["keep_alive"] = keep_alive.clone();
    }
    body
}

fn options(request: &ModelRequest, target: &Target) -> Map<String, Value> {
    let mut options = Map::new();
    options.insert("num_predict".into(), json!(request.max_output_tokens));
    let known = target.capabilities.context_window.map(Value::from);
    if let Some(window) = target.options.get("num_ctx").cloned().or(known) {
        options.insert("num_ctx".into(), window);
    }
    let sampling = &request.sampling;
    let said = [
        ("temperature", sampling.temperature.map(Value::from)),
        ("top_p", sampling.top_p.map(Value::from)),
        ("stop", (!sampling.stop.is_empty()).then(|| json!(sampling.stop[..]))),
        ("seed", sampling.seed.map(Value::from)),
    ];
    options.extend(said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    if let Some(more) = target.options.get("options").and_then(Value::as_object) {
        options.extend(more.clone());
    }
    options
}

fn tools(request: &ModelRequest, target: &Target, output: &Output<'_>) -> Vec<Value> {
    // The server has no choice of tools; not to show them is the one that it can be given.
    let is_shown = target.capabilities.tools && request.sampling.tool_choice != Some(ToolChoice::Never);
    let offered = if is_shown { &request.tools[..] } else { &[] };
    let mut tools: Vec<Value> =
        offered.iter().map(|tool| function(&tool.name, &tool.description, &tool.input_schema)).collect();
    if let Output::Tool(wanted, name) = output {
        let purpose = "Gives the final answer. Call it once, when the answer is complete.";
        tools.push(function(name, purpose, &wanted.schema));
    }
    tools
}

fn function(name: &str, description: &str, parameters: &Value) -> Value {
    json!({
        "type": "function",
        "function": { "name": name, "description": description, "parameters": parameters },
    })
}
