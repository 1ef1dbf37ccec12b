//! Running a script in this process: from its first step until it ends, is interrupted, or has had its time.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use harn_core::run::{Channel, Decision, EffectKey, Limits, Shown, Trust};
use harn_engine::EngineOptions;
use harn_engine::calls::Place;
use harn_engine::ephemeral::{self, Interrupts, Setup, Witness};
use harn_engine::fixture::Fixture;
use harn_engine::script::{Ending, Left, ScriptProgram};
use harn_lang::bytecode::Program;
use harn_lang::problem::Severity;
use harn_lang::syntax::span::{LineIndex, Span};
use harn_lang::value::Value;
use harn_lang::vm::{Failure, Vm};
use harn_policy::Policy;
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use super::diagnostic::{Diagnostic, name_of};
use super::files::is_standard;
use crate::commands::INTERRUPTED;
use crate::output::{plain, warn_line};

/// How a run ended.
pub enum End {
    Value(Value),
    Failed(Failure),
    /// `exit(n)`.
    Exit(u8),
    Interrupted,
    TimedOut,
    /// Nobody reads what it prints any more.
    Unread,
}

/// What scripts are run with: an engine without a log.
pub struct Machine {
    runtime: Runtime,
    options: EngineOptions,
    policy: Arc<Policy>,
    interrupts: Arc<Interrupts>,
    fixture: Option<Arc<Fixture>>,
    /// How often Ctrl-C was pressed during this run.
    pressed: Arc<AtomicUsize>,
    /// What tasks of an earlier entry wait for, where entries follow each other.
    left: Option<Left>,
}

impl Machine {
    pub fn new(options: EngineOptions, policy: Policy) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.context("the runtime cannot be started")?,
            options,
            policy: Arc::new(policy),
            interrupts: Arc::default(),
            fixture: None,
            pressed: Arc::default(),
            left: None,
        })
    }

    /// With what keeps what effects give, or answers in their place.
    pub fn with_fixture(self, fixture: Option<Arc<Fixture>>) -> Self {
        Self { fixture, ..self }
    }

    /// Tasks outlive the entry that started them.
    pub fn keep_tasks(self) -> Self {
        Self { left: Some(Left::default()), ..self }
    }

    /// From now on Ctrl-C reaches the script instead of ending the process: the first time it may put things in order,
    /// the second time it may not, and the third one ends the process after all.
    pub fn watch_interrupts(&self) -> Result<()> {
        let _inside = self.runtime.enter();
        let kind = tokio::signal::unix::SignalKind::interrupt();
        let mut signals = tokio::signal::unix::signal(kind).context("Ctrl-C cannot be watched for")?;
        let (interrupts, pressed) = (Arc::clone(&self.interrupts), Arc::clone(&self.pressed));
        self.runtime.spawn(async move {
            while signals.recv().await.is_some() {
                match pressed.fetch_add(1, Ordering::Relaxed) {
                    0 => interrupts.interrupt(),
                    1 => interrupts.stop(),
                    _ => std::process::exit(INTERRUPTED.into()),
                }
            }
        });
        Ok(())
    }

    /// Runs what the machine holds, for at most so long.
    pub fn run(
        &self,
        vm: &Arc<Mutex<Vm>>,
        place: &Arc<Place>,
        witness: Arc<dyn Witness>,
        limit: Option<Duration>,
    ) -> End {
        self.pressed.store(0, Ordering::Relaxed);
        self.interrupts.forget();
        let watched = Arc::new(Watched { witness, is_unread: AtomicBool::new(false) });
        let program = match &self.left {
            Some(left) => ScriptProgram::going_on(Arc::clone(vm), Arc::clone(left)),
            None => ScriptProgram::new(Arc::clone(vm)),
        };
        let ending = program.ending();
        let setup = Setup {
            policy: Arc::clone(&self.policy),
            trust: Trust::Own,
            limits: Limits { max_model_calls: u32::MAX, ..self.options.limits },
            place: Arc::clone(place),
            witness: Arc::clone(&watched) as Arc<dyn Witness>,
            interrupts: Arc::clone(&self.interrupts),
            // What asks people runs as a task of the harness, where they can be reached.
            people: None,
            fixture: self.fixture.clone(),
        };
        let run = ephemeral::run(&self.options, setup, Box::new(program));
        let in_time = self.runtime.block_on(async {
            match limit {
                Some(limit) => tokio::time::timeout(limit, run).await.is_ok(),
                None => {
                    run.await;
                    true
                }
            }
        });
        if watched.is_unread.load(Ordering::Relaxed) {
            return End::Unread;
        }
        if self.pressed.load(Ordering::Relaxed) > 0 {
            return End::Interrupted;
        }
        match ending.lock().take() {
            _ if !in_time => End::TimedOut,
            Some(Ending::Value(value)) => End::Value(value),
            Some(Ending::Failed(failure)) => End::Failed(failure),
            Some(Ending::Exit(code)) => End::Exit(code),
            None => End::Interrupted,
        }
    }

    /// Whatever still waits for the system, such as standard input, does not hold up the end.
    pub fn leave(self) {
        self.runtime.shutdown_background();
    }
}

