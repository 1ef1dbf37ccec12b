//! The agent loop as a state machine without I/O: the same completions in the same order give the same effects.
//!
//! A turn: take what steers from the inbox, call the model, perform the tool calls that it asks for (neighbours that
//! only read side by side, everything else one by one), join the results in call order, and again. When the model
//! ends its turn, whatever is still in the inbox opens the next one; otherwise the run is done.
//!
//! Before a call for which the conversation has grown too long, its older part is summarised and gives way. A call
//! that fails again and again in the same way is pointed out to the model, and in the end it ends the run.
//!
//! A model that fails in a way for which another one may help gives way to the next route of the manifest, for the rest
//! of the run. The call is then made anew, as an effect of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use harn_core::ask::Ask;
use harn_core::chat::{ChatMessage, ModelAnswer, ModelRef, ModelRequest, StopReason, Thinking, Usage};
use harn_core::message::Message;
use harn_core::route::{FallbackOn, Route};
use harn_core::run::{
    Compaction, Completion, Effect, EffectKey, Limits, Program, Request, RunEnd, RunRecord, Seam, Step,
};
use harn_core::tool::{Class, ToolCall, ToolOutcome, ToolResult, ToolSpec};
use harn_core::{ArtifactId, Failure};

use crate::compact;
use crate::tokens;
use crate::transcript::{conversation, plain, user_message};

pub const PROGRAM: &str = "agent_loop";
/// Raised when the loop would answer an old journal with other effects. Fallbacks did not raise it: manifests of older
/// runs have none, and without any a failed call ends the run as before.
pub const SEMANTICS: u32 = 3;
/// The tool through which the model asks a person.
pub const ASK_USER: &str = "ask_user";

const SCOPE: &str = "main";
/// From this many failures of exactly the same call on, the model is told.
const REPEATED: u32 = 3;
/// With this many, the run ends.
const HOPELESS: u32 = 6;

/// What the loop waits for.
enum Phase {
    Inbox(Seam),
    Model,
    /// The model summarises the messages before this one.
    Summarising(usize),
    Compacting(Compaction),
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
    thinking: Thinking,
    /// The models that have not been asked yet.
    fallbacks: VecDeque<Route>,
    fallback_on: Vec<FallbackOn>,
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
    /// How often exactly this call (its name and arguments) has failed since it last worked.
    failures: HashMap<String, u32>,
    /// The length of the conversation at which a compaction was last tried, so that none is tried in vain again.
    tried_at: usize,
}

