//! An answer in Anthropic's form, streamed or whole.

use std::borrow::Cow;
use std::collections::BTreeMap;

use harn_core::chat::{ModelRequest, PartialCall, ProviderToolUse, StopReason, Thought, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::request::LONGEST_NAME;
use super::resume::{self, CONTAINER, MOST_RUNNING, PAUSE, PAUSED, Resumed};
use super::{answer_tool, error};
use crate::providers::{WireNames, finish_call};
use crate::wire::Frame;
use crate::{Chunk, Decoder, ModelError, Target};

/// Any event of a stream. Fields that an event does not have are none.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default, borrow)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    content_block: Option<Map<String, Value>>,
    #[serde(default)]
    message: Option<StartedMessage>,
    #[serde(default)]
    usage: Option<Count>,
    #[serde(default)]
    error: Option<Value>,
}

/// No more than the kind of an event.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

const KNOWN: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

/// What was added to a block, or to the message.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default, rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    partial_json: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    container: Option<Value>,
}

#[derive(Deserialize)]
struct StartedMessage {
    #[serde(default)]
    usage: Option<Count>,
    #[serde(default)]
    container: Option<Value>,
}

/// A whole answer, or the error in its place.
#[derive(Deserialize)]
struct WholeMessage {
    #[serde(default)]
    content: Vec<Map<String, Value>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Count>,
    #[serde(default)]
    container: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

/// Tokens so far. Cached input is not part of `input_tokens` here.
#[derive(Clone, Copy, Default, Deserialize)]
struct Count {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Deserialize)]
struct OutputDetails {
    #[serde(default)]
    thinking_tokens: Option<u64>,
}

/// A block that is under way.
enum Block {
    Text,
    /// Reasoning in the provider's form, as far as it has come.
    Thinking(Map<String, Value>),
    /// Anything that has to go back as it came.
    Kept(Map<String, Value>),
    Call(Pending),
    /// A tool that the provider runs, with its own form of the block.
    Theirs(Pending, Map<String, Value>),
    /// Of a kind that we do not know.
    Other,
}

/// A call whose arguments are arriving.
struct Pending {
    id: String,
    name: String,
    raw: String,
}

impl Pending {
    fn new(block: &Map<String, Value>) -> Self {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        // A streamed block begins with an empty object, a whole one has it all.
        let given = block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
        let raw = given.map(|input| Value::Object(input.clone()).to_string()).unwrap_or_default();
        Self { id: text("id"), name: text("name"), raw }
    }

    fn into_partial(self) -> Chunk {
        Chunk::PartialCall(PartialCall { id: self.id, name: self.name, raw: self.raw })
    }
}

pub struct MessageDecoder {
    provider: String,
    names: WireNames,
    answer_tool: Option<String>,
    blocks: BTreeMap<u64, Block>,
    /// Bytes of text and number of calls so far: the places at which thoughts were had.
    text: usize,
    calls: usize,
    answered: bool,
    /// Tools of the provider that have no result yet, with their ids.
    running: Vec<(String, ProviderToolUse)>,
    container: Option<String>,
    count: Count,
    told: Usage,
    stop: Option<String>,
    /// Arguments that are no JSON: an error unless the answer was cut off at its limit.
    broken: Option<ModelError>,
}

impl MessageDecoder {
    pub fn new(request: &ModelRequest, target: &Target) -> Self {
        let Resumed { text, calls, running } = resume::resumed(&request.messages, &target.provider);
        Self {
            provider: target.provider.clone(),
            names: WireNames::of_tools(&request.tools, LONGEST_NAME),
            answer_tool: answer_tool(request, target).map(|answer| answer.name.clone()),
            blocks: BTreeMap::new(),
            text,
            calls,
            answered: false,
            running,
            container: None,
            count: Count::default(),
            told: Usage::default(),
            stop: None,
            broken: None,
        }
    }

