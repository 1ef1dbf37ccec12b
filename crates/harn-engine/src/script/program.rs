//! The program itself: a machine that runs until it waits, and the effects that it waits for.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use harn_core::Failure;
use harn_core::ask::Ask;
use harn_core::run::{self, Channel, Completion, Effect, EffectKey, Request, RunEnd, Shown, Step};
use harn_core::tool::{OwnTool, ToolCall, ToolOutcome, ToolResult};
use harn_lang::builtins;
use harn_lang::bytecode::Program;
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{self, Call, State, Turn, Vm};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json};

use super::{Origin, model, wire};
use crate::calls::{self, Place, network};

/// Steps between two looks at what has happened meanwhile.
const SLICE: u64 = 1_000_000;

/// How a script ended, in its own values.
#[derive(Clone, Debug)]
pub enum Ending {
    Value(Value),
    Failed(vm::Failure),
    /// `exit(n)`.
    Exit(u8),
}

/// A script under way.
pub struct ScriptProgram {
    vm: Arc<Mutex<Vm>>,
    /// Which call of the machine an effect answers.
    open: HashMap<EffectKey, u64>,
    keys: HashMap<u64, EffectKey>,
    /// Effects that are handed out with the next step.
    fresh: Vec<Effect>,
    output: Vec<Shown>,
    dropped: Vec<EffectKey>,
    is_busy: bool,
    spent: model::Spent,
    ending: Arc<Mutex<Option<Ending>>>,
    left: Option<Left>,
    /// Where the names of its sources start, and where relative paths do.
    base: PathBuf,
    root: PathBuf,
}

/// What a machine still waits for when its program ends: tasks of an earlier entry that go on with the next one.
pub type Left = Arc<Mutex<Vec<(u64, Effect)>>>;

impl ScriptProgram {
    /// For a machine whose entries follow each other: what the last one left is asked for again.
    pub fn going_on(vm: Arc<Mutex<Vm>>, left: Left) -> Self {
        Self { left: Some(left), ..Self::new(vm) }
    }

    pub fn new(vm: Arc<Mutex<Vm>>) -> Self {
        Self {
            vm,
            open: HashMap::new(),
            keys: HashMap::new(),
            fresh: Vec::new(),
            output: Vec::new(),
            dropped: Vec::new(),
            is_busy: false,
            spent: model::Spent::default(),
            ending: Arc::default(),
            left: None,
            base: PathBuf::new(),
            root: PathBuf::new(),
        }
    }

    /// For a program whose sources are not named from where it works.
    pub fn placed(self, place: &Place) -> Self {
        Self { base: place.base.clone(), root: place.root.clone(), ..self }
    }

    /// Where the end is told once it is reached.
    pub fn ending(&self) -> Arc<Mutex<Option<Ending>>> {
        Arc::clone(&self.ending)
    }

    fn advance(&mut self, mut fuel: u64) -> Step {
        loop {
            let before = self.vm.lock().steps();
            let (step, is_answered) = self.turn(fuel);
            // What nobody has to be asked about needs no effect: the program goes on at once.
            match step {
                Step::Waiting(effects) if is_answered => {
                    self.fresh = effects;
                    fuel = fuel.saturating_sub(self.vm.lock().steps().saturating_sub(before));
                }
                step => return step,
            }
        }
    }

    /// One turn of the machine, and whether one of its calls was answered within it.
    fn turn(&mut self, fuel: u64) -> (Step, bool) {
        let turn = self.vm.lock().run(fuel);
        let Turn { output, calls, dropped, state, .. } = turn;
        self.output.extend(output.into_iter().map(shown));
        let mut is_answered = false;
        for call in calls {
            if call.builtin == "exit" {
                return (self.end(Ending::Exit(exit_code(&call))), false);
            }
            is_answered |= self.ask(call);
        }
        for id in dropped {
            if let Some(key) = self.keys.remove(&id) {
                self.open.remove(&key);
                self.forget(id);
                self.dropped.push(key);
            }
        }
        self.is_busy = matches!(state, State::OutOfFuel);
        let step = match state {
            State::OutOfFuel => Step::Busy(std::mem::take(&mut self.fresh)),
            State::Waiting => Step::Waiting(std::mem::take(&mut self.fresh)),
            State::Done(value) => self.end(Ending::Value(value)),
            State::Failed(failure) => self.end(Ending::Failed(failure)),
        };
        (step, is_answered)
    }

