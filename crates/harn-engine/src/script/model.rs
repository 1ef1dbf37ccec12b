//! Calls of models by scripts: from a dict of the program to a request, and from an answer to a dict.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::chat::{
    ModelAnswer, ModelRef, ModelRequest, OutputSchema, Sampling, SearchVariant, Thinking, ToolChoice,
    ToolSearch, Usage,
};
use harn_core::run::Completion;
use harn_core::tool::{Annotations, Class, SideEffect, ToolSpec};
use serde_json::{Map, Value, json};

use super::{messages, wire};

/// What a script has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub usage: Usage,
    pub model_calls: u32,
    pub tool_calls: u32,
}

impl Spent {
    pub fn count(&mut self, completion: &Completion) {
        match completion {
            Completion::Model { answer } => {
                self.usage += answer.usage;
                self.model_calls += 1;
            }
            Completion::ModelFailed { .. } => self.model_calls += 1,
            Completion::Tool { .. } => self.tool_calls += 1,
            Completion::Inbox { .. } | Completion::Compacted { .. } => {}
            Completion::Time { .. } | Completion::Answered { .. } => {}
        }
    }
}

/// The model is named as the script names it; the driver finds out which one that is. The error says what is wrong with
/// the request.
pub fn request(asked: &Value) -> Result<ModelRequest, String> {
    let asked = &wire::plain(asked);
    if !asked.is_object() {
        return Err("A request to a model is a dict.".into());
    }
    let text = |name: &str| optional(asked, name, "a string", Value::as_str);
    let tools = list(asked, "tools")?;
    Ok(ModelRequest {
        model: ModelRef {
            provider: text("provider")?.unwrap_or_default().trim().to_owned(),
            model: text("model")?.unwrap_or_default().trim().to_owned(),
        },
        system: text("system")?.unwrap_or_default().into(),
        messages: Arc::new(messages::read(list(asked, "messages")?)?),
        tools: tools.iter().enumerate().map(|(at, spec)| tool(at, spec)).collect::<Result<_, _>>()?,
        max_output_tokens: max_tokens(asked)?,
        thinking: thinking(&asked["thinking"])?,
        output_schema: asked["schema"].as_object().map(|schema| OutputSchema {
            name: schema.get("name").and_then(Value::as_str).unwrap_or("answer").to_owned(),
            schema: schema.get("schema").cloned().unwrap_or_default(),
        }),
        sampling: sampling(asked, tools)?,
    })
}

/// A field that may be missing, and is of one kind if it is there.
fn optional<'a, T>(
    asked: &'a Value,
    name: &str,
    kind: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match &asked[name] {
        Value::Null => Ok(None),
        value => read(value).map(Some).ok_or_else(|| format!("`{name}` has to be {kind}, not {value}.")),
    }
}

fn list<'a>(asked: &'a Value, name: &str) -> Result<&'a [Value], String> {
    let list = optional(asked, name, "a list", Value::as_array)?;
    Ok(list.map(Vec::as_slice).unwrap_or_default())
}

