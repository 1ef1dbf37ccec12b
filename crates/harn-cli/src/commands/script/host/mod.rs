//! What a script of the command line gets from its host: arguments, a clock, the environment, files to read, and
//! standard input.

mod clock;
mod environment;
mod files;
mod input;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Vm};

use super::templates;
use clock::Clock;
use environment::Environment;
pub use input::Input;
use input::{Reading, Stdin};

/// What a builtin of the host comes to.
type Answer = Result<Value, Fault>;

/// The names that a script finds defined, in the order of `values`.
pub fn names() -> Vec<Arc<str>> {
    ["argv", "task", "project", "context"].into_iter().map(Arc::from).collect()
}

/// Where a script works, and what it reads.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where relative paths start.
    pub root: PathBuf,
    /// The folder of the script.
    pub source: PathBuf,
    /// The nearest folder from the script's on upwards that has a `harn.toml`, else where it works.
    pub project: PathBuf,
    /// Environment variables that stand before those of the process.
    pub variables: Vec<(&'static str, String)>,
    pub input: Input,
}

impl Place {
    /// A script of this file, or one without a file.
    pub fn of(file: Option<&Path>) -> Self {
        let root = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let source = file.map_or_else(|| root.clone(), |file| folder_of(&root.join(file)));
        let project = source.ancestors().find(|folder| folder.join("harn.toml").is_file());
        let project = project.map_or_else(|| root.clone(), Path::to_path_buf);
        Self { root, source, project, variables: Vec::new(), input: Input::Process }
    }

    pub fn values(&self, args: &[String]) -> Vec<Value> {
        let argv = args.iter().map(|arg| Value::str(arg.as_str())).collect();
        let project = Value::str(self.project.display().to_string());
        let task = Value::str("");
        let context = [("task", task.clone()), ("project_root", project.clone()), ("task_type", Value::Nil)];
        vec![Value::list(argv), task, project, Value::record(context)]
    }
}

/// The folder that a file is in, without `.` and `..` where the system can tell.
fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// Something that happens while a script runs.
pub enum Event {
    /// Someone pressed Ctrl-C.
    Interrupt,
    /// An answer to a call.
    Answer(u64, Answer),
    /// Something was read from standard input.
    Input(Reading),
}

/// Tells a host of Ctrl-C.
pub struct Interrupter {
    tell: Sender<Event>,
    /// How often since anybody listened.
    unheeded: Arc<AtomicUsize>,
}

/// Whether someone will hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Soon,
    /// The host is stuck in the system, or gone.
    Never,
}

impl Interrupter {
    pub fn interrupt(&self) -> Heard {
        let is_told = self.tell.send(Event::Interrupt).is_ok();
        let is_heard = self.unheeded.fetch_add(1, Ordering::Relaxed) < 2;
        if is_told && is_heard { Heard::Soon } else { Heard::Never }
    }
}

/// Answers the calls of one script.
pub struct Host {
    place: Place,
    clock: Clock,
    environment: Environment,
    stdin: Stdin,
    events: (Sender<Event>, Receiver<Event>),
    unheeded: Arc<AtomicUsize>,
    /// `exit(n)` was called.
    pub exit: Option<u8>,
}

impl Host {
    pub fn new(place: Place) -> Self {
        let events = channel();
        Self {
            clock: Clock::new(),
            environment: Environment::new(&place),
            stdin: Stdin::new(place.input, events.0.clone()),
            events,
            unheeded: Arc::default(),
            exit: None,
            place,
        }
    }

    /// Who tells of Ctrl-C.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { tell: self.events.0.clone(), unheeded: Arc::clone(&self.unheeded) }
    }

    pub fn take(&mut self, call: Call, vm: &mut Vm) {
        if call.builtin == "exit" {
            let code = call.args.first().and_then(Value::as_int).unwrap_or(0);
            self.exit = Some(u8::try_from(code & 0xff).unwrap_or(1));
            return;
        }
        if self.stdin.begin(&call) || self.clock.begin(&call) {
            return;
        }
        let answer = (self.clock.answer(&call))
            .or_else(|| self.environment.answer(&call))
            .or_else(|| files::answer(&self.place.root, &call))
            .or_else(|| templates::answer(&call))
            .or_else(|| self.stdin.answer(&call))
            .unwrap_or_else(|| {
                Err(Fault::thrown(format!("{}: `harn run` has no host for this builtin yet", call.builtin)))
            });
        vm.complete(call.id, answer);
    }

    pub fn forget(&mut self, call: u64) {
        self.clock.forget(call);
        self.stdin.forget(call);
    }

    /// Brings the answers of all timers that are due.
    pub fn ring(&mut self, vm: &mut Vm) {
        self.clock.due().into_iter().for_each(|call| vm.complete(call, Ok(Value::Nil)));
    }

    /// What has happened already, without waiting.
    pub fn happened(&mut self) -> Option<Event> {
        let event = self.events.1.try_recv().ok();
        self.heed(event)
    }

    fn heed(&self, event: Option<Event>) -> Option<Event> {
        if let Some(Event::Interrupt) = event {
            self.unheeded.store(0, Ordering::Relaxed);
        }
        event
    }

    /// Whether anything can still happen that the script waits for.
    pub fn is_waiting(&self) -> bool {
        self.clock.next().is_some() || self.stdin.is_reading()
    }

    /// Waits until something happens, a timer is due, or it is this late.
    pub fn wait(&mut self, latest: Option<Instant>) -> Option<Event> {
        let until = [self.clock.next(), latest].into_iter().flatten().min();
        let event = match until {
            None => self.events.1.recv().ok(),
            Some(until) => self.events.1.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
        };
        self.heed(event)
    }

    /// Forgets a Ctrl-C from before a new run.
    pub fn settle(&mut self) {
        while let Some(event) = self.happened() {
            if let Event::Input(read) = event {
                self.received(read);
            }
        }
    }

    /// Standard input has given something: the call that it answers, if there still is one.
    pub fn received(&mut self, read: Reading) -> Option<(u64, Answer)> {
        self.stdin.received(read)
    }
}

/// An argument as text; nothing where there is none.
fn text(call: &Call, at: usize) -> String {
    call.args.get(at).map(Value::display).unwrap_or_default()
}
