//! A request as the body of a Responses call.

use harn_core::chat::{ModelRequest, Thinking, ToolChoice};
use serde_json::{Map, Value, json};

use super::super::openai_chat::schema::DROPPED_BY_AZURE;
use super::super::openai_chat::shape::{Asked, Strictness, asked};
use super::super::openai_chat::{azure_path, choice_word, effort_word, flag, parameters, word};
use super::input;
use crate::thinking::thinks;
use crate::{Delivery, Framing, HttpCall, ModelError, Target, ThinkingKind, nearest};

pub(super) fn call(request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
    let shape = asked(request, &target.capabilities, strictness(target)?);
    let is_streamed = target.delivery == Delivery::Streamed;
    let mut body = Map::new();
    body.insert("model".into(), target.model.as_str().into());
    let instructions = shape.instructions(&request.system);
    if !instructions.is_empty() {
        body.insert("instructions".into(), instructions.into());
    }
    body.insert("input".into(), input::items(&request.messages, target).into());
    body.insert("stream".into(), is_streamed.into());
    body.insert("store".into(), false.into());
    if request.max_output_tokens > 0 {
        body.insert("max_output_tokens".into(), request.max_output_tokens.into());
    }
    let kind = &target.capabilities.thinking;
    if flag(target, "encrypted_reasoning", !matches!(kind, ThinkingKind::Never | ThinkingKind::Unknown))? {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(reasoning) = reasoning(request.thinking, kind, summary(target)?) {
        body.insert("reasoning".into(), reasoning);
    }
    add_tools(request, target, &shape, &mut body)?;
    // This format has neither words to stop at nor a seed, and models that think take no numbers.
    let sampling = &request.sampling;
    let numbers = [("temperature", sampling.temperature), ("top_p", sampling.top_p)];
    for (name, number) in numbers.into_iter().filter(|_| !thinks(kind, request.thinking)) {
        body.extend(number.map(|number| (name.to_owned(), json!(number))));
    }
    if let Some(format) = format(&shape) {
        body.insert("text".into(), json!({ "format": format }));
    }
    let framing = if is_streamed { Framing::Events } else { Framing::Whole };
    Ok(HttpCall { path: path(target)?, headers: Vec::new(), body: body.into(), framing })
}

fn is_azure(target: &Target) -> Result<bool, ModelError> {
    match word(target, "dialect")? {
        None | Some("openai") => Ok(false),
        Some("azure") => Ok(true),
        Some(other) => Err(wrong(&format!("the option `dialect` cannot be `{}`", other.escape_debug()))),
    }
}

fn wrong(what: &str) -> ModelError {
    ModelError::InvalidRequest { message: format!("{what}; correct it in the configuration") }
}

fn path(target: &Target) -> Result<String, ModelError> {
    match word(target, "path")? {
        Some(path) if path.starts_with('/') => Ok(path.to_owned()),
        Some(_) => Err(wrong("the option `path` has to begin with `/`")),
        None if is_azure(target)? => azure_path(target, "responses"),
        None => Ok("/v1/responses".into()),
    }
}

pub(super) fn strictness(target: &Target) -> Result<Strictness, ModelError> {
    let also_dropped = if is_azure(target)? { DROPPED_BY_AZURE } else { &[] };
    let is_strict = flag(target, "strict_schema", true)?;
    Ok(if is_strict { Strictness::Strict { also_dropped } } else { Strictness::AsIs })
}

fn summary(target: &Target) -> Result<Option<&str>, ModelError> {
    match word(target, "summary")?.unwrap_or("auto") {
        "none" => Ok(None),
        summary @ ("auto" | "concise" | "detailed") => Ok(Some(summary)),
        other => Err(wrong(&format!("the option `summary` cannot be `{}`", other.escape_debug()))),
    }
}

/// What the request says about thinking; nothing to a model that may not think at all.
fn reasoning(wanted: Thinking, kind: &ThinkingKind, summary: Option<&str>) -> Option<Value> {
    let level = match kind {
        ThinkingKind::Effort { levels } | ThinkingKind::Adaptive { levels } => nearest(wanted, levels),
        ThinkingKind::Switch => (wanted == Thinking::Off).then_some(Thinking::Off),
        ThinkingKind::Always => None,
        ThinkingKind::Unknown
        | ThinkingKind::Never
        | ThinkingKind::Budget { .. }
        | ThinkingKind::PromptTag
        | ThinkingKind::TemplateSwitch => return None,
    };
    let mut said = Map::new();
    if let Some(level) = level {
        said.insert("effort".into(), effort_word(level).into());
    }
    if let Some(summary) = summary.filter(|_| level != Some(Thinking::Off)) {
        said.insert("summary".into(), summary.into());
    }
    (!said.is_empty()).then(|| said.into())
}

fn add_tools(
    request: &ModelRequest,
    target: &Target,
    shape: &Asked<'_>,
    body: &mut Map<String, Value>,
) -> Result<(), ModelError> {
    let mut tools = Vec::new();
    if target.capabilities.tools {
        let own = request.tools.iter();
        tools.extend(own.map(|tool| function(&tool.name, &tool.description, &tool.input_schema)));
    }
    match target.options.get("tools") {
        None | Some(Value::Null) => {}
        Some(Value::Array(builtin)) => tools.extend(builtin.iter().cloned()),
        Some(_) => return Err(wrong("the option `tools` has to be a list")),
    }
    if let Asked::Tool { wanted, name } = shape {
        let choice =
            if tools.is_empty() { json!({"type": "function", "name": name}) } else { "required".into() };
        body.insert("tool_choice".into(), choice);
        tools.push(function(name, "Gives the answer.", &wanted.schema));
    }
    if let Some(choice) = request.sampling.tool_choice.as_ref().filter(|_| !tools.is_empty()) {
        body.entry("tool_choice").or_insert_with(|| match choice {
            ToolChoice::Tool(name) => json!({"type": "function", "name": name}),
            choice => choice_word(choice).into(),
        });
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    Ok(())
}

/// Here functions are strict unless they say otherwise, and most schemas of tools are not made for that.
fn function(name: &str, description: &str, schema: &Value) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters(schema),
        "strict": false
    })
}

