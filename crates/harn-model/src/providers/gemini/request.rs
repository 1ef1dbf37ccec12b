//! A request in the words of `generateContent`.

use harn_core::chat::{ModelRequest, ToolChoice};
use serde_json::{Map, Value, json};

use super::contents;
use super::family::{generation, thinking_config};
use super::output::Output;
use super::schema::{self, Dialect};
use crate::{Delivery, Framing, HttpCall, ModelError, Target};

pub(super) fn call(request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
    let (method, framing) = match target.delivery {
        Delivery::Streamed => ("streamGenerateContent?alt=sse", Framing::Events),
        Delivery::Whole => ("generateContent", Framing::Whole),
    };
    let path = format!("/v1beta/{}:{method}", resource(&target.model));
    Ok(HttpCall { path, headers: Vec::new(), body: body(request, target)?, framing })
}

/// The path of a model. A name that is one already, such as `tunedModels/mine`, stays.
fn resource(model: &str) -> String {
    let folder = if model.contains('/') { "" } else { "models/" };
    let mut path = folder.to_owned();
    for byte in model.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' | b'@' => {
                path.push(byte.into())
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

fn body(request: &ModelRequest, target: &Target) -> Result<Value, ModelError> {
    let output = Output::of(request, target);
    let dialect = Dialect::of(target)?;
    let conversation = contents::conversation(&request.messages, target);
    let mut body = json!({ "contents": conversation.contents });
    let mut system = vec![request.system.to_string()];
    system.extend(conversation.system);
    system.extend(instruction(&output));
    let parts: Vec<Value> =
        system.iter().filter(|text| !text.is_empty()).map(|text| json!({ "text": text })).collect();
    if !parts.is_empty() {
        body["systemInstruction"] = json!({ "parts": parts });
    }
    let tools = tools(request, target, &output, dialect);
    let config = tool_config(request, target, &output, &tools);
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    if !config.is_empty() {
        body["toolConfig"] = Value::Object(config);
    }
    body["generationConfig"] = generation_config(request, target, &output, dialect);
    Ok(body)
}

fn instruction(output: &Output<'_>) -> Option<String> {
    match output {
        Output::Free | Output::Native(_) | Output::Tool(..) => None,
        Output::Json(wanted) | Output::Prompt(wanted) => Some(format!(
            "Answer with one JSON value and nothing around it. It has to fit this JSON Schema:\n{}",
            wanted.schema
        )),
    }
}

fn tools(request: &ModelRequest, target: &Target, output: &Output<'_>, dialect: Dialect) -> Vec<Value> {
    let offered = if target.capabilities.tools { &request.tools[..] } else { &[] };
    let mut declared: Vec<Value> = offered
        .iter()
        .map(|tool| declaration(&tool.name, &tool.description, &tool.input_schema, dialect))
        .collect();
    if let Output::Tool(wanted, name) = output {
        let purpose = "Gives the final answer. Call it once, when the answer is complete.";
        declared.push(declaration(name, purpose, &wanted.schema, dialect));
    }
    let mut tools = Vec::new();
    if !declared.is_empty() {
        tools.push(json!({ "functionDeclarations": declared }));
    }
    tools.extend(target.options.get("tools").and_then(Value::as_array).into_iter().flatten().cloned());
    tools
}

fn declaration(name: &str, description: &str, input: &Value, dialect: Dialect) -> Value {
    let mut declared = json!({ "name": name, "description": description });
    match dialect {
        Dialect::Json => declared["parametersJsonSchema"] = schema::json_schema(input),
        Dialect::OpenApi => {
            let parameters = schema::open_api(input);
            // An object without properties is refused; no parameters at all mean the same.
            if parameters.get("properties").is_some() {
                declared["parameters"] = parameters;
            }
        }
    }
    declared
}

fn tool_config(
    request: &ModelRequest,
    target: &Target,
    output: &Output<'_>,
    tools: &[Value],
) -> Map<String, Value> {
    let mut config = Map::new();
    if let Output::Tool(_, name) = output {
        // The model has to call something, the answer's own tool at the end.
        let mut calling = json!({ "mode": "ANY" });
        if !target.capabilities.tools || request.tools.is_empty() {
            calling["allowedFunctionNames"] = json!([name]);
        }
        config.insert("functionCallingConfig".into(), calling);
    } else if let Some(choice) = request.sampling.tool_choice.as_ref().filter(|_| !tools.is_empty()) {
        config.insert("functionCallingConfig".into(), chosen(choice));
    }
    // Functions and tools of Google in one request are refused unless the answer may tell what the latter did.
    let (ours, theirs): (Vec<&Value>, Vec<&Value>) =
        tools.iter().partition(|tool| tool.get("functionDeclarations").is_some());
    if !ours.is_empty() && !theirs.is_empty() && generation(&target.model).is_some_and(|number| number >= 3) {
        config.insert("includeServerSideToolInvocations".into(), json!(true));
    }
    config
}

fn chosen(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::Never => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    }
}

fn sample(request: &ModelRequest, config: &mut Map<String, Value>) {
    let sampling = &request.sampling;
    let said = [
        ("temperature", sampling.temperature.map(Value::from)),
        ("topP", sampling.top_p.map(Value::from)),
        ("stopSequences", (!sampling.stop.is_empty()).then(|| json!(sampling.stop[..]))),
        ("seed", sampling.seed.map(Value::from)),
    ];
    config.extend(said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
}

fn generation_config(
    request: &ModelRequest,
    target: &Target,
    output: &Output<'_>,
    dialect: Dialect,
) -> Value {
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), json!(request.max_output_tokens));
    if let Some(thinking) = thinking_config(request.thinking, request.max_output_tokens, target) {
        config.insert("thinkingConfig".into(), thinking);
    }
    if let Output::Native(_) | Output::Json(_) = output {
        config.insert("responseMimeType".into(), json!("application/json"));
    }
    if let Output::Native(wanted) = output {
        let (name, schema) = match dialect {
            Dialect::Json => ("responseJsonSchema", schema::json_schema(&wanted.schema)),
            Dialect::OpenApi => ("responseSchema", schema::open_api(&wanted.schema)),
        };
        config.insert(name.into(), schema);
    }
    sample(request, &mut config);
    if let Some(more) = target.options.get("generation_config").and_then(Value::as_object) {
        config.extend(more.clone());
    }
    Value::Object(config)
}
