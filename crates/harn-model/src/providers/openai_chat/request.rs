//! A request as the body of a Chat Completions call.

use harn_core::chat::{ModelRequest, ToolChoice};
use harn_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use super::messages::{Conversation, messages};
use super::schema::DROPPED_BY_AZURE;
use super::shape::{Asked, Strictness, asked};
use super::{family, thinking};
use crate::thinking::thinks;
use crate::{Delivery, Framing, HttpCall, ModelError, StructuredOutput, Target};

pub(super) fn call(request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
    let dialect = Dialect::of(target)?;
    let shape = shape(request, dialect, target, strictness(dialect, target)?);
    dialect.think_tags(target)?;
    let kind = family::known(&target.capabilities.thinking, dialect, &target.model);
    let said = thinking::said(request.thinking, &kind, dialect, request.max_output_tokens);
    let conversation = Conversation {
        system: &shape.instructions(&request.system),
        messages: &request.messages,
        target,
        dialect,
        marks: dialect == Dialect::OpenRouter && !request.sampling.no_cache,
        back: dialect.reasoning_back(target)?,
        thinking: request.thinking,
        tag: said.tag,
    };
    let mut body = Map::new();
    body.insert("model".into(), target.model.as_str().into());
    body.insert("messages".into(), messages(&conversation).into());
    if request.max_output_tokens > 0 {
        body.insert(dialect.max_tokens_field(target)?.into(), request.max_output_tokens.into());
    }
    let is_streamed = target.delivery == Delivery::Streamed;
    body.insert("stream".into(), is_streamed.into());
    if is_streamed && dialect.stream_usage(target)? {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    add_tools(request, target, dialect, &shape, &mut body);
    let is_fixed = matches!(dialect, Dialect::OpenAi | Dialect::Azure) && thinks(&kind, request.thinking);
    sample(request, dialect, is_fixed, &mut body);
    if let Some(format) = response_format(&shape) {
        body.insert("response_format".into(), format);
    }
    body.extend(said.fields);
    if thinking::is_told_in_text(dialect, &kind, &target.model) {
        body.insert("reasoning_format".into(), "parsed".into());
    }
    let framing = if is_streamed { Framing::Events } else { Framing::Whole };
    Ok(HttpCall { path: dialect.path(target)?, headers: Vec::new(), body: body.into(), framing })
}

pub(super) fn strictness(dialect: Dialect, target: &Target) -> Result<Strictness, ModelError> {
    let also_dropped = if dialect == Dialect::Azure { DROPPED_BY_AZURE } else { &[] };
    let is_strict = dialect.strict_schema(target)?;
    Ok(if is_strict { Strictness::Strict { also_dropped } } else { Strictness::AsIs })
}

/// How the answer's shape is asked for in this dialect. Beside tools a schema would bind their calls as well.
pub(super) fn shape<'a>(
    request: &'a ModelRequest,
    dialect: Dialect,
    target: &Target,
    strictness: Strictness,
) -> Asked<'a> {
    let mut can = target.capabilities.clone();
    let has_tools = can.tools && !request.tools.is_empty();
    if dialect.has_grammar() && !has_tools && can.structured_output == StructuredOutput::ByTool {
        can.structured_output = StructuredOutput::Native;
    }
    asked(request, &can, strictness)
}

fn add_tools(
    request: &ModelRequest,
    target: &Target,
    dialect: Dialect,
    shape: &Asked<'_>,
    body: &mut Map<String, Value>,
) {
    if !target.capabilities.tools {
        return;
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if let Asked::Tool { wanted, name } = shape {
        // With other tools at hand the model may use them first, but a call it has to be.
        let choice = if tools.is_empty() && dialect.names_choice() {
            json!({"type": "function", "function": {"name": name}})
        } else {
            "required".into()
        };
        body.insert("tool_choice".into(), choice);
        tools.push(function(name, "Gives the answer.", &wanted.schema));
    }
    if let Some(choice) = request.sampling.tool_choice.as_ref().filter(|_| !tools.is_empty()) {
        body.entry("tool_choice").or_insert_with(|| chosen(choice, dialect));
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
}

fn chosen(choice: &ToolChoice, dialect: Dialect) -> Value {
    match choice {
        ToolChoice::Tool(name) if dialect.names_choice() => {
            json!({"type": "function", "function": {"name": name}})
        }
        choice => choice_word(choice).into(),
    }
}

/// The words that both of OpenAI's formats have.
pub(in crate::providers) fn choice_word(choice: &ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Never => "none",
        ToolChoice::Required | ToolChoice::Tool(_) => "required",
    }
}

/// While OpenAI's models think they refuse to be told of chance and of words to stop at.
fn sample(request: &ModelRequest, dialect: Dialect, is_fixed: bool, body: &mut Map<String, Value>) {
    let sampling = &request.sampling;
    let numbers = [("temperature", sampling.temperature), ("top_p", sampling.top_p)];
    for (name, number) in numbers.into_iter().filter(|_| !is_fixed) {
        body.extend(number.map(|number| (name.to_owned(), json!(number))));
    }
    if !sampling.stop.is_empty() && !is_fixed {
        body.insert("stop".into(), json!(sampling.stop[..]));
    }
    if let Some(seed) = sampling.seed {
        let name = if dialect == Dialect::Mistral { "random_seed" } else { "seed" };
        body.insert(name.into(), seed.into());
    }
}

fn tool(spec: &ToolSpec) -> Value {
    function(&spec.name, &spec.description, &spec.input_schema)
}

fn function(name: &str, description: &str, schema: &Value) -> Value {
    let function = json!({"name": name, "description": description, "parameters": parameters(schema)});
    json!({"type": "function", "function": function})
}

/// A schema of arguments always is one of an object with properties: servers refuse anything less.
pub(in crate::providers) fn parameters(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.into()
}

fn response_format(shape: &Asked<'_>) -> Option<Value> {
    match shape {
        Asked::Native { wanted, schema, strict, .. } => {
            let mut format = json!({"name": wanted.name, "schema": schema});
            if let Some(strict) = strict {
                format["strict"] = (*strict).into();
            }
            Some(json!({"type": "json_schema", "json_schema": format}))
        }
        Asked::JsonMode(_) => Some(json!({"type": "json_object"})),
        Asked::Nothing | Asked::Tool { .. } | Asked::Prompt(_) => None,
    }
}