/// Notes that nobody reads any more.
struct Watched {
    witness: Arc<dyn Witness>,
    is_unread: AtomicBool,
}

impl Witness for Watched {
    fn printed(&self, shown: &[Shown]) -> io::Result<()> {
        let printed = self.witness.printed(shown);
        self.is_unread.fetch_or(printed.is_err(), Ordering::Relaxed);
        printed
    }

    fn asked(&self, key: &EffectKey, decision: &Decision) {
        self.witness.asked(key, decision);
    }
}

/// Prints as the script prints.
pub struct Printer;

impl Witness for Printer {
    fn printed(&self, shown: &[Shown]) -> io::Result<()> {
        for part in shown {
            match part.to {
                Channel::Out => io::stdout().write_all(part.text.as_bytes())?,
                Channel::Error => {
                    io::stdout().flush()?;
                    io::stderr().write_all(part.text.as_bytes())?;
                }
            }
        }
        io::stdout().flush()
    }
}
/// An uncaught error with its place, as far as there is one.
pub fn located<'a>(failure: &Failure, message: &'a str, program: &'a Program) -> Option<Diagnostic<'a>> {
    // The innermost place in something that the user wrote.
    let is_own =
        |module: u16| program.sources.get(usize::from(module)).is_some_and(|source| !is_standard(source));
    let mut trace = failure.trace.iter().filter(|entry| entry.module > 0 && is_own(entry.module));
    let place = trace.next()?;
    let source = program.sources.get(usize::from(place.module))?;
    let mut notes = Vec::new();
    for outer in trace {
        if let Some(source) = program.sources.get(usize::from(outer.module)) {
            let line = LineIndex::new(&source.text).line(outer.offset);
            notes.push(format!("note: called from {} at {}:{line}", outer.function, name_of(source)));
        }
    }
    let span = word_at(&source.text, place.offset);
    let notes = shortened(notes);
    Some(Diagnostic { severity: Severity::Error, message, source, span, notes })
}

/// The word that begins at a place, or the place alone.
fn word_at(text: &str, start: u32) -> Span {
    let rest = text.get(start as usize..).unwrap_or_default();
    let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Span::new(start, start.saturating_add(u32::try_from(word).unwrap_or(0)))
}

/// A function that calls itself is told once; and nobody reads a hundred calls.
fn shortened(notes: Vec<String>) -> Vec<String> {
    const MOST: usize = 20;
    let mut short: Vec<String> = Vec::new();
    for same in notes.chunk_by(|a, b| a == b) {
        let times = if same.len() > 1 { format!(", {} times", same.len()) } else { String::new() };
        short.push(format!("{}{times}", same[0]));
    }
    if short.len() > MOST {
        let hidden = short.len() - MOST + 1;
        short.truncate(MOST - 1);
        short.push(format!("note: and {hidden} calls more"));
    }
    short
}

pub fn say_failure(failure: &Failure, program: &Program) {
    let message = failure.fault.to_string();
    match located(failure, &message, program) {
        Some(diagnostic) => diagnostic.say(),
        None => warn_line(format_args!("error: {}", plain(&message))),
    }
}
