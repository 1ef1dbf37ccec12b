//! A request in Anthropic's form.

use harn_core::chat::{ChatMessage, Media, MediaSource, ModelRequest, SearchVariant, Thought, ToolChoice};
use harn_core::tool::{ToolCall, ToolOutcome, ToolSpec};
use serde_json::{Map, Value, json};

use super::{answer_tool, resume, thinking};
use crate::providers::{WireIds, WireNames};
use crate::{Capabilities, Delivery, ModelError, Target, ThinkingKind};

/// The API allows no more marks than this.
const CACHE_MARKS: usize = 4;
const LONGEST_ID: usize = 64;
pub(super) const LONGEST_NAME: usize = 128;

pub(super) fn body(request: &ModelRequest, target: &Target) -> Result<Value, ModelError> {
    let names = WireNames::of_tools(&request.tools, LONGEST_NAME);
    let mut body = Map::new();
    body.insert("model".into(), json!(target.model));
    body.insert("max_tokens".into(), json!(request.max_output_tokens));
    let (notes, rest) = leading_notes(&request.messages);
    let mut system = system(&request.system, &notes);
    let mut tools = tools(request, target, &names);
    let mut turns = turns(rest, target, names.clone());
    if target.capabilities.prompt_caching && !request.sampling.no_cache {
        mark_for_cache(&mut system, &mut tools, &mut turns);
    }
    if !system.is_empty() {
        body.insert("system".into(), Value::Array(system));
    }
    body.insert("messages".into(), turns.into_iter().map(Turn::into_json).collect());
    if let Some(container) = resume::container(&request.messages, &target.provider) {
        body.insert("container".into(), json!(container));
    }
    shape_answer(request, target, &names, &mut tools, &mut body)?;
    sample(request, target, &mut body);
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    if target.delivery == Delivery::Streamed {
        body.insert("stream".into(), json!(true));
    }
    Ok(Value::Object(body))
}

/// Thinking and the shape of the answer, which the API does not let us choose independently.
fn shape_answer(
    request: &ModelRequest,
    target: &Target,
    names: &WireNames,
    tools: &mut Vec<Value>,
    body: &mut Map<String, Value>,
) -> Result<(), ModelError> {
    let mut lowered =
        thinking::lower(request.thinking, &target.capabilities.thinking, request.max_output_tokens);
    let mut output = Map::new();
    if let Some(answer) = answer_tool(request, target) {
        if names.is_taken(&answer.name) {
            let message =
                format!("the answer's shape and a tool are both called `{}`; rename one", answer.name);
            return Err(ModelError::InvalidRequest { message });
        }
        // With other tools at hand the model may use them first. A choice that is forced rules out thinking.
        let choice = match tools.is_empty() {
            true => json!({"type": "tool", "name": answer.name}),
            false => json!({"type": "any"}),
        };
        body.insert("tool_choice".into(), choice);
        tools.push(json!({
            "name": answer.name,
            "description": "Gives the final answer.",
            "input_schema": answer.schema,
        }));
        lowered.thinking = None;
    } else {
        if let Some(answer) = &request.output_schema {
            output.insert("format".into(), json!({"type": "json_schema", "schema": answer.schema}));
        }
        if let Some(choice) = request.sampling.tool_choice.as_ref().filter(|_| !tools.is_empty()) {
            body.insert("tool_choice".into(), chosen(choice, names));
            lowered.thinking = lowered.thinking.filter(|_| !choice.is_forced());
        }
    }
    if let Some(effort) = lowered.effort {
        output.insert("effort".into(), json!(effort));
    }
    if let Some(thinking) = lowered.thinking {
        body.insert("thinking".into(), thinking);
    }
    if !output.is_empty() {
        body.insert("output_config".into(), Value::Object(output));
    }
    Ok(())
}

fn chosen(choice: &ToolChoice, names: &WireNames) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Never => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": names.clone().send(name, LONGEST_NAME)}),
    }
}

/// Models that decide by themselves how much to think refuse to be told of chance, and so does every model while it
/// thinks. Of the two numbers the API takes one. It has no seed.
fn sample(request: &ModelRequest, target: &Target, body: &mut Map<String, Value>) {
    let sampling = &request.sampling;
    // The API refuses blank ones.
    let stop: Vec<&String> = sampling.stop.iter().filter(|word| !word.trim().is_empty()).collect();
    if !stop.is_empty() {
        body.insert("stop_sequences".into(), json!(stop));
    }
    let is_old = matches!(target.capabilities.thinking, ThinkingKind::Budget { .. } | ThinkingKind::Never);
    let thinks = body.get("thinking").is_some_and(|thinking| thinking["type"] != "disabled");
    if !is_old || thinks || target.options.contains_key("version") {
        return;
    }
    let numbers = [("temperature", sampling.temperature), ("top_p", sampling.top_p)];
    if let Some((name, Some(number))) = numbers.into_iter().find(|(_, number)| number.is_some()) {
        body.insert(name.into(), json!(number));
    }
}