/// 0 for whatever the model gives by itself.
fn max_tokens(asked: &Value) -> Result<u32, String> {
    let tokens = optional(asked, "max_tokens", "a whole number above 0", |value| {
        value.as_u64().filter(|tokens| *tokens > 0)
    })?;
    Ok(tokens.map_or(0, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
}

fn thinking(wanted: &Value) -> Result<Thinking, String> {
    match wanted {
        Value::Null | Value::Bool(true) => Ok(Thinking::Auto),
        Value::Bool(false) => Ok(Thinking::Off),
        Value::String(word) => word.parse().map_err(|error| format!("{error}.")),
        other => Err(format!("`thinking` has to be a word such as \"high\", not {other}.")),
    }
}

fn sampling(asked: &Value, tools: &[Value]) -> Result<Sampling, String> {
    let number = |name: &str| optional(asked, name, "a number", Value::as_f64);
    let stop = match &asked["stop"] {
        Value::String(word) => Arc::from([word.clone()]),
        _ => list(asked, "stop")?.iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect(),
    };
    let timeout_ms = number("timeout_ms")?.filter(|ms| *ms > 0.0).map(|ms| ms as u64);
    Ok(Sampling {
        temperature: number("temperature")?,
        top_p: number("top_p")?,
        stop,
        seed: optional(asked, "seed", "a whole number", Value::as_i64)?,
        tool_choice: tool_choice(&asked["tool_choice"])?,
        timeout_ms,
        tool_search: tool_search(&asked["tool_search"], tools)?,
        no_cache: optional(asked, "cache", "true or false", Value::as_bool)? == Some(false),
        stream: optional(asked, "stream", "a string", Value::as_str)?.map(Arc::from),
    })
}

/// A word, the name of a tool, or either of them in the forms of providers.
fn tool_choice(wanted: &Value) -> Result<Option<ToolChoice>, String> {
    let word = match wanted {
        Value::Null => return Ok(None),
        Value::String(word) => word.as_str(),
        other => {
            let name = other.pointer("/function/name").unwrap_or(&other["name"]).as_str();
            match name.or(other["type"].as_str()) {
                Some(name) => name,
                None => return Err(format!("`tool_choice` names no tool: {other}.")),
            }
        }
    };
    Ok(Some(match word {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::Never,
        "required" | "any" => ToolChoice::Required,
        name => ToolChoice::Tool(name.to_owned()),
    }))
}

/// Only the provider's own search; a search in the program is the program's.
fn tool_search(wanted: &Value, tools: &[Value]) -> Result<Option<ToolSearch>, String> {
    if wanted["native"] != true {
        return Ok(None);
    }
    let variant = match wanted["variant"].as_str() {
        None => SearchVariant::default(),
        Some(word) => SearchVariant::ALL
            .into_iter()
            .find(|variant| variant.as_str() == word)
            .ok_or_else(|| format!("`{word}` is no way to search for tools; use \"bm25\" or \"regex\"."))?,
    };
    let is_deferred = |tool: &&Value| tool["defer_loading"] == true;
    let named = |tool: &Value| tool["name"].as_str().map(str::to_owned);
    Ok(Some(ToolSearch { variant, deferred: tools.iter().filter(is_deferred).filter_map(named).collect() }))
}

fn tool(at: usize, tool: &Value) -> Result<ToolSpec, String> {
    let text = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
    let name = text("name");
    if name.is_empty() {
        return Err(format!("`tools[{at}]` has no name."));
    }
    let schema = [&tool["input_schema"], &tool["parameters"]].into_iter().find(|schema| schema.is_object());
    Ok(ToolSpec {
        name,
        description: text("description"),
        input_schema: schema.cloned().unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        output_schema: Value::Null,
        class: Class::Once,
        side_effect: SideEffect::None,
        annotations: Annotations::default(),
    })
}

pub fn answer(answer: &ModelAnswer) -> Value {
    let call = |call: &harn_core::tool::ToolCall| {
        let arguments = wire::escape(Value::Object(call.args.clone()));
        json!({ "id": call.id, "name": call.name, "arguments": arguments })
    };
    let by = answer.answered_by.as_ref();
    let micro_usd = by.and_then(|by| by.micro_usd);
    let mut fields: HashMap<&str, Value> = HashMap::from([
        ("text", answer.text.as_str().into()),
        ("tool_calls", answer.tool_calls.iter().map(call).collect()),
        ("thinking", thought(answer).into()),
        ("stop_reason", answer.stop.as_str().into()),
        ("model", by.map(|by| by.model.model.as_str()).into()),
        ("provider", by.map(|by| by.model.provider.as_str()).into()),
        ("input_tokens", answer.usage.input_tokens.into()),
        ("output_tokens", answer.usage.output_tokens.into()),
        ("cache_read_tokens", answer.usage.cached_tokens.into()),
        ("cache_write_tokens", answer.usage.cache_write_tokens.into()),
        ("cost_usd", micro_usd.map(|micro| micro as f64 / 1e6).into()),
    ]);
    if !answer.thoughts.is_empty() {
        // As text, because providers want it back to the letter.
        fields.insert(messages::THOUGHTS, json!(answer.thoughts).to_string().into());
    }
    if !answer.provider_tools.is_empty() {
        fields.insert("provider_tools", wire::escape(json!(answer.provider_tools)));
    }
    let fields: Map<String, Value> = fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Value::Object(fields)
}

/// What the model thought, in words, where it tells.
fn thought(answer: &ModelAnswer) -> Option<String> {
    if !answer.thinking.is_empty() {
        return Some(answer.thinking.clone());
    }
    let told: Vec<&str> = answer.thoughts.iter().map(|thought| thought.text.as_str()).collect();
    Some(told.join("\n").trim().to_owned()).filter(|text| !text.is_empty())
}

/// The word of the language for a failure of a model.
pub fn category(code: &str) -> &str {
    match code {
        "rate_limited" => "rate_limit",
        "context_too_long" => "context_overflow",
        "network" | "cut_stream" => "transient_network",
        "malformed" | "internal_error" => "server_error",
        "content_filter" => "invalid_request",
        "model_unavailable" => "not_found",
        "budget_exhausted" => "budget_exceeded",
        "denied" => "permission_denied",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use harn_core::route::FallbackOn;
    use harn_lang::builtins;

    use super::*;

    #[test]
    fn every_failure_has_a_category_that_the_language_knows() {
        let ours = ["invalid_request", "content_filter", "denied", "budget_exhausted", "internal_error"];
        let codes = FallbackOn::ALL.map(FallbackOn::code).into_iter().chain(ours);
        for code in codes.chain(["cancelled"]) {
            let category = category(code);
            assert_eq!(builtins::category(category), category, "{code}");
        }
    }

    #[test]
    fn what_a_request_cannot_be_is_told_by_name() {
        let cases = [
            (json!([]), "A request to a model is a dict."),
            (json!({"messages": "hi"}), "`messages` has to be a list, not \"hi\"."),
            (json!({"max_tokens": -1}), "`max_tokens` has to be a whole number above 0, not -1."),
            (json!({"temperature": "hot"}), "`temperature` has to be a number, not \"hot\"."),
            (json!({"tools": [{}]}), "`tools[0]` has no name."),
            (
                json!({"thinking": "deep"}),
                "`deep` is not a thought level; use one of auto, off, minimal, low, medium, high, xhigh.",
            ),
            (
                json!({"tool_search": {"native": true, "variant": "sql"}}),
                "`sql` is no way to search for tools; use \"bm25\" or \"regex\".",
            ),
            (json!({"messages": ["hi"]}), "`messages[0]` has to be a dict with `role` and `content`."),
            (
                json!({"messages": [{"role": "wizard"}]}),
                "`messages[0]` has the role \"wizard\"; use user, assistant, tool or system.",
            ),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "image"}]}]}),
                "`messages[0].content[0]`: an image needs `data` (bytes or base64) or `url`.",
            ),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "song"}]}]}),
                "`messages[0].content[0]`: there is no block of the type \"song\"; use text, image, document, \
                 tool_use or tool_result.",
            ),
        ];
        for (asked, expected) in cases {
            assert_eq!(request(&asked).unwrap_err(), expected, "{asked}");
        }
    }
}