impl AgentLoop {
    pub fn new(record: &RunRecord) -> Self {
        Self {
            model: record.manifest.model.clone(),
            thinking: record.manifest.thinking,
            fallbacks: record.manifest.fallbacks.iter().cloned().collect(),
            fallback_on: record.manifest.fallback_on.clone(),
            system: Arc::clone(&record.system_prompt),
            tools: Arc::clone(&record.tools),
            limits: record.manifest.limits,
            messages: Arc::new(
                record
                    .summary
                    .iter()
                    .map(|text| compact::stand_in(text))
                    .chain(conversation(&record.history))
                    .collect(),
            ),
            phase: Phase::Over,
            counts: HashMap::new(),
            usage: Usage::default(),
            model_calls: 0,
            tool_calls: 0,
            text: String::new(),
            failures: HashMap::new(),
            tried_at: 0,
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
        let heard = delivered.iter().map(|message| user_message(&message.parts));
        Arc::make_mut(&mut self.messages).extend(heard);
    }

    /// Calls the model, after a compaction if the conversation has become too long for it.
    fn go_on(&mut self) -> Step {
        let size = tokens::estimate(&self.messages) + tokens::overhead(&self.system, &self.tools);
        let due = size > compact::threshold(&self.limits) && self.messages.len() > self.tried_at;
        match due.then(|| compact::split(&self.messages, &self.limits)).flatten() {
            Some(split) => self.summarise(split),
            None => self.call_model(),
        }
    }

    fn summarise(&mut self, split: usize) -> Step {
        self.tried_at = self.messages.len();
        self.model_calls += 1;
        self.phase = Phase::Summarising(split);
        let text = compact::as_text(&self.messages[..split], &self.limits);
        let request = ModelRequest {
            model: self.model.clone(),
            system: compact::SUMMARISER.into(),
            messages: Arc::new(vec![ChatMessage::user(text)]),
            tools: Arc::from([]),
            max_output_tokens: self.limits.max_output_tokens,
            thinking: self.thinking,
            output_schema: None,
            sampling: Default::default(),
        };
        Step::Waiting(vec![Effect { key: self.key("llm", "compact"), request: Request::Model(request) }])
    }

    fn summarised(&mut self, split: usize, summary: Option<&str>) -> Step {
        let fixed = tokens::overhead(&self.system, &self.tools);
        let compaction = compact::compaction(&self.messages, split, summary, fixed);
        self.phase = Phase::Compacting(compaction.clone());
        Step::Waiting(vec![Effect { key: self.key("compact", SCOPE), request: Request::Compact(compaction) }])
    }

    /// The older part gives way once that is recorded; if it may not, the conversation stays as it is.
    fn compacted(&mut self, compaction: &Compaction, artifact: Option<&ArtifactId>) -> Step {
        if artifact.is_some() {
            let kept = self.messages.len() - compaction.kept;
            let messages = Arc::make_mut(&mut self.messages);
            messages.splice(..kept, [compact::stand_in(&compaction.summary)]);
            self.tried_at = 0;
        }
        self.call_model()
    }

    fn call_model(&mut self) -> Step {
        if self.model_calls >= self.limits.max_model_calls {
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
            thinking: self.thinking,
            output_schema: None,
            sampling: Default::default(),
        };
        Step::Waiting(vec![Effect { key: self.key("llm", SCOPE), request: Request::Model(request) }])
    }

    /// After a failed call: turns to the next model, if there is one that may help.
    fn fall_back(&mut self, failure: &Failure) -> bool {
        let cause = FallbackOn::of(&failure.code).filter(|cause| self.fallback_on.contains(cause));
        let Some(cause) = cause else { return false };
        // What was too long for one model is too long for others that take in no more.
        let window = self.limits.context_window;
        let helps = |route: &Route| cause != FallbackOn::ContextTooLong || route.context_window > window;
        while let Some(route) = self.fallbacks.pop_front() {
            if helps(&route) {
                self.model = route.model;
                self.limits.context_window = route.context_window;
                self.limits.max_output_tokens = route.max_output_tokens;
                self.tried_at = 0;
                return true;
            }
        }
        false
    }

    fn answered(&mut self, answer: &ModelAnswer) -> Step {
        self.usage += answer.usage;
        let said = ChatMessage::Assistant {
            text: answer.text.clone(),
            tool_calls: answer.tool_calls.clone(),
            thoughts: answer.thoughts.clone(),
        };
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
        let done: Vec<(ToolCall, ToolResult)> =
            turn.calls.drain(..).zip(turn.results.drain(..).flatten()).collect();
        for (call, result) in done {
            let times = self.count_failure(&call, &result);
            if times >= HOPELESS {
                let message = format!("Exactly the same call of `{}` failed {times} times.", call.name);
                return self.fail(Failure::new("repeated_failure", message));
            }
            Arc::make_mut(&mut self.messages).push(as_message(result, times));
        }
        self.take_inbox(Seam::BeforeModel)
    }

    /// How often this call has failed by now, without having worked in between.
    fn count_failure(&mut self, call: &ToolCall, result: &ToolResult) -> u32 {
        let same = format!("{} {}", call.name, serde_json::Value::Object(call.args.clone()));
        if result.outcome == ToolOutcome::Ok {
            self.failures.remove(&same);
            return 0;
        }
        let times = self.failures.entry(same).or_insert(0);
        *times += 1;
        *times
    }

    fn fail(&mut self, failure: Failure) -> Step {
        self.end(Err(failure))
    }

    fn end(&mut self, result: Result<String, Failure>) -> Step {
        self.phase = Phase::Over;
        Step::Done(RunEnd {
            result,
            value: None,
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
        let calls = matches!(self.phase, Phase::Model | Phase::Summarising(_));
        if let Completion::ModelFailed { failure, .. } = completion
            && calls
            && self.fall_back(failure)
        {
            return self.go_on();
        }
        match (&self.phase, completion) {
            (Phase::Inbox(Seam::BeforeModel), Completion::Inbox { messages }) => {
                self.hear(messages);
                self.go_on()
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
            (Phase::Model, Completion::ModelFailed { failure, .. }) => self.fail(failure.clone()),
            (Phase::Summarising(split), Completion::Model { answer }) => {
                let split = *split;
                self.usage += answer.usage;
                self.summarised(split, Some(&answer.text))
            }
            (Phase::Summarising(_), Completion::ModelFailed { failure, .. }) if is_final(failure) => {
                self.fail(failure.clone())
            }
            (Phase::Summarising(split), Completion::ModelFailed { .. }) => {
                let split = *split;
                self.summarised(split, None)
            }
            (Phase::Compacting(compaction), Completion::Compacted { artifact_id }) => {
                let compaction = compaction.clone();
                self.compacted(&compaction, artifact_id.as_ref())
            }
            (Phase::Tools(_), Completion::Tool { result }) => self.tool_done(key, result),
            _ => self
                .fail(Failure::new("journal_mismatch", format!("`{key}` was completed by something else."))),
        }
    }
}

fn request_of(call: &ToolCall) -> Request {
    let question = call.args.get("question").and_then(|value| value.as_str());
    match question.filter(|_| call.name == ASK_USER) {
        Some(prompt) => Request::Ask(Box::new(Ask::question(call.clone(), prompt.to_owned()))),
        None => Request::Tool(call.clone()),
    }
}

/// A failure that another call would only repeat.
fn is_final(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "budget_exhausted" | "denied")
}

fn as_message(result: ToolResult, failures: u32) -> ChatMessage {
    let mut output = plain(&result.output);
    if failures >= REPEATED {
        output.push_str(&format!(
            "\n[Exactly this call has now failed {failures} times. Do something else, or say what is in the way.]"
        ));
    }
    let ToolResult { call_id, name, outcome, media, .. } = result;
    ChatMessage::Tool { call_id, name, outcome, output, media }
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