    fn forget(&self, id: u64) {
        if let Some(left) = &self.left {
            left.lock().retain(|(other, _)| *other != id);
        }
    }

    /// Makes an effect of a call; one that makes no sense is answered at once, with the reason.
    fn ask(&mut self, call: Call) -> bool {
        match request_of(&call) {
            Ok((key, mut request)) => {
                if let Request::Call(asked) = &mut request
                    && matches!(call.builtin, "render" | "render_prompt" | "render_with_provenance")
                {
                    calls::find_template(&mut asked.args, &self.base, &self.root);
                }
                self.open.insert(key.clone(), call.id);
                self.keys.insert(call.id, key.clone());
                let effect = Effect { key, request };
                if let Some(left) = &self.left {
                    left.lock().push((call.id, effect.clone()));
                }
                self.fresh.push(effect);
                false
            }
            Err(fault) => {
                self.vm.lock().complete(call.id, Err(fault));
                true
            }
        }
    }

    fn end(&mut self, mut ending: Ending) -> Step {
        let misfit = self.misfit(&ending);
        let (result, value) = match (&ending, misfit) {
            (Ending::Value(value), Some(message)) => {
                let failure = Failure::new("script_result", &message);
                let value = wire::encode(value);
                ending = Ending::Failed(vm::Failure { fault: Fault::Plain(message), trace: Vec::new() });
                (Err(failure), Some(value))
            }
            (Ending::Value(value), None) => outcome(value),
            (Ending::Exit(0), _) => (Ok(String::new()), Some(Json::from(0))),
            (Ending::Exit(code), _) => {
                let message = format!("The script ended with exit code {code}.");
                (Err(Failure::new("script_exit", message)), Some((*code).into()))
            }
            (Ending::Failed(failure), _) => (Err(located(failure, self.vm.lock().program())), None),
        };
        *self.ending.lock() = Some(ending);
        let model::Spent { usage, model_calls, tool_calls } = self.spent;
        Step::Done(RunEnd { result, value, usage, model_calls, tool_calls })
    }

    fn misfit(&self, ending: &Ending) -> Option<String> {
        let Ending::Value(value) = ending else { return None };
        let misfit = vm::misfit(self.vm.lock().program(), value)?;
        Some(format!("What the script gave back is not what it says: {misfit}."))
    }
}

impl run::Program for ScriptProgram {
    fn start(&mut self) -> Step {
        for (id, effect) in self.left.iter().flat_map(|left| left.lock().clone()) {
            self.open.insert(effect.key.clone(), id);
            self.keys.insert(id, effect.key.clone());
            self.fresh.push(effect);
        }
        self.advance(SLICE)
    }

    fn resume(&mut self, key: &EffectKey, completion: &Completion) -> Step {
        self.spent.count(completion);
        if let Some(id) = self.open.remove(key) {
            self.keys.remove(&id);
            self.forget(id);
            self.vm.lock().complete(id, answer(key, completion));
        }
        // One that is busy goes on when it is its turn; otherwise it would matter how long a slice is.
        match self.is_busy {
            true => Step::Busy(std::mem::take(&mut self.fresh)),
            false => self.advance(SLICE),
        }
    }

    fn go_on(&mut self, until: Option<u64>) -> Step {
        let made = self.vm.lock().steps();
        self.advance(until.map_or(SLICE, |until| until.saturating_sub(made).min(SLICE)))
    }

    fn interrupt(&mut self) -> Step {
        self.vm.lock().cancel();
        self.advance(SLICE)
    }