/// The API has instructions at the beginning only; notes that come later are said in the user's turn.
fn leading_notes<'a>(messages: &'a [ChatMessage]) -> (Vec<&'a str>, &'a [ChatMessage]) {
    let note = |message: &ChatMessage| matches!(message, ChatMessage::System { .. });
    let count = messages.iter().take_while(|message| note(message)).count();
    let (notes, rest) = messages.split_at(count);
    let text = |message: &'a ChatMessage| match message {
        ChatMessage::System { text } => Some(text.as_str()),
        _ => None,
    };
    (notes.iter().filter_map(text).collect(), rest)
}

fn system(prompt: &str, notes: &[&str]) -> Vec<Value> {
    [prompt].iter().chain(notes).filter_map(|text| words(text)).collect()
}

/// A block of text; the API refuses blank ones.
fn words(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn tools(request: &ModelRequest, target: &Target, names: &WireNames) -> Vec<Value> {
    let mut names = names.clone();
    let search = request.sampling.tool_search.as_ref();
    let mut describe = |tool: &ToolSpec| {
        let schema = match &tool.input_schema {
            Value::Object(schema) => Value::Object(schema.clone()),
            _ => json!({"type": "object"}),
        };
        let name = names.send(&tool.name, LONGEST_NAME);
        let mut described = json!({"name": name, "description": tool.description, "input_schema": schema});
        if search.is_some_and(|search| search.deferred.contains(&tool.name)) {
            described["defer_loading"] = json!(true);
        }
        described
    };
    let offered = request.tools.iter().filter(|_| target.capabilities.tools);
    let mut tools: Vec<Value> = offered.map(&mut describe).collect();
    if let Some(search) = search.filter(|_| !tools.is_empty()) {
        tools.insert(0, search_tool(search.variant));
    }
    let theirs = target.options.get("server_tools").and_then(Value::as_array);
    tools.extend(theirs.into_iter().flatten().filter(|tool| tool.is_object()).cloned());
    tools
}

fn search_tool(variant: SearchVariant) -> Value {
    match variant {
        SearchVariant::Bm25 => {
            json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})
        }
        SearchVariant::Regex => {
            json!({"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"})
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// All that one side says before the other one does.
struct Turn {
    role: Role,
    /// Results of calls, which have to come first.
    results: Vec<Value>,
    blocks: Vec<Value>,
}

impl Turn {
    fn into_json(self) -> Value {
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let content: Vec<Value> = self.results.into_iter().chain(self.blocks).collect();
        json!({"role": role, "content": content})
    }
}

/// The conversation in turns that alternate, beginning and ending with the user's, unless the model's is to go on.
fn turns(messages: &[ChatMessage], target: &Target, mut names: WireNames) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut ids = WireIds::default();
    for message in messages {
        let mut turn = said(message, target, &mut names, &mut ids);
        if turn.results.is_empty() && turn.blocks.is_empty() {
            continue;
        }
        match turns.last_mut().filter(|last| last.role == turn.role) {
            Some(last) => {
                last.results.append(&mut turn.results);
                last.blocks.append(&mut turn.blocks);
            }
            None => turns.push(turn),
        }
    }
    let go_on = || Turn { role: Role::User, results: vec![], blocks: words("Go on.").into_iter().collect() };
    if turns.first().is_none_or(|turn| turn.role == Role::Assistant) {
        turns.insert(0, go_on());
    }
    let ends_open = turns.last().is_some_and(|turn| turn.role == Role::Assistant);
    if ends_open && !resume::is_paused(messages, &target.provider) {
        turns.push(go_on());
    }
    turns
}

fn said(message: &ChatMessage, target: &Target, names: &mut WireNames, ids: &mut WireIds) -> Turn {
    let (mut results, mut blocks) = (Vec::new(), Vec::new());
    let role = match message {
        ChatMessage::System { text } => {
            blocks.extend(words(text).and_then(|_| words(&format!("<system_note>\n{text}\n</system_note>"))));
            Role::User
        }
        ChatMessage::User { text, media } => {
            blocks.extend(media.iter().map(|medium| shown(medium, &target.capabilities)));
            blocks.extend(words(text));
            Role::User
        }
        ChatMessage::Assistant { text, tool_calls, thoughts } => {
            let thoughts = thoughts.iter().filter(|thought| thought.provider == target.provider);
            blocks = answered(text, tool_calls, thoughts, names, ids);
            Role::Assistant
        }
        ChatMessage::Tool { call_id, outcome, output, media, .. } => {
            match ids.result(call_id, LONGEST_ID) {
                Some(id) => results.push(result(id, *outcome, output, media, &target.capabilities)),
                None => {
                    blocks.extend(words(output));
                    blocks.extend(media.iter().map(|medium| shown(medium, &target.capabilities)));
                }
            }
            Role::User
        }
    };
    Turn { role, results, blocks }
}

/// What the model said, with its thoughts at the places where it had them: the API checks that.
fn answered<'a>(
    text: &str,
    calls: &[ToolCall],
    thoughts: impl Iterator<Item = &'a Thought>,
    names: &mut WireNames,
    ids: &mut WireIds,
) -> Vec<Value> {
    let mut blocks = Vec::new();
    let (mut told, mut made) = (0, 0);
    let mut go_to = |blocks: &mut Vec<Value>, text_end: usize, calls_end: usize| {
        let text_end = text.floor_char_boundary(text_end.clamp(told, text.len()));
        let calls_end = calls_end.clamp(made, calls.len());
        blocks.extend(words(&text[told..text_end]));
        blocks.extend(calls[made..calls_end].iter().map(|call| called(call, names, ids)));
        (told, made) = (text_end, calls_end);
    };
    for Thought { opaque, .. } in thoughts {
        let place = |name: &str| {
            opaque.get(name).and_then(Value::as_u64).map_or(0, |at| usize::try_from(at).unwrap_or(usize::MAX))
        };
        go_to(&mut blocks, place("after_text"), place("after_calls"));
        blocks.extend(opaque.get("block").cloned());
    }
    go_to(&mut blocks, text.len(), calls.len());
    blocks
}