fn format(shape: &Asked<'_>) -> Option<Value> {
    match shape {
        Asked::Native { wanted, schema, strict, .. } => {
            let mut format = json!({"type": "json_schema", "name": wanted.name, "schema": schema});
            if let Some(strict) = strict {
                format["strict"] = (*strict).into();
            }
            Some(format)
        }
        Asked::JsonMode(_) => Some(json!({"type": "json_object"})),
        Asked::Nothing | Asked::Tool { .. } | Asked::Prompt(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use Thinking::{Auto, High, Low, Medium, Off, Xhigh};

    use super::*;

    #[test]
    fn every_way_to_ask_for_thinking_has_its_words() {
        let effort = ThinkingKind::Effort { levels: vec![Off, Low, Medium, High] };
        let always = ThinkingKind::Adaptive { levels: vec![Low, High] };
        let cases = [
            (Auto, &effort, Some("auto"), Some(json!({"summary": "auto"}))),
            (Auto, &effort, None, None),
            (Off, &effort, Some("auto"), Some(json!({"effort": "none"}))),
            (Medium, &effort, Some("detailed"), Some(json!({"effort": "medium", "summary": "detailed"}))),
            (Xhigh, &effort, None, Some(json!({"effort": "high"}))),
            (Off, &always, Some("auto"), Some(json!({"effort": "low", "summary": "auto"}))),
            (High, &ThinkingKind::Always, Some("auto"), Some(json!({"summary": "auto"}))),
            (Off, &ThinkingKind::Switch, Some("auto"), Some(json!({"effort": "none"}))),
            (High, &ThinkingKind::Switch, Some("auto"), Some(json!({"summary": "auto"}))),
            (High, &ThinkingKind::Unknown, Some("auto"), None),
            (High, &ThinkingKind::Never, Some("auto"), None),
            (High, &ThinkingKind::Budget { least: 1 }, Some("auto"), None),
            (Off, &ThinkingKind::PromptTag, Some("auto"), None),
            (Off, &ThinkingKind::TemplateSwitch, Some("auto"), None),
        ];
        for (wanted, kind, summary, expected) in cases {
            assert_eq!(reasoning(wanted, kind, summary), expected, "{wanted} {kind:?} {summary:?}");
        }
    }
}
