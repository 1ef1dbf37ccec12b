//! The agent loop as a state machine without I/O: the same completions in the same order give the same effects.
//!
//! A turn: take what steers from the inbox, call the model, perform the tool calls that it asks for (neighbours that
//! only read side by side, everything else one by one), join the results in call order, and again. When the model
//! ends its turn, whatever is still in the inbox opens the next one; otherwise the run is done.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::Failure;
use harn_core::chat::{ChatMessage, ModelAnswer, ModelRef, ModelRequest, StopReason, Usage};
use harn_core::message::Message;
use harn_core::run::{
    Completion, Effect, EffectKey, Limits, Program, Request, RunEnd, RunRecord, Seam, Step,
};
use harn_core::tool::{Class, ToolCall, ToolResult, ToolSpec};

use crate::transcript::{conversation, plain, text_of};

pub const PROGRAM: &str = "agent_loop";
/// Raised when the loop would answer an old journal with other effects.
pub const SEMANTICS: u32 = 1;
/// The tool through which the model asks a person.
pub const ASK_USER: &str = "ask_user";

const SCOPE: &str = "main";

/// What the loop waits for.
enum Phase {
    Inbox(Seam),
    Model,
    Tools(ToolTurn),
    Over,
}

/// The tool calls of one answer, and what has come of them.
struct ToolTurn {
    calls: Vec<ToolCall>,
    results: Vec<Option<ToolResult>>,
    /// Effects in flight, by the call they are for.
    open: HashMap<EffectKey, usize>,
    /// The first call that has not been handed out.
    next: usize,
}

/// The built-in agent.
pub struct AgentLoop {
    model: ModelRef,
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    limits: Limits,
    messages: Arc<Vec<ChatMessage>>,
    phase: Phase,
    counts: HashMap<(&'static str, &'static str), u32>,
    usage: Usage,
    model_calls: u32,
    tool_calls: u32,
    /// The last thing that the model said.
    text: String,
}

impl AgentLoop {
    pub fn new(record: &RunRecord) -> Self {
        Self {
            model: record.manifest.model.clone(),
            system: Arc::clone(&record.system_prompt),
            tools: Arc::clone(&record.tools),
            limits: record.manifest.limits,
            messages: Arc::new(conversation(&record.history)),
            phase: Phase::Over,
            counts: HashMap::new(),
            usage: Usage::default(),
            model_calls: 0,
            tool_calls: 0,
            text: String::new(),
        }
    }

    fn key(&mut self, kind: &'static str, scope: &'static str) -> EffectKey {
        let count = self.counts.entry((kind, scope)).or_insert(0);
        *count += 1;
        EffectKey::new(kind, scope, *count)
    }

    fn take_inbox(&mut self, seam: Seam) -> Step {
        self.phase = Phase::Inbox(seam);
        let key = self.key("inbox", seam.as_str());
        Step::Waiting(vec![Effect { key, request: Request::Inbox(seam) }])
    }

    fn hear(&mut self, delivered: &[Message]) {
        let heard = delivered.iter().map(|message| ChatMessage::User { text: text_of(&message.parts) });
        Arc::make_mut(&mut self.messages).extend(heard);
    }

    fn call_model(&mut self) -> Step {
        if self.model_calls == self.limits.max_model_calls {
            let message =
                format!("The run reached its limit of {} model calls.", self.limits.max_model_calls);
            return self.fail(Failure::new("iteration_limit", message));
        }
        self.model_calls += 1;
        self.phase = Phase::Model;
        let request = ModelRequest {
            model: self.model.clone(),
            system: Arc::clone(&self.system),
            messages: Arc::clone(&self.messages),
            tools: Arc::clone(&self.tools),
            max_output_tokens: self.limits.max_output_tokens,
        };
        Step::Waiting(vec![Effect { key: self.key("llm", SCOPE), request: Request::Model(request) }])
    }

    fn answered(&mut self, answer: &ModelAnswer) -> Step {
        self.usage += answer.usage;
        let said =
            ChatMessage::Assistant { text: answer.text.clone(), tool_calls: answer.tool_calls.clone() };
        Arc::make_mut(&mut self.messages).push(said);
        if !answer.text.is_empty() {
            self.text.clone_from(&answer.text);
        }
        match (&answer.stop, answer.tool_calls.is_empty()) {
            (StopReason::EndTurn, true) => self.take_inbox(Seam::LoopExit),
            (StopReason::EndTurn | StopReason::ToolUse, false) => self.begin_tools(answer.tool_calls.clone()),
            (stop, _) => {
                let (code, message) = unfinished(stop);
                self.fail(Failure::new(code, message))
            }
        }
    }