    fn busy_at(&self) -> Option<u64> {
        self.is_busy.then(|| self.vm.lock().steps())
    }

    fn take_output(&mut self) -> Vec<Shown> {
        std::mem::take(&mut self.output)
    }

    fn take_dropped(&mut self) -> Vec<EffectKey> {
        std::mem::take(&mut self.dropped)
    }
}

fn shown(output: vm::Output) -> Shown {
    let to = match output.to {
        vm::Channel::Out => Channel::Out,
        vm::Channel::Error => Channel::Error,
    };
    Shown { to, text: output.text }
}

/// An uncaught error with its place, as far as there is one.
fn located(failure: &vm::Failure, program: &Program) -> Failure {
    let error = failure.fault.to_string();
    let Some(origin) = Origin::of(failure, program, |source| source.name.to_string()) else {
        return Failure::new("script_error", error);
    };
    let message = format!("{error} ({}:{})", origin.source.name, origin.line());
    Failure { details: origin.details(&error), ..Failure::new("script_error", message) }
}

fn exit_code(call: &Call) -> u8 {
    let code = call.args.first().and_then(Value::as_int).unwrap_or(0);
    u8::try_from(code & 0xff).unwrap_or(1)
}

/// What people and callers see of a script's value: the text of a result that has one, else the value itself.
fn outcome(value: &Value) -> (Result<String, Failure>, Option<Json>) {
    let value = match value.as_result() {
        Some(Err(error)) => {
            return (Err(Failure::new("script_error", error.display())), Some(wire::encode(value)));
        }
        Some(Ok(inner)) => inner,
        None => value.clone(),
    };
    let json = wire::encode(&value);
    let text = match &value {
        Value::Nil => String::new(),
        Value::Dict(dict) => match dict.get("text") {
            Some(Value::Str(text)) => text.as_str().to_owned(),
            _ => json.to_string(),
        },
        other => other.display(),
    };
    (Ok(text), Some(json))
}

/// The effect that a call asks for, and its key.
fn request_of(call: &Call) -> Result<(EffectKey, Request), Fault> {
    let (_, place) = call.key.split_once(':').unwrap_or(("", &call.key));
    let keyed = |kind: &str| EffectKey::spelled(format!("{kind}:{place}"));
    Ok(match call.builtin {
        "sleep" | "sleep_ms" | "deadline" => (keyed(call.builtin), timer(call)),
        "__sleep" => (keyed("timer"), timer(call)),
        "__llm" => {
            let request = model::request(&first(call)).map_err(|why| categorised("invalid_request", &why))?;
            (keyed("llm"), Request::Model(request))
        }
        "__ask" => {
            let key = keyed("ask");
            (key.clone(), Request::Ask(Box::new(Ask::of_script(&key, first(call)))))
        }
        "__tool_begin" => {
            let key = keyed("tool_begin");
            let tool = OwnTool::of_script(&first(call), key.as_str());
            (key, Request::OwnTool(Box::new(tool)))
        }
        "__waitpoint" => host_call(call, keyed("waitpoint"), Request::Errand),
        // Reading the event log is a call like any other; writing is a commit.
        "__events" if call.args.first().is_some_and(|operation| operation.display() == "emit") => {
            host_call(call, keyed("events"), Request::Errand)
        }
        "__tool" => {
            let key = keyed("tool");
            let name = call.args.first().map(Value::display).unwrap_or_default();
            let args = call.args.get(1).map(wire::encode).and_then(|args| args.as_object().cloned());
            let call = ToolCall { id: key.to_string(), name, args: args.unwrap_or_default() };
            (key, Request::Tool(call))
        }
        builtin => {
            let key = keyed(builtin.trim_start_matches('_'));
            host_call(call, key, Request::Call)
        }
    })
}

