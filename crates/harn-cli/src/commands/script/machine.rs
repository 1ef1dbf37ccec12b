//! Running a script in this process: from its first step until it ends, is interrupted, or has had its time.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use harn_core::run::{Channel, Decision, EffectKey, Limits, RunEnd, Shown, Trust};
use harn_engine::EngineOptions;
use harn_engine::calls::Place;
use harn_engine::ephemeral::{self, Interrupts, Setup, Witness};
use harn_engine::fixture::Fixture;
use harn_engine::people::People;
use harn_engine::script::{Ending, Left, Origin, ScriptProgram};
use harn_lang::bytecode::Program;
use harn_lang::value::{Text, Value};
use harn_lang::vm::{Failure, Vm};
use harn_policy::Policy;
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use super::diagnostic::{Diagnostic, name_of};
use crate::commands::INTERRUPTED;
use crate::output::{plain, warn_line};

/// How a run ended.
pub enum End {
    Value(Value),
    Failed(Failure),
    /// It was not allowed to go on.
    Stopped(harn_core::Failure),
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
    people: Option<Arc<dyn People>>,
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
            people: None,
            pressed: Arc::default(),
            left: None,
        })
    }

    /// With what keeps what effects give, or answers in their place.
    pub fn with_fixture(self, fixture: Option<Arc<Fixture>>) -> Self {
        Self { fixture, ..self }
    }

    /// With somebody who can be asked.
    pub fn with_people(self, people: Option<Arc<dyn People>>) -> Self {
        Self { people, ..self }
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
        if let Some(provider) =
            place.variable("HARN_LLM_PROVIDER", Trust::Own).filter(|name| !name.is_empty())
        {
            let key = Arc::new(Text::new("llm_provider"));
            vm.lock().set_about([(key, provider.into())].into_iter().collect());
        }
        let program = match &self.left {
            Some(left) => ScriptProgram::going_on(Arc::clone(vm), Arc::clone(left)),
            None => ScriptProgram::new(Arc::clone(vm)),
        };
        let program = program.placed(place);
        let ending = program.ending();
        let setup = Setup {
            policy: Arc::clone(&self.policy),
            trust: Trust::Own,
            limits: Limits { max_model_calls: u32::MAX, ..self.options.limits },
            place: Arc::clone(place),
            witness: Arc::clone(&watched) as Arc<dyn Witness>,
            interrupts: Arc::clone(&self.interrupts),
            people: self.people.clone(),
            fixture: self.fixture.clone(),
        };
        let run = ephemeral::run(&self.options, setup, Box::new(program));
        let ended = self.runtime.block_on(async {
            match limit {
                Some(limit) => tokio::time::timeout(limit, run).await.ok(),
                None => Some(run.await),
            }
        });
        if watched.is_unread.load(Ordering::Relaxed) {
            return End::Unread;
        }
        if self.pressed.load(Ordering::Relaxed) > 0 {
            return End::Interrupted;
        }
        match (ending.lock().take(), ended) {
            (_, None) => End::TimedOut,
            (Some(Ending::Value(value)), _) => End::Value(value),
            (Some(Ending::Failed(failure)), _) => End::Failed(failure),
            (Some(Ending::Exit(code)), _) => End::Exit(code),
            (None, Some(Some(RunEnd { result: Err(failure), .. }))) => End::Stopped(failure),
            (None, _) => End::Interrupted,
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
    let Origin { source, offset, calls } = Origin::of(failure, program, name_of)?;
    Some(Diagnostic::uncaught(message, source, offset, &calls))
}

pub fn say_failure(failure: &Failure, program: &Program) {
    let message = failure.fault.to_string();
    match located(failure, &message, program) {
        Some(diagnostic) => diagnostic.say(),
        None => warn_line(format_args!("error: {}", plain(&message))),
    }
}

/// Why a run was ended from outside.
pub fn say_stopped(failure: &harn_core::Failure) {
    warn_line(format_args!("error: {}", plain(&failure.message)));
    say_hint(failure);
}

pub fn say_hint(failure: &harn_core::Failure) {
    warn_line(format_args!("  hint: harn explain {}", plain(&failure.code)));
}