fn called(call: &ToolCall, names: &mut WireNames, ids: &mut WireIds) -> Value {
    let (id, name) = (ids.call(&call.id, LONGEST_ID), names.send(&call.name, LONGEST_NAME));
    json!({"type": "tool_use", "id": id, "name": name, "input": call.args})
}

fn result(id: String, outcome: ToolOutcome, output: &str, media: &[Media], can: &Capabilities) -> Value {
    let content: Vec<Value> =
        words(output).into_iter().chain(media.iter().map(|medium| shown(medium, can))).collect();
    let mut block = json!({"type": "tool_result", "tool_use_id": id});
    if !content.is_empty() {
        block["content"] = Value::Array(content);
    }
    if outcome != ToolOutcome::Ok {
        block["is_error"] = json!(true);
    }
    block
}

/// An image or a document, or a word in its place where the model takes none.
fn shown(medium: &Media, can: &Capabilities) -> Value {
    let kind = match medium.mime_type.as_str() {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" if can.images => "image",
        "application/pdf" if can.documents => "document",
        _ => return left_out(medium),
    };
    let source = match &medium.source {
        MediaSource::Data(data) => json!({"type": "base64", "media_type": medium.mime_type, "data": data}),
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::Artifact(_) => return left_out(medium),
    };
    json!({"type": kind, "source": source})
}

fn left_out(medium: &Media) -> Value {
    json!({"type": "text", "text": format!("[{} left out: the model does not take it]", medium.mime_type)})
}

/// Marks what stays the same from call to call: the tools, the instructions, and the conversation up to the last two
/// turns of the user, so that the next call finds what this one wrote.
fn mark_for_cache(system: &mut [Value], tools: &mut [Value], turns: &mut [Turn]) {
    let mut users = turns.iter_mut().rev().filter(|turn| turn.role == Role::User);
    let newest = users.next().and_then(last_block);
    let before = users.next().and_then(last_block);
    // What is not loaded cannot be marked.
    let tool = tools.iter_mut().rev().find(|tool| tool.get("defer_loading").is_none());
    let marked = [tool, system.last_mut(), newest, before];
    for block in marked.into_iter().flatten().take(CACHE_MARKS) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn last_block(turn: &mut Turn) -> Option<&mut Value> {
    turn.blocks.last_mut().or(turn.results.last_mut())
}