/// What may be repeated after a crash and what may not have names of their own, so that rules can tell them apart.
fn call_name<'a>(builtin: &'a str, args: &Map<String, Json>) -> &'a str {
    let only_reads = || network::only_reads(args.get("method").and_then(Json::as_str).unwrap_or("GET"));
    match builtin {
        "__http" if only_reads() => "http_read",
        "__http" => "http_send",
        "__http_open" if only_reads() => "http_open_read",
        "__http_open" => "http_open_send",
        "__http_read" => "http_read_piece",
        other => other.trim_start_matches('_'),
    }
}

fn host_call(call: &Call, key: EffectKey, request: fn(ToolCall) -> Request) -> (EffectKey, Request) {
    let mut args = named(call.builtin, &call.args);
    if call.builtin == "__exec" {
        args.insert("command".to_owned(), calls::command_line(&args).into());
    }
    let name = call_name(call.builtin, &args).to_owned();
    let call = ToolCall { id: key.to_string(), name, args };
    (key, request(call))
}

fn first(call: &Call) -> Json {
    call.args.first().map(wire::encode).unwrap_or_default()
}

fn timer(call: &Call) -> Request {
    let ms = match call.args.first() {
        Some(Value::Int(ms) | Value::Duration(ms)) => u64::try_from(*ms).unwrap_or(0),
        Some(Value::Float(ms)) => *ms as u64,
        _ => 0,
    };
    Request::Timer { ms }
}

/// Arguments under the names of the builtin's parameters; the last one of `args...` takes all that is left.
fn named(builtin: &str, args: &[Value]) -> Map<String, Json> {
    let params = builtins::find(builtin).and_then(builtins::get).map_or("", |builtin| builtin.params);
    if let ("request", [request]) = (params, args) {
        return wire::encode(request).as_object().cloned().unwrap_or_default();
    }
    let mut args = args.iter();
    let mut named = Map::new();
    for param in params.split(", ").filter(|param| !param.is_empty()) {
        let name = param.trim_end_matches(['?', '.']);
        if param.ends_with("...") {
            named.insert(name.to_owned(), args.by_ref().map(wire::encode).collect());
        } else if let Some(value) = args.next() {
            named.insert(name.to_owned(), wire::encode(value));
        }
    }
    // What depends on the calling module has its name as one argument more.
    if let Some(from) = args.next() {
        named.insert("from".to_owned(), wire::encode(from));
    }
    named
}

/// What the machine gets for a completion.
fn answer(key: &EffectKey, completion: &Completion) -> Result<Value, Fault> {
    match completion {
        // The result of a tool is a value with its status, whatever came of it: the program decides what that means.
        Completion::Tool { result } if key.kind() == "tool" => {
            let status = serde_json::to_value(result.outcome).unwrap_or_default();
            let fields = [("status", wire::decode(&status)), ("output", wire::decode(&result.output))];
            Ok(Value::record(fields))
        }
        Completion::Tool { result } => of_result(result),
        Completion::Answered { answer } => Ok(wire::decode(answer)),
        Completion::Time { refused: None } => Ok(Value::Nil),
        Completion::Time { refused: Some(why) } => Err(categorised("permission_denied", why)),
        Completion::Model { answer } => Ok(wire::decode(&model::answer(answer))),
        Completion::ModelFailed { failure, .. } => {
            Err(categorised(model::category(&failure.code), &failure.message))
        }
        Completion::Inbox { .. } | Completion::Compacted { .. } => Ok(Value::Nil),
    }
}

fn of_result(result: &ToolResult) -> Result<Value, Fault> {
    let output = &result.output;
    let message = || output["error"].as_str().unwrap_or_default();
    match result.outcome {
        ToolOutcome::Ok => Ok(wire::decode(output)),
        ToolOutcome::Denied => Err(categorised("permission_denied", message())),
        ToolOutcome::Interrupted => Err(categorised("interrupted", message())),
        ToolOutcome::Error => match output["category"].as_str() {
            Some(category) => Err(categorised(category, message())),
            None => Err(Fault::thrown(message())),
        },
    }
}

fn categorised(category: &str, message: &str) -> Fault {
    Fault::Categorised { category: builtins::category(category), message: message.to_owned() }
}