    fn begin_tools(&mut self, calls: Vec<ToolCall>) -> Step {
        self.tool_calls += u32::try_from(calls.len()).unwrap_or(u32::MAX);
        let results = vec![None; calls.len()];
        self.phase = Phase::Tools(ToolTurn { calls, results, open: HashMap::new(), next: 0 });
        self.hand_out()
    }

    /// Hands out the next calls: neighbours that only read together, any other one alone.
    fn hand_out(&mut self) -> Step {
        let Phase::Tools(mut turn) = std::mem::replace(&mut self.phase, Phase::Over) else {
            return Step::Waiting(Vec::new());
        };
        let mut effects = Vec::new();
        while let Some(call) = turn.calls.get(turn.next) {
            let reads = self.class_of(&call.name) == Some(Class::Read);
            if !reads && !effects.is_empty() {
                break;
            }
            let request = request_of(call);
            let key = self.key("tool", SCOPE);
            turn.open.insert(key.clone(), turn.next);
            effects.push(Effect { key, request });
            turn.next += 1;
            if !reads {
                break;
            }
        }
        self.phase = Phase::Tools(turn);
        Step::Waiting(effects)
    }

    fn class_of(&self, name: &str) -> Option<Class> {
        self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.class)
    }

    fn tool_done(&mut self, key: &EffectKey, result: &ToolResult) -> Step {
        let Phase::Tools(turn) = &mut self.phase else { return Step::Waiting(Vec::new()) };
        if let Some(index) = turn.open.remove(key) {
            turn.results[index] = Some(result.clone());
        }
        if !turn.open.is_empty() {
            return Step::Waiting(Vec::new());
        }
        if turn.next < turn.calls.len() {
            return self.hand_out();
        }
        let joined: Vec<ChatMessage> = turn.results.drain(..).flatten().map(as_message).collect();
        Arc::make_mut(&mut self.messages).extend(joined);
        self.take_inbox(Seam::BeforeModel)
    }

    fn fail(&mut self, failure: Failure) -> Step {
        self.end(Err(failure))
    }

    fn end(&mut self, result: Result<String, Failure>) -> Step {
        self.phase = Phase::Over;
        Step::Done(RunEnd {
            result,
            usage: self.usage,
            model_calls: self.model_calls,
            tool_calls: self.tool_calls,
        })
    }
}

impl Program for AgentLoop {
    fn start(&mut self) -> Step {
        self.take_inbox(Seam::BeforeModel)
    }

    fn resume(&mut self, key: &EffectKey, completion: &Completion) -> Step {
        match (&self.phase, completion) {
            (Phase::Inbox(Seam::BeforeModel), Completion::Inbox { messages }) => {
                self.hear(messages);
                self.call_model()
            }
            (Phase::Inbox(Seam::LoopExit), Completion::Inbox { messages }) if messages.is_empty() => {
                let text = std::mem::take(&mut self.text);
                self.end(Ok(text))
            }
            (Phase::Inbox(Seam::LoopExit), Completion::Inbox { messages }) => {
                self.hear(messages);
                self.take_inbox(Seam::BeforeModel)
            }
            (Phase::Model, Completion::Model { answer }) => self.answered(answer),
            (Phase::Model, Completion::ModelFailed { failure }) => self.fail(failure.clone()),
            (Phase::Tools(_), Completion::Tool { result }) => self.tool_done(key, result),
            _ => self
                .fail(Failure::new("journal_mismatch", format!("`{key}` was completed by something else."))),
        }
    }
}

fn request_of(call: &ToolCall) -> Request {
    let question = call.args.get("question").and_then(|value| value.as_str());
    match question.filter(|_| call.name == ASK_USER) {
        Some(prompt) => Request::Question { call: call.clone(), prompt: prompt.to_owned() },
        None => Request::Tool(call.clone()),
    }
}

fn as_message(result: ToolResult) -> ChatMessage {
    let output = plain(&result.output);
    ChatMessage::Tool { call_id: result.call_id, name: result.name, outcome: result.outcome, output }
}

/// Stop reasons that are not the end of a turn. An unknown one is never taken for success.
fn unfinished(stop: &StopReason) -> (&'static str, String) {
    match stop {
        StopReason::MaxTokens => {
            ("output_limit", "The model's answer was cut off at its output limit.".into())
        }
        StopReason::Refusal => ("refusal", "The model refused to answer.".into()),
        StopReason::EndTurn | StopReason::ToolUse => {
            ("malformed_answer", "The model announced tool calls and made none.".into())
        }
        StopReason::Other(word) => {
            ("unknown_stop_reason", format!("The model stopped with `{word}`, which Harn does not know."))
        }
    }
}