    fn read(&mut self, name: &str, data: &str, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        match serde_json::from_str::<Event<'_>>(data) {
            Ok(mut event) => {
                if event.kind.is_empty() {
                    event.kind = Cow::Borrowed(name);
                }
                self.event(event, chunks)
            }
            Err(error) => match serde_json::from_str::<Kind<'_>>(data) {
                // An event of a new kind may have fields of any form.
                Ok(Kind { kind }) if !KNOWN.contains(&&*kind) => Ok(()),
                _ => Err(not_understood(&error)),
            },
        }
    }

    fn event(&mut self, event: Event<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let index = event.index.unwrap_or_default();
        match &*event.kind {
            "message_start" => {
                let (usage, container) =
                    event.message.map(|message| (message.usage, message.container)).unwrap_or_default();
                self.counted(usage, chunks);
                self.runs_in(container);
            }
            "content_block_start" => self.begin(index, event.content_block.unwrap_or_default(), chunks),
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    return self.grow(index, delta, chunks);
                }
            }
            "content_block_stop" => self.finish(index, chunks),
            "message_delta" => {
                self.counted(event.usage, chunks);
                if let Some(delta) = event.delta {
                    self.runs_in(delta.container);
                    self.stop = delta.stop_reason.or(self.stop.take());
                }
            }
            "message_stop" => return self.stopped(chunks),
            "error" => return Err(error::from_event(&event.error.unwrap_or_default())),
            // New kinds of events are announced as possible; `ping` is an old one.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let message: WholeMessage = serde_json::from_slice(body).map_err(|error| not_understood(&error))?;
        if let Some(error) = message.error {
            return Err(error::from_event(&error));
        }
        for (index, block) in (0..).zip(message.content) {
            self.begin(index, block, chunks);
            self.finish(index, chunks);
        }
        self.counted(message.usage, chunks);
        self.runs_in(message.container);
        self.stop = message.stop_reason;
        self.stopped(chunks)
    }

    fn begin(&mut self, index: u64, block: Map<String, Value>, chunks: &mut Vec<Chunk>) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        let begun = match text("type") {
            "text" => {
                self.say(text("text"), chunks);
                Block::Text
            }
            "thinking" => {
                think(text("thinking"), chunks);
                Block::Thinking(block)
            }
            "redacted_thinking" => Block::Kept(block),
            "tool_use" => Block::Call(Pending::new(&block)),
            kind if kind.ends_with("_tool_use") => Block::Theirs(Pending::new(&block), block),
            kind if kind.ends_with("_tool_result") => Block::Kept(block),
            _ => Block::Other,
        };
        self.blocks.insert(index, begun);
    }

    fn grow(&mut self, index: u64, delta: Delta<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let kind = delta.kind.as_deref().unwrap_or_default();
        match (kind, self.blocks.get_mut(&index)) {
            ("text_delta", _) => self.say(&delta.text.unwrap_or_default(), chunks),
            ("input_json_delta", Some(Block::Call(call) | Block::Theirs(call, _))) => {
                call.raw.push_str(&delta.partial_json.unwrap_or_default());
            }
            ("input_json_delta", None | Some(Block::Text)) => {
                let message = format!("arguments came for block {index}, which is no call");
                return Err(ModelError::Malformed { message });
            }
            ("thinking_delta", block) => {
                let piece = delta.thinking.unwrap_or_default();
                if let Some(Block::Thinking(block)) = block {
                    append(block, "thinking", &piece);
                }
                think(&piece, chunks);
            }
            ("signature_delta", Some(Block::Thinking(block))) => {
                // A signature comes in one piece, unlike everything else.
                block.insert("signature".into(), json!(delta.signature.unwrap_or_default()));
            }
            // Citations, and whatever is still to come.
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, index: u64, chunks: &mut Vec<Chunk>) {
        match self.blocks.remove(&index) {
            Some(Block::Thinking(block)) => self.keep(json!({ "block": block }), chunks),
            Some(Block::Kept(block)) => {
                self.match_result(&block, chunks);
                self.keep(json!({ "block": block }), chunks);
            }
            Some(Block::Call(call)) => self.call(call, chunks),
            Some(Block::Theirs(call, mut block)) => {
                let input = serde_json::from_str(&call.raw).unwrap_or_else(|_| json!({}));
                block.insert("input".into(), input);
                let used = resume::used(&block, None);
                match self.running.len() {
                    0..MOST_RUNNING => self.running.push((call.id, used)),
                    _ => chunks.push(Chunk::ProviderTool(used)),
                }
                self.keep(json!({ "block": block }), chunks);
            }
            Some(Block::Text | Block::Other) | None => {}
        }
    }

    /// The container of the provider's tools, which is told in a message of its own form.
    fn runs_in(&mut self, container: Option<Value>) {
        let id = container.as_ref().and_then(|container| container.get("id")?.as_str());
        self.container = id.map(str::to_owned).or(self.container.take());
    }

    fn call(&mut self, call: Pending, chunks: &mut Vec<Chunk>) {
        let Pending { id, name, raw } = call;
        if self.answer_tool.as_deref() == Some(&name) {
            return self.answer(Pending { id, name, raw }, chunks);
        }
        self.calls += 1;
        if let Err(error) = finish_call(id, self.names.receive(name), raw, chunks) {
            self.broken = self.broken.take().or(Some(error));
        }
    }

    /// The arguments of the answer's tool are the answer.
    fn answer(&mut self, call: Pending, chunks: &mut Vec<Chunk>) {
        match serde_json::from_str::<Map<String, Value>>(&call.raw) {
            Ok(_) => {
                self.answered = true;
                self.say(&call.raw, chunks);
            }
            Err(error) => {
                let message = format!("the answer is not a JSON object: {error}");
                self.broken = self.broken.take().or(Some(ModelError::Malformed { message }));
                chunks.push(call.into_partial());
            }
        }
    }

    fn say(&mut self, text: &str, chunks: &mut Vec<Chunk>) {
        if !text.is_empty() {
            self.text += text.len();
            chunks.push(Chunk::Text(text.to_owned()));
        }
    }

    /// Something that goes back with the next request, to the place where it was.
    fn keep(&self, mut opaque: Value, chunks: &mut Vec<Chunk>) {
        let text = opaque.pointer("/block/thinking").and_then(Value::as_str).unwrap_or_default().to_owned();
        opaque["after_text"] = json!(self.text);
        opaque["after_calls"] = json!(self.calls);
        chunks.push(Chunk::Thought(Thought { provider: self.provider.clone(), text, opaque }));
    }

    fn match_result(&mut self, block: &Map<String, Value>, chunks: &mut Vec<Chunk>) {
        let word = |name: &str| block.get(name).and_then(Value::as_str);
        let Some(kind) = word("type").and_then(|kind| kind.strip_suffix("_tool_result")) else { return };
        let id = word("tool_use_id").unwrap_or_default();
        let used = match self.running.iter().position(|(running, _)| running == id) {
            Some(at) => self.running.remove(at).1,
            // Its call is in a message that is no longer there.
            None => ProviderToolUse { name: kind.to_owned(), input: Value::Null, output: None },
        };
        chunks.push(Chunk::ProviderTool(ProviderToolUse { output: block.get("content").cloned(), ..used }));
    }

    /// Counts are totals of the message; what is told is the difference to what was told before.
    fn counted(&mut self, count: Option<Count>, chunks: &mut Vec<Chunk>) {
        let Some(new) = count else { return };
        let known = &mut self.count;
        known.input_tokens = new.input_tokens.or(known.input_tokens);
        known.output_tokens = new.output_tokens.or(known.output_tokens);
        known.cache_creation_input_tokens =
            new.cache_creation_input_tokens.or(known.cache_creation_input_tokens);
        known.cache_read_input_tokens = new.cache_read_input_tokens.or(known.cache_read_input_tokens);
        known.output_tokens_details = new.output_tokens_details.or(known.output_tokens_details);
        let thinking_tokens = known.output_tokens_details.and_then(|details| details.thinking_tokens);
        let cached_tokens = known.cache_read_input_tokens.unwrap_or_default();
        let cache_write_tokens = known.cache_creation_input_tokens.unwrap_or_default();
        let fresh = known.input_tokens.unwrap_or_default();
        let told = &self.told;
        let more = Usage {
            input_tokens: fresh
                .saturating_add(cached_tokens)
                .saturating_add(cache_write_tokens)
                .saturating_sub(told.input_tokens),
            output_tokens: known.output_tokens.unwrap_or_default().saturating_sub(told.output_tokens),
            cached_tokens: cached_tokens.saturating_sub(told.cached_tokens),
            cache_write_tokens: cache_write_tokens.saturating_sub(told.cache_write_tokens),
            thinking_tokens: thinking_tokens.unwrap_or_default().saturating_sub(told.thinking_tokens),
        };
        if more != Usage::default() {
            self.told += more;
            chunks.push(Chunk::Usage(more));
        }
    }

    fn stopped(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let Some(word) = self.stop.take() else {
            return Err(ModelError::Malformed { message: "it ended without a stop reason".into() });
        };
        let is_paused = word == PAUSE && self.calls == 0;
        let stop = match stop_reason(word) {
            StopReason::ToolUse if self.answered && self.calls == 0 => StopReason::EndTurn,
            // The calls are made first; their results let the provider go on as well.
            StopReason::Other(word) if word == PAUSE && !is_paused => StopReason::ToolUse,
            stop => stop,
        };
        if let Some(error) = self.broken.take().filter(|_| stop != StopReason::MaxTokens) {
            return Err(error);
        }
        if let Some(container) = self.container.take() {
            self.keep(json!({ CONTAINER: container }), chunks);
        }
        if is_paused {
            self.keep(json!({ PAUSED: true }), chunks);
        } else if stop != StopReason::ToolUse {
            // Tools that still run in a turn that goes on are told with their results.
            chunks.extend(self.running.drain(..).map(|(_, used)| Chunk::ProviderTool(used)));
        }
        chunks.push(Chunk::Stop(stop));
        Ok(())
    }
}

impl Decoder for MessageDecoder {
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        match frame {
            Frame::Event { event, data } => self.read(event, data, chunks),
            Frame::Line(data) => self.read("", data, chunks),
            Frame::Whole(body) => self.whole(body, chunks),
        }
    }

    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        for block in std::mem::take(&mut self.blocks).into_values() {
            if let Block::Call(mut call) = block {
                call.name = self.names.receive(call.name);
                chunks.push(call.into_partial());
            }
        }
        Err(ModelError::CutStream { message: "the stream ended before `message_stop`".into() })
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

fn think(text: &str, chunks: &mut Vec<Chunk>) {
    if !text.is_empty() {
        chunks.push(Chunk::Thinking(text.to_owned()));
    }
}

fn append(block: &mut Map<String, Value>, field: &str, piece: &str) {
    match block.get_mut(field) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => {
            block.insert(field.to_owned(), json!(piece));
        }
    }
}

fn not_understood(error: &serde_json::Error) -> ModelError {
    ModelError::Malformed { message: format!("an event is not the JSON that was expected: {error}") }
}
